//! The arguments of `guard`.

use super::{FailOn, OutputFormat};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct GuardArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<GuardCommand>,
    /// Commit to compare with; later commits, staged and unstaged changes all count
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    pub(in crate::cli) base: String,
    /// Purpose of the change; it can justify deleting code together with its tests
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(in crate::cli) goal: String,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(in crate::cli) format: OutputFormat,
    /// Lowest severity that fails the command; with `never`, findings do not fail it
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    pub(in crate::cli) fail_on: FailOn,
    /// Exit with 0 instead of 4 when something could not be measured
    #[arg(long)]
    pub(in crate::cli) allow_unmeasured: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum GuardCommand {
    /// Allow a finding (only for a person at a terminal)
    Allow(AllowArgs),
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct AllowArgs {
    /// Id of the finding, as shown by --json
    #[arg(value_name = "FINDING-ID")]
    pub(in crate::cli) id: String,
    /// Reason why the finding is acceptable
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(in crate::cli) reason: String,
    /// Commit to compare with; without it HEAD, then the base of the last loop
    #[arg(long, value_name = "REV")]
    pub(in crate::cli) base: Option<String>,
}
