//! One question to one model, repeated with a new secret while the answer is unusable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::verdict::{Cause, Gap};
use crate::judge::prompt::JudgePrompt;
use crate::judge::verdict::{ExpectedAnswer, JudgeAnswer};
use crate::models::{ModelRequest, ModelResponse, PreparedBackend};

/// One question to one model, with everything needed to ask it.
pub(super) struct ModelCall {
    /// One per try, because every try needs its own secret.
    pub(super) prompts: Vec<JudgePrompt>,
    pub(super) ready: Arc<PreparedBackend>,
    pub(super) env: Arc<Vec<(String, String)>>,
    /// The longest wait for one answer.
    pub(super) timeout: Duration,
    /// The end of the whole run.
    pub(super) deadline: Instant,
}

/// The outcome of a call.
pub(super) struct ModelCallOutcome {
    pub(super) answer: Result<(JudgeAnswer, JudgePrompt), Gap>,
    /// All replies, unusable ones too, because they cost tokens.
    pub(super) replies: Vec<ModelResponse>,
    /// The number of tries.
    pub(super) tries: usize,
}

impl ModelCall {
    /// Asks until an answer is usable or the prompts are used up.
    pub(super) async fn make(self) -> ModelCallOutcome {
        let (mut replies, mut tries) = (Vec::new(), 0);
        let mut gap = Gap::new(Cause::Crashed, "the judge was not called");
        for prompt in self.prompts {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                gap = Gap::new(Cause::TimedOut, "no time left for the judge");
                break;
            }
            let question = ModelRequest {
                system: prompt.system.clone(),
                user: prompt.user.clone(),
                timeout: self.timeout.min(left),
            };
            tries += 1;
            let reply = match self.ready.ask(question, &self.env).await {
                Ok(reply) => reply,
                Err(gap) => return ModelCallOutcome { answer: Err(gap), replies, tries },
            };
            let expected = ExpectedAnswer { nonce: &prompt.nonce, ids: &prompt.ids };
            let answer = JudgeAnswer::parse(&reply.text, expected);
            replies.push(reply);
            match answer {
                Ok(answer) => {
                    return ModelCallOutcome { answer: Ok((answer, prompt)), replies, tries };
                }
                Err(error) => gap = Gap::new(Cause::Crashed, error.to_string()),
            }
        }
        ModelCallOutcome { answer: Err(gap), replies, tries }
    }
}

/// An unpredictable number.
pub(super) fn random() -> Result<u128, Gap> {
    use std::io::Read as _;
    let mut bytes = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| {
        Gap::new(Cause::Crashed, format!("no random numbers available: {error}"))
    })?;
    Ok(u128::from_ne_bytes(bytes))
}
