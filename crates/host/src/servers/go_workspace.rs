//! Finds the `go.work` that covers a file, as `go env GOWORK` reports it, and whether it lists the file's
//! module. Source: `go help environment`, <https://go.dev/ref/mod#workspaces>.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::fault_facts::{read_bounded_text, settings_folder};
use moai_base::path::normalize;
use moai_lsp::faults;
use moai_lsp::session::DiskChange;

/// The folder of the file's module, relative to the `go.work` that does not list it; absolute where
/// that is in another folder.
pub(super) fn unlisted_module(env: &BTreeMap<String, String>, file: &Path) -> Option<String> {
    let module = file.ancestors().skip(1).find(|folder| folder.join("go.mod").is_file())?;
    let workspace = workspace_file(env, module)?;
    let text = read_bounded_text(&workspace)?;
    let folder = workspace.parent()?;
    let is_listed = faults::go_work_modules(&text).iter().any(|used| {
        let used = folder.join(used);
        used == module || used.canonicalize().is_ok_and(|used| used == module)
    });
    let relative = module.strip_prefix(folder).map(|path| format!("./{}", path.display()));
    (!is_listed).then(|| relative.unwrap_or_else(|_| module.display().to_string()))
}

/// Names of the modules that the file's `go.work` lists, and of those that it or the file's `go.mod` replaces
/// with folders.
pub(super) fn local_modules(env: &BTreeMap<String, String>, file: &Path) -> BTreeSet<String> {
    let own = file.ancestors().skip(1).find(|folder| folder.join("go.mod").is_file());
    let Some(module) = own else { return BTreeSet::new() };
    let workspace = workspace_file(env, module);
    let mut names = BTreeSet::new();
    for manifest in [Some(module.join("go.mod")), workspace.clone()].into_iter().flatten() {
        let text = read_bounded_text(&manifest).unwrap_or_default();
        names.extend(faults::go_replacements(&text).into_iter().map(|it| it.module.to_owned()));
    }
    let listed = workspace.as_deref().and_then(read_bounded_text).unwrap_or_default();
    let folder = workspace.as_deref().and_then(Path::parent).unwrap_or(module);
    for used in faults::go_work_modules(&listed) {
        let text = read_bounded_text(&folder.join(used).join("go.mod")).unwrap_or_default();
        names.extend(faults::go_module_name(&text).map(str::to_owned));
    }
    names
}

/// The folders outside the root that the modules of a workspace replace dependencies with, and the
/// modules outside the root that its `go.work` lists.
pub(super) fn outside_modules(
    env: &BTreeMap<String, String>,
    workspace: &Path,
    root: &Path,
) -> BTreeSet<PathBuf> {
    let mut files = vec![workspace.join("go.mod")];
    let mut folders = BTreeSet::new();
    if let Some(file) = workspace_file(env, workspace) {
        let text = read_bounded_text(&file).unwrap_or_default();
        let folder = file.parent().unwrap_or(workspace);
        for module in faults::go_work_modules(&text) {
            files.push(folder.join(module).join("go.mod"));
            folders.insert(folder.join(module));
        }
        files.push(file);
    }
    for file in files {
        let text = read_bounded_text(&file).unwrap_or_default();
        let folder = file.parent().unwrap_or(workspace);
        let replaced = faults::go_replacements(&text).into_iter();
        folders.extend(replaced.map(|used| folder.join(used.folder)));
    }
    let real = folders.iter().map(|folder| real_folder(folder));
    real.filter(|folder| !folder.starts_with(root) && !root.starts_with(folder)).collect()
}

/// The folder's real path. One that is missing may appear: it is placed below the nearest folder above that exists.
fn real_folder(folder: &Path) -> PathBuf {
    let below = |above: &Path, folder: &Path| {
        Some(above.canonicalize().ok()?.join(folder.strip_prefix(above).ok()?))
    };
    let normal = normalize(folder);
    let real = folder.canonicalize().ok();
    real.or_else(|| normal.ancestors().find_map(|above| below(above, &normal))).unwrap_or(normal)
}

/// True if a change may change which modules a workspace replaces or lists.
pub(super) fn is_go_manifest_changed(changes: &[(PathBuf, DiskChange)]) -> bool {
    changes.iter().any(|(file, _)| file.ends_with("go.mod") || file.ends_with("go.work"))
}

/// The cgo files that changed, because their comments hold C, and those of the packages whose C sources did. Like
/// the go command, it takes only files in the package's own folder for its sources
/// (<https://pkg.go.dev/cmd/cgo>). `c_extensions` are those of C sources.
pub(super) fn changed_cgo_files(
    changes: &[(PathBuf, DiskChange)],
    c_extensions: &[String],
) -> Vec<PathBuf> {
    let is_c = |file: &Path| {
        let extension = file.extension().and_then(OsStr::to_str);
        extension.is_some_and(|extension| c_extensions.iter().any(|it| it == extension))
    };
    let c_files = changes.iter().map(|(file, _)| file).filter(|file| is_c(file));
    let folders: BTreeSet<&Path> = c_files.filter_map(|file| file.parent()).collect();
    let entries = folders.into_iter().filter_map(|folder| folder.read_dir().ok());
    let next_to_c = entries.flatten().flatten().map(|entry| entry.path());
    let own = changes.iter().map(|(file, _)| file.clone());
    let mut files: BTreeSet<PathBuf> = next_to_c.chain(own).collect();
    files.retain(|file| {
        file.extension().is_some_and(|it| it == "go")
            && read_bounded_text(file).is_some_and(|text| faults::imports_c(&text))
    });
    // All of them, because build constraints may leave out some.
    files.into_iter().collect()
}

