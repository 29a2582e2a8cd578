//! Finds the compiler flags of a file as clangd does: in the folder that its arguments or its configuration
//! set, else the nearest folder of the file and above with `compile_commands.json`, also in `build`, or
//! `compile_flags.txt`. Wherever this is in doubt, the flags are unknown. Source:
//! <https://clangd.llvm.org/config>, <https://clang.llvm.org/docs/JSONCompilationDatabase.html> and clangd
//! 22.1.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::clangd_config::{ClangdConfig, DatabasePlace};
use super::fault_facts::read_bounded_text;
use super::forced_includes::{self, IncludeSettings, KeptFlags};
use super::resolve::ResolvedServer;
use super::{ServerContext, clangd_config};
use crate::files::read_regular;
use moai_base::limits::COMPILE_DATABASE_BYTES_MAX;
use moai_lsp::faults::CompileFlags;
use moai_lsp::registry::ServerSpec;

/// Extensions of files that no database lists, because they are not compiled by themselves.
const HEADER_EXTENSIONS: [&str; 4] = ["h", "hh", "hpp", "hxx"];

/// Variables with folders of headers.
const HEADER_VARIABLES: [&str; 3] = ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"];

/// Where clangd looks in a folder; the first may be a link.
pub const DATABASE_NAMES: [&str; 2] = ["compile_commands.json", "build/compile_commands.json"];

/// Settings of one clangd that decide its search for flags.
#[derive(Clone, Debug, Default)]
pub struct DatabaseSearch {
    /// The folder of `--compile-commands-dir`.
    fixed_folder: Option<PathBuf>,
    user_config: Option<PathBuf>,
    /// True if no configuration is read (`--enable-config=0`).
    ignores_config: bool,
    /// True if clangd searches headers in folders that the environment or a compiler (`--query-driver`) names.
    has_other_header_folders: bool,
}

/// The entries of a compilation database; `None` if it cannot be read.
pub(super) type CompileEntries = Option<Vec<CompileEntry>>;

/// One entry of a compilation database. clangd reads no database with an incomplete entry.
#[derive(Debug, Deserialize)]
pub(super) struct CompileEntry {
    directory: PathBuf,
    file: PathBuf,
    #[serde(default, deserialize_with = "forced_includes::read_command")]
    command: Option<KeptFlags>,
    #[serde(default, deserialize_with = "forced_includes::read_arguments")]
    arguments: Option<KeptFlags>,
}

impl DatabaseSearch {
    /// The search of a selected server.
    #[must_use]
    pub fn of_server(context: &ServerContext, choice: &ResolvedServer) -> Self {
        Self::new(context, &choice.spec, &choice.workspace)
    }

    pub(super) fn new(context: &ServerContext, spec: &ServerSpec, workspace: &Path) -> Self {
        let flags = context.env.get("CLANGD_FLAGS").map(String::as_str).unwrap_or_default();
        let args: Vec<&str> =
            flags.split_whitespace().chain(spec.args.iter().map(String::as_str)).collect();
        let fixed = clangd_config::option_value(&args, "compile-commands-dir");
        let config = clangd_config::option_value(&args, "enable-config");
        Self {
            fixed_folder: fixed.map(|folder| workspace.join(folder)),
            user_config: clangd_config::user_config_path(&context.env),
            ignores_config: config.is_some_and(|it| ["0", "false", "FALSE"].contains(&it)),
            has_other_header_folders: clangd_config::option_value(&args, "query-driver").is_some()
                || HEADER_VARIABLES.iter().any(|name| context.env.contains_key(*name)),
        }
    }

    /// The source of clangd's flags for a file. Reads the disk.
    #[must_use]
    pub fn compile_flags(&self, context: &ServerContext, file: &Path) -> CompileFlags {
        let configs = self.configs(file);
        let configured = configs.iter().find_map(|config| config.place.clone());
        let fixed = self.fixed_folder.clone().map(DatabasePlace::Folder);
        let includes = IncludeSettings {
            changes_flags: configs.iter().any(|config| config.may_change_flags),
            has_other_folders: self.has_other_header_folders,
        };
        let flags = match fixed.or(configured).unwrap_or(DatabasePlace::Ancestors) {
            DatabasePlace::Uncertain => return CompileFlags::Conditional,
            DatabasePlace::Nowhere => None,
            DatabasePlace::Folder(folder) => flags_in_folder(context, &folder, file, includes),
            DatabasePlace::Ancestors => file
                .ancestors()
                .skip(1)
                .find_map(|folder| flags_in_folder(context, folder, file, includes)),
        };
        match flags {
            Some(flags) => flags,
            None if configs.iter().any(|config| config.adds_flags) => CompileFlags::Fixed,
            None => CompileFlags::Unknown,
        }
    }

