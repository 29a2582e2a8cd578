//! The variables that a shell command sets.

use std::collections::HashMap;

use moai_base::limits::{VARIABLE_VALUE_BYTES_MAX, VARIABLE_VALUES_MAX};

use super::is_name;

/// The possible values of variables and of `for` loops, by name: of each, the latest
/// [`VARIABLE_VALUES_MAX`] of at most [`VARIABLE_VALUE_BYTES_MAX`].
#[derive(Clone, Debug, Default)]
pub(super) struct ShellVariables {
    values: HashMap<String, Vec<String>>,
}

impl ShellVariables {
    pub(super) fn get(&self, name: &str) -> Option<&[String]> {
        self.values.get(name).map(Vec::as_slice)
    }

    /// Adds possible values.
    pub(super) fn add(&mut self, name: &str, new: impl IntoIterator<Item = String>) {
        let values = self.values.entry(name.to_owned()).or_default();
        for value in new.into_iter().filter(|value| value.len() <= VARIABLE_VALUE_BYTES_MAX) {
            if let Some(at) = values.iter().position(|known| *known == value) {
                values.remove(at);
            } else if values.len() == VARIABLE_VALUES_MAX {
                values.remove(0);
            }
            values.push(value);
        }
    }

    /// Forgets the earlier values.
    pub(super) fn replace(&mut self, name: &str, new: impl IntoIterator<Item = String>) {
        self.remove(name);
        self.add(name, new);
    }

    /// As `NAME+=text` does.
    pub(super) fn append(&mut self, name: &str, text: &str) {
        let before = self.get(name).unwrap_or_default();
        let mut longer: Vec<String> = before.iter().map(|it| format!("{it}{text}")).collect();
        longer.push(text.to_owned());
        self.add(name, longer);
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.values.remove(name);
    }
}

/// A word that assigns a value to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Assignment<'w> {
    pub(super) name: &'w str,
    pub(super) value: &'w str,
    /// As in `NAME+=value`.
    pub(super) is_appended: bool,
}

impl<'w> Assignment<'w> {
    /// Reads `NAME=value`, `NAME+=value` and `NAME[index]=value`.
    pub(super) fn parse(word: &'w str) -> Option<Self> {
        let (left, value) = word.split_once('=')?;
        let (left, is_appended) = match left.strip_suffix('+') {
            Some(left) => (left, true),
            None => (left, false),
        };
        let name = match left.strip_suffix(']').and_then(|left| left.split_once('[')) {
            Some((name, _)) => name,
            None => left,
        };
        is_name(name).then_some(Self { name, value, is_appended })
    }
}
