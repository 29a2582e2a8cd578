//! Globs: the `files` and `ignores` of a rule, and the file names of a language.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::{Map, Value};

use moai_base::path::RelPath;

/// The `files` and `ignores` of a rule.
#[derive(Debug, Default)]
pub(super) struct RuleGlobs {
    files: Option<GlobSet>,
    ignores: Option<GlobSet>,
}

impl RuleGlobs {
    /// Parses a rule's globs. Values of the wrong type are left to the engine, which reports them.
    pub(super) fn from_rule_body(body: &Map<String, Value>) -> Result<Self, String> {
        let set = |key: &str| {
            let list = body.get(key).and_then(Value::as_array);
            list.map(|globs| glob_set(globs.iter().filter_map(read_glob)))
                .transpose()
                .map_err(|error| format!("`{key}`: {error}"))
        };
        Ok(Self { files: set("files")?, ignores: set("ignores")? })
    }

    /// True if the rule covers a path.
    pub(super) fn admit(&self, path: &RelPath) -> bool {
        let path = Path::new(path.as_str());
        !self.ignores.as_ref().is_some_and(|globs| globs.is_match(path))
            && self.files.as_ref().is_none_or(|globs| globs.is_match(path))
    }
}

/// Globs of file names, such as `*.vue`.
#[derive(Debug, Default)]
pub(crate) struct NameGlobs(GlobSet);

impl NameGlobs {
    /// Parses globs of file names.
    pub(crate) fn from_globs(globs: &[String]) -> Result<Self, String> {
        glob_set(globs.iter().map(|glob| (glob.as_str(), false))).map(Self)
    }

    /// True if the file's name matches.
    pub(crate) fn admit(&self, path: &RelPath) -> bool {
        self.0.is_match(path.file_name())
    }
}

/// Pattern of one glob, and whether it ignores case.
fn read_glob(value: &Value) -> Option<(&str, bool)> {
    match value {
        Value::String(pattern) => Some((pattern, false)),
        Value::Object(config) => {
            let ignores_case = config.get("caseInsensitive").and_then(Value::as_bool);
            Some((config.get("glob")?.as_str()?, ignores_case.unwrap_or_default()))
        }
        _ => None,
    }
}

fn glob_set<'a>(globs: impl Iterator<Item = (&'a str, bool)>) -> Result<GlobSet, String> {
    let mut builder = GlobSetBuilder::new();
    for (pattern, ignores_case) in globs {
        let glob = GlobBuilder::new(pattern).case_insensitive(ignores_case).build();
        builder.add(glob.map_err(|error| error.to_string())?);
    }
    builder.build().map_err(|error| error.to_string())
}
