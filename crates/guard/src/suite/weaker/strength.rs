//! Compares the strength of two assertions about the same subject.

use crate::Detection;
use crate::suite::assertions::{Assertion, AssertionKind};
use crate::suite::expression::{is_null_literal, is_size, is_value, unquoted};
use crate::suite::hit;
use crate::suite::inventory::TestCase;
use crate::suite::words::{is_base_error, is_wildcard};
use moai_base::finding::Severity;

use super::borrowed;

/// A tolerance below it is one for rounding.
const ROUNDING: f64 = 1e-6;

/// True if the test still compares the same values and asserts the result.
pub(super) fn still_compares(one: &Assertion, two: &Assertion, after: &TestCase<'_>) -> bool {
    let mut whole = borrowed(&one.subject);
    whole.push("==");
    whole.extend(borrowed(&one.expected));
    let is_there = || after.tokens.windows(whole.len()).any(|window| window == whole);
    // `a == 1 or a == 2` accepts another value as well.
    let is_one_of_two = two.text.contains(&whole.join(" "))
        && two.text.split(' ').any(|token| matches!(token, "or" | "||"));
    one.check == AssertionKind::Equal && !is_one_of_two && is_there()
        || asks_for_message(one, two, after)
}

/// True if the message of the same exception is compared after it was caught.
fn asks_for_message(one: &Assertion, two: &Assertion, after: &TestCase<'_>) -> bool {
    let mut halves = one.expected.split(|token| token == "matching");
    let (class, message) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    let Some(message) = message.last().map(|it| unquoted(it)).filter(|it| !it.is_empty()) else {
        return false;
    };
    let compares = |it: &Assertion| {
        let is_of_caught = it.subject.iter().any(|it| matches!(it.as_str(), "exception" | "value"));
        let is_whole = matches!(it.check, AssertionKind::Equal | AssertionKind::Partial);
        let says = it.expected.iter().any(|it| is_value(it) && unquoted(it).contains(message));
        is_of_caught && is_whole && says && !it.text.contains(" not in ")
    };
    one.check == AssertionKind::Raises
        && two.check == AssertionKind::Raises
        && class == two.expected
        && after.assertions.iter().any(compares)
}

pub(super) fn is_weaker(one: &Assertion, two: &Assertion) -> bool {
    if says_no_error(one) {
        return false;
    }
    let is_slight = two.check.strength().is_some_and(|strength| strength <= 2);
    match (one.check, two.check) {
        (AssertionKind::Custom | AssertionKind::State, _) => {
            is_slight && !one.expected.is_empty() && one.subject == two.subject
        }
        (AssertionKind::Equal, AssertionKind::Equal) => {
            compares_with_itself(one, two) || forgets_values(one, two)
        }
        (AssertionKind::Partial, AssertionKind::Truthy) => !differs_in_part(one, two),
        (AssertionKind::Equal, AssertionKind::Shape) => {
            !is_same_size(one, two) && !is_same_type(one, two)
        }
        (AssertionKind::Raises, AssertionKind::Raises) => is_broader(one, two),
        (AssertionKind::Close, AssertionKind::Close) => {
            let (old, new) = (one.tolerance.unwrap_or(ROUNDING), two.tolerance.unwrap_or(ROUNDING));
            new > old.max(ROUNDING) * 1.000_001
        }
        (AssertionKind::Equal, AssertionKind::Close) => {
            let is_fraction = [one, two].iter().any(|it| it.expected.concat().contains('.'));
            !(is_fraction && two.tolerance.is_none_or(|it| it <= 0.005))
        }
        (AssertionKind::Equal, AssertionKind::Truthy) => !is_contrary(one, two),
        (AssertionKind::Equal, AssertionKind::Falsy) => !is_hollow(&one.expected),
        (old, new) => old.strength().zip(new.strength()).is_some_and(|(old, new)| new < old),
    }
}

/// True if it only asserts the absence of an error: `t.error(err)`, `NoError(err)`.
pub(super) fn says_no_error(one: &Assertion) -> bool {
    let last = one.subject.last().map(|it| it.to_lowercase()).unwrap_or_default();
    let is_error = last.starts_with("err") || last.ends_with("err") || last.ends_with("error");
    let is_none =
        matches!(one.expected.as_slice(), [value] if value == "nothing" || is_null_literal(value));
    one.check == AssertionKind::Equal && is_error && is_none
}

/// True if a value is now compared with itself instead of an independent one.
fn compares_with_itself(one: &Assertion, two: &Assertion) -> bool {
    let is_self = |it: &Assertion| {
        !it.subject.is_empty() && (it.subject == it.expected || it.origin == it.source)
    };
    is_self(two) && !is_self(one)
}

