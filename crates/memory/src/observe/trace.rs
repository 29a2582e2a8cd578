//! Evidence that injections were used: a file, code or name from one appears in a later edit.

use std::collections::BTreeSet;

use moai_base::limits::USED_NAME_CHARS_MIN;

use super::commands::codes_in;
use crate::database::OpenInjection;
use crate::runs::{Run, runs};

/// The files, codes and names in one edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditTrace {
    files: BTreeSet<String>,
    codes: BTreeSet<String>,
    names: BTreeSet<String>,
}

impl EditTrace {
    /// An edit of a file, with the codes of its findings and the lines that it wrote.
    #[must_use]
    pub fn new(path: &str, codes: &[String], written: &str) -> Self {
        let mut names = names_in(written);
        let mut all: BTreeSet<String> = codes.iter().cloned().collect();
        all.extend(codes_in(written));
        names.retain(|name| !all.contains(name));
        Self { files: BTreeSet::from([path.to_owned()]), codes: all, names }
    }

    /// The injections used by this edit.
    #[must_use]
    pub fn used(&self, open: &[OpenInjection]) -> Vec<i64> {
        open.iter().filter(|injection| self.uses(injection)).map(|injection| injection.id).collect()
    }

    fn uses(&self, injection: &OpenInjection) -> bool {
        injection.files.iter().any(|file| self.files.contains(file))
            || injection.codes.iter().any(|code| self.codes.contains(code))
            || names_in(&injection.text).iter().any(|name| self.names.contains(name))
    }
}

/// Names of several words, without separators and in lower case, so that `retry_limit` and
/// `retryLimit` are equal. Single words are left out: they occur everywhere.
fn names_in(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for run in runs(text) {
        let Run::Name(name) = run else { continue };
        for segment in &name.segments {
            let joined = segment.joined().to_lowercase();
            if segment.parts.len() > 1 && joined.chars().count() >= USED_NAME_CHARS_MIN {
                names.insert(joined);
            }
        }
    }
    names
}

/// The lines of `after` that `before` lacks, in their order.
#[must_use]
pub fn written_lines(before: &str, after: &str) -> String {
    let known: BTreeSet<&str> = before.lines().map(str::trim).collect();
    let new = after.lines().filter(|line| !known.contains(line.trim()));
    new.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injection(text: &str, files: &[&str], codes: &[&str]) -> OpenInjection {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        OpenInjection {
            id: 7,
            observation: 1,
            text: text.to_owned(),
            files: owned(files),
            codes: owned(codes),
        }
    }

    #[test]
    fn a_file_a_code_or_a_name_proves_the_use() {
        let edit = EditTrace::new("src/a.ts", &["TS2345".to_owned()], "const x = retryLimit + 1;");
        let is_used = |one: OpenInjection| edit.used(&[one]) == [7];
        assert!(is_used(injection("nothing", &["src/a.ts"], &[])));
        assert!(is_used(injection("nothing", &[], &["TS2345"])));
        assert!(is_used(injection("retry_limit는 3으로 하기로 했다", &[], &[])));
        assert!(!is_used(injection("const x is a word", &["src/b.ts"], &["TS1"])));
        assert!(!is_used(injection("retries are limited", &[], &[])));
    }

    #[test]
    fn only_written_lines_count() {
        let before = "let retryLimit = 3;\nlet a = 1;\n";
        let after = "let retryLimit = 3;\nlet cacheTtl = 2;\n";
        assert_eq!(written_lines(before, after), "let cacheTtl = 2;");
        let edit = EditTrace::new("a.ts", &[], &written_lines(before, after));
        assert!(edit.used(&[injection("the retryLimit is 3", &[], &[])]).is_empty());
        assert_eq!(edit.used(&[injection("CACHE_TTL 문제", &[], &[])]), [7]);
    }
}
