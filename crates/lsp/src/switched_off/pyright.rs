//! pyright and basedpyright: files listed in `ignore`, `typeCheckingMode: off`, and files that
//! begin with `# type: ignore`. Files excluded by `exclude` or missing from `include` are checked
//! when they are open. Observed with pyright 1.1.414; the wildcards are those of its
//! `getWildcardRegexPattern`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use moai_base::verdict::{Cause, Gap};

/// A configuration of pyright with its bases.
#[derive(Clone, Debug, PartialEq)]
pub struct PyrightConfig {
    /// File name, for messages.
    pub name: String,
    /// The configuration and its bases, the bases first.
    pub layers: Vec<PyrightLayer>,
}

/// One configuration file of pyright.
#[derive(Clone, Debug, PartialEq)]
pub struct PyrightLayer {
    /// Absolute path of its folder, to which its patterns are relative.
    pub folder: String,
    pub keys: Value,
}

impl PyrightConfig {
    /// A key and the folder of the layer that sets it; a configuration takes precedence over its
    /// bases.
    fn key(&self, name: &str) -> Option<(&str, &Value)> {
        let layer = self.layers.iter().rev().find(|layer| layer.keys.get(name).is_some())?;
        Some((layer.folder.as_str(), &layer.keys[name]))
    }

    /// The folder of the virtual environment that the configuration names. Its packages take precedence over those
    /// of the interpreter in the settings. Source: <https://microsoft.github.io/pyright/#/configuration>.
    #[must_use]
    pub fn environment(&self) -> Option<PathBuf> {
        let (_, name) = self.key("venv")?;
        let (folder, place) = self.key("venvPath")?;
        Some(Path::new(folder).join(place.as_str()?).join(name.as_str()?))
    }

    fn names(&self, key: &str, file: &str) -> bool {
        let Some((folder, Value::Array(patterns))) = self.key(key) else { return false };
        patterns.iter().filter_map(Value::as_str).any(|pattern| is_match(folder, pattern, file))
    }

    /// True if the file with this absolute path is one of the project's own. Observed with pyright 1.1.414: it
    /// overlooks other modules that appear, disappear or, for seconds, change, although files of the project import
    /// them.
    #[must_use]
    pub fn covers(&self, file: &str) -> bool {
        let is_included = match self.key("include") {
            Some(_) => self.names("include", file),
            None => self.layers.last().is_some_and(|own| Path::new(file).starts_with(&own.folder)),
        };
        is_included && !self.names("exclude", file)
    }

    /// True if a rule is enabled individually, in addition to the mode.
    fn has_rule(&self) -> bool {
        let mut keys = self.layers.iter().filter_map(|layer| layer.keys.as_object()).flatten();
        keys.any(|(name, value)| name.starts_with("report") && is_on(value))
    }
}

fn is_on(rule: &Value) -> bool {
    match rule {
        Value::Bool(is_on) => *is_on,
        Value::String(level) => level != "none",
        _ => false,
    }
}

/// Explains why pyright reports no errors, or no type errors, in the file with this absolute path.
/// Without a configuration only the file's own comment can disable them.
#[must_use]
pub fn pyright_gap(file: &str, text: &str, config: Option<&PyrightConfig>) -> Option<Gap> {
    let key = |name| config.and_then(|config| config.key(name)).map(|(_, value)| value);
    let name = config.map_or("", |config| config.name.as_str());
    if config.is_some_and(|config| config.names("ignore", file)) {
        let detail = format!("excluded by the project's configuration: \"ignore\" in {name}");
        return Some(switched_off(&detail, "remove its entry there"));
    }
    if key("enableTypeIgnoreComments") != Some(&Value::Bool(false)) && is_ignored_by_comment(text) {
        return Some(switched_off(
            "not checked: # type: ignore is at its top",
            "remove the comment",
        ));
    }
    let is_off = key("typeCheckingMode").and_then(Value::as_str) == Some("off")
        && !config.is_some_and(|config| config.has_rule() || config.names("strict", file))
        && !has_mode_comment(text);
    is_off.then(|| {
        let detail = "checked for little more than syntax: typeCheckingMode is off";
        switched_off(detail, &format!("set it to \"standard\" in {name}"))
    })
}

