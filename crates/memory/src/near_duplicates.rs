//! Texts that repeat a report: the same failed command with different times, or the same finding
//! again. Only texts by programs are compared this way, never decisions or notes.

use std::collections::BTreeSet;

use moai_base::limits::{
    HEX_NUMBER_CHARS_MIN, NEAR_DUPLICATE_SHARED_PERCENT_MIN, NUMBER_UNIT_CHARS_MAX,
    RANKED_TEXT_BYTES_MAX, SHINGLES_MIN,
};

use crate::observation::{Provenance, StoredObservation, Visibility};
use crate::ranking::ObservationKind;
use crate::runs::{Run, runs};
use crate::tokens::beginning;

pub const COMPARED_KINDS: [ObservationKind; 5] = [
    ObservationKind::Edit,
    ObservationKind::Command,
    ObservationKind::Test,
    ObservationKind::Diagnostic,
    ObservationKind::Blocked,
];

/// Replaces every number.
const NUMBER: &str = "#";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedText {
    /// Identifiers, paths and codes, as written.
    names: BTreeSet<String>,
    /// The words in their order, numbers included.
    words: Vec<String>,
    /// Neighbouring words, with [`NUMBER`] for numbers.
    shingles: BTreeSet<(String, String)>,
}

impl ComparedText {
    /// Reads a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut names = BTreeSet::new();
        let mut words = Vec::new();
        let mut masked = Vec::new();
        for run in runs(beginning(text, RANKED_TEXT_BYTES_MAX)) {
            let word = match run {
                Run::Hangul { word, .. } | Run::Ideographs(word) => word,
                Run::Name(name) => name.raw,
            };
            let is_number = is_number(&word);
            if !is_number && is_name(&word) {
                names.insert(word.clone());
            }
            let word = word.to_lowercase();
            masked.push(if is_number { NUMBER.to_owned() } else { word.clone() });
            words.push(word);
        }
        let pairs = masked.windows(2).filter_map(|pair| match pair {
            [one, other] => Some((one.clone(), other.clone())),
            _ => None,
        });
        Self { names, words, shingles: pairs.collect() }
    }

    /// True if both texts have the same names and differ in few words. Short ones must have the
    /// same words, because there a number is much of the content; in long ones numbers do not
    /// count.
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        if self.names != other.names {
            return false;
        }
        if self.shingles.len().min(other.shingles.len()) < SHINGLES_MIN {
            return self.words == other.words;
        }
        let shared = self.shingles.intersection(&other.shingles).count();
        let all = self.shingles.len() + other.shingles.len() - shared;
        shared * 100 >= all * NEAR_DUPLICATE_SHARED_PERCENT_MIN
    }
}

/// True if an observation may be folded: one by a program, not by a user, not shared with a team,
/// and not imported.
#[must_use]
pub fn is_foldable(observation: &StoredObservation) -> bool {
    COMPARED_KINDS.contains(&observation.kind)
        && observation.provenance != Provenance::User
        && observation.visibility == Visibility::Private
}

/// True if two observations can be duplicates: of one project and kind, about the same files and
/// codes. Edits must also be of one session.
#[must_use]
pub fn are_comparable(one: &StoredObservation, other: &StoredObservation) -> bool {
    one.kind == other.kind
        && one.project.key == other.project.key
        && one.files == other.files
        && one.codes == other.codes
        && one.provenance == other.provenance
        && (one.kind != ObservationKind::Edit || one.session == other.session)
}

/// `12`, `0.32s`, `12:01:33`, `2026-10-01`, `0x7ffd3`, `9f8a3c1e`.
fn is_number(word: &str) -> bool {
    let unit = word.trim_end_matches(|it: char| it.is_ascii_alphabetic() || it == '%');
    let is_measure = unit.starts_with(|it: char| it.is_ascii_digit())
        && word.len() - unit.len() <= NUMBER_UNIT_CHARS_MAX
        && unit.chars().all(|it| it.is_ascii_digit() || ".,:/-_T+".contains(it));
    let hex = word.strip_prefix("0x");
    let digits = hex.unwrap_or(word);
    let is_long = hex.is_some() || digits.len() >= HEX_NUMBER_CHARS_MIN;
    let has_digit = digits.bytes().any(|it| it.is_ascii_digit());
    is_measure || is_long && has_digit && digits.bytes().all(|it| it.is_ascii_hexdigit())
}

