//! Which paths a rule speaks about, and which names belong to a language, by globs. It must not
//! know rules beyond their `files` and `ignores`.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::{Map, Value};

use crate::base::path::RelPath;

/// The `files` and `ignores` of a rule.
#[derive(Debug, Default)]
pub(super) struct RuleGlobs {
    files: Option<GlobSet>,
    ignores: Option<GlobSet>,
}

impl RuleGlobs {
    /// Reads a rule's globs. What has not the shape of globs is left to the rule's own reader.
    pub(super) fn from_rule_body(body: &Map<String, Value>) -> Result<Self, String> {
        let set = |key: &str| {
            let list = body.get(key).and_then(Value::as_array);
            list.map(|globs| glob_set(globs.iter().filter_map(read_glob)))
                .transpose()
                .map_err(|error| format!("`{key}`: {error}"))
        };
        Ok(Self { files: set("files")?, ignores: set("ignores")? })
    }

    /// Whether the rule speaks about a path.
    pub(super) fn admit(&self, path: &RelPath) -> bool {
        let path = Path::new(path.as_str());
        !self.ignores.as_ref().is_some_and(|globs| globs.is_match(path))
            && self.files.as_ref().is_none_or(|globs| globs.is_match(path))
    }
}

/// Names of files, such as `*.vue`.
#[derive(Debug, Default)]
pub(in crate::scan) struct NameGlobs(GlobSet);

impl NameGlobs {
    /// Reads globs of names.
    pub(in crate::scan) fn from_globs(globs: &[String]) -> Result<Self, String> {
        glob_set(globs.iter().map(|glob| (glob.as_str(), false))).map(Self)
    }

    /// Whether the name of the file at a path is meant.
    pub(in crate::scan) fn admit(&self, path: &RelPath) -> bool {
        self.0.is_match(path.as_str().rsplit('/').next().unwrap_or_default())
    }
}

/// The pattern of one glob and whether upper and lower case are the same.
fn read_glob(value: &Value) -> Option<(&str, bool)> {
    match value {
        Value::String(pattern) => Some((pattern, false)),
        Value::Object(config) => {
            let is_loose = config.get("caseInsensitive").and_then(Value::as_bool);
            Some((config.get("glob")?.as_str()?, is_loose.unwrap_or_default()))
        }
        _ => None,
    }
}

fn glob_set<'a>(globs: impl Iterator<Item = (&'a str, bool)>) -> Result<GlobSet, String> {
    let mut builder = GlobSetBuilder::new();
    for (pattern, is_loose) in globs {
        let glob = GlobBuilder::new(pattern).case_insensitive(is_loose).build();
        builder.add(glob.map_err(|error| error.to_string())?);
    }
    builder.build().map_err(|error| error.to_string())
}
