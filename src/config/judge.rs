//! Options of the judge: which model is asked, how, for how long and for how much.

use std::time::Duration;

use serde::Deserialize;

use super::{OptionRefusal, bounded, set};
use crate::base::limits::JUDGES_MAX;

/// How a model is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// The `claude` program, headless.
    #[default]
    Claude,
    /// A command: the prompt on stdin, the answer on stdout.
    Command,
    /// An HTTP endpoint that speaks like OpenAI's chat completions.
    Openai,
    /// An HTTP endpoint that speaks like Anthropic's messages.
    Anthropic,
    /// Nobody.
    None,
}

impl BackendKind {
    /// The word in options and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Command => "command",
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::None => "none",
        }
    }
}

/// One judge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JudgeChoice {
    /// What it is called in reports; empty: as its back end.
    pub name: String,
    /// How it is reached.
    pub backend: BackendKind,
    /// Its model; empty: that of the rubric, else the back end's own choice.
    pub model: String,
    /// Program and arguments of a command.
    pub command: Vec<String>,
    /// The endpoint.
    pub url: String,
    /// The environment variable that holds the key.
    pub api_key_env: String,
}

/// The options in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeOptions {
    /// The one judge, unless there is a list.
    default_judge: JudgeChoice,
    /// Several judges.
    listed_judges: Vec<JudgeChoice>,
    /// Longest wait for one answer.
    pub timeout: Duration,
    /// What one call may cost, in US cents, where the back end can be told.
    pub budget_cents: u64,
}

impl Default for JudgeOptions {
    fn default() -> Self {
        let (one, list) = (JudgeChoice::default(), Vec::new());
        Self {
            default_judge: one,
            listed_judges: list,
            timeout: Duration::from_mins(2),
            budget_cents: 100,
        }
    }
}

impl JudgeOptions {
    /// The judges to ask, each with a name.
    #[must_use]
    pub fn judges(&self) -> Vec<JudgeChoice> {
        let judges = if self.listed_judges.is_empty() {
            vec![self.default_judge.clone()]
        } else {
            self.listed_judges.clone()
        };
        let named = |one: JudgeChoice| match one.name.as_str() {
            "" => JudgeChoice { name: one.backend.as_str().to_owned(), ..one },
            _ => one,
        };
        judges.into_iter().map(named).collect()
    }

    pub(super) fn apply_layer(&mut self, layer: JudgeLayer) -> Result<(), OptionRefusal> {
        set(&mut self.default_judge.backend, layer.backend);
        set(&mut self.default_judge.model, layer.model);
        set(&mut self.default_judge.command, layer.command);
        set(&mut self.default_judge.url, layer.url);
        set(&mut self.default_judge.api_key_env, layer.api_key_env);
        if layer.judges.as_ref().is_some_and(|judges| judges.len() > JUDGES_MAX) {
            return Err(("judge.judges".to_owned(), format!("more than {JUDGES_MAX} judges")));
        }
        set(&mut self.listed_judges, layer.judges);
        for one in self.listed_judges.iter().chain([&self.default_judge]) {
            let is_url = one.url.starts_with("http://") || one.url.starts_with("https://");
            if !one.url.is_empty() && !is_url {
                return Err(("judge.url".to_owned(), "expected http:// or https://".to_owned()));
            }
        }
        let secs = Duration::from_secs;
        bounded(&mut self.timeout, "judge.timeout_secs", layer.timeout_secs, 1..=300, secs)?;
        match layer.max_budget_usd {
            None => Ok(()),
            Some(dollars) if (0.01..=1_000.0).contains(&dollars) => {
                self.budget_cents = cents(dollars);
                Ok(())
            }
            Some(dollars) => {
                let reason = format!("{dollars} is not between 0.01 and 1000");
                Err(("judge.max_budget_usd".to_owned(), reason))
            }
        }
    }
}

/// Within the range that was checked.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 100000")]
fn cents(dollars: f64) -> u64 {
    (dollars * 100.0).round() as u64
}

/// One file's worth of them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct JudgeLayer {
    backend: Option<BackendKind>,
    model: Option<String>,
    command: Option<Vec<String>>,
    url: Option<String>,
    api_key_env: Option<String>,
    timeout_secs: Option<u64>,
    max_budget_usd: Option<f64>,
    judges: Option<Vec<JudgeChoice>>,
}