    /// Files outside the workspace's own folder that decide the flags of its files. clangd notices
    /// a changed one after 5 seconds and a new one after 30.
    pub(super) fn distant_files(&self, workspace: &Path) -> Vec<PathBuf> {
        let configs = self.configs(&workspace.join("file"));
        let configured = match configs.into_iter().find_map(|config| config.place) {
            Some(DatabasePlace::Folder(folder)) => Some(folder),
            _ => None,
        };
        let folder = self.fixed_folder.clone().or(configured);
        let databases = DATABASE_NAMES.iter().filter_map(|name| Some(folder.as_ref()?.join(name)));
        self.user_config.iter().cloned().chain(databases).collect()
    }

    /// The user's configuration, which overrides those of the project, then the nearest one first.
    fn configs(&self, file: &Path) -> Vec<ClangdConfig> {
        if self.ignores_config {
            return Vec::new();
        }
        let own = file.ancestors().skip(1).map(|folder| folder.join(".clangd"));
        let paths = self.user_config.iter().cloned().chain(own);
        paths
            .filter_map(|path| {
                let text = read_bounded_text(&path)?;
                Some(ClangdConfig::parse(&text, path.parent().unwrap_or(Path::new("/"))))
            })
            .collect()
    }
}

fn flags_in_folder(
    context: &ServerContext,
    folder: &Path,
    file: &Path,
    includes: IncludeSettings,
) -> Option<CompileFlags> {
    for name in DATABASE_NAMES {
        let database = folder.join(name);
        if database.is_file() {
            let entries = context.compile_entries(&database);
            let place = database.parent().unwrap_or(folder);
            return Some(flags_from_entries(entries.as_deref(), place, file, includes));
        }
    }
    let fixed = folder.join("compile_flags.txt");
    if !fixed.is_file() {
        return None;
    }
    let text = read_bounded_text(&fixed).unwrap_or_default();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let flags = KeptFlags::of_arguments(lines.map(str::to_owned).collect());
    let missing = flags.missing_include(folder, includes);
    Some(missing.map_or(CompileFlags::Fixed, CompileFlags::WithMissingFile))
}

/// The flags of a file that is not listed are guessed from a file with a similar name, which is
/// right only for headers. A database that cannot be read lists nothing. clangd takes the first entry of a file.
fn flags_from_entries(
    entries: Option<&[CompileEntry]>,
    place: &Path,
    file: &Path,
    includes: IncludeSettings,
) -> CompileFlags {
    let entries = entries.unwrap_or_default();
    let extension = file.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let Some(entry) = entries.iter().find(|entry| is_entry_of(entry, file)) else {
        let is_guessed_right = HEADER_EXTENSIONS.contains(&extension) && !entries.is_empty();
        return if is_guessed_right { CompileFlags::Database } else { CompileFlags::OfAnotherFile };
    };
    let directory = place.join(&entry.directory);
    let missing = entry.flags().and_then(|flags| flags.missing_include(&directory, includes));
    missing.map_or(CompileFlags::Database, CompileFlags::WithMissingFile)
}

