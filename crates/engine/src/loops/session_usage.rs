//! The tokens used by a session and held by its context. Transcripts are read on from the last
//! position.

use std::path::Path;

use crate::engine::{Engine, panic_gap, run_blocking};
use crate::ledger::Spending;
use moai_base::verdict::{Cause, Gap};
use moai_config::prices::{PriceList, TokenCost};
use moai_loops::framework::MessageLanguage;
use moai_protocol::transcript::{ContextSize, TokenUsage};
use moai_report::spending::{TokenPrice, usage_line};

/// The usage since a point in time.
#[derive(Clone, Debug)]
pub(crate) struct SessionUsage {
    pub(crate) usage: TokenUsage,
    pub(crate) cost: TokenCost,
    /// Why the usage may be higher.
    pub(crate) gap: Option<Gap>,
    /// The present size of the context.
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
    let mut spending = std::mem::take(&mut engine.ledger().session(session).spending);
    let transcript = transcript.to_path_buf();
    let read = run_blocking(move || {
        let gap = spending.read(&transcript);
        (spending, gap)
    });
    let (spending, gap) = read.await.unwrap_or_else(|| {
        let gap = panic_gap();
        (Spending { unread: Some(gap.clone()), ..Spending::default() }, Some(gap))
    });
    let usage = spending.tally.usage(since_ms);
    let context = spending.context();
    engine.ledger().session(session).spending = spending;
    let gap = gap.or_else(|| {
        let detail = "the session has more replies than can be counted";
        usage.is_truncated.then(|| Gap::new(Cause::Skipped, detail))
    });
    SessionUsage { cost: PriceList::built_in().cost(&usage), usage, gap, context }
}

/// The usage as one line for the user; `None` if nothing is known of it.
pub(crate) fn session_usage_line(
    language: MessageLanguage,
    spent: &SessionUsage,
) -> Option<String> {
    let SessionUsage { usage, cost, gap, .. } = spent;
    let as_of = &PriceList::built_in().as_of;
    let price = TokenPrice { cents: cost.cents(), unknown_models: &cost.unknown_models, as_of };
    usage_line(language, usage, price, gap.as_ref())
}
