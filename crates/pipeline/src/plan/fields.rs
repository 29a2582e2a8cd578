//! The fields of a TODO and their values.

use super::{AcceptanceItem, AcceptanceKind, RiskLevel, TodoId, TodoSize};
use crate::document::{first_code_span, is_placeholder, normalized_name, quoted_words};
use moai_base::foreign_text::one_line;
use moai_base::limits::PLAN_TEXT_CHARS_MAX;
use moai_loops::criteria::command_line::{CommandLineError, split_command_line};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TodoField {
    Description,
    Dependencies,
    Requirements,
    Files,
    Risk,
    Size,
    Acceptance,
    /// A name that has no meaning here.
    Other,
}

/// Names in lower case, with blanks for `_` and `-`.
const FIELD_NAMES: [(TodoField, &[&str]); 7] = [
    (TodoField::Description, &["description", "설명", "내용"]),
    (
        TodoField::Dependencies,
        &["dependencies", "dependency", "depends on", "의존성", "의존", "선행 작업", "선행"],
    ),
    (TodoField::Requirements, &["requirements", "requirement", "요구사항", "요구 사항"]),
    (TodoField::Files, &["files", "file", "파일"]),
    (TodoField::Risk, &["risk", "위험도", "위험"]),
    (
        TodoField::Size,
        &["estimated complexity", "complexity", "size", "복잡도", "예상 복잡도", "크기"],
    ),
    (
        TodoField::Acceptance,
        &["acceptance criteria", "acceptance", "인수 조건", "인수조건", "수용 기준", "완료 조건"],
    ),
];

pub(super) fn field_of_name(name: &str) -> Option<TodoField> {
    let name = normalized_name(name);
    let name = name.as_str();
    FIELD_NAMES.iter().find(|(_, names)| names.contains(&name)).map(|(field, _)| *field)
}

/// Known name from which `name` differs in one or two letters.
pub(super) fn similar_field(name: &str) -> Option<&'static str> {
    let is_long = |known: &&&str| known.chars().count() >= SIMILAR_CHARS_MIN && known.is_ascii();
    let known = FIELD_NAMES.iter().flat_map(|(_, names)| names.iter());
    known.filter(is_long).find(|known| differs_slightly(name, known)).copied()
}

/// Shortest name of which a misspelling is recognized.
const SIMILAR_CHARS_MIN: usize = 8;

/// True if two words differ only in a part of at most two letters.
fn differs_slightly(left: &str, right: &str) -> bool {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let start = left.iter().zip(&right).take_while(|(one, other)| one == other).count();
    let end = left[start..]
        .iter()
        .rev()
        .zip(right[start..].iter().rev())
        .take_while(|(one, other)| one == other)
        .count();
    left.len().max(right.len()) - start - end <= 2
}

/// True if a value means "none".
pub(super) fn is_none_word(value: &str) -> bool {
    let bare = value.trim_matches(|it: char| it.is_whitespace() || "()[].-–—*_`".contains(it));
    let words = ["", "none", "n/a", "na", "nothing", "no", "없음", "해당 없음"];
    words.contains(&bare.to_lowercase().as_str())
}

/// The TODOs listed in a value; the error is the part that is not an id.
pub(super) fn dependency_ids(value: &str) -> Result<Vec<TodoId>, String> {
    if is_none_word(value) {
        return Ok(Vec::new());
    }
    let joined = value.replace(" and ", ",").replace(" 및 ", ",");
    let mut ids = Vec::new();
    for part in joined.split([',', ';', '·', '、']) {
        // A remark in parentheses may follow an id.
        let bare = part.split(['(', '（']).next().unwrap_or(part).trim().trim_end_matches('.');
        if bare.is_empty() {
            continue;
        }
        match TodoId::parse(bare) {
            Some(id) if ids.contains(&id) => {}
            Some(id) => ids.push(id),
            None => return Err(format!("{} names no TODO, such as TODO-1", quoted_words(part))),
        }
    }
    Ok(ids)
}

/// The file patterns in a value; the error explains why one cannot be used.
pub(super) fn file_patterns(value: &str) -> Result<Vec<String>, String> {
    let mut patterns = Vec::new();
    for part in value.split([',', ';']) {
        let pattern = part.trim().trim_matches(['`', '"', '\'']).trim_start_matches("./");
        if is_none_word(part) {
            continue;
        }
        let leaves_root = pattern.starts_with(['/', '~', '\\']) || pattern.contains('\\');
        if leaves_root || pattern.split('/').any(|it| it == "..") || pattern.contains(':') {
            return Err(format!("{} is not a path below the root", quoted_words(pattern)));
        }
        patterns.push(pattern.to_owned());
    }
    Ok(patterns)
}

