//! What a session has used, in words; and what its agent claimed against the measurement.

use super::count_noun;
use crate::base::limits::{CLAIMS_NAMED_MAX, GAP_CHARS_MAX};
use crate::base::text::one_line;
use crate::base::verdict::Gap;
use crate::looping::claims::Contradiction;
use crate::wire::transcript::{ContextSize, TokenCounts, TokenUsage};

/// What tokens cost, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct TokenPrice<'a> {
    /// In US cents; `None` when part of it is not known.
    pub cents: Option<u64>,
    /// The models without a price.
    pub unknown_models: &'a [String],
    /// The day of the table of prices.
    pub as_of: &'a str,
}

/// One line about tokens and money: `used 1,533 fresh tokens (…); about $4.75 by list prices of …`.
#[must_use]
pub fn usage_line(usage: &TokenUsage, price: TokenPrice<'_>, gap: Option<&Gap>) -> String {
    let total = usage.total();
    if let Some(gap) = gap.filter(|_| total == TokenCounts::default()) {
        return format!("tokens were not measured ({gap})");
    }
    let written = total.cache_write_5m.saturating_add(total.cache_write_1h);
    let mut text = format!(
        "used {} fresh tokens (input {}, output {}, written to the cache {}) and {} from the cache",
        grouped(total.uncached()),
        grouped(total.input),
        grouped(total.output),
        grouped(written),
        grouped(total.cache_read),
    );
    text = if let Some(cents) = price.cents {
        let (dollars, cents) = (grouped(cents / 100), cents % 100);
        format!("{text}; about ${dollars}.{cents:02} by list prices of {}", price.as_of)
    } else {
        let models = one_line(&price.unknown_models.join(", "), GAP_CHARS_MAX);
        format!("{text}; cost unknown (no price for {models})")
    };
    if let Some(gap) = gap {
        text = format!("{text}; it may be more ({gap})");
    }
    if usage.junk_lines > 0 {
        text = format!("{text}; {} could not be read", count_noun(usage.junk_lines, "line"));
    }
    text
}

/// One line about a context: `the context holds 152,340 of the 200,000 tokens of m (76 %; 60 % may
/// be filled)`.
#[must_use]
pub fn context(held: &ContextSize, window: u64, budget_permille: u64) -> String {
    let percent = u128::from(held.tokens) * 100 / u128::from(window.max(1));
    let (whole, tenths) = (budget_permille / 10, budget_permille % 10);
    let tenths = if tenths == 0 { String::new() } else { format!(".{tenths}") };
    format!(
        "the context holds {} of the {} tokens of {} ({percent} %; {whole}{tenths} % may be filled)",
        grouped(held.tokens),
        grouped(window),
        one_line(&held.model, GAP_CHARS_MAX),
    )
}

/// For the user, where a budget of the context is set and nobody knows how full it is.
#[must_use]
pub fn context_unmeasured(gap: &Gap) -> String {
    format!("[moai-ralph] loop.context_budget was not measured and holds nothing up: {gap}")
}

/// A model whose window nobody knows.
#[must_use]
pub fn no_window(model: &str) -> String {
    format!("the context window of {} is not known", one_line(model, GAP_CHARS_MAX))
}

/// Where the agent's last message and the measurement cannot both be true, one line each.
#[must_use]
pub fn contradiction_lines(found: &[Contradiction]) -> Vec<String> {
    let line = |one: &Contradiction| format!("\"{}\"; measured: {}", one.claim, one.measured);
    found.iter().take(CLAIMS_NAMED_MAX).map(line).collect()
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::base::verdict::Cause;

    #[test]
    fn an_unknown_cost_is_said_to_be_unknown() {
        let tokens = TokenCounts {
            input: 3,
            output: 500,
            cache_read: 1_234_567,
            cache_write_5m: 1_000,
            cache_write_1h: 30,
        };
        let models = BTreeMap::from([("m".to_owned(), tokens)]);
        let usage = TokenUsage { models, ..TokenUsage::default() };
        let unknown_models = ["m".to_owned()];
        let price = TokenPrice { cents: Some(123_405), unknown_models: &[], as_of: "2026-10-24" };
        assert_eq!(
            usage_line(&usage, price, None),
            "used 1,533 fresh tokens (input 3, output 500, written to the cache 1,030) and \
             1,234,567 from the cache; about $1,234.05 by list prices of 2026-10-24"
        );
        let price = TokenPrice { cents: None, unknown_models: &unknown_models, ..price };
        let gap = Gap::new(Cause::Loading, "read on at the next look");
        let text = usage_line(&TokenUsage { junk_lines: 1, ..usage }, price, Some(&gap));
        let end = "; cost unknown (no price for m); it may be more (read on at the next look); \
                   1 line could not be read";
        assert!(text.ends_with(end), "{text}");
        let nothing = usage_line(&TokenUsage::default(), price, Some(&gap));
        assert_eq!(nothing, "tokens were not measured (read on at the next look)");
    }

    #[test]
    fn a_context_is_said_with_its_figures() {
        let held = ContextSize { model: "claude-opus-4-5".into(), tokens: 152_340 };
        assert_eq!(
            context(&held, 200_000, 625),
            "the context holds 152,340 of the 200,000 tokens of claude-opus-4-5 (76 %; 62.5 % may \
             be filled)"
        );
        assert!(context(&held, 200_000, 600).ends_with("(76 %; 60 % may be filled)"));
    }

    #[test]
    fn a_contradiction_quotes_both_sides() {
        assert!(contradiction_lines(&[]).is_empty());
        let one = Contradiction { claim: "All tests pass.".into(), measured: "2 errors".into() };
        assert_eq!(contradiction_lines(&[one]), ["\"All tests pass.\"; measured: 2 errors"]);
    }
}
