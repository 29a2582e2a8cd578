//! The options of a loop: those a start may set, the table from which every front door makes its
//! form of them, and those a loop runs with.

use serde::{Deserialize, Serialize};

use super::state::{Mode, UntilCondition};
use crate::named_enum::{named_variants, serialize_by_name};

/// Iteration limit, unless the start or the project's options set another one.
pub const MAX_ITERATIONS_DEFAULT: u32 = 10;

/// Consecutive rejections by the judge after which the loop pauses for the user.
const HITL_THRESHOLD: u32 = 5;
/// Consecutive rejections after which an autonomous loop changes its strategy.
const HITL_THRESHOLD_AUTONOMOUS: u32 = 10;

/// The baseline of a loop: only findings newer than it hold a Stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaselineMode {
    /// Findings present at the loop's base are older and do not hold a Stop.
    #[default]
    Base,
    /// There is no baseline: older findings are the task.
    None,
}

named_variants!(BaselineMode { Base: "base", None: "none" });
serialize_by_name!(BaselineMode);

/// Options that a start may set, as sent by front doors and configured as defaults. Each field has a
/// row in [`START_OPTIONS`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopStartOptions {
    pub mode: Option<Mode>,
    /// Iteration limit.
    pub max_iterations: Option<u32>,
    /// Text of the tag that the agent writes to claim completion.
    pub completion_promise: Option<String>,
    /// Condition that ends the loop.
    pub until: Option<UntilCondition>,
    /// Which findings hold a Stop.
    pub baseline: Option<BaselineMode>,
    /// Number of iterations between pauses.
    pub milestone_every: Option<u32>,
    /// Consecutive rejections after which the loop pauses for a person.
    pub hitl_threshold: Option<u32>,
    /// Time limit in minutes.
    pub max_minutes: Option<u32>,
    /// Token limit.
    pub max_tokens: Option<u64>,
    /// Continue to the iteration limit even if everything is done.
    pub force_max: Option<bool>,
    /// Hold the first Stop until the research phase is written down.
    pub research: Option<bool>,
    /// Keep notes as a small wiki.
    pub structured_memory: Option<bool>,
    /// The branch an autonomous loop starts from and is merged into.
    pub base_branch: Option<String>,
    /// Number of worktrees, each with a loop.
    pub workers: Option<u32>,
}

impl LoopStartOptions {
    /// These options, and the defaults where they are not set.
    #[must_use]
    pub fn or(self, defaults: &Self) -> Self {
        let defaults = defaults.clone();
        Self {
            mode: self.mode.or(defaults.mode),
            max_iterations: self.max_iterations.or(defaults.max_iterations),
            completion_promise: self.completion_promise.or(defaults.completion_promise),
            until: self.until.or(defaults.until),
            baseline: self.baseline.or(defaults.baseline),
            milestone_every: self.milestone_every.or(defaults.milestone_every),
            hitl_threshold: self.hitl_threshold.or(defaults.hitl_threshold),
            max_minutes: self.max_minutes.or(defaults.max_minutes),
            max_tokens: self.max_tokens.or(defaults.max_tokens),
            force_max: self.force_max.or(defaults.force_max),
            research: self.research.or(defaults.research),
            structured_memory: self.structured_memory.or(defaults.structured_memory),
            base_branch: self.base_branch.or(defaults.base_branch),
            workers: self.workers.or(defaults.workers),
        }
    }
}

/// The value that an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// None.
    Flag,
    /// A `u32` of at least 1.
    Count,
    /// A `u64` of at least 1.
    LargeCount,
    Text {
        /// Its name in help texts.
        placeholder: &'static str,
        /// The text of a refusal of a missing value.
        need: &'static str,
    },
    /// One of several names.
    Choice {
        /// Its name in help texts.
        placeholder: &'static str,
        /// Each name with its help text.
        choices: &'static [(&'static str, &'static str)],
    },
}

/// One option of [`LoopStartOptions`] for users and agents.
#[derive(Clone, Copy, Debug)]
pub struct StartOption {
    /// The flag on the command line and in the slash command.
    pub flag: &'static str,
    /// Field of [`LoopStartOptions`], and property of the MCP tool.
    pub field: &'static str,
    pub value: OptionValue,
    /// Help text of the flag.
    pub help: &'static str,
    /// Description of the MCP tool's property, empty where the name is enough; `None`: agents cannot
    /// set this option.
    pub tool_help: Option<&'static str>,
    /// Option of the project that holds its default; `None`: it cannot be configured.
    pub config_key: Option<&'static str>,
    /// Sets the field; `false` if the value is not acceptable. A flag ignores the value.
    pub assign: fn(&mut LoopStartOptions, &str) -> bool,
}

