//! PHP: packages that composer.json requires and that are not installed. Codes of intelephense
//! 1.18.

use serde_json::Value;

use super::{FaultFacts, NeededFacts, ProjectFault, first_quoted, matching_indices};
use crate::base::finding::Finding;

/// Undefined type.
const TYPE_CODES: &[&str] = &["P1009"];

pub(super) const PHP_FACTS: NeededFacts = NeededFacts {
    names: &["vendor"],
    manifests: &["composer.json"],
    neighbours: false,
    programs: &[],
    codes: TYPE_CODES,
};

pub(super) fn php_fault(facts: &FaultFacts, found: &[Finding]) -> Option<ProjectFault> {
    let manifest: Value = serde_json::from_str(facts.manifest("composer.json")).unwrap_or_default();
    // `php` and `ext-*` are not packages.
    let requires = |key: &str| {
        manifest[key].as_object().is_some_and(|map| map.keys().any(|name| name.contains('/')))
    };
    if facts.has_any(&["vendor"]) || !(requires("require") || requires("require-dev")) {
        return None;
    }
    let own = ["autoload", "autoload-dev"].map(|key| manifest[key]["psr-4"].clone());
    let own: Vec<&str> = own
        .iter()
        .filter_map(Value::as_object)
        .flat_map(|map| map.keys())
        .map(|prefix| prefix.trim_matches('\\'))
        .collect();
    let is_foreign = |one: &Finding| {
        let name = first_quoted(&one.message).unwrap_or_default().trim_start_matches('\\');
        let space = name.split_once('\\').map(|_| name);
        space.is_some_and(|name| !own.iter().any(|prefix| name.starts_with(prefix)))
    };
    let explained =
        matching_indices(found, |one| TYPE_CODES.contains(&one.code.as_str()) && is_foreign(one));
    (!explained.is_empty()).then(|| {
        ProjectFault::new(
            "packages of composer.json are not installed",
            "composer install",
            explained,
        )
    })
}
