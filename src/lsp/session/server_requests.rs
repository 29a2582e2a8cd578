//! What the client tells the server about itself, and the answers to the server's own requests.
//! Every request is answered: a server that waits for an answer looks like a slow one.

use std::path::Path;

use serde_json::{Value, json};

use super::{Effect, Session};
use crate::base::path::to_uri;
use crate::lsp::registry::ServerSpec;
use crate::wire::jsonrpc::{Id, Message, RpcError};

/// Parameters of `initialize`. Pull is offered with dynamic registration, because pyright enables
/// it only then; only UTF-16 is offered, which every server must support.
pub(super) fn initialize_params(root: &Path, spec: &ServerSpec, process_id: u32) -> Value {
    let uri = to_uri(root);
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    json!({
        "processId": process_id,
        "clientInfo": {"name": "moai-ralph", "version": env!("CARGO_PKG_VERSION")},
        "rootUri": uri,
        "rootPath": root.to_string_lossy(),
        "workspaceFolders": [{"uri": uri, "name": name}],
        "initializationOptions": spec.initialization_options,
        "capabilities": {
            "general": {"positionEncodings": ["utf-16"]},
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
                "diagnostic": {"dynamicRegistration": true, "relatedDocumentSupport": true},
            },
        },
    })
}

impl Session {
    pub(super) fn server_request(&mut self, id: Id, method: &str, params: &Value) {
        let result = match method {
            "workspace/configuration" => Ok(self.configuration(params)),
            "workspace/workspaceFolders" => {
                Ok(json!([{"uri": to_uri(&self.root), "name": "root"}]))
            }
            "client/registerCapability" => {
                let watches = params["registrations"].as_array().is_some_and(|registrations| {
                    registrations
                        .iter()
                        .any(|one| one["method"] == "workspace/didChangeWatchedFiles")
                });
                self.watches_files |= watches;
                Ok(Value::Null)
            }
            // Nobody asked the server for an edit, so none is applied behind the agent's back.
            "workspace/applyEdit" => Ok(json!({"applied": false})),
            "window/showDocument" => Ok(json!({"success": false})),
            "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/diagnostic/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/codeLens/refresh" => Ok(Value::Null),
            _ => Err(RpcError {
                code: -32601,
                message: format!("{method} is not supported"),
                data: Value::Null,
            }),
        };
        self.effects.push(Effect::Send(Message::Response { id, result }));
    }

    /// One answer per item: the settings of its dotted section, null where there are none.
    fn configuration(&self, params: &Value) -> Value {
        let items = params["items"].as_array().map_or(&[][..], Vec::as_slice);
        let answer = |item: &Value| {
            let section = item["section"].as_str().unwrap_or_default();
            let parts = section.split('.').filter(|part| !part.is_empty());
            parts.fold(&self.settings, |settings, part| &settings[part]).clone()
        };
        items.iter().map(answer).collect()
    }
}
