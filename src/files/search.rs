//! Bounded looks through the texts of many files at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use super::snapshot::{Snapshot, read_snapshot};
use crate::base::evidence::SkippedFile;
use crate::base::path::RelPath;

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMatches<T> {
    /// The files in which there was something, in the order in which they were given.
    pub files: Vec<(RelPath, T)>,
    /// Whether the time was up before all files were read.
    pub is_truncated: bool,
}

/// Looks through files below the root, on all processors, until the deadline. What cannot be read
/// as a source text has nothing in it.
pub fn search_files<T: Send>(
    root: &Path,
    files: &[RelPath],
    deadline: Instant,
    look: &(dyn Fn(&str) -> Option<T> + Sync),
) -> FileMatches<T> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let share = files.len().div_ceil(threads).max(1);
    let search_share = |share: &[RelPath]| {
        let (mut found, mut is_cut) = (Vec::new(), false);
        for path in share {
            if Instant::now() >= deadline {
                is_cut = true;
                break;
            }
            let text = read_snapshot(root, &path.under(root)).ok().map(|snapshot| snapshot.text);
            found.extend(text.and_then(|text| look(&text)).map(|it| (path.clone(), it)));
        }
        (found, is_cut)
    };
    std::thread::scope(|scope| {
        let shares: Vec<_> =
            files.chunks(share).map(|share| scope.spawn(move || search_share(share))).collect();
        let mut all = FileMatches { files: Vec::new(), is_truncated: false };
        for share in shares {
            // A look that panicked has not seen its share.
            let (found, is_cut) = share.join().unwrap_or_else(|_| (Vec::new(), true));
            all.files.extend(found);
            all.is_truncated |= is_cut;
        }
        all
    })
}

/// Shows every file below the root to `look`, on all processors: each takes a share of the files,
/// in the order in which they are given, with a value of its own. The values come back in this
/// order. A file that cannot be read, or not before the deadline, is shown as skipped, and so is
/// one with which `look` panics.
pub fn fold_files<A: Default + Send>(
    root: &Path,
    files: &[RelPath],
    deadline: Instant,
    look: &(dyn Fn(&mut A, Result<Snapshot, SkippedFile>) + Sync),
) -> Vec<A> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let look_at_share = |share: &[RelPath]| {
        let mut value = A::default();
        for path in share {
            let skipped =
                |reason: &str| SkippedFile { path: path.to_string(), reason: reason.to_owned() };
            let is_late = Instant::now() >= deadline;
            let file = if is_late {
                Err(skipped(DEADLINE_PASSED))
            } else {
                read_snapshot(root, &path.under(root))
            };
            // What goes wrong with one file costs that file and no other.
            let looked = catch_unwind(AssertUnwindSafe(|| look(&mut value, file)));
            if looked.is_err() {
                look(&mut value, Err(skipped(PANICKED)));
            }
        }
        value
    };
    std::thread::scope(|scope| {
        let shares = files.chunks(files.len().div_ceil(threads).max(1));
        let threads: Vec<_> =
            shares.map(|share| scope.spawn(move || look_at_share(share))).collect();
        let joined = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined.map(|value| value.expect("what may panic is caught inside")).collect()
    })
}

/// Why a file was not read before the deadline.
const DEADLINE_PASSED: &str = "the time was up";
/// Why a file that was read is not known.
const PANICKED: &str = "internal error; the daemon's log says more";

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
        let look = |text: &str| text.contains("needle").then_some(());
        let later = Instant::now() + Duration::from_mins(1);
        let found = search_files(root.path(), &files, later, &look);
        let expected = files[..5].iter().map(|path| (path.clone(), ())).collect();
        assert_eq!(found, FileMatches { files: expected, is_truncated: false });
        let cut = search_files(root.path(), &files, Instant::now(), &look);
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
        let look = |seen: &mut Vec<String>, file: Result<Snapshot, SkippedFile>| match file {
            Ok(file) if &*file.text == "bad.py" => panic!("it cannot do that"),
            Ok(file) => seen.push(file.text.to_string()),
            Err(skipped) => seen.push(format!("{}: {}", skipped.path, skipped.reason)),
        };
        let alone = |file: usize, deadline: Instant| {
            fold_files(root.path(), &files[file..=file], deadline, &look).concat()
        };
        let later = Instant::now() + Duration::from_mins(1);
        assert_eq!(fold_files(root.path(), &files[..2], later, &look).concat(), ["a.py", "b.py"]);
        assert_eq!(alone(4, later), ["gone.py: does not exist"]);
        assert_eq!(alone(2, later), ["bad.py: internal error; the daemon's log says more"]);
        assert_eq!(alone(0, Instant::now()), ["a.py: the time was up"]);
    }
}
