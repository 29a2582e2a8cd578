//! The arguments of `scan`.

use std::path::PathBuf;

use super::FailOn;
use moai_protocol::control::ReportFormat;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct ScanArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<ScanCommand>,
    /// Files and folders [default: the project]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Scan the files that differ from HEAD, including untracked ones
    #[arg(long, conflicts_with = "paths")]
    pub(in crate::cli) changed: bool,
    /// Scan stdin instead of files
    #[arg(long, conflicts_with_all = ["paths", "changed"])]
    pub(in crate::cli) stdin: bool,
    /// Language of stdin
    #[arg(long, value_name = "LANG", requires = "stdin")]
    pub(in crate::cli) lang: Option<String>,
    /// File name to assume for stdin, relative to the root
    #[arg(long, value_name = "NAME", requires = "stdin")]
    pub(in crate::cli) stdin_path: Option<PathBuf>,
    /// Additional folder of rules; repeatable
    #[arg(long, value_name = "DIR", conflicts_with = "only_rules")]
    pub(in crate::cli) rules: Vec<PathBuf>,
    /// Use only the rules of this folder; repeatable
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) only_rules: Vec<PathBuf>,
    /// Also scan files that usually contain secrets
    #[arg(long)]
    pub(in crate::cli) include_sensitive: bool,
    /// Show the fixes of the rules as a diff
    #[arg(long, conflicts_with_all = ["stdin", "baseline", "write_baseline"])]
    pub(in crate::cli) fix: bool,
    /// Write the fixes: all files or none
    #[arg(long, requires = "fix")]
    pub(in crate::cli) apply: bool,
    /// Include fixes that are not marked as safe
    #[arg(long, requires = "fix")]
    pub(in crate::cli) unsafe_fixes: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = ScanOutputFormat::Text)]
    pub(in crate::cli) format: ScanOutputFormat,
    /// Lowest severity that fails the command; with `never`, findings do not fail it
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    pub(in crate::cli) fail_on: FailOn,
    /// File of known findings, which do not make the verdict dirty
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) baseline: Option<PathBuf>,
    /// Write the current findings to FILE as known findings
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) write_baseline: Option<PathBuf>,
    /// Exit with 0 instead of 4 when something could not be measured
    #[arg(long)]
    pub(in crate::cli) allow_unmeasured: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum ScanCommand {
    /// Test rules against their own snippets (write ./test for a folder named test)
    Test {
        /// Folders of rules and of their tests [default: the project's rules and the built-in ones]
        #[arg(value_name = "DIR")]
        folders: Vec<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum ScanOutputFormat {
    Text,
    Json,
    Jsonl,
    Sarif,
    Github,
}

impl ScanOutputFormat {
    pub(in crate::cli) fn format(self) -> ReportFormat {
        match self {
            Self::Text => ReportFormat::Text,
            Self::Json => ReportFormat::Json,
            Self::Jsonl => ReportFormat::Jsonl,
            Self::Sarif => ReportFormat::Sarif,
            Self::Github => ReportFormat::Github,
        }
    }
}
