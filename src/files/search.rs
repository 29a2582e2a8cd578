//! A bounded search through the texts of many files at once. It must not know what is looked for.

use std::path::Path;
use std::time::Instant;

use super::snapshot::read;
use crate::base::path::RelPath;

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<T> {
    /// The files in which there was something, in the order in which they were given.
    pub files: Vec<(RelPath, T)>,
    /// Whether the time was up before all files were read.
    pub is_cut: bool,
}

/// Looks through files below the root, on all processors, until the deadline. What cannot be read
/// as a source text has nothing in it.
pub fn search<T: Send>(
    root: &Path,
    files: &[RelPath],
    deadline: Instant,
    look: &(dyn Fn(&str) -> Option<T> + Sync),
) -> Found<T> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let share = files.len().div_ceil(threads).max(1);
    let search_share = |share: &[RelPath]| {
        let (mut found, mut is_cut) = (Vec::new(), false);
        for path in share {
            if Instant::now() >= deadline {
                is_cut = true;
                break;
            }
            let text = read(root, &path.under(root)).ok().map(|snapshot| snapshot.text);
            found.extend(text.and_then(|text| look(&text)).map(|it| (path.clone(), it)));
        }
        (found, is_cut)
    };
    std::thread::scope(|scope| {
        let shares: Vec<_> =
            files.chunks(share).map(|share| scope.spawn(move || search_share(share))).collect();
        let mut all = Found { files: Vec::new(), is_cut: false };
        for share in shares {
            // A look that panicked has not seen its share.
            let (found, is_cut) = share.join().unwrap_or_else(|_| (Vec::new(), true));
            all.files.extend(found);
            all.is_cut |= is_cut;
        }
        all
    })
}

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
        let found = search(root.path(), &files, later, &look);
        let expected = files[..5].iter().map(|path| (path.clone(), ())).collect();
        assert_eq!(found, Found { files: expected, is_cut: false });
        let cut = search(root.path(), &files, Instant::now(), &look);
        assert_eq!(cut, Found { files: Vec::new(), is_cut: true });
    }
}
