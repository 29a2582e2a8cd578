//! Arguments of `spec …`.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SpecCommand {
    /// Create spec.md, plan.md and acceptance.md for a new specification in .moai/specs
    New {
        /// Title of the specification
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        title: String,
        /// Id, such as SPEC-AUTH-001 [default: the first free id with a word of the title]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// List the specifications with the progress of their plans
    List,
    /// Check requirements, ids and plans, and the links from requirement to TODO, acceptance item and test
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
    /// Confirm a provisional pivot point; this cannot be undone
    Confirm {
        /// Id of the pivot point, such as PP-1
        id: String,
    },
    /// Check a proposal: confirmed pivot points reject it, provisional ones leave it to the user
    Check {
        /// The proposal
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        proposal: String,
        /// A file that it would change, relative to the root; repeatable
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
    /// Reason
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) reason: Option<String>,
    /// Files that must not be changed, as a path, a folder or a glob; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub(in crate::cli) protects: Vec<String>,
    /// Words that no proposal may contain; repeatable
    #[arg(long, value_name = "WORDS")]
    pub(in crate::cli) forbids: Vec<String>,
}
