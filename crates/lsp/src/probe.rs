//! The conformance probes: a small project per language and a scenario that every language server
//! must pass. Compiled in from `probes.json`; the caller writes the files and measures.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use moai_base::finding::{Finding, Severity};
use moai_base::limits::PROBE_BURST_COUNT;
use moai_base::verdict::Gap;

/// The small project of one language.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerProbe {
    /// The measured file, relative to the root.
    pub file: String,
    /// Its text without an error, with the correct module.
    pub right: String,
    /// Its text with an error of its own.
    pub wrong: String,
    /// The file that it imports.
    #[serde(default)]
    pub module: Option<String>,
    /// The module's correct text.
    #[serde(default)]
    pub module_right: String,
    /// The module's text that breaks the importer.
    #[serde(default)]
    pub module_wrong: String,
    /// Other files: name and text.
    #[serde(default)]
    pub support: BTreeMap<String, String>,
}

/// The expected outcome of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeExpectation {
    /// At least one error or warning.
    Wrong,
    /// None.
    Clean,
}

/// A step of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeAct {
    /// Its name in the matrix.
    pub name: &'static str,
    /// The module's new text on disk, written without notifying the server.
    pub module: Option<String>,
    /// The file's texts, measured one after the other without waiting; the last one counts.
    pub texts: Vec<String>,
    /// The expected outcome of the last measurement.
    pub expected: ProbeExpectation,
}

/// The outcome of an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// As expected.
    Right,
    /// An existing error was not reported.
    FalseClean,
    /// A fixed error was reported.
    Stale,
    /// No verdict.
    Unmeasured(Gap),
}

/// The probes by language id.
#[must_use]
pub fn all_probes() -> &'static BTreeMap<String, ServerProbe> {
    static ALL: OnceLock<BTreeMap<String, ServerProbe>> = OnceLock::new();
    ALL.get_or_init(|| {
        serde_json::from_str(include_str!("../probes.json")).expect("probes.json is tested")
    })
}

impl ServerProbe {
    /// The project's files before the first act, without the measured file.
    #[must_use]
    pub fn files(&self) -> Vec<(&str, &str)> {
        let support = self.support.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let module = self.module.as_deref().map(|name| (name, self.module_right.as_str()));
        support.chain(module).collect()
    }

    /// The acts. A companion checks single files only, so its project has no module.
    #[must_use]
    pub fn acts(&self, is_companion: bool) -> Vec<ProbeAct> {
        let mut acts = vec![
            ProbeAct::new("cold", &self.wrong, ProbeExpectation::Wrong),
            ProbeAct::new("fix", &self.right, ProbeExpectation::Clean),
            ProbeAct::new("break", &self.wrong, ProbeExpectation::Wrong),
            ProbeAct { texts: self.burst(), ..ProbeAct::new("burst", "", ProbeExpectation::Clean) },
            ProbeAct::new("again", &self.right, ProbeExpectation::Clean),
        ];
        if self.module.is_some() && !is_companion {
            acts.push(ProbeAct {
                module: Some(self.module_wrong.clone()),
                ..ProbeAct::new("module", &self.right, ProbeExpectation::Wrong)
            });
            acts.push(ProbeAct {
                module: Some(self.module_right.clone()),
                ..ProbeAct::new("back", &self.right, ProbeExpectation::Clean)
            });
        }
        acts
    }

    /// Edits with errors in quick succession, the last one without.
    fn burst(&self) -> Vec<String> {
        let mut texts: Vec<String> =
            (0..PROBE_BURST_COUNT).map(|count| self.wrong.clone() + &"\n".repeat(count)).collect();
        texts.push(self.right.clone());
        texts
    }
}

impl ProbeAct {
    fn new(name: &'static str, text: &str, expected: ProbeExpectation) -> Self {
        Self { name, module: None, texts: vec![text.to_owned()], expected }
    }
}

impl ProbeExpectation {
    /// Compares a result with the expectation. Hints and infos do not count, because they are
    /// matters of taste.
    #[must_use]
    pub fn judge(self, answer: &Result<Vec<Finding>, Gap>) -> ProbeOutcome {
        let findings = match answer {
            Ok(findings) => findings,
            Err(gap) => return ProbeOutcome::Unmeasured(gap.clone()),
        };
        let is_wrong = findings.iter().any(|finding| finding.severity >= Severity::Warning);
        match self {
            Self::Wrong if !is_wrong => ProbeOutcome::FalseClean,
            Self::Clean if is_wrong => ProbeOutcome::Stale,
            Self::Wrong | Self::Clean => ProbeOutcome::Right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Catalogue;
    use moai_base::samples::finding;
    use moai_base::verdict::Cause;

    #[test]
    fn every_probe_belongs_to_a_language_and_its_texts_differ() {
        for (language, probe) in all_probes() {
            assert!(Catalogue::built_in().language(language).is_some(), "{language}");
            assert_ne!(probe.right, probe.wrong, "{language}");
            if probe.module.is_some() {
                assert_ne!(probe.module_right, probe.module_wrong, "{language}");
            }
        }
    }

    #[test]
    fn the_last_act_of_a_probe_restores_the_state_on_disk() {
        let acts = all_probes()["python"].acts(false);
        let names: Vec<&str> = acts.iter().map(|act| act.name).collect();
        assert_eq!(names, ["cold", "fix", "break", "burst", "again", "module", "back"]);
        assert_eq!(acts[3].texts.len(), PROBE_BURST_COUNT + 1);
        assert_eq!(acts[3].texts.last(), Some(&all_probes()["python"].right));
        assert_eq!(all_probes()["toml"].acts(false).len(), 5);
        assert_eq!(all_probes()["python"].acts(true).len(), 5);
    }

    #[test]
    fn a_gap_is_neither_right_nor_wrong() {
        let gap = Gap::new(Cause::TimedOut, "x");
        let judged = ProbeExpectation::Clean.judge(&Err(gap.clone()));
        assert_eq!(judged, ProbeOutcome::Unmeasured(gap));
        assert_eq!(ProbeExpectation::Wrong.judge(&Ok(Vec::new())), ProbeOutcome::FalseClean);
        let found = Ok(vec![finding("a.py", 1, "x")]);
        assert_eq!(ProbeExpectation::Clean.judge(&found), ProbeOutcome::Stale);
        assert_eq!(ProbeExpectation::Wrong.judge(&found), ProbeOutcome::Right);
    }
}
