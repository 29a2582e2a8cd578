//! Tokens that a session has used, and those its context holds: its transcripts, read on from where the last look ended. What is
//! done about them is not decided here.

use std::path::Path;

use super::engine::{Engine, blocking};
use super::ledger::Spending;
use crate::base::verdict::{Cause, Gap};
use crate::config::prices::{Cost, Prices};
use crate::report::spending::{Price, used};
use crate::wire::transcript::{Context, Usage};

/// What was used since a moment.
#[derive(Clone, Debug)]
pub(super) struct Spent {
    pub(super) usage: Usage,
    pub(super) cost: Cost,
    /// Why it may have been more than that.
    pub(super) gap: Option<Gap>,
    /// What the context holds now.
    pub(super) context: Result<Context, Gap>,
}

/// What a session has used since a moment (milliseconds since the epoch), by its transcript as the
/// host names it and those of its subagents beside it.
pub(super) async fn spent(
    engine: &Engine,
    session: &str,
    transcript: &Path,
    since_ms: u64,
) -> Spent {
    let mut spending = engine.ledger().take_spending(session);
    let transcript = transcript.to_path_buf();
    let read = blocking(move || {
        let gap = spending.read(&transcript);
        (spending, gap)
    });
    let (spending, gap) = read.await.unwrap_or_else(|| {
        let gap = Gap::new(Cause::Crashed, "internal error; the daemon's log says more");
        (Spending { unread: Some(gap.clone()), ..Spending::default() }, Some(gap))
    });
    let usage = spending.tally.usage(since_ms);
    let context = spending.context();
    engine.ledger().keep_spending(session, spending);
    let gap = gap.or_else(|| {
        let detail = "the session has more replies than are counted";
        usage.is_cut.then(|| Gap::new(Cause::Skipped, detail))
    });
    Spent { cost: Prices::built_in().cost(&usage), usage, gap, context }
}

/// One line about it for people.
pub(super) fn words(spent: &Spent) -> String {
    let Spent { usage, cost, gap, .. } = spent;
    let as_of = &Prices::built_in().as_of;
    let price = Price { cents: cost.cents(), unknown_models: &cost.unknown_models, as_of };
    used(usage, price, gap.as_ref())
}
