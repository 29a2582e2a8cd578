//! The built-in rule files. Each is parsed when a text in one of its languages is first scanned,
//! and each rule compiled when first needed; all rule sets share them.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock, OnceLock};

use super::engine::{EngineRule, UtilityRules};
use super::language::ScanLanguage;
use super::rules::{self, RuleFault, RuleFile, RuleSpec};
use moai_base::hash::ContentHash;

/// One rule file, with facts extracted by the build script.
pub(super) struct BuiltInFile {
    /// Path below `crates/scan/rules/`.
    pub(super) name: &'static str,
    /// Names of its languages; empty if they are known only after parsing the text.
    pub(super) languages: &'static [&'static str],
    /// True if it is limited by `files` or `ignores`.
    pub(super) has_globs: bool,
    pub(super) text: &'static str,
}

/// Every rule file, sorted by name.
pub(super) const FILES: &[BuiltInFile] = include!(concat!(env!("OUT_DIR"), "/built_in_rules.rs"));

/// Changes with every change of the engine, the grammars or their use.
pub(super) const ENGINE: &str = include_str!(concat!(env!("OUT_DIR"), "/engine_identity"));

static IDENTITY: LazyLock<ContentHash> = LazyLock::new(|| {
    let all: Vec<&str> = FILES.iter().flat_map(|file| [file.name, "\0", file.text, "\0"]).collect();
    ContentHash::of_bytes(all.concat().as_bytes())
});

static PARSED: [OnceLock<RuleFile>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

static RULES: [OnceLock<Vec<Arc<EngineRule>>>; ScanLanguage::ALL.len()] =
    [const { OnceLock::new() }; ScanLanguage::ALL.len()];

impl BuiltInFile {
    /// Id of its rule.
    pub(super) fn id(&self) -> &'static str {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".yml").unwrap_or(name)
    }

    /// The text without the test snippets at its end, which are half of it.
    pub(super) fn rule_text(&self) -> &'static str {
        self.text.split_once("\ntests:").map_or(self.text, |(rule, _)| rule)
    }

    /// True if it may have a rule for a language.
    pub(super) fn covers_language(&self, language: ScanLanguage) -> bool {
        let mut words = self.languages.iter();
        self.languages.is_empty()
            || words.any(|word| ScanLanguage::from_name(word) == Some(language))
    }
}

pub(super) fn rule_ids() -> HashSet<&'static str> {
    FILES.iter().map(BuiltInFile::id).collect()
}

/// Hash of all rule files.
pub(super) fn identity() -> ContentHash {
    *IDENTITY
}

/// One file, parsed once.
pub(super) fn parsed_file(index: usize) -> &'static RuleFile {
    let file = &FILES[index];
    PARSED[index].get_or_init(|| rules::parse_rule_file(&source(file.name), file.rule_text()))
}

/// Name of a rule file in messages.
pub(super) fn source(name: &str) -> String {
    format!("rules/{name}")
}

/// Faults of the files that may have rules for a language.
pub(super) fn faults_of_language(
    language: ScanLanguage,
) -> impl Iterator<Item = &'static RuleFault> {
    parsed_files_of_language(language).flat_map(|parsed| &parsed.faults)
}

pub(super) fn rules_of_language(language: ScanLanguage) -> &'static [Arc<EngineRule>] {
    RULES[language.index()].get_or_init(|| {
        let utils = UtilityRules::default();
        let specs = parsed_files_of_language(language).flat_map(|parsed| &parsed.specs);
        let own = specs.filter(|spec| spec.languages.contains(&language));
        own.map(|spec| Arc::new(EngineRule::new(Arc::clone(spec), language, &utils))).collect()
    })
}

/// All rules as written.
pub(super) fn rule_specs() -> impl Iterator<Item = &'static Arc<RuleSpec>> {
    (0..FILES.len()).flat_map(|index| &parsed_file(index).specs)
}

fn parsed_files_of_language(language: ScanLanguage) -> impl Iterator<Item = &'static RuleFile> {
    FILES
        .iter()
        .enumerate()
        .filter_map(move |(index, file)| file.covers_language(language).then_some(index))
        .map(parsed_file)
}
