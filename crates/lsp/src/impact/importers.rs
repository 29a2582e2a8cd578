//! The files that import a file, directly or through others, as far as import lines show. A search
//! for names misses files to which a change comes through a third one; this search does not.

use std::collections::{HashMap, HashSet, VecDeque};

use moai_base::path::RelPath;

use super::packages::PackageNames;
use super::words::{is_import_keyword, strip_comment, words_of};

/// The modules that a file imports, as its lines name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileImports(Vec<ImportedModule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct ImportedModule {
    place: ImportPlace,
    name: String,
}

/// Where an import line places a module.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ImportPlace {
    /// Below a search path or an alias.
    Anywhere,
    /// In a folder of this name.
    FolderNamed(String),
    /// In this folder, as seen from `ups` folders above the importer's.
    Relative { ups: usize, below: String },
}

impl ImportPlace {
    /// True if a module in `folder` may be meant by an importer in `from`.
    fn may_be(&self, folder: &str, from: &str) -> bool {
        match self {
            Self::Anywhere => true,
            // The name of the folder above the root is unknown here.
            Self::FolderNamed(name) => folder.is_empty() || last_component(folder) == name,
            Self::Relative { ups, below } => {
                let mut start = from;
                for _ in 0..*ups {
                    start = start.rsplit_once('/').map_or("", |(above, _)| above);
                }
                joined(start, below) == folder
            }
        }
    }

    /// The place of what lies in `folder` of this place.
    fn enter(&self, folder: &str) -> Self {
        match self {
            Self::Relative { ups, below } => {
                Self::Relative { ups: *ups, below: joined(below, folder) }
            }
            _ if ROOTS.contains(&folder) => Self::Anywhere,
            _ => Self::FolderNamed(folder.to_owned()),
        }
    }
}

/// Words that name the root of a project or a module instead of a folder.
const ROOTS: [&str; 4] = ["crate", "self", "super", "this"];

impl FileImports {
    /// The imports of a text; `is_module` accepts the names to keep.
    #[must_use]
    pub fn from_text(text: &str, is_module: &dyn Fn(&str) -> bool) -> Self {
        let mut found = Vec::new();
        // Brackets that an import has opened, and the module that it has named.
        let (mut depth, mut package) = (0_usize, None);
        for line in text.lines() {
            let start = line.trim_start();
            let is_reference = start.starts_with("/// <reference");
            let is_code = is_reference || is_spaced_include(start);
            let code = if is_code { line } else { strip_comment(line).unwrap_or_default() };
            let words: Vec<&str> = words_of(code).collect();
            let first = words.first().copied().unwrap_or_default();
            let is_continued = depth > 0;
            if !is_continued {
                if !is_reference && !words.iter().any(|word| is_import_keyword(word)) {
                    continue;
                }
                package = None;
            }
            if is_continued || opens_import(code, first) {
                depth += code.matches(['(', '{']).count();
                depth = depth.saturating_sub(code.matches([')', '}']).count());
            }
            if code.contains(['"', '\'', '`']) {
                let is_import =
                    is_reference || is_continued || (is_import_keyword(first) && first != "export");
                for (before, module) in quoted(code) {
                    if is_import || words_of(before).last().is_some_and(is_import_keyword) {
                        add_chain(&mut found, module, &ImportPlace::Anywhere);
                    }
                }
                continue;
            }
            for chain in chains(code) {
                let base = package.as_ref().unwrap_or(&ImportPlace::Anywhere);
                let end = add_chain(&mut found, chain, base);
                // What follows in Python may be modules of that package.
                if first == "from" && package.is_none() && chain != "from" {
                    package = Some(end);
                }
            }
        }
        found.retain(|module| is_module(&module.name));
        Self(found)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// True for `# include <stdio.h>`.
fn is_spaced_include(line: &str) -> bool {
    let directive = line.strip_prefix("# ").unwrap_or_default().trim_start();
    directive.strip_prefix("include").is_some_and(|rest| rest.trim_start().starts_with(['"', '<']))
}

/// True if the brackets that a line opens belong to an import.
fn opens_import(code: &str, first: &str) -> bool {
    match first {
        "from" | "import" | "use" => true,
        "export" => code.trim_start_matches("export").trim_start().starts_with(['{', '*']),
        _ => false,
    }
}

/// The quoted parts of a line, each with the text before it.
fn quoted(code: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + code[at..].find(['"', '\'', '`'])?;
        let quote = char::from(code.as_bytes()[start]);
        let length = code[start + 1..].find(quote)?;
        at = start + 1 + length + 1;
        Some((&code[..start], &code[start + 1..at - 1]))
    })
}

