//! Starting a loop: what is refused, and the state it begins with.

use super::state::{LoopState, Remaining, Status, Until};
use crate::base::limits::{LOOP_ITERATIONS_MAX, PROMISE_CHARS_MAX, PROMPT_BYTES_MAX};

/// What the user asked for, from the command line or a slash command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// The task, byte for byte.
    pub prompt: String,
    /// `--max-iterations`.
    pub max_iterations: Option<u32>,
    /// `--completion-promise`.
    pub promise: Option<String>,
    /// `--until`.
    pub until: Option<Until>,
}

/// What the surroundings say.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The loop's id.
    pub id: &'a str,
    /// The owner; an empty text is no session.
    pub session_id: Option<&'a str>,
    /// Iterations of a loop that does not say how many.
    pub max_iterations_default: u32,
    /// Whether the project has checks of its own.
    pub has_checks: bool,
    /// The active loop that this one would collide with.
    pub active: Option<&'a LoopState>,
    /// What HEAD is now, as git's owner names it.
    pub base: Option<String>,
    /// Now, in milliseconds since the epoch.
    pub now_ms: u64,
}

/// Why no loop was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing to do was said.
    #[error("a loop needs a task: say what to do")]
    NoPrompt,
    /// The task is too large.
    #[error(
        "the task is {0} bytes long; at most {PROMPT_BYTES_MAX} are taken: put it in a file and name the file"
    )]
    PromptTooLong(usize),
    /// The bound is none or too high.
    #[error(
        "--max-iterations must be between 1 and {LOOP_ITERATIONS_MAX}; an unbounded loop is refused"
    )]
    Unbounded,
    /// A promise that no line could equal.
    #[error(
        "--completion-promise must be one line of at most {PROMISE_CHARS_MAX} characters without < and >"
    )]
    BadPromise,
    /// Nothing could ever claim completion.
    #[error("--until promise needs --completion-promise TEXT")]
    NoPromise,
    /// There is nothing to pass.
    #[error("--until checks needs checks: there is no .claude/autochecks.sh")]
    NoChecks,
    /// One loop per session.
    #[error(
        "loop {0} is already active: cancel it first (moai-ralph loop cancel, or /cancel-loop)"
    )]
    AlreadyActive(String),
}

/// The first state of a loop.
pub fn start(wish: Wish, setting: &Setting<'_>) -> Result<LoopState, Refusal> {
    if let Some(active) = setting.active {
        return Err(Refusal::AlreadyActive(active.id.clone()));
    }
    if wish.prompt.trim().is_empty() {
        return Err(Refusal::NoPrompt);
    }
    if wish.prompt.len() > PROMPT_BYTES_MAX {
        return Err(Refusal::PromptTooLong(wish.prompt.len()));
    }
    let max_iterations = wish.max_iterations.unwrap_or(setting.max_iterations_default);
    if !(1..=LOOP_ITERATIONS_MAX).contains(&max_iterations) {
        return Err(Refusal::Unbounded);
    }
    let is_bad = |text: &str| {
        let is_long = text.chars().count() > PROMISE_CHARS_MAX;
        is_long || text.trim().is_empty() || text.contains(['\n', '\r', '<', '>'])
    };
    if wish.promise.as_deref().is_some_and(is_bad) {
        return Err(Refusal::BadPromise);
    }
    let until = wish.until.unwrap_or(match wish.promise {
        Some(_) => Until::Promise,
        None => Until::Diagnostics,
    });
    match until {
        Until::Promise if wish.promise.is_none() => return Err(Refusal::NoPromise),
        Until::Checks if !setting.has_checks => return Err(Refusal::NoChecks),
        _ => {}
    }
    Ok(LoopState {
        id: setting.id.to_owned(),
        session_id: setting.session_id.filter(|id| !id.is_empty()).map(str::to_owned),
        status: Status::Running,
        until,
        prompt: wish.prompt,
        promise: wish.promise,
        base: setting.base.clone(),
        iteration: 0,
        max_iterations,
        unmeasured_blocks: 0,
        remaining: Remaining::default(),
        history: Vec::new(),
        note: None,
        created_ms: setting.now_ms,
        updated_ms: setting.now_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looping::step::tests::state;

    fn setting<'a>() -> Setting<'a> {
        Setting {
            id: "loop-1",
            session_id: Some("s"),
            max_iterations_default: 10,
            has_checks: false,
            active: None,
            base: None,
            now_ms: 5,
        }
    }

    fn wish() -> Wish {
        Wish { prompt: "fix it".into(), ..Wish::default() }
    }

    fn check(wish: Wish, expected: &Refusal) {
        assert_eq!(start(wish, &setting()).expect_err("refused"), *expected);
    }

    #[test]
    fn what_could_not_end_well_is_refused() {
        check(Wish { prompt: " \n".into(), ..wish() }, &Refusal::NoPrompt);
        let long = "x".repeat(PROMPT_BYTES_MAX + 1);
        check(Wish { prompt: long, ..wish() }, &Refusal::PromptTooLong(PROMPT_BYTES_MAX + 1));
        check(Wish { max_iterations: Some(0), ..wish() }, &Refusal::Unbounded);
        check(Wish { max_iterations: Some(1_001), ..wish() }, &Refusal::Unbounded);
        check(Wish { promise: Some("a\nb".into()), ..wish() }, &Refusal::BadPromise);
        check(Wish { promise: Some(String::new()), ..wish() }, &Refusal::BadPromise);
        check(Wish { until: Some(Until::Promise), ..wish() }, &Refusal::NoPromise);
        check(Wish { until: Some(Until::Checks), ..wish() }, &Refusal::NoChecks);
        let active = state();
        let taken = Setting { active: Some(&active), ..setting() };
        let refusal = start(wish(), &taken).expect_err("one per session");
        assert_eq!(refusal, Refusal::AlreadyActive(active.id.clone()));
    }

    #[test]
    fn a_promise_makes_the_loop_wait_for_it_and_an_empty_session_owns_nothing() {
        let loops = |wish, session_id| start(wish, &Setting { session_id, ..setting() });
        let plain = loops(wish(), Some("")).expect("started");
        assert_eq!(
            (plain.until, plain.session_id, plain.max_iterations),
            (Until::Diagnostics, None, 10)
        );
        let promised = Wish { promise: Some("DONE".into()), ..wish() };
        let promised = loops(promised, Some("s")).expect("started");
        assert_eq!((promised.until, promised.session_id.as_deref()), (Until::Promise, Some("s")));
    }
}
