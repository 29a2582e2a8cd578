//! Real language servers, installed by the program itself, and what they find in real files.

mod alternatives;
mod auxiliary;
mod blast;
mod cpp;
mod faults;
mod go;
mod importers;
mod java;
mod php;
mod python;
mod rename;
mod rust;
mod servers;
#[path = "../it/support.rs"]
#[expect(dead_code, reason = "shared with the other test targets, which use the rest")]
mod support;
mod typescript;
