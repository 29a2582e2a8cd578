//! Arguments of `memory …`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use moai_base::limits::MEMORY_HITS_MAX;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum MemoryCommand {
    /// Search observations by words, names, paths and codes, in English or Korean
    Search(MemorySearchArgs),
    /// Show what happened around an observation
    Timeline {
        /// Id of the observation
        id: String,
    },
    /// Show observations in full
    Get {
        /// Ids of observations
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Store a note for later sessions of this project
    Add(MemoryAddArgs),
    /// Forget observations, in backups too; shows a preview without --apply
    Forget(MemoryForgetArgs),
    /// Show size, counts, and how many recalled observations the agents used
    Status {
        #[command(flatten)]
        scope: ProjectScopeArgs,
    },
    /// Import observations from a file with one JSON object per line
    Import {
        /// The file; - reads stdin
        file: PathBuf,
    },
    /// Print observations, one JSON object per line, as import reads them
    Export {
        #[command(flatten)]
        scope: ProjectScopeArgs,
        #[command(flatten)]
        filter: ObservationFilterArgs,
    },
    /// Back up the memory to its backup folder, or to a new file
    Backup {
        /// The new file
        file: Option<PathBuf>,
    },
    /// Replace the memory with a backup; shows a preview without --apply
    Restore {
        /// The backup [default: the newest]
        file: Option<PathBuf>,
        /// Replace the memory
        #[arg(long, alias = "yes")]
        apply: bool,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct MemorySearchArgs {
    /// What to look for
    pub(in crate::cli) query: String,
    /// Detail: 1 one line each, 2 with the events around them, 3 full text
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    pub(in crate::cli) layer: u8,
    #[command(flatten)]
    pub(in crate::cli) scope: ProjectScopeArgs,
    #[command(flatten)]
    pub(in crate::cli) filter: ObservationFilterArgs,
    /// Maximum number of results
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MEMORY_HITS_MAX as u64))]
    pub(in crate::cli) limit: u64,
    /// Show how the query was read, and the parts of the scores
    #[arg(long)]
    pub(in crate::cli) explain: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ProjectScopeArgs {
    /// Name, root or key of a project [default: this project]
    #[arg(long, value_name = "PROJECT")]
    pub(in crate::cli) project: Option<String>,
    /// All projects
    #[arg(long, conflicts_with = "project")]
    pub(in crate::cli) all_projects: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ObservationFilterArgs {
    /// Only observations of this type, such as fix or decision; several: fix,decision
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub(in crate::cli) types: Vec<String>,
    /// Since: an age (7d, 12h), a date or a time
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) since: Option<String>,
    /// Until: an age, a date or a time
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) until: Option<String>,
    /// Only those about this file, or files below this folder, relative to the root
    #[arg(long, value_name = "PATH")]
    pub(in crate::cli) path: Option<String>,
    /// Only those about this finding code, such as TS2345
    #[arg(long, value_name = "CODE")]
    pub(in crate::cli) code: Option<String>,
    /// Only those of sessions in this worktree: the name of its folder, or a path
    #[arg(long, value_name = "WORKTREE")]
    pub(in crate::cli) worktree: Option<String>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct MemoryAddArgs {
    /// The note; its first line is the title, and - reads stdin
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) text: String,
    /// Type of the note, such as decision
    #[arg(long = "type", default_value = "note", value_name = "TYPE")]
    pub(in crate::cli) kind: String,
    /// A file that the note is about, relative to the root; repeatable
    #[arg(long = "path", value_name = "PATH")]
    pub(in crate::cli) files: Vec<String>,
    /// A finding code that the note is about; repeatable
    #[arg(long = "code", value_name = "CODE")]
    pub(in crate::cli) codes: Vec<String>,
    /// Share it with everyone who uses the memory (memory.url); otherwise it is private
    #[arg(long)]
    pub(in crate::cli) team: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct MemoryForgetArgs {
    /// Ids of observations
    #[arg(value_name = "ID", conflicts_with_all = ["query", "types", "since", "until", "path", "code", "worktree"])]
    pub(in crate::cli) ids: Vec<String>,
    /// Observations matching every term
    #[arg(long, value_name = "QUERY")]
    pub(in crate::cli) query: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) scope: ProjectScopeArgs,
    #[command(flatten)]
    pub(in crate::cli) filter: ObservationFilterArgs,
    /// Forget them
    #[arg(long, alias = "yes")]
    pub(in crate::cli) apply: bool,
}
