//! Classifies the headings of a rubric: checks, criteria, or only similar to them.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RubricSection {
    /// Commands to run.
    Checks,
    /// Criteria for the judge.
    Criteria,
    /// The heading sounds like checks or criteria but names neither; holds its text.
    Unknown(String),
    Other,
}

/// Words allowed next to `criteria` in a heading.
const BESIDE_CRITERIA: [&str; 21] = [
    "acceptance",
    "ai",
    "and",
    "approval",
    "blocking",
    "code",
    "evaluation",
    "for",
    "judge",
    "judgement",
    "judges",
    "judging",
    "judgment",
    "llm",
    "mandatory",
    "model",
    "quality",
    "required",
    "review",
    "success",
    "the",
];
/// Words allowed next to `checks` in a heading.
const BESIDE_CHECKS: [&str; 9] = [
    "and",
    "automated",
    "automatic",
    "blocking",
    "commands",
    "gate",
    "mandatory",
    "required",
    "the",
];
/// Korean headings, without spaces.
const KOREAN_CRITERIA: [&str; 17] = [
    "심사기준",
    "판정기준",
    "평가기준",
    "검토기준",
    "채점기준",
    "판단기준",
    "승인기준",
    "합격기준",
    "통과기준",
    "품질기준",
    "완료기준",
    "기준",
    "심사항목",
    "평가항목",
    "판정항목",
    "채점항목",
    "검토항목",
];
const KOREAN_CHECKS: [&str; 7] =
    ["검사", "체크", "점검", "검사항목", "점검항목", "자동검사", "검사명령"];
/// Word parts that make a heading look like checks or criteria.
const SIMILAR_WORD_PARTS: [&str; 11] =
    ["criteri", "judg", "check", "evaluat", "기준", "심사", "판정", "검사", "평가", "채점", "점검"];

/// The section that a heading's name starts.
pub(super) fn section(name: &str) -> RubricSection {
    let plain: String = name.to_lowercase().chars().map(blank_for_marks).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let numbered = words.iter().position(|word| !word.chars().all(char::is_numeric));
    let words = &words[numbered.unwrap_or(words.len())..];
    if is_only(words, &["criteria", "criterion"], &BESIDE_CRITERIA)
        || KOREAN_CRITERIA.contains(&words.concat().as_str())
    {
        return RubricSection::Criteria;
    }
    if is_only(words, &["check", "checks"], &BESIDE_CHECKS)
        || KOREAN_CHECKS.contains(&words.concat().as_str())
    {
        return RubricSection::Checks;
    }
    if SIMILAR_WORD_PARTS.iter().any(|part| plain.contains(part)) {
        return RubricSection::Unknown(name.trim().to_owned());
    }
    RubricSection::Other
}

/// Emphasis, brackets, colons and emoji are ignored.
fn blank_for_marks(character: char) -> char {
    if character.is_alphanumeric() { character } else { ' ' }
}

fn is_only(words: &[&str], names: &[&str], others: &[&str]) -> bool {
    words.iter().any(|word| names.contains(word))
        && words.iter().all(|word| names.contains(word) || others.contains(word))
}

/// Depth and name of a heading; `None` for other lines. Without a space after its `#`s, or without
/// `#`s, only an unambiguous name makes a heading.
pub(super) fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > 3 {
        return None;
    }
    let name = text.trim_start_matches('#');
    let depth = text.len() - name.len();
    let is_certain = || matches!(section(name), RubricSection::Checks | RubricSection::Criteria);
    match depth {
        0 if text.len() == line.len() && !is_item(text) && is_certain() => Some((2, text)),
        1..=6 if name.starts_with([' ', '\t']) || is_certain() => Some((depth, name)),
        _ => None,
    }
}

fn is_item(text: &str) -> bool {
    ["- ", "* ", "+ "].iter().any(|mark| text.starts_with(mark))
        || text.starts_with(|it: char| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_classified() {
        let check = |names: &[&str], expected: &RubricSection| {
            for name in names {
                assert_eq!(section(name), *expected, "{name}");
            }
        };
        check(
            &[
                "Judge criteria",
                "criteria:",
                "Judging criteria",
                "**Judge criteria**",
                "Judge criteria (blocking)",
                "2. Acceptance Criteria",
                "`Judge` _criteria_ ##",
                "✅ Judge criteria",
                "심사 기준",
                "평가 기준",
                "**평가기준**",
                "채점 항목",
            ],
            &RubricSection::Criteria,
        );
        check(
            &["Checks", "__checks__:", "Automated checks", "검사", "1) 체크"],
            &RubricSection::Checks,
        );
        check(&["Notes", "Background", "참고", ""], &RubricSection::Other);
        for name in ["Criteria (optional)", "How to judge", "Checklist", "기준 아님", "평가"]
        {
            assert_eq!(section(name), RubricSection::Unknown(name.to_owned()));
        }
    }

    #[test]
    fn a_heading_needs_hash_and_space_or_a_known_name() {
        let depth = |line: &str| heading(line).map(|(depth, _)| depth);
        assert_eq!(depth("## Notes"), Some(2));
        assert_eq!(depth("  ### Notes"), Some(3));
        assert_eq!(depth("##Judge criteria"), Some(2));
        assert_eq!(depth("# Judge criteria"), Some(1));
        assert_eq!(depth("Judge criteria:"), Some(2));
        assert_eq!(depth("**Judge criteria**"), Some(2));
        for line in ["#5 must be fixed", "##x", "    ## Checks", "- checks", "1. checks", "text"] {
            assert_eq!(depth(line), None, "{line}");
        }
    }
}
