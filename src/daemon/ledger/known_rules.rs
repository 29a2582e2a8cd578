//! The rules of a root as last read, with all inputs that decided them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::base::path::RelPath;
use crate::files::FileStamp;
use crate::scan::RuleSet;

/// The rules of a root and their inputs.
#[derive(Debug)]
pub(in crate::daemon) struct KnownRules {
    pub(in crate::daemon) state: RuleInputs,
    pub(in crate::daemon) set: Arc<RuleSet>,
}

/// All inputs that decide which rules a root has.
#[derive(Debug, PartialEq)]
pub(in crate::daemon) struct RuleInputs {
    pub(in crate::daemon) config: Option<(String, String)>,
    /// Files and folders that could not be read, with the reason.
    pub(in crate::daemon) unreadable: Vec<(String, String)>,
    pub(in crate::daemon) rules: Vec<RuleFolder>,
    pub(in crate::daemon) utils: Vec<RuleFolder>,
    pub(in crate::daemon) rule_dirs: Vec<String>,
    pub(in crate::daemon) disabled: Vec<String>,
    pub(in crate::daemon) severities: BTreeMap<String, String>,
}

/// The rule files below one folder.
#[derive(Debug, PartialEq)]
pub(in crate::daemon) struct RuleFolder {
    pub(in crate::daemon) path: PathBuf,
    pub(in crate::daemon) stamps: BTreeMap<RelPath, FileStamp>,
}
