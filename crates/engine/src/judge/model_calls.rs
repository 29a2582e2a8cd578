//! One question to one model, repeated with a new secret while the answer is unusable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use moai_base::verdict::{Cause, Gap};
use moai_host::models::{ModelRequest, ModelResponse, PreparedBackend};
use moai_loops::judge::prompt::JudgePrompt;
use moai_loops::judge::verdict::{ExpectedAnswer, JudgeAnswer};

/// One question to one model, with everything needed to ask it.
pub(crate) struct ModelCall {
    /// One per try, because every try needs its own secret.
    pub(crate) prompts: Vec<JudgePrompt>,
    pub(crate) ready: Arc<PreparedBackend>,
    pub(crate) env: Arc<Vec<(String, String)>>,
    /// The longest wait for one answer.
    pub(crate) timeout: Duration,
    /// The end of the whole run.
    pub(crate) deadline: Instant,
}

/// The outcome of a call.
pub(crate) struct ModelCallOutcome {
    pub(crate) answer: Result<(JudgeAnswer, JudgePrompt), Gap>,
    /// All replies, unusable ones too, because they cost tokens.
    pub(crate) replies: Vec<ModelResponse>,
    /// The number of tries.
    pub(crate) tries: usize,
}

impl ModelCall {
    /// Asks until an answer is usable or the prompts are used up.
    pub(crate) async fn make(self) -> ModelCallOutcome {
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

pub(crate) fn random() -> Result<u128, Gap> {
    use std::io::Read as _;
    let mut bytes = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| {
        Gap::new(Cause::Crashed, format!("no random numbers available: {error}"))
    })?;
    Ok(u128::from_ne_bytes(bytes))
}
