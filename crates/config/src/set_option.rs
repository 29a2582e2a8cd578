//! Sets one option in the text of an option file, without other changes.

use serde_json::Value;

use super::origins::document;
use super::{KEYS, OptionFile};

/// The reason why an option was not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetOptionError {
    /// No option has this name.
    #[error("unknown option {key}; known: {known}")]
    UnknownKey { key: String, known: String },
    /// The value is not YAML on one line.
    #[error("'{value}' is not a YAML value on one line")]
    InvalidValue { value: String },
    /// The layout of the file does not allow it.
    #[error("{file} is written in a way that this command does not edit; set {key} there yourself")]
    UnusualLayout { file: String, key: String },
}

/// The text of the file with this value for this key, which is a dotted path below `ralph`, or with it. The
/// range of the value is not checked.
pub fn with_option(file: &OptionFile, key: &str, value: &str) -> Result<String, SetOptionError> {
    let key = key.strip_prefix("ralph.").unwrap_or(key);
    if !KEYS.contains(&key) {
        let section = key.rsplit_once('.').map_or("", |(section, _)| section);
        let is_section = KEYS.iter().any(|it| it.starts_with(section));
        let section = if is_section { section } else { "" };
        let known: Vec<&str> = KEYS.into_iter().filter(|it| it.starts_with(section)).collect();
        return Err(SetOptionError::UnknownKey { key: key.to_owned(), known: known.join(", ") });
    }
    let value = value.trim();
    let has_comment = value.contains('#') && quoted_length(value) != Some(value.len());
    let is_valid = !value.is_empty() && !has_comment && !value.contains(['\n', '\r']);
    let parsed: Value = Some(value)
        .filter(|_| is_valid)
        .and_then(|value| serde_saphyr::from_str(value).ok())
        // A value such as `a: b` is one only between quotes.
        .filter(|parsed| document(&format!("value: {value}"))["value"] == *parsed)
        .ok_or_else(|| SetOptionError::InvalidValue { value: value.to_owned() })?;
    let path: Vec<&str> = std::iter::once("ralph").chain(key.split('.')).collect();
    let mut text = edited(&file.text, &path, value);
    if file.text.contains('\n')
        && file.text.matches('\n').count() == file.text.matches("\r\n").count()
    {
        text = text.replace('\n', "\r\n");
    }
    let mut expected = document(&file.text);
    let is_replaced = replace(&mut expected, &path, parsed);
    if is_replaced && document(&text) == expected {
        return Ok(text);
    }
    Err(SetOptionError::UnusualLayout { file: file.name.clone(), key: key.to_owned() })
}

/// True if the value could be set in the tree.
fn replace(document: &mut Value, path: &[&str], value: Value) -> bool {
    let mut node = document;
    for part in path {
        if node.is_null() {
            *node = Value::Object(serde_json::Map::new());
        }
        let Some(object) = node.as_object_mut() else { return false };
        node = object.entry((*part).to_owned()).or_insert(Value::Null);
    }
    *node = value;
    true
}

/// Replaces the value in block style, or inserts it below its nearest parent.
fn edited(text: &str, path: &[&str], value: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut parent: Option<usize> = None;
    for (depth, part) in path.iter().enumerate() {
        let Some(found) = child(&lines, parent, part) else {
            let indent = match first_child_indent(&lines, parent) {
                Some(indent) => indent,
                None => parent.map_or(0, |at| indent_of(&lines[at]) + 2),
            };
            let at = parent.map_or(lines.len(), |parent| parent + 1);
            lines.splice(at..at, nested(&path[depth..], indent, value));
            return lines.join("\n") + "\n";
        };
        parent = Some(found);
    }
    if let (Some(at), Some(name)) = (parent, path.last()) {
        let line = &lines[at];
        let start = line.find(':').map_or(line.len(), |colon| colon + 1);
        let value_start = line.len() - line[start..].trim_start().len();
        let value_end = value_start + quoted_length(&line[value_start..]).unwrap_or_default();
        let comment = line[value_end..].find(" #").map_or("", |hash| {
            let before = &line[..value_end + hash];
            &line[before.trim_end().len()..]
        });
        let indent = " ".repeat(indent_of(line));
        lines[at] = format!("{indent}{name}: {value}{comment}");
    }
    lines.join("\n") + "\n"
}

/// The length in bytes of the quoted value at the beginning, with its quotes.
fn quoted_length(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' && quote == '"' {
            is_escaped = true;
        } else if character == quote {
            return Some(at + 1);
        }
    }
    None
}

fn nested(path: &[&str], indent: usize, value: &str) -> Vec<String> {
    let last = path.len() - 1;
    let line = |(depth, part): (usize, &&str)| {
        let value = if depth == last { format!(" {value}") } else { String::new() };
        format!("{}{part}:{value}", " ".repeat(indent + 2 * depth))
    };
    path.iter().enumerate().map(line).collect()
}

