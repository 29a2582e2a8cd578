//! Bounds of the pipeline and its documents.

/// Largest document of a specification or a plan that is parsed, in bytes.
pub const PIPELINE_DOCUMENT_BYTES_MAX: usize = 1024 * 1024;
/// TODOs of a plan.
pub const PLAN_TODOS_MAX: usize = 500;
/// Acceptance items of one TODO.
pub const TODO_ITEMS_MAX: usize = 50;
/// Longest title of a TODO, a requirement or a scenario, in characters.
pub const PLAN_TITLE_CHARS_MAX: usize = 200;
/// Longest text of an acceptance item or another entry of a plan, in characters.
pub const PLAN_TEXT_CHARS_MAX: usize = 1_000;
/// Longest quote of a document in the message about a fault, in characters.
pub const FAULT_QUOTE_CHARS_MAX: usize = 60;
/// Faults reported for one document; the first ones are enough to correct it.
pub const DOCUMENT_FAULTS_MAX: usize = 50;
/// Requirements of one specification.
pub const SPEC_REQUIREMENTS_MAX: usize = 500;
/// Scenarios of one specification.
pub const SPEC_SCENARIOS_MAX: usize = 200;
pub const SCENARIO_STEPS_MAX: usize = 100;
/// Specifications of a project that are listed.
pub const SPECS_MAX: usize = 1_000;
/// Beginning of a prompt that is searched for the keyword of a pipeline, in bytes.
pub const ROUTED_PROMPT_BYTES_MAX: usize = 64 * 1024;
/// Pivot points of a project.
pub const PIVOT_POINTS_MAX: usize = 100;
/// Largest report of a worker that is parsed, in bytes.
pub const WORKER_REPORT_BYTES_MAX: usize = 256 * 1024;
/// Beginning of a subagent's transcript that is read for its task, in bytes.
pub const WORKER_TASK_BYTES_MAX: u64 = 256 * 1024;
/// Entries of each list in a worker's report; later ones are ignored.
pub const WORKER_ENTRIES_MAX: usize = 100;
/// Longest quote of a prompt in which the keyword of a pipeline is ignored, in bytes.
pub const QUOTE_BYTES_MAX: usize = 2_000;
/// Longest name of the folder of a feature, in characters.
pub const FEATURE_CHARS_MAX: usize = 48;
/// Stops at which the agent is held for a plan that is missing or has faults; then the turn ends.
pub const PLAN_HOLDS_MAX: u32 = 5;
/// Stops at which the agent is held for faults of an approved plan; then the pipeline pauses.
pub const PLAN_FAULT_HOLDS_MAX: u32 = 2;
/// Longest goal of a pipeline, in bytes.
pub const PIPELINE_GOAL_BYTES_MAX: usize = 16 * 1024;
/// Stops of a loop that works through a plan.
pub const PIPELINE_ITERATIONS_MAX: u32 = 60;
/// Corrections of checkboxes that a pipeline keeps for its report.
pub const BOX_CORRECTIONS_MAX: usize = 50;
/// Changes of tests that the guard only warns about and that a pipeline keeps for its report.
pub const TEST_WARNINGS_MAX: usize = 20;
/// Pass counts that a pipeline keeps: one for each measured Stop.
pub const PASS_COUNTS_MAX: usize = 120;
/// Output of a failed acceptance command in a line about its TODO, in characters.
pub const ACCEPTANCE_OUTPUT_CHARS_MAX: usize = 400;
/// The same line with the command, in characters.
pub const TODO_FAILURE_CHARS_MAX: usize = 600;
/// Runs of a TODO's acceptance commands at the end of workers, after which the TODO has failed.
pub const TODO_ATTEMPTS_MAX: u32 = 3;
/// Times that a worker is held for its report; then it may end.
pub const WORKER_HOLDS_MAX: u32 = 3;
/// Workers whose holds a pipeline counts.
pub const WORKERS_COUNTED_MAX: usize = 100;
/// Marks of active pipelines that a hook reads.
pub const PIPELINE_MARKS_MAX: usize = 100;
/// Attempts at a fault before a pipeline with a plan is proposed.
pub const BUGFIX_ATTEMPTS_MAX: u32 = 3;
/// Rounds of fixes after a gate failed; then the pipeline ends as partial.
pub const GATE_ROUNDS_MAX: usize = 10;
/// Rounds with the same problems after which a different approach is requested.
pub const SAME_FAILURE_ROUNDS: usize = 3;
/// Acceptance commands listed in a text about the approval of a plan.
pub const NAMED_COMMANDS_MAX: usize = 10;
/// Faults of a plan that one text lists.
pub const PLAN_FAULTS_NAMED_MAX: usize = 10;
/// Longest line with an instruction in the reason of a held Stop, in characters.
pub const INSTRUCTION_CHARS_MAX: usize = 320;
/// Tasks for a pipeline in the reason of a held Stop; the next Stop has the others.
pub const PLAN_TASKS_MAX: usize = 4;
/// Consecutive rounds with such a drop after which a plan is requested.
pub const DIVERGING_ROUNDS: usize = 2;
/// Drop of the share of passing TODOs below its best, in percent, that counts.
pub const STRUCTURAL_DROP_PERCENT: usize = 10;
/// Entries for the learnings documents that a pipeline keeps.
pub const LEARNINGS_KEPT_MAX: usize = 200;
/// Commits that are proposed for one change, and commits of a pipeline that are checked.
pub const COMMITS_MAX: usize = 100;
/// Longest subject of a commit, in characters.
pub const COMMIT_SUBJECT_CHARS_MAX: usize = 72;
/// Subjects of a history below which its style is unknown.
pub const COMMIT_STYLE_SUBJECTS_MIN: usize = 5;
/// Latest subjects of a history that show its style.
pub const COMMIT_STYLE_SUBJECTS_READ: usize = 30;
/// Files of one commit that a pipeline keeps.
pub const COMMIT_FILES_KEPT_MAX: usize = 100;
/// Uncommitted files that are listed; the others are counted.
pub const UNCOMMITTED_NAMED_MAX: usize = 20;
/// Files remembered as uncommitted at the start of a pipeline.
pub const UNCOMMITTED_KEPT_MAX: usize = 1_000;
/// Stops that a pipeline waits for the checks of its commits; then they are unmeasured.
pub const COMMIT_CHECK_STOPS_MAX: u32 = 5;
/// Fraction of a Stop's remaining time reserved for the work after the checks of commits.
pub const COMMIT_CHECK_REST_SHARE: u32 = 8;
/// Faults of one answer reported to an agent.
pub const HELPER_FAULTS_MAX: usize = 10;
/// Longest name of a model or an image in the options, in characters.
pub const MODEL_NAME_CHARS_MAX: usize = 200;
/// Runs of a scenario before it can pass.
pub const SCENARIO_RUNS_MIN: usize = 3;
/// Runs of a scenario that count for one state of the work.
pub const SCENARIO_RUNS_MAX: usize = 5;
/// Share of the runs that must pass, in percent.
pub const SCENARIO_PASS_PERCENT_MIN: usize = 80;
/// Runs of one scenario that a pipeline keeps; the latest ones.
pub const SCENARIO_RUNS_KEPT_MAX: usize = 20;
/// Consecutive Stops at which the agent is held for scenarios without a new run; then they are skipped.
pub const SCENARIO_HOLDS_MAX: u32 = 3;
/// Warnings of the review with which a change may ship.
pub const REVIEW_WARNINGS_MAX: usize = 2;
/// Time for a container engine to respond, in milliseconds.
pub const SANDBOX_ANSWER_MS_MAX: u64 = 10_000;
/// Time for removing a container, in milliseconds.
pub const SANDBOX_REMOVE_MS_MAX: u64 = 10_000;
/// Changed documents of gates that a pipeline keeps for its report.
pub const CHANGED_DOCUMENTS_MAX: usize = 20;
/// Measured Stops that a status shows, one character each.
pub const SPARKLINE_CHARS_MAX: usize = 60;
/// Stops at which the agent is held to ask a person; then the pipeline pauses.
pub const QUESTION_HOLDS_MAX: u32 = 2;
/// Text of an item or a proposal in a question to a person, in characters.
pub const QUESTION_TEXT_CHARS_MAX: usize = 240;
/// Times that failed gates return a pipeline to its plan.
pub const REPLANS_MAX: u32 = 2;
/// Worktrees that a pipeline keeps for its report.
pub const TODO_WORKTREES_KEPT_MAX: usize = 24;
/// Agents whose tool calls below one root are known at the same time.
pub const TOOL_AGENTS_MAX: usize = 64;
/// Longest time between the snapshot before a shell command and the start of the command. If the command
/// waited longer, for the user's permission for instance, the snapshot may be out of date.
pub const COMMAND_WAIT_MS_MAX: u64 = 3_000;
/// Source files changed by shell commands that a pipeline keeps for its report.
pub const SHELL_WRITES_KEPT_MAX: usize = 100;
/// Longest description of earlier approaches shown to an agent, in characters.
pub const TRIED_CHARS_MAX: usize = 800;
/// Git folders searched for the repositories of a worktree's submodules.
pub const SUBMODULE_FOLDERS_MAX: usize = 5_000;
/// Failures and approaches that a pipeline keeps for the next worker.
pub const TRIED_KEPT_MAX: usize = 20;
/// Checks for running programs in the worktree of an ended session, before it is removed.
pub const WORKTREE_LEAVE_TRIES_MAX: u32 = 20;
/// Interval of these checks, in milliseconds.
pub const WORKTREE_LEAVE_POLL_MS: u64 = 500;
