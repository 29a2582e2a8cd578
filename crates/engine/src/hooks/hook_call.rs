//! The input of every hook handler, and the assembly of its output.

use std::sync::Arc;

use crate::edit::impact::files_match_hashes;
use crate::engine::{Engine, measure_blocking, now_ms};
use crate::ledger::host_sessions::HookSender;
use crate::ledger::{DeferredReport, PendingStart, SessionAgent};
use crate::loops::loop_elsewhere::active_loop_anywhere;
use crate::pipeline::pipeline_of_loop::{
    UnreadMove, instructions_of_loop, note_arrival, take_move, take_untold,
};
use crate::project::Project;
use crate::recall::RecalledText;
use crate::recall::delivery::DeliveredRecall;
use crate::recall::note::noted_event;
use crate::recall::recorder::NotedEventKind;
use moai_base::limits::{CONTEXT_CHARS_MAX, TOOL_CLOCK_SLACK_MS};
use moai_base::verdict::Gap;
use moai_host::callers;
use moai_host::files;
use moai_host::store::StoreRecovery;
use moai_loops::framework::MessageLanguage;
use moai_loops::stop_table::StopDelivery;
use moai_protocol::control::CallerContext;
use moai_protocol::hook::{HookInput, HookOutput};
use moai_report::agent::{self, EditFeedback, EditText};
use moai_report::contributions::{Contribution, ContributionOrigin, join_contributions};
use moai_report::loops::moved_away;

/// Input of an event's handler.
pub(crate) struct HookCall<'e> {
    pub(crate) engine: &'e Arc<Engine>,
    pub(crate) caller: CallerContext,
    pub(crate) project: Project,
    pub(crate) input: HookInput,
    pub(crate) sender: HookSender,
    /// Identity of this call, to recognize a Stop that was delivered twice.
    pub(crate) delivery: StopDelivery,
}

impl HookCall<'_> {
    /// The agent that reads this hook's output.
    pub(crate) fn reader(&self) -> SessionAgent {
        SessionAgent { session: self.input.session_id.clone(), agent: self.input.agent_id.clone() }
    }

    /// True if an agent, or a host that an agent started, sent the event, so that no user typed or chose
    /// anything. Called only for events that represent the user, because it reads the environment of every
    /// ancestor.
    pub(crate) fn is_sent_by_agent(&self) -> bool {
        let process = self.caller.process.filter(|_| self.sender == HookSender::Unknown);
        process.is_some_and(|hook| callers::is_started_by_agent(&callers::ancestors(hook)))
    }

    /// Start of the tool call in nanoseconds since the epoch, if the host supplies its duration.
    pub(crate) fn tool_start_ns(&self) -> Option<i128> {
        let took_ms = self.input.duration_ms?;
        let begun_ms = now_ms().saturating_sub(took_ms).saturating_sub(TOOL_CLOCK_SLACK_MS);
        Some(i128::from(begun_ms) * 1_000_000)
    }
}

/// A hook's output, with the data to keep or record depending on its delivery.
#[derive(Debug, Default)]
pub(crate) struct HookAnswer {
    pub(crate) output: HookOutput,
    /// The deferred reports in the output, with their reader.
    pub(crate) deferred_reports: Option<(SessionAgent, Vec<DeferredReport>)>,
    /// Observations shown in the output.
    pub(crate) recalled: Option<DeliveredRecall>,
    /// A recovery of the memory that the output reports.
    pub(crate) memory_recovery: Option<StoreRecovery>,
}

impl From<HookOutput> for HookAnswer {
    fn from(output: HookOutput) -> Self {
        Self { output, ..Self::default() }
    }
}

/// Combines into one context: the text about a loop that was just started, the session's deferred reports
/// whose files have not changed since, `texts` of `origin`, and recalled observations. Other reports stay
/// queued.
pub(crate) async fn with_deferred_reports(
    call: &HookCall<'_>,
    origin: ContributionOrigin,
    texts: Vec<EditText>,
    recalled: Option<RecalledText>,
) -> HookAnswer {
    let reader = call.reader();
    let late = call.engine.ledger().take_reports(&reader);
    let (mut fresh, outdated, lost) = match split_fresh(late).await {
        Ok((fresh, outdated)) => (fresh, outdated, None),
        Err(gap) => (Vec::new(), Vec::new(), Some(EditText::agent_only(lost_reports(&gap)))),
    };
    // The next edit of their files is compared with their baselines.
    call.engine.ledger().requeue_reports(&reader, outdated);
    let mut contributions = Vec::new();
    if call.input.agent_id.is_none() {
        let decided = decisions_text(call).await;
        contributions.extend(contributions_of(ContributionOrigin::Loop, decided));
        let start = start_text(call).await;
        contributions.extend(contributions_of(ContributionOrigin::Loop, start));
    }
    let first_report = contributions.len();
    let late = fresh.iter().map(|report| report.text.clone());
    contributions.extend(contributions_of(ContributionOrigin::DeferredReport, late.chain(lost)));
    contributions.extend(contributions_of(origin, texts));
    let memory_at = contributions.len();
    let memory_text = recalled.iter().map(|recalled| recalled.text.clone());
    contributions.extend(contributions_of(ContributionOrigin::Memory, memory_text));
    if contributions.is_empty() {
        return HookAnswer::default();
    }
    let joined = join_contributions(&contributions, CONTEXT_CHARS_MAX);
    let undelivered = take_omitted(&mut fresh, first_report, &joined.omitted);
    if !undelivered.is_empty() {
        call.engine.ledger().requeue_reports(&reader, undelivered);
    }
    let recalled = recalled
        .filter(|_| !joined.omitted.contains(&memory_at))
        .map(|recalled| delivered_recall(call, recalled));
    HookAnswer {
        output: HookOutput::Context(joined.text).with_notice(joined.notice),
        deferred_reports: (!fresh.is_empty()).then_some((reader, fresh)),
        recalled,
        memory_recovery: None,
    }
}

