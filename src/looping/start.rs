//! Starting a loop: what is refused, and the state it begins with.

use super::options::{BaselineMode, Options};
use super::state::{Basis, Counts, LoopState, Mode, Remaining, Status, Until};
use crate::base::limits::{
    LOOP_ITERATIONS_MAX, LOOP_MINUTES_MAX, LOOP_PATHS_MAX, LOOP_WORKERS_MAX, OPTION_CHARS_MAX,
    PROMISE_CHARS_MAX, PROMPT_BYTES_MAX,
};
use crate::base::path::RelPath;
use crate::base::text::one_line;

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
    /// `--mode`.
    pub mode: Option<Mode>,
    /// `--milestone-every`.
    pub milestone_every: Option<u32>,
    /// `--hitl-threshold`.
    pub hitl_threshold: Option<u32>,
    /// `--max-minutes`.
    pub max_minutes: Option<u32>,
    /// `--max-tokens`.
    pub max_tokens: Option<u64>,
    /// `--force-max`.
    pub force_max: bool,
    /// `--research` or `--no-research`.
    pub research: Option<bool>,
    /// `--structured-memory`.
    pub structured_memory: bool,
    /// `--base-branch`.
    pub base_branch: Option<String>,
    /// `--workers`.
    pub workers: Option<u32>,
    /// `--baseline`.
    pub baseline: Option<BaselineMode>,
    /// Files and folders below the root that the loop is narrowed to.
    pub paths: Vec<String>,
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
    /// The baseline of a loop that does not say which.
    pub baseline_default: BaselineMode,
    /// Whether the project has checks of its own.
    pub has_checks: bool,
    /// Whether `RUBRIC.md` names something to judge by.
    pub has_rubric: bool,
    /// Whether the project's options ask for the promise, whatever else ends the loop.
    pub needs_promise: bool,
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
    /// The project wants every loop to be claimed.
    #[error("loop.success_criteria asks for the marker: --completion-promise TEXT is needed")]
    NoMarker,
    /// There is nothing to pass.
    #[error("--until checks needs checks, and the project has none")]
    NoChecks,
    /// There is nothing to judge by.
    #[error("--mode judge needs RUBRIC.md: without it there is nothing to judge by")]
    NoRubric,
    /// A bound or threshold of nothing.
    #[error("{0} must be between 1 and {1}")]
    OutOfRange(&'static str, u64),
    /// It means something in autonomous mode alone.
    #[error("{0} needs --mode autonomous")]
    NeedsAutonomous(&'static str),
    /// No branch has such a name.
    #[error("--base-branch must be the name of a branch")]
    BadBranch,
    /// The loop cannot be narrowed to it.
    #[error("{0:?} is no path below the root: name files or folders of the project")]
    BadPath(String),
    /// Narrowed to too much.
    #[error("{0} paths; at most {LOOP_PATHS_MAX}: name their folder instead")]
    TooManyPaths(usize),
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
    let max_iterations = bounded_iterations(max_iterations)?;
    let until = until(&wish, setting)?;
    let mode = wish.mode.unwrap_or_default();
    if mode == Mode::Judge && !setting.has_rubric {
        return Err(Refusal::NoRubric);
    }
    let options = options(&wish, mode, setting.baseline_default)?;
    Ok(LoopState {
        id: setting.id.to_owned(),
        session_id: setting.session_id.filter(|id| !id.is_empty()).map(str::to_owned),
        mode,
        status: Status::Running,
        pause_reason: None,
        until,
        prompt: wish.prompt,
        promise: wish.promise,
        options,
        checks: Vec::new(),
        measured: Vec::new(),
        counted_from: 0,
        base: setting.base.clone(),
        branch: None,
        iteration: 0,
        max_iterations,
        counts: Counts::default(),
        remaining: Remaining::default(),
        history: Vec::new(),
        basis: Basis::default(),
        note: None,
        overrides: Vec::new(),
        answer: None,
        created_ms: setting.now_ms,
        clock_ms: setting.now_ms,
        updated_ms: setting.now_ms,
    })
}

fn until(wish: &Wish, setting: &Setting<'_>) -> Result<Until, Refusal> {
    let is_bad = |text: &str| {
        let is_long = text.chars().count() > PROMISE_CHARS_MAX;
        is_long || text.trim().is_empty() || text.contains(['\n', '\r', '<', '>'])
    };
    if wish.promise.as_deref().is_some_and(is_bad) {
        return Err(Refusal::BadPromise);
    }
    let until = wish.until.unwrap_or(match wish.promise {
        Some(_) => Until::Promise,
        None => Until::Clean,
    });
    match until {
        _ if setting.needs_promise && wish.promise.is_none() => Err(Refusal::NoMarker),
        Until::Promise if wish.promise.is_none() => Err(Refusal::NoPromise),
        Until::Checks if !setting.has_checks => Err(Refusal::NoChecks),
        until => Ok(until),
    }
}

fn options(wish: &Wish, mode: Mode, baseline_default: BaselineMode) -> Result<Options, Refusal> {
    if mode != Mode::Autonomous {
        if wish.base_branch.is_some() {
            return Err(Refusal::NeedsAutonomous("--base-branch"));
        }
        if wish.workers.is_some() {
            return Err(Refusal::NeedsAutonomous("--workers"));
        }
    }
    // It reaches git as an argument, so it must not look like an option.
    let is_bad =
        |name: &str| name.trim().is_empty() || name.starts_with('-') || name.contains('\n');
    if wish.base_branch.as_deref().is_some_and(is_bad) {
        return Err(Refusal::BadBranch);
    }
    let usual = Options::of(mode);
    let whole = u64::from(u32::MAX);
    let threshold = bounded("--hitl-threshold", wish.hitl_threshold.map(u64::from), whole)?;
    Ok(Options {
        milestone_every: narrow(bounded(
            "--milestone-every",
            wish.milestone_every.map(u64::from),
            u64::from(LOOP_ITERATIONS_MAX),
        )?),
        hitl_threshold: narrow(threshold).unwrap_or(usual.hitl_threshold),
        max_minutes: bounded_minutes(wish.max_minutes)?,
        max_tokens: bounded_tokens(wish.max_tokens)?,
        force_max: wish.force_max,
        research: wish.research.unwrap_or(usual.research),
        structured_memory: wish.structured_memory,
        base_branch: wish.base_branch.clone(),
        workers: narrow(bounded(
            "--workers",
            wish.workers.map(u64::from),
            u64::from(LOOP_WORKERS_MAX),
        )?)
        .unwrap_or(usual.workers),
        baseline: wish.baseline.unwrap_or(baseline_default),
        paths: bounded_paths(&wish.paths)?,
    })
}

/// Paths below the root, as the sensors name them; the root itself narrows nothing.
fn bounded_paths(paths: &[String]) -> Result<Vec<String>, Refusal> {
    if paths.len() > LOOP_PATHS_MAX {
        return Err(Refusal::TooManyPaths(paths.len()));
    }
    let mut bounded = Vec::new();
    for path in paths {
        let plain = path.trim_start_matches("./").trim_end_matches('/');
        if plain.is_empty() || plain == "." {
            return Ok(Vec::new());
        }
        match RelPath::parse(plain) {
            Some(below) => bounded.push(below.as_str().to_owned()),
            None => return Err(Refusal::BadPath(one_line(path, OPTION_CHARS_MAX))),
        }
    }
    Ok(bounded)
}

fn bounded(option: &'static str, value: Option<u64>, most: u64) -> Result<Option<u64>, Refusal> {
    match value {
        Some(value) if !(1..=most).contains(&value) => Err(Refusal::OutOfRange(option, most)),
        value => Ok(value),
    }
}

fn narrow(value: Option<u64>) -> Option<u32> {
    value.and_then(|value| u32::try_from(value).ok())
}

/// A bound of iterations, if it is one.
pub(super) fn bounded_iterations(max: u32) -> Result<u32, Refusal> {
    if (1..=LOOP_ITERATIONS_MAX).contains(&max) { Ok(max) } else { Err(Refusal::Unbounded) }
}

/// A bound of minutes, if it is one.
pub(super) fn bounded_minutes(max: Option<u32>) -> Result<Option<u32>, Refusal> {
    bounded("--max-minutes", max.map(u64::from), u64::from(LOOP_MINUTES_MAX)).map(narrow)
}

/// A bound of tokens, if it is one.
pub(super) fn bounded_tokens(max: Option<u64>) -> Result<Option<u64>, Refusal> {
    bounded("--max-tokens", max, u64::MAX)
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
            baseline_default: BaselineMode::Base,
            needs_promise: false,
            has_checks: false,
            has_rubric: true,
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
        let unjudged = Setting { has_rubric: false, ..setting() };
        let judge = Wish { mode: Some(Mode::Judge), ..wish() };
        assert_eq!(start(judge, &unjudged), Err(Refusal::NoRubric));
        let range = |option, most| Refusal::OutOfRange(option, most);
        check(Wish { milestone_every: Some(0), ..wish() }, &range("--milestone-every", 1_000));
        check(Wish { max_minutes: Some(0), ..wish() }, &range("--max-minutes", 43_200));
        check(Wish { max_tokens: Some(0), ..wish() }, &range("--max-tokens", u64::MAX));
        let none = Wish { hitl_threshold: Some(0), ..wish() };
        check(none, &range("--hitl-threshold", u64::from(u32::MAX)));
        let autonomous = Wish { mode: Some(Mode::Autonomous), ..wish() };
        check(Wish { workers: Some(9), ..autonomous.clone() }, &range("--workers", 8));
        check(Wish { workers: Some(2), ..wish() }, &Refusal::NeedsAutonomous("--workers"));
        let branch = |wish, name: &str| Wish { base_branch: Some(name.into()), ..wish };
        check(branch(wish(), "main"), &Refusal::NeedsAutonomous("--base-branch"));
        check(branch(autonomous, "--upload-pack=x"), &Refusal::BadBranch);
        let active = state();
        let taken = Setting { active: Some(&active), ..setting() };
        let refusal = start(wish(), &taken).expect_err("one per session");
        assert_eq!(refusal, Refusal::AlreadyActive(active.id.clone()));
    }

    #[test]
    fn each_mode_brings_its_own_threshold_and_research_phase() {
        let of = |mode, research| {
            let wish = Wish { mode: Some(mode), research, ..wish() };
            let options = start(wish, &setting()).expect("started").options;
            (options.hitl_threshold, options.research)
        };
        assert_eq!(of(Mode::Basic, None), (5, false));
        assert_eq!(of(Mode::Basic, Some(true)), (5, true));
        assert_eq!(of(Mode::Judge, None), (5, true));
        assert_eq!(of(Mode::Judge, Some(false)), (5, false));
        assert_eq!(of(Mode::Autonomous, None), (10, true));
    }

    #[test]
    fn a_promise_makes_the_loop_wait_for_it_and_an_empty_session_owns_nothing() {
        let loops = |wish, session_id| start(wish, &Setting { session_id, ..setting() });
        let plain = loops(wish(), Some("")).expect("started");
        assert_eq!((plain.until, plain.session_id, plain.max_iterations), (Until::Clean, None, 10));
        let promised = Wish { promise: Some("DONE".into()), ..wish() };
        let promised = loops(promised, Some("s")).expect("started");
        assert_eq!((promised.until, promised.session_id.as_deref()), (Until::Promise, Some("s")));
    }
    #[test]
    fn a_loop_is_narrowed_to_paths_below_the_root_only() {
        let of = |paths: &[&str]| {
            let paths = paths.iter().map(|path| (*path).to_owned()).collect();
            start(Wish { paths, ..wish() }, &setting()).map(|state| state.options.paths)
        };
        assert_eq!(of(&["src/a.py", "./web/"]), Ok(vec!["src/a.py".into(), "web".into()]));
        assert_eq!(of(&["src", "."]), Ok(Vec::new()), "the root narrows nothing");
        assert_eq!(of(&["../b"]), Err(Refusal::BadPath("../b".into())));
        assert_eq!(of(&["/etc/passwd"]), Err(Refusal::BadPath("/etc/passwd".into())));
        assert_eq!(of(&vec!["a"; LOOP_PATHS_MAX]).map(|it| it.len()), Ok(LOOP_PATHS_MAX));
        let many = LOOP_PATHS_MAX + 1;
        assert_eq!(of(&vec!["a"; many]), Err(Refusal::TooManyPaths(many)));
    }

    #[test]
    fn the_project_chooses_the_baseline_unless_the_user_does() {
        let of = |baseline, baseline_default| {
            let setting = Setting { baseline_default, ..setting() };
            start(Wish { baseline, ..wish() }, &setting).map(|state| state.options.baseline)
        };
        assert_eq!(of(None, BaselineMode::Base), Ok(BaselineMode::Base));
        assert_eq!(of(None, BaselineMode::None), Ok(BaselineMode::None));
        assert_eq!(of(Some(BaselineMode::Base), BaselineMode::None), Ok(BaselineMode::Base));
    }
}
