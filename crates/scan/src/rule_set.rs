//! A set of rules, built-in and from the project, with the enabled and the broken ones. Works on
//! the texts of rule files; callers read them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::builtin::{self, BuiltInFile};
use super::engine::{EngineRule, RuleEngine, UNUSED_SUPPRESSION, UtilityRules};
use super::isolation::compilable_sources;
use super::language::ScanLanguage;
use super::rules::{self, RuleFault, RuleSpec};
use super::sgconfig::ScanConfig;
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};

static BUILT_IN: LazyLock<Arc<RuleSet>> = LazyLock::new(|| {
    Arc::new(RuleSet::new(RuleSources { built_in: true, ..RuleSources::default() }))
});

/// Inputs of a [`RuleSet`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RuleSources {
    /// Include the built-in rules.
    pub built_in: bool,
    /// Name and text of rule files.
    pub rules: Vec<(String, String)>,
    /// Name and text of files of utility rules.
    pub utils: Vec<(String, String)>,
    /// Rule files that could not be read, with the reason.
    pub unreadable: Vec<(String, String)>,
    /// Name and text of the project's `sgconfig.yml`.
    pub config: Option<(String, String)>,
    /// Ids of disabled rules.
    pub disabled: BTreeSet<String>,
    /// Severity overrides by rule id, in the terms of rule files; `off` disables the rule.
    pub severities: BTreeMap<String, String>,
    /// True if files were left out that may be usable later.
    #[serde(skip)]
    pub is_provisional: bool,
}

impl RuleSources {
    /// True if there is any text of the project.
    pub(super) fn has_files(&self) -> bool {
        !self.rules.is_empty() || !self.utils.is_empty() || self.config.is_some()
    }

    /// The same without the project's texts.
    pub(super) fn without_files(&self) -> Self {
        Self { rules: Vec::new(), utils: Vec::new(), config: None, ..self.clone() }
    }

    /// Each text of the project alone; utility rules come first, as others need them.
    pub(super) fn single_files(&self) -> impl Iterator<Item = Self> {
        let config = self.config.iter().cloned();
        let utils = self.utils.iter().cloned();
        let rules = self.rules.iter().cloned();
        let configs = config.map(|it| Self { config: Some(it), ..Self::default() });
        let utils = utils.map(|it| Self { utils: vec![it], ..Self::default() });
        configs.chain(utils).chain(rules.map(|it| Self { rules: vec![it], ..Self::default() }))
    }

    /// Adds the texts of other sources.
    pub(super) fn add_files(&mut self, other: Self) {
        self.rules.extend(other.rules);
        self.utils.extend(other.utils);
        self.config = other.config.or(self.config.take());
    }

    /// Lists the texts of other sources as unreadable.
    pub(super) fn add_unreadable(&mut self, other: &Self, reason: &str) {
        let files = other.config.iter().chain(&other.utils).chain(&other.rules);
        self.unreadable.extend(files.map(|(name, _)| (name.clone(), reason.to_owned())));
    }
}

/// An immutable set of rules, shared between threads. The project's rule files are parsed on
/// creation; built-in files are parsed and rules compiled when the first text of their language is
/// scanned.
pub struct RuleSet {
    identity: ContentHash,
    sources: RuleSources,
    pub(super) project_rules: Vec<Arc<RuleSpec>>,
    utils: Vec<Arc<RuleSpec>>,
    faults: Vec<RuleFault>,
    pub(super) config: ScanConfig,
    /// Extensions of files that have rules but no parser, with the reason.
    unsupported: Vec<(String, String)>,
    language_rules: [OnceLock<LanguageRules>; ScanLanguage::ALL.len()],
    language_outlines: [OnceLock<LanguageOutline>; ScanLanguage::ALL.len()],
    broken: OnceLock<Vec<BrokenRule>>,
}

/// The rules of one language, and the faults of files that could not be parsed.
pub(super) struct LanguageRules {
    pub(super) engine: RuleEngine,
    faults: Vec<RuleFault>,
}