/// What a person decided at a terminal since the session's last hook.
async fn decisions_text(call: &HookCall<'_>) -> Option<EditText> {
    let HookCall { engine, project, input, .. } = call;
    let (known, is_first) = {
        let mut ledger = engine.ledger();
        let session = ledger.session(&input.session_id);
        let is_first = !std::mem::replace(&mut session.has_looked_for_decisions, true);
        (std::mem::take(&mut session.decisions), is_first)
    };
    let mut kept = Vec::new();
    if is_first || !known.is_empty() {
        kept = take_untold(engine, project, &input.session_id).await;
        match take_move(engine, project, &input.session_id).await {
            Some(UnreadMove::Away(held)) => kept.push(moved_away(&held)),
            Some(UnreadMove::Here) => {
                let mut ledger = engine.ledger();
                let pending = &mut ledger.session(&input.session_id).pending_start;
                pending.get_or_insert(PendingStart::OfLoop { more: String::new() });
            }
            None => {}
        }
    }
    // Those of a loop without a pipeline are not kept.
    let decisions = if known.is_empty() { kept } else { known };
    (!decisions.is_empty()).then(|| EditText::agent_only(decisions.join("\n")))
}

/// The text about a loop that a command started or moved; it is made when it is read, because the plan of a
/// pipeline may have been approved since.
async fn start_text(call: &HookCall<'_>) -> Option<EditText> {
    let HookCall { engine, caller, project, input, .. } = call;
    let pending = engine.ledger().known_session(&input.session_id)?.pending_start.take()?;
    let more = match pending {
        PendingStart::Text(text) => return Some(text),
        PendingStart::OfLoop { more } => more,
    };
    note_arrival(engine, project, &input.session_id).await;
    let (project, state) = active_loop_anywhere(engine, caller, project, &input.session_id).await?;
    let text = instructions_of_loop(engine, &project, &state).await;
    let text = if more.is_empty() { text } else { format!("{text}\n{more}") };
    Some(EditText { text, notice: None })
}

/// Recall to record once the reply was delivered.
fn delivered_recall(call: &HookCall<'_>, recalled: RecalledText) -> DeliveredRecall {
    let session = call.input.session_id.clone();
    let RecalledText { injections, event, .. } = recalled;
    call.engine.ledger().session(&session).recall.add_shown(&injections);
    let shown = NotedEventKind::Shown(injections.clone());
    let noted = noted_event(call.engine, &call.project, &session, shown);
    DeliveredRecall { session, injections, event, noted }
}

/// Takes the reports at the omitted positions of a list in which the reports begin at `first`.
fn take_omitted<T>(reports: &mut Vec<T>, first: usize, omitted: &[usize]) -> Vec<T> {
    let (mut kept, mut taken) = (Vec::new(), Vec::new());
    for (index, report) in reports.drain(..).enumerate() {
        let target = if omitted.contains(&(first + index)) { &mut taken } else { &mut kept };
        target.push(report);
    }
    *reports = kept;
    taken
}

fn contributions_of(
    origin: ContributionOrigin,
    texts: impl IntoIterator<Item = EditText>,
) -> impl Iterator<Item = Contribution> {
    texts.into_iter().map(move |text| Contribution { origin, text })
}

/// The language of a session's messages.
pub(crate) fn language(engine: &Engine, session: &str) -> MessageLanguage {
    engine.ledger().session(session).language.unwrap_or_default()
}

/// Feedback text about an edited file; with counts of older findings only if they are new to the
/// session.
pub(crate) fn edit_text(
    engine: &Engine,
    session: &str,
    feedback: &EditFeedback,
) -> Option<EditText> {
    let has_new_counts =
        feedback.counts_key().is_some_and(|key| engine.ledger().session(session).report_once(&key));
    let feedback = EditFeedback { has_new_counts, ..feedback.clone() };
    agent::edit_text(&feedback, language(engine, session))
}

/// Separates the fresh reports from those whose file or dependencies changed since. Most hooks have no
/// report, and then no blocking thread is used.
async fn split_fresh(
    late: Vec<DeferredReport>,
) -> Result<(Vec<DeferredReport>, Vec<DeferredReport>), Gap> {
    if late.is_empty() {
        return Ok((late, Vec::new()));
    }
    measure_blocking(move || late.into_iter().partition(is_report_fresh)).await
}

/// The text in place of deferred reports that an internal error lost.
fn lost_reports(gap: &Gap) -> String {
    format!("moai-ralph: earlier edits are unmeasured: {gap}")
}

fn is_report_fresh(report: &DeferredReport) -> bool {
    let now = files::read_snapshot(&report.root, &report.path.under(&report.root));
    now.is_ok_and(|now| now.hash == report.hash)
        && files_match_hashes(&report.root, &report.depends_on)
}

#[cfg(test)]
mod tests {
    use super::take_omitted;

    #[test]
    fn omitted_reports_are_taken_in_their_order() {
        let mut reports = vec!["a", "b", "c", "d"];
        assert_eq!(take_omitted(&mut reports, 1, &[0, 2, 4, 5, 9]), ["b", "d"]);
        assert_eq!(reports, ["a", "c"]);
        assert_eq!(take_omitted(&mut reports, 1, &[]), [""; 0]);
        assert_eq!(reports, ["a", "c"]);
    }
}
