//! How a model is reached: a program, or an HTTP endpoint. One question, one text back, or a gap
//! that says why there is none. It must not know what is asked or what the answer means.

mod claude;
mod command;
mod http;
mod process;

use std::path::PathBuf;
use std::time::Duration;

use crate::base::verdict::{Cause, Gap};

/// Set in the environment of every program that is started here: our own hooks see it and end at
/// once, so that a judge never judges itself.
pub const RECURSION_MARK: &str = "MOAI_RALPH_JUDGE";

/// A way to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The host's own program, without tools, settings of the project, hooks and memory.
    Claude {
        /// A name or a path.
        program: PathBuf,
        /// `None`: the program's own choice.
        model: Option<String>,
        /// What one call may cost, in US cents.
        budget_cents: u64,
    },
    /// A command: the question on stdin, the answer on stdout.
    Command {
        /// A path, or a name in the `PATH` of the caller.
        program: PathBuf,
        /// Its arguments.
        args: Vec<String>,
    },
    /// An HTTP endpoint.
    Http {
        /// Whose words it speaks.
        style: Style,
        /// The endpoint, or what stands before its well-known path.
        url: String,
        /// The model's name.
        model: String,
        /// The environment variable with the key; `None`: no key is sent.
        api_key_env: Option<String>,
    },
}

/// Whose words an endpoint speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `POST …/chat/completions`.
    Openai,
    /// `POST …/v1/messages`.
    Anthropic,
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// Standing instructions.
    pub system: String,
    /// The question itself.
    pub user: String,
    /// How long the answer may take.
    pub timeout: Duration,
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The model's words, whole.
    pub text: String,
    /// Which model it was, where that is told.
    pub model: Option<String>,
    /// What it cost in US dollars, where that is told.
    pub cost_usd: Option<f64>,
}

/// The environment of the caller, as names and values.
pub type Environment = [(String, String)];

/// A back end that was looked at and can be asked.
#[derive(Clone, Debug)]
pub struct Ready {
    backend: Backend,
    /// For the claude program: which of the options it is given it knows.
    known: claude::Known,
}

impl Backend {
    /// Looks whether the back end can be asked at all.
    pub async fn prepare(self, env: &Environment) -> Result<Ready, Gap> {
        let known = match &self {
            Self::Claude { program, .. } => claude::known(program, env).await?,
            Self::Command { program, .. } if program.as_os_str().is_empty() => {
                return Err(unset("judge.command"));
            }
            Self::Http { url, .. } if url.is_empty() => return Err(unset("judge.url")),
            Self::Http { model, .. } if model.is_empty() => return Err(unset("judge.model")),
            _ => claude::Known::default(),
        };
        Ok(Ready { backend: self, known })
    }
}

impl Ready {
    /// Asks once. Whatever goes wrong is a gap, whose words hold neither key nor answer.
    pub async fn ask(&self, question: Question, env: &Environment) -> Result<Said, Gap> {
        match &self.backend {
            Backend::Claude { program, model, budget_cents } => {
                let options =
                    claude::Options { model: model.as_deref(), budget_cents: *budget_cents };
                claude::ask(program, &self.known, &options, question, env).await
            }
            Backend::Command { program, args } => command::ask(program, args, question, env).await,
            Backend::Http { style, url, model, api_key_env } => {
                let key = api_key_env.as_deref().map(|name| key(name, env)).transpose()?;
                let endpoint =
                    http::Endpoint { style: *style, url: url.clone(), model: model.clone(), key };
                http::ask(endpoint, question, env).await
            }
        }
    }
}

fn unset(option: &str) -> Gap {
    Gap::new(Cause::NotInstalled, format!("the option {option} is not set"))
}

fn key(name: &str, env: &Environment) -> Result<String, Gap> {
    let value = env.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim().to_owned());
    value.filter(|value| !value.is_empty()).ok_or_else(|| {
        Gap::new(Cause::NotInstalled, format!("the environment variable {name} is not set"))
    })
}