/// Facts about a language's rules that need no parsing of the built-in ones.
struct LanguageOutline {
    /// The language and those that may be embedded in its texts.
    languages: Vec<ScanLanguage>,
    /// True if some rule is certain to cover every file of the language.
    covers_all_files: bool,
    /// True if some rule of the language is limited by `files` or `ignores`.
    has_globs: bool,
}

/// A rule, or a whole rule file, that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// The rule file, with the line if known.
    pub source: String,
    /// The fault, with rule id and line if known.
    pub reason: String,
}

impl fmt::Debug for RuleSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RuleSet({})", self.identity.short_hex())
    }
}

impl RuleSet {
    /// The rules built into the program.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Like [`RuleSet::built_in`], as a shared handle that can be stored like a project's set.
    #[must_use]
    pub fn built_in_shared() -> Arc<Self> {
        Arc::clone(&BUILT_IN)
    }

    /// Name and text of the built-in rule files.
    pub fn built_in_sources() -> impl Iterator<Item = (String, String)> {
        builtin::FILES.iter().map(|file| (builtin::source(file.name), file.text.to_owned()))
    }

    /// A set of only these rules, given as source name and YAML text.
    pub fn load(sources: impl IntoIterator<Item = (String, String)>) -> Self {
        Self::new(RuleSources { rules: sources.into_iter().collect(), ..RuleSources::default() })
    }

    /// Builds the set. A broken file, document or rule is listed in [`RuleSet::broken`] without
    /// affecting the others; so is a rule whose id is already used in its language. Rules of
    /// severity `off` are omitted. A file whose patterns crash a grammar counts as unreadable.
    #[must_use]
    pub fn new(sources: RuleSources) -> Self {
        let sources = compilable_sources(sources);
        let identity = sources_identity(&sources);
        let mut faults: Vec<RuleFault> = Vec::new();
        for (source, reason) in &sources.unreadable {
            faults.push(RuleFault::for_file(source, reason));
        }
        let config = sources.config.as_ref();
        let config = config.map(|(name, text)| ScanConfig::parse(name, text)).unwrap_or_default();
        faults.extend(config.faults.iter().cloned());
        let mut unsupported = Vec::new();
        for (language, extensions) in &config.unsupported {
            let why = format!(
                "{}: the grammar of {language} is native code and not loaded",
                config.source
            );
            unsupported.extend(extensions.iter().map(|it| (it.clone(), why.clone())));
        }
        let mut parse_files = |files: &[(String, String)]| {
            let mut specs = Vec::new();
            for (source, text) in files {
                let parsed = rules::parse_rule_file(source, text);
                faults.extend(parsed.faults);
                specs.extend(parsed.specs);
                for rule in parsed.unsupported {
                    let why = format!(
                        "{}: rule `{}` needs a parser of {}, and there is none",
                        rule.source, rule.id, rule.language.name
                    );
                    unsupported.extend(
                        rule.language.extensions.iter().map(|it| ((*it).to_owned(), why.clone())),
                    );
                }
            }
            specs
        };
        let (own, utils) = (parse_files(&sources.rules), parse_files(&sources.utils));
        let mut set = Self {
            identity,
            sources,
            project_rules: Vec::new(),
            utils,
            faults,
            config,
            unsupported,
            language_rules: Default::default(),
            language_outlines: Default::default(),
            broken: OnceLock::new(),
        };
        let ids: HashSet<String> = own.iter().map(|spec| spec.id.clone()).collect();
        set.add_rules(own);
        set.report_unknown_ids(&ids);
        set
    }

