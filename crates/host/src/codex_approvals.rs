//! Reads which hooks of this program the user of Codex has approved: in the project's and the user's
//! files, and in the copies of the plugin.

use std::fs;
use std::path::{Path, PathBuf};

use moai_protocol::hook::HookEvent;
use moai_protocol::hosts::HostKind;
use moai_protocol::hosts::codex_approval::{CodexApprovals, HookApproval};
use moai_protocol::hosts::registration::registered_events;
use serde_json::Value;

use crate::registrations::read;

/// The plugin's file with hooks for Codex, below its folder.
const PLUGIN_HOOKS: &str = "hooks/codex.json";

/// The approval of an event's hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventApproval {
    pub event: HookEvent,
    pub approval: HookApproval,
}

/// A hooks file and the name that Codex uses for it.
struct HookFile {
    path: PathBuf,
    place: String,
}

/// The approvals of the registered hooks. Of several hooks of an event the best counts.
#[must_use]
pub fn codex_approvals(root: &Path, home: &Path) -> Vec<EventApproval> {
    let config = read(&home.join(".codex/config.toml")).ok().flatten();
    let approvals = CodexApprovals::parse(&config.unwrap_or_default());
    let mut documents = Vec::new();
    for file in hook_files(root, home) {
        let Ok(Some(text)) = read(&file.path) else { continue };
        let document: Value = serde_json::from_str(&text).unwrap_or_default();
        documents.push((file.place, document));
    }
    let best_of = |event: HookEvent| {
        let of_files = documents.iter().map(|(place, it)| approvals.of_event(it, place, event));
        of_files.max().flatten()
    };
    registered_events(HostKind::Codex)
        .filter_map(|event| Some(EventApproval { event, approval: best_of(event)? }))
        .collect()
}

fn hook_files(root: &Path, home: &Path) -> Vec<HookFile> {
    let of_folder = |folder: &Path| {
        let path = folder.join(".codex/hooks.json");
        HookFile { place: path.display().to_string(), path }
    };
    let mut found = vec![of_folder(root), of_folder(home)];
    for market in entries(&home.join(".codex/plugins/cache")) {
        let Some(name) = market.file_name().and_then(|name| name.to_str()) else { continue };
        let place = format!("moai-ralph@{name}:{PLUGIN_HOOKS}");
        let versions = entries(&market.join("moai-ralph")).into_iter();
        found.extend(
            versions.map(|it| HookFile { path: it.join(PLUGIN_HOOKS), place: place.clone() }),
        );
    }
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    found.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use moai_protocol::hosts::registration::{RegistrationScope, registration_files};

    use super::*;

    #[test]
    fn an_approved_hook_of_the_plugin_makes_up_for_one_in_a_file() {
        let temp = tempfile::tempdir().expect("a folder");
        let (root, home) = (temp.path().join("project"), temp.path().join("home"));
        let write = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().expect("a folder")).expect("ours");
            fs::write(path, text).expect("ours");
        };
        assert_eq!(codex_approvals(&root, &home), []);
        let file = registration_files(HostKind::Codex, RegistrationScope::Project, "/p/moai-ralph");
        let text = file[0].content.text(None).expect("a document");
        write(root.join(".codex/hooks.json"), &text);
        let found = codex_approvals(&root, &home);
        assert_eq!(found.len(), registered_events(HostKind::Codex).count());
        assert!(found.iter().all(|it| it.approval == HookApproval::Missing), "{found:?}");
        let plugin = home.join(".codex/plugins/cache/m/moai-ralph/0.1.0").join(PLUGIN_HOOKS);
        write(plugin, include_str!("../../../hooks/codex.json"));
        let config = r#"
            [hooks.state."moai-ralph@m:hooks/codex.json:stop:0:0"]
            trusted_hash = "sha256:307ac7e4601f37870f92d05b0770f073b1be907a03c3c438afafaef7a1580f32"
        "#;
        write(home.join(".codex/config.toml"), config);
        let approved = codex_approvals(&root, &home).into_iter();
        let approved: Vec<HookEvent> = approved
            .filter(|it| it.approval == HookApproval::Approved)
            .map(|it| it.event)
            .collect();
        assert_eq!(approved, [HookEvent::Stop]);
    }
}
