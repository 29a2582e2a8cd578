//! Arguments of `pipeline …`.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum PipelineCommand {
    /// Start a pipeline: the agent writes a plan, and works once it is approved
    Start(PipelineStartArgs),
    /// Approve the plan (at a terminal): freezes its commands; later changes may only add to it
    Approve(PipelineSelectArgs),
    /// Answer an open question (terminal only)
    Answer {
        /// The question, as `pipeline status` shows it: `TODO-2/AC-2`, `D-1`
        question: String,
        /// Whether you agree
        #[arg(value_enum)]
        answer: PersonAnswerArg,
        /// Id of the pipeline [default: the active or last one of this project]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
    },
    /// Show the phase, the TODOs and the progress
    Status(PipelineSelectArgs),
    /// Print the plan as it was approved, to restore plan.md if it was changed or deleted
    Plan(PipelineSelectArgs),
    /// End the pipeline and its loop; files stay as they are
    Cancel(PipelineSelectArgs),
    /// Continue a pipeline that ended without success, in a new loop
    Resume {
        #[command(flatten)]
        select: PipelineSelectArgs,
        /// Session that continues it [default: the next one in this project]
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Token limit, counted from now; the pipeline ends as `partial`
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        max_tokens: Option<u64>,
    },
    /// Report the results of moai-ralph's own runs for each TODO, requirement and commit
    Report(PipelineSelectArgs),
    /// Show a pull request text with the evidence for each requirement
    #[command(name = "pr")]
    PullRequest {
        #[command(flatten)]
        select: PipelineSelectArgs,
        /// Open it with gh; only for a person
        #[arg(long)]
        create: bool,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct PipelineStartArgs {
    /// Kind of pipeline
    #[arg(long, value_enum, default_value_t = PipelineKindArg::Full, value_name = "KIND")]
    pub(in crate::cli) kind: PipelineKindArg,
    /// The goal
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) goal: String,
    /// Session that works on it [default: the next one in this project]
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) session: Option<String>,
    /// Let the main agent write source files itself, for a host without subagents
    #[arg(long)]
    pub(in crate::cli) solo: bool,
    /// Work on up to N independent TODOs at the same time, each in a worktree of its own (1 to 8)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(in crate::cli) workers: Option<u32>,
    /// Token limit; the pipeline ends as `partial`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(in crate::cli) max_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum PersonAnswerArg {
    /// You agree
    Yes,
    /// You do not agree
    No,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum PipelineKindArg {
    /// Plan, work, gates and rounds of fixes
    Full,
    /// Plan and work, without gates
    Small,
    /// Up to three attempts to fix one bug, without a plan
    Bugfix,
}

impl PipelineKindArg {
    pub(in crate::cli) fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Small => "small",
            Self::Bugfix => "bugfix",
        }
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct PipelineSelectArgs {
    /// Id of the pipeline [default: the active or last one of this project]
    pub(in crate::cli) id: Option<String>,
}
