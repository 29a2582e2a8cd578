//! Exits in test code that the process of the tests never reaches: a test starts its own program again, as a
//! child or a worker, and an environment variable, an argument or the runtime marks the other process.

use super::blocks::statements;
use super::facts::{SourceSide, attributes, is_function, normal};
use moai_scan::syntax::SyntaxNode;

/// Which process reaches a statement of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// A requirement on the way to a statement.
enum ReachingCondition<'t> {
    /// A condition must hold, or must not.
    Condition { node: SyntaxNode<'t>, holds: bool },
    /// A value must be one of some patterns, or none of them.
    Value { value: SyntaxNode<'t>, patterns: Vec<SyntaxNode<'t>>, is_one: bool },
}

/// A requirement on the environment, the arguments or the kind of the process.
#[derive(Clone, Copy)]
struct ProcessQuestion<'t> {
    name: &'t str,
    /// True if the name must be set, or not set.
    is_set: bool,
}

/// Before the name of a variable.
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
/// Arguments of the program, those that every program has left out.
const ARGUMENTS: &[&str] =
    &["env::args", "flag.Arg", "flag.Bool(", "flag.String(", "os.Args", "process.argv", "sys.argv"];
const USUAL_ARGUMENTS: &[&str] =
    &["os.Args[0]", "process.argv[0]", "process.argv[1]", "sys.argv[0]"];
/// What a runtime says about a worker, and about the process that started it.
const WORKERS: &[&str] = &["isWorker", "parentPort", "workerData"];
const STARTERS: &[&str] = &["isMainThread", "isMaster", "isPrimary"];
/// Functions that start a program or a worker.
const STARTS: &[&str] = &[
    "Command::new",
    "Popen(",
    "ProcessBuilder(",
    "exec.Command",
    "execFile",
    "fork(",
    "new Worker(",
    "spawn",
    "subprocess.",
];
/// Variables that are set wherever tests run.
const USUAL: &[&str] =
    &["CI", "HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER"];

/// Calls of functions are followed back this far.
const CALLERS_MAX: usize = 3;

