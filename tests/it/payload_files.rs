//! The recorded hook inputs are complete: valid JSON, paths of this sandbox, no placeholder left.

use std::fs;
use std::path::Path;

use crate::support::{CHECKOUT, SESSION, Sandbox};

#[test]
fn every_recorded_input_is_filled_in() {
    let sandbox = Sandbox::new();
    let folder = Path::new(CHECKOUT).join("tests/it/payloads");
    for entry in fs::read_dir(folder).expect("the folder is part of the checkout") {
        let file = entry.expect("the folder can be listed").path();
        let name = file.file_stem().and_then(|stem| stem.to_str()).expect("a plain name");
        let payload = sandbox.payload(name);
        assert_eq!(payload["session_id"], SESSION, "{name}");
        assert_eq!(payload["cwd"].as_str(), sandbox.root().to_str(), "{name}");
        let event = payload["hook_event_name"].as_str().expect("every input names its event");
        assert!(name.starts_with(event), "{name} holds {event}");
        assert!(!payload.to_string().contains("{{"), "{name}");
    }
}
