//! The rule files that the program carries. Each is read when a text in one of its languages is
//! scanned for the first time, and a rule is compiled when it is first needed; all sets share them.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock, OnceLock};

use super::engine::{Rule, Utils};
use super::language::Language;
use super::rules::{self, Fault, Parsed, RuleSpec};
use crate::base::hash::ContentHash;

/// One rule file, with what is known of it before it is read.
pub(super) struct BuiltInFile {
    /// Name below `rules/`.
    pub(super) name: &'static str,
    /// Words of its languages; none when they must be looked up in the text.
    pub(super) languages: &'static [&'static str],
    /// Whether it names files that it speaks about.
    pub(super) has_globs: bool,
    /// The YAML.
    pub(super) text: &'static str,
}

/// Every rule file, sorted by name.
pub(super) const FILES: &[BuiltInFile] = include!(concat!(env!("OUT_DIR"), "/built_in_rules.rs"));

/// What becomes another word with every change of the engine, the grammars or their use.
pub(super) const ENGINE: &str = include_str!(concat!(env!("OUT_DIR"), "/engine_identity"));

static IDENTITY: LazyLock<ContentHash> = LazyLock::new(|| {
    let all: Vec<&str> = FILES.iter().flat_map(|file| [file.name, "\0", file.text, "\0"]).collect();
    ContentHash::of(all.concat().as_bytes())
});

static PARSED: [OnceLock<Parsed>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];

static RULES: [OnceLock<Vec<Arc<Rule>>>; Language::ALL.len()] =
    [const { OnceLock::new() }; Language::ALL.len()];

impl BuiltInFile {
    /// The id of its rule.
    pub(super) fn id(&self) -> &'static str {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".yml").unwrap_or(name)
    }

    /// The text without the snippets at its end, which are half of it and no part of the rule.
    pub(super) fn rule(&self) -> &'static str {
        self.text.split_once("\ntests:").map_or(self.text, |(rule, _)| rule)
    }

    /// Whether it may speak about a language.
    pub(super) fn speaks(&self, language: Language) -> bool {
        let mut words = self.languages.iter();
        self.languages.is_empty() || words.any(|word| Language::named(word) == Some(language))
    }
}

/// All ids.
pub(super) fn ids() -> HashSet<&'static str> {
    FILES.iter().map(BuiltInFile::id).collect()
}

/// The identity of all texts.
pub(super) fn identity() -> ContentHash {
    *IDENTITY
}

/// What is in one file, read once.
pub(super) fn parsed(index: usize) -> &'static Parsed {
    let file = &FILES[index];
    PARSED[index].get_or_init(|| rules::parse(&source(file.name), file.rule()))
}

/// The name in messages.
pub(super) fn source(name: &str) -> String {
    format!("rules/{name}")
}

/// What is wrong with the files that may speak about a language.
pub(super) fn faults(language: Language) -> impl Iterator<Item = &'static Fault> {
    read_for(language).flat_map(|parsed| &parsed.faults)
}

/// The rules of a language.
pub(super) fn rules(language: Language) -> &'static [Arc<Rule>] {
    RULES[language.index()].get_or_init(|| {
        let utils = Utils::default();
        let specs = read_for(language).flat_map(|parsed| &parsed.specs);
        let own = specs.filter(|spec| spec.languages.contains(&language));
        own.map(|spec| Arc::new(Rule::new(Arc::clone(spec), language, &utils))).collect()
    })
}

/// All rules as they are written.
pub(super) fn specs() -> impl Iterator<Item = &'static Arc<RuleSpec>> {
    (0..FILES.len()).flat_map(|index| &parsed(index).specs)
}

fn read_for(language: Language) -> impl Iterator<Item = &'static Parsed> {
    let speaks = move |(index, file): (usize, &BuiltInFile)| file.speaks(language).then_some(index);
    FILES.iter().enumerate().filter_map(speaks).map(parsed)
}