    /// Adds the rules that are enabled and whose ids are free.
    fn add_rules(&mut self, specs: Vec<Arc<RuleSpec>>) {
        let built_in = if self.sources.built_in { builtin::rule_ids() } else { HashSet::new() };
        let mut taken: HashSet<(String, ScanLanguage)> = HashSet::new();
        for spec in specs {
            let is_new =
                !built_in.contains(spec.id.as_str()) || self.sources.disabled.contains(&spec.id);
            let keys = spec.languages.iter().map(|language| (spec.id.clone(), *language));
            if !is_new || !keys.clone().all(|key| taken.insert(key)) {
                let reason = "the id is already taken by another rule";
                self.faults.push(spec.fault(reason, spec.languages.clone()));
                continue;
            }
            // A project may disable a built-in rule and define its own under the same id.
            let is_disabled =
                self.sources.disabled.contains(&spec.id) && !built_in.contains(spec.id.as_str());
            let spec = self.with_severity(&spec);
            if !spec.is_off() && !is_disabled {
                self.project_rules.push(spec);
            }
        }
    }

    /// Records a fault for each unknown rule id in the options. The fault has no language, so it
    /// leaves no gap.
    fn report_unknown_ids(&mut self, own: &HashSet<String>) {
        let built_in = builtin::rule_ids();
        let disabled = self.sources.disabled.iter().map(|id| ("scan.disable", id));
        let named = disabled.chain(self.sources.severities.keys().map(|id| ("scan.severity", id)));
        let mut faults = Vec::new();
        for (option, id) in named {
            let is_rule = built_in.contains(id.as_str()) || own.contains(id);
            if self.sources.built_in && !is_rule && id != UNUSED_SUPPRESSION {
                let reason = format!("no rule has the id `{id}`");
                let fault = RuleFault::for_file(option, &reason);
                faults.push(RuleFault { languages: Vec::new(), ..fault });
            }
        }
        self.faults.extend(faults);
    }

    /// True if the options enable findings about comments that suppress nothing.
    pub(super) fn reports_unused_suppressions(&self) -> bool {
        let is_off = self.sources.severities.get(UNUSED_SUPPRESSION).is_some_and(|it| it == "off");
        !is_off && !self.sources.disabled.contains(UNUSED_SUPPRESSION)
    }

    /// The rule with the severity set in the options.
    pub(super) fn with_severity(&self, spec: &Arc<RuleSpec>) -> Arc<RuleSpec> {
        let Some(severity) = self.sources.severities.get(&spec.id) else { return Arc::clone(spec) };
        let mut spec = RuleSpec::clone(spec);
        spec.body.insert("severity".to_owned(), Value::String(severity.clone()));
        Arc::new(spec)
    }

    /// The inputs of the set.
    pub(super) fn sources(&self) -> &RuleSources {
        &self.sources
    }

    /// True if another attempt to build the set may find more rules.
    #[must_use]
    pub fn is_provisional(&self) -> bool {
        self.sources.is_provisional
    }

    /// Hash of everything that determines the findings of a text: rules, options and the engine's
    /// version.
    #[must_use]
    pub fn identity(&self) -> ContentHash {
        self.identity
    }

    /// Broken rules, sorted by source. Built-in rules are not compiled for this, because the tests
    /// cover them.
    #[must_use]
    pub fn broken(&self) -> &[BrokenRule] {
        self.broken.get_or_init(|| {
            let mut merged: Vec<RuleFault> = Vec::new();
            for language in ScanLanguage::ALL {
                let own = self.faults.iter().filter(|fault| {
                    fault.languages.is_empty() || fault.languages.contains(&language)
                });
                own.for_each(|fault| merge_fault(&mut merged, fault));
                let mut files = self.project_rules.iter().chain(&self.utils);
                if files.any(|spec| spec.languages.contains(&language)) {
                    let of_language = self.language_rules(language);
                    let rules = of_language.engine.rules.iter();
                    let known = rules.filter_map(|rule| rule.known_fault());
                    of_language
                        .faults
                        .iter()
                        .chain(known)
                        .for_each(|it| merge_fault(&mut merged, it));
                }
            }
            let mut broken: Vec<BrokenRule> = merged
                .into_iter()
                .map(|fault| BrokenRule { reason: fault.describe(), source: fault.location() })
                .collect();
            broken.sort_by(|a, b| (&a.source, &a.reason).cmp(&(&b.source, &b.reason)));
            broken
        })
    }

