//! The rules of a root as last read, with all inputs that decided them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use moai_base::path::RelPath;
use moai_host::files::FileStamp;
use moai_scan::RuleSet;

/// The rules of a root and their inputs.
#[derive(Debug)]
pub(crate) struct KnownRules {
    pub(crate) state: RuleInputs,
    pub(crate) set: Arc<RuleSet>,
}

/// All inputs that decide which rules a root has.
#[derive(Debug, PartialEq)]
pub(crate) struct RuleInputs {
    pub(crate) config: Option<(String, String)>,
    /// Files and folders that could not be read, with the reason.
    pub(crate) unreadable: Vec<(String, String)>,
    pub(crate) rules: Vec<RuleFolder>,
    pub(crate) utils: Vec<RuleFolder>,
    pub(crate) rule_dirs: Vec<String>,
    pub(crate) disabled: Vec<String>,
    pub(crate) severities: BTreeMap<String, String>,
}

/// The rule files below one folder.
#[derive(Debug, PartialEq)]
pub(crate) struct RuleFolder {
    pub(crate) path: PathBuf,
    pub(crate) stamps: BTreeMap<RelPath, FileStamp>,
}
