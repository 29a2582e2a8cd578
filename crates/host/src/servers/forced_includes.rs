//! Files that compiler flags include before the source (`-include`). A compiler fails without such a file;
//! clangd reports nothing, because that error has no place in a file (observed with clangd 14 and 22.1). Source
//! of the search: <https://gcc.gnu.org/onlinedocs/gcc/Preprocessor-Options.html> and
//! <https://clang.llvm.org/docs/ClangCommandLineReference.html>.

use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer};

/// The flags of an entry of a compilation database, kept only if they include a file, because a large database
/// has thousands of entries.
#[derive(Debug, Default)]
pub(super) struct KeptFlags(Vec<String>);

/// Options that name an included file, in its own argument or in the same one. Longer spellings come first.
const INCLUDE_OPTIONS: [&str; 6] =
    ["--include=", "--imacros=", "--include", "--imacros", "-include", "-imacros"];

/// Options that begin like one of [`INCLUDE_OPTIONS`] and name no included file.
const OTHER_OPTIONS: [&str; 3] = ["-include-pch", "--include-directory", "--include-with-prefix"];

/// Options that name a folder to search, in its own argument or in the same one.
const FOLDER_OPTIONS: [&str; 7] = [
    "--include-directory=",
    "--include-directory",
    "-iquote",
    "-isystem",
    "-idirafter",
    "-cxx-isystem",
    "-I",
];

/// Options that replace the folders of the system's headers.
const SYSTEM_OPTIONS: [&str; 4] = ["--sysroot", "-isysroot", "--target", "-target"];

/// Folders of the headers of Linux systems and compilers; `*` stands for any characters
/// of a folder's name.
const SYSTEM_FOLDERS: [&str; 7] = [
    "/usr/include",
    "/usr/local/include",
    "/usr/include/*-linux-*",
    "/usr/include/c++/*",
    "/usr/lib/gcc/*/*/include",
    "/usr/lib/clang/*/include",
    "/usr/lib/*llvm*/lib/clang/*/include",
];

/// Extensions of a precompiled header that compilers use in place of the header.
const PRECOMPILED_EXTENSIONS: [&str; 2] = [".gch", ".pch"];

impl KeptFlags {
    /// The flags of a command line for a POSIX shell.
    fn of_command(command: &str) -> Self {
        if !names_include(command) {
            return Self::default();
        }
        Self(shlex::split(command).unwrap_or_default())
    }

    pub(super) fn of_arguments(arguments: Vec<String>) -> Self {
        if arguments.iter().any(|it| names_include(it)) { Self(arguments) } else { Self::default() }
    }

    /// The first file that the flags include and that no folder has. Reads the disk. A file that could be a
    /// header of a system other than this one counts as found.
    pub(super) fn missing_include(&self, directory: &Path) -> Option<String> {
        let included = self.values_of(&INCLUDE_OPTIONS, &OTHER_OPTIONS);
        let searched = self.values_of(&FOLDER_OPTIONS, &[]);
        let mut folders = vec![directory.to_path_buf()];
        folders.extend(searched.into_iter().map(|folder| directory.join(folder)));
        let has_other_system = !cfg!(target_os = "linux")
            || self.0.iter().any(|flag| SYSTEM_OPTIONS.iter().any(|it| flag.starts_with(it)));
        let mut missing = included
            .into_iter()
            .filter(|file| !folders.iter().any(|folder| has_header(folder, file)))
            .filter(|file| Path::new(file).is_absolute() || !has_other_system);
        let missing = missing.find(|file| !is_in_system_folder(file))?;
        Some(missing.to_owned())
    }

    /// The values of some options, in their order, but for flags that begin like an excluded option.
    fn values_of(&self, options: &[&str], excluded: &[&str]) -> Vec<&str> {
        let mut values = Vec::new();
        for (index, flag) in self.0.iter().enumerate() {
            if excluded.iter().any(|other| flag.starts_with(other)) {
                continue;
            }
            match options.iter().find_map(|option| flag.strip_prefix(option)) {
                Some("") => values.extend(self.0.get(index + 1).map(String::as_str)),
                Some(value) => values.push(value),
                None => {}
            }
        }
        values
    }
}

/// Deserializes the member `command`.
pub(super) fn read_command<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<KeptFlags>, D::Error> {
    let command = Option::<String>::deserialize(deserializer)?;
    Ok(command.map(|command| KeptFlags::of_command(&command)))
}

/// Deserializes the member `arguments`.
pub(super) fn read_arguments<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<KeptFlags>, D::Error> {
    let arguments = Option::<Vec<String>>::deserialize(deserializer)?;
    Ok(arguments.map(KeptFlags::of_arguments))
}

fn names_include(flags: &str) -> bool {
    flags.contains("-include") || flags.contains("-imacros")
}

fn has_header(folder: &Path, name: &str) -> bool {
    let file = folder.join(name);
    file.is_file()
        || PRECOMPILED_EXTENSIONS
            .iter()
            .any(|extension| folder.join(format!("{name}{extension}")).exists())
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

    fn missing(root: &Path, command: &str) -> Option<String> {
        let of_command = KeptFlags::of_command(command).missing_include(root);
        let arguments = shlex::split(command).expect("a command");
        let of_arguments = KeptFlags::of_arguments(arguments).missing_include(root);
        assert_eq!(of_command, of_arguments, "{command}");
        of_command
    }

    #[test]
    fn an_included_file_is_sought_where_compilers_seek_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        std::fs::create_dir(root.join("inc")).expect("a folder");
        for name in ["pre.h", "inc/config.h", "fast.h.gch"] {
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
            "cc -include inc/config.h a.c",
            "cc -include-pch gone.pch a.c",
            "cc --include-directory inc a.c",
            "cc --sysroot=/opt/board -include gone.h a.c",
        ] {
            assert_eq!(missing(root, found), None, "{found}");
        }
        for (command, name) in [
            ("cc -include gone.h a.c", "gone.h"),
            ("cc -include pre.h -include \"with space.h\" a.c", "with space.h"),
            ("cc -include config.h -Iother a.c", "config.h"),
            ("cc --imacros gone.h a.c", "gone.h"),
            ("cc -target arm -include /gone/pre.h a.c", "/gone/pre.h"),
        ] {
            let expected = Path::new(name).is_absolute() || cfg!(target_os = "linux");
            assert_eq!(missing(root, command), expected.then(|| name.to_owned()), "{command}");
        }
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
