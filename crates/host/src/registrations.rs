//! Registering this program's hooks with a host, and removing them. Every write is recorded, so that removal
//! restores an unchanged file byte for byte.

use std::fs;
use std::path::{Path, PathBuf};

use moai_base::hash::ContentHash;
use moai_base::limits::REGISTRATION_BYTES_MAX;
use moai_base::toml_value::parse_toml;
use moai_protocol::hook::HookEvent;
use moai_protocol::hosts::HostKind;
use moai_protocol::hosts::registration::{
    RegistrationContent, RegistrationFile, RegistrationScope, is_own_command, registered_events,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::transaction::replace_file;
use crate::files::{self, link_out_of};

/// A file of the host without any entry.
const EMPTY_DOCUMENT: &str = "{}\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationChange {
    /// It was created or changed.
    Written,
    Removed,
    /// It has its content from before the registration, or its present one without our entries.
    Restored,
    /// There was nothing to do.
    Unchanged,
}

/// The text written to a file, and its earlier content.
#[derive(Debug, Deserialize, Serialize)]
struct WrittenRegistration {
    path: PathBuf,
    before: Option<String>,
    after: String,
    /// The folders that were created for it, the outermost first.
    #[serde(default)]
    folders: Vec<PathBuf>,
}

/// Location of a registration's files.
#[derive(Clone, Copy, Debug)]
pub struct RegistrationPlace<'p> {
    /// The project, or the home folder.
    pub folder: &'p Path,
    pub scope: RegistrationScope,
}

impl RegistrationPlace<'_> {
    /// The path of a file. Links in a project are refused with their target, because they come with its
    /// clone; those in the home folder are the user's.
    fn path_of(self, file: &RegistrationFile) -> Result<PathBuf, String> {
        let path = self.folder.join(&file.path);
        let named = |error: String| format!("{}: {error}", path.display());
        if self.scope == RegistrationScope::Project
            && let Some(link) = link_out_of(self.folder, &path)
        {
            return Err(named(format!(
                "{} is a link out of the project, and is not followed: remove it, or register the hooks \
                 for yourself with --user",
                link.display()
            )));
        }
        Ok(path)
    }
}

/// The registrations that this program wrote.
#[derive(Debug)]
pub struct RegistrationRecords {
    folder: PathBuf,
}

impl RegistrationRecords {
    /// The records in the folder of the state.
    #[must_use]
    pub fn new(state: &Path) -> Self {
        Self { folder: state.join("registrations") }
    }

    /// Writes one file; the error is one line with its path.
    pub fn register(
        &self,
        place: RegistrationPlace<'_>,
        file: &RegistrationFile,
    ) -> Result<RegistrationChange, String> {
        let path = place.path_of(file)?;
        let named = |error: String| format!("{}: {error}", path.display());
        let present = read(&path).map_err(named)?;
        let text = file.content.text(present.as_deref()).map_err(named)?;
        if present.as_deref() == Some(text.as_str()) {
            return Ok(RegistrationChange::Unchanged);
        }
        let is_foreign = matches!(file.content, RegistrationContent::Own(_))
            && present.as_ref().is_some_and(|present| !self.has_written(&path, present));
        let older = self.record_of(&path);
        if is_foreign {
            let who = match &older {
                Some(_) => "it was changed since moai-ralph wrote it",
                None => "it was not written by moai-ralph",
            };
            return Err(named(format!(
                "{who}, and is left alone; move it away and run this again"
            )));
        }
        // The file's content before the first registration counts.
        let mut folders = older.as_ref().map(|older| older.folders.clone()).unwrap_or_default();
        folders.extend(missing_folders(&path));
        let before = match (older, present) {
            (Some(older), Some(present)) if older.after == hash_of(&present) => older.before,
            (_, Some(present)) if !own_events(&present).is_empty() => {
                file.content.text_without(&present).map_err(named)?
            }
            (_, present) => present,
        };
        let record =
            WrittenRegistration { path: path.clone(), before, after: hash_of(&text), folders };
        self.save(&record).map_err(named)?;
        self.write(&path, &text).map_err(named)?;
        Ok(RegistrationChange::Written)
    }

