//! Expressions as tokens, which are similar enough in all languages: arguments, comparisons,
//! literals.

/// Tokens of a part of the code; a string is one token.
pub(super) type TokenSlice<'a, 't> = &'a [&'t str];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparisonKind {
    Equal,
    Unequal,
    Ordered,
    Contained,
}

/// Words for expressions that are compared with each other.
pub(super) fn joined(tokens: TokenSlice<'_, '_>) -> String {
    tokens.join(" ")
}

/// The parts between separators outside all brackets; no part is empty.
pub(super) fn split<'a, 't>(
    tokens: TokenSlice<'a, 't>,
    is_separator: impl Fn(&str) -> bool,
) -> Vec<TokenSlice<'a, 't>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for at in top_level(tokens) {
        if is_separator(tokens[at]) {
            parts.push(&tokens[start..at]);
            start = at + 1;
        }
    }
    parts.push(&tokens[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The places of the tokens outside all brackets, brackets left out.
fn top_level(tokens: TokenSlice<'_, '_>) -> Vec<usize> {
    let (mut depth, mut places) = (0_usize, Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ if depth == 0 => places.push(at),
            _ => {}
        }
    }
    places
}

/// Without brackets around the whole, `await`, and references.
pub(super) fn bare<'a, 't>(mut tokens: TokenSlice<'a, 't>) -> TokenSlice<'a, 't> {
    loop {
        tokens = match tokens {
            ["await" | "&", rest @ ..] => rest,
            ["(", inner @ .., ")"] if closes_at_end(inner) => inner,
            _ => return tokens,
        };
    }
}

/// True if no bracket opened before closes inside.
fn closes_at_end(inner: TokenSlice<'_, '_>) -> bool {
    let mut depth = 0_i32;
    inner.iter().all(|token| {
        depth += match *token {
            "(" | "[" | "{" => 1,
            ")" | "]" | "}" => -1,
            _ => 0,
        };
        depth >= 0
    })
}

/// The sides of a comparison at the top level.
pub(super) fn comparison<'a, 't>(
    tokens: TokenSlice<'a, 't>,
) -> Option<(TokenSlice<'a, 't>, ComparisonKind, TokenSlice<'a, 't>)> {
    top_level(tokens).into_iter().find_map(|at| {
        let behind = tokens.get(at + 1).copied();
        let words: Vec<&str> = tokens[at].split_whitespace().collect();
        let (relation, length) = match (words.as_slice(), behind) {
            (["is"], Some("not")) => (ComparisonKind::Unequal, 2),
            (["not"], Some("in")) if at > 0 => (ComparisonKind::Contained, 2),
            (["==" | "===" | "is"], _) => (ComparisonKind::Equal, 1),
            (["!=" | "!==" | "<>"] | ["is", "not"], _) => (ComparisonKind::Unequal, 1),
            (["in"] | ["not", "in"], _) => (ComparisonKind::Contained, 1),
            (["<" | "<=" | ">" | ">="], _) => (ComparisonKind::Ordered, 1),
            _ => return None,
        };
        let (left, right) = (tokens.get(..at)?, tokens.get(at + length..)?);
        (!left.is_empty() && !right.is_empty()).then_some((left, relation, right))
    })
}

/// True if the value is written in the code: a number, a string, a word such as `null`, or a
/// collection of such values.
pub(super) fn is_literal(tokens: TokenSlice<'_, '_>) -> bool {
    let is_mark =
        |token: &str| matches!(token, "-" | "[" | "]" | "{" | "}" | "(" | ")" | "," | ":");
    let is_key = |at: usize| is_name(tokens[at]) && tokens.get(at + 1) == Some(&":");
    let is_part = |at: usize| is_value(tokens[at]) || is_mark(tokens[at]) || is_key(at);
    (0..tokens.len()).all(is_part)
        && tokens.iter().any(|token| is_value(token) || matches!(*token, "[" | "{" | "("))
}

/// True if one token is a literal value.
pub(super) fn is_value(token: &str) -> bool {
    let starts = |marks: &[char]| token.starts_with(marks);
    starts(&['"', '\'', '`']) && token.len() > 1
        || token.starts_with(|first: char| first.is_ascii_digit())
        || is_prefixed_string(token)
        || is_truth(token).is_some()
        || is_null_literal(token)
}

/// `r"…"`, `b'…'`, `f"…"`, `$"…"`, `@"…"` and the like; an f-string counts, its text is mostly
/// fixed.
fn is_prefixed_string(token: &str) -> bool {
    let rest = token.trim_start_matches(|first: char| "rbfuRBFU$@#c".contains(first));
    token.len() - rest.len() <= 4 && rest.len() < token.len() && rest.starts_with(['"', '\''])
}

pub(super) fn is_truth(token: &str) -> Option<bool> {
    match token {
        "true" | "True" => Some(true),
        "false" | "False" => Some(false),
        _ => None,
    }
}

/// True if a token is the null value of its language.
pub(super) fn is_null_literal(token: &str) -> bool {
    matches!(token, "None" | "null" | "nil" | "undefined")
}

/// True if a token is a name.
pub(super) fn is_name(token: &str) -> bool {
    let mut letters = token.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_' || first == '@')
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
        && is_truth(token).is_none()
        && !is_null_literal(token)
}

/// Number of values in a literal; at least one.
pub(super) fn value_count(tokens: TokenSlice<'_, '_>) -> usize {
    let keys = tokens.windows(2).filter(|pair| is_value(pair[0]) && pair[1] == ":").count();
    (tokens.iter().filter(|token| is_value(token)).count() - keys).max(1)
}

/// Number of elements of a collection at its top level; at least one.
pub(super) fn part_count(tokens: TokenSlice<'_, '_>) -> usize {
    let Some(start) = tokens.iter().position(|it| matches!(*it, "[" | "{" | "(")) else { return 1 };
    let inner = tokens.get(start + 1..tokens.len() - 1).unwrap_or_default();
    split(inner, |token| token == ",").len().max(1)
}

/// The form without its literals and variables: only calls and comparisons. A literal list, a field
/// and a variable all count as one value.
pub(super) fn shape(tokens: TokenSlice<'_, '_>) -> String {
    let mut shape: Vec<&str> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_called = tokens.get(at + 1) == Some(&"(") || tokens.get(at + 1) == Some(&"!");
        let is_free = is_value(token) || (is_name(token) && !is_called);
        shape.push(if is_free { "_" } else { token });
        while fold(&mut shape) {}
    }
    shape.join(" ")
}

