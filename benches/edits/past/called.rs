//! The findings that a hook reports, and whether it calls them introduced or older.

use super::problems::CodeProblem;
use crate::play::answer::finding_of;
use crate::support::Output;

/// Age that a text attributes to a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CalledAge {
    /// Introduced, or holding a Stop.
    Introduced,
    /// Of unknown age, or older.
    Older,
}

/// A finding that a text lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CalledFinding {
    pub(crate) path: String,
    /// 0-based.
    pub(crate) line: u32,
    pub(crate) code: String,
    pub(crate) age: CalledAge,
}

impl CalledFinding {
    /// True if a batch tool found the same; an unknown code agrees with all.
    pub(crate) fn is(&self, problem: &CodeProblem) -> bool {
        let is_code = problem.code.is_empty() || self.code.is_empty() || problem.code == self.code;
        problem.path == self.path && problem.line == self.line && is_code
    }
}

/// Texts of a hook, for the agent and for the user.
#[derive(Clone, Debug, Default)]
pub(crate) struct HookWords {
    /// For the agent: context or the reason of a held Stop.
    pub(crate) told: String,
    pub(crate) is_held: bool,
    pub(crate) message: String,
}

impl HookWords {
    pub(crate) fn from_output(output: &Output) -> Self {
        if output.stdout.trim().is_empty() {
            return Self::default();
        }
        let json = output.json();
        let is_held = json["decision"] == "block";
        let told = if is_held {
            &json["reason"]
        } else {
            &json["hookSpecificOutput"]["additionalContext"]
        };
        Self {
            told: told.as_str().unwrap_or_default().to_owned(),
            is_held,
            message: json["systemMessage"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// The findings of one server in the agent's text.
    pub(crate) fn findings(&self, sensor: &str) -> Vec<CalledFinding> {
        let mut age = CalledAge::Introduced;
        let mut findings = Vec::new();
        for line in self.told.lines() {
            let trimmed = line.trim_start();
            let finding =
                ["error ", "warning "].iter().find_map(|severity| trimmed.strip_prefix(severity));
            let finding = finding.and_then(|finding| finding_of(finding, sensor));
            if let Some(told) = finding {
                let age = if line.ends_with("[broken by this edit]") {
                    CalledAge::Introduced
                } else if line.ends_with("[may be older]") {
                    CalledAge::Older
                } else {
                    age
                };
                findings.push(CalledFinding {
                    path: told.path,
                    line: told.line,
                    code: told.code,
                    age,
                });
            } else if trimmed == line {
                // A line without an indent is the head of the following ones.
                let is_older = ["not known", "may be older", "older:"]
                    .iter()
                    .any(|words| line.contains(words));
                let is_mixed = is_older && line.contains("introduced");
                let is_introduced = !is_older || is_mixed;
                age = if is_introduced { CalledAge::Introduced } else { CalledAge::Older };
            }
        }
        findings
    }

    /// True if the text reports that something was not measured.
    pub(crate) fn has_gap(&self) -> bool {
        self.told.contains("ot measured: ") || self.message.contains("ot measured: ")
    }
}
