//! An index query: tokens in columns, joined by AND and OR. It is built from tokens alone, so user
//! input is never parsed as syntax.

use std::fmt;

use crate::tokens::IndexTokens;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexColumn {
    /// [`IndexTokens::words`].
    Words,
    /// [`IndexTokens::pairs`].
    Pairs,
}

impl IndexColumn {
    /// Its name in the index: `words` or `pairs`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Pairs => "pairs",
        }
    }
}

/// A condition on the tokens of one text. Displayed, it is an expression for `MATCH` of SQLite's
/// FTS5 with every token quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// Neighbouring tokens, at least one; the last one is a prefix if `is_prefix`.
    Phrase {
        column: IndexColumn,
        /// Letters, digits and `_` only.
        tokens: Vec<String>,
        is_prefix: bool,
    },
    /// Every one of them; not empty.
    All(Vec<Expression>),
    /// At least one of them; not empty.
    Any(Vec<Expression>),
}

impl Expression {
    pub(crate) fn word<T: ToString + ?Sized>(token: &T) -> Self {
        Self::words(vec![token.to_string()])
    }

    pub(crate) fn words(tokens: Vec<String>) -> Self {
        Self::Phrase { column: IndexColumn::Words, tokens, is_prefix: false }
    }

    pub(crate) fn words_beginning(tokens: Vec<String>) -> Self {
        Self::Phrase { column: IndexColumn::Words, tokens, is_prefix: true }
    }

    pub(crate) fn pairs(tokens: Vec<String>) -> Self {
        Self::Phrase { column: IndexColumn::Pairs, tokens, is_prefix: false }
    }

    /// Any of `alternatives`, without repetitions; `None` if there are none.
    pub(crate) fn any(alternatives: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut distinct: Vec<Self> = Vec::new();
        for alternative in alternatives {
            let parts = match alternative {
                Self::Any(parts) => parts,
                other => vec![other],
            };
            for part in parts {
                if !distinct.contains(&part) {
                    distinct.push(part);
                }
            }
        }
        if distinct.len() > 1 { Some(Self::Any(distinct)) } else { distinct.pop() }
    }

    /// All of `conditions`; `None` if there are none.
    pub(crate) fn all(conditions: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut conditions: Vec<Self> = conditions.into_iter().collect();
        if conditions.len() > 1 { Some(Self::All(conditions)) } else { conditions.pop() }
    }

    /// True if the tokens of a text match.
    #[must_use]
    pub fn matches(&self, tokens: &TokenPlaces<'_>) -> bool {
        self.is_fulfilled(&|column, phrase, is_prefix| tokens.has_phrase(column, phrase, is_prefix))
    }

    /// True if the tokens of a text match without those inside names of several parts.
    pub(crate) fn matches_plain(&self, tokens: &TokenPlaces<'_>) -> bool {
        self.is_fulfilled(&|column, phrase, is_prefix| {
            tokens.has_plain_phrase(column, phrase, is_prefix)
        })
    }

    fn is_fulfilled(&self, has_phrase: &dyn Fn(IndexColumn, &[String], bool) -> bool) -> bool {
        match self {
            Self::Phrase { column, tokens, is_prefix } => has_phrase(*column, tokens, *is_prefix),
            Self::All(conditions) => conditions.iter().all(|it| it.is_fulfilled(has_phrase)),
            Self::Any(alternatives) => alternatives.iter().any(|it| it.is_fulfilled(has_phrase)),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (items, word) = match self {
            Self::Phrase { column, tokens, is_prefix } => {
                let star = if *is_prefix { " *" } else { "" };
                return write!(out, "{} : \"{}\"{star}", column.name(), tokens.join(" "));
            }
            Self::All(conditions) => (conditions, " AND "),
            Self::Any(alternatives) => (alternatives, " OR "),
        };
        for (at, item) in items.iter().enumerate() {
            out.write_str(if at == 0 { "(" } else { word })?;
            item.fmt(out)?;
        }
        out.write_str(")")
    }
}

/// The positions of each token of a text.
#[derive(Clone, Debug)]
pub struct TokenPlaces<'t> {
    tokens: &'t IndexTokens,
    /// Places in [`IndexTokens::words`], in the order of the tokens there.
    words: Vec<usize>,
    /// The same of [`IndexTokens::pairs`].
    pairs: Vec<usize>,
    /// For each position, true for a word inside a name of several parts; missing entries are
    /// false.
    inside_names: Vec<bool>,
}

