//! The fields of `progress.txt`: `KEY:` at the beginning of a line, followed by its text on the
//! same line or below. Agents write them by hand, so spelling, Markdown, line ends and Korean names
//! vary.

/// A field of the hand-off that an agent writes at the end of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandoffField {
    /// The original task.
    OriginalGoal,
    Iteration,
    /// Finished work.
    Completed,
    /// Decisions and their reasons.
    Decisions,
    Uncertainties,
    /// Remaining work.
    RemainingGap,
    /// The agent's confidence, 0 to 100.
    Confidence,
    /// Research: invariants to keep.
    Strengths,
    /// Research: risks.
    Risks,
    /// Research: ambiguities of the task.
    Gaps,
    /// Research: alternatives.
    ApproachesConsidered,
    /// Research: the chosen approach.
    Approach,
}

/// Byte order mark that some editors write.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Names in lower case, with blanks for `_` and `-`.
const NAMES: [(HandoffField, &[&str]); 12] = [
    (HandoffField::OriginalGoal, &["original goal", "원래 목표", "최초 목표"]),
    (HandoffField::Iteration, &["iteration", "반복"]),
    (HandoffField::Completed, &["completed", "완료", "완료한 것"]),
    (HandoffField::Decisions, &["decisions", "결정", "결정 사항", "결정사항"]),
    (HandoffField::Uncertainties, &["uncertainties", "불확실", "불확실한 것", "불확실성"]),
    (
        HandoffField::RemainingGap,
        &["remaining gap", "remaining gaps", "남은 일", "남은 작업", "남은 것"],
    ),
    (HandoffField::Confidence, &["confidence", "확신도", "신뢰도", "자신감"]),
    (HandoffField::Strengths, &["strengths", "강점"]),
    (HandoffField::Risks, &["risks", "위험"]),
    (HandoffField::Gaps, &["gaps", "빈틈", "공백"]),
    (
        HandoffField::ApproachesConsidered,
        &["approaches considered", "고려한 접근", "고려한 접근법", "고려한 방법", "검토한 접근"],
    ),
    (HandoffField::Approach, &["approach", "접근", "접근법", "접근 방식", "접근 방법"]),
];

/// The texts of a field, one for each occurrence, trimmed.
#[must_use]
pub(crate) fn field_values(text: &str, field: HandoffField) -> Vec<String> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    let mut is_inside = false;
    for line in text.trim_start_matches(BYTE_ORDER_MARK).lines() {
        match field_heading(line) {
            Some((named, rest)) => {
                is_inside = named == Some(field);
                if is_inside {
                    found.push(vec![rest]);
                }
            }
            // A rule or a code fence around the fields belongs to none of them.
            None if is_ornament(line) => {}
            None if is_inside => {
                found.last_mut().expect("a field was begun").push(line.trim_end());
            }
            None => {}
        }
    }
    found.iter().map(|lines| lines.join("\n").trim().to_owned()).collect()
}

/// The last text of a field, because agents append the newest state.
#[must_use]
pub(crate) fn last_value(text: &str, field: HandoffField) -> Option<String> {
    field_values(text, field).pop()
}

/// The entries of a list: lines that begin with `-`, `*` or `•`, with their continuation lines; a
/// text without list marks is one entry. Placeholders are left out.
#[must_use]
pub(crate) fn entries(text: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match (bullet(line), entries.last_mut()) {
            (Some(rest), _) => entries.push(rest.to_owned()),
            (None, Some(entry)) => {
                entry.push(' ');
                entry.push_str(line);
            }
            (None, None) => entries.push(line.to_owned()),
        }
    }
    entries.retain(|entry| !is_empty_placeholder(entry));
    entries
}

/// A list entry without its list mark.
#[must_use]
pub(crate) fn bullet(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix(['-', '*', '•'])?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
}

