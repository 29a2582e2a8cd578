//! Finds entries among git's objects that are not regular files. A folder of single objects may hold many, so
//! each is listed again only after it has changed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::special_files::{UnreadFile, special, special_below};
use super::{path_of, read_some};
use moai_base::limits::{GIT_ALTERNATES_MAX, GIT_OBJECT_FOLDERS_MAX};

/// The folder with packed objects.
const PACKS: &str = "pack";
/// The file that lists other object folders.
const ALTERNATES: &str = "info/alternates";
/// Change times of files have this precision at least.
const PRECISION: Duration = Duration::from_millis(100);

/// A folder's device, inode and change time in nanoseconds since the epoch, which no program sets.
type FolderStamp = (u64, u64, i128);

thread_local! {
    /// Folders that held regular files only, with their stamps at that time.
    static REGULAR: RefCell<BTreeMap<PathBuf, FolderStamp>> = const { RefCell::new(BTreeMap::new()) };
}

/// The first object in this folder, or in its alternates, that must not be read.
pub(super) fn find_special_object(objects: &Path) -> Option<UnreadFile> {
    REGULAR.with_borrow_mut(|regular| {
        if regular.len() > GIT_OBJECT_FOLDERS_MAX {
            regular.clear();
        }
        find_special_among(objects, regular)
    })
}

fn find_special_among(
    objects: &Path,
    regular: &mut BTreeMap<PathBuf, FolderStamp>,
) -> Option<UnreadFile> {
    let mut open = vec![objects.to_path_buf()];
    let mut folders_left = GIT_ALTERNATES_MAX;
    while let Some(objects) = open.pop() {
        for entry in objects.read_dir().into_iter().flatten().flatten() {
            let is_of_objects = entry.file_name().len() == 2;
            let found = is_of_objects.then(|| special_in_folder(&entry.path(), regular));
            if let Some(found) = found.flatten() {
                return Some(found);
            }
        }
        let alternates = objects.join(ALTERNATES);
        let found = special_below(objects.join(PACKS)).or_else(|| special(alternates.clone()));
        if found.is_some() {
            return found;
        }
        let text = read_some(&alternates).unwrap_or_default();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if folders_left == 0 {
                return Some(UnreadFile::Including(alternates));
            }
            folders_left -= 1;
            open.push(objects.join(path_of(line)));
        }
    }
    None
}

fn special_in_folder(
    folder: &Path,
    regular: &mut BTreeMap<PathBuf, FolderStamp>,
) -> Option<UnreadFile> {
    let metadata = folder.metadata().ok()?;
    let changed_ns =
        i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
    let stamp = (metadata.dev(), metadata.ino(), changed_ns);
    if regular.get(folder) == Some(&stamp) {
        return None;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut is_regular = true;
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            is_regular = false;
            if let Some(found) = special(entry.path()) {
                return Some(found);
            }
        }
    }
    let settled_ns = now.saturating_sub(PRECISION).as_nanos();
    if is_regular && i128::try_from(settled_ns).is_ok_and(|settled_ns| changed_ns < settled_ns) {
        regular.insert(folder.to_path_buf(), stamp);
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn pipes_and_devices_among_objects_are_found_whenever_they_come() {
        let temp = tempfile::tempdir().unwrap();
        let objects = temp.path().join("objects");
        let other = temp.path().join("other");
        for folder in [&objects, &other] {
            fs::create_dir_all(folder.join("ab")).unwrap();
            fs::create_dir_all(folder.join("info")).unwrap();
            fs::create_dir_all(folder.join("pack")).unwrap();
            fs::write(folder.join("ab/cdef"), "object").unwrap();
        }
        fs::write(objects.join(ALTERNATES), "../other\n").unwrap();
        std::thread::sleep(2 * PRECISION);
        for name in ["objects/ab/cdef", "other/ab/cdef", "other/pack/a.idx", "objects/ab/new"] {
            for _ in 0..2 {
                assert_eq!(find_special_object(&objects), None, "{name}");
            }
            let path = temp.path().join(name);
            let before = fs::read(&path).ok();
            let _ = fs::remove_file(&path);
            symlink("/dev/zero", &path).unwrap();
            assert!(find_special_object(&objects).is_some(), "{name}");
            fs::remove_file(&path).unwrap();
            if let Some(bytes) = before {
                fs::write(&path, bytes).unwrap();
            }
        }
        // The target of a link is checked each time.
        let target = temp.path().join("target");
        fs::write(&target, "object").unwrap();
        symlink(&target, objects.join("ab/linked")).unwrap();
        std::thread::sleep(2 * PRECISION);
        assert_eq!(find_special_object(&objects), None);
        fs::remove_file(&target).unwrap();
        symlink("/dev/zero", &target).unwrap();
        assert!(find_special_object(&objects).is_some());
        fs::remove_file(objects.join("ab/linked")).unwrap();
        fs::write(objects.join(ALTERNATES), "../objects\n").unwrap();
        assert!(find_special_object(&objects).is_some(), "it names itself");
    }
}