impl<'t> TokenPlaces<'t> {
    #[must_use]
    pub fn new(tokens: &'t IndexTokens) -> Self {
        Self::with_names(tokens, Vec::new())
    }

    /// Like [`Self::new`], with the flags of words inside names of several parts.
    pub(crate) fn with_names(tokens: &'t IndexTokens, inside_names: Vec<bool>) -> Self {
        let (words, pairs) = (in_order(&tokens.words), in_order(&tokens.pairs));
        Self { tokens, words, pairs, inside_names }
    }

    /// True if the text has a word that is not inside a name of several parts.
    pub(crate) fn has_plain_word(&self, word: &str) -> bool {
        self.starts(IndexColumn::Words, word, false).any(|place| self.is_plain(place))
    }

    fn has_phrase(&self, column: IndexColumn, phrase: &[String], is_prefix: bool) -> bool {
        self.places_of_phrase(column, phrase, is_prefix).next().is_some()
    }

    fn has_plain_phrase(&self, column: IndexColumn, phrase: &[String], is_prefix: bool) -> bool {
        self.places_of_phrase(column, phrase, is_prefix).any(|start| {
            column == IndexColumn::Pairs
                || (start..start + phrase.len()).all(|place| self.is_plain(place))
        })
    }

    fn is_plain(&self, place: usize) -> bool {
        !self.inside_names.get(place).is_some_and(|is_inside| *is_inside)
    }

    fn places_of_phrase<'p>(
        &'p self,
        column: IndexColumn,
        phrase: &'p [String],
        is_prefix: bool,
    ) -> impl Iterator<Item = usize> + 'p {
        let all = self.column(column);
        let first = phrase.first().map_or("", String::as_str);
        let is_only_prefix = is_prefix && phrase.len() == 1;
        self.starts(column, first, is_only_prefix).filter(move |start| {
            let Some((last, others)) = phrase.split_last() else { return false };
            all[*start..].starts_with(others)
                && all.get(start + others.len()).is_some_and(|token| {
                    token == last || is_prefix && token.starts_with(last.as_str())
                })
        })
    }

    /// The positions of a token, or of all tokens with this prefix.
    fn starts<'p>(
        &'p self,
        column: IndexColumn,
        token: &'p str,
        is_prefix: bool,
    ) -> impl Iterator<Item = usize> + 'p {
        let all = self.column(column);
        let order = match column {
            IndexColumn::Words => &self.words,
            IndexColumn::Pairs => &self.pairs,
        };
        let first = order.partition_point(|place| all[*place].as_str() < token);
        let is_meant = move |place: &usize| {
            all[*place] == token || is_prefix && all[*place].starts_with(token)
        };
        order[first..].iter().copied().take_while(is_meant)
    }

    fn column(&self, column: IndexColumn) -> &'t [String] {
        match column {
            IndexColumn::Words => &self.tokens.words,
            IndexColumn::Pairs => &self.tokens.pairs,
        }
    }
}

/// Places in the order of the tokens.
fn in_order(tokens: &[String]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order.sort_unstable_by(|one, other| tokens[*one].cmp(&tokens[*other]).then(one.cmp(other)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_for_fts5_with_every_token_quoted() {
        let both = Expression::all([
            Expression::any([Expression::word("인증"), Expression::pairs(vec!["인증".to_owned()])])
                .expect("two alternatives"),
            Expression::words_beginning(vec!["valid".to_owned(), "tok".to_owned()]),
        ]);
        let text = both.expect("two conditions").to_string();
        assert_eq!(text, r#"((words : "인증" OR pairs : "인증") AND words : "valid tok" *)"#);
    }

    #[test]
    fn phrases_stand_side_by_side() {
        let tokens = IndexTokens::of_text("validate_token of the session store");
        let places = TokenPlaces::new(&tokens);
        let phrase = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect();
        assert!(Expression::words(phrase(&["validat", "token"])).matches(&places));
        assert!(!Expression::words(phrase(&["token", "validat"])).matches(&places));
        assert!(Expression::words_beginning(phrase(&["session", "sto"])).matches(&places));
        assert!(!Expression::words(phrase(&["session", "sto"])).matches(&places));
    }
}
