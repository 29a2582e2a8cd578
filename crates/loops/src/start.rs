//! Starting a loop: the refusals, and the initial state.

use super::options::{LoopOptions, LoopStartOptions, MAX_ITERATIONS_DEFAULT};
use super::state::{
    LoopCounters, LoopState, Mode, RemainingWork, Status, StopBasis, UntilCondition,
};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    LOOP_ITERATIONS_MAX, LOOP_MINUTES_MAX, LOOP_PATHS_MAX, LOOP_WORKERS_MAX, OPTION_CHARS_MAX,
    PROMISE_CHARS_MAX, PROMPT_BYTES_MAX,
};
use moai_base::path::RelPath;

/// A requested start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopRequest {
    /// The task, byte for byte.
    pub prompt: String,
    /// The options that were set.
    pub options: LoopStartOptions,
    /// Files and folders below the root that the loop is limited to.
    pub paths: Vec<String>,
    /// The pipeline whose plan the loop works through.
    pub pipeline: Option<String>,
    /// The loop that the same agent cancelled before.
    pub continues: Option<String>,
}

/// The circumstances of a start.
#[derive(Clone, Debug)]
pub struct StartContext<'a> {
    /// The loop's id.
    pub id: &'a str,
    /// The owning session; empty for none.
    pub session_id: Option<&'a str>,
    /// The project's defaults for options that the request does not set.
    pub defaults: &'a LoopStartOptions,
    /// True if the project has checks of its own.
    pub has_checks: bool,
    /// True if `RUBRIC.md` has criteria.
    pub has_rubric: bool,
    /// True if the project's options require the promise, in addition to the loop's condition.
    pub needs_promise: bool,
    /// The active loop that this one would conflict with.
    pub active: Option<&'a LoopState>,
    /// The commit of HEAD, as `host::git` names it.
    pub base: Option<String>,
    /// Now, in milliseconds since the epoch.
    pub now_ms: u64,
}

/// The reason why no loop was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoopStartError {
    /// There is no task.
    #[error("a loop needs a task: say what to do")]
    NoPrompt,
    /// The task is too large.
    #[error(
        "the task is {0} bytes long; the limit is {PROMPT_BYTES_MAX}: put it in a file and refer to the file"
    )]
    PromptTooLong(usize),
    /// The limit is zero or too high.
    #[error(
        "--max-iterations must be between 1 and {LOOP_ITERATIONS_MAX}; an unbounded loop is refused"
    )]
    Unbounded,
    /// A line cannot equal this promise.
    #[error(
        "--completion-promise must be one line of at most {PROMISE_CHARS_MAX} characters without < and >"
    )]
    BadPromise,
    /// There is no way to claim completion.
    #[error("--until promise needs --completion-promise TEXT")]
    NoPromise,
    /// The project requires the promise.
    #[error("loop.success_criteria contains the marker: add --completion-promise TEXT")]
    NoMarker,
    /// There are no checks.
    #[error("--until checks needs checks, but the project has none")]
    NoChecks,
    /// There are no criteria for a judge.
    #[error("--mode judge needs criteria in RUBRIC.md")]
    NoRubric,
    /// A limit or threshold of zero.
    #[error("{0} must be between 1 and {1}")]
    OutOfRange(&'static str, u64),
    /// The option applies to autonomous mode only.
    #[error("{0} needs --mode autonomous")]
    NeedsAutonomous(&'static str),
    /// This is not a branch name.
    #[error("--base-branch must be a branch name")]
    BadBranch,
    /// The loop cannot be limited to this path.
    #[error("{0:?} is not below the root: name files or folders of the project")]
    BadPath(String),
    /// There are too many paths.
    #[error("{0} paths; the limit is {LOOP_PATHS_MAX}: name their folder instead")]
    TooManyPaths(usize),
    /// The session has a loop already.
    #[error(
        "loop {0} is already active: cancel it first (moai-ralph loop cancel, or /moai-ralph:cancel-loop)"
    )]
    AlreadyActive(String),
}

impl LoopStartError {
    /// True if the request itself is unusable; false if the project, its options or its loops are in the way.
    #[must_use]
    pub fn is_usage_error(&self) -> bool {
        match self {
            Self::NoMarker | Self::NoChecks | Self::NoRubric | Self::AlreadyActive(_) => false,
            Self::NoPrompt
            | Self::PromptTooLong(_)
            | Self::Unbounded
            | Self::BadPromise
            | Self::NoPromise
            | Self::OutOfRange(..)
            | Self::NeedsAutonomous(_)
            | Self::BadBranch
            | Self::BadPath(_)
            | Self::TooManyPaths(_) => true,
        }
    }
}

