//! Where clangd finds the compiler flags of a file. It searches the folders of the file and above for
//! `compile_commands.json`, also in `build`, then for `compile_flags.txt`; `.clangd` adds flags.
//! Source: <https://clangd.llvm.org/config> and <https://clang.llvm.org/docs/JSONCompilationDatabase.html>.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use moai_base::limits::COMPILE_DATABASE_BYTES_MAX;
use moai_lsp::faults::CompileFlags;

/// Extensions of files that no database lists, because they are not compiled by themselves.
const HEADER_EXTENSIONS: [&str; 4] = ["h", "hh", "hpp", "hxx"];

/// One entry of a compilation database, without its command.
#[derive(Deserialize)]
struct CompileEntry {
    #[serde(default)]
    directory: PathBuf,
    file: PathBuf,
}

/// Where clangd gets the flags of a file from. Reads the disk.
#[must_use]
pub fn compile_flags(file: &Path) -> CompileFlags {
    for folder in file.ancestors().skip(1) {
        for name in ["compile_commands.json", "build/compile_commands.json"] {
            let database = folder.join(name);
            if database.is_file() {
                return flags_from_database(&database, file);
            }
        }
        if folder.join("compile_flags.txt").is_file() {
            return CompileFlags::Fixed;
        }
        match std::fs::read_to_string(folder.join(".clangd")) {
            // The database is in another folder, which clangd knows.
            Ok(text) if text.contains("CompilationDatabase") => return CompileFlags::Database,
            Ok(text) if text.contains("CompileFlags") => return CompileFlags::Fixed,
            _ => {}
        }
    }
    CompileFlags::Unknown
}

fn flags_from_database(database: &Path, file: &Path) -> CompileFlags {
    let extension = file.extension().and_then(|it| it.to_str()).unwrap_or_default();
    if HEADER_EXTENSIONS.contains(&extension) {
        return CompileFlags::Database;
    }
    let is_small = database.metadata().is_ok_and(|meta| meta.len() <= COMPILE_DATABASE_BYTES_MAX);
    let bytes = if is_small { std::fs::read(database).unwrap_or_default() } else { Vec::new() };
    let entries: Vec<CompileEntry> = serde_json::from_slice(&bytes).unwrap_or_default();
    let is_listed = entries.iter().any(|entry| is_entry_of(entry, file));
    if is_listed { CompileFlags::Database } else { CompileFlags::OfAnotherFile }
}

fn is_entry_of(entry: &CompileEntry, file: &Path) -> bool {
    if entry.file.file_name() != file.file_name() {
        return false;
    }
    let listed = entry.directory.join(&entry.file);
    listed == file
        || listed
            .canonicalize()
            .is_ok_and(|listed| file.canonicalize().is_ok_and(|it| it == listed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let file = root.join(name);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
        std::fs::write(file, text).expect("a file");
    }

    #[test]
    fn a_database_gives_flags_to_the_files_it_lists_and_to_headers() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for name in ["src/a.cpp", "src/b.cpp", "src/a.h"] {
            write(root, name, "");
        }
        let flags = |name: &str| compile_flags(&root.join(name));
        assert_eq!(flags("src/a.cpp"), CompileFlags::Unknown);
        write(root, "compile_flags.txt", "-std=c++17\n");
        assert_eq!(flags("src/a.cpp"), CompileFlags::Fixed);
        let entry =
            format!(r#"[{{"directory": {root:?}, "file": "./src/a.cpp", "command": "c++"}}]"#);
        write(root, "build/compile_commands.json", &entry);
        assert_eq!(flags("src/a.cpp"), CompileFlags::Database);
        assert_eq!(flags("src/a.h"), CompileFlags::Database);
        assert_eq!(flags("src/b.cpp"), CompileFlags::OfAnotherFile);
        write(root, "build/compile_commands.json", "{");
        assert_eq!(flags("src/a.cpp"), CompileFlags::OfAnotherFile, "it cannot be read");
    }

    #[test]
    fn a_clangd_file_gives_flags_if_it_has_some() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        write(root, "a.c", "");
        for (text, expected) in [
            ("Hover: {ShowAKA: Yes}\n", CompileFlags::Unknown),
            ("CompileFlags: {Add: [-DX]}\n", CompileFlags::Fixed),
            ("CompileFlags: {CompilationDatabase: out}\n", CompileFlags::Database),
        ] {
            write(root, ".clangd", text);
            assert_eq!(compile_flags(&root.join("a.c")), expected, "{text}");
        }
    }
}