    /// The language of a file: by the project's globs, else by its extension.
    pub(super) fn language_of(&self, path: &RelPath) -> Option<ScanLanguage> {
        let named = self.config.name_globs.iter().find(|(_, names)| names.admit(path));
        named.map(|(language, _)| *language).or_else(|| ScanLanguage::from_path(path))
    }

    fn outline(&self, language: ScanLanguage) -> &LanguageOutline {
        self.language_outlines[language.index()].get_or_init(|| {
            let is_on = |id: &str| {
                !self.sources.disabled.contains(id) && !self.sources.severities.contains_key(id)
            };
            let own = || self.project_rules.iter().filter(|it| it.languages.contains(&language));
            let built_in = || {
                let all = builtin::FILES.iter().filter(|_| self.sources.built_in);
                all.filter(|it| it.covers_language(language))
            };
            let is_for_all =
                |it: &BuiltInFile| !it.languages.is_empty() && !it.has_globs && is_on(it.id());
            let mut languages = self.config.injector.languages(language);
            languages.insert(0, language);
            LanguageOutline {
                languages,
                covers_all_files: own().any(|it| !it.has_globs()) || built_in().any(is_for_all),
                has_globs: own().any(|it| it.has_globs()) || built_in().any(|it| it.has_globs),
            }
        })
    }

    /// True if any rule covers this path, by its language and the rules' globs. A broken rule of
    /// that language counts, because its gap must be reported; so does a rule of a language without
    /// a parser.
    #[must_use]
    pub fn handles(&self, path: &RelPath) -> bool {
        let Some(language) = self.language_of(path) else {
            return self.unsupported_reason(path).is_some();
        };
        let mut languages = self.outline(language).languages.iter();
        languages.any(|it| self.outline(*it).covers_all_files || self.covers_path(*it, path))
    }

    /// The reason why a file with rules cannot be parsed.
    pub(super) fn unsupported_reason(&self, path: &RelPath) -> Option<&str> {
        let extension = path.extension()?;
        let found = self.unsupported.iter().find(|(it, _)| *it == extension);
        found.map(|(_, why)| why.as_str())
    }

    fn covers_path(&self, language: ScanLanguage, path: &RelPath) -> bool {
        self.language_rules(language).engine.handles(path)
            || self.faults_of(language).next().is_some()
    }

    /// Cache key of a scan: equal keys mean equal outcomes apart from the path. `None` when no rule
    /// covers the file. Parses and compiles no built-in rule.
    #[must_use]
    pub fn scan_key(&self, path: &RelPath, text: ContentHash) -> Option<ContentHash> {
        let language = self.language_of(path).filter(|_| self.handles(path))?;
        let mut languages = self.outline(language).languages.iter();
        let has_globs = languages.any(|it| self.outline(*it).has_globs);
        let path = if has_globs { path.as_str() } else { "" };
        let parts = [&self.identity.to_string(), language.as_str(), &text.to_string(), path];
        Some(ContentHash::of_bytes(parts.join("\0").as_bytes()))
    }

