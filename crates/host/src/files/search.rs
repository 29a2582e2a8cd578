//! Parallel, time-bounded search through the texts of many files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use super::canonical;
use super::snapshot::{RootReader, Snapshot};
use crate::processors::processor_count;
use moai_base::evidence::SkippedFile;
use moai_base::path::RelPath;

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMatches<T> {
    /// Files with a match, in the given order.
    pub files: Vec<(RelPath, T)>,
    /// True if the deadline passed before all files were read.
    pub is_truncated: bool,
}

/// Searches files below the root on all processors until the deadline. Files that are not readable
/// source texts have no match.
pub fn search_files<T: Send>(
    root: &Path,
    files: &[RelPath],
    deadline: Instant,
    visit: &(dyn Fn(&str) -> Option<T> + Sync),
) -> FileMatches<T> {
    let threads = processor_count();
    let share = files.len().div_ceil(threads).max(1);
    let reader = &RootReader::open(&canonical(root));
    let search_share = |share: &[RelPath]| {
        let (mut found, mut is_cut) = (Vec::new(), false);
        for path in share {
            if Instant::now() >= deadline {
                is_cut = true;
                break;
            }
            let text = reader.read(path).ok().map(|snapshot| snapshot.text);
            found.extend(text.and_then(|text| visit(&text)).map(|it| (path.clone(), it)));
        }
        (found, is_cut)
    };
    std::thread::scope(|scope| {
        let shares: Vec<_> =
            files.chunks(share).map(|share| scope.spawn(move || search_share(share))).collect();
        let mut all = FileMatches { files: Vec::new(), is_truncated: false };
        for share in shares {
            // A share that panicked is incomplete.
            let (found, is_cut) = share.join().unwrap_or_else(|_| (Vec::new(), true));
            all.files.extend(found);
            all.is_truncated |= is_cut;
        }
        all
    })
}

/// Folds over all files below the root on all processors: each takes a share of the files, in the given
/// order, with its own value. The values are returned in this order. A file that is unreadable, past the
/// deadline, or makes `visit` panic is passed as skipped.
pub fn fold_files<A: Default + Send>(
    root: &Path,
    files: &[RelPath],
    deadline: Instant,
    visit: &(dyn Fn(&mut A, Result<Snapshot, SkippedFile>) + Sync),
) -> Vec<A> {
    let threads = processor_count();
    let reader = &RootReader::open(&canonical(root));
    let fold_share = |share: &[RelPath]| {
        let mut value = A::default();
        for path in share {
            let skipped =
                |reason: &str| SkippedFile { path: path.to_string(), reason: reason.to_owned() };
            let is_late = Instant::now() >= deadline;
            let file = if is_late { Err(skipped(DEADLINE_PASSED)) } else { reader.read(path) };
            // A panic costs only one file.
            let result = catch_unwind(AssertUnwindSafe(|| visit(&mut value, file)));
            if result.is_err() {
                visit(&mut value, Err(skipped(PANICKED)));
            }
        }
        value
    };
    std::thread::scope(|scope| {
        let shares = files.chunks(files.len().div_ceil(threads).max(1));
        let threads: Vec<_> = shares.map(|share| scope.spawn(move || fold_share(share))).collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.map(|value| value.expect("what may panic is caught inside")).collect()
    })
}

/// Why a file was not read before the deadline.
const DEADLINE_PASSED: &str = "time ran out";
const PANICKED: &str = "internal error; see the daemon's log";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_file_is_looked_through_and_a_cut_is_said() {
        let root = tempfile::tempdir().expect("a folder");
        let names: Vec<String> = (0..20).map(|at| format!("{at:02}.py")).collect();
        let path = |name: &String| RelPath::below(root.path(), &root.path().join(name));
        let files: Vec<RelPath> = names.iter().filter_map(path).collect();
        for file in files.iter().take(19) {
            let text = if file.as_str() < "05.py" { "needle" } else { "hay" };
            std::fs::write(file.under(root.path()), text).expect("written");
        }
        let visit = |text: &str| text.contains("needle").then_some(());
        let later = Instant::now() + Duration::from_mins(1);
        let found = search_files(root.path(), &files, later, &visit);
        let expected = files[..5].iter().map(|path| (path.clone(), ())).collect();
        assert_eq!(found, FileMatches { files: expected, is_truncated: false });
        let cut = search_files(root.path(), &files, Instant::now(), &visit);
        assert_eq!(cut, FileMatches { files: Vec::new(), is_truncated: true });
    }

    #[test]
    fn every_file_is_shown_once_in_order_and_what_was_not_read_has_a_reason() {
        let root = tempfile::tempdir().expect("a folder");
        let names = ["a.py", "b.py", "bad.py", "c.py", "gone.py"];
        let path = |name: &&str| RelPath::below(root.path(), &root.path().join(name));
        let files: Vec<RelPath> = names.iter().filter_map(path).collect();
        for file in files.iter().take(4) {
            std::fs::write(file.under(root.path()), file.as_str()).expect("written");
        }
        let visit = |seen: &mut Vec<String>, file: Result<Snapshot, SkippedFile>| match file {
            Ok(file) if &*file.text == "bad.py" => panic!("it cannot do that"),
            Ok(file) => seen.push(file.text.to_string()),
            Err(skipped) => seen.push(format!("{}: {}", skipped.path, skipped.reason)),
        };
        let alone = |file: usize, deadline: Instant| {
            fold_files(root.path(), &files[file..=file], deadline, &visit).concat()
        };
        let later = Instant::now() + Duration::from_mins(1);
        assert_eq!(fold_files(root.path(), &files[..2], later, &visit).concat(), ["a.py", "b.py"]);
        assert_eq!(alone(4, later), ["gone.py: does not exist"]);
        assert_eq!(alone(2, later), ["bad.py: internal error; see the daemon's log"]);
        assert_eq!(alone(0, Instant::now()), ["a.py: time ran out"]);
    }
}
