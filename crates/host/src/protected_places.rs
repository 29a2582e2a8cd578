//! Places that decide what a session is held to, and that an agent must not write: this program's
//! state, options and plugin, and the host's settings.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;
use moai_base::limits::PATTERN_ENTRIES_MAX;
use moai_protocol::hosts::is_settings_place;

use crate::ipc::StateDirs;

/// What a protected path belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtectedPlace {
    /// State, downloads, socket and user options of this program.
    Engine,
    /// Markers of loops and checkpoints in the git directory.
    LoopMarks,
    /// Settings of the host, which register hooks and plugins.
    HostSettings,
    /// Claude Code's record of trusted projects.
    HostRecord,
    /// The plugin that the hooks belong to.
    Plugin,
}

impl ProtectedPlace {
    /// What it is, in a sentence for agents.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Engine => "the state and options of moai-ralph",
            Self::LoopMarks => "moai-ralph's markers in the git directory",
            Self::HostSettings => "settings that register hooks and plugins",
            Self::HostRecord => "the host's record of trusted projects",
            Self::Plugin => "the plugin moai-ralph",
        }
    }
}

/// The parts of the plugin that decide what hooks do, in a project that is the plugin itself.
const PLUGIN_PARTS: [&str; 3] = [".claude-plugin", "bin", "hooks"];

/// The protected places of one caller.
#[derive(Clone, Debug)]
pub struct ProtectedPlaces {
    folders: Vec<(PathBuf, ProtectedPlace)>,
    home: Option<PathBuf>,
    env: BTreeMap<String, String>,
}

impl ProtectedPlaces {
    /// The places that the caller's environment leads to; `project` is the session's project.
    #[must_use]
    pub fn new(dirs: &StateDirs, env: &BTreeMap<String, String>, project: &Path) -> Self {
        let mut folders: Vec<(PathBuf, ProtectedPlace)> =
            [&dirs.state, &dirs.data, &dirs.socket_folder, &dirs.user_config]
                .into_iter()
                .map(|place| (resolved(place), ProtectedPlace::Engine))
                .collect();
        if let Some(plugin) = env.get("CLAUDE_PLUGIN_ROOT").filter(|folder| !folder.is_empty()) {
            let plugin = resolved(Path::new(plugin));
            if plugin.starts_with(resolved(project)) {
                let parts = PLUGIN_PARTS.iter().map(|part| plugin.join(part));
                folders.extend(parts.map(|part| (part, ProtectedPlace::Plugin)));
            } else {
                folders.push((plugin, ProtectedPlace::Plugin));
            }
        }
        let home = env.get("HOME").map(|home| resolved(Path::new(home)));
        let record = env.get("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| home.clone());
        if let Some(folder) = record {
            folders.push((resolved(&folder.join(".claude.json")), ProtectedPlace::HostRecord));
        }
        Self { folders, home, env: env.clone() }
    }

    /// An absolute path without links for a path as an agent names it: relative to `cwd`, or to the
    /// folder of `~` or of a variable at its beginning.
    #[must_use]
    pub fn resolve(&self, cwd: &Path, named: &str) -> PathBuf {
        let (start, rest) = named.split_once('/').unwrap_or((named, ""));
        let folder = match start.strip_prefix('$') {
            // The shell sets it to the folder that it is in.
            Some("PWD") => Some(cwd.to_path_buf()),
            Some(name) => self.env.get(name).map(PathBuf::from),
            None => self.home.clone().filter(|_| start == "~"),
        };
        match folder.filter(|folder| folder.is_absolute()) {
            Some(folder) => resolved(&folder.join(rest)),
            None => resolved(&cwd.join(named)),
        }
    }

    /// The existing files and folders that a pattern of the shell matches, like [`Self::resolve`].
    #[must_use]
    pub fn resolve_pattern(&self, cwd: &Path, named: &str) -> Vec<PathBuf> {
        let is_pattern = |part: &str| part.contains(['*', '?', '[', '{']);
        let parts: Vec<&str> = named.split('/').collect();
        let first = parts.iter().position(|part| is_pattern(part)).unwrap_or(parts.len());
        let folder = match first {
            0 => cwd.to_path_buf(),
            _ => self.resolve(cwd, &format!("{}/", parts[..first].join("/"))),
        };
        let (mut matched, mut entries_left) = (vec![folder], PATTERN_ENTRIES_MAX);
        for part in &parts[first..] {
            matched = if is_pattern(part) {
                matching_entries(&matched, part, &mut entries_left)
            } else {
                matched.into_iter().map(|path| path.join(part)).collect()
            };
        }
        matched.iter().map(|path| resolved(path)).collect()
    }

    /// What a path from [`Self::resolve`] belongs to. With `is_whole_folder` a folder above such a
    /// place counts as well.
    #[must_use]
    pub fn place_of(&self, path: &Path, is_whole_folder: bool) -> Option<ProtectedPlace> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if is_settings_place(path, is_whole_folder) {
            return Some(ProtectedPlace::HostSettings);
        }
        if name == ".git" && is_whole_folder {
            return Some(ProtectedPlace::LoopMarks);
        }
        let mut parts = path.components().map(Component::as_os_str);
        if parts.by_ref().any(|part| part == ".git")
            && parts.next().is_some_and(|it| it == "moai-ralph")
        {
            return Some(ProtectedPlace::LoopMarks);
        }
        let found = self.folders.iter().find(|(place, _)| {
            path.starts_with(place) || is_whole_folder && place.starts_with(path)
        });
        found.map(|(_, place)| *place)
    }
}

