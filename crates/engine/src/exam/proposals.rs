//! The commands that the files of a project suggest as its checks.

use std::collections::BTreeSet;
use std::path::Path;

use crate::project::Project;
use crate::project::option_files::read_option_file;
use moai_base::limits::PROPOSAL_FOLDERS_MAX;
use moai_base::path::NEVER_WALKED;
use moai_loops::criteria::CheckCommand;
use moai_loops::criteria::propose::{PROBED, ProposalFolder, READ, propose_checks};

/// The commands that the project's files suggest; reads the disk.
pub(crate) fn proposals(project: &Project) -> Vec<CheckCommand> {
    propose_checks(&folders(&project.root))
}

/// The root and its subfolders that proposals consider.
fn folders(root: &Path) -> Vec<ProposalFolder> {
    let top = folder(root, "");
    let below: Vec<ProposalFolder> = top
        .names
        .iter()
        .filter(|name| !name.starts_with('.') && !NEVER_WALKED.contains(&name.as_str()))
        .filter(|name| root.join(name).is_dir())
        .take(PROPOSAL_FOLDERS_MAX)
        .map(|name| folder(root, name))
        .collect();
    std::iter::once(top).chain(below).collect()
}

fn folder(root: &Path, path: &str) -> ProposalFolder {
    let at = root.join(path);
    let entries = at.read_dir().into_iter().flatten().flatten();
    let mut names: BTreeSet<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.extend(PROBED.into_iter().filter(|name| at.join(name).exists()).map(str::to_owned));
    let texts = READ
        .into_iter()
        .filter(|name| names.contains(*name))
        .filter_map(|name| {
            Some((name.to_owned(), read_option_file(&at.join(name)).ok().flatten()?))
        })
        .collect();
    ProposalFolder { path: path.to_owned(), names, texts }
}