/// The longest parts of a line that may name a module: words with separators.
fn chains(code: &str) -> impl Iterator<Item = &str> {
    let parts = code.split(|c: char| !(c.is_alphanumeric() || "_-./\\:@~$#".contains(c)));
    parts.filter(|part| !part.is_empty())
}

/// Adds the modules that a chain of names (`./a/b`, `..a.b`, `a::b`) may mean, and returns the place
/// of what lies in its last one.
fn add_chain(found: &mut Vec<ImportedModule>, chain: &str, base: &ImportPlace) -> ImportPlace {
    let mut place = base.clone();
    let start = chain.find(|c| !matches!(c, '.' | '/')).unwrap_or(chain.len());
    let (prefix, names) = chain.split_at(start);
    if prefix.starts_with('.') {
        let ups = match prefix.split_once('/') {
            Some(_) => prefix.split('/').filter(|part| *part == "..").count(),
            None => prefix.len() - 1,
        };
        place = ImportPlace::Relative { ups, below: String::new() };
        if names.is_empty() {
            let files = FOLDER_FILES.map(|name| (place.clone(), name.to_owned()));
            found.extend(files.map(|(place, name)| ImportedModule { place, name }));
        }
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut at = 0;
    while let Some(start) = names[at..].find(is_name).map(|start| at + start) {
        let end = names[start..].find(|c| !is_name(c)).map_or(names.len(), |end| start + end);
        let name = &names[start..end];
        // `@scope`, an alias or a variable stands for a place.
        let is_alias = names[at..start].contains(['@', '$', '#']);
        found.push(ImportedModule { place: place.clone(), name: name.to_owned() });
        place = if is_alias { ImportPlace::Anywhere } else { place.enter(name) };
        at = end;
    }
    place
}

/// Names of the files that stand for their folder.
pub(super) const FOLDER_FILES: [&str; 4] = ["__init__", "index", "lib", "mod"];

/// Folders that hold the sources of the package around them.
pub(super) const SOURCE_FOLDERS: [&str; 4] = ["dist", "lib", "source", "src"];

/// Extensions of languages in which the files of a folder see each other without imports.
const FOLDER_PACKAGES: [&str; 7] = ["cs", "go", "java", "kt", "php", "scala", "swift"];

/// The names by which importers may refer to a file, each with the folder that they place it in.
fn module_keys<'p>(path: &'p RelPath, packages: &'p PackageNames) -> Vec<ModuleKey<'p>> {
    let (folder, file) = (path.folder(), path.file_name());
    let name = file.split('.').next().unwrap_or_default();
    let mut keys = vec![ModuleKey { folder, name }];
    if FOLDER_FILES.contains(&name) || is_in_folder_package(path) {
        let (mut above, mut package) = folder.rsplit_once('/').unwrap_or(("", folder));
        keys.push(ModuleKey { folder: above, name: package });
        if SOURCE_FOLDERS.contains(&package) {
            (above, package) = above.rsplit_once('/').unwrap_or(("", above));
            keys.push(ModuleKey { folder: above, name: package });
        }
    }
    keys.extend(packages.of(path).map(|name| ModuleKey { folder: "", name }));
    keys.retain(|key| !key.name.is_empty());
    keys
}

/// A name of a module in a folder.
#[derive(Clone, Copy, Debug)]
struct ModuleKey<'p> {
    folder: &'p str,
    name: &'p str,
}

/// The names under which the files can be imported.
#[must_use]
pub fn module_names_of<'p>(
    files: impl Iterator<Item = &'p RelPath>,
    packages: &'p PackageNames,
) -> HashSet<&'p str> {
    files.flat_map(|file| module_keys(file, packages)).map(|key| key.name).collect()
}

fn is_in_folder_package(path: &RelPath) -> bool {
    path.extension().is_some_and(|extension| FOLDER_PACKAGES.contains(&extension.as_str()))
}

