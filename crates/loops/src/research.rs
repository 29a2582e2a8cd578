//! The gate of the research phase: the first iteration of a loop thinks before it writes, and
//! records the results in `progress.txt`.

use super::fields::{self, HandoffField};
use moai_base::limits::{APPROACH_CHARS_MIN, CONFIDENCE_MIN};

/// The state of the recorded research.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResearchGate {
    /// All required fields are filled in.
    Passed,
    /// The missing fields, one line each.
    Missing(Vec<String>),
}

/// Parses a `progress.txt`; `None` if it cannot be read.
#[must_use]
pub fn research_gate(progress: Option<&str>) -> ResearchGate {
    let Some(text) = progress else {
        return ResearchGate::Missing(vec!["progress.txt is not there".to_owned()]);
    };
    let missing: Vec<String> =
        [approach(text), considered(text), confidence(text)].into_iter().flatten().collect();
    if missing.is_empty() { ResearchGate::Passed } else { ResearchGate::Missing(missing) }
}

fn filled(text: &str, field: HandoffField) -> String {
    let text = fields::last_value(text, field).unwrap_or_default();
    if fields::is_hint(&text) { String::new() } else { text }
}

fn approach(text: &str) -> Option<String> {
    let text = filled(text, HandoffField::Approach);
    // Blanks do not count as text.
    let count = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().count();
    (count < APPROACH_CHARS_MIN).then(|| {
        format!("APPROACH has {count} characters; at least {APPROACH_CHARS_MIN} are needed")
    })
}

fn considered(text: &str) -> Option<String> {
    let text = filled(text, HandoffField::ApproachesConsidered);
    let mut entries = text.lines().filter_map(fields::bullet);
    // The form has `[approach A]: [why rejected]`.
    let is_hint = |entry: &str| entry.split(": ").all(fields::is_hint);
    let is_there = entries.any(|entry| !fields::is_empty_placeholder(entry) && !is_hint(entry));
    let reason =
        "APPROACHES_CONSIDERED has no entry; at least one line \"- way: why not\" is needed";
    (!is_there).then(|| reason.to_owned())
}

fn confidence(text: &str) -> Option<String> {
    let text = filled(text, HandoffField::Confidence);
    match percentage(&text) {
        Some(number) if number >= CONFIDENCE_MIN => None,
        Some(number) => Some(format!(
            "CONFIDENCE is {number}; below {CONFIDENCE_MIN} more research is needed first"
        )),
        None => Some(format!("CONFIDENCE is no whole number from {CONFIDENCE_MIN} to 100")),
    }
}

/// An integer up to 100, alone or as `75 %`, `75/100` or `75 (why)`.
fn percentage(text: &str) -> Option<u32> {
    let text = text.trim_start_matches(|character: char| "*_~≈ ".contains(character));
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let after = rest.trim_start_matches(['*', '_']);
    // `0.75` has another scale, and `30-100` is a range.
    let mut next = after.chars();
    let is_other = matches!(next.next(), Some('.' | ',' | '-' | '–' | '~'))
        && next.next().is_some_and(|character| character.is_ascii_digit());
    digits.parse().ok().filter(|number| *number <= 100 && !is_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPROACH: &str =
        "Read the parser first, then split it by token kind, because tests follow.";

    fn missing(text: &str) -> String {
        match research_gate(Some(text)) {
            ResearchGate::Passed => String::new(),
            ResearchGate::Missing(lines) => lines.join("; "),
        }
    }

    fn file(approach: &str, considered: &str, confidence: &str) -> String {
        format!(
            "ITERATION: 1 (research phase)\n\nRISKS:\n- none\n\nAPPROACHES_CONSIDERED:\n\
             {considered}\n\nAPPROACH:\n{approach}\n\nCONFIDENCE: {confidence}\n"
        )
    }

    #[test]
    fn a_filled_form_passes_with_any_line_ends_and_in_korean() {
        let text = file(APPROACH, "- rewrite: too large", "30");
        assert_eq!(missing(&text), "");
        assert_eq!(missing(&text.replace('\n', "\r\n")), "");
        assert_eq!(missing(&text.to_lowercase()), "");
        assert_eq!(missing(&file(APPROACH, "* rewrite: no", "**75**/100")), "");
        let approach = "토큰 종류마다 파서를 나누고 먼저 실패하는 시험을 쓴 다음에 구현을 옮긴다. \
                        그래야 되돌리기 쉽고 검증하기도 쉽기 때문이다.";
        let korean =
            format!("고려한 접근：\n- 다시 쓰기: 너무 크다\n접근:\n{approach}\n확신도: 60 %\n");
        assert_eq!(missing(&korean), "");
    }

    #[test]
    fn each_bound_is_exact_and_named() {
        let exact = "x".repeat(APPROACH_CHARS_MIN);
        assert_eq!(missing(&file(&exact, "- a: b", "30")), "");
        assert!(missing(&file(&exact[1..], "- a: b", "30")).contains("APPROACH has 49 characters"));
        let blank = format!("x{}x", " ".repeat(60));
        assert!(missing(&file(&blank, "- a: b", "30")).contains("APPROACH has 3 characters"));
        assert!(missing(&file(&exact, "none weighed", "30")).contains("APPROACHES_CONSIDERED"));
        assert!(missing(&file(&exact, "- a: b", "29")).contains("CONFIDENCE is 29"));
        for odd in ["high", "", "0.75", "[30–100]", "30-100", "101"] {
            assert!(missing(&file(&exact, "- a: b", odd)).contains("no whole number"), "{odd}");
        }
    }

    #[test]
    fn an_empty_a_missing_and_a_copied_form_lack_everything() {
        let count = |text: Option<&str>| match research_gate(text) {
            ResearchGate::Passed => 0,
            ResearchGate::Missing(lines) => lines.len(),
        };
        assert_eq!(count(None), 1);
        assert_eq!(count(Some("")), 3);
        let form = file(
            "[one paragraph: what, in what order, and why over alternatives]",
            "- [approach A]: [why rejected]",
            "[30–100]",
        );
        assert_eq!(count(Some(&form)), 3);
    }

    #[test]
    fn the_newest_of_several_entries_counts() {
        let text = file(APPROACH, "- a: b", "20") + "\nCONFIDENCE: 55\n";
        assert_eq!(missing(&text), "");
    }
}
