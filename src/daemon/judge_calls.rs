//! One question to one model, put again with a new secret while its answer cannot be used. It must
//! not know what the question is about.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::verdict::{Cause, Gap};
use crate::judge::prompt::Prompt;
use crate::judge::verdict::{Answer, Expected};
use crate::models::{Question, Ready, Said};

/// One question to one model, with what it takes to ask it.
pub(super) struct Call {
    /// One for each try, because each has a secret of its own.
    pub(super) prompts: Vec<Prompt>,
    pub(super) ready: Arc<Ready>,
    pub(super) env: Arc<Vec<(String, String)>>,
    /// The longest wait for one answer.
    pub(super) timeout: Duration,
    /// When the whole run must be over.
    pub(super) deadline: Instant,
}

/// What came of a call.
pub(super) struct Made {
    pub(super) answer: Result<(Answer, Prompt), Gap>,
    /// What came back, usable or not: it cost something.
    pub(super) said: Vec<Said>,
    /// How often the model was asked.
    pub(super) count: usize,
}

impl Call {
    /// Asks until an answer can be used, a few times at most.
    pub(super) async fn make(self) -> Made {
        let (mut said, mut count) = (Vec::new(), 0);
        let mut last = no_try();
        for prompt in self.prompts {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                last = Gap::new(Cause::TimedOut, "there was no time left for the judge");
                break;
            }
            let question = Question {
                system: prompt.system.clone(),
                user: prompt.user.clone(),
                timeout: self.timeout.min(left),
            };
            count += 1;
            let one = match self.ready.ask(question, &self.env).await {
                Ok(one) => one,
                Err(gap) => return Made { answer: Err(gap), said, count },
            };
            let expected = Expected { nonce: &prompt.nonce, ids: &prompt.ids };
            let answer = Answer::parse(&one.text, expected);
            said.push(one);
            match answer {
                Ok(answer) => return Made { answer: Ok((answer, prompt)), said, count },
                Err(error) => last = Gap::new(Cause::Crashed, error.to_string()),
            }
        }
        Made { answer: Err(last), said, count }
    }
}

/// A number that nobody can foresee.
pub(super) fn random() -> Result<u128, Gap> {
    use std::io::Read as _;
    let mut bytes = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| Gap::new(Cause::Crashed, format!("no random numbers: {error}")))?;
    Ok(u128::from_ne_bytes(bytes))
}

/// Nothing was tried.
fn no_try() -> Gap {
    Gap::new(Cause::Crashed, "the judge was not asked")
}
