//! The arguments of `guard`.

use super::{FailOn, OutputFormat};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct GuardArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<GuardCommand>,
    /// The commit to compare with; what was committed since, staged and written counts
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    pub(in crate::cli) base: String,
    /// What the change is for; it may allow that something is deleted together with its tests
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(in crate::cli) goal: String,
    /// How the report is written
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(in crate::cli) format: OutputFormat,
    /// Lowest severity that makes the verdict dirty
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    pub(in crate::cli) fail_on: FailOn,
    /// Exit with 0 instead of 4 when something could not be measured
    #[arg(long)]
    pub(in crate::cli) allow_unmeasured: bool,
}

#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum GuardCommand {
    /// Let a finding be; a person at a terminal only
    Allow(AllowArgs),
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct AllowArgs {
    /// The finding's id, as --json shows it
    #[arg(value_name = "FINDING-ID")]
    pub(in crate::cli) id: String,
    /// Why it is right
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(in crate::cli) reason: String,
    /// The commit to compare with
    #[arg(long, value_name = "REV", default_value = "HEAD")]
    pub(in crate::cli) base: String,
}
