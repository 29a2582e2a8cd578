//! The agent wants to stop. Whose loop is it, fresh evidence, one pure step, saved before the
//! reply. Any failure lets the turn end: nobody is trapped by a broken engine.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::hook::HookCall;
use super::loop_of_session;
use super::loop_start::AUTOCHECKS;
use crate::base::evidence::{Evidence, Reading, SensorKind, Skipped};
use crate::base::finding::Severity;
use crate::base::limits::{
    HOST_CONTINUATIONS_MAX, SESSION_FILES_MAX, STOP_FILES_MAX, STOP_TRIES_MAX,
};
use crate::base::path::RelPath;
use crate::checks::{self, End};
use crate::daemon::engine::{blocking, now_ms};
use crate::daemon::gather::{Asked, Merely, gather};
use crate::daemon::project::Project;
use crate::looping::facts::Facts;
use crate::looping::state::{LoopState, Until};
use crate::looping::step::{Admission, Decision, StopInput, admit, step};
use crate::report::{loops, notice};
use crate::store::loops::{Saved, Which};
use crate::wire::hook::HookOutput;
use crate::{files, git};

/// The host's variable for its cap of continuations.
const BLOCK_CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";

pub(super) async fn handle(call: HookCall<'_>) -> HookOutput {
    let (engine, project, input) = (call.engine, &call.project, &call.input);
    let found = loop_of_session(engine, project, &input.session_id).await;
    let state = match found {
        Ok((state, _)) => state,
        Err(error) => {
            tracing::warn!(%error, "the session's loop could not be looked up");
            let text = notice::no_store(&error.to_string());
            // Where there is no daemon there was never a store, and so never a loop.
            let is_news =
                engine.lsp_gap.is_none() && engine.ledger().is_news(&input.session_id, &text);
            return if is_news { HookOutput::Notice(text) } else { HookOutput::Silent };
        }
    };
    let stop = stop_input(&call);
    let state = match (admit(state.as_ref(), &stop), state) {
        (Admission::Measure, Some(state)) => state,
        (Admission::AllowPaused, Some(state)) => return HookOutput::Notice(loops::ended(&state)),
        _ => return HookOutput::Silent,
    };
    decide(&call, &stop, state).await
}

/// Asked first, because looking takes the note that the agent acted.
fn stop_input<'c>(call: &'c HookCall<'_>) -> StopInput<'c> {
    let input = &call.input;
    StopInput {
        session_id: &input.session_id,
        last_message: input.last_assistant_message.as_deref().unwrap_or_default(),
        // A subagent that stops does not end the turn.
        is_let_go: input.is_waiting() || input.must_end() || input.agent_id.is_some(),
        is_continuation: input.stop_hook_active,
        has_acted: call.engine.ledger().take_acted(&input.session_id),
        continuations_max: continuations_max(&call.caller.env),
    }
}

/// The host's cap of continuations without a tool call; it hands its environment to its hooks.
fn continuations_max(env: &BTreeMap<String, String>) -> Option<u32> {
    let set = env.get(BLOCK_CAP).and_then(|text| text.trim().parse().ok());
    Some(set.unwrap_or(HOST_CONTINUATIONS_MAX)).filter(|most| *most > 0)
}

/// Measures, steps and saves. When somebody else changed the loop meanwhile, it is looked at again:
/// another Stop of this session leaves it running, and then this one must be decided as well.
async fn decide(call: &HookCall<'_>, stop: &StopInput<'_>, mut state: LoopState) -> HookOutput {
    for _ in 0..STOP_TRIES_MAX {
        if let Some(output) = decide_once(call, stop, &state).await {
            return output;
        }
        let which = Which::Id(state.id.clone());
        let found = call.engine.store.find_loop(&call.project.key, &call.project.root, which).await;
        match found {
            Ok(Some(now)) if admit(Some(&now), stop) == Admission::Measure => state = now,
            _ => return HookOutput::Silent,
        }
    }
    tracing::warn!(id = state.id, "a stop was overtaken too often");
    HookOutput::Notice(notice::overtaken(&state.id))
}

