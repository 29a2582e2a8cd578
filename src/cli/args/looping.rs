//! The arguments of `loop`.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand, value_parser};

use moai_loops::options::{LoopStartOptions, OptionValue, START_OPTIONS, StartOption};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum LoopCommand {
    /// Start a loop
    Start(LoopStartArgs),
    /// Show the active or the last loop
    Status(LoopSelectArgs),
    /// Cancel a loop at once; files are left alone
    Cancel(LoopSelectArgs),
    /// Pause a loop: the agent may stop until the loop is resumed
    Pause(LoopSelectArgs),
    /// Resume a paused loop, or one that ended at a limit you raise
    Resume(ResumeArgs),
    /// Move an active loop to another session, for example after /clear
    Adopt(AdoptArgs),
    /// List the iterations of a loop
    History(HistoryArgs),
    /// Report claim, evidence, older findings, gaps and residual risk of a loop
    Report(LoopSelectArgs),
    /// Run the project's checks, as a Stop does
    Checks(LoopChecksArgs),
    /// Restore the files of a checkpoint; shows a preview without --apply
    Restore(RestoreArgs),
    /// Delete the checkpoints, history and exam of a finished loop
    Forget(ForgetArgs),
    /// Accept changes to the frozen checks (only for a person at a terminal)
    Refreeze(RefreezeArgs),
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RefreezeArgs {
    #[command(flatten)]
    pub(in crate::cli) select: LoopSelectArgs,
    /// Accept while the session is running; the loop pauses at its next Stop
    #[arg(long)]
    pub(in crate::cli) now: bool,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RestoreArgs {
    /// Loop id
    pub(in crate::cli) id: String,
    /// Checkpoint: an iteration number, or before-N from an earlier restore
    #[arg(long, value_name = "N|best", default_value = "best")]
    pub(in crate::cli) to: String,
    /// Write the files, all or none; the current state is saved as a checkpoint first
    #[arg(long)]
    pub(in crate::cli) apply: bool,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct AdoptArgs {
    /// Loop id [default: the only active one]
    pub(in crate::cli) id: Option<String>,
    /// Session that takes over the loop [default: the session whose agent runs this command, else
    /// the next session of this root]
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) session: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ForgetArgs {
    /// Loop id
    pub(in crate::cli) id: String,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct LoopChecksArgs {
    #[command(flatten)]
    pub(in crate::cli) select: LoopSelectArgs,
    /// List the checks and their sources without running them
    #[arg(long)]
    pub(in crate::cli) list: bool,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct LoopStartArgs {
    /// Session that owns the loop [default: the next session of this root]
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) session: Option<String>,
    /// The task
    #[arg(
        long,
        value_name = "TEXT",
        required_unless_present = "prompt_file",
        conflicts_with = "prompt_file",
        allow_hyphen_values = true
    )]
    pub(in crate::cli) prompt: Option<String>,
    /// Read the task from a file, or from stdin with -
    #[arg(long, value_name = "FILE|-")]
    pub(in crate::cli) prompt_file: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) flags: LoopStartFlags,
}

/// The options of a loop: one flag for each row of [`START_OPTIONS`].
#[derive(Debug)]
pub(in crate::cli) struct LoopStartFlags {
    pub(in crate::cli) options: LoopStartOptions,
}

impl Args for LoopStartFlags {
    fn augment_args(command: Command) -> Command {
        command.args(START_OPTIONS.iter().map(start_flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LoopStartFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self { options: LoopStartOptions::default() };
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for option in &START_OPTIONS {
            let value = match option.value {
                OptionValue::Flag => matches.get_flag(option.name()).then_some(OsStr::new("")),
                _ => matches.get_raw(option.name()).and_then(|mut values| values.next()),
            };
            let Some(value) = value else { continue };
            let is_set =
                value.to_str().is_some_and(|value| (option.assign)(&mut self.options, value));
            if !is_set {
                let message = format!("{} {}", option.flag, option.need());
                return Err(clap::Error::raw(ErrorKind::InvalidValue, message));
            }
        }
        Ok(())
    }
}

fn start_flag(option: &StartOption) -> Arg {
    let flag = Arg::new(option.name()).long(option.name()).help(option.help);
    match option.value {
        OptionValue::Flag => {
            let flag = flag.action(ArgAction::SetTrue);
            match option.name().strip_prefix("no-") {
                Some(opposite) => flag.conflicts_with(opposite),
                None => flag,
            }
        }
        OptionValue::Count => flag.value_name("N").value_parser(value_parser!(u32)),
        OptionValue::LargeCount => flag.value_name("N").value_parser(value_parser!(u64)),
        OptionValue::Text { placeholder, .. } => flag.value_name(placeholder),
        OptionValue::Choice { placeholder, choices } => {
            let values = choices.iter().map(|(name, help)| PossibleValue::new(*name).help(*help));
            flag.value_name(placeholder).value_parser(PossibleValuesParser::new(values))
        }
    }
}

#[derive(Clone, Debug, clap::Args)]
pub(in crate::cli) struct LoopSelectArgs {
    /// Loop id [default: the active one, else the last]
    pub(in crate::cli) id: Option<String>,
    /// Select the loop of this session
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    pub(in crate::cli) session: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ResumeArgs {
    #[command(flatten)]
    pub(in crate::cli) select: LoopSelectArgs,
    /// New maximum number of iterations
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_iterations: Option<u32>,
    /// New limit in minutes
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_minutes: Option<u32>,
    /// New limit in tokens
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_tokens: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct HistoryArgs {
    #[command(flatten)]
    pub(in crate::cli) select: LoopSelectArgs,
    /// List all loops of the project instead, including worktrees
    #[arg(long, conflicts_with_all = ["id", "session"])]
    pub(in crate::cli) all: bool,
}
