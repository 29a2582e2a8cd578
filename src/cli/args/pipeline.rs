//! Arguments of `pipeline …`.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum PipelineCommand {
    /// Start a pipeline: the agent writes a plan, and works once it is approved
    Start(PipelineStartArgs),
    /// Approve the plan, at a terminal; its commands are frozen, and then it may only grow
    Approve(PipelineSelectArgs),
    /// Answer a question that only a person answers, at a terminal
    Answer {
        /// The question, as `pipeline status` names it: `TODO-2/AC-2`, `D-1`
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
    /// End the pipeline and its loop; files stay as they are
    Cancel(PipelineSelectArgs),
    /// Continue a pipeline that has ended without success, with a new loop
    Resume {
        #[command(flatten)]
        select: PipelineSelectArgs,
        /// The session that continues it [default: the next one in this project]
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// End as partial when so many more tokens are used
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        max_tokens: Option<u64>,
    },
    /// Report what the engine's own runs showed for each TODO, requirement and commit
    Report(PipelineSelectArgs),
    /// Show the text of a pull request with the evidence for each requirement
    #[command(name = "pr")]
    PullRequest {
        #[command(flatten)]
        select: PipelineSelectArgs,
        /// Let gh open it; only for a person
        #[arg(long)]
        create: bool,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct PipelineStartArgs {
    /// How much of a pipeline the goal needs
    #[arg(long, value_enum, default_value_t = PipelineKindArg::Full, value_name = "KIND")]
    pub(in crate::cli) kind: PipelineKindArg,
    /// What is to be reached
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(in crate::cli) goal: String,
    /// The session that works on it [default: the next one in this project]
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) session: Option<String>,
    /// Let the main agent write source files itself, for a host without subagents
    #[arg(long)]
    pub(in crate::cli) solo: bool,
    /// Work on up to N independent TODOs at the same time, each in a worktree of its own (1 to 8)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(in crate::cli) workers: Option<u32>,
    /// End as partial when so many tokens are used
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(in crate::cli) max_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum PersonAnswerArg {
    /// You agree
    Yes,
    /// You do not
    No,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum PipelineKindArg {
    /// A plan, the work, gates, and rounds of fixes
    Full,
    /// A plan, the work, and its end
    Small,
    /// Three attempts at one fault, without a plan
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