/// The initial state of a loop.
pub fn initial_state(
    request: LoopRequest,
    context: &StartContext<'_>,
) -> Result<LoopState, LoopStartError> {
    if let Some(active) = context.active {
        return Err(LoopStartError::AlreadyActive(active.id.clone()));
    }
    if request.prompt.trim().is_empty() {
        return Err(LoopStartError::NoPrompt);
    }
    if request.prompt.len() > PROMPT_BYTES_MAX {
        return Err(LoopStartError::PromptTooLong(request.prompt.len()));
    }
    let requested = request.options.or(context.defaults);
    let max_iterations =
        bounded_iterations(requested.max_iterations.unwrap_or(MAX_ITERATIONS_DEFAULT))?;
    let until = completion_condition(&requested, context)?;
    let mode = requested.mode.unwrap_or_default();
    if mode == Mode::Judge && !context.has_rubric {
        return Err(LoopStartError::NoRubric);
    }
    let options = resolve_options(&requested, mode, &request.paths)?;
    let options = LoopOptions { pipeline: request.pipeline, ..options };
    Ok(LoopState {
        id: context.id.to_owned(),
        session_id: context.session_id.filter(|id| !id.is_empty()).map(str::to_owned),
        mode,
        status: Status::Running,
        pause_reason: None,
        until,
        prompt: request.prompt,
        promise: requested.completion_promise,
        options,
        checks: Vec::new(),
        measured_sensors: Vec::new(),
        counted_from: 0,
        base: context.base.clone(),
        branch: None,
        iteration: 0,
        max_iterations,
        counters: LoopCounters::default(),
        remaining: RemainingWork::default(),
        history: Vec::new(),
        basis: StopBasis::default(),
        note: None,
        overrides: Vec::new(),
        foreign_events: Vec::new(),
        late_changes: Vec::new(),
        continues: request.continues.filter(|_| mode != Mode::Autonomous),
        answer: None,
        created_ms: context.now_ms,
        clock_ms: context.now_ms,
        updated_ms: context.now_ms,
    })
}

fn completion_condition(
    requested: &LoopStartOptions,
    context: &StartContext<'_>,
) -> Result<UntilCondition, LoopStartError> {
    let is_bad = |text: &str| {
        let is_long = text.chars().count() > PROMISE_CHARS_MAX;
        is_long || text.trim().is_empty() || text.contains(['\n', '\r', '<', '>'])
    };
    if requested.completion_promise.as_deref().is_some_and(is_bad) {
        return Err(LoopStartError::BadPromise);
    }
    let until = requested.until.unwrap_or(match requested.completion_promise {
        Some(_) => UntilCondition::Promise,
        None => UntilCondition::Clean,
    });
    match until {
        _ if context.needs_promise && requested.completion_promise.is_none() => {
            Err(LoopStartError::NoMarker)
        }
        UntilCondition::Promise if requested.completion_promise.is_none() => {
            Err(LoopStartError::NoPromise)
        }
        UntilCondition::Checks if !context.has_checks => Err(LoopStartError::NoChecks),
        until => Ok(until),
    }
}

/// The options of a loop; unset ones get the mode's defaults.
fn resolve_options(
    requested: &LoopStartOptions,
    mode: Mode,
    paths: &[String],
) -> Result<LoopOptions, LoopStartError> {
    if mode != Mode::Autonomous {
        if requested.base_branch.is_some() {
            return Err(LoopStartError::NeedsAutonomous("--base-branch"));
        }
        if requested.workers.is_some() {
            return Err(LoopStartError::NeedsAutonomous("--workers"));
        }
    }
    // It is passed to git as an argument, so it must not look like an option.
    let is_bad =
        |name: &str| name.trim().is_empty() || name.starts_with('-') || name.contains('\n');
    if requested.base_branch.as_deref().is_some_and(is_bad) {
        return Err(LoopStartError::BadBranch);
    }
    let defaults = LoopOptions::defaults_for(mode);
    let threshold_max = u64::from(u32::MAX);
    let threshold =
        bounded("--hitl-threshold", requested.hitl_threshold.map(u64::from), threshold_max)?;
    Ok(LoopOptions {
        milestone_every: to_u32(bounded(
            "--milestone-every",
            requested.milestone_every.map(u64::from),
            u64::from(LOOP_ITERATIONS_MAX),
        )?),
        hitl_threshold: to_u32(threshold).unwrap_or(defaults.hitl_threshold),
        max_minutes: bounded_minutes(requested.max_minutes)?,
        max_tokens: bounded_tokens(requested.max_tokens)?,
        force_max: requested.force_max.unwrap_or(defaults.force_max),
        research: requested.research.unwrap_or(defaults.research),
        structured_memory: requested.structured_memory.unwrap_or(defaults.structured_memory),
        base_branch: requested.base_branch.clone(),
        workers: to_u32(bounded(
            "--workers",
            requested.workers.map(u64::from),
            u64::from(LOOP_WORKERS_MAX),
        )?)
        .unwrap_or(defaults.workers),
        baseline: requested.baseline.unwrap_or(defaults.baseline),
        paths: bounded_paths(paths)?,
        pipeline: None,
    })
}

