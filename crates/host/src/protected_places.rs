//! Places that decide the rules of a session, and that an agent must not write: this program's state, options
//! and plugin, and the host's settings.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use moai_base::limits::{BRACE_WORDS_MAX, PATTERN_ENTRIES_MAX};
use moai_protocol::hosts::is_settings_place;

use crate::ipc::StateDirs;

/// The owner of a protected path.
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
    /// A description for agents.
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

/// Folders with protected files in a project or a home folder.
const PROTECTED_FOLDERS: [&str; 8] = [
    ".claude",
    ".codex",
    ".config/opencode",
    ".copilot",
    ".git/moai-ralph",
    ".github/hooks",
    ".moai",
    ".opencode",
];
/// Folders for temporary files.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// Folders in these with their own worktrees.
const OTHER_TREES: &str = "worktrees";

/// The protected places of one caller.
#[derive(Clone, Debug)]
pub struct ProtectedPlaces {
    folders: Vec<(PathBuf, ProtectedPlace)>,
    project: PathBuf,
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
        Self { folders, project: resolved(project), home, env: env.clone() }
    }

    /// An absolute path without links for a path that an agent wrote: relative to `cwd`, or to the folder of
    /// `~` or of a variable at its beginning.
    #[must_use]
    pub fn resolve(&self, cwd: &Path, named: &str) -> PathBuf {
        if let Some((folder, rest)) = process_folder(named) {
            return resolved(&folder.map_or(cwd, Path::new).join(rest));
        }
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

    /// The existing files and folders that a shell pattern matches, resolved like [`Self::resolve`], and the
    /// paths that its braces expand to.
    #[must_use]
    pub fn resolve_pattern(&self, cwd: &Path, named: &str) -> Vec<PathBuf> {
        let words = without_braces(named);
        let plain = |name: &String| !name.contains(['*', '?', '[']);
        let literal = words.iter().filter(|name| plain(name) && words.len() > 1);
        let mut found: Vec<PathBuf> = literal.map(|name| self.resolve(cwd, name)).collect();
        for name in words.iter().filter(|name| !plain(name) || words.len() == 1) {
            found.extend(self.resolve_globs(cwd, name));
        }
        found
    }

    fn resolve_globs(&self, cwd: &Path, named: &str) -> Vec<PathBuf> {
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

    /// The files and folders below a folder whose names match one of these patterns, in places that are
    /// protected or may be. Those whose paths match one of `except` are left out.
    #[must_use]
    pub fn named_below(&self, folder: &Path, names: &[String], except: &[String]) -> Vec<PathBuf> {
        let (names, except) = (matchers(names), matchers(except));
        let inner = PROTECTED_FOLDERS.map(|name| folder.join(name));
        let is_inner = folder.iter().any(|part| PROTECTED_FOLDERS.iter().any(|name| part == *name));
        let own = is_inner.then(|| folder.to_path_buf());
        let places = self.folders.iter().map(|(place, _)| place.clone());
        let (mut found, mut entries_left) = (Vec::new(), PATTERN_ENTRIES_MAX);
        for place in places.chain(inner).chain(own) {
            let start = if folder.starts_with(&place) { folder } else { place.as_path() };
            let Ok(below) = start.strip_prefix(folder) else { continue };
            if below.iter().any(|name| names.is_match(Path::new(name))) {
                found.push(start.to_path_buf());
            }
            add_named(start, &names, &mut entries_left, &mut found);
        }
        found.retain(|path| {
            let below = path.strip_prefix(folder).unwrap_or(path);
            !except.is_match(path) && !except.is_match(Path::new(".").join(below))
        });
        found
    }

    /// The files below a folder that may be protected and that a copy of the folder `other` overwrites; with
    /// `is_mirrored`, also the files that `other` does not hold, which the copy removes.
    #[must_use]
    pub fn copied_below(&self, folder: &Path, other: &Path, is_mirrored: bool) -> Vec<PathBuf> {
        let is_inner = folder.iter().any(|part| PROTECTED_FOLDERS.iter().any(|name| part == *name));
        let all = matchers(&["*".to_owned()]);
        let listed = |top: &Path| -> Vec<PathBuf> {
            let (mut found, mut entries_left) = (Vec::new(), PATTERN_ENTRIES_MAX);
            if is_inner {
                add_named(top, &all, &mut entries_left, &mut found);
            } else {
                let entries = top.read_dir().into_iter().flatten().flatten();
                found.extend(entries.take(PATTERN_ENTRIES_MAX).map(|entry| entry.path()));
                for name in PROTECTED_FOLDERS {
                    add_named(&top.join(name), &all, &mut entries_left, &mut found);
                }
            }
            found.iter().filter_map(|path| Some(path.strip_prefix(top).ok()?.to_owned())).collect()
        };
        let is_known = other.is_dir();
        let mut names = if is_known { listed(other) } else { Vec::new() };
        if !is_known || is_mirrored {
            names.extend(listed(folder));
        }
        let paths = names.iter().map(|name| resolved(&folder.join(name)));
        paths.filter(|path| self.is_own(path)).collect()
    }

    /// True if a path is in the project, or in a hidden folder at home.
    fn is_own(&self, path: &Path) -> bool {
        let below_home = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        let first = below_home.and_then(|below| below.iter().next());
        path.starts_with(&self.project) || first.is_some_and(|it| it.as_encoded_bytes()[0] == b'.')
    }

    /// True if the project is `folder` or below it.
    #[must_use]
    pub fn holds_project(&self, folder: &Path) -> bool {
        self.project.starts_with(folder)
    }

    /// True if a path is in a folder for temporary files, and neither in the project nor at home.
    fn is_elsewhere(&self, path: &Path) -> bool {
        let is_temporary = TEMPORARY.iter().any(|folder| path.starts_with(folder));
        let is_home = self.home.as_ref().is_some_and(|home| path.starts_with(home));
        is_temporary && !is_home && !path.starts_with(&self.project)
    }

    /// The protected place of a path from [`Self::resolve`]. With `is_whole_folder` a folder above such a
    /// place counts as well.
    #[must_use]
    pub fn place_of(&self, path: &Path, is_whole_folder: bool) -> Option<ProtectedPlace> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if is_settings_place(path, is_whole_folder) && !self.is_elsewhere(path) {
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

/// Matchers of these patterns; `*` matches `/` too, as for `find`.
fn matchers(patterns: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for glob in patterns.iter().filter_map(|pattern| GlobBuilder::new(pattern).build().ok()) {
        set.add(glob);
    }
    set.build().unwrap_or_default()
}

/// Adds the entries with such names at any depth below a folder.
fn add_named(top: &Path, names: &GlobSet, entries_left: &mut usize, found: &mut Vec<PathBuf>) {
    let mut open = vec![top.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            if *entries_left == 0 {
                return;
            }
            *entries_left -= 1;
            if names.is_match(Path::new(&entry.file_name())) {
                found.push(entry.path());
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && entry.file_name() != OTHER_TREES {
                open.push(entry.path());
            }
        }
    }
}

/// The entries of these folders whose names match. A pattern matches hidden names only if it begins with a
/// dot.
fn matching_entries(folders: &[PathBuf], pattern: &str, entries_left: &mut usize) -> Vec<PathBuf> {
    let Ok(glob) = GlobBuilder::new(&with_ranges(pattern)).empty_alternates(true).build() else {
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

/// The folder of a process that a path in `/proc` leads to, if it is the present folder (`None`) or the
/// root of all, and the rest of the path.
fn process_folder(named: &str) -> Option<(Option<&'static str>, &str)> {
    let (_, below) = named.strip_prefix("/proc/")?.split_once('/')?;
    let below =
        below.strip_prefix("task/").and_then(|it| it.split_once('/')).map_or(below, |it| it.1);
    let (folder, rest) = below.split_once('/').unwrap_or((below, ""));
    match folder {
        "cwd" => Some((None, rest)),
        "root" => Some((Some("/"), rest)),
        _ => None,
    }
}

/// The words that shell braces expand to: `{a,b}.c` is `a.c` and `b.c`.
fn without_braces(word: &str) -> Vec<String> {
    let (mut words, mut done) = (vec![word.to_owned()], Vec::new());
    while let Some(word) = words.pop() {
        let inner = word.find('}').and_then(|end| Some((word[..end].rfind('{')?, end)));
        match inner.filter(|(start, end)| word[*start..*end].contains(',')) {
            Some((start, end)) if words.len() + done.len() < BRACE_WORDS_MAX => {
                let choices = word[start + 1..end].split(',');
                words.extend(
                    choices.map(|it| format!("{}{it}{}", &word[..start], &word[end + 1..])),
                );
            }
            _ => done.push(word),
        }
    }
    done.reverse();
    done
}

/// A pattern of the shell with its classes of characters as ranges.
fn with_ranges(pattern: &str) -> String {
    let classes = [
        ("[:alnum:]", "A-Za-z0-9"),
        ("[:alpha:]", "A-Za-z"),
        ("[:digit:]", "0-9"),
        ("[:lower:]", "a-z"),
        ("[:upper:]", "A-Z"),
    ];
    classes.iter().fold(pattern.to_owned(), |text, (class, range)| text.replace(class, range))
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
        let protected = ProtectedPlaces::new(&dirs, &env, &project);
        std::os::unix::fs::symlink(home.join(".local"), project.join("link")).expect("ours");
        std::fs::create_dir_all(home.join(".local/state/moai-ralph")).expect("ours");
        let place = |named: &str| protected.place_of(&protected.resolve(&project, named), false);
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
        let whole = |named: &str| protected.place_of(&protected.resolve(&project, named), true);
        assert_eq!(whole("~/.local"), Some(ProtectedPlace::Engine));
        assert_eq!(whole("src"), None);
        let matched = |named: &str| protected.resolve_pattern(&project, named);
        assert_eq!(matched("~/.loc*/st*"), [home.join(".local/state")]);
        assert_eq!(matched("../home/*"), [""; 0].map(PathBuf::from), "they are hidden");
        assert_eq!(matched("../{home,other}/.claude/*/moai"), vec![plugin.clone()]);
        assert_eq!(matched("../h*/new.txt"), [home.join("new.txt")]);
        // The words that braces expand to need not exist.
        let both = vec![plugin.clone(), home.join(".claude/plugins/moai.bak")];
        assert_eq!(matched("~/.claude/plugins/moai{,.bak}"), both);
        // The project is the plugin: only the parts that decide what hooks do.
        let protected = ProtectedPlaces::new(&dirs, &env, &home);
        let place = |named: &str| protected.place_of(&protected.resolve(&plugin, named), false);
        assert_eq!(place("hooks/hooks.json"), Some(ProtectedPlace::Plugin));
        assert_eq!(place("src/main.rs"), None);
    }
}
