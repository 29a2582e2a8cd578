//! The client's capabilities, and responses to the server's own requests. Every request is
//! answered, because a server that waits for an answer looks like a slow one.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::{LspSession, SessionEffect};
use crate::freshness::METHOD_NOT_FOUND;
use crate::jsonrpc::{RpcError, RpcId, RpcMessage};
use crate::registry::{DiagnosticsMethod, ServerSpec};
use moai_base::path::to_uri;

/// Parameters of `initialize`. Pull is offered with dynamic registration because pyright enables it
/// only then. UTF-8 comes first because clangd takes the first encoding it knows.
pub(super) fn initialize_params(root: &Path, spec: &ServerSpec, process_id: u32) -> Value {
    let folder = workspace_folder(root);
    let mut params = json!({
        "processId": process_id,
        "clientInfo": {"name": "moai-ralph", "version": env!("CARGO_PKG_VERSION")},
        "rootUri": folder["uri"],
        "rootPath": root.to_string_lossy(),
        "workspaceFolders": [folder],
        "initializationOptions": spec.initialization_options,
        "capabilities": {
            "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
            "window": {"workDoneProgress": true},
            "workspace": {
                "configuration": true,
                "workspaceFolders": true,
                "didChangeConfiguration": {"dynamicRegistration": true},
                "didChangeWatchedFiles": {"dynamicRegistration": true, "relativePatternSupport": true},
                "diagnostics": {"refreshSupport": true},
                "workspaceEdit": {
                    "documentChanges": true, "failureHandling": "transactional",
                    "resourceOperations": ["create", "rename", "delete"],
                    "normalizesLineEndings": true, "changeAnnotationSupport": {},
                },
            },
            "textDocument": {
                "definition": {"linkSupport": true},
                "hover": {"contentFormat": ["plaintext", "markdown"]},
                "references": {},
                "rename": {"prepareSupport": true, "prepareSupportDefaultBehavior": 1},
                "synchronization": {"didSave": true},
                "documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
                "publishDiagnostics": {
                    "versionSupport": true, "relatedInformation": true,
                    "codeDescriptionSupport": true, "dataSupport": true,
                    "tagSupport": {"valueSet": [1, 2]},
                },
            },
            // rust-analyzer reports by it that the project is loaded.
            "experimental": {"serverStatusNotification": true},
        },
    });
    if spec.is_offered_pull() {
        params["capabilities"]["textDocument"]["diagnostic"] =
            json!({"dynamicRegistration": true, "relatedDocumentSupport": true});
    }
    params
}

fn workspace_folder(root: &Path) -> Value {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    json!({"uri": to_uri(root), "name": name})
}

impl LspSession {
    pub(super) fn server_request(&mut self, id: RpcId, method: &str, params: &Value, now: Instant) {
        let result = match method {
            "workspace/configuration" => Ok(self.configuration(params)),
            "workspace/workspaceFolders" => Ok(json!([workspace_folder(&self.workspace)])),
            // Edits are never requested this way, so none is applied without the agent's knowledge.
            "workspace/applyEdit" => Ok(json!({"applied": false})),
            "window/showDocument" => Ok(json!({"success": false})),
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/diagnostic/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/codeLens/refresh" => Ok(Value::Null),
            _ => Err(RpcError {
                code: METHOD_NOT_FOUND,
                message: format!("{method} is not supported"),
                data: Value::Null,
            }),
        };
        self.effects.push(SessionEffect::Send(RpcMessage::Response { id, result }));
        match method {
            "client/registerCapability" => {
                self.registrations.register(params);
                self.update_outside_places();
                self.send_changes(Vec::new());
                self.providers_changed(now);
            }
            "client/unregisterCapability" => {
                self.registrations.unregister(params);
                self.update_outside_places();
                self.providers_changed(now);
            }
            "workspace/diagnostic/refresh" => self.refresh(now),
            _ => {}
        }
    }

    /// One answer per item: the settings of its dotted section, or null. All folders have the same
    /// settings, so `scopeUri` is ignored. Eclipse's Java server fails on null.
    fn configuration(&self, params: &Value) -> Value {
        let items = params["items"].as_array().map_or(&[][..], Vec::as_slice);
        items.iter().map(|item| self.settings_section(item)).collect()
    }

    fn settings_section(&self, item: &Value) -> Value {
        let section = item["section"].as_str().unwrap_or_default();
        let parts = section.split('.').filter(|part| !part.is_empty());
        let settings = parts.fold(&self.settings, |settings, part| &settings[part]);
        if settings.is_null() && self.spec.diagnostics == DiagnosticsMethod::Jdtls {
            json!({})
        } else {
            settings.clone()
        }
    }
}