/// The line of a key directly below its parent, or at the top of the file.
fn child(lines: &[String], parent: Option<usize>, name: &str) -> Option<usize> {
    let indent = first_child_indent(lines, parent)?;
    let prefix = format!("{name}:");
    below(lines, parent).find(|at| {
        let line = &lines[*at];
        indent_of(line) == indent && line.trim_start().starts_with(&prefix)
    })
}

fn first_child_indent(lines: &[String], parent: Option<usize>) -> Option<usize> {
    below(lines, parent).next().map(|at| indent_of(&lines[at]))
}

/// The non-empty lines below a parent that are indented more than it.
fn below(lines: &[String], parent: Option<usize>) -> impl Iterator<Item = usize> {
    let start = parent.map_or(0, |at| at + 1);
    let indent = parent.map(|at| indent_of(&lines[at]));
    (start..lines.len())
        .filter(|at| {
            let line = lines[*at].trim_start();
            !line.is_empty() && !line.starts_with('#')
        })
        .take_while(move |at| indent.is_none_or(|indent| indent_of(&lines[*at]) > indent))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, key: &str, value: &str) -> Result<String, String> {
        let file = OptionFile {
            name: "ralph.yaml".to_owned(),
            text: text.to_owned(),
            is_trusted: true,
            is_of_user: true,
        };
        with_option(&file, key, value).map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_is_replaced_and_everything_else_is_kept() {
        let text = "# mine\nralph:\n  loop:\n    # often enough\n    max_iterations: 3   # for now\n\n  scan: {enabled: false}\n";
        let expected = text.replace("max_iterations: 3", "max_iterations: 20");
        assert_eq!(set(text, "loop.max_iterations", "20"), Ok(expected.clone()));
        let of_windows = |text: &str| text.replace('\n', "\r\n");
        let set_there = set(&of_windows(text), "loop.max_iterations", "20");
        assert_eq!(set_there, Ok(of_windows(&expected)));
        let quoted = set("", "judge.model", "\"x: y # z\"");
        assert_eq!(quoted, Ok("ralph:\n  judge:\n    model: \"x: y # z\"\n".to_owned()));
        let again = set("ralph:\n  judge:\n    model: \"x # z\"  # mine\n", "judge.model", "new");
        assert_eq!(again, Ok("ralph:\n  judge:\n    model: new  # mine\n".to_owned()));
        assert!(set("", "judge.model", "\"x\" # note").is_err());
    }

    #[test]
    fn keys_and_values_that_do_not_fit_are_named() {
        assert_eq!(set("", "ralph.loop.push", "true"), set("", "loop.push", "true"));
        let wrong = set("", "judge.model", "a: b").unwrap_err();
        assert!(wrong.contains("'a: b' is not a YAML value"), "{wrong}");
        let unknown = set("", "nothing.at_all", "1").unwrap_err();
        assert!(unknown.contains("loop.push"), "{unknown}");
    }

    #[test]
    fn a_missing_option_is_inserted_below_its_section() {
        assert_eq!(
            set("", "loop.max_iterations", "5"),
            Ok("ralph:\n  loop:\n    max_iterations: 5\n".to_owned())
        );
        assert_eq!(
            set("ralph:\n    loop:\n        push: true\n", "loop.baseline", "none"),
            Ok("ralph:\n    loop:\n        baseline: none\n        push: true\n".to_owned())
        );
        assert_eq!(
            set("ralph:\n  scan:\n    enabled: false\n", "loop.push", "true"),
            Ok("ralph:\n  loop:\n    push: true\n  scan:\n    enabled: false\n".to_owned())
        );
    }

    #[test]
    fn a_layout_that_would_change_more_is_refused() {
        let inline = set("ralph: {loop: {max_iterations: 3}}\n", "loop.max_iterations", "4");
        assert!(
            inline.is_err_and(|error| error.contains("set loop.max_iterations there yourself"))
        );
        let list = "ralph:\n  loop:\n    success_criteria:\n      - test_pass\n";
        assert!(set(list, "loop.success_criteria", "[marker]").is_err());
        assert!(set("ralph: 3\n", "loop.push", "true").is_err());
    }

    #[test]
    fn unknown_keys_and_values_on_several_lines_are_refused() {
        let unknown = set("", "loop.iterations", "4").expect_err("no such key");
        assert!(unknown.contains("loop.max_iterations") && !unknown.contains("scan."), "{unknown}");
        for value in ["", "3\nenabled: false", "3 # none", "[1, 2"] {
            assert!(set("", "loop.max_iterations", value).is_err(), "{value}");
        }
    }
}
