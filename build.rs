//! Lists the rule files below `rules/` for `src/scan/builtin.rs`, so that the program carries them
//! and adding a rule means adding one file. It looks at names only and must not judge content:
//! broken rules are found by the tests.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const FOLDER: &str = "rules";

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no manifest folder")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no output folder")?);
    // Cargo looks at everything below a folder, so changed, new and removed files all count.
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={FOLDER}");
    let mut names = Vec::new();
    collect(&root.join(FOLDER), "", &mut names)?;
    names.sort();
    let mut table = String::from("&[\n");
    for name in &names {
        writeln!(
            table,
            "    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{FOLDER}/{name}\"))),"
        )?;
    }
    table.push_str("]\n");
    fs::write(out.join("built_in_rules.rs"), table)?;
    Ok(())
}

/// Adds the names of all rule files below `folder`, relative to the rules' root and with `/`.
fn collect(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), names)?;
        } else if Path::new(&name).extension().is_some_and(|extension| extension == "yml") {
            names.push(name);
        }
    }
    Ok(())
}
