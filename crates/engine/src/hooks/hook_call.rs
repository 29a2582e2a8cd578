//! The input of every hook handler, and the assembly of its output.

use std::sync::Arc;

use crate::edit::impact::files_match_hashes;
use crate::engine::{Engine, run_blocking};
use crate::ledger::{DeferredReport, SessionAgent};
use crate::project::Project;
use moai_host::files;
use moai_loops::framework::MessageLanguage;
use moai_loops::stop_table::StopDelivery;
use moai_protocol::control::CallerContext;
use moai_protocol::hook::{HookInput, HookOutput};
use moai_report::agent::{self, EditFeedback, EditText};

/// Input of an event's handler.
pub(crate) struct HookCall<'e> {
    pub(crate) engine: &'e Arc<Engine>,
    pub(crate) caller: CallerContext,
    pub(crate) project: Project,
    pub(crate) input: HookInput,
    /// Identity of this call, to recognise a Stop that was delivered twice.
    pub(crate) delivery: StopDelivery,
}

impl HookCall<'_> {
    /// The agent that reads this hook's output.
    pub(crate) fn reader(&self) -> SessionAgent {
        SessionAgent { session: self.input.session_id.clone(), agent: self.input.agent_id.clone() }
    }
}

/// Texts for the agent, and the deferred reports among them.
pub(crate) type HookTexts = (HookOutput, Option<(SessionAgent, Vec<DeferredReport>)>);

/// One context of the session's deferred reports whose files have not changed since, then `texts`.
pub(crate) async fn with_deferred_reports(call: &HookCall<'_>, texts: Vec<EditText>) -> HookTexts {
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
    let notices: Vec<String> = all.iter().filter_map(|text| text.notice.clone()).collect();
    let texts: Vec<String> = all.into_iter().map(|text| text.text).collect();
    let notice = Some(notices.join("\n")).filter(|text| !text.is_empty());
    let reported = (!fresh.is_empty()).then_some((reader, fresh));
    (HookOutput::Context(agent::join_contexts(&texts)).with_notice(notice), reported)
}

/// The language of a session's messages.
pub(crate) fn language(engine: &Engine, session: &str) -> MessageLanguage {
    engine.ledger().language(session).unwrap_or_default()
}

/// Feedback text about an edited file; with counts of older findings only if they are new to the
/// session.
pub(crate) fn edit_text(
    engine: &Engine,
    session: &str,
    feedback: &EditFeedback,
) -> Option<EditText> {
    let has_new_counts =
        feedback.counts_key().is_some_and(|key| engine.ledger().report_once(session, &key));
    let feedback = EditFeedback { has_new_counts, ..feedback.clone() };
    agent::edit_text(&feedback, language(engine, session))
}

/// Drops reports whose file or dependencies changed since. Most hooks have no report, and then no
/// blocking thread is used.
async fn still_fresh(late: Vec<DeferredReport>) -> Vec<DeferredReport> {
    if late.is_empty() {
        return late;
    }
    let fresh = run_blocking(move || late.into_iter().filter(is_report_fresh).collect());
    fresh.await.unwrap_or_default()
}

fn is_report_fresh(report: &DeferredReport) -> bool {
    let now = files::read_snapshot(&report.root, &report.path.under(&report.root));
    now.is_ok_and(|now| now.hash == report.hash)
        && files_match_hashes(&report.root, &report.depends_on)
}