/// True if a word is a name and not a word of a language: `parseArgs`, `src/a.rs`, `TS2345`,
/// `HTTP`.
fn is_name(word: &str) -> bool {
    let rest = word.chars().skip(1);
    word.is_ascii()
        && (!word.bytes().all(|it| it.is_ascii_alphabetic())
            || rest.clone().any(|it| it.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of duplicates.
    const SAME: [(&str, &str); 6] = [
        (
            "cargo test failed with exit code 101: test reopens_after_crash ... FAILED; 41 passed; \
             1 failed; finished in 0.32s, see the log of the run at 12:01:33",
            "cargo test failed with exit code 101: test reopens_after_crash ... FAILED; 40 passed; \
             2 failed; finished in 1.7s, see the log of the run at 09:44:02",
        ),
        (
            "npm run build 실패(종료 코드 1): 번들러가 공유 컴포넌트 폴더의 별칭을 찾지 못해서 멈췄다, \
             걸린 시간 12초, 메모리 311 MB, 자세한 내용은 기록 4번",
            "npm run build 실패(종료 코드 1): 번들러가 공유 컴포넌트 폴더의 별칭을 찾지 못해서 멈췄다, \
             걸린 시간 9초, 메모리 298 MB, 자세한 내용은 기록 71번",
        ),
        (
            "segmentation fault at address 0x7ffd3a2 while the worker was reading the queue of the \
             indexer, core dumped as 9f8a3c1e after 3 attempts",
            "segmentation fault at address 0x7ffd911 while the worker was reading the queue of the \
             indexer, core dumped as 01bc22d4 after 5 attempts",
        ),
        (
            "the connection to the cache was refused again while the tests of the cart were running, \
             so that the whole suite had to be stopped by hand",
            "the connection to the cache was refused again while the tests of the cart were running, \
             so that the whole suite had to be stopped early by hand",
        ),
        ("make failed with exit code 2", "make failed with exit code 2."),
        ("src/a.ts: edited total; introduced TS2345", "src/a.ts: edited total, introduced TS2345"),
    ];

    /// Pairs that are not duplicates.
    const OTHER: [(&str, &str); 8] = [
        ("make failed with exit code 2", "make failed with exit code 139"),
        ("port 8080 is taken", "port 9090 is taken"),
        ("src/a.ts: edited total", "src/a.ts: edited sum"),
        ("src/a.ts: edited total", "src/b.ts: edited total"),
        (
            "cargo test failed with exit code 101: test reopens_after_crash ... FAILED; 41 passed; \
             1 failed; finished in 0.32s, see the log of the run",
            "cargo test failed with exit code 101: test keeps_the_order ... FAILED; 41 passed; \
             1 failed; finished in 0.32s, see the log of the run",
        ),
        (
            "the type of the argument does not fit the parameter of the function that is called \
             here, see TS2345 in the file of the cart",
            "the type of the argument does not fit the parameter of the function that is called \
             here, see TS2322 in the file of the cart",
        ),
        (
            "npm run build 실패(종료 코드 1): 번들러가 공유 컴포넌트 폴더의 별칭을 찾지 못해서 멈췄다, 걸린 시간 12초",
            "npm run build 실패(종료 코드 1): 타입 검사가 결제 모듈의 반환값을 읽지 못해서 끝났다, 걸린 시간 12초",
        ),
        (
            "the deployment of the shop was stopped because the health check of the payment service \
             did not answer in time",
            "the deployment of the shop was stopped because the certificate of the mail service had \
             been revoked by its owner",
        ),
    ];

    #[test]
    fn reports_that_differ_in_measures_or_a_word_say_the_same() {
        for (one, other) in SAME {
            let (one, other) = (ComparedText::of(one), ComparedText::of(other));
            assert!(one.says_the_same(&other) && other.says_the_same(&one), "{one:?}\n{other:?}");
        }
    }

    #[test]
    fn another_name_code_or_reason_says_something_else() {
        for (one, other) in OTHER {
            let (one, other) = (ComparedText::of(one), ComparedText::of(other));
            assert!(!one.says_the_same(&other) && !other.says_the_same(&one), "{one:?}\n{other:?}");
        }
    }

    #[test]
    fn numbers_are_known_from_names() {
        for number in [
            "12",
            "0.32s",
            "12:01:33",
            "2026-10-01T08:00:01Z",
            "0x7ffd3",
            "9f8a3c1e",
            "45%",
            "3/10",
        ] {
            assert!(is_number(number), "{number}");
        }
        for name in ["TS2345", "v0.1.0", "abc", "decade", "utf8", "a1", "1password"] {
            assert!(!is_number(name), "{name}");
        }
        assert!(is_name("parseArgs") && is_name("src/a.rs") && is_name("HTTP") && is_name("a_b"));
        assert!(!is_name("failed") && !is_name("The") && !is_name("실패"));
    }
}