    /// Removes one file's registration, and the empty folders that were created for it; the error is one line
    /// with its path. Call it in the reverse order of registration, so that folders come last.
    pub fn unregister(
        &self,
        place: RegistrationPlace<'_>,
        file: &RegistrationFile,
    ) -> Result<RegistrationChange, String> {
        let path = place.path_of(file)?;
        let named = |error: String| format!("{}: {error}", path.display());
        let Some(present) = read(&path).map_err(named)? else {
            self.forget(&path);
            return Ok(RegistrationChange::Unchanged);
        };
        let record = self.record_of(&path);
        // A file with entries is deleted only if it did not exist before the first registration.
        let is_foreign = matches!(file.content, RegistrationContent::Entries { .. })
            && record.as_ref().is_none_or(|record| record.before.is_some());
        let folders = record.as_ref().map(|record| record.folders.clone()).unwrap_or_default();
        let record = record.filter(|record| record.after == hash_of(&present));
        let text = match record {
            Some(record) => record.before,
            None => file.content.text_without(&present).map_err(named)?,
        };
        let change = match text {
            Some(text) if text == present => RegistrationChange::Unchanged,
            Some(text) => {
                self.write(&path, &text).map_err(named)?;
                RegistrationChange::Restored
            }
            None if is_foreign => {
                self.write(&path, EMPTY_DOCUMENT).map_err(named)?;
                RegistrationChange::Restored
            }
            None => {
                fs::remove_file(&path).map_err(|error| named(error.to_string()))?;
                for folder in folders.iter().rev() {
                    // A folder that holds something else stays.
                    let _ = fs::remove_dir(folder);
                }
                RegistrationChange::Removed
            }
        };
        self.forget(&path);
        Ok(change)
    }

    fn has_written(&self, path: &Path, text: &str) -> bool {
        self.record_of(path).is_some_and(|record| record.after == hash_of(text))
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), String> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        }
        let journal = self.folder.join("journal");
        replace_file(path, &journal, text.as_bytes()).map_err(|error| error.to_string())
    }

    fn place_of(&self, path: &Path) -> PathBuf {
        let name = ContentHash::of_bytes(path.as_os_str().as_encoded_bytes()).short_hex();
        self.folder.join(format!("{name}.json"))
    }

    fn record_of(&self, path: &Path) -> Option<WrittenRegistration> {
        let bytes = files::read_private(&self.place_of(path), 4 * REGISTRATION_BYTES_MAX)?;
        let record: WrittenRegistration = serde_json::from_slice(&bytes).ok()?;
        (record.path == path).then_some(record)
    }

    fn save(&self, record: &WrittenRegistration) -> Result<(), String> {
        files::private_dir(&self.folder).map_err(|error| error.to_string())?;
        let bytes = serde_json::to_vec(record).map_err(|error| error.to_string())?;
        files::write_private(&self.place_of(&record.path), &bytes)
            .map_err(|error| error.to_string())
    }

    fn forget(&self, path: &Path) {
        // A record that cannot be removed will not match later content.
        let _ = fs::remove_file(self.place_of(path));
    }
}

/// The folders above a file that do not exist, the outermost first.
fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let mut missing: Vec<PathBuf> =
        above.take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}

/// A file or plugin that registers hooks of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRegistration {
    /// The file, absolute, or the plugin and the file that enables it.
    pub place: String,
    /// The events with a hook.
    pub events: Vec<HookEvent>,
}

/// A file in which hooks of a host may be registered, and that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableRegistration {
    /// Absolute.
    pub path: PathBuf,
    /// One line with the line number in the text, if known.
    pub reason: String,
}

/// The registrations with a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistrationSearch {
    /// Those of this program.
    pub found: Vec<FoundRegistration>,
    /// The files that cannot be read.
    pub unreadable: Vec<UnreadableRegistration>,
}

