//! The rules of one project: the built-in ones, those in `.moai/rules`, those of an `sgconfig.yml` at its
//! root, and the folders of the options. Reread when one of these files changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::{Engine, run_in_place};
use crate::ledger::{KnownRules, RuleFolder, RuleInputs};
use crate::project::option_files::read_option_file;
use moai_base::limits::{RULE_FILES_MAX, RULE_TEXTS_BYTES_MAX};
use moai_base::path::RelPath;
use moai_config::Config;
use moai_host::files;
use moai_scan::{RuleSet, RuleSources, ScanFolders};

/// Rules of the project, below its root.
const RULES_FOLDER: &str = ".moai/rules";
/// Configuration files of the ast-grep program; the first existing one counts.
const CONFIG_FILES: [&str; 2] = ["sgconfig.yml", "sgconfig.yaml"];

/// Loads the rules of a root; cached while their files and options are unchanged.
pub(crate) fn load_rules(engine: &Engine, root: &Path, config: &Config) -> Arc<RuleSet> {
    let state = RuleInputs::read_inputs(root, config, &NamedRuleFolders::default());
    if state.is_plain() {
        return RuleSet::built_in_shared();
    }
    let known = engine.ledger().root(root).rules.clone();
    if let Some(known) = known.filter(|known| known.state == state) {
        return Arc::clone(&known.set);
    }
    let set = Arc::new(run_in_place(|| RuleSet::new(state.sources(root))));
    if set.is_provisional() {
        return set;
    }
    let known = KnownRules { state, set: Arc::clone(&set) };
    engine.ledger().root(root).rules = Some(Arc::new(known));
    set
}

/// Rule folders in a caller's request.
#[derive(Debug, Default)]
pub(crate) struct NamedRuleFolders {
    pub(crate) folders: Vec<PathBuf>,
    /// True if they replace all other rules.
    pub(crate) is_exclusive: bool,
}

/// The rules of a root with the folders of a request. The error is one line: a folder is missing or has no
/// rule file.
pub(crate) fn rules_with_folders(
    root: &Path,
    config: &Config,
    named: &NamedRuleFolders,
) -> Result<RuleSet, String> {
    rule_sources(root, config, named).map(RuleSet::new)
}

/// The sources of [`rules_with_folders`].
pub(crate) fn rule_sources(
    root: &Path,
    config: &Config,
    named: &NamedRuleFolders,
) -> Result<RuleSources, String> {
    if let Some(folder) = named.folders.iter().find(|folder| !folder.is_dir()) {
        return Err(format!("rules {}: not a folder", folder.display()));
    }
    let state = RuleInputs::read_inputs(root, config, named);
    for folder in &named.folders {
        let path = folder.canonicalize().ok();
        let rules = state.rules.iter().find(|rules| Some(&rules.path) == path.as_ref());
        if rules.is_some_and(|rules| rules.stamps.is_empty()) {
            return Err(format!("rules {}: no .yml or .yaml file is in it", folder.display()));
        }
    }
    Ok(RuleSources { built_in: !named.is_exclusive, ..state.sources(root) })
}

impl RuleInputs {
    fn read_inputs(root: &Path, config: &Config, extra: &NamedRuleFolders) -> Self {
        let mut state = Self {
            config: None,
            unreadable: Vec::new(),
            rules: Vec::new(),
            utils: Vec::new(),
            rule_dirs: config.rule_dirs.clone(),
            disabled: config.disabled_rules.clone(),
            severities: config.rule_severities.clone(),
        };
        for name in CONFIG_FILES {
            match read_option_file(&root.join(name)) {
                Ok(None) => continue,
                Ok(Some(text)) => state.config = Some((name.to_owned(), text)),
                Err(reason) => state.unreadable.push((name.to_owned(), reason)),
            }
            break;
        }
        let named = state.config.as_ref().map(|(_, text)| ScanFolders::parse(text));
        let named = named.unwrap_or_default();
        let mut folders = Vec::new();
        if !extra.is_exclusive {
            let own = root.join(RULES_FOLDER);
            let of_project = own.is_dir().then_some(own);
            folders.extend(of_project.filter(|folder| state.is_of_project(root, folder)));
            folders.extend(config.rule_dirs.iter().map(|dir| root.join(dir)));
            folders.extend(state.project_folders(root, &named.rule_dirs));
        }
        folders.extend(extra.folders.iter().cloned());
        state.rules = folders.iter().filter_map(|folder| state.folder(root, folder)).collect();
        let folders = state.project_folders(root, &named.util_dirs);
        state.utils = folders.iter().filter_map(|folder| state.folder(root, folder)).collect();
        state
    }

