//! Document of `config show`.

use serde::Serialize;

/// `moai-ralph/config@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/config@1")]
pub struct OptionsDocument<'d> {
    /// The requested options.
    pub options: &'d [OptionEntry],
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OptionEntry {
    /// Dotted path below `ralph`.
    pub key: &'static str,
    /// The value as YAML on one line.
    pub value: String,
    /// `default`, the path of a file, or `environment variable NAME`.
    pub origin: String,
}