/// The value of `GOWORK`, else the nearest `go.work` of the folder and those above.
fn workspace_file(env: &BTreeMap<String, String>, folder: &Path) -> Option<PathBuf> {
    match go_variable(env, "GOWORK").as_deref() {
        Some("off") => None,
        None | Some("auto") => {
            folder.ancestors().map(|folder| folder.join("go.work")).find(|file| file.is_file())
        }
        Some(file) => Some(PathBuf::from(file)),
    }
}

/// Puts the file of `go env -w` into the environment, as far as it decides on a `go.work`: gopls of Go
/// 1.19 reads the variable, but not `off` in the file.
pub(super) fn set_workspace_variable(env: &mut BTreeMap<String, String>) {
    if let Some(value) = go_variable(env, "GOWORK") {
        env.insert("GOWORK".to_owned(), value);
    }
}

/// The name of workspace files, where `GOWORK=off` makes the go command ignore them.
pub(super) fn ignored_file(env: &BTreeMap<String, String>) -> Option<&'static str> {
    (go_variable(env, "GOWORK").as_deref() == Some("off")).then_some("go.work")
}

/// A variable of the go command: from the environment, else from the file of `go env -w`.
fn go_variable(env: &BTreeMap<String, String>, name: &str) -> Option<String> {
    if let Some(value) = env.get(name).filter(|value| !value.is_empty()) {
        return Some(value.clone());
    }
    let text = read_bounded_text(&settings_file(env)?)?;
    let mut values = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    values.next_back().map(str::to_owned).filter(|value| !value.is_empty())
}

/// The file of `go env -w`: `GOENV`, else `go/env` in the user's folder of settings.
pub(super) fn settings_file(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    match env.get("GOENV").map(String::as_str) {
        Some("off") => return None,
        Some(file) if !file.is_empty() => return Some(PathBuf::from(file)),
        _ => {}
    }
    Some(settings_folder(env, "Library/Application Support")?.join("go/env"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let file = root.join(name);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
        std::fs::write(file, text).expect("a file");
    }

    #[test]
    fn a_cgo_file_changes_with_its_comment_and_with_the_c_files_of_its_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        write(root, "half/half.go", "package half\n\n// #include \"half.h\"\nimport \"C\"\n");
        write(root, "half/other.go", "package half\n");
        write(root, "cut/cut.go", "package cut\n\nimport \"C\" //nolint\n");
        write(root, "plain/plain.go", "package plain\n\nconst C = \"C\"\n");
        let files = |names: &[&str]| {
            let change = |name: &&str| (root.join(name), DiskChange::Changed);
            changed_cgo_files(&names.iter().map(change).collect::<Vec<_>>(), &["h".to_owned()])
        };
        assert_eq!(files(&["half/half.h", "half/a.c"]), [root.join("half/half.go")]);
        assert_eq!(files(&["cut/cut.h"]), [root.join("cut/cut.go")]);
        assert_eq!(files(&["half/half.go", "half/other.go"]), [root.join("half/half.go")]);
        let others = ["half/a.txt", "plain/a.h", "a.h", "gone/a.h"];
        assert!(files(&others).is_empty());
    }

    #[test]
    fn modules_of_the_workspace_and_replaced_ones_are_local() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        write(root, "go.work", "go 1.19\nuse (\n\t./app\n\t./core\n)\nreplace x.com/y => ../y\n");
        write(root, "core/go.mod", "module ex.com/core // the base\n");
        write(root, "app/go.mod", "module ex.com/app\nreplace ex.com/lib v1.0.0 => ../lib\n");
        let found = local_modules(&BTreeMap::new(), &root.join("app/wire/wire.go"));
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["ex.com/app", "ex.com/core", "ex.com/lib", "x.com/y"]);
        assert_eq!(local_modules(&BTreeMap::new(), &root.join("other/a.go")), BTreeSet::new());
    }

    #[test]
    fn the_workspace_is_that_of_go_env() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a folder");
        write(&root, "go.work", "go 1.19\nuse ./app\n");
        write(&root, "other/go.work", "go 1.19\nuse ../tools\n");
        write(&root, "tools/go.mod", "module tools\n");
        let other = root.join("other/go.work").display().to_string();
        let settings = root.join("settings").display().to_string();
        let home = root.join("home").display().to_string();
        let mut env = BTreeMap::from([("HOME".to_owned(), home)]);
        let check = |env: &BTreeMap<String, String>, expected: Option<&str>| {
            let unlisted = unlisted_module(env, &root.join("tools/lib/a.go"));
            assert_eq!(unlisted.as_deref(), expected, "{env:?}");
        };
        check(&env, Some("./tools"));
        for name in ["home/.config/go/env", "settings"] {
            write(&root, name, "GOFLAGS=-v\nGOWORK=off\n");
            check(&env, None);
            write(&root, name, &format!("GOWORK={other}\n"));
            check(&env, None);
            write(&root, name, "GOWORK=\n");
            check(&env, Some("./tools"));
            env.insert("GOENV".to_owned(), settings.clone());
        }
        write(&root, "settings", "GOWORK=off\n");
        env.insert("GOWORK".to_owned(), "auto".to_owned());
        check(&env, Some("./tools"));
        write(&root, "other/go.work", "go 1.19\n");
        env.insert("GOWORK".to_owned(), other);
        check(&env, Some(&root.join("tools").display().to_string()));
    }
}