/// `None` when the loop was changed by somebody else while it was measured.
async fn decide_once(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    state: &LoopState,
) -> Option<HookOutput> {
    let evidence = evidence(call, state).await;
    let facts = facts(call);
    let (next, decision) = step(state, stop, &evidence, &facts);
    tracing::info!(
        id = next.id, iteration = next.iteration, status = next.status.as_str(),
        errors = next.remaining.errors, decision = ?decision, "stop decided"
    );
    save(call, state, next, decision, &evidence).await
}

/// What else the step is decided on.
fn facts(call: &HookCall<'_>) -> Facts {
    let lsp_required = call.project.config.lsp_required;
    Facts { lsp_required, now_ms: now_ms(), ..Facts::default() }
}

/// Saves the step, then words it. A step that could not be saved decides nothing.
async fn save(
    call: &HookCall<'_>,
    before: &LoopState,
    next: LoopState,
    decision: Decision,
    evidence: &Evidence,
) -> Option<HookOutput> {
    let key = &call.project.key;
    match call.engine.store.advance_loop(key, before, next.clone()).await {
        Ok(Saved::Yes) => {}
        Ok(Saved::Overtaken) => return None,
        Err(error) => {
            tracing::error!(%error, id = next.id, "the loop could not be saved");
            return Some(HookOutput::Notice(notice::not_saved(&next.id, &error.to_string())));
        }
    }
    // The evidence is newer than anything still waiting to be told.
    call.engine.ledger().drop_late(&call.input.session_id);
    Some(match decision {
        Decision::Continue(reasons) => HookOutput::Block(loops::goes_on(&next, evidence, &reasons)),
        Decision::Yield(reasons) => HookOutput::Notice(loops::yields(&next, evidence, &reasons)),
        Decision::End => HookOutput::Notice(loops::ended(&next)),
    })
}

/// The project's own checks first, because they may write files; then what was changed, measured
/// afresh.
async fn evidence(call: &HookCall<'_>, state: &LoopState) -> Evidence {
    let check = match autochecks(call).await {
        None if state.until == Until::Checks => Some(missing_checks()),
        check => check,
    };
    let base = state.base.as_deref();
    let mut evidence = measured(call, base, call.project.config.stop_budget).await;
    evidence.readings.extend(check);
    evidence
}

/// What language servers and scan say about the files of a Stop; `base` is the commit its loop
/// started from.
pub(super) async fn measured(
    call: &HookCall<'_>,
    base: Option<&str>,
    budget: Duration,
) -> Evidence {
    let project = &call.project;
    let Scope { files, skipped, merely } = files_of_stop(call, base).await;
    let asked = Asked {
        files,
        skipped,
        merely,
        lsp: project.config.lsp_enabled,
        scan: project.config.scan_enabled,
        threshold: Severity::Error,
        deadline: Instant::now() + budget,
    };
    gather(call.engine, project, asked).await
}

/// The checks were there when the loop started; without them it cannot end well.
fn missing_checks() -> Reading {
    let output = format!("{AUTOCHECKS} is gone; the loop ends when it passes: put it back");
    let clean = Reading::clean(AUTOCHECKS, SensorKind::Check, 0);
    Reading { dirty: true, output: Some(output), ..clean }
}

/// What a Stop is about.
#[derive(Default)]
struct Scope {
    files: Vec<RelPath>,
    skipped: Vec<Skipped>,
    /// Those that are measured only because an edit concerns them.
    merely: Merely,
}