/// Paths below the root as sensors name them; the root itself limits nothing.
fn bounded_paths(paths: &[String]) -> Result<Vec<String>, LoopStartError> {
    if paths.len() > LOOP_PATHS_MAX {
        return Err(LoopStartError::TooManyPaths(paths.len()));
    }
    let mut bounded = Vec::new();
    for path in paths {
        let plain = path.trim_start_matches("./").trim_end_matches('/');
        if plain.is_empty() || plain == "." {
            return Ok(Vec::new());
        }
        match RelPath::parse(plain) {
            Some(below) => bounded.push(below.as_str().to_owned()),
            None => return Err(LoopStartError::BadPath(one_line(path, OPTION_CHARS_MAX))),
        }
    }
    Ok(bounded)
}

fn bounded(
    option: &'static str,
    value: Option<u64>,
    most: u64,
) -> Result<Option<u64>, LoopStartError> {
    match value {
        Some(value) if !(1..=most).contains(&value) => {
            Err(LoopStartError::OutOfRange(option, most))
        }
        value => Ok(value),
    }
}

fn to_u32(value: Option<u64>) -> Option<u32> {
    value.and_then(|value| u32::try_from(value).ok())
}

/// A valid maximum of iterations.
pub(super) fn bounded_iterations(max: u32) -> Result<u32, LoopStartError> {
    if (1..=LOOP_ITERATIONS_MAX).contains(&max) { Ok(max) } else { Err(LoopStartError::Unbounded) }
}

/// A valid maximum of minutes.
pub(super) fn bounded_minutes(max: Option<u32>) -> Result<Option<u32>, LoopStartError> {
    bounded("--max-minutes", max.map(u64::from), u64::from(LOOP_MINUTES_MAX)).map(to_u32)
}

