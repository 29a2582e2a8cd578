//! Conditions of compilation in Rust, evaluated for a usual test run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::settings::{self, SettingsFormat};
use moai_base::path::RelPath;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConditionValue {
    /// On no machine.
    Never,
    /// Only for who asks for it, or for another tool.
    No,
    /// On some machines, or unknown.
    Depends,
    /// In a plain `cargo test`.
    Yes,
}

/// The features of the packages of one side, by the folder of their manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::suite) struct PackageFeatures {
    on: BTreeMap<String, BTreeSet<String>>,
}

impl PackageFeatures {
    /// Reads those texts that are manifests of a package.
    pub(in crate::suite) fn new<'a>(texts: impl Iterator<Item = (&'a RelPath, &'a str)>) -> Self {
        let manifests = texts.filter_map(|(path, text)| {
            let folder = path.as_str().strip_suffix("Cargo.toml")?;
            let folder = folder.strip_suffix('/').unwrap_or(folder);
            let manifest = settings::parse_settings(SettingsFormat::Toml, text).ok()?;
            manifest.get("package")?;
            Some((folder.to_owned(), features(&manifest)))
        });
        Self { on: manifests.collect() }
    }

    /// The features that are on without being asked for, in the package of a file; `None`: its
    /// manifest is not known.
    pub(super) fn features(&self, path: &RelPath) -> Option<&BTreeSet<String>> {
        let mut folder = path.as_str();
        while !folder.is_empty() {
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
            if let Some(found) = self.on.get(folder) {
                return Some(found);
            }
        }
        None
    }
}

/// The features that `default` brings, whatever they bring included.
fn features(manifest: &Value) -> BTreeSet<String> {
    let mut on = BTreeSet::new();
    let mut next = vec!["default".to_owned()];
    while let Some(name) = next.pop() {
        let list = settings::value_at(manifest, &["features", &name]).map(settings::as_list);
        // A dependency that is switched on is a feature by its own name.
        let known = list.filter(|_| on.insert(name));
        next.extend(known.into_iter().flatten().map(|it| it.trim_start_matches("dep:").to_owned()));
    }
    on
}

/// Evaluates a predicate of `cfg` without white space.
pub(super) fn holds(predicate: &str, features: Option<&BTreeSet<String>>) -> ConditionValue {
    if let Some((name, rest)) = predicate.split_once('(')
        && matches!(name, "any" | "all" | "not")
    {
        let inner = parts(rest.strip_suffix(')').unwrap_or(rest));
        let mut each = inner.into_iter().map(|part| holds(part, features));
        return match (name, each.next()) {
            ("any", None) => ConditionValue::Never,
            ("any", Some(first)) => each.fold(first, ConditionValue::max),
            ("all", Some(first)) => each.fold(first, ConditionValue::min),
            ("all", None) | (_, Some(ConditionValue::Never | ConditionValue::No)) => {
                ConditionValue::Yes
            }
            (_, Some(ConditionValue::Yes)) => ConditionValue::No,
            _ => ConditionValue::Depends,
        };
    }
    let (key, value) = predicate.split_once('=').unwrap_or((predicate, ""));
    match (key, value.trim_matches('"')) {
        ("test" | "debug_assertions" | "overflow_checks" | "true", _) | ("panic", "unwind") => {
            ConditionValue::Yes
        }
        ("feature", name) => match features {
            Some(on) if on.contains(name) => ConditionValue::Yes,
            Some(_) => ConditionValue::No,
            None => ConditionValue::Depends,
        },
        ("false" | "FALSE", _) => ConditionValue::Never,
        ("unix" | "windows", _) => ConditionValue::Depends,
        (key, _) if key.starts_with("target_") || key.contains('(') => ConditionValue::Depends,
        _ => ConditionValue::No,
    }
}

/// The parts between commas outside all brackets; no part is empty.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_holds_as_a_plain_run_has_it() {
        let path = RelPath::parse("a/src/lib.rs").expect("a path");
        let manifest = RelPath::parse("a/Cargo.toml").expect("a path");
        let text = "[package]\nname = \"a\"\n[features]\ndefault = [\"std\"]\nstd = [\"alloc\", \"dep:b\"]\nalloc = []\nslow = []\n";
        let manifests = PackageFeatures::new([(&manifest, text)].into_iter());
        let check = |predicate: &str, expected: ConditionValue| {
            assert_eq!(holds(predicate, manifests.features(&path)), expected, "{predicate}");
        };
        check("test", ConditionValue::Yes);
        check("all(test,feature=\"alloc\")", ConditionValue::Yes);
        check("any(feature=\"slow\",feature=\"std\")", ConditionValue::Yes);
        check("feature=\"slow\"", ConditionValue::No);
        check("not(feature=\"std\")", ConditionValue::No);
        check("not(miri)", ConditionValue::Yes);
        check("miri", ConditionValue::No);
        check("any(unix,windows)", ConditionValue::Depends);
        check("all(test,not(target_os=\"wasi\"))", ConditionValue::Depends);
        check("all(test,any())", ConditionValue::Never);
        let other = RelPath::parse("b/src/lib.rs").expect("a path");
        assert_eq!(holds("feature=\"std\"", manifests.features(&other)), ConditionValue::Depends);
    }
}
