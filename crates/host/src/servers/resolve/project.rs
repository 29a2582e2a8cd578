//! Reads from a project's files in which workspace a server works and which version of a package
//! the project uses.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::files::read_regular;
use moai_base::limits::SOURCE_BYTES_MAX;
use moai_base::path::RelPath;
use moai_lsp::registry::{ProjectCondition, ServerSpec, WorkspaceRule};

/// The workspace of a server for a file, among the folders from the file up to the root. The first
/// workspace marker that any of them has decides, in the nearest folder with it, as pyright looks for
/// `pyrightconfig.json` before `pyproject.toml`. Otherwise the first root marker decides, in the
/// nearest or topmost folder with it; without any marker it is the root. The `ignored` marker marks
/// nothing.
pub(super) fn server_workspace(
    spec: &ServerSpec,
    root: &Path,
    path: &RelPath,
    ignored: Option<&str>,
) -> PathBuf {
    let file = path.under(root);
    let folders: Vec<&Path> =
        file.ancestors().skip(1).take_while(|folder| folder.starts_with(root)).collect();
    let nearest = |marker: &String| folders.iter().find(|folder| has_marker(folder, marker));
    if let Some(folder) = spec.workspace_markers.iter().find_map(nearest) {
        return folder.to_path_buf();
    }
    let mut markers = spec.root_markers.iter().filter(|marker| Some(marker.as_str()) != ignored);
    let found = markers.find_map(|marker| {
        let mut holding = folders.iter().filter(|folder| folder.join(marker).is_file());
        match spec.workspace {
            WorkspaceRule::Root => None,
            WorkspaceRule::Nearest => holding.next(),
            WorkspaceRule::Topmost => holding.next_back(),
        }
    });
    found.map_or_else(|| root.to_path_buf(), |folder| folder.to_path_buf())
}

/// True if a folder has a file `FILE`, or for `FILE#TABLE` a TOML file with that table.
fn has_marker(folder: &Path, marker: &str) -> bool {
    let Some((file, table)) = marker.split_once('#') else { return folder.join(marker).is_file() };
    let text = read_regular_file(&folder.join(file)).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().any(|line| {
        let header = line.trim_start().strip_prefix('[').and_then(|it| it.strip_prefix(table));
        header.is_some_and(|rest| rest.starts_with([']', '.']))
    })
}

/// The project's `node_modules/.bin` folder, which need not exist, if the project uses the package in that
/// major version: by the installation nearest to the file, else by the range in `package.json`.
pub(super) fn project_bin_if_used(
    when: &ProjectCondition,
    root: &Path,
    path: &RelPath,
) -> Option<PathBuf> {
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

/// The first number of a version or a range such as `^7.0.2`, `>=5`, `7.x`.
fn major(version: &Value) -> Option<u64> {
    let version = version.as_str()?;
    let digits: String = version
        .chars()
        .skip_while(|character| !character.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&read_regular_file(path)?).ok()
}

/// Devices and pipes are not opened, because a project may hold anything under this name.
pub(super) fn read_regular_file(path: &Path) -> Option<Vec<u8>> {
    read_regular(path, SOURCE_BYTES_MAX).ok()
}
