//! Token prices and context windows of models: the dated table `config/prices.yaml`. A model
//! missing from it has an unknown cost (never zero) and an unknown window.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use moai_protocol::transcript::{TokenCounts, TokenUsage};

/// Billionths per US dollar: a thousandth of a dollar per million tokens is one billionth per
/// token.
const NANO_PER_DOLLAR: u64 = 1_000_000_000;

/// Prices of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceList {
    /// Date of the table, `2026-10-24`.
    pub as_of: String,
    models: BTreeMap<String, ModelPrice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ModelPrice {
    rates: TokenRates,
    context_tokens: u64,
}

/// Billionths of a US dollar per token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TokenRates {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write_5m: u64,
    cache_write_1h: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceTable {
    as_of: String,
    models: BTreeMap<String, PriceRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    input: String,
    output: String,
    cache_read: String,
    cache_write_5m: String,
    cache_write_1h: String,
    context_tokens: u64,
}

/// An invalid price table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("prices: {0}")]
pub struct PricesError(String);

/// Cost of tokens, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenCost {
    /// Known cost in billionths of a US dollar.
    pub nano_dollars: u64,
    /// Models without a known price; if there are any, the total cost is unknown.
    pub unknown_models: Vec<String>,
}

impl TokenCost {
    /// Total cost in cents, rounded up; `None` if part of it is unknown.
    #[must_use]
    pub fn cents(&self) -> Option<u64> {
        let cents = self.nano_dollars.div_ceil(NANO_PER_DOLLAR / 100);
        self.unknown_models.is_empty().then_some(cents)
    }
}

impl PriceList {
    /// The built-in table.
    #[must_use]
    pub fn built_in() -> &'static Self {
        static TABLE: OnceLock<PriceList> = OnceLock::new();
        TABLE.get_or_init(|| {
            Self::parse(include_str!("../../../config/prices.yaml"))
                .expect("the built-in prices.yaml is tested")
        })
    }

    /// Parses a price table.
    pub fn parse(text: &str) -> Result<Self, PricesError> {
        let table: PriceTable =
            serde_saphyr::from_str(text).map_err(|error| PricesError(error.to_string()))?;
        let models = table.models.into_iter().map(|(model, row)| {
            let rate = |price: &str| {
                nano_per_token(price)
                    .ok_or_else(|| PricesError(format!("{model}: {price:?} is not a price")))
            };
            let rates = TokenRates {
                input: rate(&row.input)?,
                output: rate(&row.output)?,
                cache_read: rate(&row.cache_read)?,
                cache_write_5m: rate(&row.cache_write_5m)?,
                cache_write_1h: rate(&row.cache_write_1h)?,
            };
            Ok((model, ModelPrice { rates, context_tokens: row.context_tokens }))
        });
        Ok(Self { as_of: table.as_of, models: models.collect::<Result<_, _>>()? })
    }

    #[must_use]
    pub fn cost(&self, usage: &TokenUsage) -> TokenCost {
        let mut cost = TokenCost::default();
        for (model, tokens) in &usage.models {
            match self.model(model) {
                Some(model) => {
                    cost.nano_dollars = cost.nano_dollars.saturating_add(model.rates.of(*tokens));
                }
                // A listed model without usage costs nothing, even one without a price.
                None if *tokens == TokenCounts::default() => {}
                None => cost.unknown_models.push(model.clone()),
            }
        }
        cost
    }

    /// Size of a model's context window in tokens; `None` if unknown.
    #[must_use]
    pub fn context_tokens(&self, model: &str) -> Option<u64> {
        self.model(model).map(|model| model.context_tokens)
    }

    /// Finds a model by its name, also with its release date appended (`-20251101`, `@20251101`).
    fn model(&self, model: &str) -> Option<&ModelPrice> {
        let dated =
            model.rsplit_once(['-', '@']).filter(|(_, day)| day.len() == 8 && has_digits_only(day));
        self.models.get(model).or_else(|| self.models.get(dated?.0))
    }
}

