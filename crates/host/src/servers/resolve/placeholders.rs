//! Fills in the placeholders of a catalogue entry: command, arguments, environment and settings.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::packages::python_interpreter;
use crate::servers::storage::{create_storage, storage_folder};
use crate::servers::{ServerContext, install};
use moai_lsp::registry::ServerSpec;

/// The placeholder values of one server in one workspace.
pub(super) struct PlaceholderFiller<'a> {
    context: &'a ServerContext,
    workspace: &'a Path,
    server: Option<PathBuf>,
    storage: PathBuf,
}

impl<'a> PlaceholderFiller<'a> {
    pub(super) fn new(
        id: &str,
        spec: &ServerSpec,
        workspace: &'a Path,
        context: &'a ServerContext,
        data: &Path,
    ) -> Self {
        let storage = storage_folder(data, id, workspace);
        Self { context, workspace, server: install::install_folder(data, id, spec), storage }
    }

    /// The entry with its placeholders filled in.
    pub(super) fn spec(&self, spec: &ServerSpec) -> ServerSpec {
        ServerSpec {
            command: self.text_or_empty(&spec.command),
            args: spec.args.iter().map(|text| self.text_or_empty(text)).collect(),
            env: spec
                .env
                .iter()
                .map(|(name, value)| (name.clone(), self.text_or_empty(value)))
                .collect(),
            initialization_options: self.value(&spec.initialization_options),
            settings: self.value(&spec.settings),
            ..spec.clone()
        }
    }

    fn text_or_empty(&self, text: &str) -> String {
        self.text(text).unwrap_or_default()
    }

    /// A text whose placeholder is unset becomes null.
    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).map_or(Value::Null, Value::String),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                map.iter().map(|(key, value)| (key.clone(), self.value(value))).collect()
            }
            other => other.clone(),
        }
    }

    /// The text with its placeholders filled in; `None` when one is unset. Unknown placeholders stay
    /// unchanged.
    fn text(&self, text: &str) -> Option<String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            filled.push_str(before);
            let known =
                after.split_once('}').map(|(name, tail)| (self.placeholder_value(name), tail));
            match known {
                Some((PlaceholderValue::Text(text), tail)) => {
                    filled.push_str(&text);
                    rest = tail;
                }
                Some((PlaceholderValue::Unset, _)) => return None,
                Some((PlaceholderValue::Unknown, _)) | None => {
                    filled.push_str("${");
                    rest = after;
                }
            }
        }
        filled.push_str(rest);
        Some(filled)
    }

    fn placeholder_value(&self, name: &str) -> PlaceholderValue {
        match name {
            "python" => PlaceholderValue::from_path(python_interpreter(self.context)),
            "root" => PlaceholderValue::from_path(Some(self.workspace)),
            "server" => PlaceholderValue::from_path(self.server.as_deref()),
            "storage" => {
                // On failure the server itself reports that it cannot write there.
                let _ = create_storage(&self.storage, self.workspace);
                PlaceholderValue::from_path(Some(&self.storage))
            }
            "os" if cfg!(target_os = "macos") => PlaceholderValue::Text("mac".to_owned()),
            "os" => PlaceholderValue::Text("linux".to_owned()),
            _ => PlaceholderValue::Unknown,
        }
    }
}

/// The value of a placeholder.
enum PlaceholderValue {
    Text(String),
    /// A known placeholder without a value here.
    Unset,
    Unknown,
}

impl PlaceholderValue {
    fn from_path(path: Option<&Path>) -> Self {
        path.map_or(Self::Unset, |path| Self::Text(path.display().to_string()))
    }
}
