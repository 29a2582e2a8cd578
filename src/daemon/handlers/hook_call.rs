//! The input of every hook event's handler, and the texts their outputs are made of.

use std::sync::Arc;

use crate::daemon::engine::{Engine, run_blocking};
use crate::daemon::impact::files_match_hashes;
use crate::daemon::ledger::{DeferredReport, SessionAgent};
use crate::daemon::project::Project;
use crate::files;
use crate::looping::framework::MessageLanguage;
use crate::looping::stop_table::StopDelivery;
use crate::report::agent::{self, EditFeedback, EditText};
use crate::wire::control::CallerContext;
use crate::wire::hook::{HookInput, HookOutput};

/// What an event's handler is given.
pub(super) struct HookCall<'e> {
    pub(super) engine: &'e Arc<Engine>,
    pub(super) caller: CallerContext,
    pub(super) project: Project,
    pub(super) input: HookInput,
    /// What tells this call apart from others.
    pub(super) delivery: StopDelivery,
}

impl HookCall<'_> {
    /// Who reads what this hook says.
    pub(super) fn reader(&self) -> SessionAgent {
        SessionAgent { session: self.input.session_id.clone(), agent: self.input.agent_id.clone() }
    }
}

/// Texts for the agent, and which late verdicts are among them.
pub(super) type Told = (HookOutput, Option<(SessionAgent, Vec<DeferredReport>)>);

/// The session's late verdicts that still speak of the bytes on disk, then `texts`, as one context.
pub(super) async fn with_late(call: &HookCall<'_>, texts: Vec<EditText>) -> Told {
    let reader = call.reader();
    let late = call.engine.ledger().take_reports(&reader);
    let fresh = still_fresh(late).await;
    let is_main_agent = call.input.agent_id.is_none();
    let start = is_main_agent.then(|| call.engine.ledger().take_start_text(&call.input.session_id));
    let late = fresh.iter().map(|late| late.text.clone());
    let all: Vec<EditText> = start.flatten().into_iter().chain(late).chain(texts).collect();
    if all.is_empty() {
        return (HookOutput::Silent, None);
    }
    let notices: Vec<String> = all.iter().filter_map(|one| one.notice.clone()).collect();
    let texts: Vec<String> = all.into_iter().map(|one| one.text).collect();
    let notice = Some(notices.join("\n")).filter(|text| !text.is_empty());
    let told = (!fresh.is_empty()).then_some((reader, fresh));
    (HookOutput::Context(agent::join_contexts(&texts)).with_notice(notice), told)
}

/// The language in which a session is spoken to.
pub(super) fn language(engine: &Engine, session: &str) -> MessageLanguage {
    engine.ledger().language(session).unwrap_or_default()
}

/// What is said about an edited file; counts of older findings only where the session does not know
/// them yet.
pub(super) fn edit_text(
    engine: &Engine,
    session: &str,
    feedback: &EditFeedback,
) -> Option<EditText> {
    let is_news = |key: String| engine.ledger().report_once(session, &key);
    let counts_are_news = feedback.counts_key().is_some_and(is_news);
    let feedback = EditFeedback { has_new_counts: counts_are_news, ..feedback.clone() };
    agent::edit_text(&feedback, language(engine, session))
}

/// Most hooks have none to look at, and these wait for no other thread.
async fn still_fresh(late: Vec<DeferredReport>) -> Vec<DeferredReport> {
    if late.is_empty() {
        return late;
    }
    let fresh = run_blocking(move || {
        let is_fresh = |late: &DeferredReport| {
            let now = files::read_snapshot(&late.root, &late.path.under(&late.root));
            now.is_ok_and(|now| now.hash == late.hash)
                && files_match_hashes(&late.root, &late.depends_on)
        };
        late.into_iter().filter(is_fresh).collect()
    });
    fresh.await.unwrap_or_default()
}