fn switched_off(detail: &str, remedy: &str) -> Gap {
    Gap::new(Cause::SwitchedOff, detail).with_remedy(remedy)
}

/// True if a comment before the code contains `# type: ignore`.
fn is_ignored_by_comment(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut comments = lines.take_while(|line| line.starts_with('#'));
    comments.any(|line| line.split('#').any(is_type_ignore))
}

/// True if a comment is `type: ignore` or `type: ignore[codes]`, or continues after a space.
fn is_type_ignore(comment: &str) -> bool {
    let ignore = comment.trim_start().strip_prefix("type:").map(str::trim_start);
    let rest = ignore.and_then(|it| it.strip_prefix("ignore"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '[']))
}

/// True if a comment of the file selects a mode or enables a rule: `# pyright: strict`.
fn has_mode_comment(text: &str) -> bool {
    text.lines().filter_map(|line| line.trim_start().strip_prefix('#')).any(|comment| {
        let rules = comment.trim_start().strip_prefix("pyright:").unwrap_or_default();
        rules.split(',').map(str::trim).any(|rule| match rule.split_once('=') {
            Some((name, level)) => {
                name.trim().starts_with("report") && !matches!(level.trim(), "false" | "none")
            }
            None => matches!(rule, "basic" | "standard" | "strict"),
        })
    })
}

