//! Access to models through a program or an HTTP endpoint: one question, and one text or a gap in
//! return.

mod claude;
mod command;
mod http;
mod process;

use std::path::PathBuf;
use std::time::Duration;

use moai_base::redaction::redact;
use moai_base::verdict::{Cause, Gap};

/// Set in the environment of every program started here; our own hooks exit at once when they see
/// it, so that a judge never judges itself.
pub const RECURSION_MARK: &str = "MOAI_RALPH_JUDGE";

/// Backend of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelBackend {
    /// The host's own program, without tools, project settings, hooks and memory.
    Claude {
        /// A name or a path.
        program: PathBuf,
        /// `None`: the program's default.
        model: Option<String>,
        /// Cost limit of one call in US cents.
        budget_cents: u64,
    },
    /// A command: the question on stdin, the answer on stdout.
    Command {
        /// A path, or a name in the `PATH` of the caller.
        program: PathBuf,
        args: Vec<String>,
    },
    Http {
        /// API of the endpoint.
        style: ApiStyle,
        /// The endpoint, or its base URL.
        url: String,
        model: String,
        /// The environment variable with the key; `None`: no key is sent.
        api_key_env: Option<String>,
    },
}

/// API of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiStyle {
    /// `POST …/chat/completions`.
    Openai,
    /// `POST …/v1/messages`.
    Anthropic,
}

/// A request to a model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    pub system: String,
    pub user: String,
    /// Time limit of the answer.
    pub timeout: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModelResponse {
    pub text: String,
    /// The model, if reported.
    pub model: Option<String>,
    /// Cost in US dollars, if reported.
    pub cost_usd: Option<f64>,
}

/// The caller's environment, as names and values.
pub type CallerEnv = [(String, String)];

/// A backend that was checked and is usable.
#[derive(Clone, Debug)]
pub struct PreparedBackend {
    backend: ModelBackend,
    /// For the claude program: the options that this version supports.
    known_options: claude::KnownOptions,
}

impl ModelBackend {
    /// Checks that the backend is usable.
    pub async fn prepare(self, env: &CallerEnv) -> Result<PreparedBackend, Gap> {
        let known = match &self {
            Self::Claude { program, .. } => claude::read_known_options(program, env).await?,
            Self::Command { program, .. } if program.as_os_str().is_empty() => {
                return Err(unset("judge.command"));
            }
            Self::Http { url, .. } if url.is_empty() => return Err(unset("judge.url")),
            Self::Http { model, .. } if model.is_empty() => return Err(unset("judge.model")),
            _ => claude::KnownOptions::default(),
        };
        Ok(PreparedBackend { backend: self, known_options: known })
    }
}

impl PreparedBackend {
    /// Sends one request, with the secrets in its texts removed. Every failure is a gap whose text contains
    /// neither key nor answer.
    pub async fn ask(&self, question: ModelRequest, env: &CallerEnv) -> Result<ModelResponse, Gap> {
        let question = ModelRequest {
            system: redact(question.system),
            user: redact(question.user),
            timeout: question.timeout,
        };
        match &self.backend {
            ModelBackend::Claude { program, model, budget_cents } => {
                let options =
                    claude::ClaudeOptions { model: model.as_deref(), budget_cents: *budget_cents };
                claude::ask_claude(program, &self.known_options, &options, question, env).await
            }
            ModelBackend::Command { program, args } => {
                command::ask_command(program, args, question, env).await
            }
            ModelBackend::Http { style, url, model, api_key_env } => {
                let key = api_key_env.as_deref().map(|name| key(name, env)).transpose()?;
                let endpoint = http::HttpEndpoint {
                    style: *style,
                    url: url.clone(),
                    model: model.clone(),
                    key,
                };
                http::ask_http(endpoint, question, env).await
            }
        }
    }
}

fn unset(option: &str) -> Gap {
    Gap::new(Cause::NotInstalled, format!("the option {option} is not set"))
}

fn key(name: &str, env: &CallerEnv) -> Result<String, Gap> {
    let value = env.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim().to_owned());
    value.filter(|value| !value.is_empty()).ok_or_else(|| {
        Gap::new(Cause::NotInstalled, format!("the environment variable {name} is not set"))
    })
}
