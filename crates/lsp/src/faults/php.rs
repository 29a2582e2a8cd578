//! PHP: packages that composer.json requires and that are not installed. Codes of intelephense
//! 1.18.

use serde_json::Value;

use super::{FaultFacts, NeededFacts, ProjectFault, first_quoted, matching_indices};
use moai_base::finding::Finding;

/// Undefined type.
const TYPE_CODES: &[&str] = &["P1009"];

pub(super) const PHP_FACTS: NeededFacts = NeededFacts {
    names: &["vendor"],
    manifests: &["composer.json"],
    codes: TYPE_CODES,
    ..NeededFacts::NONE
};

pub(super) fn php_fault(facts: &FaultFacts, found: &[Finding]) -> Option<ProjectFault> {
    let manifest: Value = serde_json::from_str(facts.manifest("composer.json")).unwrap_or_default();
    let requirements =
        ["require", "require-dev"].iter().filter_map(|key| manifest[key].as_object());
    // `php` and `ext-*` are not packages.
    let has_packages = requirements.flat_map(|map| map.keys()).any(|name| name.contains('/'));
    if facts.has_any(&["vendor"]) || !has_packages {
        return None;
    }
    let own = ["autoload", "autoload-dev"].map(|key| manifest[key]["psr-4"].clone());
    let own: Vec<&str> = own
        .iter()
        .filter_map(Value::as_object)
        .flat_map(|map| map.keys())
        .map(|prefix| prefix.trim_matches('\\'))
        .collect();
    let explained = matching_indices(found, |finding| {
        let name = first_quoted(&finding.message).unwrap_or_default().trim_start_matches('\\');
        TYPE_CODES.contains(&finding.code.as_str())
            && name.contains('\\')
            && !own.iter().any(|prefix| name.starts_with(prefix))
    });
    (!explained.is_empty()).then(|| {
        ProjectFault::new(
            "packages of composer.json are not installed",
            "composer install",
            explained,
        )
    })
}
