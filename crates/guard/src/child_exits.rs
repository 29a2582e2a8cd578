//! Exits in test code that are reached only in a child process: a test starts its own program
//! again, and an environment variable or an argument marks the child.

use super::blocks::statements;
use super::facts::SourceSide;
use moai_scan::syntax::SyntaxNode;

/// Which process reaches a statement of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReachingProcess {
    /// A child that the same file starts.
    Child,
    /// One whose environment or arguments ask for it.
    Asked,
    /// One whose environment does not ask for something else.
    Unasked,
    /// That of the tests.
    Any,
}

/// A condition's requirement on the environment or the arguments.
struct ProcessQuestion<'t> {
    name: &'t str,
    /// True if the name must be set, or not set.
    is_set: bool,
}

/// Before the name of a variable or around an argument.
const QUESTIONS: &[&str] = &[
    "Environment.GetEnvironmentVariable(",
    "System.getenv(",
    "env::var(",
    "env::var_os(",
    "os.Getenv(",
    "os.LookupEnv(",
    "os.environ.get(",
    "os.environ[",
    "os.getenv(",
    "process.env.",
    "process.env[",
];
const ARGUMENTS: &[&str] = &["os.Args", "process.argv", "sys.argv"];
/// Functions that start a program.
const STARTS: &[&str] = &[
    "Command::new",
    "Popen(",
    "ProcessBuilder(",
    "exec.Command",
    "execFile",
    "fork(",
    "spawn",
    "subprocess.",
];
/// Variables that are set wherever tests run.
const USUAL: &[&str] =
    &["CI", "HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER"];

pub(super) fn reaching(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> ReachingProcess {
    let conditions = conditions(node);
    let asked = conditions.iter().find_map(|(condition, holds)| question(condition, *holds));
    let Some(asked) = asked else { return ReachingProcess::Any };
    if !asked.is_set {
        return ReachingProcess::Unasked;
    }
    let text = side.root.text();
    let is_own = USUAL.contains(&asked.name)
        || [format!("Setenv(\"{}\"", asked.name), format!("set_var(\"{}\"", asked.name)]
            .iter()
            .any(|set| text.contains(set))
        || [format!("os.environ[\"{}\"] =", asked.name), format!("process.env.{} =", asked.name)]
            .iter()
            .any(|set| {
                text.match_indices(set).any(|(at, _)| !text[at + set.len()..].starts_with('='))
            });
    if is_own {
        return ReachingProcess::Any;
    }
    let is_started = STARTS.iter().any(|start| text.contains(start));
    if is_started && is_handed_on(text, asked.name) {
        ReachingProcess::Child
    } else {
        ReachingProcess::Asked
    }
}

/// The conditions under which a node is reached; true for those that must hold.
fn conditions(node: SyntaxNode<'_>) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    let mut inner = node;
    for around in node.ancestors() {
        match around.kind() {
            "if_statement" | "if_expression" | "elif_clause" => {
                if around.field("consequence") == Some(inner) {
                    found.extend(condition_of(around).map(|it| (it, true)));
                } else if around.field("alternative") == Some(inner) {
                    found.extend(condition_of(around).map(|it| (it, false)));
                }
            }
            "block" | "statement_block" | "statement_list" | "module" | "program" => {
                let before = around.named_children().into_iter().take_while(|it| *it != inner);
                found.extend(before.filter_map(ending_condition).map(|it| (it, false)));
            }
            _ => {}
        }
        inner = around;
    }
    found
}

/// The condition of an `if`, with Go's initialization before it.
fn condition_of(node: SyntaxNode<'_>) -> Option<&str> {
    let condition = node.field("condition")?;
    let start = node.field("initializer").unwrap_or(condition).bytes().start - node.bytes().start;
    node.text().get(start..condition.bytes().end - node.bytes().start)
}

/// The condition of an `if` that leaves its function when it holds.
fn ending_condition(node: SyntaxNode<'_>) -> Option<&str> {
    let node = match node.kind() {
        "expression_statement" => node.named_children().first().copied()?,
        _ => node,
    };
    if !matches!(node.kind(), "if_statement" | "if_expression")
        || node.field("alternative").is_some()
    {
        return None;
    }
    let last = statements(node.field("consequence")?).pop()?;
    condition_of(node).filter(|_| last.text().starts_with("return"))
}

/// A condition's requirement on the process, if it must or must not hold.
fn question(condition: &str, holds: bool) -> Option<ProcessQuestion<'_>> {
    let (all, any) = (["&&", " and "], ["||", " or "]);
    let (joined, other) = if holds { (all, any) } else { (any, all) };
    if other.iter().any(|word| condition.contains(word)) {
        return None;
    }
    let mut parts = condition.split(joined[0]).flat_map(|part| part.split(joined[1]));
    let asked = parts.find_map(single_question)?;
    Some(ProcessQuestion { is_set: asked.is_set == holds, ..asked })
}

fn single_question(part: &str) -> Option<ProcessQuestion<'_>> {
    let part = part.trim();
    let is_negated = part.starts_with('!')
        || part.trim_start_matches('(').starts_with("not ")
        || ["; !ok", ".is_err()", ".is_none()"].iter().any(|end| part.ends_with(end));
    let differs = part.split_once("!=");
    let (left, right) = differs.or_else(|| part.split_once("==")).unwrap_or((part, ""));
    let right = right.trim_start_matches('=').trim();
    let value = quoted(right);
    let is_absent = value == Some("") || matches!(right, "undefined" | "null" | "nil" | "None");
    let name = if ARGUMENTS.iter().any(|it| left.contains(it)) {
        value.or_else(|| quoted(left))?
    } else {
        let (at, start) = QUESTIONS.iter().find_map(|it| Some((left.find(it)?, it)))?;
        let rest = left[at + start.len()..].trim_start_matches(['"', '\'', '`']);
        let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_');
        &rest[..end.unwrap_or(rest.len())]
    };
    let is_set = (differs.is_some() == is_absent) != is_negated;
    (!name.is_empty()).then_some(ProcessQuestion { name, is_set })
}

/// The first text in quotes.
fn quoted(text: &str) -> Option<&str> {
    let start = text.find(['"', '\'', '`'])?;
    let quote = text[start..].chars().next()?;
    let rest = &text[start + 1..];
    rest.find(quote).map(|end| &rest[..end])
}

/// True if a name is used elsewhere than in questions.
fn is_handed_on(text: &str, name: &str) -> bool {
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + name.len()..]);
        let line = before.rsplit('\n').next().unwrap_or(before);
        let is_compared = line.contains("==") || line.contains("!=");
        let is_asked = QUESTIONS.iter().any(|it| line.contains(it))
            || is_compared && ARGUMENTS.iter().any(|it| line.contains(it));
        !before.ends_with(is_word) && !behind.starts_with(is_word) && !is_asked
    })
}
