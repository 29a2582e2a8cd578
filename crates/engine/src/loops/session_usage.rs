//! Tokens that a session has used, and those its context holds: its transcripts, read on from where the last look ended. What is
//! done about them is not decided here.

use std::path::Path;

use crate::engine::{Engine, run_blocking};
use crate::ledger::Spending;
use moai_base::verdict::{Cause, Gap};
use moai_config::prices::{PriceList, TokenCost};
use moai_loops::framework::MessageLanguage;
use moai_protocol::transcript::{ContextSize, TokenUsage};
use moai_report::spending::{TokenPrice, usage_line};

/// What was used since a moment.
#[derive(Clone, Debug)]
pub(crate) struct SessionUsage {
    pub(crate) usage: TokenUsage,
    pub(crate) cost: TokenCost,
    /// Why it may have been more than that.
    pub(crate) gap: Option<Gap>,
    /// What the context holds now.
    pub(crate) context: Result<ContextSize, Gap>,
}

/// Tokens and cost of a session since `since_ms` (milliseconds since the epoch), read from its
/// transcript and from the transcripts of its subagents in the folder next to it.
pub(crate) async fn read_session_usage(
    engine: &Engine,
    session: &str,
    transcript: &Path,
    since_ms: u64,
) -> SessionUsage {
    let mut spending = engine.ledger().take_spending(session);
    let transcript = transcript.to_path_buf();
    let read = run_blocking(move || {
        let gap = spending.read(&transcript);
        (spending, gap)
    });
    let (spending, gap) = read.await.unwrap_or_else(|| {
        let gap = Gap::new(Cause::Crashed, "internal error; see the daemon's log");
        (Spending { unread: Some(gap.clone()), ..Spending::default() }, Some(gap))
    });
    let usage = spending.tally.usage(since_ms);
    let context = spending.context();
    engine.ledger().keep_spending(session, spending);
    let gap = gap.or_else(|| {
        let detail = "the session has more replies than can be counted";
        usage.is_truncated.then(|| Gap::new(Cause::Skipped, detail))
    });
    SessionUsage { cost: PriceList::built_in().cost(&usage), usage, gap, context }
}

/// One line about it for people; `None` where nothing was used.
pub(crate) fn session_usage_line(
    language: MessageLanguage,
    spent: &SessionUsage,
) -> Option<String> {
    let SessionUsage { usage, cost, gap, .. } = spent;
    let as_of = &PriceList::built_in().as_of;
    let price = TokenPrice { cents: cost.cents(), unknown_models: &cost.unknown_models, as_of };
    usage_line(language, usage, price, gap.as_ref())
}