impl RegistrationSearch {
    /// The text of a file; `None` if it does not exist or cannot be read.
    fn text(&mut self, path: &Path) -> Option<String> {
        let parsed = read(path).and_then(|text| match text {
            Some(text) => syntax_fault(path, &text).map_or(Ok(Some(text)), Err),
            None => Ok(None),
        });
        match parsed {
            Ok(text) => text,
            Err(reason) if self.unreadable.iter().all(|known| known.path != path) => {
                self.unreadable.push(UnreadableRegistration { path: path.to_path_buf(), reason });
                None
            }
            Err(_) => None,
        }
    }
}

/// The registrations with a host in a project and for its user.
#[must_use]
pub fn find_registrations(host: HostKind, root: &Path, home: Option<&Path>) -> RegistrationSearch {
    let mut search = RegistrationSearch::default();
    for path in registering_files(host, root, home) {
        let Some(text) = search.text(&path) else { continue };
        let events = match host {
            // The file is the plugin.
            HostKind::OpenCode => registered_events(host).collect(),
            _ => own_events(&text),
        };
        let place = path.display().to_string();
        if !events.is_empty() {
            search.found.push(FoundRegistration { place, events });
        }
    }
    for path in plugin_files(host, root, home) {
        let Some(text) = search.text(&path) else { continue };
        if enables_plugin(&text) {
            let place = format!("plugin moai-ralph in {}", path.display());
            let events = registered_events(host).collect();
            search.found.push(FoundRegistration { place, events });
        }
    }
    search
}

/// Why a host cannot parse a file, by the format that its extension implies.
fn syntax_fault(path: &Path, text: &str) -> Option<String> {
    match path.extension()?.to_str()? {
        "json" => json_fault(path, text),
        "toml" => parse_toml(text).err(),
        _ => None,
    }
}

/// The settings of GitHub Copilot CLI may have comments.
fn json_fault(path: &Path, text: &str) -> Option<String> {
    let is_of_copilot = path.parent().is_some_and(|folder| folder.ends_with(".copilot"));
    if is_of_copilot || text.trim().is_empty() {
        return None;
    }
    let error = serde_json::from_str::<Value>(text).err()?;
    Some(format!("line {}: it is not JSON: {error}", error.line()))
}

/// The files in which hooks of a host may be registered.
fn registering_files(host: HostKind, root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let both = |path: &str| {
        let mut files = vec![root.join(path)];
        files.extend(home.map(|home| home.join(path)));
        files
    };
    match host {
        HostKind::ClaudeCode => {
            let mut files = both(".claude/settings.json");
            files.push(root.join(".claude/settings.local.json"));
            files
        }
        HostKind::Codex => both(".codex/hooks.json"),
        HostKind::Copilot => {
            let mut files = json_files(&root.join(".github/hooks"));
            files.extend(home.into_iter().flat_map(|it| json_files(&it.join(".copilot/hooks"))));
            // It runs these as well.
            files.push(root.join(".claude/settings.json"));
            files
        }
        HostKind::OpenCode => {
            let mut files = vec![root.join(".opencode/plugins/moai-ralph.ts")];
            let of_user = ".config/opencode/plugins/moai-ralph.ts";
            files.extend(home.map(|home| home.join(of_user)));
            files
        }
    }
}

/// The files that enable plugins of a host.
fn plugin_files(host: HostKind, root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let names: &[&str] = match host {
        HostKind::ClaudeCode => &[".claude/settings.json"],
        HostKind::Codex => &[".codex/config.toml"],
        HostKind::Copilot => &[".copilot/settings.json", ".copilot/config.json"],
        HostKind::OpenCode => &[],
    };
    let of_user = home.into_iter().flat_map(|home| names.iter().map(|name| home.join(name)));
    let of_project = (host == HostKind::ClaudeCode).then(|| root.join(".claude/settings.json"));
    of_user.chain(of_project).collect()
}

