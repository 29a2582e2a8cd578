//! The rules of one project: the built-in ones, those below `.moai/rules`, those that an
//! `sgconfig.yml` at its root names, and the folders of the options. Read again when one of these
//! files changed. It must not know what is in them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::Engine;
use crate::ledger::{KnownRules, RuleFolder, RuleInputs};
use crate::project::option_files::read_option_file;
use moai_base::limits::RULE_FILES_MAX;
use moai_base::path::RelPath;
use moai_config::Config;
use moai_host::files;
use moai_scan::{RuleSet, RuleSources, ScanConfig};

/// Rules of the project, below its root.
const RULES_FOLDER: &str = ".moai/rules";
/// What the ast-grep program is told by a project; the first that is there counts.
const CONFIG_FILES: [&str; 2] = ["sgconfig.yml", "sgconfig.yaml"];

/// The rules of a root as its files and these options say.
pub(crate) fn load_rules(engine: &Engine, root: &Path, config: &Config) -> Arc<RuleSet> {
    let state = RuleInputs::read_inputs(root, config, &NamedRuleFolders::default());
    if state.is_plain() {
        return RuleSet::built_in_shared();
    }
    let known = engine.ledger().rules(root);
    if let Some(known) = known.filter(|known| known.state == state) {
        return Arc::clone(&known.set);
    }
    let set = Arc::new(RuleSet::new(state.sources(root)));
    let known = KnownRules { state, set: Arc::clone(&set) };
    engine.ledger().set_rules(root, Arc::new(known));
    set
}

/// Folders of rules that a caller names.
#[derive(Debug, Default)]
pub(crate) struct NamedRuleFolders {
    /// Absolute.
    pub(crate) folders: Vec<PathBuf>,
    /// Whether they stand in place of all other rules.
    pub(crate) is_exclusive: bool,
}

/// The rules of a root with folders that a caller names. The error is one line: a folder that is
/// not there or has no rule file.
pub(crate) fn rules_with_folders(
    root: &Path,
    config: &Config,
    named: &NamedRuleFolders,
) -> Result<RuleSet, String> {
    rule_sources(root, config, named).map(RuleSet::new)
}

/// What such a set is made of.
pub(crate) fn rule_sources(
    root: &Path,
    config: &Config,
    named: &NamedRuleFolders,
) -> Result<RuleSources, String> {
    if let Some(folder) = named.folders.iter().find(|folder| !folder.is_dir()) {
        return Err(format!("rules {}: not a folder", folder.display()));
    }
    let state = RuleInputs::read_inputs(root, config, named);
    let is_empty = |folder: &&PathBuf| {
        let own = folder.canonicalize().ok();
        state.rules.iter().any(|it| Some(&it.path) == own.as_ref() && it.stamps.is_empty())
    };
    if let Some(folder) = named.folders.iter().find(is_empty) {
        return Err(format!("rules {}: no .yml or .yaml file is in it", folder.display()));
    }
    Ok(RuleSources { built_in: !named.is_exclusive, ..state.sources(root) })
}

impl RuleInputs {
    fn read_inputs(root: &Path, config: &Config, asked: &NamedRuleFolders) -> Self {
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
        let named = state.config.as_ref().map(|(name, text)| ScanConfig::parse(name, text));
        let named = named.unwrap_or_default();
        let own = root.join(RULES_FOLDER);
        let is_there = own.is_dir().then_some(own);
        let folders = config.rule_dirs.iter().chain(&named.rule_dirs).map(|it| root.join(it));
        let own = is_there.into_iter().chain(folders).filter(|_| !asked.is_exclusive);
        let folders: Vec<PathBuf> = own.chain(asked.folders.iter().cloned()).collect();
        state.rules = folders.iter().filter_map(|it| state.folder(root, it)).collect();
        let folders: Vec<PathBuf> = named.util_dirs.iter().map(|it| root.join(it)).collect();
        state.utils = folders.iter().filter_map(|it| state.folder(root, it)).collect();
        state
    }

    /// The rule files below a folder, of which some may not be readable.
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

    /// Whether there is nothing but the built-in rules as they are.
    fn is_plain(&self) -> bool {
        let has_own =
            self.config.is_some() || !self.rules.is_empty() || !self.unreadable.is_empty();
        !has_own && self.disabled.is_empty() && self.severities.is_empty()
    }

    fn sources(&self, root: &Path) -> RuleSources {
        let mut unreadable = self.unreadable.clone();
        let mut texts = |folders: &[RuleFolder]| {
            // One folder may be named twice, or lie in another.
            let (mut texts, mut seen) = (Vec::new(), BTreeSet::new());
            for folder in folders {
                for file in folder.stamps.keys() {
                    let path = file.under(&folder.path);
                    let name = shown(root, &path);
                    if !seen.insert(path.clone()) {
                        continue;
                    }
                    match files::read_snapshot(&folder.path, &path) {
                        Ok(snapshot) => texts.push((name, snapshot.text.to_string())),
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
        }
    }
}

/// A path as messages name it: relative to the root where it lies below it.
fn shown(root: &Path, path: &Path) -> String {
    RelPath::below(root, path).map_or_else(|| path.display().to_string(), |path| path.to_string())
}