/// The entries of these folders whose names match. A pattern leaves out hidden names unless it begins
/// with a dot.
fn matching_entries(folders: &[PathBuf], pattern: &str, entries_left: &mut usize) -> Vec<PathBuf> {
    let Ok(glob) = GlobBuilder::new(pattern).empty_alternates(true).build() else {
        return Vec::new();
    };
    let matcher = glob.compile_matcher();
    let mut found = Vec::new();
    for entry in folders.iter().flat_map(|folder| folder.read_dir().into_iter().flatten()) {
        if *entries_left == 0 {
            break;
        }
        *entries_left -= 1;
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        let is_hidden = name.to_string_lossy().starts_with('.') && !pattern.starts_with('.');
        if !is_hidden && matcher.is_match(&name) {
            found.push(entry.path());
        }
    }
    found
}

/// The path with the links of its existing part followed, and without `.` and `..`.
fn resolved(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                // The parent of a link is that of its target.
                plain = plain.canonicalize().unwrap_or(plain);
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    let mut missing = Vec::new();
    for existing in plain.ancestors() {
        if let Ok(real) = existing.canonicalize() {
            return missing.iter().rev().fold(real, |path, name| path.join(name));
        }
        missing.extend(existing.file_name().map(ToOwned::to_owned));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &Path)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, path)| ((*name).to_owned(), path.display().to_string())).collect()
    }

    #[test]
    fn places_are_found_under_every_name_and_others_are_free() {
        let temp = tempfile::tempdir().expect("a folder");
        let base = temp.path().canonicalize().expect("a real path");
        let (home, project) = (base.join("home"), base.join("project"));
        let plugin = home.join(".claude/plugins/moai");
        for folder in [&home.join(".claude"), &project.join(".git"), &plugin] {
            std::fs::create_dir_all(folder).expect("ours");
        }
        let state = home.join(".local/state");
        let env =
            env(&[("HOME", &home), ("CLAUDE_PLUGIN_ROOT", &plugin), ("XDG_STATE_HOME", &state)]);
        let dirs = StateDirs::from_env(&env).expect("a home");
        let places = ProtectedPlaces::new(&dirs, &env, &project);
        std::os::unix::fs::symlink(home.join(".local"), project.join("link")).expect("ours");
        std::fs::create_dir_all(home.join(".local/state/moai-ralph")).expect("ours");
        let place = |named: &str| places.place_of(&places.resolve(&project, named), false);
        for (named, expected) in [
            ("~/.local/state/moai-ralph/trust/x.json", Some(ProtectedPlace::Engine)),
            ("$HOME/.local/state/moai-ralph", Some(ProtectedPlace::Engine)),
            ("link/state/moai-ralph/x", Some(ProtectedPlace::Engine)),
            ("../home/.config/moai-ralph/ralph.yaml", Some(ProtectedPlace::Engine)),
            (".claude/settings.json", Some(ProtectedPlace::HostSettings)),
            ("~/.claude/settings.local.json", Some(ProtectedPlace::HostSettings)),
            ("~/.codex/hooks.json", Some(ProtectedPlace::HostSettings)),
            (".github/hooks/moai-ralph.json", Some(ProtectedPlace::HostSettings)),
            (".github/workflows/ci.yml", None),
            ("~/.claude.json", Some(ProtectedPlace::HostRecord)),
            (".git/moai-ralph/loops/1", Some(ProtectedPlace::LoopMarks)),
            ("~/.claude/plugins/moai/hooks/hooks.json", Some(ProtectedPlace::Plugin)),
            ("$XDG_STATE_HOME/moai-ralph/x", Some(ProtectedPlace::Engine)),
            ("$PWD/.claude/settings.json", Some(ProtectedPlace::HostSettings)),
            ("$UNKNOWN/moai-ralph/x", None),
            (".git/config", None),
            ("src/settings.json", None),
            (".claude/agents/a.md", None),
            ("hooks/a.ts", None),
        ] {
            assert_eq!(place(named), expected, "{named}");
        }
        let whole = |named: &str| places.place_of(&places.resolve(&project, named), true);
        assert_eq!(whole("~/.local"), Some(ProtectedPlace::Engine));
        assert_eq!(whole("src"), None);
        let matched = |named: &str| places.resolve_pattern(&project, named);
        assert_eq!(matched("~/.loc*/st*"), [home.join(".local/state")]);
        assert_eq!(matched("../home/*"), [""; 0].map(PathBuf::from), "they are hidden");
        assert_eq!(matched("../{home,other}/.claude/*/moai"), vec![plugin.clone()]);
        assert_eq!(matched("../h*/new.txt"), [home.join("new.txt")]);
        assert_eq!(matched("~/.claude/plugins/moai{,.bak}"), vec![plugin.clone()]);
        // The project is the plugin: only the parts that decide what hooks do.
        let places = ProtectedPlaces::new(&dirs, &env, &home);
        let place = |named: &str| places.place_of(&places.resolve(&plugin, named), false);
        assert_eq!(place("hooks/hooks.json"), Some(ProtectedPlace::Plugin));
        assert_eq!(place("src/main.rs"), None);
    }
}
