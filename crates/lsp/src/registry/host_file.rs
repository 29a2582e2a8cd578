//! A project's `.lsp.json` in the format of Claude Code's plugins (as of 2.1.330): servers by name,
//! each with the extensions it serves. Unknown keys are ignored.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::{
    Catalogue, CatalogueError, DiagnosticsMethod, LanguageSpec, OutsideRestart, OverlaySupport,
    PublishTraits, ReadySignal, ServerSpec, UntrustedUse, WorkspaceRule, parse_json,
};

#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct HostServers(BTreeMap<String, HostServer>);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HostServer {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    /// LSP language id by extension with its dot.
    extension_to_language: BTreeMap<String, String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    initialization_options: Option<Value>,
    settings: Option<Value>,
    #[serde(default)]
    transport: HostTransport,
    /// False for a server that is used for navigation only.
    #[serde(default = "super::yes")]
    diagnostics: bool,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum HostTransport {
    #[default]
    Stdio,
    #[serde(other)]
    Other,
}

impl HostServers {
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        parse_json(text)
    }

    /// The ids of the servers that it describes.
    pub fn server_ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Catalogue {
    /// This catalogue with the servers of a project's `.lsp.json`: each is preferred for its
    /// extensions. Those without diagnostics or over a socket are skipped, and so is this program
    /// itself.
    #[must_use]
    pub fn with_host_servers(mut self, file: HostServers) -> Self {
        for (id, server) in file.0 {
            let program = server.command.rsplit('/').next().unwrap_or_default();
            let is_usable = server.diagnostics && server.transport == HostTransport::Stdio;
            if is_usable && program != "moai-ralph" {
                self.prefer(&id, server);
            }
        }
        self
    }

    fn prefer(&mut self, id: &str, server: HostServer) {
        let extensions: BTreeMap<String, String> = server
            .extension_to_language
            .iter()
            .map(|(extension, language)| {
                (extension.trim_start_matches('.').to_ascii_lowercase(), language.clone())
            })
            .collect();
        for (extension, lsp_id) in &extensions {
            let owner = self.languages.iter().find(|(_, it)| it.extensions.contains_key(extension));
            let owner = owner.map_or_else(|| lsp_id.clone(), |(owner, _)| owner.clone());
            let entry = self.languages.entry(owner);
            let language = entry.or_insert_with(|| Arc::new(new_language(lsp_id)));
            let language = Arc::make_mut(language);
            language.extensions.entry(extension.clone()).or_insert_with(|| lsp_id.clone());
            language.servers.retain(|other| other != id);
            language.servers.insert(0, id.to_owned());
            // The project configures a server for this language, so it is measured.
            language.auxiliary = false;
        }
        // A server of the catalogue keeps its protocol and its markers.
        let known = self.server(id).cloned();
        let spec = known.unwrap_or_else(default_server_spec);
        let spec = ServerSpec {
            // Under any id, it must not hide errors that an edit caused in other files.
            change_after_open: spec.change_after_open || server.command.contains("pyright"),
            outside_restart: if server.command.contains("pyright") {
                OutsideRestart::Changes
            } else {
                spec.outside_restart
            },
            command: with_root_placeholder(&server.command),
            args: server.args.iter().map(|text| with_root_placeholder(text)).collect(),
            env: server
                .env
                .into_iter()
                .map(|(name, value)| (name, with_root_placeholder(&value)))
                .collect(),
            initialization_options: server
                .initialization_options
                .unwrap_or(spec.initialization_options),
            settings: server.settings.unwrap_or(spec.settings),
            extensions,
            when: None,
            install: None,
            ..spec
        };
        self.servers.insert(id.to_owned(), Arc::new(spec));
    }
}

/// Replaces the host's placeholders for the plugin's and the project's folder.
fn with_root_placeholder(text: &str) -> String {
    text.replace("${CLAUDE_PLUGIN_ROOT}", "${root}").replace("${CLAUDE_PROJECT_DIR}", "${root}")
}

fn new_language(id: &str) -> LanguageSpec {
    LanguageSpec {
        name: id.to_owned(),
        extensions: BTreeMap::new(),
        files: BTreeMap::new(),
        servers: Vec::new(),
        companions: Vec::new(),
        auxiliary: false,
        user_servers: None,
    }
}

/// Pull where the server announces it, else push.
fn default_server_spec() -> ServerSpec {
    ServerSpec {
        publishes: PublishTraits::default(),
        command: String::new(),
        args: Vec::new(),
        env: BTreeMap::new(),
        diagnostics: DiagnosticsMethod::Pull,
        ready: ReadySignal::default(),
        loading_titles: Vec::new(),
        lists_files: Vec::new(),
        change_after_open: false,
        declares_on_request: false,
        outside_restart: OutsideRestart::None,
        overlays: OverlaySupport::None,
        checking: None,
        initialization_options: Value::Null,
        settings: Value::Null,
        root_markers: Vec::new(),
        workspace_markers: Vec::new(),
        workspace: WorkspaceRule::default(),
        restart_on: Vec::new(),
        data_extensions: Vec::new(),
        watches: Vec::new(),
        configuration_errors: Vec::new(),
        import_failures: Vec::new(),
        loading_errors: Vec::new(),
        raised_to_errors: Vec::new(),
        lowered_to_warnings: Vec::new(),
        logs_failures: false,
        needs: Vec::new(),
        tools: Vec::new(),
        variables: Vec::new(),
        ignore_codes: Vec::new(),
        extensions: BTreeMap::new(),
        when: None,
        install: None,
        verified: false,
        untrusted: UntrustedUse::default(),
    }
}
