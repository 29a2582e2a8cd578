//! Notes the events of a loop: its end, rulings of the judge, and its agent's notes for the next iteration.

use crate::engine::{Engine, run_blocking};
use crate::loops::loop_files::{DECISIONS_FILE, PROGRESS_FILE, loop_file_text};
use crate::project::Project;
use crate::recall::note::{note, note_drafts};
use crate::recall::recorder::NotedEventKind;
use moai_loops::handoff;
use moai_loops::judge::judge_report::JudgeReport;
use moai_loops::state::{LoopState, Status};
use moai_report::observed;

/// A loop that no longer runs.
pub(crate) fn note_loop_end(engine: &Engine, project: &Project, state: &LoopState) {
    if !state.status.is_active() {
        note_drafts(engine, project, session_of(state), vec![observed::loop_end(state)]);
    }
}

/// The goal of a loop: it becomes that of its session, if the session has none.
pub(crate) fn note_goal(engine: &Engine, project: &Project, state: &LoopState) {
    let goal = NotedEventKind::Goal(state.prompt.clone());
    note(engine, project, session_of(state), goal);
}

/// A decided Stop: the ruling of the judge, the agent's notes, and the end of the loop.
pub(crate) async fn note_stop(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
    judged: Option<&JudgeReport>,
) {
    if !project.config.memory_enabled {
        return;
    }
    // The loop may have been started outside of the session, which then has no prompt with its goal.
    note_goal(engine, project, state);
    let ruling = judged.and_then(|judged| observed::ruling(judged, state.language()));
    note_drafts(engine, project, session_of(state), ruling.into_iter().collect());
    let root = project.root.clone();
    let read = run_blocking(move || {
        [DECISIONS_FILE, PROGRESS_FILE].map(|path| loop_file_text(&root, path))
    });
    if let Some([decisions, progress]) = read.await {
        let entries = handoff::written_decisions(&decisions, &progress);
        note(engine, project, session_of(state), NotedEventKind::Decisions(entries));
        if state.status == Status::Completed && !progress.trim().is_empty() {
            let hand_off = observed::hand_off(state, &progress);
            note_drafts(engine, project, session_of(state), vec![hand_off]);
        }
    }
    note_loop_end(engine, project, state);
}

fn session_of(state: &LoopState) -> &str {
    state.session_id.as_deref().unwrap_or_default()
}
