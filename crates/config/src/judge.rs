//! Options of judges: model, backend, time and cost.

use std::time::Duration;

use serde::Deserialize;

use super::{OptionRefusal, bounded, set};
use moai_base::limits::JUDGES_MAX;

/// Backends for models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// The `claude` program, headless.
    #[default]
    Claude,
    /// A command: prompt on stdin, answer on stdout.
    Command,
    /// An HTTP endpoint with OpenAI's chat completions API.
    Openai,
    /// An HTTP endpoint with Anthropic's messages API.
    Anthropic,
    /// No judge.
    None,
}

impl BackendKind {
    /// The name in options and reports.
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JudgeChoice {
    /// Name in reports; empty for the backend's name.
    pub name: String,
    pub backend: BackendKind,
    /// Its model; empty for the rubric's, else the backend's default.
    pub model: String,
    /// For `command`: program and arguments.
    pub command: Vec<String>,
    /// For HTTP: the endpoint.
    pub url: String,
    /// For HTTP: the environment variable with the key.
    pub api_key_env: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeOptions {
    /// The judge if there is no list.
    default_judge: JudgeChoice,
    /// Several judges.
    listed_judges: Vec<JudgeChoice>,
    /// Time limit of one answer.
    pub timeout: Duration,
    /// Cost limit of one call in US cents, for backends that support it.
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
    /// The configured judges, each with a name.
    #[must_use]
    pub fn judges(&self) -> Vec<JudgeChoice> {
        let judges = if self.listed_judges.is_empty() {
            vec![self.default_judge.clone()]
        } else {
            self.listed_judges.clone()
        };
        judges
            .into_iter()
            .map(|judge| match judge.name.as_str() {
                "" => JudgeChoice { name: judge.backend.as_str().to_owned(), ..judge },
                _ => judge,
            })
            .collect()
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
        for judge in self.listed_judges.iter().chain([&self.default_judge]) {
            let is_url = judge.url.starts_with("http://") || judge.url.starts_with("https://");
            if !judge.url.is_empty() && !is_url {
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

/// The caller has checked the range.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 100000")]
fn cents(dollars: f64) -> u64 {
    (dollars * 100.0).round() as u64
}

/// The judge options of one layer.
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

impl JudgeLayer {
    /// Removes the options that set programs and services; returns true if any was set.
    pub(super) fn withhold_services(&mut self) -> bool {
        let Self { backend, command, url, api_key_env, judges, .. } = self;
        let is_any_set = backend.is_some()
            || command.is_some()
            || url.is_some()
            || api_key_env.is_some()
            || judges.is_some();
        (*backend, *command, *url) = (None, None, None);
        (*api_key_env, *judges) = (None, None);
        is_any_set
    }
}