/// True if only the fact of a call is asserted now, and no longer its arguments.
fn forgets_values(one: &Assertion, two: &Assertion) -> bool {
    if two.expected != ["1"] {
        return false;
    }
    let plain = |it: &Assertion| it.text.to_lowercase().replace('_', "");
    let asks_values = |text: &str| text.contains("calledwith") || text.contains("oncewith");
    let (old, new) = (plain(one), plain(two));
    let is_count = new.contains("calledonce") || new.contains("awaitedonce");
    is_count && asks_values(&old) && !asks_values(&new)
}

/// True if both check the same type: `type(x) == T`, `isinstance(x, T)`.
fn is_same_type(one: &Assertion, two: &Assertion) -> bool {
    matches!(borrowed(&one.subject).as_slice(), ["type", "(", inner @ .., ")"] if inner == two.subject)
        && one.expected == two.expected
}

/// True if a value is expected to exist that was expected to be absent.
fn is_contrary(one: &Assertion, two: &Assertion) -> bool {
    let says_nothing = |it: &Assertion| matches!(it.expected.as_slice(), [value] if value == "nothing" || is_null_literal(value));
    says_nothing(one) && says_nothing(two) && one.subject == two.subject
}

/// True if a negative check of a value became one of its part: `notEqual(headers.vary, "x")`.
fn differs_in_part(one: &Assertion, two: &Assertion) -> bool {
    let is_part = two.subject.len() > one.subject.len() && two.subject.starts_with(&one.subject);
    is_part && !two.expected.is_empty()
}

/// True if both assert the same size.
fn is_same_size(one: &Assertion, two: &Assertion) -> bool {
    let is_number = two.expected.is_empty() || one.expected == two.expected;
    is_number && is_size(&borrowed(&one.subject))
}

/// True if an exception's message is checked that was not before.
pub(super) fn gains_message(one: &Assertion, two: &Assertion) -> bool {
    let has = |it: &Assertion| it.expected.iter().any(|token| token == "matching");
    one.check == AssertionKind::Raises
        && two.check == AssertionKind::Raises
        && has(two)
        && !has(one)
}

/// G04, too: a test that still has its assertions, but passes when one of them fails.
pub(super) fn inverted(before: &TestCase<'_>, after: &TestCase<'_>) -> Option<Detection> {
    let is_mark = |it: &&Assertion| it.text.starts_with("# [ should_panic");
    let mark = after.assertions.iter().find(is_mark)?;
    let real =
        before.assertions.iter().filter(|it| !it.is_vacuous && it.check != AssertionKind::Custom);
    let stands = |it: &Assertion| after.assertions.iter().any(|other| other.text == it.text);
    let was_there = before.assertions.iter().any(|it| is_mark(&it));
    let is_inverted = !was_there && real.clone().count() > 0 && real.clone().all(stands);
    let message = format!(
        "test `{}` passes when one of its assertions fails (`{}`); take it back",
        after.name, mark.text
    );
    is_inverted.then(|| Detection {
        bytes: mark.bytes.clone(),
        anchor: format!("{} {}", after.name, mark.text),
        ..hit("G04", Severity::Error, after, &message)
    })
}

/// True if an expected value is an empty one, which counts as false as well.
fn is_hollow(expected: &[String]) -> bool {
    let plain = expected.concat();
    matches!(
        plain.as_str(),
        "0" | "[]"
            | "{}"
            | "()"
            | "\"\""
            | "''"
            | "set()"
            | "list()"
            | "dict()"
            | "nothing"
            | "None"
            | "0.0"
            | "null"
            | "nil"
            | "undefined"
            | "is_empty"
            | "is_none"
            | "isEmpty"
    )
}

/// True if a more general exception is accepted, or its message is no longer checked.
fn is_broader(one: &Assertion, two: &Assertion) -> bool {
    let parts = |tokens: &[String]| -> (String, bool) {
        let mut halves = tokens.split(|token| token == "matching");
        let class = halves.next().unwrap_or_default().concat().replace('.', "");
        let message = halves.next().unwrap_or_default();
        (class, message.last().is_some_and(|message| !is_wildcard(message)))
    };
    let ((old, said), (new, says)) = (parts(&one.expected), parts(&two.expected));
    let is_base = |class: &str| class.is_empty() || is_base_error(class);
    let is_one_of = |class: &str, several: &str| {
        let inner = several.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
        inner.is_some_and(|it| it.split(',').any(|it| it == class))
    };
    let is_wider =
        old != new && !old.is_empty() && is_one_of(&old, &new) && new != format!("({old},)");
    (said && !says && old == new) || (!is_base(&old) && is_base(&new)) || is_wider
}
