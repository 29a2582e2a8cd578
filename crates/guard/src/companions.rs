//! Conventional locations of a file's tests and of the manifests that decide which of them run.
//! Unchanged tests are read too, because hard-coded answers are only recognized by comparison with
//! them.

use serde_json::Value;

use super::SourceChange;
use super::settings::{self, SettingsFormat, as_word};
use moai_base::path::RelPath;

/// Paths where tests of this file, or the manifest they run by, may be.
pub(super) fn tests_of(path: &RelPath) -> Vec<RelPath> {
    let (folder, name) = (path.folder(), path.file_name());
    let Some((stem, end)) = name.rsplit_once('.') else { return Vec::new() };
    // Test folders often mirror the tree below the source folder.
    let inner = folder.split_once('/').map_or("", |(_, inner)| inner);
    let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
    let places: Vec<String> = match end {
        "py" => {
            let own = format!("test_{stem}.py");
            let folders = [folder, "tests", "test"].map(str::to_owned);
            let below = [format!("{folder}/tests"), format!("{above}/tests")];
            let mirrored = [format!("tests/{inner}"), format!("tests/{folder}")];
            let all = folders.into_iter().chain(below).chain(mirrored);
            all.map(|it| format!("{it}/{own}")).collect()
        }
        "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" => {
            let below = format!("{folder}/__tests__");
            let places = [folder, below.as_str(), "test", "tests"];
            let names = [format!("{stem}.test.{end}"), format!("{stem}.spec.{end}")];
            places.iter().flat_map(|it| names.clone().map(|name| format!("{it}/{name}"))).collect()
        }
        "go" => vec![format!("{folder}/{stem}_test.go")],
        "rs" => {
            let own = [format!("tests/{stem}.rs"), format!("{folder}/{stem}/tests.rs")];
            own.into_iter().chain(manifests(folder)).collect()
        }
        "java" => {
            let folder = folder.replace("src/main/", "src/test/");
            vec![format!("{folder}/{stem}Test.java"), format!("{folder}/{stem}Tests.java")]
        }
        "cs" => vec![format!("tests/{stem}Tests.cs"), format!("{folder}/{stem}Tests.cs")],
        _ => Vec::new(),
    };
    let plain = |place: &String| {
        let place = place.replace("//", "/");
        RelPath::parse(place.trim_start_matches('/'))
    };
    let mut paths: Vec<RelPath> = places.iter().filter_map(plain).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The test files that Cargo infers from the test names in a manifest, and those listed there.
pub(super) fn named_tests(change: &SourceChange) -> Vec<RelPath> {
    let Some(folder) = change.path.as_str().strip_suffix("Cargo.toml") else { return Vec::new() };
    let text = change.after.as_deref().unwrap_or_default();
    let manifest = settings::parse_settings(SettingsFormat::Toml, text).unwrap_or_default();
    let targets = manifest.get("test").and_then(Value::as_array).into_iter().flatten();
    let files = targets.flat_map(|target| {
        let own = target.get("name").map(|name| format!("tests/{}.rs", as_word(name)));
        own.into_iter().chain(target.get("path").map(as_word))
    });
    files.filter_map(|file| RelPath::parse(&format!("{folder}{file}"))).collect()
}

/// The main files of the packages that a test of Go imports, which may hold its assertions: of
/// `example.com/shop/internal/check` the file `internal/check/check.go`.
pub(super) fn imported_packages(change: &SourceChange) -> Vec<RelPath> {
    if !change.path.as_str().ends_with("_test.go") {
        return Vec::new();
    }
    let text = change.after.as_deref().unwrap_or_default();
    let quoted = |line: &str| Some(line.trim().strip_suffix('"')?.rsplit_once('"')?.1.to_owned());
    let is_import = |line: &&str| line.starts_with("import ") || line.starts_with('\t');
    let before_code = text.lines().take_while(|line| !line.starts_with("func "));
    let named: Vec<String> = before_code.filter(is_import).filter_map(quoted).collect();
    let files = named.iter().filter_map(|package| {
        // The start of the path is the name of the module, of unknown length.
        let folders = package.match_indices('/').map(|(at, _)| &package[at + 1..]);
        let (_, name) = package.rsplit_once('/')?;
        Some(folders.map(move |folder| format!("{folder}/{name}.go")))
    });
    files.flatten().filter_map(|file| RelPath::parse(&file)).collect()
}

/// Possible paths of the Rust manifest, which decides which features are enabled.
fn manifests(folder: &str) -> impl Iterator<Item = String> + use<> {
    let above = |folder: &str| folder.rsplit_once('/').map(|(above, _)| above.to_owned());
    let folders = std::iter::successors(Some(folder.to_owned()), move |it| above(it));
    let folders = folders.chain([String::new()]);
    folders.map(|folder| format!("{folder}/Cargo.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_of_a_go_test_may_be_in_the_module() {
        let change = SourceChange {
            path: RelPath::parse("cart_test.go").expect("a path"),
            old_path: None,
            before: None,
            after: Some(
                "package x\n\nimport (\n\t\"testing\"\n\n\t\"e.com/x/internal/check\"\n)\n".into(),
            ),
        };
        let found = imported_packages(&change);
        assert!(found.iter().any(|it| it.as_str() == "internal/check/check.go"), "{found:?}");
    }

    #[test]
    fn tests_stand_where_each_language_has_them() {
        let check = |path: &str, test: &str| {
            let path = RelPath::parse(path).expect("a path");
            let found = tests_of(&path);
            assert!(found.iter().any(|it| it.as_str() == test), "{path}: {found:?}");
        };
        check("app/cart.py", "tests/test_cart.py");
        check("cart.py", "test_cart.py");
        check("src/shop/cart.py", "tests/shop/test_cart.py");
        check("src/cart.ts", "src/cart.test.ts");
        check("src/cart.js", "src/__tests__/cart.spec.js");
        check("cart/cart.go", "cart/cart_test.go");
        check("src/cart.rs", "tests/cart.rs");
        check("src/cart.rs", "Cargo.toml");
        check("crates/shop/src/cart/price.rs", "crates/shop/Cargo.toml");
        check("src/main/java/shop/Cart.java", "src/test/java/shop/CartTest.java");
        assert!(tests_of(&RelPath::parse("Makefile").expect("a path")).is_empty());
    }
}
