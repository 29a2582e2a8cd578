//! Documents about the agent clients that call the hooks.

use serde::Serialize;

/// `moai-ralph/hosts@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/hosts@1")]
pub struct HostsDocument {
    /// The clients.
    pub hosts: Vec<HostDocumentEntry>,
}

/// One client.
#[derive(Clone, Debug, Serialize)]
pub struct HostDocumentEntry {
    /// Its name, as for `hook --host`.
    pub host: &'static str,
    /// Files and plugins that register hooks with it.
    pub registered_in: Vec<String>,
    /// Files in which hooks may be registered, and that cannot be read.
    pub unreadable: Vec<UnreadableHostFile>,
    /// What has to be approved before the client starts them; `None` for nothing.
    pub approval: Option<&'static str>,
    /// The events that this program answers.
    pub events: Vec<HostEventEntry>,
}

/// A file of a client that cannot be read.
#[derive(Clone, Debug, Serialize)]
pub struct UnreadableHostFile {
    /// Absolute.
    pub file: String,
    /// Why; it names the line, if there is one.
    pub reason: String,
}

/// One event of a client.
#[derive(Clone, Debug, Serialize)]
pub struct HostEventEntry {
    /// Its name, as for `hook`.
    pub event: &'static str,
    /// True if a hook is registered for it.
    pub registered: bool,
    /// Whether the user has approved the hook: `approved`, `outdated` (an earlier form was), `missing` or
    /// `switched-off`; `None` if the client asks for no approval of each hook.
    pub approval: Option<&'static str>,
    /// When a hook last ran for it in this project, in milliseconds since the epoch; `None` for never.
    pub last_ms: Option<u64>,
}
