//! One question to one model, put again with a new secret while its answer cannot be used. It must
//! not know what the question is about.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::verdict::{Cause, Gap};
use crate::judge::prompt::JudgePrompt;
use crate::judge::verdict::{ExpectedAnswer, JudgeAnswer};
use crate::models::{ModelRequest, ModelResponse, PreparedBackend};

/// One question to one model, with what it takes to ask it.
pub(super) struct ModelCall {
    /// One for each try, because each has a secret of its own.
    pub(super) prompts: Vec<JudgePrompt>,
    pub(super) ready: Arc<PreparedBackend>,
    pub(super) env: Arc<Vec<(String, String)>>,
    /// The longest wait for one answer.
    pub(super) timeout: Duration,
    /// When the whole run must be over.
    pub(super) deadline: Instant,
}

/// What came of a call.
pub(super) struct ModelCallOutcome {
    pub(super) answer: Result<(JudgeAnswer, JudgePrompt), Gap>,
    /// What came back, usable or not: it cost something.
    pub(super) replies: Vec<ModelResponse>,
    /// How often the model was asked.
    pub(super) tries: usize,
}

impl ModelCall {
    /// Asks until an answer can be used, a few times at most.
    pub(super) async fn make(self) -> ModelCallOutcome {
        let (mut said, mut count) = (Vec::new(), 0);
        let mut last = no_try();
        for prompt in self.prompts {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                last = Gap::new(Cause::TimedOut, "no time left for the judge");
                break;
            }
            let question = ModelRequest {
                system: prompt.system.clone(),
                user: prompt.user.clone(),
                timeout: self.timeout.min(left),
            };
            count += 1;
            let one = match self.ready.ask(question, &self.env).await {
                Ok(one) => one,
                Err(gap) => {
                    return ModelCallOutcome { answer: Err(gap), replies: said, tries: count };
                }
            };
            let expected = ExpectedAnswer { nonce: &prompt.nonce, ids: &prompt.ids };
            let answer = JudgeAnswer::parse(&one.text, expected);
            said.push(one);
            match answer {
                Ok(answer) => {
                    return ModelCallOutcome {
                        answer: Ok((answer, prompt)),
                        replies: said,
                        tries: count,
                    };
                }
                Err(error) => last = Gap::new(Cause::Crashed, error.to_string()),
            }
        }
        ModelCallOutcome { answer: Err(last), replies: said, tries: count }
    }
}

/// A number that nobody can foresee.
pub(super) fn random() -> Result<u128, Gap> {
    use std::io::Read as _;
    let mut bytes = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| {
        Gap::new(Cause::Crashed, format!("no random numbers available: {error}"))
    })?;
    Ok(u128::from_ne_bytes(bytes))
}

/// Nothing was tried.
fn no_try() -> Gap {
    Gap::new(Cause::Crashed, "the judge was not called")
}
