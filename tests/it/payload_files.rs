//! The recorded hook inputs are complete: valid JSON, paths of this sandbox, no placeholder left.

use std::fs;
use std::path::Path;

use crate::support::{CHECKOUT, SESSION, Sandbox};

#[test]
fn every_recorded_input_is_filled_in() {
    let sandbox = Sandbox::new();
    for folder in ["", "codex/", "copilot/"] {
        let files = Path::new(CHECKOUT).join("tests/it/payloads").join(folder);
        for entry in fs::read_dir(files).expect("the folder is part of the checkout") {
            let file = entry.expect("the folder can be listed").path();
            if file.is_dir() {
                continue;
            }
            let name = file.file_stem().and_then(|stem| stem.to_str()).expect("a plain name");
            let payload = sandbox.payload(&format!("{folder}{name}"));
            let session = payload.get("session_id").unwrap_or(&payload["sessionId"]);
            assert_eq!(session, SESSION, "{name}");
            let cwd = payload["cwd"].as_str().expect("every input names a folder");
            assert!(Path::new(cwd).starts_with(sandbox.root()), "{name}");
            // Some events of Copilot do not name themselves.
            let event = payload["hook_event_name"].as_str().unwrap_or_default();
            assert!(
                name.starts_with(event) && event.is_empty() <= (folder == "copilot/"),
                "{name}"
            );
            assert!(!payload.to_string().contains("{{"), "{name}");
        }
    }
}
