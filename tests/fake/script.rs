//! The script: mode, findings, misbehavior. Unknown keys are an error, because a mistyped behavior would make
//! a test pass for the wrong reason.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// Every key of a script; each is explained where the server uses it.
const KEYS: &[&str] = &[
    "allocate_mib",
    "answers",
    "ask_configuration",
    "blind_ms",
    "cancel_first",
    "capabilities",
    "crash_at",
    "delay_ms",
    "empty_first",
    "errors",
    "fail_initialize",
    "first_delay_ms",
    "id_collision",
    "ignore_shutdown",
    "incremental",
    "initialize_delay_ms",
    "junk_on_stdout",
    "log",
    "log_message",
    "mode",
    "never_answer",
    "position_encoding",
    "progress",
    "publish_version",
    "push_only_nonempty",
    "refresh_first",
    "register_after_ms",
    "result_unchanged",
    "spawn_child",
    "spawn_detached",
    "stale_version",
    "watch_files",
    "wrong_uri",
];

/// How findings reach the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// The capability is in the answer to `initialize`.
    Pull,
    /// The capability is registered later (`register_after_ms`).
    PullDynamic,
    /// `textDocument/publishDiagnostics`.
    Push,
}

/// An error wherever its needle occurs in a text.
#[derive(Clone, Debug)]
pub(crate) struct Needle {
    pub(crate) text: String,
    pub(crate) message: String,
    pub(crate) severity: u64,
    pub(crate) code: String,
    /// Nothing is wrong as long as this file has this text.
    pub(crate) unless: Option<(String, String)>,
}

pub(crate) struct Script {
    json: Value,
    pub(crate) mode: Mode,
    pub(crate) needles: Vec<Needle>,
}

impl Script {
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let json: Value = serde_json::from_str(&text)
            .map_err(|error| format!("{} is not JSON: {error}", path.display()))?;
        Self::parse(json)
    }

    fn parse(json: Value) -> Result<Self, String> {
        let object = json.as_object().ok_or("the script is not an object")?;
        if let Some(key) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("unknown key {key:?}"));
        }
        let mode = match object.get("mode").and_then(Value::as_str).unwrap_or("pull") {
            "pull" => Mode::Pull,
            "pull-dynamic" => Mode::PullDynamic,
            "push" => Mode::Push,
            other => return Err(format!("unknown mode {other:?}")),
        };
        let needles = match object.get("errors").and_then(Value::as_array) {
            Some(entries) => entries.iter().map(needle).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        Ok(Self { json, mode, needles })
    }

    pub(crate) fn get(&self, key: &str) -> &Value {
        debug_assert!(KEYS.contains(&key), "a key nobody can write: {key}");
        &self.json[key]
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.get(key).as_bool().unwrap_or(false)
    }

    pub(crate) fn number(&self, key: &str) -> u64 {
        self.get(key).as_u64().unwrap_or(0)
    }

    pub(crate) fn millis(&self, key: &str) -> Duration {
        Duration::from_millis(self.number(key))
    }

    pub(crate) fn never_answers(&self, method: &str) -> bool {
        self.get("never_answer")
            .as_array()
            .is_some_and(|methods| methods.iter().any(|entry| entry == method))
    }
}

fn needle(entry: &Value) -> Result<Needle, String> {
    let text = |key: &str| entry[key].as_str().map(str::to_owned);
    let needle = text("needle").filter(|needle| !needle.is_empty());
    Ok(Needle {
        text: needle.ok_or("an error without a needle")?,
        message: text("message").unwrap_or_else(|| "found".to_owned()),
        severity: entry["severity"].as_u64().unwrap_or(1),
        code: text("code").unwrap_or_else(|| "fake".to_owned()),
        unless: entry["unless"]["file"]
            .as_str()
            .zip(entry["unless"]["has"].as_str())
            .map(|(file, has)| (file.to_owned(), has.to_owned())),
    })
}