/// Reduces the end of a form to one value, if it is one.
fn fold(shape: &mut Vec<&str>) -> bool {
    match shape.as_slice() {
        [.., "_", "." | "::" | "_", "_"] => shape.truncate(shape.len() - 2),
        [.., before, "-" | "&" | "*", "_"] if *before != "_" && *before != ")" => {
            shape.truncate(shape.len() - 2);
            shape.push("_");
        }
        [.., close @ ("]" | "}" | ")")] => {
            let open = match *close {
                "]" => "[",
                "}" => "{",
                _ => "(",
            };
            let inner = shape[..shape.len() - 1].iter().rposition(|it| *it == open);
            let Some(start) = inner else { return false };
            let is_plain = |it: &&str| matches!(*it, "_" | "," | ":");
            let before = start.checked_sub(1).map(|at| shape[at]);
            let is_call =
                before.is_some_and(|it| is_name(it) && it != "_" || it == ")" || it == "!");
            if is_call || !shape[start + 1..shape.len() - 1].iter().all(is_plain) {
                return false;
            }
            shape.truncate(start);
            shape.push("_");
        }
        _ => return false,
    }
    true
}

/// The text inside the quotes of a string literal.
pub(super) fn unquoted(token: &str) -> &str {
    token
        .trim_start_matches(|first: char| "rbfuRBFU$@#c".contains(first))
        .trim_end_matches('#')
        .trim_matches(['"', '\'', '`', '/'])
}

pub(super) fn number(tokens: TokenSlice<'_, '_>) -> Option<f64> {
    let text: String = tokens.concat().replace('_', "");
    let digits = text.trim_end_matches(|last: char| "fFdDmML".contains(last));
    digits.parse().ok()
}

/// True if the tokens are a size, which is never negative.
pub(super) fn is_size(tokens: TokenSlice<'_, '_>) -> bool {
    matches!(tokens, ["len", "(", ..] | [.., ".", "length" | "Length" | "Count" | "size"])
        || matches!(tokens, [.., ".", "len" | "size" | "length" | "Count", "(", ")"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<&str> {
        text.split(' ').collect()
    }

    #[test]
    fn comparisons_are_found_outside_brackets() {
        let check = |text: &str, expected: Option<(&str, ComparisonKind, &str)>| {
            let tokens = tokens(text);
            let found = comparison(&tokens).map(|(a, it, b)| (joined(a), it, joined(b)));
            assert_eq!(found, expected.map(|(a, it, b)| (a.into(), it, b.into())), "{text}");
        };
        check("f ( a == b ) == 1", Some(("f ( a == b )", ComparisonKind::Equal, "1")));
        check("x is not None", Some(("x", ComparisonKind::Unequal, "None")));
        check("k not in d", Some(("k", ComparisonKind::Contained, "d")));
        check("f ( a == b )", None);
    }

    #[test]
    fn literals_and_shapes() {
        for literal in ["1", "- 1", "\"a\"", "[ 1 , 2 ]", "{ 'a' : None }", "b'x'", "1.5f"] {
            assert!(is_literal(&tokens(literal)), "{literal}");
        }
        for other in ["a", "f ( 1 )", "[ a ]", "-"] {
            assert!(!is_literal(&tokens(other)), "{other}");
        }
        assert_eq!(value_count(&tokens("{ 'a' : 1 , 'b' : 2 }")), 2);
        assert_eq!(part_count(&tokens("[ a , f ( b , c ) ]")), 2);
        assert_eq!(shape(&tokens("add ( 1 , 2 ) == 3")), shape(&tokens("add ( a , b ) == sum")));
        assert_eq!(number(&tokens("- 1_000.5")), Some(-1000.5));
        assert_eq!(joined(bare(&tokens("( ( a ) + ( b ) )"))), "( a ) + ( b )");
    }
}
