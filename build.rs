//! Linker options of the program.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    pack_relocations();
}

/// The grammars' tables hold most of about forty thousand addresses that are relocated at every
/// start of the program, and every hook starts it. Packed relocations are a fortieth of the size;
/// glibc reads them since 2.36, and a linker without support ignores the option.
fn pack_relocations() {
    let target = |part: &str| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
