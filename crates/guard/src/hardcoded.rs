//! G08: hard-coded answers to the tests' inputs. A condition on a literal that yields another
//! literal, both of which occur in tests, is one pair; common literals do not count.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{ParsedFiles, SourceSide, is_comment, is_number, is_string};
use super::new_occurrences::{NewOccurrence, NodeOccurrence, new_occurrences};
use super::{Detection, GuardInput};
use moai_base::finding::Severity;
use moai_base::limits::RARE_TEXT_CHARS_MIN;
use moai_base::path::RelPath;
use moai_scan::syntax::SyntaxNode;

const CODE: &str = "G08";

/// Number of pairs in one function that cannot be coincidence.
const PAIRS_BLOCKING: usize = 2;

/// Consecutive lower-case letters that make a text prose.
const PROSE_LETTERS_MIN: usize = 3;

/// Numbers that occur in every program.
const COMMON: &[&str] = &[
    "0", "1", "2", "10", "100", "-1", "0.0", "1.0", "2.0", "0.5", "1000", "60", "24", "3600",
    "1024",
];

pub(super) fn hardcoded_hits(_: &GuardInput<'_>, files: &ParsedFiles<'_>) -> Vec<Detection> {
    let known = literals_in_tests(files);
    if known.is_empty() {
        return Vec::new();
    }
    let mut by_function: BTreeMap<(String, String), Vec<Detection>> = BTreeMap::new();
    let mut tables: BTreeMap<RelPath, Vec<NewOccurrence<'_, '_>>> = BTreeMap::new();
    for new in new_occurrences(files, |side| pairs(side, &known)) {
        let node = new.occurrence.node;
        let Some(function) = new.side.function_at(node) else {
            tables.entry(new.file.change.path.clone()).or_default().push(new);
            continue;
        };
        let hit = Detection {
            code: CODE,
            severity: Severity::Warning,
            path: new.file.change.path.clone(),
            bytes: node.bytes(),
            message: format!(
                "{} occurs in a test, and its expected result is hard-coded here: compute it",
                new.occurrence.key
            ),
            anchor: format!("{} {}", function.name, new.occurrence.key),
        };
        let place = (new.file.change.path.as_str().to_owned(), function.name.clone());
        by_function.entry(place).or_default().push(hit);
    }
    let graded = by_function.into_values().flat_map(|hits| {
        let severity =
            if hits.len() >= PAIRS_BLOCKING { Severity::Error } else { Severity::Warning };
        hits.into_iter().map(move |hit| Detection { severity, ..hit })
    });
    graded.chain(tables.into_values().flat_map(|news| answered(&news))).collect()
}

/// Lookup tables of one file, outside its functions, that contain only inputs of tests and that a
/// function consults before it computes.
fn answered(news: &[NewOccurrence<'_, '_>]) -> Vec<Detection> {
    let mut hits: Vec<Detection> = Vec::new();
    for new in news {
        let Some(table) = new.occurrence.node.parent() else { continue };
        let entries = table.named_children().into_iter().filter(|it| !is_comment(*it)).count();
        let own = news.iter().filter(|it| it.occurrence.node.parent() == Some(table)).count();
        let named = table.parent().and_then(|it| it.field("name").or_else(|| it.field("left")));
        let Some(name) = named.filter(|_| own == entries && own >= PAIRS_BLOCKING) else {
            continue;
        };
        let name = name.text();
        if hits.iter().any(|hit| hit.anchor == name) || !is_looked_up(new, name) {
            continue;
        }
        hits.push(Detection {
            code: CODE,
            severity: Severity::Warning,
            path: new.file.change.path.clone(),
            bytes: table.bytes(),
            message: format!("`{name}` contains the results that tests expect: compute them"),
            anchor: name.to_owned(),
        });
    }
    hits
}

/// True if a function that existed before consults the table first and computes otherwise.
fn is_looked_up(new: &NewOccurrence<'_, '_>, name: &str) -> bool {
    let forms = [format!("in {name}:"), format!("in {name})"), format!("{name}[")];
    new.side.functions.iter().any(|function| {
        let text = function.body.text();
        let asks = text.contains(&forms[0]) || text.contains(&forms[1]) || text.contains("??");
        let was_there =
            || new.file.before.as_ref().is_some_and(|it| it.function(&function.name).is_some());
        let computes = || text.matches('(').count() > usize::from(text.contains(&forms[1]));
        text.contains(&forms[2]) && asks && was_there() && computes()
    })
}

/// The value of a literal, if it is rare.
fn literal(node: SyntaxNode<'_>) -> Option<String> {
    if is_number(node) {
        let text =
            node.text().trim_end_matches(['L', 'f', 'F', 'd', 'D', 'm', 'M']).replace('_', "");
        return (!COMMON.contains(&text.as_str())).then_some(text);
    }
    if !is_string(node) || node.text().contains("${") {
        return None;
    }
    let text = node
        .text()
        .trim_start_matches(['f', 'r', 'b', 'u', '@', '$'])
        .trim_matches(['"', '\'', '`', '#']);
    (text.chars().count() >= RARE_TEXT_CHARS_MIN).then(|| format!("\"{text}\""))
}