/// The files that import one of `changed`, directly or through others, the nearest first and at most
/// `max`. `files` are the files that may do so.
#[must_use]
pub fn transitive_importers(
    changed: &[RelPath],
    files: &[(RelPath, FileImports)],
    packages: &PackageNames,
    max: usize,
) -> Vec<RelPath> {
    let mut importers: HashMap<&str, Vec<(&RelPath, &ImportPlace)>> = HashMap::new();
    let mut neighbours: HashMap<&str, Vec<&RelPath>> = HashMap::new();
    for (path, FileImports(modules)) in files {
        for module in modules {
            importers.entry(&module.name).or_default().push((path, &module.place));
        }
        if is_in_folder_package(path) {
            neighbours.entry(path.folder()).or_default().push(path);
        }
    }
    let mut known: HashSet<&RelPath> = changed.iter().collect();
    let mut found: Vec<RelPath> = Vec::new();
    let mut next: VecDeque<&RelPath> = changed.iter().collect();
    while let Some(imported) = next.pop_front() {
        let mut reached: Vec<&RelPath> = Vec::new();
        for key in module_keys(imported, packages) {
            for (importer, place) in importers.get(key.name).into_iter().flatten() {
                if place.may_be(key.folder, importer.folder()) {
                    reached.push(importer);
                }
            }
        }
        if is_in_folder_package(imported) {
            let folder = neighbours.get(imported.folder()).into_iter().flatten();
            reached.extend(folder.filter(|path| path.extension() == imported.extension()));
        }
        for path in reached {
            if !known.insert(path) {
                continue;
            }
            if found.len() == max {
                return found;
            }
            found.push(path.clone());
            next.push_back(path);
        }
    }
    found
}

fn last_component(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or_default()
}

