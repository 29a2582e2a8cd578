//! The effective values of options and their origins.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::{KEYS, OptionFile, is_for_users_only, variable_of};

/// The documentation of every option with its default.
const DOCUMENTED: &str = include_str!("../../../config/ralph.yaml");

/// The origin of an option's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionOrigin {
    /// Not set anywhere.
    Default,
    File(String),
    /// In the environment variable of this name.
    Environment(String),
}

impl fmt::Display for OptionOrigin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => out.write_str("default"),
            Self::File(name) => out.write_str(name),
            Self::Environment(variable) => write!(out, "environment variable {variable}"),
        }
    }
}

/// The value of one option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveOption {
    /// Dotted path below `ralph`: `loop.max_iterations`.
    pub key: &'static str,
    /// The value as YAML on one line.
    pub value: String,
    pub origin: OptionOrigin,
}

/// The options at or below a key, all of them for an empty one, in the order of the documentation.
/// The layers are those of [`super::Config::load`], which must accept them.
#[must_use]
pub fn option_values(
    files: &[OptionFile],
    env: &BTreeMap<String, String>,
    key: &str,
) -> Vec<EffectiveOption> {
    let documented = document(DOCUMENTED);
    let documents: Vec<(&OptionFile, Value)> =
        files.iter().map(|file| (file, document(&file.text))).collect();
    let below = format!("{key}.");
    let selected =
        KEYS.into_iter().filter(|it| key.is_empty() || *it == key || it.starts_with(&below));
    selected
        .map(|key| {
            let variable = variable_of(key);
            if let Some(value) = env.get(&variable) {
                let origin = OptionOrigin::Environment(variable);
                return EffectiveOption { key, value: value.trim().to_owned(), origin };
            }
            let pointer = format!("/ralph/{}", key.replace('.', "/"));
            let set = documents.iter().rev().find_map(|(file, document)| {
                let value = document.pointer(&pointer)?;
                if is_for_users_only(key) && !file.is_of_user {
                    return None;
                }
                Some((value, OptionOrigin::File(file.name.clone())))
            });
            let (value, origin) = match set {
                Some((value, origin)) => (Some(value), origin),
                None => (documented.pointer(&pointer), OptionOrigin::Default),
            };
            EffectiveOption { key, value: value.map(Value::to_string).unwrap_or_default(), origin }
        })
        .collect()
}

/// A YAML text as a tree; a text without content sets nothing.
pub(super) fn document(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> OptionFile {
        OptionFile {
            name: name.to_owned(),
            text: text.to_owned(),
            is_trusted: true,
            is_of_user: true,
        }
    }

    fn shown(files: &[OptionFile], env: &[(&str, &str)], key: &str) -> Vec<String> {
        let env =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        option_values(files, &env, key)
            .into_iter()
            .map(|it| format!("{}={} ({})", it.key, it.value, it.origin))
            .collect()
    }

    #[test]
    fn every_option_has_a_documented_value() {
        let all = option_values(&[], &BTreeMap::new(), "");
        assert_eq!(all.len(), KEYS.len());
        assert!(all.iter().all(|it| !it.value.is_empty()), "{all:?}");
    }

    #[test]
    fn the_highest_layer_that_sets_an_option_is_its_origin() {
        let user = file("user.yaml", "ralph:\n  loop: {max_iterations: 3, push: true}\n");
        let project =
            file("project.yaml", "# only a comment\nralph:\n  loop:\n    max_iterations: 4\n");
        let files = [user, project];
        let env = [("MOAI_RALPH_LOOP_BASELINE", "none")];
        assert_eq!(
            shown(&files, &env, "loop.max_iterations"),
            ["loop.max_iterations=4 (project.yaml)"]
        );
        assert_eq!(shown(&files, &env, "loop.push"), ["loop.push=true (user.yaml)"]);
        assert_eq!(
            shown(&files, &env, "loop.baseline"),
            ["loop.baseline=none (environment variable MOAI_RALPH_LOOP_BASELINE)"]
        );
        assert_eq!(shown(&files, &[], "loop.cooldown_ms"), ["loop.cooldown_ms=0 (default)"]);
        assert!(shown(&files, &[], "loop").len() > 5);
        assert_eq!(shown(&files, &[], "loo"), [""; 0]);
    }

    #[test]
    fn files_without_options_set_nothing() {
        let files = [file("a", ""), file("b", "# nothing\n"), file("c", "[1, 2")];
        assert_eq!(shown(&files, &[], "enabled"), ["enabled=true (default)"]);
    }
}