/// A valid maximum of tokens.
pub(super) fn bounded_tokens(max: Option<u64>) -> Result<Option<u64>, LoopStartError> {
    bounded("--max-tokens", max, u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::options::BaselineMode;
    use crate::samples::state;

    static UNSET: LazyLock<LoopStartOptions> = LazyLock::new(LoopStartOptions::default);

    fn unset() -> LoopStartOptions {
        LoopStartOptions::default()
    }

    fn context<'a>() -> StartContext<'a> {
        StartContext {
            id: "loop-1",
            session_id: Some("s"),
            defaults: &UNSET,
            needs_promise: false,
            has_checks: false,
            has_rubric: true,
            active: None,
            base: None,
            now_ms: 5,
        }
    }

    fn request() -> LoopRequest {
        LoopRequest { prompt: "fix it".into(), ..LoopRequest::default() }
    }

    fn request_with(options: LoopStartOptions) -> LoopRequest {
        LoopRequest { options, ..request() }
    }

    fn check(request: LoopRequest, expected: &LoopStartError) {
        assert_eq!(initial_state(request, &context()).expect_err("refused"), *expected);
    }

    #[test]
    fn invalid_starts_are_refused() {
        check(LoopRequest { prompt: " \n".into(), ..request() }, &LoopStartError::NoPrompt);
        let long = "x".repeat(PROMPT_BYTES_MAX + 1);
        check(
            LoopRequest { prompt: long, ..request() },
            &LoopStartError::PromptTooLong(PROMPT_BYTES_MAX + 1),
        );
        check(
            request_with(LoopStartOptions { max_iterations: Some(0), ..unset() }),
            &LoopStartError::Unbounded,
        );
        check(
            request_with(LoopStartOptions { max_iterations: Some(1_001), ..unset() }),
            &LoopStartError::Unbounded,
        );
        check(
            request_with(LoopStartOptions { completion_promise: Some("a\nb".into()), ..unset() }),
            &LoopStartError::BadPromise,
        );
        check(
            request_with(LoopStartOptions { completion_promise: Some(String::new()), ..unset() }),
            &LoopStartError::BadPromise,
        );
        check(
            request_with(LoopStartOptions { until: Some(UntilCondition::Promise), ..unset() }),
            &LoopStartError::NoPromise,
        );
        check(
            request_with(LoopStartOptions { until: Some(UntilCondition::Checks), ..unset() }),
            &LoopStartError::NoChecks,
        );
        let unjudged = StartContext { has_rubric: false, ..context() };
        let judge = request_with(LoopStartOptions { mode: Some(Mode::Judge), ..unset() });
        assert_eq!(initial_state(judge, &unjudged), Err(LoopStartError::NoRubric));
        let range = |option, most| LoopStartError::OutOfRange(option, most);
        check(
            request_with(LoopStartOptions { milestone_every: Some(0), ..unset() }),
            &range("--milestone-every", 1_000),
        );
        check(
            request_with(LoopStartOptions { max_minutes: Some(0), ..unset() }),
            &range("--max-minutes", 43_200),
        );
        check(
            request_with(LoopStartOptions { max_tokens: Some(0), ..unset() }),
            &range("--max-tokens", u64::MAX),
        );
        let none = request_with(LoopStartOptions { hitl_threshold: Some(0), ..unset() });
        check(none, &range("--hitl-threshold", u64::from(u32::MAX)));
        let autonomous = LoopStartOptions { mode: Some(Mode::Autonomous), ..unset() };
        check(
            request_with(LoopStartOptions { workers: Some(9), ..autonomous.clone() }),
            &range("--workers", 8),
        );
        check(
            request_with(LoopStartOptions { workers: Some(2), ..unset() }),
            &LoopStartError::NeedsAutonomous("--workers"),
        );
        let branch = |options, name: &str| {
            request_with(LoopStartOptions { base_branch: Some(name.into()), ..options })
        };
        check(branch(unset(), "main"), &LoopStartError::NeedsAutonomous("--base-branch"));
        check(branch(autonomous, "--upload-pack=x"), &LoopStartError::BadBranch);
        let active = state();
        let taken = StartContext { active: Some(&active), ..context() };
        let refusal = initial_state(request(), &taken).expect_err("one per session");
        assert_eq!(refusal, LoopStartError::AlreadyActive(active.id.clone()));
    }

    #[test]
    fn each_mode_brings_its_own_threshold_and_research_phase() {
        let of = |mode, research| {
            let request = request_with(LoopStartOptions { mode: Some(mode), research, ..unset() });
            let options = initial_state(request, &context()).expect("started").options;
            (options.hitl_threshold, options.research)
        };
        assert_eq!(of(Mode::Basic, None), (5, false));
        assert_eq!(of(Mode::Basic, Some(true)), (5, true));
        assert_eq!(of(Mode::Judge, None), (5, true));
        assert_eq!(of(Mode::Judge, Some(false)), (5, false));
        assert_eq!(of(Mode::Autonomous, None), (10, true));
    }

    #[test]
    fn a_promise_sets_the_completion_condition_and_an_empty_session_is_no_owner() {
        let loops =
            |request, session_id| initial_state(request, &StartContext { session_id, ..context() });
        let plain = loops(request(), Some("")).expect("started");
        assert_eq!(
            (plain.until, plain.session_id, plain.max_iterations),
            (UntilCondition::Clean, None, 10)
        );
        let promised =
            request_with(LoopStartOptions { completion_promise: Some("DONE".into()), ..unset() });
        let promised = loops(promised, Some("s")).expect("started");
        assert_eq!(
            (promised.until, promised.session_id.as_deref()),
            (UntilCondition::Promise, Some("s"))
        );
    }

    #[test]
    fn a_loop_is_narrowed_to_paths_below_the_root_only() {
        let of = |paths: &[&str]| {
            let paths = paths.iter().map(|path| (*path).to_owned()).collect();
            initial_state(LoopRequest { paths, ..request() }, &context())
                .map(|state| state.options.paths)
        };
        assert_eq!(of(&["src/a.py", "./web/"]), Ok(vec!["src/a.py".into(), "web".into()]));
        assert_eq!(of(&["src", "."]), Ok(Vec::new()), "the root narrows nothing");
        assert_eq!(of(&["../b"]), Err(LoopStartError::BadPath("../b".into())));
        assert_eq!(of(&["/etc/passwd"]), Err(LoopStartError::BadPath("/etc/passwd".into())));
        assert_eq!(of(&vec!["a"; LOOP_PATHS_MAX]).map(|it| it.len()), Ok(LOOP_PATHS_MAX));
        let many = LOOP_PATHS_MAX + 1;
        assert_eq!(of(&vec!["a"; many]), Err(LoopStartError::TooManyPaths(many)));
    }

    #[test]
    fn the_project_chooses_the_baseline_unless_the_user_does() {
        let of = |baseline, baseline_default| {
            let defaults = LoopStartOptions { baseline: Some(baseline_default), ..unset() };
            let context = StartContext { defaults: &defaults, ..context() };
            initial_state(request_with(LoopStartOptions { baseline, ..unset() }), &context)
                .map(|state| state.options.baseline)
        };
        assert_eq!(of(None, BaselineMode::Base), Ok(BaselineMode::Base));
        assert_eq!(of(None, BaselineMode::None), Ok(BaselineMode::None));
        assert_eq!(of(Some(BaselineMode::Base), BaselineMode::None), Ok(BaselineMode::Base));
    }
}