pub(super) fn joined(folder: &str, below: &str) -> String {
    match (folder, below) {
        (folder, "") => folder.to_owned(),
        ("", below) => below.to_owned(),
        (folder, below) => format!("{folder}/{below}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The transitive importers of a file among the others.
    fn importers_of(changed: &str, files: &[(&str, &str)]) -> Vec<String> {
        importers_in(changed, files, &[])
    }

    /// The same with manifests.
    fn importers_in(
        changed: &str,
        files: &[(&str, &str)],
        manifests: &[(&str, &str)],
    ) -> Vec<String> {
        let path = |path: &str| RelPath::parse(path).expect("a relative path");
        let paths: Vec<RelPath> = files.iter().map(|(file, _)| path(file)).collect();
        let changed = path(changed);
        let packages = PackageNames::find(paths.iter().chain([&changed]), &|path| {
            let found = manifests.iter().find(|(manifest, _)| *manifest == path.as_str());
            found.map(|(_, text)| (*text).to_owned())
        });
        let names = module_names_of(paths.iter().chain([&changed]), &packages);
        let imports: Vec<(RelPath, FileImports)> = files
            .iter()
            .map(|(file, text)| {
                (path(file), FileImports::from_text(text, &|it| names.contains(it)))
            })
            .collect();
        let found = transitive_importers(&[changed], &imports, &packages, 300);
        let mut found: Vec<String> = found.iter().map(ToString::to_string).collect();
        found.sort();
        found
    }

    #[test]
    fn imports_are_followed_through_barrels_and_aliases() {
        let files = [
            ("src/index.ts", "export * from './shop/cart';"),
            ("src/app.ts", "import {\n  a,\n  b,\n} from \"./index.js\";"),
            ("src/page.tsx", "import { a } from '@/app'"),
            ("src/lazy.ts", "const page = () => import('./page');"),
            ("src/old.ts", "const { a } = require(\"../src/app\")"),
            ("src/other/cart.ts", "export const cart = 'cart'"),
            ("src/other/user.ts", "import { cart } from './cart'"),
            ("src/prose.ts", "export const text = 'cart';"),
            ("test/unit.ts", "/// <reference path=\"../src/lazy.ts\" />"),
        ];
        let found = importers_of("src/shop/cart.ts", &files);
        let expected = ["src/app.ts", "src/index.ts", "src/lazy.ts", "src/old.ts", "src/page.tsx"];
        assert_eq!(found, [&expected[..], &["test/unit.ts"]].concat());
    }

    #[test]
    fn packages_of_a_workspace_are_found_by_their_folder() {
        let files = [
            ("packages/ui/src/index.ts", "export * from './button'"),
            ("apps/web/main.ts", "import { Button } from '@acme/ui'"),
            ("apps/api/main.ts", "import { Button } from '@acme/core'"),
        ];
        let found = importers_of("packages/ui/src/button.ts", &files);
        assert_eq!(found, ["apps/web/main.ts", "packages/ui/src/index.ts"]);
    }

    #[test]
    fn packages_are_found_by_the_names_in_their_manifests() {
        let files = [
            ("packages/ui/src/index.ts", "export * from './button'"),
            ("apps/web/main.ts", "import { Button } from '@acme/design-system'"),
            ("apps/api/main.ts", "import { Button } from '@acme/ui'"),
        ];
        let manifests = [("packages/ui/package.json", "{\"name\": \"@acme/design-system\"}")];
        let found = importers_in("packages/ui/src/button.ts", &files, &manifests);
        assert_eq!(found, ["apps/api/main.ts", "apps/web/main.ts", "packages/ui/src/index.ts"]);
        let files = [
            ("core/src/lib.rs", "pub mod model;"),
            ("app/src/main.rs", "use core_lib::model::Item;"),
            ("tool/src/main.rs", "use other::model::Item;"),
        ];
        let manifests = [("core/Cargo.toml", "[package]\nname = \"core-lib\"\n")];
        assert_eq!(importers_in("core/src/lib.rs", &files, &manifests), ["app/src/main.rs"]);
        let files = [("cmd/main.go", "package main\n\nimport \"example.com/shop/v2\"\n")];
        let manifests = [("go.mod", "module example.com/shop/v2\n")];
        assert_eq!(importers_in("cart.go", &files, &manifests), ["cmd/main.go"]);
    }

    #[test]
    fn python_imports_are_resolved_from_their_package() {
        let files = [
            ("src/shop/__init__.py", "from .models import (\n    Item,\n)"),
            ("src/shop/api/views.py", "from ..models import Item"),
            ("src/shop/api/urls.py", "from . import (\n    views,\n)"),
            ("src/shop/cli.py", "import shop.api.urls as urls"),
            ("src/blog/models.py", "class Item: ..."),
            ("src/blog/views.py", "from .models import Item"),
            ("src/blog/forms.py", "from blog.models import Item"),
            ("tests/test_shop.py", "from shop import Item"),
        ];
        let found = importers_of("src/shop/models.py", &files);
        let expected = ["__init__.py", "api/urls.py", "api/views.py", "cli.py"];
        let mut expected: Vec<String> =
            expected.iter().map(|file| format!("src/shop/{file}")).collect();
        expected.push("tests/test_shop.py".to_owned());
        assert_eq!(found, expected);
    }

    #[test]
    fn headers_and_packages_that_are_folders_are_followed() {
        let headers = [
            ("include/shop/cart.h", "#include \"item.h\""),
            ("src/main.c", "# include <shop/cart.h>"),
            ("src/other.c", "#include <string.h>"),
        ];
        let found = importers_of("include/shop/item.h", &headers);
        assert_eq!(found, ["include/shop/cart.h", "src/main.c"]);
        let go = [
            ("store/rows.go", "package store"),
            ("web/web.go", "package web\nimport (\n\t\"fmt\"\n\t\"acme.dev/shop/store\"\n)"),
            ("web/other.go", "package web"),
            ("cli/main.go", "package main\nimport \"fmt\""),
        ];
        let found = importers_of("store/store.go", &go);
        assert_eq!(found, ["store/rows.go", "web/other.go", "web/web.go"]);
    }

    #[test]
    fn of_too_many_importers_the_nearest_are_found() {
        let path = |path: String| RelPath::parse(&path).expect("a relative path");
        let file = |name: String, imported: &str| {
            (path(name), FileImports::from_text(&format!("import {imported}"), &|_| true))
        };
        let mut files = vec![file("b.py".to_owned(), "a")];
        files.extend((0..4).map(|at| file(format!("far{at}.py"), "b")));
        files.extend((0..4).map(|at| file(format!("near{at}.py"), "a")));
        let found =
            transitive_importers(&[path("a.py".to_owned())], &files, &PackageNames::default(), 5);
        let found: Vec<&str> = found.iter().map(RelPath::as_str).collect();
        assert_eq!(found, ["b.py", "near0.py", "near1.py", "near2.py", "near3.py"]);
    }
}
