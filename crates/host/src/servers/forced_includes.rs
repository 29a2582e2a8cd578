//! Files that compiler flags include before the source (`-include`). A compiler fails without such a file;
//! clangd reports nothing, because that error has no place in a file (observed with clangd 14 and 22.1). Source
//! of the search: <https://gcc.gnu.org/onlinedocs/gcc/Preprocessor-Options.html> and
//! <https://clang.llvm.org/docs/ClangCommandLineReference.html>.

use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer};

/// The flags of an entry of a compilation database, kept only if they may include a file, because a large database
/// has thousands of entries.
#[derive(Debug)]
pub(super) enum KeptFlags {
    /// No included file.
    Plain,
    /// A command line for a POSIX shell.
    Command(String),
    Arguments(Vec<String>),
}

/// What else decides which included files clangd finds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IncludeSettings {
    /// True if clangd's configuration adds or removes flags.
    pub(super) changes_flags: bool,
    /// True if folders of headers come from the environment or from the compiler itself.
    pub(super) has_other_folders: bool,
}

/// Options that name an included file, in its own argument or in the same one. Longer spellings come first.
const INCLUDE_OPTIONS: [&str; 6] =
    ["--include=", "--imacros=", "--include", "--imacros", "-include", "-imacros"];

/// Options that begin like one of [`INCLUDE_OPTIONS`] and name no included file.
const OTHER_OPTIONS: [&str; 3] = ["-include-pch", "--include-directory", "--include-with-prefix"];

/// Options that name a folder to search, in its own argument or in the same one. Longer spellings come first.
const FOLDER_OPTIONS: [&str; 10] = [
    "--include-directory-after=",
    "--include-directory-after",
    "--include-directory=",
    "--include-directory",
    "-isystem-after",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-cxx-isystem",
    "-I",
];

/// Options that pass the next argument to a stage of the compiler.
const PASSING_OPTIONS: [&str; 2] = ["-Xclang", "-Xpreprocessor"];

/// Beginnings of flags that replace the folders of the system's headers, or name folders in ways that are not followed
/// here, such as in a file of flags.
const UNFOLLOWED_FLAGS: [&str; 7] =
    ["--sysroot", "-isysroot", "--target", "-target", "-iwithprefix", "-stdlib++-isystem", "@"];

/// Folders of the headers of Linux systems and compilers; `*` stands for any characters
/// of a folder's name.
const SYSTEM_FOLDERS: [&str; 10] = [
    "/usr/include",
    "/usr/local/include",
    "/usr/include/*-linux-*",
    "/usr/include/*-linux-*/c++/*",
    "/usr/include/c++/*",
    "/usr/include/c++/*/*-linux*",
    "/usr/lib/gcc/*/*/include",
    "/usr/lib/clang/*/include",
    "/usr/lib/*llvm*/lib/clang/*/include",
    "/usr/lib/*llvm*/include/c++/*",
];

/// The extension of a precompiled header that clang uses in place of the header. It does not use those of GCC.
const PRECOMPILED_EXTENSION: &str = ".pch";

impl KeptFlags {
    fn of_command(command: String) -> Self {
        if may_include(&command) { Self::Command(command) } else { Self::Plain }
    }

    pub(super) fn of_arguments(arguments: Vec<String>) -> Self {
        let is_kept = arguments.iter().any(|it| may_include(it));
        if is_kept { Self::Arguments(arguments) } else { Self::Plain }
    }

    /// The first file that the flags include and that no folder has. Reads the disk. Where the search is in doubt, a
    /// file counts as found.
    pub(super) fn missing_include(
        &self,
        directory: &Path,
        settings: IncludeSettings,
    ) -> Option<String> {
        let mut flags = match self {
            Self::Command(command) => shlex::split(command)?,
            Self::Arguments(arguments) => arguments.clone(),
            Self::Plain => return None,
        };
        if settings.changes_flags {
            return None;
        }
        flags.retain(|flag| !PASSING_OPTIONS.contains(&flag.as_str()));
        let mut folders = vec![directory.to_path_buf()];
        let searched = values_of(&flags, &FOLDER_OPTIONS, &[]);
        folders.extend(searched.into_iter().map(|folder| directory.join(folder)));
        let has_other_folders = settings.has_other_folders
            || !cfg!(target_os = "linux")
            || flags.iter().any(|flag| UNFOLLOWED_FLAGS.iter().any(|it| flag.starts_with(it)));
        for file in values_of(&flags, &INCLUDE_OPTIONS, &OTHER_OPTIONS) {
            let is_examined = Path::new(file).is_absolute() || !has_other_folders;
            let is_found = || folders.iter().any(|folder| has_header(folder, file));
            if is_examined && !is_found() && !is_in_system_folder(file) {
                return Some(file.to_owned());
            }
        }
        None
    }
}

/// Deserializes the member `command`.
pub(super) fn read_command<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<KeptFlags>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(KeptFlags::of_command))
}

