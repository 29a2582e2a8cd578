//! The conformance probes: a tiny project per language and a play that every language server must
//! follow. Compiled in from `probes.json`; who writes the files and asks is the caller.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::base::finding::{Finding, Severity};
use crate::base::limits::PROBE_BURST_COUNT;
use crate::base::verdict::Gap;

/// The tiny project of one language.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerProbe {
    /// The file that is asked about, relative to the root.
    pub file: String,
    /// Its text without an error, as long as the module is right.
    pub right: String,
    /// Its text with an error of its own.
    pub wrong: String,
    /// The file that it imports.
    #[serde(default)]
    pub module: Option<String>,
    /// The module's text that fits.
    #[serde(default)]
    pub module_right: String,
    /// The module's text that makes the importer wrong.
    #[serde(default)]
    pub module_wrong: String,
    /// Other files: name and text.
    #[serde(default)]
    pub support: BTreeMap<String, String>,
}

/// What an act must lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeExpectation {
    /// At least one error or warning.
    Wrong,
    /// None.
    Clean,
}

/// One act of the play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeAct {
    /// Its name in the matrix.
    pub name: &'static str,
    /// The module's new text on disk, written by nobody who tells.
    pub module: Option<String>,
    /// The file's texts, asked about one after the other without waiting; the last one counts.
    pub texts: Vec<String>,
    /// What the last answer must be.
    pub expected: ProbeExpectation,
}

/// How an act went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// As it must.
    Right,
    /// No error was found where one is.
    FalseClean,
    /// An error was found that is not there any more.
    Stale,
    /// No verdict; the gap says why.
    Unmeasured(Gap),
}

/// The probes by language id.
#[must_use]
pub fn all_probes() -> &'static BTreeMap<String, ServerProbe> {
    static ALL: OnceLock<BTreeMap<String, ServerProbe>> = OnceLock::new();
    ALL.get_or_init(|| {
        serde_json::from_str(include_str!("../../probes.json")).expect("probes.json is tested")
    })
}

impl ServerProbe {
    /// The files the project begins with; the file itself is not among them.
    #[must_use]
    pub fn files(&self) -> Vec<(&str, &str)> {
        let support = self.support.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let module = self.module.as_deref().map(|name| (name, self.module_right.as_str()));
        support.chain(module).collect()
    }

    /// The play. A companion speaks about one file alone, so for it there is no module.
    #[must_use]
    pub fn acts(&self, is_companion: bool) -> Vec<ProbeAct> {
        let act = |name, text: &str, expected| ProbeAct {
            name,
            module: None,
            texts: vec![text.to_owned()],
            expected,
        };
        let mut acts = vec![
            act("cold", &self.wrong, ProbeExpectation::Wrong),
            act("fix", &self.right, ProbeExpectation::Clean),
            act("break", &self.wrong, ProbeExpectation::Wrong),
            ProbeAct { texts: self.burst(), ..act("burst", "", ProbeExpectation::Clean) },
            act("again", &self.right, ProbeExpectation::Clean),
        ];
        if self.module.is_some() && !is_companion {
            let on_disk = |name, module: &str, expected| ProbeAct {
                module: Some(module.to_owned()),
                ..act(name, &self.right, expected)
            };
            acts.push(on_disk("module", &self.module_wrong, ProbeExpectation::Wrong));
            acts.push(on_disk("back", &self.module_right, ProbeExpectation::Clean));
        }
        acts
    }

    /// Errors in quick succession, and at the end none.
    fn burst(&self) -> Vec<String> {
        let mut texts: Vec<String> =
            (0..PROBE_BURST_COUNT).map(|count| self.wrong.clone() + &"\n".repeat(count)).collect();
        texts.push(self.right.clone());
        texts
    }
}

impl ProbeExpectation {
    /// Judges an answer. Hints and infos do not count: they are taste.
    #[must_use]
    pub fn judge(self, answer: &Result<Vec<Finding>, Gap>) -> ProbeOutcome {
        let is_wrong = |found: &[Finding]| found.iter().any(|it| it.severity >= Severity::Warning);
        match (self, answer) {
            (_, Err(gap)) => ProbeOutcome::Unmeasured(gap.clone()),
            (Self::Wrong, Ok(found)) if !is_wrong(found) => ProbeOutcome::FalseClean,
            (Self::Clean, Ok(found)) if is_wrong(found) => ProbeOutcome::Stale,
            (_, Ok(_)) => ProbeOutcome::Right,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::finding::tests::finding;
    use crate::base::verdict::Cause;
    use crate::lsp::registry::Catalogue;

    #[test]
    fn every_probe_belongs_to_a_language_and_tells_right_from_wrong() {
        for (language, probe) in all_probes() {
            assert!(Catalogue::built_in().language(language).is_some(), "{language}");
            assert_ne!(probe.right, probe.wrong, "{language}");
            if probe.module.is_some() {
                assert_ne!(probe.module_right, probe.module_wrong, "{language}");
            }
        }
    }

    #[test]
    fn the_play_ends_where_the_disk_is() {
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
