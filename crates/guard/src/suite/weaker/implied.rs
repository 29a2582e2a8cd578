//! Removed assertions that others imply: a comparison of the whole covers its parts.

use super::borrowed;
use super::strength::says_no_error;
use crate::suite::SuiteChange;
use crate::suite::assertions::{Assertion, AssertionKind};
use crate::suite::expression::{
    TokenSlice, is_literal, is_name, is_null_literal, is_size, is_truth, number, part_count,
};
use crate::suite::inventory::TestCase;

/// The current assertions of a test.
pub(super) struct CurrentAssertions<'a> {
    /// Each with the path of its actual value.
    assertions: Vec<(&'a Assertion, Vec<&'a str>)>,
    known: Vec<&'a str>,
    tokens: &'a [&'a str],
    /// True if the test awaits more than before, so that an error ends it.
    awaits_more: bool,
    /// True if code outside tests warns less.
    warns_less: bool,
}

impl<'a> CurrentAssertions<'a> {
    pub(super) fn new(
        before: &'a TestCase<'_>,
        after: &'a TestCase<'_>,
        suite: &SuiteChange<'_>,
    ) -> Self {
        let awaits =
            |test: &TestCase<'_>| test.tokens.iter().filter(|token| **token == "await").count();
        let real = after.assertions.iter().filter(|it| !it.is_vacuous);
        Self {
            assertions: real.map(|it| (it, path(&it.origin))).collect(),
            tokens: &after.tokens,
            known: before.assertions.iter().map(|it| it.text.as_str()).collect(),
            awaits_more: awaits(after) > awaits(before),
            warns_less: suite.warns_less,
        }
    }

    /// Implication of a removed assertion by others; `Some(true)`: by a new comparison.
    pub(super) fn implies(&self, gone: &Assertion) -> Option<bool> {
        let says_warning = || gone.expected.iter().any(|token| token.ends_with("Warning"));
        if (self.awaits_more && says_no_error(gone))
            || (self.warns_less && gone.check == AssertionKind::Raises && says_warning())
        {
            return Some(false);
        }
        let own = path(&gone.origin);
        let of_whole = self.assertions.iter().find(|(it, all)| holds((it, all), (gone, &own)));
        if let Some((whole, _)) = of_whole {
            return Some(!self.known.contains(&whole.text.as_str()));
        }
        if self.uses(gone) {
            return Some(false);
        }
        let is_of_call = asks_for_calls(&plain(gone));
        let is_slight = |(it, all): &&(&Assertion, Vec<&str>)| {
            implies_presence((it, all), (gone, &own))
                || implies_size((it, all), gone)
                || (is_of_call && implies_call(it, gone))
        };
        self.assertions.iter().find(is_slight).map(|_| false)
    }

    /// True if the test uses the value, so that it must exist.
    fn uses(&self, gone: &Assertion) -> bool {
        let [name] = gone.subject.as_slice() else { return false };
        let is_presence = gone.check == AssertionKind::Truthy && is_of_nothing(gone);
        is_presence && self.tokens.windows(2).any(|two| two[0] == name.as_str() && two[1] == ".")
    }
}

/// True if an assertion expects null or its equivalent.
fn is_of_nothing(assertion: &Assertion) -> bool {
    matches!(assertion.expected.as_slice(), [value] if value == "nothing" || is_null_literal(value))
}

/// The normalized origin of a value, without mere accessors.
fn path(origin: &[String]) -> Vec<&str> {
    let mut path: Vec<&str> = Vec::new();
    for token in origin {
        match token.as_str() {
            "?" | "await" => {}
            "?." => path.push("."),
            "!" if path.last().is_some_and(|last| is_name(last) || *last == ")") => {}
            other => path.push(other),
        }
        if path.ends_with(&[".", "unwrap", "(", ")"]) {
            path.truncate(path.len() - 4);
        }
    }
    path
}

/// True if an assertion compares the same value as another one, alone or as a part of the whole.
fn holds((whole, all): (&Assertion, &[&str]), (part, own): (&Assertion, &[&str])) -> bool {
    if all.is_empty() || own.is_empty() {
        return false;
    }
    let (values, value) = (borrowed(&whole.source), borrowed(&part.expected));
    match (whole.check, part.check) {
        (
            AssertionKind::Snapshot,
            AssertionKind::Equal | AssertionKind::Close | AssertionKind::Partial,
        ) => own.starts_with(all),
        (
            AssertionKind::Equal | AssertionKind::Close,
            AssertionKind::Equal | AssertionKind::Close,
        ) => {
            let is_inside = !value.is_empty()
                && values.len() >= value.len()
                && values.windows(value.len()).any(|it| it == value);
            let is_same = own == all && values == value;
            is_same || (is_inside && part.origin != whole.origin && own.starts_with(all))
        }
        (AssertionKind::Equal, AssertionKind::Partial) => {
            // `"c" not in r` has its subject behind.
            let is_same = own == all || path(&part.expected) == path(&whole.subject);
            is_same && is_literal(&values) && part_count(&values) > 1
        }
        _ => false,
    }
}

