//! Finds files ignored only since the base state, which git does not list as changed. Blocking.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::evidence::work_base::{BaseText, WorkBase};
use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::limits::SOURCE_BYTES_MAX;
use moai_base::path::RelPath;
use moai_base::protected::foreign_folder;
use moai_host::files::{self, IgnoreRules};
use moai_host::git;

/// Changed or new files that became ignored since the base state.
#[derive(Debug, Default)]
pub(crate) struct HiddenFiles {
    pub(crate) files: Vec<RelPath>,
    /// Ignore files whose rules cannot be compared with the base.
    pub(crate) skipped: Vec<SkippedFile>,
}

impl HiddenFiles {
    pub(crate) fn find(project: &Project, base: &WorkBase, deleted: &[RelPath]) -> Self {
        let root = &project.root;
        let mut hidden = Self::default();
        let mut rule_files: BTreeSet<RelPath> =
            files::walk_names(root, &IgnoreRules::is_ignore_file).into_iter().collect();
        rule_files.extend(deleted.iter().filter(|path| IgnoreRules::is_ignore_file(path)).cloned());
        let (mut before, mut now) = (IgnoreRules::default(), IgnoreRules::default());
        let mut has_changed = false;
        for (path, text) in base.texts(&rule_files) {
            let text_now = read_text(root, &path);
            if let Some(text) = &text_now {
                now.add_file(&path, text);
            }
            match text {
                // No checkpoint holds an ignore file that excludes itself.
                BaseText::Absent | BaseText::Unknown(_) if base.is_older(&path) => {
                    before.add_file(&path, text_now.as_deref().unwrap_or_default());
                }
                BaseText::Text(text) => {
                    has_changed |= text_now.as_deref() != Some(&*text);
                    before.add_file(&path, &text);
                }
                BaseText::Absent => has_changed = true,
                BaseText::Unknown(_) if now.excludes(&path) => has_changed = true,
                BaseText::Unknown(reason) => {
                    let reason =
                        format!("the files it excluded at the start are unknown: {reason}");
                    hidden.skipped.push(SkippedFile { path: path.to_string(), reason });
                }
            }
        }
        if has_changed {
            hidden.files = newly_ignored(project, base, &before, &now);
        }
        hidden
    }
}

fn newly_ignored(
    project: &Project,
    base: &WorkBase,
    before: &IgnoreRules,
    now: &IgnoreRules,
) -> Vec<RelPath> {
    let root = &project.root;
    let private = private_rules(root);
    let is_hidden = |path: &RelPath| {
        project.has_sensor(path)
            && now.excludes(path)
            && !before.excludes(path)
            && !private.excludes(path)
            && foreign_folder(path).is_none()
            && files::is_real_path(root, path)
    };
    let hidden: BTreeSet<RelPath> = files::walk_names(root, &is_hidden).into_iter().collect();
    let texts: BTreeMap<RelPath, BaseText> = base.texts(&hidden);
    hidden
        .into_iter()
        .filter(|path| match texts.get(path) {
            Some(BaseText::Text(text)) => read_text(root, path).as_deref() != Some(&**text),
            _ => !base.is_older(path),
        })
        .collect()
}

/// Git's ignore rules outside the working tree. The exam compares them.
fn private_rules(root: &Path) -> IgnoreRules {
    let mut rules = IgnoreRules::default();
    let [ignored, _] = git::local_ignore_rules(root);
    if let Some((path, bytes)) = RelPath::parse(".gitignore").zip(ignored) {
        rules.add_file(&path, &String::from_utf8_lossy(&bytes));
    }
    rules
}

fn read_text(root: &Path, path: &RelPath) -> Option<String> {
    let bytes = files::read_regular(&path.under(root), SOURCE_BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
