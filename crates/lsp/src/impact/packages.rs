//! Names of packages that manifests set. Importers write such a name where no folder need be called so: the crate
//! `core_lib` in `core/`, `@acme/design-system` in `packages/ui/`.

use std::collections::HashMap;

use moai_base::path::RelPath;
use moai_base::toml_value::parse_toml;
use serde_json::Value;

use super::importers::{FOLDER_FILES, SOURCE_FOLDERS, joined};
use crate::faults::go_module_name;

/// Extensions of sources, with the manifest of their packages.
const MANIFESTS: [(&str, &str); 10] = [
    ("rs", "Cargo.toml"),
    ("go", "go.mod"),
    ("ts", "package.json"),
    ("tsx", "package.json"),
    ("mts", "package.json"),
    ("cts", "package.json"),
    ("cjs", "package.json"),
    ("js", "package.json"),
    ("jsx", "package.json"),
    ("mjs", "package.json"),
];

/// The names of packages, by the files that importers refer to with them.
#[derive(Clone, Debug, Default)]
pub struct PackageNames(HashMap<RelPath, String>);

impl PackageNames {
    /// The names that manifests set for packages with an entry among the files. `read` returns the text of a file, or
    /// `None` if there is none.
    #[must_use]
    pub fn find<'p>(
        files: impl Iterator<Item = &'p RelPath>,
        read: &dyn Fn(&RelPath) -> Option<String>,
    ) -> Self {
        let mut known: HashMap<RelPath, Option<String>> = HashMap::new();
        let mut names = HashMap::new();
        for file in files {
            for manifest in manifests_of_entry(file) {
                let name = known.entry(manifest).or_insert_with_key(|manifest| {
                    declared_name(manifest.file_name(), &read(manifest)?)
                });
                if let Some(name) = name {
                    names.insert(file.clone(), name.clone());
                    break;
                }
            }
        }
        Self(names)
    }

    /// The name of the package that importers of this file import.
    pub(super) fn of(&self, file: &RelPath) -> Option<&str> {
        self.0.get(file).map(String::as_str)
    }
}

/// Where the manifest may be of a package that the file represents.
fn manifests_of_entry(file: &RelPath) -> Vec<RelPath> {
    let extension = file.extension().unwrap_or_default();
    let stem = file.file_name().split('.').next().unwrap_or_default();
    let Some((_, manifest)) = MANIFESTS.iter().find(|(of, _)| *of == extension) else {
        return Vec::new();
    };
    if extension != "go" && !FOLDER_FILES.contains(&stem) {
        return Vec::new();
    }
    let folder = file.folder();
    let (above, last) = folder.rsplit_once('/').unwrap_or(("", folder));
    let above = (extension != "go" && SOURCE_FOLDERS.contains(&last)).then_some(above);
    let folders = [Some(folder), above].into_iter().flatten();
    folders.filter_map(|folder| RelPath::parse(&joined(folder, manifest))).collect()
}

/// The last part of the name that a manifest gives to its package, as importers write it.
fn declared_name(manifest: &str, text: &str) -> Option<String> {
    match manifest {
        "Cargo.toml" => {
            let manifest = parse_toml(text).ok()?;
            let mut names = ["/lib/name", "/package/name"].into_iter();
            let name = names.find_map(|at| manifest.pointer(at)?.as_str())?;
            Some(name.replace('-', "_"))
        }
        "package.json" => {
            let manifest: Value = serde_json::from_str(text).ok()?;
            Some(manifest.get("name")?.as_str()?.rsplit('/').next()?.to_owned())
        }
        _ => {
            let mut parts = go_module_name(text)?.rsplit('/');
            Some(parts.find(|part| !is_major_version(part))?.to_owned())
        }
    }
}

/// True for the last part of a Go module's path from version 2 on (`v2`).
fn is_major_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_name_the_packages_of_their_entries() {
        let manifests = [
            ("core/Cargo.toml", "[package]\nname = \"core-lib\"\n"),
            ("named/Cargo.toml", "[package]\nname = \"x\"\n[lib]\nname = \"named_lib\"\n"),
            ("packages/ui/package.json", "{\"name\": \"@acme/design-system\"}"),
            ("go.mod", "module example.com/shop/v2 // Deprecated: use v3\n\ngo 1.22\n"),
            ("broken/package.json", "{"),
        ];
        let read = |path: &RelPath| {
            let found = manifests.iter().find(|(name, _)| *name == path.as_str());
            found.map(|(_, text)| (*text).to_owned())
        };
        let cases = [
            ("core/src/lib.rs", Some("core_lib")),
            ("core/src/model.rs", None),
            ("core/src/model/mod.rs", None),
            ("named/src/lib.rs", Some("named_lib")),
            ("packages/ui/src/index.ts", Some("design-system")),
            ("packages/ui/index.js", Some("design-system")),
            ("packages/ui/src/forms/index.ts", None),
            ("shop.go", Some("shop")),
            ("cmd/main.go", None),
            ("broken/index.ts", None),
            ("app.py", None),
        ];
        for (file, expected) in cases {
            let file = RelPath::parse(file).expect("a relative path");
            let names = PackageNames::find([&file].into_iter(), &read);
            assert_eq!(names.of(&file), expected, "{file}");
        }
    }
}
