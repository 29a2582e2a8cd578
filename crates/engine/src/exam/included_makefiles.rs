//! Finds the makefiles that the makefiles of the checks include.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use moai_base::limits::{EXAM_FILE_BYTES_MAX, EXAM_FILES_MAX};
use moai_base::path::{RelPath, normalize};
use moai_guard::run_files::MAKEFILES;
use moai_host::files;
use moai_loops::criteria::CheckPlan;
use moai_loops::exam::makefiles::{included_patterns, is_dependency_list};
use moai_loops::exam::role;

/// The included makefiles that exist and have no other role in an exam, without those that only list
/// dependencies. Searched from the root and the folders where checks run.
pub(super) fn included_makefiles(root: &Path, plan: &CheckPlan) -> BTreeSet<RelPath> {
    let folders = plan.commands.iter().map(|command| command.folder.as_str());
    let folders: BTreeSet<&str> = std::iter::once("").chain(folders).collect();
    let mut found = BTreeSet::new();
    for folder in folders {
        let folder = root.join(folder);
        let mut open: Vec<PathBuf> = MAKEFILES.iter().map(|name| folder.join(name)).collect();
        let mut read = BTreeSet::new();
        while let Some(makefile) = open.pop() {
            if read.len() >= EXAM_FILES_MAX || !read.insert(makefile.clone()) {
                continue;
            }
            let Ok(bytes) = files::read_regular(&makefile, EXAM_FILE_BYTES_MAX) else { continue };
            let path = RelPath::below(root, &makefile).filter(|path| role(path).is_none());
            found.extend(path.filter(|_| !is_dependency_list(&bytes)));
            for pattern in included_patterns(&String::from_utf8_lossy(&bytes)) {
                let included = files::expand_pattern(&folder, &pattern, EXAM_FILES_MAX);
                open.extend(included.iter().map(|file| normalize(file)));
            }
        }
    }
    found
}
