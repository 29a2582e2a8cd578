//! Documents about the agent clients that call the hooks.

use serde::Serialize;

/// `moai-ralph/hosts@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/hosts@1")]
pub struct HostsDocument {
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
    /// The approval required before the client starts them; `None` if none is required.
    pub approval: Option<&'static str>,
    /// The events that this program handles.
    pub events: Vec<HostEventEntry>,
}

/// A file of a client that cannot be read.
#[derive(Clone, Debug, Serialize)]
pub struct UnreadableHostFile {
    /// Absolute.
    pub file: String,
    /// The reason, with the line if known.
    pub reason: String,
}

/// One event of a client.
#[derive(Clone, Debug, Serialize)]
pub struct HostEventEntry {
    /// Its name, as for `hook`.
    pub event: &'static str,
    /// True if a hook is registered for it.
    pub registered: bool,
    /// State of the user's approval: `approved`, `outdated` (for an earlier form of the hook),
    /// `missing` or `switched-off`; `None` if the client requires no approval per hook.
    pub approval: Option<&'static str>,
    /// Time of its last hook run in this project, in milliseconds since the epoch; `None` for
    /// never.
    pub last_ms: Option<u64>,
}