/// True if a value must exist because a part of it is read, or because it is compared.
fn implies_presence(
    (other, target): (&Assertion, &[&str]),
    (gone, all): (&Assertion, &[&str]),
) -> bool {
    let is_of_nothing = is_of_nothing(gone);
    if gone.check != AssertionKind::Truthy || !(gone.expected.is_empty() || is_of_nothing) {
        return false;
    }
    let named =
        [[".", "is_some", "(", ")"], [".", "is_ok", "(", ")"], [".", "isPresent", "(", ")"]];
    let own = named.iter().find_map(|end| all.strip_suffix(end)).unwrap_or(all);
    let is_plain =
        own.iter().all(|token| !matches!(*token, "<" | ">" | "==" | "!=" | "and" | "or"));
    // A call may have any result: `assert user.may_buy()`.
    let is_answer = own.len() == all.len() && !is_of_nothing && own.last() == Some(&")");
    if own.is_empty() || !is_plain || is_answer || !target.starts_with(own) {
        return false;
    }
    let asks_nothing = other.check == AssertionKind::Falsy
        || other.expected.iter().any(|it| it == "nothing" || is_null_literal(it));
    let reads = target.get(own.len()).is_some_and(|next| matches!(*next, "." | "["));
    let is_strong = other.check.strength().is_some_and(|strength| strength >= 3);
    (reads || is_strong) && !asks_nothing
}

/// True if a size or type is known because the whole is compared.
fn implies_size((other, all): (&Assertion, &[&str]), gone: &Assertion) -> bool {
    let subject = borrowed(&gone.origin);
    let is_shape = gone.check == AssertionKind::Shape;
    if other.check != AssertionKind::Equal || !(is_shape || is_size(&subject)) {
        return false;
    }
    let values = borrowed(&other.expected);
    let is_whole = values.len() > 1 || other.text.contains("singleElement");
    let inner = match subject.as_slice() {
        ["len", "(", inner @ .., ")"] => inner,
        other => other,
    };
    let own = path_of(inner);
    let is_of_same = !all.is_empty() && own.starts_with(all) && own.len() <= all.len() + 4;
    let size = number(&borrowed(&gone.expected));
    let parts = u32::try_from(part_count(&values)).map(f64::from).ok();
    is_whole && (is_of_same || (size == parts && matches!(values.as_slice(), ["[", ..])))
}

fn path_of<'t>(tokens: TokenSlice<'_, 't>) -> Vec<&'t str> {
    tokens.iter().copied().filter(|it| !matches!(*it, "?" | "await")).collect()
}

/// The text of an assertion in one form for all ways to write names.
fn plain(assertion: &Assertion) -> String {
    assertion.text.to_lowercase().replace('_', "")
}

fn asks_for_calls(plain: &str) -> bool {
    ["called", "callcount", "awaited", "verify"].iter().any(|word| plain.contains(word))
}

/// True if another assertion covers a call with its arguments.
fn implies_call(other: &Assertion, gone: &Assertion) -> bool {
    let (new, old) = (plain(other), plain(gone));
    let lists_calls = new.contains("mock . calls") || new.contains("calls ==");
    let is_once = new.contains("oncewith");
    if !(asks_for_calls(&new) || lists_calls) {
        return false;
    }
    let (own, all) = (mocked(&gone.subject), mocked(&other.subject));
    let (value, values) = (borrowed(&gone.expected), borrowed(&other.expected));
    let has_values = old.contains("calledwith") || old.contains("oncewith");
    let is_known = if has_values {
        (is_once || lists_calls) && values.windows(value.len().max(1)).any(|it| it == value)
    } else if gone.check == AssertionKind::Called {
        true
    } else {
        // How often: `toHaveBeenCalledTimes(1)`, `call_count == 1`.
        lists_calls || (is_once && number(&value) == Some(1.0))
    };
    !own.is_empty() && own == all && is_known && value.iter().all(|it| is_truth(it) != Some(false))
}

/// The mock that is asked how it was called.
fn mocked(subject: &[String]) -> &[String] {
    let is_count = |name: &str| matches!(name, "call_count" | "callCount" | "called" | "mock");
    let end = subject.windows(2).position(|two| two[0] == "." && is_count(&two[1]));
    &subject[..end.unwrap_or(subject.len())]
}