/// True if a pattern matches the file or one of its folders.
fn is_match(folder: &str, pattern: &str, file: &str) -> bool {
    let start = if pattern.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in start.split('/').chain(pattern.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let names: Vec<&str> = file.split('/').filter(|name| !name.is_empty()).collect();
    matches_parts(&parts, &names)
}

fn matches_parts(parts: &[&str], names: &[&str]) -> bool {
    match (parts, names) {
        ([], _) => true,
        (["**", rest @ ..], _) => {
            (0..=names.len()).any(|skipped| matches_parts(rest, &names[skipped..]))
        }
        ([part, parts @ ..], [name, names @ ..]) => {
            matches_name(part.as_bytes(), name.as_bytes()) && matches_parts(parts, names)
        }
        (_, []) => false,
    }
}

/// `*` matches any characters of a name, `?` one character.
fn matches_name(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => {
            (0..=name.len()).any(|skipped| matches_name(rest, &name[skipped..]))
        }
        ([b'?', pattern @ ..], [_, name @ ..]) => {
            // A non-ASCII character has more than one byte.
            let next = name.iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
            matches_name(pattern, &name[next..])
        }
        ([byte, pattern @ ..], [other, name @ ..]) => byte == other && matches_name(pattern, name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn layer(folder: &str, keys: Value) -> PyrightLayer {
        PyrightLayer { folder: folder.into(), keys }
    }

    fn config(layers: Vec<PyrightLayer>) -> PyrightConfig {
        PyrightConfig { name: "pyrightconfig.json".into(), layers }
    }

    fn gap(file: &str, text: &str, keys: Value) -> String {
        let config = config(vec![layer("/r", keys)]);
        pyright_gap(file, text, Some(&config)).map(|gap| gap.to_string()).unwrap_or_default()
    }

    #[test]
    fn wildcards_of_ignore() {
        let cases = [
            ("gen", "/r/gen/a.py", true),
            ("gen", "/r/src/gen/a.py", false),
            ("gen", "/r/genes/a.py", false),
            ("**/gen", "/r/src/gen/deep/a.py", true),
            ("**/gen", "/r/.hidden/gen/a.py", true),
            ("**/*_pb2.py", "/r/a_pb2.py", true),
            ("**/*_pb2.py", "/r/x/y/a_pb2.py", true),
            ("*_pb2.py", "/r/x/a_pb2.py", false),
            ("src/*/gen", "/r/src/one/gen/a.py", true),
            ("src/*/gen", "/r/src/one/two/gen/a.py", false),
            ("a?c.py", "/r/abc.py", true),
            ("a?c.py", "/r/a한c.py", true),
            ("a?c.py", "/r/ac.py", false),
            ("./src/", "/r/src/a.py", true),
            (".", "/r/a.py", true),
            ("../lib", "/lib/a.py", true),
            ("/r/src", "/r/src/a.py", true),
            ("a.b", "/r/aXb", false),
        ];
        for (pattern, file, is_ignored) in cases {
            let gap = gap(file, "", json!({"ignore": [pattern]}));
            assert_eq!(!gap.is_empty(), is_ignored, "{pattern} {file}: {gap}");
        }
        let named = gap("/r/gen/a.py", "", json!({"ignore": ["gen"]}));
        let detail = "excluded by the project's configuration: \"ignore\" in pyrightconfig.json";
        assert_eq!(named, format!("{detail}: remove its entry there"));
    }

    #[test]
    fn patterns_are_relative_to_the_file_that_has_them_and_the_last_one_counts() {
        let base = layer("/conf", json!({"ignore": ["../r/gen"], "typeCheckingMode": "off"}));
        let inherited = config(vec![base.clone(), layer("/r", json!({"extends": "../conf/b"}))]);
        assert!(pyright_gap("/r/gen/a.py", "", Some(&inherited)).is_some());
        let own = layer("/r", json!({"ignore": ["x"], "typeCheckingMode": "basic"}));
        let own = config(vec![base, own]);
        assert_eq!(pyright_gap("/r/gen/a.py", "", Some(&own)), None);
        assert!(pyright_gap("/r/x/a.py", "", Some(&own)).is_some());
    }

    #[test]
    fn type_checking_is_off_unless_a_rule_or_the_file_switches_it_on() {
        let off = json!({"typeCheckingMode": "off"});
        let detail = "checked for little more than syntax: typeCheckingMode is off";
        let remedy = "set it to \"standard\" in pyrightconfig.json";
        assert_eq!(gap("/r/a.py", "x = 1\n", off.clone()), format!("{detail}: {remedy}"));
        for on in
            ["# pyright: basic\n", "x = 1\n#pyright:strict", "# pyright: reportCallIssue=true"]
        {
            assert_eq!(gap("/r/a.py", on, off.clone()), "", "{on}");
        }
        for still in ["# pyright: ignore\n", "# pyright: reportCallIssue=false\n", "basic"] {
            assert_ne!(gap("/r/a.py", still, off.clone()), "", "{still}");
        }
        let selected = json!({"typeCheckingMode": "off", "reportCallIssue": "error"});
        assert_eq!(gap("/r/a.py", "", selected), "");
        let strict = json!({"typeCheckingMode": "off", "strict": ["src"]});
        assert_eq!(gap("/r/src/a.py", "", strict.clone()), "");
        assert_ne!(gap("/r/a.py", "", strict), "");
        assert_eq!(gap("/r/a.py", "", json!({"typeCheckingMode": "standard"})), "");
    }

    #[test]
    fn a_file_that_begins_with_type_ignore_is_not_checked() {
        let ignored = |text: &str| pyright_gap("/r/a.py", text, None).is_some();
        for text in [
            "# type: ignore\nx",
            "\u{feff}\n#!/bin/python\n#type:ignore[x]\n",
            "# a # type: ignore b",
        ] {
            assert!(ignored(text), "{text}");
        }
        for text in [
            "x = 1  # type: ignore\n",
            "# type: ignored\n",
            "\"\"\"doc\"\"\"\n# type: ignore\n",
            "",
        ] {
            assert!(!ignored(text), "{text}");
        }
        let kept = json!({"enableTypeIgnoreComments": false});
        assert_eq!(gap("/r/a.py", "# type: ignore\n", kept), "");
    }

    #[test]
    fn a_project_covers_what_it_includes_and_does_not_exclude() {
        let covers = |keys: Value, file: &str| config(vec![layer("/r", keys)]).covers(file);
        assert!(covers(json!({}), "/r/a/lib.py"));
        let keys = json!({"include": ["src", "*_app"], "exclude": ["**/old"]});
        for (file, is_covered) in [
            ("/r/src/deep/a.py", true),
            ("/r/my_app/a.py", true),
            ("/r/a.py", false),
            ("/r/typings/a.pyi", false),
            ("/r/src/old/a.py", false),
            ("/other/src/a.py", false),
        ] {
            assert_eq!(covers(keys.clone(), file), is_covered, "{file}");
        }
    }
}
