//! Checks a judge's quotes against the change, because a model that has not read the code cannot
//! quote it.

use super::change::{ReviewChange, ReviewFile, TextView};
use super::hunks::lines_of;
use super::verdict::{CriterionRuling, JudgeAnswer, Ruling, RulingDoubt, SourceQuote};
use moai_base::foreign_text::escape_hidden;
use moai_base::limits::{JUDGE_QUOTE_CHARS_MIN, JUDGE_QUOTE_LINES_APART_MAX};
use moai_base::redaction::redacted;

/// Drops invalid quotes; a criterion ruled met without a valid quote becomes unclear.
pub fn verify_quotes(answer: &mut JudgeAnswer, change: &ReviewChange) {
    for ruled in &mut answer.rulings {
        let quoted = ruled.quotes.len();
        ruled.quotes.retain(|quote| is_quote_valid(quote, change));
        if ruled.ruling == Ruling::Met && ruled.quotes.is_empty() {
            let doubt = if quoted == 0 { RulingDoubt::NoQuote } else { RulingDoubt::WrongQuote };
            *ruled =
                CriterionRuling { ruling: Ruling::Unclear, doubt: Some(doubt), ..ruled.clone() };
        }
    }
}

fn is_quote_valid(quote: &SourceQuote, change: &ReviewChange) -> bool {
    let quoted_text = normalize_whitespace(&strip_line_marks(&quote.text));
    if quoted_text.chars().filter(|it| !it.is_whitespace()).count() < JUDGE_QUOTE_CHARS_MIN {
        return false;
    }
    let file = change.files.iter().find(|file| file.path == quote.path);
    file.is_some_and(|file| texts(file).any(|text| occurs_near(&quoted_text, quote, text)))
}

/// Both sides in both views, because deleted code can be quoted too.
fn texts(file: &ReviewFile) -> impl Iterator<Item = &str> {
    let sides = [&file.after, &file.before].into_iter().flatten();
    sides.flat_map(|text| [text.in_view(TextView::Full), text.in_view(TextView::Code)])
}

fn occurs_near(quoted_text: &str, quote: &SourceQuote, text: &str) -> bool {
    let lines = lines_of(text);
    let [start, end] =
        [quote.line_start, quote.line_end].map(|line| usize::try_from(line).unwrap_or(usize::MAX));
    let from = start.saturating_sub(1 + JUDGE_QUOTE_LINES_APART_MAX);
    let to = end.saturating_add(JUDGE_QUOTE_LINES_APART_MAX).min(lines.len());
    lines.get(from..to).is_some_and(|near| {
        let near = escape_hidden(&near.join("\n"));
        // The model was shown the text without its secrets.
        normalize_whitespace(&near).contains(quoted_text)
            || normalize_whitespace(&redacted(&near)).contains(quoted_text)
    })
}

/// The quote without the marks and line numbers that its lines were shown with.
fn strip_line_marks(quote: &str) -> String {
    quote
        .lines()
        .map(|line| {
            let rest = line.trim_start().trim_start_matches(['+', '-']).trim_start();
            let after_digits = rest.trim_start_matches(|it: char| it.is_ascii_digit());
            let is_numbered = after_digits.len() < rest.len() && after_digits.starts_with('|');
            if is_numbered { after_digits[1..].to_owned() } else { line.to_owned() }
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// The text with whitespace collapsed.
fn normalize_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::change::tests::{change, file};
    use super::super::verdict::tests::{answer, parse};
    use super::*;

    const NOW: &str =
        "\n\n\n\n\n\n\nfn greet(name: &str) -> String {\n    format!(\"hi {name}\")\n}\n";

    fn check_quote(path: &str, line: u32, quote: &str, expected: (Ruling, Option<RulingDoubt>)) {
        let change = change(vec![
            file("src/a.rs", Some("fn gone() {}\n"), Some(NOW)),
            file("old.rs", Some("fn deleted_one() {}\n"), None),
        ]);
        let evidence =
            json!([{"path": path, "line_start": line, "line_end": line, "quote": quote}]);
        let mut answer = parse(&answer(&["C1"], &evidence).to_string(), &["C1"]).expect("usable");
        verify_quotes(&mut answer, &change);
        assert_eq!(
            (answer.rulings[0].ruling, answer.rulings[0].doubt),
            expected,
            "{path}:{line} {quote}"
        );
    }

    #[test]
    fn a_quote_must_occur_near_its_stated_lines() {
        let valid = (Ruling::Met, None);
        let wrong = (Ruling::Unclear, Some(RulingDoubt::WrongQuote));
        check_quote("src/a.rs", 8, "fn greet(name: &str) -> String {", valid);
        check_quote("src/a.rs", 8, "fn   greet(name: &str)\n -> String {", valid);
        check_quote("src/a.rs", 11, "fn greet(name: &str)", valid);
        check_quote("src/a.rs", 5, "fn greet(name: &str)", valid);
        check_quote("src/a.rs", 4, "fn greet(name: &str)", wrong);
        check_quote("src/a.rs", 12, "fn greet(name: &str)", wrong);
        check_quote(
            "src/a.rs",
            8,
            "+   8| fn greet(name: &str) -> String {\n+   9|     format!(",
            valid,
        );
        check_quote("src/a.rs", 1, "fn gone() {}", valid);
        check_quote("old.rs", 1, "fn deleted_one()", valid);
        check_quote("src/a.rs", 8, "fn greet_all(names: &[&str])", wrong);
        check_quote("src/b.rs", 8, "fn greet(name: &str)", wrong);
        check_quote("src/a.rs", 900, "fn greet(name: &str)", wrong);
        check_quote("src/a.rs", u32::MAX, "fn greet(name: &str)", wrong);
        check_quote("src/a.rs", 10, "}", wrong);
    }

    #[test]
    fn met_without_a_quote_is_unclear_and_unmet_needs_no_quote() {
        let change = change(vec![file("src/a.rs", None, Some(NOW))]);
        let mut answer_json = answer(&["C1", "C2"], &json!([]));
        answer_json["criteria"][1]["verdict"] = json!("unmet");
        let mut answer = parse(&answer_json.to_string(), &["C1", "C2"]).expect("usable");
        verify_quotes(&mut answer, &change);
        let rulings: Vec<_> =
            answer.rulings.iter().map(|ruled| (ruled.ruling, ruled.doubt)).collect();
        assert_eq!(rulings, [(Ruling::Unclear, Some(RulingDoubt::NoQuote)), (Ruling::Unmet, None)]);
    }
}
