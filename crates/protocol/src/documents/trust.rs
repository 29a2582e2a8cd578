//! Document of `trust`.

use std::path::Path;

use serde::Serialize;

/// `moai-ralph/trust@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/trust@1")]
pub struct TrustDocument<'d> {
    /// Absolute path of the root.
    pub root: &'d Path,
    /// True if programs of the project run.
    pub trusted: bool,
    /// `command`, `host` or `variable`; `None` if it is not trusted.
    pub by: Option<&'static str>,
    /// The file that changed since `moai-ralph trust`, which ended the trust.
    pub changed: Option<&'static str>,
    /// True if the user declined when these programs were shown at a terminal.
    pub declined: bool,
    /// The programs that run in a trusted project.
    pub programs: &'d [ProjectProgram],
    /// The files that the trust is bound to.
    pub files: Vec<&'d str>,
}

/// A program configured or contained in a project, or one that runs the project's code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProjectProgram {
    /// `server`, `check`, `judge`, `interpreter` or `build`.
    pub kind: &'static str,
    /// Name of the server, the check or the judge.
    pub name: String,
    /// Program and arguments, or the endpoint of a judge.
    pub command: Vec<String>,
    /// The file that configures it; empty if it was found in a standard place.
    pub source: String,
}
