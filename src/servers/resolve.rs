//! Which server serves a file in this project, where its program is, and what it must be told
//! about the project. Looks at the disk, starts nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::{Chosen, Surroundings};
use crate::base::limits::SOURCE_BYTES_MAX;
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::lsp::registry::{Catalogue, ServerSpec, When};

/// A server that can be started for a file.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Server id.
    pub id: String,
    /// Its catalogue entry.
    pub spec: ServerSpec,
    /// Its program.
    pub program: PathBuf,
    /// The folder it works in, absolute: the root, or the nearest one below that has the server's
    /// marker.
    pub workspace: PathBuf,
    /// LSP language id of the file.
    pub language_id: String,
    /// Settings with the project's interpreter filled in.
    pub settings: Value,
    /// When packages were last installed where the server looks for them; `None` for a place that
    /// does not exist.
    pub packages: Vec<Option<SystemTime>>,
    /// The pinned version, when the program is the one that `server install` put there. Some
    /// servers do not say their version themselves.
    pub version: Option<String>,
}

/// Chooses by the language's order and each server's `when`. `Err` carries the sensor's name.
pub(super) fn choose(around: &Surroundings, data: &Path, path: &RelPath) -> Option<Chosen> {
    let catalogue: &Catalogue = &around.catalogue;
    let (language_name, language, language_id) = catalogue.language_of(path)?;
    let mut applicable = language.servers.iter().filter_map(|id| {
        let spec = catalogue.server(id)?;
        match &spec.when {
            None => Some((id, spec, None)),
            Some(when) => holds(when, &around.root, path).map(|bin| (id, spec, Some(bin))),
        }
    });
    let Some((id, spec, project_bin)) = applicable.next() else {
        let detail = format!("no language server for {} in this version", language.name);
        return Some(Err((language_name.to_owned(), Gap::new(Cause::NoTool, detail))));
    };
    let Some(program) = find_program(id, spec, project_bin.as_deref(), around, data) else {
        let gap = Gap::new(Cause::NotInstalled, "not installed");
        let gap = match &spec.install {
            Some(_) => gap.with_remedy(format!("moai-ralph server install {language_name}")),
            None => gap.with_remedy(format!("put {} on PATH", spec.command)),
        };
        return Some(Err((id.clone(), gap)));
    };
    let settings = fill_in(&spec.settings, around);
    Some(Ok(Choice {
        id: id.clone(),
        spec: spec.clone(),
        language_id: language_id.to_owned(),
        workspace: around.root.clone(),
        settings,
        packages: packages(around),
        version: program
            .strip_prefix(data)
            .is_ok()
            .then(|| super::install::version(spec))
            .flatten(),
        program,
    }))
}

/// Whether the project uses the package in that major version: by what is installed nearest to
/// the file, else by what `package.json` asks for. Yields the project's own `node_modules/.bin`
/// folder, which need not exist.
fn holds(when: &When, root: &Path, path: &RelPath) -> Option<PathBuf> {
    let file = path.under(root);
    for folder in file.ancestors().skip(1).take_while(|folder| folder.starts_with(root)) {
        let modules = folder.join("node_modules");
        let installed = modules.join(&when.npm_package).join("package.json");
        if let Some(major) = read_json(&installed).as_ref().and_then(|json| major(&json["version"]))
        {
            return (major >= when.major_min).then(|| modules.join(".bin"));
        }
        let Some(manifest) = read_json(&folder.join("package.json")) else { continue };
        let wanted = ["devDependencies", "dependencies", "peerDependencies"]
            .iter()
            .find_map(|kind| major(&manifest[*kind][&when.npm_package]));
        if let Some(major) = wanted {
            return (major >= when.major_min).then(|| modules.join(".bin"));
        }
    }
    None
}

