//! Parses TOML into JSON values.

use serde_json::Value;
use toml::{Table, Value as TomlValue};

use super::foreign_text::one_line;
use super::limits::MESSAGE_CHARS_MAX;

/// The value of a text. The error is one line, with the line number.
pub fn parse_toml(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table: Table = toml::from_str(text).map_err(|error| {
        let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(text));
        let line = before.matches('\n').count() + 1;
        format!("line {line}: {}", one_line(error.message(), MESSAGE_CHARS_MAX))
    })?;
    Ok(json_value(TomlValue::Table(table)))
}

/// The JSON value of a TOML value; dates and numbers that JSON cannot represent become text.
fn json_value(value: TomlValue) -> Value {
    match value {
        TomlValue::String(text) => Value::String(text),
        TomlValue::Integer(number) => Value::from(number),
        TomlValue::Float(number) if number.is_finite() => Value::from(number),
        TomlValue::Float(number) => Value::String(number.to_string()),
        TomlValue::Boolean(is) => Value::Bool(is),
        TomlValue::Datetime(date) => Value::String(date.to_string()),
        TomlValue::Array(items) => items.into_iter().map(json_value).collect(),
        TomlValue::Table(table) => {
            table.into_iter().map(|(key, value)| (key, json_value(value))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_become_objects_and_an_error_names_its_line() {
        let text = "\u{feff}[tool.pyright]\nignore = [\"a\"] # why\nday = 2026-01-02\n";
        let value = json!({"tool": {"pyright": {"ignore": ["a"], "day": "2026-01-02"}}});
        assert_eq!(parse_toml(text), Ok(value));
        assert!(parse_toml("a = 1\nb = \n").is_err_and(|error| error.starts_with("line 2: ")));
    }
}
