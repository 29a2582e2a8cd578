//! Valid samples: files of this checkout, and texts of formats that it has no file of.

use std::fs;
use std::path::{Path, PathBuf};

/// A text as a sample.
pub(crate) fn texts(samples: &[&str]) -> Vec<Vec<u8>> {
    samples.iter().map(|sample| sample.as_bytes().to_vec()).collect()
}

/// Every file with this extension below a folder of the checkout, in a fixed order; of more than `count_max`
/// only some, evenly.
pub(crate) fn files(folder: &str, ending: &str, count_max: usize) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    list(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), ending, &mut found);
    found.sort();
    let step = found.len().div_ceil(count_max).max(1);
    let chosen = found.iter().step_by(step);
    chosen.map(|file| fs::read(file).expect("a file of the checkout")).collect()
}

fn list(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the checkout").flatten() {
        let path = entry.path();
        if path.is_dir() {
            list(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}
