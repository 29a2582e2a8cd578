//! The structural scan: rules and one text in, findings out. Pure: it must not know files, clocks
//! or processes; callers read the text and say which bytes it is by its hash.
//!
//! A rule that cannot be used is quarantined and named, and every file it would have spoken about
//! has a gap: a missing rule never looks like a clean file.

mod builtin;
mod engine;
mod language;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::{LazyLock, OnceLock};

use self::engine::{Engine, Match};
use self::language::Language;
use self::rules::{Fault, RuleSpec};
use crate::base::finding::{Finding, fingerprint};
use crate::base::hash::ContentHash;
use crate::base::limits::SOURCE_BYTES_MAX;
use crate::base::path::RelPath;
use crate::base::text::LineIndex;
use crate::base::verdict::{Cause, Gap};

/// The sensor's name in findings.
const SENSOR: &str = "scan";

static BUILT_IN: LazyLock<RuleSet> = LazyLock::new(|| RuleSet::load(RuleSet::built_in_sources()));

/// A set of rules, immutable and shared by threads. Its files are read when it is made; the rules
/// of a language are compiled when the first file of that language comes.
pub struct RuleSet {
    specs: Vec<RuleSpec>,
    faults: Vec<Fault>,
    shelves: [OnceLock<Shelf>; Language::ALL.len()],
    broken: OnceLock<Vec<BrokenRule>>,
}

/// The rules of one language: those that work and those that do not.
struct Shelf {
    engine: Engine,
    faults: Vec<Fault>,
}

/// A rule, or a whole rule file, that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    /// The rule file.
    pub source: String,
    /// What is wrong, with rule id and line when they are known.
    pub reason: String,
}

/// What a scan of one text says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanOutcome {
    /// What is wrong, fingerprinted and sorted by place.
    pub findings: Vec<Finding>,
    /// What kept the text from being measured wholly; findings may stand beside it.
    pub gap: Option<Gap>,
}

impl RuleSet {
    /// The rules built into the program, read once per process.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Name and text of the built-in rule files, for a set that adds a project's own to them.
    pub fn built_in_sources() -> impl Iterator<Item = (String, String)> {
        builtin::FILES.iter().map(|(name, text)| (format!("rules/{name}"), (*text).to_owned()))
    }

    /// Rules from pairs of source name and YAML text. A broken file, document or rule goes to
    /// [`RuleSet::broken`] and the others go on; so does a rule whose id is already taken. Rules
    /// of severity `off` are left out.
    pub fn load(sources: impl IntoIterator<Item = (String, String)>) -> Self {
        let (mut specs, mut faults) = (Vec::new(), Vec::new());
        let mut ids = HashSet::new();
        for (source, text) in sources {
            let (parsed, broken) = rules::parse(&source, &text);
            faults.extend(broken);
            for spec in parsed {
                if ids.insert(spec.id.clone()) {
                    specs.push(spec);
                } else {
                    let reason = "the id is already taken by another rule".to_owned();
                    let RuleSpec { source, id, languages, .. } = spec;
                    faults.push(Fault { source, id: Some(id), reason, languages });
                }
            }
        }
        specs.retain(|spec| !spec.is_off());
        Self { specs, faults, shelves: Default::default(), broken: OnceLock::new() }
    }

    /// What cannot be used, by source. Compiles the rules of all languages.
    #[must_use]
    pub fn broken(&self) -> &[BrokenRule] {
        self.broken.get_or_init(|| {
            let mut merged: Vec<Fault> = Vec::new();
            let of_shelves =
                Language::ALL.iter().flat_map(|language| &self.shelf(*language).faults);
            for fault in self.faults.iter().chain(of_shelves) {
                let same = merged.iter_mut().find(|known| {
                    (&known.source, &known.id, &known.reason)
                        == (&fault.source, &fault.id, &fault.reason)
                });
                match same {
                    Some(known) => known.languages.extend(&fault.languages),
                    None => merged.push(fault.clone()),
                }
            }
            let named =
                |fault: Fault| BrokenRule { reason: fault.describe(), source: fault.source };
            let mut broken: Vec<BrokenRule> = merged.into_iter().map(named).collect();
            broken.sort_by(|a, b| (&a.source, &a.reason).cmp(&(&b.source, &b.reason)));
            broken
        })
    }

