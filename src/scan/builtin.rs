//! The rule files that the program carries, as text. It must not know what a rule is.

/// Name below `rules/` and text of every rule file, sorted by name.
pub(super) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/built_in_rules.rs"));