pub(super) fn reaching(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> ReachingProcess {
    reaching_within(side, node, CALLERS_MAX)
}

fn reaching_within(side: &SourceSide<'_>, node: SyntaxNode<'_>, callers: usize) -> ReachingProcess {
    let asked = questions(node);
    let Some(marked) = asked.iter().find(|it| it.is_set) else {
        let calls = calls_around(side, node);
        let of_calls = calls.iter().map(|call| match callers {
            0 => ReachingProcess::Any,
            _ => reaching_within(side, *call, callers - 1),
        });
        // Of several calls the most accessible one counts.
        let alone = if asked.is_empty() { ReachingProcess::Any } else { ReachingProcess::Unasked };
        return of_calls.max().unwrap_or(alone);
    };
    let setters = setters(side, marked.name);
    // A test may set the variable for the child that it starts, where the tests do not see it.
    let is_seen = setters.iter().any(|it| !is_set_for_child(side, *it, node));
    if USUAL.contains(&marked.name) || is_seen {
        return ReachingProcess::Any;
    }
    let text = side.root.text();
    let is_started = STARTS.iter().any(|start| text.contains(start));
    let is_handed_on =
        || is_of_runtime(marked.name) || !setters.is_empty() || is_handed_on(text, marked.name);
    if is_started && is_handed_on() { ReachingProcess::Child } else { ReachingProcess::Asked }
}

/// The calls of the function around a node, if nothing else can call it.
fn calls_around<'t>(side: &SourceSide<'t>, node: SyntaxNode<'_>) -> Vec<SyntaxNode<'t>> {
    let Some(function) = side.function_at(node) else { return Vec::new() };
    let name = function.name.rsplit('.').next().unwrap_or_default();
    let is_run =
        ["Test", "Benchmark", "Example", "Fuzz", "test"].iter().any(|it| name.starts_with(it))
            || name == "init"
            || attributes(function.node).iter().any(|it| it.text().contains("test"));
    if is_run {
        return Vec::new();
    }
    let (mut calls, mut mentions) = (Vec::new(), 0);
    side.root.walk(&mut |node| {
        mentions += usize::from(node.kind().ends_with("identifier") && node.text() == name);
        let is_call = matches!(node.kind(), "call" | "call_expression");
        calls.extend(Some(node).filter(|_| {
            is_call && node.field("function").is_some_and(|called| called.text() == name)
        }));
        true
    });
    if mentions == calls.len() + 1 { calls } else { Vec::new() }
}

/// True if only a worker reaches a statement.
pub(super) fn is_of_worker(node: SyntaxNode<'_>) -> bool {
    questions(node).iter().any(|it| it.is_set && is_of_runtime(it.name))
}

/// True if a statement of Go is reached only where the tests have passed.
pub(super) fn follows_success(node: SyntaxNode<'_>) -> bool {
    requirements(node).iter().any(|required| match required {
        ReachingCondition::Condition { node, holds: true } => {
            let sides = node.field("left").zip(node.field("right"));
            operator(*node) == Some("==")
                && sides.is_some_and(|(left, right)| {
                    right.text() == "0" && origin(left).text().ends_with(".Run()")
                })
        }
        _ => false,
    })
}

/// True if a statement is reached only where its module of JavaScript is the program.
pub(super) fn is_of_main_part(node: SyntaxNode<'_>) -> bool {
    let asks = ["require.main", "import.meta.main", "import.meta.url"];
    requirements(node).iter().any(|required| match required {
        ReachingCondition::Condition { node, holds } => {
            let text = node.text();
            asks.iter().any(|it| text.contains(it)) && text.contains('!') != *holds
        }
        ReachingCondition::Value { .. } => false,
    })
}

fn questions(node: SyntaxNode<'_>) -> Vec<ProcessQuestion<'_>> {
    let required = requirements(node);
    let asked = required.iter().filter_map(|required| match required {
        ReachingCondition::Condition { node, holds } => question(*node, *holds),
        ReachingCondition::Value { value, patterns, is_one } => {
            value_question(*value, patterns, *is_one)
        }
    });
    asked.collect()
}

fn is_of_runtime(name: &str) -> bool {
    WORKERS.contains(&name) || STARTERS.contains(&name)
}

/// The requirements under which a node is reached.
fn requirements(node: SyntaxNode<'_>) -> Vec<ReachingCondition<'_>> {
    let mut found = Vec::new();
    let mut inner = node;
    for around in node.ancestors() {
        let is_at = |field: &str| around.field(field) == Some(inner);
        match around.kind() {
            "if_statement" | "if_expression" | "elif_clause" | "ternary_expression" => {
                let holds = is_at("consequence").then_some(true);
                let holds = holds.or_else(|| is_at("alternative").then_some(false));
                let condition = around.field("condition").zip(holds);
                found.extend(
                    condition.map(|(node, holds)| ReachingCondition::Condition { node, holds }),
                );
            }
            "binary_expression" | "boolean_operator" if is_at("right") => {
                let holds = operator(around).and_then(|it| match it {
                    "&&" | "and" => Some(true),
                    "||" | "or" => Some(false),
                    _ => None,
                });
                let left = around.field("left").zip(holds);
                found
                    .extend(left.map(|(node, holds)| ReachingCondition::Condition { node, holds }));
            }
            "block" | "statement_block" | "statement_list" | "module" | "program" => {
                let before = around.named_children().into_iter().take_while(|it| *it != inner);
                found.extend(before.filter_map(required_by_ending));
            }
            _ => found.extend(required_by_case(around)),
        }
        inner = around;
    }
    found
}

/// Starts of statements that leave a function or its test.
const LEAVES: &[&str] =
    &["return", "t.Skip", "raise ", "throw ", "self.skipTest(", "pytest.skip(", "t.skip("];

/// What follows an `if` that leaves its function when it holds, or a `let` with such an `else`.
fn required_by_ending(node: SyntaxNode<'_>) -> Option<ReachingCondition<'_>> {
    let node = match node.kind() {
        "expression_statement" => node.named_children().first().copied()?,
        _ => node,
    };
    let alternative = node.field("alternative");
    match node.kind() {
        "if_statement" | "if_expression" if alternative.is_none() => {
            node.field("consequence").filter(|it| leaves(*it))?;
            let node = node.field("condition")?;
            Some(ReachingCondition::Condition { node, holds: false })
        }
        "let_declaration" => {
            alternative.filter(|it| leaves(*it))?;
            let (value, pattern) = node.field("value").zip(node.field("pattern"))?;
            Some(ReachingCondition::Value { value, patterns: vec![pattern], is_one: true })
        }
        _ => None,
    }
}

fn leaves(block: SyntaxNode<'_>) -> bool {
    let last = statements(block).pop();
    let is_end = |it: SyntaxNode<'_>| LEAVES.iter().any(|start| it.text().starts_with(start));
    is_end(block) || last.is_some_and(is_end)
}

const CASES: &[&str] = &[
    "case_clause",
    "default_case",
    "expression_case",
    "match_arm",
    "switch_case",
    "switch_default",
];

/// What a case of a `switch` or `match` requires.
fn required_by_case(case: SyntaxNode<'_>) -> Option<ReachingCondition<'_>> {
    if !CASES.contains(&case.kind()) {
        return None;
    }
    let is_choice = |it: &SyntaxNode<'_>| {
        matches!(
            it.kind(),
            "expression_switch_statement"
                | "match_expression"
                | "match_statement"
                | "switch_statement"
        )
    };
    let choice = case.ancestors().find(is_choice)?;
    let siblings = case.parent()?.named_children().into_iter();
    let all: Vec<SyntaxNode<'_>> = siblings.filter(|it| CASES.contains(&it.kind())).collect();
    let at = all.iter().position(|it| *it == case)?;
    // What falls through to it comes with it.
    let first = all[..at].iter().rposition(|it| !falls_through(*it)).map_or(0, |it| it + 1);
    let is_one = !all[first..=at].iter().any(|it| is_default(*it));
    let own: Vec<SyntaxNode<'_>> = if is_one {
        all[first..=at].iter().flat_map(|it| patterns(*it)).collect()
    } else {
        let others = all[..first].iter().chain(&all[at + 1..]);
        others.flat_map(|it| patterns(*it)).collect()
    };
    match (choice.field("value").or_else(|| choice.field("subject")), own.as_slice()) {
        (Some(value), _) => Some(ReachingCondition::Value { value, patterns: own, is_one }),
        (None, [node]) => Some(ReachingCondition::Condition { node: *node, holds: is_one }),
        (None, _) => None,
    }
}

/// True if a case of JavaScript continues with the next one.
fn falls_through(case: SyntaxNode<'_>) -> bool {
    let last = case.named_children().pop().map_or("", SyntaxNode::kind);
    let is_end = matches!(
        last,
        "break_statement" | "return_statement" | "throw_statement" | "statement_block"
    );
    case.kind().starts_with("switch_") && !is_end
}

fn is_default(case: SyntaxNode<'_>) -> bool {
    let is_any = |pattern: SyntaxNode<'_>| {
        pattern.text() == "_" || pattern.kind() == "identifier" && case.kind() == "match_arm"
    };
    matches!(case.kind(), "default_case" | "switch_default")
        || patterns(case).iter().any(|it| is_any(*it))
}

/// The values of a case.
fn patterns(case: SyntaxNode<'_>) -> Vec<SyntaxNode<'_>> {
    match case.kind() {
        "expression_case" => {
            case.field("value").map(SyntaxNode::named_children).unwrap_or_default()
        }
        "switch_case" => case.field("value").into_iter().collect(),
        "match_arm" => {
            let pattern = case.field("pattern").and_then(|it| it.named_children().first().copied());
            // `_` is no node of its own.
            pattern.or_else(|| case.field("pattern")).into_iter().collect()
        }
        "case_clause" => {
            let children = case.named_children().into_iter();
            children.filter(|it| it.kind() == "case_pattern").collect()
        }
        _ => Vec::new(),
    }
}

/// A condition's requirement on the process, if it must or must not hold.
fn question(node: SyntaxNode<'_>, holds: bool) -> Option<ProcessQuestion<'_>> {
    question_within(node, holds, CALLERS_MAX)
}

/// The same, through so many functions that the condition calls.
fn question_within(node: SyntaxNode<'_>, holds: bool, calls: usize) -> Option<ProcessQuestion<'_>> {
    let children = node.named_children();
    match (node.kind(), children.as_slice()) {
        ("parenthesized_expression", [inner]) => question_within(*inner, holds, calls),
        ("not_operator", [inner]) => question_within(*inner, !holds, calls),
        ("unary_expression" | "prefix_unary_expression", [inner]) => {
            question_within(*inner, node.text().starts_with('!') != holds, calls)
        }
        ("let_condition", _) => {
            let (value, pattern) = node.field("value").zip(node.field("pattern"))?;
            value_question(value, &[pattern], holds)
        }
        ("binary_expression" | "boolean_operator" | "comparison_operator", [left, right]) => {
            let equality = |is_one: bool| {
                let in_order = value_question(*left, &[*right], is_one);
                in_order.or_else(|| value_question(*right, &[*left], is_one))
            };
            match operator(node)? {
                "&&" | "and" => joined_question(
                    question_within(*left, holds, calls),
                    question_within(*right, holds, calls),
                    holds,
                ),
                "||" | "or" => joined_question(
                    question_within(*left, holds, calls),
                    question_within(*right, holds, calls),
                    !holds,
                ),
                "==" | "===" => equality(holds),
                "!=" | "!==" => equality(!holds),
                "in" => membership(*left, *right, holds),
                "not in" => membership(*left, *right, !holds),
                _ => None,
            }
        }
        ("identifier", _) => {
            let value = value_of(node).and_then(|value| question_within(value, holds, calls));
            value.or_else(|| name_question(node, holds))
        }
        ("call" | "call_expression", _) => plain_question(node, holds).or_else(|| {
            let result = result_of(node).filter(|_| calls > 0)?;
            question_within(result, holds, calls - 1)
        }),
        _ => plain_question(node, holds),
    }
}

/// What the function of a call returns, if it does nothing else.
fn result_of(call: SyntaxNode<'_>) -> Option<SyntaxNode<'_>> {
    let called = call.field("function").filter(|it| it.kind() == "identifier")?;
    let root = call.ancestors().last()?;
    let is_called = |it: &SyntaxNode<'_>| {
        is_function(*it) && it.field("name").is_some_and(|name| name.text() == called.text())
    };
    let named = || root.descendants().into_iter().find(is_called);
    let function = value_of(called).filter(|it| is_function(*it)).or_else(named)?;
    let body = function.field("body")?;
    if !matches!(body.kind(), "block" | "statement_block") {
        return Some(body);
    }
    let all = statements(body);
    let [one] = all.as_slice() else { return None };
    let is_statement = matches!(one.kind(), "return_statement" | "expression_statement");
    let value = if is_statement { one.named_children().first().copied()? } else { *one };
    let is_list = value.kind() == "expression_list";
    if is_list { value.named_children().first().copied() } else { Some(value) }
}

/// The requirement of two conditions, of which both count or one is enough.
fn joined_question<'t>(
    left: Option<ProcessQuestion<'t>>,
    right: Option<ProcessQuestion<'t>>,
    both_count: bool,
) -> Option<ProcessQuestion<'t>> {
    if both_count {
        return if left.is_some_and(|it| it.is_set) { left } else { right.or(left) };
    }
    let (left, right) = left.zip(right)?;
    Some(if left.is_set { right } else { left })
}

/// The value of a name that is given one once: before a condition of Go, in its function, or in its file.
fn value_of(name: SyntaxNode<'_>) -> Option<SyntaxNode<'_>> {
    let scopes = name.ancestors().filter_map(|around| match around.kind() {
        "if_statement" => around.field("initializer"),
        _ => (is_function(around) || around.parent().is_none()).then_some(around),
    });
    let values = scopes.map(|scope| values_below(scope, name.text()));
    let values = values.into_iter().find(|values| !values.is_empty())?;
    let [value] = values.as_slice() else { return None };
    (value.bytes().end <= name.bytes().start).then_some(*value)
}

/// The values that a name is given below a node.
fn values_below<'t>(scope: SyntaxNode<'t>, name: &str) -> Vec<SyntaxNode<'t>> {
    let mut found = Vec::new();
    scope.walk(&mut |node| {
        let target = ["left", "name", "pattern"].iter().find_map(|field| node.field(field));
        let value = ["right", "value"].iter().find_map(|field| node.field(field));
        let is_condition = matches!(
            node.kind(),
            "binary_expression"
                | "boolean_operator"
                | "keyword_argument"
                | "let_condition"
                | "pair"
        );
        if let Some((target, value)) = target.zip(value).filter(|_| !is_condition) {
            let is_own = |it: &SyntaxNode<'_>| it.text() == name;
            if is_own(&target) || target.named_children().iter().any(is_own) {
                let one = value.named_children().first().copied();
                found.extend(if value.kind() == "expression_list" { one } else { Some(value) });
            }
        }
        true
    });
    found
}

fn operator(node: SyntaxNode<'_>) -> Option<&str> {
    let operator = node.field("operator").or_else(|| node.field("operators"))?;
    Some(operator.text())
}

/// The requirement of a value that must be one of some patterns, or none of them.
fn value_question<'t>(
    value: SyntaxNode<'t>,
    patterns: &[SyntaxNode<'t>],
    is_one: bool,
) -> Option<ProcessQuestion<'t>> {
    let is_absent = patterns.iter().any(|it| is_absence(it.text()));
    let origin = origin(value);
    let name = if is_argument(origin.text()) {
        let quoted = patterns.iter().find_map(|it| quoted(it.text()));
        quoted.or_else(|| self::quoted(value.text()))?
    } else if WORKERS.contains(&value.text()) {
        value.text()
    } else {
        asked_name(origin.text())?
    };
    Some(ProcessQuestion { name, is_set: is_one != is_absent })
}

/// `"X" in os.environ`
fn membership<'t>(
    element: SyntaxNode<'t>,
    list: SyntaxNode<'t>,
    is_set: bool,
) -> Option<ProcessQuestion<'t>> {
    let is_asked = list.text() == "os.environ" || is_argument(list.text());
    let name = quoted(element.text()).filter(|_| is_asked)?;
    Some(ProcessQuestion { name, is_set })
}

