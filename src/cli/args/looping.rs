//! The arguments of `loop`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

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
    Refreeze(LoopSelectArgs),
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
    /// How the loop decides that the task is done
    #[arg(long, value_enum, default_value_t = ModeArg::Basic)]
    pub(in crate::cli) mode: ModeArg,
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
    /// Maximum number of iterations [default: 10]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_iterations: Option<u32>,
    /// Text the agent writes as <promise>TEXT</promise> to claim completion
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) completion_promise: Option<String>,
    /// What ends the loop [default: promise with --completion-promise, else clean]
    #[arg(long, value_enum)]
    pub(in crate::cli) until: Option<UntilArg>,
    /// Which findings hold a Stop [default: base]
    #[arg(long, value_enum)]
    pub(in crate::cli) baseline: Option<BaselineArg>,
    /// Pause after every N iterations
    #[arg(long, value_name = "N")]
    pub(in crate::cli) milestone_every: Option<u32>,
    /// Consecutive rejections before the loop pauses (autonomous: before it changes its approach)
    /// [default: 5, autonomous: 10]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) hitl_threshold: Option<u32>,
    /// Minutes after which the loop ends
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_minutes: Option<u32>,
    /// Tokens after which the loop ends
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_tokens: Option<u64>,
    /// Continue to the last iteration even when everything is done
    #[arg(long)]
    pub(in crate::cli) force_max: bool,
    /// Start with a research phase, written to progress.txt [default in the modes judge and
    /// autonomous]
    #[arg(long, conflicts_with = "no_research")]
    pub(in crate::cli) research: bool,
    /// Skip the research phase
    #[arg(long)]
    pub(in crate::cli) no_research: bool,
    /// Keep notes as a small wiki in .claude/memory
    #[arg(long)]
    pub(in crate::cli) structured_memory: bool,
    /// Autonomous: branch to start from and merge into [default: the current branch]
    #[arg(long, value_name = "B")]
    pub(in crate::cli) base_branch: Option<String>,
    /// Autonomous: number of worktrees, each with its own loop
    #[arg(long, value_name = "N")]
    pub(in crate::cli) workers: Option<u32>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum ModeArg {
    /// Decides on evidence only
    Basic,
    /// A judge also reviews what evidence cannot show
    Judge,
    /// Works on its own branch, which is merged at the end
    Autonomous,
}

impl ModeArg {
    pub(in crate::cli) fn as_str(self) -> &'static str {
        match self {
            Self::Basic => "basic",
            Self::Judge => "judge",
            Self::Autonomous => "autonomous",
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum UntilArg {
    /// No errors, and the checks pass: the configured ones, else those detected in the project
    Clean,
    /// No errors, and the configured checks pass, if any
    Diagnostics,
    /// No errors, and the checks pass; refuses to start if there are none
    Checks,
    /// No errors, the checks pass, and the agent writes its completion promise
    Promise,
}

impl UntilArg {
    pub(in crate::cli) fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Diagnostics => "diagnostics",
            Self::Checks => "checks",
            Self::Promise => "promise",
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum BaselineArg {
    /// Only findings introduced since the loop started
    Base,
    /// All findings, including older ones
    None,
}

impl BaselineArg {
    pub(in crate::cli) fn as_str(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::None => "none",
        }
    }
}

#[derive(Debug, clap::Args)]
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
