//! The server's dynamic registrations (`client/registerCapability`) by id. They belong to the
//! session, so a new process starts with none.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::DiskChange;
use crate::glob::WatchGlob;
use moai_base::path::{from_uri, is_installed, is_unpolled};

#[derive(Debug)]
struct MethodRegistration {
    method: String,
    watchers: Vec<FileWatcher>,
}

#[derive(Debug)]
struct FileWatcher {
    glob: WatchGlob,
    /// Folder of a `RelativePattern`.
    base: Option<PathBuf>,
    /// Sum of 1 for created, 2 for changed, 4 for deleted.
    kinds: u64,
    /// The file, or the folder, that an absolute pattern is about.
    place: Option<PathBuf>,
}

/// Created, changed and deleted.
const ALL_KINDS: u64 = 7;

/// All registrations that are in force.
#[derive(Debug, Default)]
pub(super) struct Registrations {
    by_id: BTreeMap<String, MethodRegistration>,
    /// Those of the catalogue, for a server that registers none.
    unregistered: Vec<FileWatcher>,
}

impl Registrations {
    /// No registration yet; the server must be notified of files that match these patterns all the same.
    pub(super) fn with_unregistered(patterns: &[String]) -> Self {
        let unregistered = patterns
            .iter()
            .map(|pattern| FileWatcher {
                glob: WatchGlob::new(pattern),
                base: None,
                kinds: ALL_KINDS,
                place: None,
            })
            .collect();
        Self { by_id: BTreeMap::new(), unregistered }
    }

    fn watchers(&self) -> impl Iterator<Item = &FileWatcher> {
        let registered = self.by_id.values().flat_map(|registration| &registration.watchers);
        registered.chain(&self.unregistered)
    }

    /// `client/registerCapability`.
    pub(super) fn register(&mut self, params: &Value) {
        for entry in params["registrations"].as_array().map_or(&[][..], Vec::as_slice) {
            let Some(method) = entry["method"].as_str() else { continue };
            let watchers = entry["registerOptions"]["watchers"].as_array();
            let watchers = watchers.into_iter().flatten().filter_map(watcher).collect();
            let registration = MethodRegistration { method: method.to_owned(), watchers };
            self.by_id.insert(id(entry), registration);
        }
    }

    /// `client/unregisterCapability`; the key is misspelt in the protocol, and some servers write
    /// it correctly.
    pub(super) fn unregister(&mut self, params: &Value) {
        for key in ["unregisterations", "unregistrations"] {
            for entry in params[key].as_array().map_or(&[][..], Vec::as_slice) {
                self.by_id.remove(&id(entry));
            }
        }
    }

    /// True if anything is registered for a method.
    pub(super) fn provides(&self, method: &str) -> bool {
        self.by_id.values().any(|registration| registration.method == method)
    }

    /// The registered places that polls of the root do not cover. Folders above the root are
    /// excluded, because servers register them only to find packages; so are installed packages,
    /// whose changes restart a server.
    pub(super) fn outside_places(&self, root: &Path) -> BTreeSet<PathBuf> {
        let places = self.watchers().filter_map(|watcher| watcher.place.as_deref());
        let outside = places.filter(|place| {
            !root.starts_with(place) && is_unpolled(root, place) && !is_installed(place)
        });
        outside.map(Path::to_path_buf).collect()
    }

    /// True if a watcher of the server matches this change. A pattern without a base folder applies
    /// to each of `places`, because a server that works in one folder of the project (a Go module,
    /// a crate) also depends on files of the others, but registers only places below its own.
    pub(super) fn watches(&self, places: [&Path; 2], file: &Path, change: DiskChange) -> bool {
        let kind = match change {
            DiskChange::Created => 1,
            DiskChange::Changed => 2,
            DiskChange::Deleted => 4,
        };
        let Some(absolute) = file.to_str() else { return false };
        self.watchers().filter(|watcher| watcher.kinds & kind != 0).any(|watcher| {
            let bases = watcher.base.as_deref().map_or(places, |base| [base; 2]);
            bases.into_iter().any(|base| {
                let below = file.strip_prefix(base).ok().and_then(Path::to_str);
                watcher.glob.matches(absolute, below)
            })
        })
    }
}

/// The path above a pattern's first wildcard; `None` for a pattern that is relative to the
/// workspace.
fn watched_place(base: Option<&Path>, pattern: &str) -> Option<PathBuf> {
    let whole = base.map_or_else(|| PathBuf::from(pattern), |base| base.join(pattern));
    let is_fixed = |name: &&OsStr| !name.as_encoded_bytes().iter().any(|at| b"*?{[".contains(at));
    whole.is_absolute().then(|| whole.iter().take_while(is_fixed).collect())
}