/// First number of a version or a range such as `^7.0.2`, `>=5`, `7.x`.
fn major(version: &Value) -> Option<u64> {
    let version = version.as_str()?;
    let digits: String = version
        .chars()
        .skip_while(|character| !character.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

/// A project may hold anything under this name, so devices and pipes are not opened.
fn read_json(path: &Path) -> Option<Value> {
    use std::io::Read as _;
    let meta = path.metadata().ok()?;
    let is_readable = meta.is_file() && meta.len() <= SOURCE_BYTES_MAX;
    let file = is_readable.then(|| std::fs::File::open(path).ok())??;
    let mut bytes = Vec::new();
    file.take(SOURCE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The project's own program where `when` demands it, then what the user installed through
/// `server install`, then the caller's PATH.
fn find_program(
    id: &str,
    spec: &ServerSpec,
    project_bin: Option<&Path>,
    around: &Surroundings,
    data: &Path,
) -> Option<PathBuf> {
    if spec.command.contains('/') {
        let program = around.root.join(&spec.command);
        return is_program(&program).then_some(program);
    }
    let own = project_bin.map(|bin| bin.join(&spec.command));
    let installed = super::install::folder(data, id, spec)
        .map(|folder| folder.join("node_modules/.bin").join(&spec.command));
    let found = own.into_iter().chain(installed).find(|program| is_program(program));
    // Beside a server that needs the project's own version, one on PATH would be any version.
    found.or_else(|| if spec.when.is_some() { None } else { on_path(&spec.command, &around.env) })
}

/// A program on the PATH of this environment.
#[must_use]
pub fn on_path(name: &str, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let folders = std::env::split_paths(env.get("PATH")?);
    folders.map(|folder| folder.join(name)).find(|program| is_program(program))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Settings with `${python}` replaced by the project's interpreter: the caller's active virtual
/// environment, the project's `.venv` or `venv`, the first on PATH; null when there is none.
fn fill_in(settings: &Value, around: &Surroundings) -> Value {
    match settings {
        Value::String(text) if text == "${python}" => {
            python(around).map_or(Value::Null, |path| Value::String(path.display().to_string()))
        }
        Value::Object(map) => {
            map.iter().map(|(key, value)| (key.clone(), fill_in(value, around))).collect()
        }
        other => other.clone(),
    }
}

/// pyright looks up installed packages once, and nothing in the project changes when one is
/// added: the times of the folder and of what installers write into it tell. It also answers from
/// an old configuration for a moment after a change, so that one counts as well.
fn packages(around: &Surroundings) -> Vec<Option<SystemTime>> {
    let modified = |path: PathBuf| path.metadata().and_then(|meta| meta.modified()).ok();
    let libraries = python(around)
        .and_then(|python| Some(python.parent()?.parent()?.join("lib")))
        .and_then(|library| std::fs::read_dir(library).ok());
    let pythons = libraries.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut sites: Vec<PathBuf> = pythons
        .filter(|path| {
            path.file_name().is_some_and(|it| it.to_string_lossy().starts_with("python"))
        })
        .map(|path| path.join("site-packages"))
        .collect();
    sites.sort();
    let is_installers = |path: &Path| {
        path.extension().is_some_and(|it| matches!(it.to_str(), Some("dist-info" | "pth")))
    };
    let entries = |site: &PathBuf| std::fs::read_dir(site).into_iter().flatten().flatten();
    let newest: Vec<Option<SystemTime>> = sites
        .iter()
        .map(|site| {
            let inside = entries(site).map(|entry| entry.path()).filter(|path| is_installers(path));
            inside.chain([site.clone()]).filter_map(modified).max()
        })
        .collect();
    let own =
        ["node_modules", "node_modules/.package-lock.json", "pyrightconfig.json", "pyproject.toml"];
    newest.into_iter().chain(own.map(|name| modified(around.root.join(name)))).collect()
}

fn python(around: &Surroundings) -> Option<PathBuf> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| around.env.get(*name));
    let active = active.map(PathBuf::from);
    let local = [".venv", "venv"].iter().map(|name| around.root.join(name));
    let found = active.chain(local).map(|folder| folder.join("bin/python")).find(|p| is_program(p));
    found.or_else(|| on_path("python3", &around.env)).or_else(|| on_path("python", &around.env))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], path: &str, expected: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("project");
        for (name, text) in files {
            let file = root.join(name);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
            std::fs::write(&file, text).expect("a file");
            if name.contains(".bin/") || name.contains("bin/python") {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(&file, mode).expect("mode");
            }
        }
        let around = Surroundings {
            root: root.clone(),
            env: BTreeMap::new().into(),
            catalogue: Catalogue::built_in().clone().into(),
        };
        let data = root.join("data");
        let path = RelPath::below(&root, &root.join(path)).expect("relative");
        let word = match choose(&around, &data, &path) {
            None => "no language".to_owned(),
            Some(Err((sensor, gap))) => format!("{sensor}: {gap}"),
            Some(Ok(choice)) => {
                let program = choice.program.strip_prefix(&root).expect("inside").display();
                format!("{} {program} {}", choice.id, choice.settings)
            }
        };
        assert_eq!(word.replace(&root.display().to_string(), "ROOT"), expected);
    }

    #[test]
    fn the_projects_typescript_chooses_the_server() {
        let package = "node_modules/typescript/package.json";
        let install = "not installed: moai-ralph server install typescript";
        check(&[], "a.ts", &format!("typescript-language-server: {install}"));
        check(
            &[(package, r#"{"version": "5.9.3"}"#)],
            "src/a.ts",
            &format!("typescript-language-server: {install}"),
        );
        check(
            &[(package, r#"{"version": "7.0.2"}"#), ("node_modules/.bin/tsc", "")],
            "src/a.ts",
            "typescript-native node_modules/.bin/tsc null",
        );
        check(
            &[("package.json", r#"{"devDependencies": {"typescript": "^7.0.0"}}"#)],
            "a.tsx",
            &format!("typescript-native: {install}"),
        );
    }

    #[test]
    fn an_installed_server_is_found_and_told_the_projects_interpreter() {
        let server = "data/servers/pyright@1.1.414/node_modules/.bin/pyright-langserver";
        check(
            &[(server, ""), (".venv/bin/python", "")],
            "a.py",
            &format!(
                "pyright {server} {{\"python\":{{\"pythonPath\":\"ROOT/.venv/bin/python\"}}}}"
            ),
        );
        check(&[], "a.py", "pyright: not installed: moai-ralph server install python");
    }

    #[test]
    fn a_language_without_a_server_is_a_gap_and_prose_is_no_language() {
        check(&[], "main.go", "go: no language server for Go in this version");
        check(&[], "README.md", "no language");
    }
}