impl TokenRates {
    fn of(self, tokens: TokenCounts) -> u64 {
        let parts = [
            (self.input, tokens.input),
            (self.output, tokens.output),
            (self.cache_read, tokens.cache_read),
            (self.cache_write_5m, tokens.cache_write_5m),
            (self.cache_write_1h, tokens.cache_write_1h),
        ];
        parts
            .iter()
            .fold(0, |sum: u64, (rate, count)| sum.saturating_add(rate.saturating_mul(*count)))
    }
}

/// Dollars per million tokens, with up to three decimals.
fn nano_per_token(price: &str) -> Option<u64> {
    let (whole, decimals) = price.split_once('.').unwrap_or((price, ""));
    if whole.is_empty()
        || decimals.len() > 3
        || !has_digits_only(whole)
        || !has_digits_only(decimals)
    {
        return None;
    }
    format!("{whole}{decimals:0<3}").parse().ok()
}

fn has_digits_only(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(model: &str, tokens: TokenCounts) -> TokenUsage {
        TokenUsage { models: BTreeMap::from([(model.to_owned(), tokens)]), ..TokenUsage::default() }
    }

    const MILLION: TokenCounts = TokenCounts {
        input: 1_000_000,
        output: 1_000_000,
        cache_read: 1_000_000,
        cache_write_5m: 1_000_000,
        cache_write_1h: 1_000_000,
    };

    #[test]
    fn each_kind_of_token_has_its_price() {
        let cost = |model: &str| PriceList::built_in().cost(&usage(model, MILLION));
        // 5 + 25 + 0.50 + 6.25 + 10 dollars.
        assert_eq!(cost("claude-opus-4-6").cents(), Some(4_675));
        assert_eq!(cost("claude-opus-4-5-20251101"), cost("claude-opus-4-6"));
        assert_eq!(cost("claude-sonnet-4-5@20250929").cents(), Some(2_805));
        let one = TokenCounts { input: 1, ..TokenCounts::default() };
        let cost = PriceList::built_in().cost(&usage("claude-haiku-4-5", one));
        assert_eq!((cost.nano_dollars, cost.cents()), (1_000, Some(1)));
    }

    #[test]
    fn an_unknown_model_or_mode_is_unknown_and_never_free() {
        for model in ["gpt-9", "claude-opus-4-6 (fast)", "claude-opus-4-6-preview", ""] {
            let cost = PriceList::built_in().cost(&usage(model, MILLION));
            assert_eq!((cost.cents(), cost.unknown_models), (None, vec![model.to_owned()]));
        }
        assert_eq!(
            PriceList::built_in().cost(&usage("gpt-9", TokenCounts::default())).cents(),
            Some(0)
        );
        assert_eq!(PriceList::built_in().cost(&TokenUsage::default()).cents(), Some(0));
    }

    #[test]
    fn the_context_window_is_that_of_the_model_or_unknown() {
        let tokens = |model: &str| PriceList::built_in().context_tokens(model);
        assert_eq!(tokens("claude-opus-4-5-20251101"), Some(200_000));
        assert_eq!(tokens("claude-opus-5-5"), Some(1_000_000));
        assert_eq!(tokens("gpt-9"), None);
    }

    #[test]
    fn a_table_with_an_odd_price_is_refused() {
        assert_eq!(nano_per_token("3.75"), Some(3_750));
        assert_eq!(nano_per_token("0.125"), Some(125));
        for odd in ["", "3,75", "-1", "1.2345", ".5", "1e3"] {
            assert_eq!(nano_per_token(odd), None, "{odd}");
        }
        assert!(PriceList::parse("as_of: x\nmodels: {a: {input: \"1\"}}").is_err());
        assert!(PriceList::built_in().as_of.starts_with("20"));
    }
}