    /// Whether any rule speaks about files with this path: by the language of its extension and by
    /// the rules' globs. A broken rule of that language counts, because its gap must be reported.
    #[must_use]
    pub fn handles(&self, path: &RelPath) -> bool {
        Language::of(path).is_some_and(|language| {
            self.shelf(language).engine.handles(path) || self.faults_of(language).next().is_some()
        })
    }

    /// How many rules are usable in at least one language. Compiles the rules of all languages.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        let shelves = Language::ALL.iter().map(|language| self.shelf(*language));
        shelves.flat_map(|shelf| shelf.engine.ids()).collect::<HashSet<_>>().len()
    }

    fn shelf(&self, language: Language) -> &Shelf {
        self.shelves[language.index()].get_or_init(|| {
            let (engine, faults) = Engine::compile(language, &self.specs);
            Shelf { engine, faults }
        })
    }

    fn faults_of(&self, language: Language) -> impl Iterator<Item = &Fault> {
        let here = self.faults.iter().filter(move |fault| fault.languages.contains(&language));
        here.chain(&self.shelf(language).faults)
    }

    /// The gap that broken rules leave in files of a language.
    fn rule_gap(&self, language: Language) -> Option<Gap> {
        let first = self.faults_of(language).next()?;
        let count = self.faults_of(language).count();
        let rules = if count == 1 { "rule" } else { "rules" };
        let what = format!("{}: {}", first.source, first.describe());
        let detail = format!("{count} {rules} could not be used ({what})");
        Some(Gap::new(Cause::BrokenRule, detail).with_remedy(format!("mend {}", first.source)))
    }
}

/// The languages of the scan, as messages call them.
pub fn languages() -> impl Iterator<Item = &'static str> {
    Language::ALL.iter().map(|language| language.as_str())
}

/// Name of a file in a language that a rule file calls so; `None` for no language of the scan.
#[must_use]
pub fn file_name(stem: &str, language: &str) -> Option<String> {
    let extension = Language::named(language)?.extension();
    Some(format!("{stem}.{extension}"))
}

/// Whether a file is in a language that a rule file calls so.
#[must_use]
pub fn is_in(path: &RelPath, language: &str) -> bool {
    Language::named(language).is_some_and(|language| Language::of(path) == Some(language))
}

/// Scans one text. A path that no rule speaks about, a text above the size limit, too deeply
/// nested or not parsable as a whole, and broken rules leave a gap; a syntax error inside an
/// otherwise parsable text does not, because the parser goes on behind it.
#[must_use]
pub fn scan(rules: &RuleSet, path: &RelPath, text: &str, hash: ContentHash) -> ScanOutcome {
    let language = match Language::of(path) {
        Some(language) if rules.handles(path) => language,
        _ => return only_gap(Cause::NoTool, "no rule speaks about this file"),
    };
    if text.len() as u64 > SOURCE_BYTES_MAX {
        return only_gap(Cause::Skipped, &format!("larger than {SOURCE_BYTES_MAX} bytes"));
    }
    let engine = &rules.shelf(language).engine;
    let (matches, gap) = engine.matches(path, text);
    let lines = LineIndex::new(text);
    let to_finding = |found: Match| {
        let bytes = found.bytes.clone();
        let place = (path.clone(), lines.range(bytes.start, bytes.end), hash);
        let info = engine.info(&found.id);
        Finding {
            cwe: info.cwe,
            url: info.url,
            fix: info.fix,
            anchor: text[bytes].to_owned(),
            ..Finding::new(SENSOR, &found.id, found.severity, place, &found.message)
        }
    };
    let mut findings: Vec<Finding> = matches.into_iter().map(to_finding).collect();
    fingerprint(&mut findings);
    ScanOutcome { findings, gap: gap.or_else(|| rules.rule_gap(language)) }
}

fn only_gap(cause: Cause, detail: &str) -> ScanOutcome {
    ScanOutcome { findings: Vec::new(), gap: Some(Gap::new(cause, detail)) }
}