impl StartOption {
    /// The flag without its dashes.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.flag.trim_start_matches('-')
    }

    /// The notation of the value; empty for a flag.
    #[must_use]
    pub fn syntax(&self) -> String {
        match self.value {
            OptionValue::Flag => String::new(),
            OptionValue::Count | OptionValue::LargeCount => "N".to_owned(),
            OptionValue::Text { placeholder, .. } => placeholder.to_owned(),
            OptionValue::Choice { choices, .. } => {
                choices.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("|")
            }
        }
    }

    /// The requirement on the value, as the end of a sentence that begins with the flag.
    #[must_use]
    pub fn need(&self) -> String {
        match self.value {
            OptionValue::Flag => "takes no value".to_owned(),
            OptionValue::Count | OptionValue::LargeCount => {
                "needs a number of at least 1".to_owned()
            }
            OptionValue::Text { need, .. } => need.to_owned(),
            OptionValue::Choice { choices, .. } => {
                let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
                match names.split_last() {
                    Some((last, others)) if !others.is_empty() => {
                        format!("needs {} or {last}", others.join(", "))
                    }
                    _ => format!("needs {}", names.concat()),
                }
            }
        }
    }
}

fn assign<T>(field: &mut Option<T>, value: Option<T>) -> bool {
    let is_acceptable = value.is_some();
    if is_acceptable {
        *field = value;
    }
    is_acceptable
}

/// All options of a start, in the order of help texts.
pub const START_OPTIONS: [StartOption; 15] = [
    StartOption {
        flag: "--mode",
        field: "mode",
        value: OptionValue::Choice {
            placeholder: "MODE",
            choices: &[
                ("basic", "Decides on evidence only"),
                ("judge", "A judge also reviews what evidence cannot show"),
                ("autonomous", "Works on its own branch, which is merged at the end"),
            ],
        },
        help: "How the loop decides that the task is done [default: basic]",
        tool_help: Some(""),
        config_key: None,
        assign: |options, text| assign(&mut options.mode, Mode::from_name(text)),
    },
    StartOption {
        flag: "--max-iterations",
        field: "max_iterations",
        value: OptionValue::Count,
        help: "Maximum number of iterations [default: 10]",
        tool_help: Some("Maximum number of iterations (10)"),
        config_key: Some("loop.max_iterations"),
        assign: |options, text| assign(&mut options.max_iterations, text.parse().ok()),
    },
    StartOption {
        flag: "--completion-promise",
        field: "completion_promise",
        value: OptionValue::Text {
            placeholder: "TEXT",
            need: "needs a text, quoted if it contains spaces",
        },
        help: "Text the agent writes as <promise>TEXT</promise> to claim completion",
        tool_help: Some("Text the agent writes to claim completion"),
        config_key: None,
        assign: |options, text| assign(&mut options.completion_promise, Some(text.to_owned())),
    },
    StartOption {
        flag: "--until",
        field: "until",
        value: OptionValue::Choice {
            placeholder: "UNTIL",
            choices: &[
                (
                    "clean",
                    "No errors, and the checks pass: the configured ones, else those detected in \
                     the project",
                ),
                ("diagnostics", "No errors, and the configured checks pass, if any"),
                ("checks", "No errors, and the checks pass; refuses to start if there are none"),
                (
                    "promise",
                    "No errors, the checks pass, and the agent writes its completion promise",
                ),
            ],
        },
        help: "What ends the loop [default: promise with --completion-promise, else clean]",
        tool_help: Some(""),
        config_key: None,
        assign: |options, text| assign(&mut options.until, UntilCondition::from_name(text)),
    },
    StartOption {
        flag: "--baseline",
        field: "baseline",
        value: OptionValue::Choice {
            placeholder: "BASELINE",
            choices: &[
                ("base", "Only findings introduced since the loop started"),
                ("none", "All findings, including older ones"),
            ],
        },
        help: "Which findings hold a Stop [default: base]",
        tool_help: Some(""),
        config_key: Some("loop.baseline"),
        assign: |options, text| assign(&mut options.baseline, BaselineMode::from_name(text)),
    },
    StartOption {
        flag: "--milestone-every",
        field: "milestone_every",
        value: OptionValue::Count,
        help: "Pause after every N iterations",
        tool_help: None,
        config_key: None,
        assign: |options, text| assign(&mut options.milestone_every, text.parse().ok()),
    },
    StartOption {
        flag: "--hitl-threshold",
        field: "hitl_threshold",
        value: OptionValue::Count,
        help: "Consecutive rejections before the loop pauses (autonomous: before it changes its \
               approach) [default: 5, autonomous: 10]",
        tool_help: None,
        config_key: None,
        assign: |options, text| assign(&mut options.hitl_threshold, text.parse().ok()),
    },
    StartOption {
        flag: "--max-minutes",
        field: "max_minutes",
        value: OptionValue::Count,
        help: "Minutes after which the loop ends",
        tool_help: Some("Limit in minutes"),
        config_key: None,
        assign: |options, text| assign(&mut options.max_minutes, text.parse().ok()),
    },
    StartOption {
        flag: "--max-tokens",
        field: "max_tokens",
        value: OptionValue::LargeCount,
        help: "Tokens after which the loop ends",
        tool_help: Some("Limit in tokens"),
        config_key: None,
        assign: |options, text| assign(&mut options.max_tokens, text.parse().ok()),
    },
    StartOption {
        flag: "--force-max",
        field: "force_max",
        value: OptionValue::Flag,
        help: "Continue to the last iteration even when everything is done",
        tool_help: None,
        config_key: None,
        assign: |options, _| assign(&mut options.force_max, Some(true)),
    },
    StartOption {
        flag: "--research",
        field: "research",
        value: OptionValue::Flag,
        help: "Start with a research phase, written to progress.txt [default in the modes judge \
               and autonomous]",
        tool_help: None,
        config_key: None,
        assign: |options, _| assign(&mut options.research, Some(true)),
    },
    StartOption {
        flag: "--no-research",
        field: "research",
        value: OptionValue::Flag,
        help: "Skip the research phase",
        tool_help: None,
        config_key: None,
        assign: |options, _| assign(&mut options.research, Some(false)),
    },
    StartOption {
        flag: "--structured-memory",
        field: "structured_memory",
        value: OptionValue::Flag,
        help: "Keep notes as a small wiki in .claude/memory",
        tool_help: None,
        config_key: None,
        assign: |options, _| assign(&mut options.structured_memory, Some(true)),
    },
    StartOption {
        flag: "--base-branch",
        field: "base_branch",
        value: OptionValue::Text { placeholder: "B", need: "needs the name of a branch" },
        help: "Autonomous: branch to start from and merge into [default: the current branch]",
        tool_help: None,
        config_key: None,
        assign: |options, text| assign(&mut options.base_branch, Some(text.to_owned())),
    },
    StartOption {
        flag: "--workers",
        field: "workers",
        value: OptionValue::Count,
        help: "Autonomous: number of worktrees, each with its own loop",
        tool_help: None,
        config_key: None,
        assign: |options, text| assign(&mut options.workers, text.parse().ok()),
    },
];