impl CompileEntry {
    /// clangd prefers `arguments`.
    fn flags(&self) -> Option<&KeptFlags> {
        self.arguments.as_ref().or(self.command.as_ref())
    }
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

impl ServerContext {
    /// The entries of a database. The first one of a request is kept for its other files, because a
    /// large database takes longer to parse than clangd needs for a file.
    fn compile_entries(&self, database: &Path) -> Arc<CompileEntries> {
        let read = || (database.to_path_buf(), Arc::new(read_entries(database)));
        let (kept, entries) = self.facts.compile_database.get_or_init(read);
        if kept == database { Arc::clone(entries) } else { Arc::new(read_entries(database)) }
    }
}

fn read_entries(database: &Path) -> CompileEntries {
    let bytes = read_regular(database, COMPILE_DATABASE_BYTES_MAX).ok()?;
    let entries: Vec<CompileEntry> = serde_json::from_slice(&bytes).ok()?;
    let is_complete = entries.iter().all(|entry| entry.flags().is_some());
    is_complete.then_some(entries)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::servers::ProjectPrograms;
    use moai_lsp::registry::Catalogue;

    fn write(root: &Path, name: &str, text: &str) {
        let file = root.join(name);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
        std::fs::write(file, text).expect("a file");
    }

    fn database(root: &Path, name: &str, file: &str) {
        let entry = format!(r#"[{{"directory": {root:?}, "file": {file:?}, "command": "c++"}}]"#);
        write(root, name, &entry);
    }

    /// The flags in a new request.
    fn flags_with(search: &DatabaseSearch, root: &Path, name: &str) -> CompileFlags {
        let catalogue = Catalogue::built_in().clone().into();
        let context = ServerContext::new(
            root.to_path_buf(),
            BTreeMap::new().into(),
            catalogue,
            ProjectPrograms::Allowed,
        );
        search.compile_flags(&context, &root.join(name))
    }

    fn flags(root: &Path, name: &str) -> CompileFlags {
        flags_with(&DatabaseSearch::default(), root, name)
    }

    #[test]
    fn a_database_gives_flags_to_the_files_it_lists_and_to_headers() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for name in ["src/a.cpp", "src/b.cpp", "src/a.h"] {
            write(root, name, "");
        }
        assert_eq!(flags(root, "src/a.cpp"), CompileFlags::Unknown);
        write(root, "compile_flags.txt", "-std=c++17\n");
        assert_eq!(flags(root, "src/a.cpp"), CompileFlags::Fixed);
        database(root, "build/compile_commands.json", "./src/a.cpp");
        assert_eq!(flags(root, "src/a.cpp"), CompileFlags::Database);
        assert_eq!(flags(root, "src/a.h"), CompileFlags::Database);
        assert_eq!(flags(root, "src/b.cpp"), CompileFlags::OfAnotherFile);
        for unread in ["{", "[]", r#"[{"directory": "/", "file": "src/a.cpp"}]"#] {
            write(root, "build/compile_commands.json", unread);
            for name in ["src/a.cpp", "src/a.h"] {
                assert_eq!(flags(root, name), CompileFlags::OfAnotherFile, "{name} {unread}");
            }
        }
    }

    #[test]
    fn flags_that_include_a_missing_file_are_incomplete() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let missing = CompileFlags::WithMissingFile("./pre.h".to_owned());
        write(root, "a.c", "");
        write(root, "compile_flags.txt", "-Wall\n-include\n./pre.h\n");
        assert_eq!(flags(root, "a.c"), missing);
        let entry = format!(
            r#"[{{"directory": {root:?}, "file": "a.c", "command": "c -include ./pre.h"}}]"#
        );
        write(root, "compile_commands.json", &entry);
        assert_eq!(flags(root, "a.c"), missing);
        write(root, ".clangd", "CompileFlags: {Remove: [-include]}\n");
        assert_eq!(flags(root, "a.c"), CompileFlags::Database, "the flags are others");
        std::fs::remove_file(root.join(".clangd")).expect("the file is ours");
        write(root, "pre.h", "");
        assert_eq!(flags(root, "a.c"), CompileFlags::Database);
        std::fs::remove_file(root.join("compile_commands.json")).expect("the file is ours");
        assert_eq!(flags(root, "a.c"), CompileFlags::Fixed);
    }

    #[test]
    fn a_nearer_configuration_does_not_hide_a_database() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        write(root, "src/a.c", "");
        write(root, "src/b.c", "");
        database(root, "compile_commands.json", "src/a.c");
        write(root, "src/.clangd", "CompileFlags: {Add: [-DX]}\n");
        assert_eq!(flags(root, "src/a.c"), CompileFlags::Database);
        assert_eq!(flags(root, "src/b.c"), CompileFlags::OfAnotherFile);
        write(root, "src/.clangd", "CompileFlags: {CompilationDatabase: None, Add: [-DX]}\n");
        assert_eq!(flags(root, "src/a.c"), CompileFlags::Fixed);
    }

    #[test]
    fn a_configuration_names_the_folder_of_the_database() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        write(root, "src/a.c", "");
        for (text, expected) in [
            ("Hover: {ShowAKA: Yes}\n", CompileFlags::Unknown),
            ("CompileFlags: {Add: [-DX]}\n", CompileFlags::Fixed),
            ("CompileFlags: {CompilationDatabase: out}\n", CompileFlags::Unknown),
            ("CompileFlags: {CompilationDatabase: ../out}\n", CompileFlags::Database),
            (
                "If: {PathMatch: x}\n---\nCompileFlags: {CompilationDatabase: ../out}\n",
                CompileFlags::Conditional,
            ),
        ] {
            write(root, "src/.clangd", text);
            database(root, "out/compile_commands.json", "src/a.c");
            assert_eq!(flags(root, "src/a.c"), expected, "{text}");
        }
        let fixed =
            DatabaseSearch { fixed_folder: Some(root.join("empty")), ..DatabaseSearch::default() };
        assert_eq!(flags_with(&fixed, root, "src/a.c"), CompileFlags::Unknown);
        let config =
            format!("CompileFlags:\n  CompilationDatabase: {}\n", root.join("out").display());
        write(root, "user/config.yaml", &config);
        std::fs::remove_file(root.join("src/.clangd")).expect("the file is ours");
        assert_eq!(flags(root, "src/a.c"), CompileFlags::Unknown);
        let user = DatabaseSearch {
            user_config: Some(root.join("user/config.yaml")),
            ..DatabaseSearch::default()
        };
        assert_eq!(flags_with(&user, root, "src/a.c"), CompileFlags::Database);
        let ignored = DatabaseSearch { ignores_config: true, ..user };
        assert_eq!(flags_with(&ignored, root, "src/a.c"), CompileFlags::Unknown);
    }
}