    /// Number of rules usable in at least one language. Compiles the rules of all languages.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        let language_rules =
            ScanLanguage::ALL.iter().map(|language| self.language_rules(*language));
        let usable =
            language_rules.flat_map(|rules| &rules.engine.rules).filter(|it| it.fault().is_none());
        usable.map(|rule| rule.spec.id.as_str()).collect::<HashSet<_>>().len()
    }

    /// Compiles the project's rules, which otherwise happens on first use.
    pub(super) fn compile(&self) {
        let own = self.project_rules.iter().chain(&self.utils);
        let languages: BTreeSet<ScanLanguage> =
            own.flat_map(|spec| spec.languages.iter().copied()).collect();
        for language in languages {
            self.language_rules(language);
        }
    }

    pub(super) fn language_rules(&self, language: ScanLanguage) -> &LanguageRules {
        self.language_rules[language.index()].get_or_init(|| {
            let (utils, mut faults) = UtilityRules::compile(language, &self.utils);
            let mut rules = Vec::new();
            if self.sources.built_in {
                faults.extend(builtin::faults_of_language(language).cloned());
                rules.extend(self.built_in_rules(language));
            }
            let own = self.project_rules.iter().filter(|spec| spec.languages.contains(&language));
            for spec in own {
                let rule = EngineRule::new(Arc::clone(spec), language, &utils);
                // Compile now, because a project's rule may be broken; built-in rules are covered
                // by the tests.
                rule.fault();
                rules.push(Arc::new(rule));
            }
            LanguageRules { engine: RuleEngine::new(language, rules), faults }
        })
    }

    fn built_in_rules(&self, language: ScanLanguage) -> impl Iterator<Item = Arc<EngineRule>> {
        let on = builtin::rules_of_language(language)
            .iter()
            .filter(|it| !self.sources.disabled.contains(&it.spec.id));
        on.filter_map(move |rule| {
            let spec = self.with_severity(&rule.spec);
            if spec.is_off() {
                return None;
            }
            if Arc::ptr_eq(&spec, &rule.spec) {
                return Some(Arc::clone(rule));
            }
            Some(Arc::new(EngineRule::new(spec, language, &UtilityRules::default())))
        })
    }

    /// Known faults of the rules of a language.
    fn faults_of(&self, language: ScanLanguage) -> impl Iterator<Item = &RuleFault> {
        let here = self.faults.iter().filter(move |fault| fault.languages.contains(&language));
        let of_language = self.language_rules(language);
        let rules = of_language.engine.rules.iter().filter_map(|rule| rule.known_fault());
        here.chain(&of_language.faults).chain(rules)
    }

    /// The gap left by broken rules in files of a language.
    pub(super) fn rule_gap(&self, language: ScanLanguage) -> Option<Gap> {
        let first = self.faults_of(language).next()?;
        let count = self.faults_of(language).count();
        let rules = if count == 1 { "rule" } else { "rules" };
        let what = format!("{}: {}", first.location(), first.describe());
        let detail = format!("{count} {rules} could not be used ({what})");
        Some(Gap::new(Cause::BrokenRule, detail).with_remedy(format!("fix {}", first.source)))
    }
}

/// Adds a fault; if it is already listed, adds its languages to the entry.
fn merge_fault(merged: &mut Vec<RuleFault>, fault: &RuleFault) {
    let listed = merged.iter_mut().find(|known| {
        (&known.source, known.line, &known.id, &known.reason)
            == (&fault.source, fault.line, &fault.id, &fault.reason)
    });
    match listed {
        Some(known) => {
            known.languages.extend(&fault.languages);
            known.languages.sort_unstable();
            known.languages.dedup();
        }
        None => merged.push(fault.clone()),
    }
}

fn sources_identity(sources: &RuleSources) -> ContentHash {
    let mut all = vec![builtin::ENGINE.to_owned()];
    if sources.built_in {
        all.push(builtin::identity().to_string());
    }
    for (kind, texts) in [
        ("rules", sources.rules.as_slice()),
        ("utils", &sources.utils),
        ("unreadable", &sources.unreadable),
        ("config", sources.config.as_slice()),
    ] {
        for (name, text) in texts {
            all.extend([kind.to_owned(), name.clone(), text.clone()]);
        }
    }
    for id in &sources.disabled {
        all.extend(["disabled".to_owned(), id.clone()]);
    }
    for (id, severity) in &sources.severities {
        all.extend(["severity".to_owned(), id.clone(), severity.clone()]);
    }
    // Prefix each text with its length, so that different lists never join to the same bytes.
    let framed: Vec<String> = all.iter().map(|text| format!("{}\0{text}", text.len())).collect();
    ContentHash::of_bytes(framed.concat().as_bytes())
}