/// What differs from HEAD, what was committed since the loop started, what the session wrote and
/// what its edits concern; when that is nothing, the whole project: a loop that changed nothing yet
/// may have been started to mend what is there.
async fn files_of_stop(call: &HookCall<'_>, base: Option<&str>) -> Scope {
    let project = call.project.clone();
    let base = base.map(str::to_owned);
    let session = &call.input.session_id;
    let (written, is_written_cut) = call.engine.ledger().written(session, &project.root);
    let affected = call.engine.ledger().affected(session, &project.root);
    let found = blocking(move || {
        let mut found = changed_files(&project, base.as_deref());
        let is_there = |path: &RelPath| path.under(&project.root).symlink_metadata().is_ok();
        found.files.extend(written.into_iter().filter(is_there));
        if found.files.is_empty() && found.skipped.is_empty() {
            found = all_files(&project);
        }
        found.files.sort();
        found.files.dedup();
        let own: BTreeSet<&RelPath> = found.files.iter().collect();
        let merely = affected.files.keys().filter(|path| !own.contains(path) && is_there(path));
        let merely: BTreeSet<RelPath> = merely.cloned().collect();
        found.files.extend(merely.iter().cloned());
        let (is_cut, files) = (affected.is_cut, merely);
        found.merely = Merely { files, affected };
        found.bound();
        if is_written_cut {
            found.skip(format!("more than {SESSION_FILES_MAX} files were written"));
        }
        if is_cut {
            found.skip("more files mention what was changed than are looked at".to_owned());
        }
        found
    });
    found.await.unwrap_or_else(|| {
        let mut lost = Scope::default();
        lost.skip("internal error; the daemon's log says more".to_owned());
        lost
    })
}

fn changed_files(project: &Project, base: Option<&str>) -> Scope {
    match git::changed_since(&project.root, base) {
        Ok(Some(changed)) => {
            let files = changed.files.into_iter().filter(|path| project.is_wanted(path)).collect();
            Scope { files, skipped: changed.skipped, ..Scope::default() }
        }
        // Without git nobody knows what changed.
        Ok(None) => all_files(project),
        Err(error) => {
            let reason = format!("changed files cannot be listed: {error}");
            let skipped = vec![Skipped { path: ".git".to_owned(), reason }];
            Scope { skipped, ..Scope::default() }
        }
    }
}

fn all_files(project: &Project) -> Scope {
    let is_wanted = |path: &RelPath| project.is_wanted(path);
    let walk = files::walk(&project.root, std::slice::from_ref(&project.root), &is_wanted);
    Scope { files: walk.files, skipped: walk.skipped, ..Scope::default() }
}

impl Scope {
    /// Changed files first: what is beyond the bound is skipped.
    fn bound(&mut self) {
        let reason = format!("more than {STOP_FILES_MAX} files");
        let beyond = self.files.split_off(self.files.len().min(STOP_FILES_MAX));
        let beyond = beyond.into_iter().map(|path| (path.to_string(), reason.clone()));
        self.skipped.extend(beyond.map(|(path, reason)| Skipped { path, reason }));
    }

    fn skip(&mut self, reason: String) {
        self.skipped.push(Skipped { path: ".".to_owned(), reason });
    }
}

/// Runs `.claude/autochecks.sh`, if the project has it.
async fn autochecks(call: &HookCall<'_>) -> Option<Reading> {
    let project = &call.project;
    let program = project.root.join(AUTOCHECKS);
    if program.symlink_metadata().is_err() {
        return None;
    }
    let run = checks::run(checks::Command {
        name: AUTOCHECKS.to_owned(),
        program,
        args: Vec::new(),
        cwd: project.root.clone(),
        env: call.caller.env.clone().into_iter().collect(),
        timeout: project.config.check_timeout,
    })
    .await;
    let clean = Reading::clean(AUTOCHECKS, SensorKind::Check, 0);
    let elapsed_ms = u64::try_from(run.elapsed.as_millis()).unwrap_or(u64::MAX);
    let reading = Reading { elapsed_ms, ..clean };
    Some(match run.end {
        End::Passed => reading,
        End::Failed(how) => {
            let output = format!("{}\n({how})", run.output.trim_end());
            Reading { dirty: true, output: Some(output), ..reading }
        }
        End::Unmeasured(gap) => Reading { gap: Some(gap), ..reading },
    })
}