/// The requirement of an expression that is true where its variable or argument is set.
fn plain_question(node: SyntaxNode<'_>, holds: bool) -> Option<ProcessQuestion<'_>> {
    let text = node.text();
    let is_negated = [".is_err", ".is_none"].iter().any(|word| text.contains(word));
    let origin = origin(node);
    let name = if is_argument(origin.text()) {
        quoted(text).or_else(|| quoted(origin.text()))
    } else {
        asked_name(origin.text())
    };
    let asked = name.map(|name| ProcessQuestion { name, is_set: is_negated != holds });
    asked.or_else(|| name_question(node, holds))
}

/// The requirement of what a runtime says about its processes, and of a name taken out of the environment.
fn name_question(node: SyntaxNode<'_>, holds: bool) -> Option<ProcessQuestion<'_>> {
    let name = node.text().rsplit('.').next()?;
    if is_of_runtime(name) {
        return Some(ProcessQuestion { name, is_set: WORKERS.contains(&name) == holds });
    }
    let is_of_environment =
        node.kind() == "identifier" && value_of(node).is_some_and(|it| it.text() == "process.env");
    is_of_environment.then_some(ProcessQuestion { name, is_set: holds })
}

/// An expression, or the value of the variable that it begins with.
fn origin(node: SyntaxNode<'_>) -> SyntaxNode<'_> {
    let first = std::iter::successors(Some(node), |it| it.named_children().first().copied()).last();
    let name = first.filter(|it| it.kind() == "identifier");
    let value = name.and_then(value_of);
    // The value of a comparison is another one.
    let is_plain =
        |it: &SyntaxNode<'_>| !["=", "!", "||", "&&"].iter().any(|mark| it.text().contains(mark));
    value.filter(is_plain).unwrap_or(node)
}

fn is_argument(text: &str) -> bool {
    ARGUMENTS.iter().any(|it| text.contains(it))
        && !USUAL_ARGUMENTS.iter().any(|it| text.contains(it))
}

/// The name of the environment variable that a text asks for.
fn asked_name(text: &str) -> Option<&str> {
    let (at, start) = QUESTIONS.iter().find_map(|it| Some((text.find(it)?, it)))?;
    let rest = text[at + start.len()..].trim_start_matches(['"', '\'', '`']);
    let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

/// True for the value that a variable has where nothing sets it.
fn is_absence(text: &str) -> bool {
    matches!(text, "undefined" | "null" | "nil" | "None")
        || text.starts_with("Err(")
        || quoted(text) == Some("")
}

/// The first text in quotes.
fn quoted(text: &str) -> Option<&str> {
    let start = text.find(['"', '\'', '`'])?;
    let quote = text[start..].chars().next()?;
    let rest = &text[start + 1..];
    rest.find(quote).map(|end| &rest[..end])
}

/// The calls and assignments that set a variable in the process that runs them.
fn setters<'t>(side: &SourceSide<'t>, name: &str) -> Vec<SyntaxNode<'t>> {
    let mut found = Vec::new();
    side.root.walk(&mut |node| {
        found.extend(Some(node).filter(|it| sets(*it, name)));
        true
    });
    found
}

fn sets(node: SyntaxNode<'_>, name: &str) -> bool {
    let is_name = |text: &str| text.trim_matches(['"', '\'', '`']) == name;
    let text = |field: &str| node.field(field).map_or("", SyntaxNode::text);
    match node.kind() {
        "call_expression" => {
            let is_setter = ["Setenv", "set_var"].iter().any(|it| text("function").ends_with(it));
            let arguments = node.field("arguments").map(SyntaxNode::named_children);
            is_setter && arguments.is_some_and(|it| it.first().is_some_and(|it| is_name(it.text())))
        }
        "assignment" | "assignment_expression" => {
            let left = text("left")
                .strip_prefix("os.environ")
                .or(text("left").strip_prefix("process.env"));
            left.is_some_and(|left| is_name(left.trim_matches(['.', '[', ']'])))
        }
        _ => false,
    }
}

/// Calls that take a variable back, or take it back themselves when the test is over.
const TAKES_BACK: &[&str] = &[
    "Unsetenv(",
    "t.Setenv(",
    "delete process.env",
    "del os.environ",
    "environ.pop(",
    "remove_var(",
];

/// True if a test sets a variable where it starts a child, and the exit has passed by then or comes when the
/// variable is gone again.
fn is_set_for_child(side: &SourceSide<'_>, setter: SyntaxNode<'_>, exit: SyntaxNode<'_>) -> bool {
    let name_at =
        |node| side.function_at(node).map(|it| it.name.rsplit('.').next().unwrap_or_default());
    let is_early = |name: Option<&str>| matches!(name, Some("TestMain" | "init"));
    let Some(around) = function_around(setter) else { return false };
    let is_first = function_around(exit).is_none() || is_early(name_at(exit));
    let calls_exit =
        name_at(exit).is_some_and(|name| normal(around).contains(&format!("{name} (")));
    let has = |words: &[&str]| words.iter().any(|word| around.text().contains(word));
    has(STARTS)
        && !is_early(name_at(setter))
        && !exit.ancestors().any(|it| it == around)
        && !calls_exit
        && (is_first || has(TAKES_BACK))
}

fn function_around(node: SyntaxNode<'_>) -> Option<SyntaxNode<'_>> {
    node.ancestors().find(|it| is_function(*it))
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