    /// Folders that a file of the repository lists, without those outside the root.
    fn project_folders(&mut self, root: &Path, named: &[String]) -> Vec<PathBuf> {
        let folders = named.iter().map(|name| root.join(name));
        folders.filter(|folder| self.is_of_project(root, folder)).collect()
    }

    /// True if a folder is below the root; otherwise records it as unreadable. The content of a rule appears
    /// in messages, so a repository must not make rules of files elsewhere.
    fn is_of_project(&mut self, root: &Path, folder: &Path) -> bool {
        let is_inside = is_below_root(root, folder);
        if !is_inside {
            let reason = "outside the project: rules of the project stay below its root";
            self.unreadable.push((shown(root, folder), reason.to_owned()));
        }
        is_inside
    }

    /// The rule files below a folder; unreadable ones are recorded.
    fn folder(&mut self, root: &Path, folder: &Path) -> Option<RuleFolder> {
        let Ok(path) = folder.canonicalize() else {
            self.unreadable.push((shown(root, folder), "no such folder".to_owned()));
            return None;
        };
        let is_rule = |path: &RelPath| matches!(path.extension().as_deref(), Some("yml" | "yaml"));
        let mut walk = files::walk_files(&path, std::slice::from_ref(&path), &is_rule);
        if walk.files.len() > RULE_FILES_MAX {
            let reason = format!("more than {RULE_FILES_MAX} rule files");
            self.unreadable.push((shown(root, &path), reason));
            walk.files.truncate(RULE_FILES_MAX);
        }
        for skipped in walk.skipped {
            let name = shown(root, &path.join(skipped.path));
            self.unreadable.push((name, skipped.reason));
        }
        let stamps = files::stamp_files(&path, &walk.files);
        Some(RuleFolder { path, stamps })
    }

    /// True if only the built-in rules apply, unchanged.
    fn is_plain(&self) -> bool {
        let has_own =
            self.config.is_some() || !self.rules.is_empty() || !self.unreadable.is_empty();
        !has_own && self.disabled.is_empty() && self.severities.is_empty()
    }

    fn sources(&self, root: &Path) -> RuleSources {
        let mut unreadable = self.unreadable.clone();
        let mut texts = |folders: &[RuleFolder]| {
            // A folder may be listed twice or be nested in another.
            let (mut texts, mut seen) = (Vec::new(), BTreeSet::new());
            let mut bytes_left = RULE_TEXTS_BYTES_MAX;
            for folder in folders {
                for file in folder.stamps.keys() {
                    let path = file.under(&folder.path);
                    let name = shown(root, &path);
                    if !seen.insert(path.clone()) {
                        continue;
                    }
                    match files::read_snapshot(&folder.path, &path) {
                        Ok(snapshot) if snapshot.text.len() > bytes_left => {
                            let reason =
                                format!("rule files are {RULE_TEXTS_BYTES_MAX} bytes at most");
                            unreadable.push((name, reason));
                        }
                        Ok(snapshot) => {
                            bytes_left -= snapshot.text.len();
                            texts.push((name, snapshot.text.to_string()));
                        }
                        Err(skipped) => unreadable.push((name, skipped.reason)),
                    }
                }
            }
            texts
        };
        let (rules, utils) = (texts(&self.rules), texts(&self.utils));
        RuleSources {
            built_in: true,
            rules,
            utils,
            unreadable,
            config: self.config.clone(),
            disabled: self.disabled.iter().cloned().collect(),
            severities: self.severities.clone(),
            is_provisional: false,
        }
    }
}

/// True if a folder is below the root after all symbolic links. A missing one counts as below.
pub(crate) fn is_below_root(root: &Path, folder: &Path) -> bool {
    match (root.canonicalize(), folder.canonicalize()) {
        (Ok(root), Ok(folder)) => folder.starts_with(root),
        _ => true,
    }
}

/// A path for messages: relative to the root if it is below it.
fn shown(root: &Path, path: &Path) -> String {
    RelPath::below(root, path).map_or_else(|| path.display().to_string(), |path| path.to_string())
}