/// True if a settings file lists the plugin and does not switch it off.
fn enables_plugin(text: &str) -> bool {
    let mut lines = text.lines().skip_while(|line| !line.contains("moai-ralph@"));
    let Some(named) = lines.next() else { return false };
    let is_set = |line: &str| line.contains("true") || line.contains("false");
    let value = if is_set(named) { named } else { lines.next().unwrap_or_default() };
    !value.contains("false")
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

/// The events of a document for which a hook of this program is registered.
fn own_events(text: &str) -> Vec<HookEvent> {
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    let events = document["hooks"].as_object().into_iter().flatten();
    let of_us = events.filter(|(_, groups)| has_own_hook(groups));
    of_us.filter_map(|(name, _)| HookEvent::from_host_name(name)).collect()
}

fn has_own_hook(groups: &Value) -> bool {
    let is_own = |hook: &Value| {
        let mut commands = ["command", "bash"].iter().filter_map(|key| hook[*key].as_str());
        commands.any(is_own_command)
    };
    groups
        .as_array()
        .into_iter()
        .flatten()
        .any(|group| is_own(group) || group["hooks"].as_array().into_iter().flatten().any(is_own))
}

fn hash_of(text: &str) -> String {
    ContentHash::of_bytes(text.as_bytes()).to_string()
}

/// The text of a file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<String>, String> {
    match files::read_regular_text(path, REGISTRATION_BYTES_MAX as u64) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use moai_protocol::hosts::registration::registration_files;

    use super::*;

    fn in_project(folder: &Path) -> RegistrationPlace<'_> {
        RegistrationPlace { folder, scope: RegistrationScope::Project }
    }

    fn file(host: HostKind) -> RegistrationFile {
        registration_files(host, RegistrationScope::Project, "/p/moai-ralph").remove(0)
    }

    #[test]
    fn what_nobody_changed_becomes_what_it_was() {
        let temp = tempfile::tempdir().expect("a folder");
        let base = temp.path().canonicalize().expect("a real path");
        let records = RegistrationRecords::new(&base.join("state"));
        let file = file(HostKind::Codex);
        let path = base.join(&file.path);
        fs::create_dir_all(base.join(".codex")).expect("ours");
        let foreign = "{\"hooks\":{},   \"x\":1}";
        fs::write(&path, foreign).expect("ours");
        assert_eq!(records.register(in_project(&base), &file), Ok(RegistrationChange::Written));
        assert_eq!(records.register(in_project(&base), &file), Ok(RegistrationChange::Unchanged));
        assert_eq!(records.unregister(in_project(&base), &file), Ok(RegistrationChange::Restored));
        assert_eq!(fs::read_to_string(&path).expect("it is there"), foreign);
        assert_eq!(records.unregister(in_project(&base), &file), Ok(RegistrationChange::Unchanged));
    }

    #[test]
    fn registrations_are_found_in_files_and_as_plugins() {
        let temp = tempfile::tempdir().expect("a folder");
        let home = temp.path().join("home");
        let root_of = |host: HostKind| temp.path().join(host.profile().name);
        let records = RegistrationRecords::new(&temp.path().join("state"));
        for host in HostKind::ALL {
            let root = root_of(host);
            let none = RegistrationSearch::default();
            assert_eq!(find_registrations(host, &root, Some(&home)), none, "{host:?}");
            fs::create_dir_all(&root).expect("ours");
            records.register(in_project(&root), &file(host)).expect("writable");
            let found = find_registrations(host, &root, Some(&home));
            let events: Vec<HookEvent> = registered_events(host).collect();
            assert_eq!(found.found.first().map(|one| &one.events), Some(&events), "{host:?}");
        }
        fs::create_dir_all(home.join(".codex")).expect("ours");
        let root = root_of(HostKind::Codex);
        let config = home.join(".codex/config.toml");
        fs::write(&config, "[plugins.\"moai-ralph@moai-ralph\"]\nenabled = true\n").expect("ours");
        let places = || find_registrations(HostKind::Codex, &root, Some(&home)).found.len();
        assert_eq!(places(), 2);
        fs::write(&config, "[plugins.\"moai-ralph@moai-ralph\"]\nenabled = false\n").expect("ours");
        assert_eq!(places(), 1);
    }

    #[test]
    fn files_that_do_not_parse_are_named_once_with_their_line() {
        let temp = tempfile::tempdir().expect("a folder");
        let (root, home) = (temp.path().join("project"), temp.path().join("home"));
        let unreadable = |host, path: PathBuf, text: &[u8]| {
            fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
            fs::write(&path, text).expect("ours");
            let search = find_registrations(host, &root, Some(&home));
            fs::remove_file(&path).expect("ours");
            let one = search.unreadable.first().cloned();
            assert!(search.unreadable.iter().all(|it| it.path == path), "{search:?}");
            assert!(search.unreadable.len() < 2, "{search:?}");
            one.map(|it| it.reason)
        };
        let settings = root.join(".claude/settings.json");
        for host in [HostKind::ClaudeCode, HostKind::Copilot] {
            let reason = unreadable(host, settings.clone(), b"{\n\"hooks\": {\n,}}");
            assert!(reason.is_some_and(|it| it.starts_with("line 3: it is not JSON")), "{host:?}");
        }
        let config = home.join(".codex/config.toml");
        let reason = unreadable(HostKind::Codex, config, b"a = 1\nb = [\n");
        assert!(reason.is_some_and(|it| it.starts_with("line 2: ")));
        let hooks = root.join(".codex/hooks.json");
        assert!(unreadable(HostKind::Codex, hooks.clone(), b"\xff").is_some());
        assert_eq!(unreadable(HostKind::Codex, hooks, b""), None);
        let of_copilot = home.join(".copilot/config.json");
        assert_eq!(unreadable(HostKind::Copilot, of_copilot, b"// c\n{}"), None);
    }

    #[test]
    fn a_new_file_is_deleted_and_one_of_others_is_left_alone() {
        let temp = tempfile::tempdir().expect("a folder");
        let base = temp.path().canonicalize().expect("a real path");
        let records = RegistrationRecords::new(&base.join("state"));
        let file = file(HostKind::Copilot);
        let path = base.join(&file.path);
        assert_eq!(records.register(in_project(&base), &file), Ok(RegistrationChange::Written));
        assert_eq!(records.unregister(in_project(&base), &file), Ok(RegistrationChange::Removed));
        assert!(!path.exists());
        assert!(!base.join(".github").exists(), "the folders were made for it");
        fs::create_dir_all(base.join(".github/hooks")).expect("ours");
        fs::write(&path, "theirs").expect("ours");
        assert!(records.register(in_project(&base), &file).is_err());
        assert!(records.unregister(in_project(&base), &file).is_err());
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "theirs");
    }

    #[test]
    fn a_link_out_of_the_project_is_not_followed() {
        let temp = tempfile::tempdir().expect("a folder");
        let base = temp.path().canonicalize().expect("a real path");
        let (project, outside) = (base.join("project"), base.join("outside"));
        fs::create_dir_all(project.join("inside")).expect("ours");
        fs::create_dir_all(&outside).expect("ours");
        let records = RegistrationRecords::new(&base.join("state"));
        let file = file(HostKind::Codex);
        let link = project.join(".codex");
        for target in [outside.clone(), base.join("nowhere"), "../outside".into()] {
            symlink(&target, &link).expect("ours");
            let refused = records.register(in_project(&project), &file);
            assert!(
                refused.is_err_and(|it| it.contains("a link out of the project")),
                "{target:?}"
            );
            assert!(records.unregister(in_project(&project), &file).is_err(), "{target:?}");
            fs::remove_file(&link).expect("ours");
        }
        assert_eq!(outside.read_dir().expect("there").count(), 0);
        symlink("inside", &link).expect("ours");
        assert_eq!(records.register(in_project(&project), &file), Ok(RegistrationChange::Written));
        // The home folder is the user's.
        fs::remove_file(&link).expect("ours");
        symlink(&outside, &link).expect("ours");
        let home = RegistrationPlace { folder: &project, scope: RegistrationScope::User };
        assert_eq!(records.register(home, &file), Ok(RegistrationChange::Written));
    }
}
