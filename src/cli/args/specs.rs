//! Arguments of `spec …`.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SpecCommand {
    /// Create spec.md, plan.md and acceptance.md of a new specification in .moai/specs
    New {
        /// What it is about
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        title: String,
        /// Its id, such as SPEC-AUTH-001 [default: the first free id with a word of the title]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// List the specifications with the progress of their plans
    List,
    /// Check requirements, ids, plans, and the links requirement, TODO, acceptance, test
    Check {
        /// Ids of specifications [default: all]
        #[arg(value_name = "ID")]
        ids: Vec<String>,
    },
    /// Manage pivot points: constraints that the work must not change
    #[command(subcommand)]
    Pivot(PivotCommand),
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum PivotCommand {
    /// List the pivot points
    List,
    /// Add a pivot point; it is provisional without --confirmed
    Add(PivotAddArgs),
    /// Confirm a provisional pivot point; nothing makes it provisional again
    Confirm {
        /// Its id, such as PP-1
        id: String,
    },
    /// Check a proposal: confirmed pivot points reject it, provisional ones leave it to the user
    Check {
        /// What is proposed
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        proposal: String,
        /// A file that it would change, relative to the root; may be repeated
        #[arg(long = "path", value_name = "PATH")]
        files: Vec<String>,
    },
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct PivotAddArgs {
    /// The constraint
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) text: String,
    /// The user has confirmed it
    #[arg(long)]
    pub(in crate::cli) confirmed: bool,
    /// Why it is one
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) reason: Option<String>,
    /// Files that must not be changed, as a path, a folder or a glob; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(in crate::cli) protects: Vec<String>,
    /// Words that no proposal may have; may be repeated
    #[arg(long, value_name = "WORDS")]
    pub(in crate::cli) forbids: Vec<String>,
}
