//! The tokens and the context that a session used, and claims of its agent that contradict the
//! measurement.

use super::wording::{self, LINES};
use moai_base::foreign_text::one_line;
use moai_base::limits::{CLAIMS_NAMED_MAX, GAP_CHARS_MAX};
use moai_base::verdict::Gap;
use moai_loops::claims::Contradiction;
use moai_loops::framework::MessageLanguage;
use moai_protocol::transcript::{ContextSize, TokenCounts, TokenUsage};

/// The cost of tokens.
#[derive(Clone, Copy, Debug)]
pub struct TokenPrice<'a> {
    /// In US cents; `None` when a part is unknown.
    pub cents: Option<u64>,
    /// The models without a price.
    pub unknown_models: &'a [String],
    /// The date of the price table.
    pub as_of: &'a str,
}

/// One line about tokens and money: `used 1,533 fresh tokens (…); about $4.75 at list prices of …`.
/// `None` where nothing was used.
#[must_use]
pub fn usage_line(
    language: MessageLanguage,
    usage: &TokenUsage,
    price: TokenPrice<'_>,
    gap: Option<&Gap>,
) -> Option<String> {
    let total = usage.total();
    if total == TokenCounts::default() {
        return gap.map(|gap| wording::NOT_COUNTED.with(language, &[&gap.to_string()]));
    }
    let counts = [
        total.uncached(),
        total.input,
        total.output,
        total.cache_write_5m.saturating_add(total.cache_write_1h),
        total.cache_read,
    ]
    .map(grouped);
    let mut text = wording::USED.with(language, &counts.each_ref().map(String::as_str));
    match price.cents {
        Some(0) => {}
        Some(cents) => {
            let dollars = format!("{}.{:02}", grouped(cents / 100), cents % 100);
            text.push_str(&wording::COST.with(language, &[&dollars, price.as_of]));
        }
        None => {
            let models = one_line(&price.unknown_models.join(", "), GAP_CHARS_MAX);
            text.push_str(&wording::COST_UNKNOWN.with(language, &[&models]));
        }
    }
    if let Some(gap) = gap {
        text.push_str(&wording::MAY_BE_MORE.with(language, &[&gap.to_string()]));
    }
    if usage.junk_lines > 0 {
        let lines = LINES.count(language, usage.junk_lines);
        text.push_str(&wording::NOT_READ.with(language, &[&lines]));
    }
    Some(text)
}

/// One line about a context: `the context holds 152,340 of the 200,000 tokens of m (76 %; the
/// budget is 60 %)`.
#[must_use]
pub fn context(held: &ContextSize, window: u64, budget_permille: u64) -> String {
    let percent = u128::from(held.tokens) * 100 / u128::from(window.max(1));
    let (whole, tenths) = (budget_permille / 10, budget_permille % 10);
    let tenths = if tenths == 0 { String::new() } else { format!(".{tenths}") };
    format!(
        "the context holds {} of the {} tokens of {} ({percent} %; the budget is {whole}{tenths} %)",
        grouped(held.tokens),
        grouped(window),
        one_line(&held.model, GAP_CHARS_MAX),
    )
}

/// For the user, where a context budget is set and the size of the context is unknown.
#[must_use]
pub fn context_unmeasured(gap: &Gap) -> String {
    format!("[moai-ralph] loop.context_budget has no effect: the context was not measured: {gap}")
}

/// A model whose context window is unknown.
#[must_use]
pub fn no_window(model: &str) -> String {
    format!("the context window of {} is unknown", one_line(model, GAP_CHARS_MAX))
}

/// Claims of the agent's last message that contradict the measurement, one line each.
#[must_use]
pub fn contradiction_lines(contradictions: &[Contradiction]) -> Vec<String> {
    contradictions
        .iter()
        .take(CLAIMS_NAMED_MAX)
        .map(|one| format!("\"{}\"; measured: {}", one.claim, one.measured))
        .collect()
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
    use moai_base::verdict::Cause;

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
            usage_line(MessageLanguage::English, &usage, price, None).as_deref(),
            Some(
                "used 1,533 fresh tokens (input 3, output 500, cache writes 1,030) and 1,234,567 from \
             the cache; about $1,234.05 at list prices of 2026-10-24"
            )
        );
        let free = TokenPrice { cents: Some(0), ..price };
        let text = usage_line(MessageLanguage::Korean, &usage, free, None);
        let expected =
            "새 토큰 1,533개 사용(입력 3, 출력 500, 캐시 쓰기 1,030), 캐시에서 1,234,567개";
        assert_eq!(text.as_deref(), Some(expected));
        let price = TokenPrice { cents: None, unknown_models: &unknown_models, ..price };
        let gap = Gap::new(Cause::Loading, "read on at the next look");
        let text = usage_line(
            MessageLanguage::English,
            &TokenUsage { junk_lines: 1, ..usage },
            price,
            Some(&gap),
        )
        .expect("tokens were used");
        let end = "; cost unknown (no price for m); may be more (read on at the next look); \
                   1 line could not be read";
        assert!(text.ends_with(end), "{text}");
        let nothing = TokenUsage::default();
        let text = usage_line(MessageLanguage::English, &nothing, price, Some(&gap));
        assert_eq!(text.as_deref(), Some("tokens not measured (read on at the next look)"));
        assert_eq!(usage_line(MessageLanguage::English, &nothing, price, None), None);
    }

    #[test]
    fn a_context_is_said_with_its_figures() {
        let held = ContextSize { model: "claude-opus-4-5".into(), tokens: 152_340 };
        assert_eq!(
            context(&held, 200_000, 625),
            "the context holds 152,340 of the 200,000 tokens of claude-opus-4-5 (76 %; the \
             budget is 62.5 %)"
        );
        assert!(context(&held, 200_000, 600).ends_with("(76 %; the budget is 60 %)"));
    }

    #[test]
    fn a_contradiction_quotes_both_sides() {
        assert!(contradiction_lines(&[]).is_empty());
        let one = Contradiction { claim: "All tests pass.".into(), measured: "2 errors".into() };
        assert_eq!(contradiction_lines(&[one]), ["\"All tests pass.\"; measured: 2 errors"]);
    }
}