/// True if a text is a placeholder for an empty value.
#[must_use]
pub(crate) fn is_empty_placeholder(text: &str) -> bool {
    let bare = text.trim_matches(|character: char| {
        character.is_whitespace() || "()[].-–—*_".contains(character)
    });
    let words = ["", "none", "n/a", "na", "nothing", "no", "없음", "없다", "없습니다", "해당 없음"];
    words.contains(&bare.to_lowercase().as_str())
}

/// True if a text is an unfilled hint of the form, which is entirely in brackets.
#[must_use]
pub(crate) fn is_hint(text: &str) -> bool {
    let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|inside| inside.len() > 1 && !inside.contains(['[', ']']))
}

/// The field that a line begins, with the rest of the line; an unknown name in capitals ends the
/// previous field.
fn field_heading(line: &str) -> Option<(Option<HandoffField>, &str)> {
    let line = line.trim();
    let is_marked = line.starts_with('#') || line.contains("**");
    let line = line.trim_start_matches('#').trim_start();
    let line = match bullet(line) {
        Some(rest) if rest.starts_with("**") => rest,
        Some(_) => return None,
        None => line,
    };
    let (name, rest) = match line.split_once([':', '：']) {
        Some(parts) => parts,
        None if is_marked => (line, ""),
        None => return None,
    };
    let plain = name.trim_matches(|character: char| character == '*' || character.is_whitespace());
    let key = plain.to_lowercase().replace(['_', '-'], " ");
    let rest = rest.trim_start_matches('*').trim();
    if let Some((field, _)) = NAMES.iter().find(|(_, names)| names.contains(&key.as_str())) {
        return Some((Some(*field), rest));
    }
    let is_other = plain.len() > 2
        && plain
            .chars()
            .all(|character| character.is_ascii_uppercase() || "_ -".contains(character))
        && !name.starts_with(' ');
    is_other.then_some((None, rest))
}

fn is_ornament(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("```")
        || line.len() >= 3 && line.chars().all(|character| "-=~".contains(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "ORIGINAL_GOAL: keep users\r\nITERATION: 3\r\n\r\nCOMPLETED:\r\n\
                        - endpoint (confidence: 90)\r\n\r\nREMAINING_GAP:\r\n- hashing\r\n  \
                        with argon2id\r\n- limits\r\n\r\nCONFIDENCE: 75\r\n";

    #[test]
    fn a_field_ends_where_the_next_one_begins() {
        assert_eq!(last_value(FILE, HandoffField::OriginalGoal).as_deref(), Some("keep users"));
        assert_eq!(
            last_value(&format!("\u{feff}{FILE}"), HandoffField::OriginalGoal).as_deref(),
            Some("keep users")
        );
        let gap = last_value(FILE, HandoffField::RemainingGap).expect("there");
        assert_eq!(entries(&gap), ["hashing with argon2id", "limits"]);
        // A confidence inside an entry is not the field.
        assert_eq!(last_value(FILE, HandoffField::Confidence).as_deref(), Some("75"));
        assert_eq!(last_value(FILE, HandoffField::Decisions), None);
    }

    #[test]
    fn markdown_case_korean_and_unknown_names_are_understood() {
        let text = "## Remaining gap\n- a\n**Confidence**: 40\nNOTES_TO_SELF: x\n남은 작업: b\n";
        assert_eq!(field_values(text, HandoffField::RemainingGap), ["- a", "b"]);
        assert_eq!(last_value(text, HandoffField::Confidence).as_deref(), Some("40"));
        assert_eq!(
            last_value("접근 방식： 하나씩\n이어서\n", HandoffField::Approach).as_deref(),
            Some("하나씩\n이어서")
        );
        assert_eq!(
            last_value("```\nAPPROACH: x\n```\n", HandoffField::Approach).as_deref(),
            Some("x")
        );
    }

    #[test]
    fn words_for_nothing_are_not_entries() {
        assert_eq!(entries("- none\n- (없음)\n- N/A\n-\n"), [""; 0]);
        assert_eq!(entries("just words"), ["just words"]);
    }
}