/// True if a literal is neither word nor name; those are vocabulary that tests and code share.
fn is_specific(literal: &str) -> bool {
    let text = literal.trim_matches('"');
    !literal.starts_with('"')
        || text
            .chars()
            .any(|it| it.is_ascii_digit() || it.is_whitespace() || "@+*/(){}[],;=<>|&".contains(it))
}

/// Every rare literal of the tests.
fn literals_in_tests(files: &ParsedFiles<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for side in files.files.iter().filter_map(|file| file.after.as_ref()) {
        side.root.walk(&mut |node| {
            if side.is_test_at(node.bytes().start) && !is_title(node) {
                found.extend(literal(node));
            }
            !is_string(node)
        });
    }
    found
}

/// The name of a test or of a group of them.
fn is_title(node: SyntaxNode<'_>) -> bool {
    let call = node.parent().and_then(SyntaxNode::parent);
    let name = call.and_then(|it| it.field("function")).map_or("", |it| it.text());
    let is_first = node.previous_sibling().is_none();
    is_first && ["it", "test", "describe", "context", "t.Run"].contains(&name)
}

/// The pairs of a file whose literals both occur in tests.
fn pairs<'t>(side: &SourceSide<'t>, known: &BTreeSet<String>) -> Vec<NodeOccurrence<'t>> {
    let mut found = Vec::new();
    side.root.walk(&mut |node| {
        if side.is_test_at(node.bytes().start) {
            return !side.is_test;
        }
        if let Some((asked, answer)) = question(node) {
            let is_known = |literals: &[String]| {
                !literals.is_empty() && literals.iter().all(|it| known.contains(it))
            };
            let is_odd = asked.iter().chain(&answer).all(|it| is_specific(it))
                && !is_status(&asked, &answer);
            let says_more = answer.iter().any(|it| !asked.contains(it))
                && !asked.iter().chain(&answer).all(|it| it.len() == 1);
            if is_known(&asked) && is_known(&answer) && is_odd && says_more {
                found.push(NodeOccurrence {
                    key: format!("{} → {}", asked.join(", "), answer.join(", ")),
                    node,
                });
            }
        }
        true
    });
    found
}

/// Numbers with well-known names, such as HTTP status codes and error numbers.
fn is_status(asked: &[String], answer: &[String]) -> bool {
    asked.iter().all(|it| it.parse::<f64>().is_ok())
        && answer.iter().any(|it| {
            it.split(|it: char| !it.is_ascii_lowercase())
                .any(|word| word.len() >= PROSE_LETTERS_MIN)
        })
}

/// The literals that a node compares with and returns, when it does both with literals.
fn question(node: SyntaxNode<'_>) -> Option<(Vec<String>, Vec<String>)> {
    match node.kind() {
        "if_statement" | "elif_clause" | "if_expression" | "ternary_expression" => {
            let condition = node.field("condition")?;
            let then = node.field("consequence")?;
            Some((compared(condition)?, answer(then)?))
        }
        "conditional_expression" => match node.named_children().as_slice() {
            [then, condition, _] => Some((compared(*condition)?, answer(*then)?)),
            _ => None,
        },
        "case_clause"
        | "switch_case"
        | "expression_case"
        | "match_arm"
        | "switch_section"
        | "switch_block_statement_group"
        | "switch_rule"
        | "switch_expression_arm" => {
            let parts = node.named_children();
            let (first, rest) = parts.split_first()?;
            let asked = literals(*first);
            let answers = rest.iter().rev().find_map(|it| answer(*it))?;
            (!asked.is_empty()).then_some((asked, answers))
        }
        "pair" | "keyed_element" => {
            let parts = node.named_children();
            let [key, value] = parts.as_slice() else { return None };
            let (key, value) = (literals(*key), literals(*value));
            (key.len() == 1 && value.len() == 1).then_some((key, value))
        }
        _ => None,
    }
}

/// The literals of an equality.
fn compared(condition: SyntaxNode<'_>) -> Option<Vec<String>> {
    let text = condition.text();
    let is_equality = text.contains("==") || text.contains("equals(") || text.contains("Equals(");
    let is_order = ["<", ">"].iter().any(|it| text.contains(it));
    let found = literals(condition);
    (is_equality && !is_order && !found.is_empty()).then_some(found)
}

/// The rare literals inside a node.
fn literals(node: SyntaxNode<'_>) -> Vec<String> {
    let mut found = Vec::new();
    node.walk(&mut |node| {
        found.extend(literal(node));
        !is_string(node)
    });
    found
}

/// The returned value, when it consists of literals only.
fn answer(node: SyntaxNode<'_>) -> Option<Vec<String>> {
    if literal(node).is_some() {
        return Some(literals(node));
    }
    match node.kind() {
        "block"
        | "statement_block"
        | "expression_list"
        | "statement_list"
        | "return_statement"
        | "return_expression"
        | "expression_statement"
        | "unary_expression"
        | "unary_operator"
        | "parenthesized_expression" => {
            let inner = node.named_children();
            let [one] = inner.as_slice() else { return None };
            answer(*one)
        }
        "list" | "array" | "tuple" | "array_expression" | "tuple_expression" | "dictionary"
        | "object" => {
            let all = node.descendants();
            let is_literal = all.iter().all(|it| {
                !matches!(it.kind(), "identifier" | "call" | "call_expression" | "attribute")
            });
            let found = literals(node);
            (is_literal && !found.is_empty()).then_some(found)
        }
        _ => None,
    }
}
