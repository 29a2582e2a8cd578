//! Real language servers, installed by the program itself, and what they find in real files.

mod importers;
mod python;
mod rename;
mod servers;
#[path = "../it/support.rs"]
#[expect(dead_code, reason = "shared with the other test targets, which use the rest")]
mod support;
mod typescript;