/// The risk that a value begins with.
pub(super) fn risk_of(value: &str) -> Option<RiskLevel> {
    match first_word(value).as_str() {
        "low" | "낮음" | "하" => Some(RiskLevel::Low),
        "med" | "medium" | "중간" | "보통" | "중" => Some(RiskLevel::Medium),
        "high" | "높음" | "상" => Some(RiskLevel::High),
        _ => None,
    }
}

/// The size that a value begins with.
pub(super) fn size_of(value: &str) -> Option<TodoSize> {
    match first_word(value).as_str() {
        "s" | "small" | "작음" | "소" => Some(TodoSize::Small),
        "m" | "medium" | "보통" | "중" => Some(TodoSize::Medium),
        "l" | "large" | "큼" | "대" => Some(TodoSize::Large),
        _ => None,
    }
}

/// The first word in lower case, without emphasis; a choice such as `S|M|L` is one word.
fn first_word(value: &str) -> String {
    let is_end = |it: char| it.is_whitespace() || "(,;—–:".contains(it);
    let bare = value.trim_start_matches(['*', '`', '[', ' ']);
    let word = bare.split(is_end).next().unwrap_or_default();
    word.trim_end_matches(['*', '`', ']', '.']).to_lowercase()
}

/// The kind of an acceptance item and the text after it: `[A] …`, `**[A]** …`, `[ ] [A] …`.
pub(super) fn acceptance_kind(item: &str) -> Option<(AcceptanceKind, &str)> {
    let item = item.trim_start_matches(['*', ' ']);
    let unticked = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| item.strip_prefix(mark));
    let item = unticked.unwrap_or(item).trim_start_matches(['*', ' ']);
    let (mark, rest) = item.strip_prefix('[')?.split_once(']')?;
    let kind = match mark.trim() {
        "A" | "a" => AcceptanceKind::Automatic,
        "S" | "s" => AcceptanceKind::Scenario,
        "H" | "h" => AcceptanceKind::Human,
        _ => return None,
    };
    Some((kind, rest.trim_start_matches(['*', ' ', ':'])))
}

/// Reads an acceptance item. `number` is its position in the TODO, from 1; the second value is the
/// reason why it cannot be verified.
pub(super) fn acceptance_item(
    kind: AcceptanceKind,
    text: &str,
    number: usize,
    line: usize,
) -> (AcceptanceItem, Option<String>) {
    let (id, text) = match explicit_id(text) {
        Some((id, rest)) => (id, rest),
        None => (format!("AC-{number}"), text),
    };
    let mut item = AcceptanceItem {
        id,
        line,
        kind,
        text: one_line(text, PLAN_TEXT_CHARS_MAX),
        command: None,
        argv: Vec::new(),
    };
    if kind != AcceptanceKind::Automatic {
        let fault = (item.text.is_empty()).then(|| format!("{} says nothing", item.id));
        return (item, fault);
    }
    let Some((command, _)) = first_code_span(text) else {
        let fault = format!("{} is an [A] item without a command in backticks", item.id);
        return (item, Some(fault));
    };
    item.command = Some(command.to_owned());
    if is_placeholder(&item.text) {
        let fault = format!("{} is not filled in", item.id);
        return (item, Some(fault));
    }
    match split_command_line(command) {
        // `[sh, -c, …]` is a list of words, as in the options.
        Ok(argv) if argv.first().is_some_and(|it| it.len() > 1 && it.starts_with('[')) => {
            let fault = format!("{} cannot run: it is a list: {SCRIPT_INSTEAD}", item.id);
            (item, Some(fault))
        }
        Ok(argv) => {
            item.argv = argv;
            (item, None)
        }
        Err(CommandLineError::Shell(character)) => {
            let why = format!("the command uses {character}, which only a shell understands");
            let fault = format!("{} cannot run: {why}: {SCRIPT_INSTEAD}", item.id);
            (item, Some(fault))
        }
        Err(error) => {
            let fault = format!("{} cannot run: {error}", item.id);
            (item, Some(fault))
        }
    }
}

/// The remedy for a command that is not one program with arguments.
const SCRIPT_INSTEAD: &str = "put it into a script of the project";

/// An id at the start of an item: `AC-3: …`.
fn explicit_id(text: &str) -> Option<(String, &str)> {
    let digits = text.strip_prefix("AC-")?;
    let rest = digits.trim_start_matches(|it: char| it.is_ascii_digit());
    let number = &digits[..digits.len() - rest.len()];
    if number.is_empty() || rest.starts_with(|it: char| it.is_alphanumeric() || it == '-') {
        return None;
    }
    Some((format!("AC-{number}"), rest.trim_start_matches([':', ' ', '-', '*', '.'])))
}