fn id(registration: &Value) -> String {
    registration["id"].as_str().unwrap_or_default().to_owned()
}

fn watcher(watcher: &Value) -> Option<FileWatcher> {
    let pattern = &watcher["globPattern"];
    let base = &pattern["baseUri"];
    // A workspace folder in place of its URI.
    let base = base.as_str().or_else(|| base["uri"].as_str());
    let text = pattern.as_str().or_else(|| pattern["pattern"].as_str())?;
    let kinds = watcher["kind"].as_u64().unwrap_or(ALL_KINDS);
    let base = base.and_then(from_uri);
    let place = watched_place(base.as_deref(), text);
    Some(FileWatcher { glob: WatchGlob::new(text), base, kinds, place })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn watches(watchers: &Value, file: &str, change: DiskChange) -> bool {
        let mut registrations = Registrations::default();
        registrations.register(&json!({"registrations": [{"id": "1",
            "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": watchers}}]}));
        registrations.watches([Path::new("/r/x"), Path::new("/r")], Path::new(file), change)
    }

    #[test]
    fn a_server_is_notified_only_of_registered_files_and_kinds() {
        let go = json!([{"globPattern": "**/*.go"}]);
        assert!(watches(&go, "/r/x/a.go", DiskChange::Deleted));
        assert!(watches(&go, "/r/y/a.go", DiskChange::Changed), "another folder of the project");
        assert!(!watches(&go, "/r/a.py", DiskChange::Changed));
        assert!(!watches(&go, "/other/a.go", DiskChange::Changed));
        let created = json!([{"globPattern": "**/*.go", "kind": 1}]);
        assert!(watches(&created, "/r/a.go", DiskChange::Created));
        assert!(!watches(&created, "/r/a.go", DiskChange::Changed));
        for base in [json!("file:///lib%20x"), json!({"uri": "file:///lib%20x", "name": "lib"})] {
            let elsewhere = json!([{"globPattern": {"baseUri": base, "pattern": "*.py"}}]);
            assert!(watches(&elsewhere, "/lib x/a.py", DiskChange::Changed));
            assert!(!watches(&elsewhere, "/r/a.py", DiskChange::Changed));
        }
    }

    #[test]
    fn a_server_that_registers_nothing_is_notified_of_the_catalogues_patterns() {
        let registrations = Registrations::with_unregistered(&["**/*.json".to_owned()]);
        let watches = |file: &str, change| {
            registrations.watches([Path::new("/r/x"), Path::new("/r")], Path::new(file), change)
        };
        assert!(watches("/r/schemas/a.json", DiskChange::Changed));
        assert!(watches("/r/a.json", DiskChange::Deleted));
        assert!(!watches("/r/a.yaml", DiskChange::Changed));
        assert!(!registrations.provides("workspace/didChangeWatchedFiles"));
    }

    #[test]
    fn places_that_no_poll_of_the_root_covers_are_known() {
        let mut registrations = Registrations::default();
        let relative = |base: &str, pattern: &str| json!({"globPattern": {"baseUri": base, "pattern": pattern}});
        let watchers = [
            json!({"globPattern": "**/*.rs"}),
            json!({"globPattern": "/r/**/*"}),
            json!({"globPattern": "/etc/tool.toml"}),
            json!({"globPattern": "/q/{a,b}/*.ts"}),
            relative("file:///lib%20x", "**"),
            relative("file:///lib%20x", "far.ts"),
            relative("file:///r/.nuxt", "**/*"),
            relative("file:///", "**/*"),
            relative("file:///q/node_modules", "**/*"),
            relative("file:///usr/lib/python3.11", "**"),
        ];
        registrations.register(&json!({"registrations": [{"id": "1",
            "method": "workspace/didChangeWatchedFiles", "registerOptions": {"watchers": watchers}}]}));
        let places = registrations.outside_places(Path::new("/r"));
        let expected = ["/etc/tool.toml", "/lib x", "/lib x/far.ts", "/q", "/r/.nuxt"];
        assert!(places.iter().eq(expected.map(Path::new)), "{places:?}");
    }

    #[test]
    fn only_the_unregistered_capabilities_end() {
        let mut registrations = Registrations::default();
        let entry = |id: &str, method: &str| json!({"id": id, "method": method});
        registrations.register(
            &json!({"registrations": [entry("a", "m"), entry("b", "m"), entry("c", "n")]}),
        );
        registrations.unregister(&json!({"unregisterations": [entry("a", "m"), entry("c", "n")]}));
        assert!(registrations.provides("m") && !registrations.provides("n"));
        registrations.unregister(&json!({"unregistrations": [entry("b", "m")]}));
        assert!(!registrations.provides("m"));
    }
}