/// The options that a loop runs with. The store writes them as JSON: a new field needs
/// `#[serde(default)]`, because loops of an older version lack it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopOptions {
    /// Pause after every `milestone_every` iterations.
    pub milestone_every: Option<u32>,
    /// Consecutive rejections after which the loop pauses; an autonomous one changes its strategy.
    pub hitl_threshold: u32,
    /// Maximum running time in minutes.
    pub max_minutes: Option<u32>,
    /// Maximum tokens.
    pub max_tokens: Option<u64>,
    /// Continue to the maximum of iterations although everything is done.
    pub force_max: bool,
    /// Hold the first Stop until the research phase is written down.
    pub research: bool,
    /// Keep the notes as a small wiki.
    pub structured_memory: bool,
    /// The branch that an autonomous loop starts from and is merged into; `None`: the current one.
    pub base_branch: Option<String>,
    /// Worktrees with a loop each; 0: this worktree only.
    pub workers: u32,
    /// Which findings are older than the task.
    #[serde(default)]
    pub baseline: BaselineMode,
    /// Files and folders below the root that the loop is narrowed to; empty: everything.
    #[serde(default)]
    pub paths: Vec<String>,
    /// The pipeline whose plan the loop works through.
    #[serde(default)]
    pub pipeline: Option<String>,
}

impl LoopOptions {
    #[must_use]
    pub fn defaults_for(mode: Mode) -> Self {
        Self {
            milestone_every: None,
            hitl_threshold: match mode {
                Mode::Basic | Mode::Judge => HITL_THRESHOLD,
                Mode::Autonomous => HITL_THRESHOLD_AUTONOMOUS,
            },
            max_minutes: None,
            max_tokens: None,
            force_max: false,
            research: mode != Mode::Basic,
            structured_memory: false,
            base_branch: None,
            workers: 0,
            baseline: BaselineMode::default(),
            paths: Vec::new(),
            pipeline: None,
        }
    }
}
