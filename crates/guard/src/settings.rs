//! Parses the formats of tool configurations into JSON values.

use serde_json::{Map, Value};

use moai_base::foreign_text::one_line;
use moai_base::jsonc::parse_jsonc;
use moai_base::limits::MESSAGE_CHARS_MAX;
use moai_base::toml_value::parse_toml;

/// A format of configuration files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingsFormat {
    /// JSON, with comments and trailing commas where a tool takes them.
    Json,
    Toml,
    /// Sections of `key = value`, values going on in indented lines, as Python's `configparser`
    /// reads them; every value is text.
    Ini,
    /// YAML 1.2.
    Yaml,
}

/// Reads a text; the error is one line.
pub(super) fn parse_settings(format: SettingsFormat, text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match format {
        SettingsFormat::Json => parse_jsonc(text)?.ok_or_else(|| "it holds no value".to_owned()),
        SettingsFormat::Toml => parse_toml(text),
        SettingsFormat::Ini => Ok(ini(text)),
        SettingsFormat::Yaml => yaml(text),
    }
}

fn yaml(text: &str) -> Result<Value, String> {
    let mut options = serde_saphyr::Options::default();
    options.strict_booleans = true;
    options.merge_keys = serde_saphyr::MergeKeyPolicy::AsOrdinary;
    options.with_snippet = false;
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| one_line(&error.to_string(), MESSAGE_CHARS_MAX))
}

fn ini(text: &str) -> Value {
    let mut sections = Map::new();
    let mut section = String::new();
    let mut key: Option<String> = None;
    for line in text.lines() {
        let content = line.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        let name = content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(name) = name.filter(|_| !line.starts_with([' ', '\t'])) {
            name.trim().clone_into(&mut section);
            key = None;
            continue;
        }
        let entries = sections.entry(section.clone()).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(entries) = entries else { continue };
        if let (true, Some(key)) = (line.starts_with([' ', '\t']), &key) {
            if let Some(Value::String(value)) = entries.get_mut(key) {
                value.push('\n');
                value.push_str(content);
            }
            continue;
        }
        let (name, value) = content.split_once(['=', ':']).unwrap_or((content, ""));
        let name = name.trim().to_owned();
        entries.insert(name.clone(), Value::String(value.trim().to_owned()));
        key = Some(name);
    }
    Value::Object(sections)
}

/// A value as truth; text such as `True` and `yes` counts.
pub(super) fn as_bool(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(is) => Some(*is),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" | "enable" => Some(true),
            "false" | "no" | "off" | "0" | "disable" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// A value as a number; text such as `90` and `90%` counts.
pub(super) fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().trim_end_matches('%').parse().ok(),
        _ => None,
    }
}

/// A value as a list of words; text is split at commas and line breaks, and at blanks when it has
/// neither.
pub(super) fn as_list(value: &Value) -> Vec<String> {
    let split = |text: &str| -> Vec<String> {
        let is_listed = text.contains([',', '\n']);
        text.split(|character: char| {
            let is_mark = character == ',' || character == '\n';
            if is_listed { is_mark } else { character.is_whitespace() }
        })
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
    };
    match value {
        Value::String(text) => split(text),
        Value::Array(items) => items.iter().map(as_word).collect(),
        Value::Null => Vec::new(),
        other => vec![as_word(other)],
    }
}

/// A value as the one word it is shown by.
pub(super) fn as_word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The value behind a path of keys.
pub(super) fn value_at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_no_part_of_json() {
        let text = "{ // why\n \"a\": [1, 2,], /* b, */ \"u\": \"http://x/*y*/\\\"\", \n}";
        assert_eq!(
            parse_settings(SettingsFormat::Json, text),
            Ok(json!({"a": [1, 2], "u": "http://x/*y*/\""}))
        );
        for broken in ["{\"a\": ", "", "// only a comment", "{} /* open", "{'a': 1}", "{a: 1}"] {
            assert!(parse_settings(SettingsFormat::Json, broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn sections_with_continued_values_are_read() {
        let text = "[flake8]\nignore = E1,\n  E2\n# no\n[mypy-x.*]\nignore_errors: True\n";
        let value = parse_settings(SettingsFormat::Ini, text).expect("ini is always read");
        assert_eq!(as_list(&value["flake8"]["ignore"]), ["E1", "E2"]);
        assert_eq!(as_bool(&value["mypy-x.*"]["ignore_errors"]), Some(true));
    }

    #[test]
    fn tables_lists_and_dotted_keys_are_read() {
        let text = "a.b = 1 # one\n[tool.\"x y\"]\nlist = [\n  'p\\d', # why\n  \"q\\n\",\n]\n\
                    t = { k = true, l.m = 90.5 }\n[[tool.o]]\nn = \"1\"\n[[tool.o]]\nn = 2\n\
                    [tool.o.deep]\nd = 2020-01-01\ns = '''\nx'''\n";
        let expected = json!({
            "a": {"b": 1},
            "tool": {
                "x y": {"list": ["p\\d", "q\n"], "t": {"k": true, "l": {"m": 90.5}}},
                "o": [{"n": "1"}, {"n": 2, "deep": {"d": "2020-01-01", "s": "x"}}],
            },
        });
        assert_eq!(parse_settings(SettingsFormat::Toml, text), Ok(expected));
    }

    #[test]
    fn toml_escapes_are_decoded_and_numbers_that_json_lacks_become_text() {
        let text = r#"a = "\t\u00e9\U0001F600\"\\" # no escape in the next: '\t'
b = '\t'
c = """one \
    line"""
n = [nan, -nan, inf, -inf, 1e3, -0.5, 0x1F, 1_000]
"#;
        let expected = json!({
            "a": "\té\u{1f600}\"\\",
            "b": "\\t",
            "c": "one line",
            "n": ["NaN", "NaN", "inf", "-inf", 1000.0, -0.5, 31, 1000],
        });
        assert_eq!(parse_settings(SettingsFormat::Toml, text), Ok(expected));
    }

    #[test]
    fn what_is_no_toml_is_an_error_with_its_line() {
        for text in [
            "a",
            "a = ",
            "a = [1",
            "a = \"x",
            "[a",
            "a = 1 2 = 3\n]",
            "a = 1\na.b = 2",
            "a = 1\na = 1",
            "[a]\n[a]",
            "a = {b = 1, b = 2}",
            "a = \"\\d\"",
            "a = 01",
        ] {
            assert!(parse_settings(SettingsFormat::Toml, text).is_err(), "{text}");
        }
        assert!(
            parse_settings(SettingsFormat::Toml, "a = 1\nb = [1\n= 2")
                .expect_err("broken")
                .starts_with("line 3")
        );
        let deep = format!("a = {}", "[".repeat(10_000));
        assert!(parse_settings(SettingsFormat::Toml, &deep).is_err());
    }
}