/// Deserializes the member `arguments`.
pub(super) fn read_arguments<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<KeptFlags>, D::Error> {
    Ok(Option::<Vec<String>>::deserialize(deserializer)?.map(KeptFlags::of_arguments))
}

fn may_include(flags: &str) -> bool {
    flags.contains("-include") || flags.contains("-imacros")
}

/// The values of some options, in their order. Flags that begin like an excluded option have none.
fn values_of<'a>(flags: &'a [String], options: &[&str], excluded: &[&str]) -> Vec<&'a str> {
    let mut values = Vec::new();
    for (index, flag) in flags.iter().enumerate() {
        if excluded.iter().any(|other| flag.starts_with(other)) {
            continue;
        }
        match options.iter().find_map(|option| flag.strip_prefix(option)) {
            Some("") => values.extend(flags.get(index + 1).map(String::as_str)),
            Some(value) => values.push(value),
            None => {}
        }
    }
    values
}

fn has_header(folder: &Path, name: &str) -> bool {
    folder.join(name).is_file() || folder.join(format!("{name}{PRECOMPILED_EXTENSION}")).exists()
}

fn is_in_system_folder(name: &str) -> bool {
    SYSTEM_FOLDERS.iter().any(|pattern| {
        let mut folders = vec![PathBuf::from("/")];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            folders = if part.contains('*') {
                let inner = part.trim_matches('*');
                folders.iter().flat_map(|folder| folders_in(folder, inner)).collect()
            } else {
                folders.into_iter().map(|folder| folder.join(part)).collect()
            };
        }
        folders.iter().any(|folder| has_header(folder, name))
    })
}

/// The folders whose names contain this text.
fn folders_in(folder: &Path, inner: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().contains(inner));
    named.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing_with(root: &Path, command: &str, settings: IncludeSettings) -> Option<String> {
        let of_command = KeptFlags::of_command(command.to_owned()).missing_include(root, settings);
        let arguments = shlex::split(command).expect("a command");
        let of_arguments = KeptFlags::of_arguments(arguments).missing_include(root, settings);
        assert_eq!(of_command, of_arguments, "{command}");
        of_command
    }

    fn missing(root: &Path, command: &str) -> Option<String> {
        missing_with(root, command, IncludeSettings::default())
    }

    #[test]
    fn an_included_file_is_sought_where_compilers_seek_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        std::fs::create_dir(root.join("inc")).expect("a folder");
        for name in ["pre.h", "inc/config.h", "fast.h.pch", "gcc.h.gch"] {
            std::fs::write(root.join(name), "").expect("a file");
        }
        for found in [
            "cc -c a.c",
            "cc -include pre.h a.c",
            "cc -includepre.h a.c",
            "cc --include=./pre.h a.c",
            "cc -include fast.h a.c",
            "cc -include config.h -I inc a.c",
            "cc -iquoteinc -imacros config.h a.c",
            "cc -include config.h -isystem-after inc a.c",
            "cc -include inc/config.h a.c",
            "cc -Xclang -include -Xclang pre.h -Xclang -include-pch -Xclang gone.pch a.c",
            "cc --include-directory inc -include config.h a.c",
            "cc --sysroot=/opt/board -include gone.h a.c",
            "cc @flags.rsp -include gone.h a.c",
        ] {
            assert_eq!(missing(root, found), None, "{found}");
        }
        for (command, name) in [
            ("cc -include gone.h a.c", "gone.h"),
            ("cc -Xclang -include -Xclang gone.h a.c", "gone.h"),
            ("cc -include gcc.h a.c", "gcc.h"),
            ("cc -include pre.h -include \"with space.h\" a.c", "with space.h"),
            ("cc -include config.h -Iother a.c", "config.h"),
            ("cc --imacros gone.h a.c", "gone.h"),
            ("cc -target arm -include /gone/pre.h a.c", "/gone/pre.h"),
        ] {
            let expected = Path::new(name).is_absolute() || cfg!(target_os = "linux");
            assert_eq!(missing(root, command), expected.then(|| name.to_owned()), "{command}");
        }
        let (relative, absolute) = ("cc -include gone.h a.c", "cc -include /gone/pre.h a.c");
        let elsewhere = IncludeSettings { has_other_folders: true, ..IncludeSettings::default() };
        assert_eq!(missing_with(root, relative, elsewhere), None);
        assert_eq!(missing_with(root, absolute, elsewhere).as_deref(), Some("/gone/pre.h"));
        let changed = IncludeSettings { changes_flags: true, ..IncludeSettings::default() };
        assert_eq!(missing_with(root, absolute, changed), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_header_of_the_system_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["stdio.h", "stddef.h", "sys/types.h"] {
            let command = format!("cc -include {name} a.c");
            assert_eq!(missing(folder.path(), &command), None, "{name}");
        }
    }
}
