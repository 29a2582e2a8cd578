//! The origins of the values in assertions: the variables of a test and their values.

use std::collections::{BTreeMap, BTreeSet};

use super::{Assertion, AssertionKind};
use crate::facts::tokens;
use crate::suite::expression::{bare, is_name};
use moai_base::limits::GUARD_VARIABLE_STEPS_MAX;
use moai_scan::syntax::SyntaxNode;

/// A variable that is given a value.
struct VariableValue<'t> {
    at: usize,
    /// Empty if several variables are assigned at once.
    value: Vec<&'t str>,
}

/// Variables by name, each with its assigned values in the order of the text.
type VariableValues<'t> = BTreeMap<&'t str, Vec<VariableValue<'t>>>;

/// Tells assertions where their values come from.
pub(in crate::suite) fn settle(assertions: &mut [Assertion], body: SyntaxNode<'_>) {
    if assertions.is_empty() {
        return;
    }
    let mut variables = VariableValues::new();
    body.walk(&mut |node| {
        if let Some((names, value)) = assignment(node) {
            let value = if names.len() == 1 { value } else { Vec::new() };
            for name in names {
                let given = VariableValue { at: node.bytes().start, value: value.clone() };
                variables.entry(name).or_default().push(given);
            }
        }
        true
    });
    for assertion in assertions {
        let start = assertion.bytes.start;
        let words: BTreeSet<&str> = assertion.text.split(' ').collect();
        let given = words.iter().filter_map(|word| variables.get(word));
        assertion.epoch = given.map(|given| given.partition_point(|it| it.at < start)).sum();
        assertion.origin = origin(&assertion.subject, &variables, start);
        let expected = match assertion.expected.as_slice() {
            [wrapper, open, value, _]
                if matches!(wrapper.as_str(), "Ok" | "Some") && open == "(" =>
            {
                std::slice::from_ref(value)
            }
            other => other,
        };
        if let [_] = expected {
            assertion.source = origin(expected, &variables, start);
        }
        // `Assert.Null(Record.Exception(() => f(1)))`: nothing was thrown, whatever the result is.
        let is_record = matches!(assertion.origin.as_slice(), [record, _, name, ..]
            if record == "Record" && name.starts_with("Exception"));
        if is_record && assertion.check == AssertionKind::Equal && assertion.expected == ["nothing"]
        {
            assertion.check = AssertionKind::Truthy;
            assertion.subject = assertion.origin.clone();
        }
    }
}

/// An expression with the value of the variable that it begins with.
fn origin(tokens: &[String], variables: &VariableValues<'_>, start: usize) -> Vec<String> {
    let (mut found, mut limit) = (tokens.to_vec(), start);
    for _ in 0..GUARD_VARIABLE_STEPS_MAX {
        let given = found.first().and_then(|first| variables.get(first.as_str()));
        let Some(given) = given else { break };
        let last = given.partition_point(|it| it.at < limit).checked_sub(1).map(|at| &given[at]);
        let Some(last) = last.filter(|it| !it.value.is_empty()) else { break };
        found.splice(..1, bare(&last.value).iter().map(|it| (*it).to_owned()));
        limit = last.at;
    }
    found
}

/// The names that a node assigns to, and the value.
fn assignment(node: SyntaxNode<'_>) -> Option<(Vec<&str>, Vec<&str>)> {
    let (target, value) = match node.kind() {
        "assignment"
        | "assignment_expression"
        | "short_var_declaration"
        | "assignment_statement" => (node.field("left")?, node.field("right")),
        "let_declaration" => (node.field("pattern")?, node.field("value")),
        "variable_declarator" => {
            let name = node.field("name")?;
            // C# has its value behind the name, in no field.
            let last = node.named_children().pop().filter(|last| *last != name);
            (name, node.field("value").or(last))
        }
        _ => return None,
    };
    let names = tokens(target).into_iter().filter(|it| is_name(it) && *it != "mut").collect();
    Some((names, value.map(tokens).unwrap_or_default()))
}
