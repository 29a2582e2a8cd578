//! Trust of the user in a project, without which programs that it configures or contains must not run.

use std::collections::BTreeMap;
use std::path::Path;

use moai_base::verdict::{Cause, Gap};
use moai_host::trust::{
    ProgramFiles, TrustRecords, is_trusted_by_claude, is_trusted_by_other_hosts,
};

/// The variable by which a caller trusts every project, for one call.
const VARIABLE: &str = "MOAI_RALPH_TRUST";
/// The command that trusts a project.
const REMEDY: &str = "moai-ralph trust";

/// The user's trust in a project, and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProjectTrust {
    /// By the caller's environment.
    ByVariable,
    /// By `moai-ralph trust`, for files that have not changed since.
    ByCommand,
    /// In a host: by Claude Code's trust dialog, or by another host's record.
    ByHost,
    /// It was trusted by `moai-ralph trust`, but this file has changed.
    Changed(&'static str),
    /// Never.
    Unknown,
}

impl ProjectTrust {
    /// Reads the records; `env` is the caller's environment.
    pub(crate) fn of_root(state: &Path, root: &Path, env: &BTreeMap<String, String>) -> Self {
        if env.get(VARIABLE).is_some_and(|value| value == "1") {
            return Self::ByVariable;
        }
        let recorded = TrustRecords::new(state).find(root).filter(|record| record.is_trusted);
        let difference =
            recorded.map(|record| ProgramFiles::read(root).first_difference(&record.files));
        match difference {
            Some(None) => Self::ByCommand,
            _ if is_trusted_by_claude(root, env) || is_trusted_by_other_hosts(root, env) => {
                Self::ByHost
            }
            Some(Some(file)) => Self::Changed(file),
            None => Self::Unknown,
        }
    }

    pub(crate) fn is_trusted(self) -> bool {
        matches!(self, Self::ByVariable | Self::ByCommand | Self::ByHost)
    }

    /// The source of the trust: `variable`, `command` or `host`.
    pub(crate) fn source(self) -> Option<&'static str> {
        match self {
            Self::ByVariable => Some("variable"),
            Self::ByCommand => Some("command"),
            Self::ByHost => Some("host"),
            Self::Changed(_) | Self::Unknown => None,
        }
    }

    /// The gap reported instead of the results of the project's programs; `None` if they may run.
    pub(crate) fn gap(self) -> Option<Gap> {
        let detail = match self {
            Self::ByVariable | Self::ByCommand | Self::ByHost => return None,
            Self::Changed(file) => format!("project not trusted since {file} changed"),
            Self::Unknown => "project not trusted".to_owned(),
        };
        Some(Gap::new(Cause::NotTrusted, detail).with_remedy(REMEDY))
    }
}
