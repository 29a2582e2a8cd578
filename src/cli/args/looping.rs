//! The arguments of `loop`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum LoopCommand {
    /// Start a loop
    Start(LoopStartArgs),
    /// Show the active or the last loop
    Status(LoopSelectArgs),
    /// Cancel a loop; takes effect at once, touches no file
    Cancel(LoopSelectArgs),
    /// Let the agent stop as it likes until the loop is resumed
    Pause(LoopSelectArgs),
    /// Go on with a paused loop, or with one that ended at a limit which is raised
    Resume(ResumeArgs),
    /// Go on with an active loop in another session, as after /clear
    Adopt(AdoptArgs),
    /// The iterations of a loop
    History(HistoryArgs),
    /// Claim, evidence, what was there before, gaps and residual risk of a loop
    Report(LoopSelectArgs),
    /// Run the commands of the project that a Stop runs
    Checks(LoopChecksArgs),
    /// Bring the files of a checkpoint back: shows what would change
    Restore(RestoreArgs),
    /// Remove what is kept of a loop that is over: checkpoints, history, exam
    Forget(ForgetArgs),
    /// Examine a loop by what the project has now; for a person at a terminal
    Refreeze(LoopSelectArgs),
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct RestoreArgs {
    /// Loop id
    pub(in crate::cli) id: String,
    /// The checkpoint: number of an iteration, or before-N, which an earlier restore made
    #[arg(long, value_name = "N|best", default_value = "best")]
    pub(in crate::cli) to: String,
    /// Write it: all files or none; what is there now is a checkpoint first
    #[arg(long)]
    pub(in crate::cli) apply: bool,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct AdoptArgs {
    /// Loop id [default: the only active one]
    pub(in crate::cli) id: Option<String>,
    /// The session that owns the loop from now on [default: the one whose agent runs this command,
    /// else the next session of this root]
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
    /// Say which commands there are and why; run none
    #[arg(long)]
    pub(in crate::cli) list: bool,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct LoopStartArgs {
    /// The session that owns the loop [default: the next session of this root claims it]
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) session: Option<String>,
    /// How the loop decides
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
    /// The task from a file, or from stdin with -
    #[arg(long, value_name = "FILE|-")]
    pub(in crate::cli) prompt_file: Option<PathBuf>,
    /// Stops after which the loop ends in any case [default: 10]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_iterations: Option<u32>,
    /// What the agent writes as <promise>TEXT</promise> to claim completion
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
    /// Rejections in a row after which the loop pauses, or, on its own, changes its strategy
    /// [default: 5, autonomous: 10]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) hitl_threshold: Option<u32>,
    /// Minutes after which the loop ends
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_minutes: Option<u32>,
    /// Tokens after which the loop ends
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_tokens: Option<u64>,
    /// Go on to the last iteration although everything is done
    #[arg(long)]
    pub(in crate::cli) force_max: bool,
    /// Hold the first Stop until the research phase is written down [default in the modes judge
    /// and autonomous]
    #[arg(long, conflicts_with = "no_research")]
    pub(in crate::cli) research: bool,
    /// Without the research phase
    #[arg(long)]
    pub(in crate::cli) no_research: bool,
    /// Keep notes as a small wiki in .claude/memory
    #[arg(long)]
    pub(in crate::cli) structured_memory: bool,
    /// Autonomous: the branch to start from and to merge into [default: the present one]
    #[arg(long, value_name = "B")]
    pub(in crate::cli) base_branch: Option<String>,
    /// Autonomous: so many worktrees with a loop each
    #[arg(long, value_name = "N")]
    pub(in crate::cli) workers: Option<u32>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum ModeArg {
    /// Evidence alone
    Basic,
    /// A judge looks at what evidence cannot tell
    Judge,
    /// On a branch of its own, merged at the end
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
    /// No errors, and the project's checks pass: yours, else those its files suggest
    Clean,
    /// No errors, and your checks pass if there are any
    Diagnostics,
    /// The same; refused without checks
    Checks,
    /// The same, and the agent gives its promise
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
    /// Those the files did not have when the loop began
    Base,
    /// Older ones too
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
    /// The loop of this session
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    pub(in crate::cli) session: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct ResumeArgs {
    #[command(flatten)]
    pub(in crate::cli) select: LoopSelectArgs,
    /// A new limit of iterations
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_iterations: Option<u32>,
    /// A new limit of minutes
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_minutes: Option<u32>,
    /// A new limit of tokens
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_tokens: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct HistoryArgs {
    #[command(flatten)]
    pub(in crate::cli) select: LoopSelectArgs,
    /// All loops of the project instead, worktrees included
    #[arg(long, conflicts_with_all = ["id", "session"])]
    pub(in crate::cli) all: bool,
}
