//! Detects renamed files of the base state, so that their earlier findings count as older. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::evidence::work_base::BaseText;
use moai_base::limits::RENAME_PAIRS_MAX;
use moai_base::path::RelPath;
use moai_host::files::Snapshot;

/// The lowest share of equal lines of a renamed file, in percent: git's default.
const RENAME_LINES_MIN_PERCENT: usize = 50;

/// The earlier paths of created files: each is the deleted file with the same extension and the most
/// equal lines, at least half. No deleted file is used twice. Beyond [`RENAME_PAIRS_MAX`] pairs all
/// files count as new.
pub(crate) fn renamed(
    created: &[&Snapshot],
    deleted: &BTreeMap<RelPath, BaseText>,
) -> BTreeMap<RelPath, RelPath> {
    let deleted: Vec<(&RelPath, &str)> = deleted
        .iter()
        .filter_map(|(path, text)| match text {
            BaseText::Text(text) if !text.trim().is_empty() => Some((path, &**text)),
            _ => None,
        })
        .collect();
    if created.len().saturating_mul(deleted.len()) > RENAME_PAIRS_MAX {
        return BTreeMap::new();
    }
    let mut pairs: Vec<(usize, &RelPath, &RelPath)> = Vec::new();
    for new in created {
        let same_kind = deleted.iter().filter(|(path, _)| path.extension() == new.path.extension());
        for (path, text) in same_kind {
            let share = equal_lines_percent(text, &new.text);
            if share >= RENAME_LINES_MIN_PERCENT {
                pairs.push((share, &new.path, path));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.cmp(b)));
    let mut renamed = BTreeMap::new();
    let mut used = BTreeSet::new();
    for (_, new, old) in pairs {
        if !renamed.contains_key(new) && used.insert(old) {
            renamed.insert(new.clone(), old.clone());
        }
    }
    renamed
}

/// The share of the longer text's lines that both texts have, in any order and without empty lines.
fn equal_lines_percent(one: &str, other: &str) -> usize {
    let longest = count_lines(one).max(count_lines(other));
    let mut left: HashMap<&str, usize> = HashMap::new();
    for line in one.lines().filter(|line| !line.trim().is_empty()) {
        *left.entry(line).or_default() += 1;
    }
    let mut equal = 0;
    for line in other.lines() {
        if let Some(count @ 1..) = left.get_mut(line) {
            *count -= 1;
            equal += 1;
        }
    }
    equal * 100 / longest.max(1)
}

fn count_lines(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::hash::ContentHash;

    fn path(name: &str) -> RelPath {
        RelPath::parse(name).expect("a relative path")
    }

    fn file(name: &str, text: &str) -> Snapshot {
        Snapshot {
            path: path(name),
            text: text.into(),
            hash: ContentHash::of_bytes(text.as_bytes()),
        }
    }

    fn check(created: &[(&str, &str)], gone: &[(&str, &str)], expected: &[(&str, &str)]) {
        let created: Vec<Snapshot> = created.iter().map(|(name, text)| file(name, text)).collect();
        let gone = gone.iter().map(|(name, text)| (path(name), BaseText::Text((*text).into())));
        let expected = expected.iter().map(|(new, old)| (path(new), path(old))).collect();
        let created: Vec<&Snapshot> = created.iter().collect();
        assert_eq!(renamed(&created, &gone.collect()), expected);
    }

    #[test]
    fn a_file_that_keeps_half_of_its_lines_was_renamed() {
        check(&[("b.py", "1\n2\n")], &[("a.py", "1\n2\n")], &[("b.py", "a.py")]);
        check(&[("b.py", "1\n2\n3\n4\n")], &[("a.py", "1\n2\n")], &[("b.py", "a.py")]);
        check(&[("b.py", "1\n2\n3\n4\n5\n")], &[("a.py", "1\n2\n")], &[]);
        check(&[("b.ts", "1\n2\n")], &[("a.py", "1\n2\n")], &[]);
        check(&[("b.py", "\n")], &[("a.py", "\n")], &[]);
    }

    #[test]
    fn the_best_pair_comes_first_and_a_deleted_file_has_one_new_name() {
        check(
            &[("b.py", "1\n2\n3\n"), ("c.py", "1\n2\n3\n4\n")],
            &[("a.py", "1\n2\n3\n4\n")],
            &[("c.py", "a.py")],
        );
    }
}
