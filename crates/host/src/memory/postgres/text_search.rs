//! Tokens and questions in the text forms of PostgreSQL's `tsvector` and `tsquery`. Every token is
//! quoted, so nothing of a text is ever read as syntax.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use moai_memory::expression::{Expression, IndexColumn};
use moai_memory::tokens::IndexTokens;

/// Begins the lexeme of a pair; no token has this character.
const PAIR_MARK: &str = "~";
/// Positions that PostgreSQL keeps of one lexeme.
const POSITIONS_PER_LEXEME_MAX: usize = 255;
/// Tokens of alternatives that are one `tsquery`.
const TOKENS_PER_QUERY_MAX: usize = 24;

/// The tokens as a `tsvector`: words at positions from 1 on, then the marked pairs.
pub(super) fn vector_text(tokens: &IndexTokens) -> String {
    let words = tokens.words.iter().map(|word| lexeme(IndexColumn::Words, word));
    let pairs = tokens.pairs.iter().map(|pair| lexeme(IndexColumn::Pairs, pair));
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, lexeme) in words.chain(pairs).enumerate() {
        let positions = places.entry(lexeme).or_default();
        if positions.len() < POSITIONS_PER_LEXEME_MAX {
            positions.push(at + 1);
        }
    }
    let mut text = String::new();
    for (lexeme, positions) in places {
        let positions: Vec<String> = positions.iter().map(usize::to_string).collect();
        let _ = write!(text, "{}:{} ", quoted(&lexeme), positions.join(","));
    }
    text
}

/// The expression as `tsquery`s of which one must be fulfilled. The index evaluates a long one as a
/// whole for each row that has any of its lexemes; it answers many short ones faster.
pub(super) fn questions(expression: &Expression) -> Vec<String> {
    match expression {
        Expression::Any(alternatives) if tokens(expression) > TOKENS_PER_QUERY_MAX => {
            alternatives.iter().map(query_text).collect()
        }
        other => vec![query_text(other)],
    }
}

fn tokens(expression: &Expression) -> usize {
    match expression {
        Expression::Phrase { tokens, .. } => tokens.len(),
        Expression::All(parts) | Expression::Any(parts) => parts.iter().map(tokens).sum(),
    }
}

/// The expression as a `tsquery`.
fn query_text(expression: &Expression) -> String {
    let (items, operator) = match expression {
        Expression::Phrase { column, tokens, is_prefix } => {
            return phrase_text(*column, tokens, *is_prefix);
        }
        Expression::All(conditions) => (conditions, " & "),
        Expression::Any(alternatives) => (alternatives, " | "),
    };
    let items: Vec<String> = items.iter().map(query_text).collect();
    format!("({})", items.join(operator))
}

fn phrase_text(column: IndexColumn, tokens: &[String], is_prefix: bool) -> String {
    let lexemes: Vec<String> = tokens.iter().map(|token| quoted(&lexeme(column, token))).collect();
    let star = if is_prefix { ":*" } else { "" };
    format!("({}{star})", lexemes.join(" <-> "))
}

fn lexeme(column: IndexColumn, token: &str) -> String {
    match column {
        IndexColumn::Words => token.to_owned(),
        IndexColumn::Pairs => format!("{PAIR_MARK}{token}"),
    }
}

/// A quoted lexeme; a zero byte ends a text of PostgreSQL.
fn quoted(lexeme: &str) -> String {
    let escaped = lexeme.replace('\\', "\\\\").replace('\'', "''").replace('\0', "");
    format!("'{escaped}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phrase(column: IndexColumn, tokens: &[&str], is_prefix: bool) -> Expression {
        let tokens = tokens.iter().map(|it| (*it).to_owned()).collect();
        Expression::Phrase { column, tokens, is_prefix }
    }

    #[test]
    fn tokens_keep_their_places_and_pairs_are_marked() {
        let tokens = IndexTokens {
            words: vec!["token".to_owned(), "인증".to_owned(), "token".to_owned()],
            pairs: vec!["인증".to_owned()],
        };
        assert_eq!(vector_text(&tokens), "'token':1,3 '~인증':4 '인증':2 ");
        assert_eq!(vector_text(&IndexTokens::default()), "");
    }

    #[test]
    fn a_frequent_token_keeps_as_many_places_as_the_server() {
        let tokens = IndexTokens { words: vec!["a".to_owned(); 1_000], pairs: Vec::new() };
        assert_eq!(vector_text(&tokens).matches(',').count(), POSITIONS_PER_LEXEME_MAX - 1);
    }

    #[test]
    fn questions_are_quoted() {
        let question = Expression::All(vec![
            Expression::Any(vec![
                phrase(IndexColumn::Words, &["valid", "tok"], true),
                phrase(IndexColumn::Pairs, &["인증", "증토"], false),
            ]),
            phrase(IndexColumn::Words, &["o'neil\\ | !x"], false),
        ]);
        assert_eq!(
            query_text(&question),
            r"((('valid' <-> 'tok':*) | ('~인증' <-> '~증토')) & ('o''neil\\ | !x'))"
        );
    }

    #[test]
    fn many_alternatives_are_asked_for_one_by_one() {
        let word = |at: usize| phrase(IndexColumn::Words, &[&format!("w{at}")], false);
        let short = Expression::Any(vec![word(1), word(2)]);
        assert_eq!(questions(&short), ["(('w1') | ('w2'))"]);
        let long = Expression::Any((0..30).map(word).collect());
        assert_eq!((questions(&long).len(), questions(&long)[29].as_str()), (30, "('w29')"));
        let both = Expression::All(vec![short, long]);
        assert_eq!(questions(&both).len(), 1);
    }
}
