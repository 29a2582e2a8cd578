//! The checkout is a valid plugin in the host's own eyes.

use crate::host::{checkout, claude};
use crate::support::{Sandbox, finish};

#[test]
fn the_checkout_validates_as_a_plugin() {
    let sandbox = Sandbox::new();
    let output = finish(claude(&sandbox).args(["plugin", "validate"]).arg(checkout()), "");
    assert_eq!(output.code, 0, "{output:#?}");
    for part in ["PostToolUse", "Stop", "moai-ralph:moai-loop", "moai-ralph:cancel-loop"] {
        assert!(output.stdout.contains(part), "{part} is not provided: {output:#?}");
    }
}
