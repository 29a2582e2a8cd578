//! The source of compiler flags in clangd's arguments and configuration files. Only plain values of the YAML
//! are read; conditions and other forms leave the source unknown. Source: <https://clangd.llvm.org/config>.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::fault_facts::settings_folder;

/// Where a configuration makes clangd look for the compilation database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DatabasePlace {
    /// The folder of the file and those above.
    Ancestors,
    Nowhere,
    Folder(PathBuf),
    Uncertain,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClangdConfig {
    /// `CompileFlags.CompilationDatabase`.
    pub(super) place: Option<DatabasePlace>,
    /// True if `CompileFlags.Add` applies to every file.
    pub(super) adds_flags: bool,
    /// True if `CompileFlags.Add` or `CompileFlags.Remove` may apply to a file.
    pub(super) may_change_flags: bool,
}

const DATABASE_KEY: &str = "CompilationDatabase";

impl ClangdConfig {
    /// Paths are relative to the configuration's folder.
    pub(super) fn parse(text: &str, folder: &Path) -> Self {
        let lines: Vec<&str> = text.lines().map(without_comment).collect();
        let has_condition = lines.iter().any(|line| line.contains("If:"));
        let section = compile_flags_section(&lines);
        let mentions = lines.concat().matches(DATABASE_KEY).count();
        let adds_flags = !has_condition && section.contains("Add:");
        let may_change_flags = section.contains("Add:") || section.contains("Remove:");
        let place = match database_value(&section) {
            None if mentions == 0 => None,
            Some(value) if mentions == 1 && !has_condition => Some(match value {
                "Ancestors" => DatabasePlace::Ancestors,
                "None" => DatabasePlace::Nowhere,
                path => DatabasePlace::Folder(folder.join(path)),
            }),
            _ => Some(DatabasePlace::Uncertain),
        };
        Self { place, adds_flags, may_change_flags }
    }
}

fn without_comment(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    line.split_once(" #").map_or(line, |(before, _)| before)
}

/// The text of the top-level `CompileFlags` mappings.
fn compile_flags_section(lines: &[&str]) -> String {
    let (mut section, mut is_inside) = (String::new(), false);
    for line in lines {
        if line.starts_with(|first: char| !first.is_whitespace()) {
            is_inside = line.starts_with("CompileFlags:");
        }
        if is_inside {
            section.push_str(line);
            section.push('\n');
        }
    }
    section
}

/// The value of `CompilationDatabase`, unless it is on another line.
fn database_value(section: &str) -> Option<&str> {
    let (_, rest) = section.split_once(DATABASE_KEY)?;
    let value = rest.strip_prefix(':')?.split(['\n', ',', '}']).next()?;
    let value = value.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then_some(value)
}

/// The value of an option in LLVM's spellings: `-name=value`, `--name=value`, `--name value`.
pub(super) fn option_value<'a>(args: &[&'a str], name: &str) -> Option<&'a str> {
    let mut found = None;
    for (index, arg) in args.iter().enumerate() {
        let Some(option) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else {
            continue;
        };
        match option.strip_prefix(name) {
            Some("") => found = args.get(index + 1).copied(),
            Some(rest) => found = rest.strip_prefix('=').or(found),
            None => {}
        }
    }
    found
}

/// The user's configuration file on Linux and macOS.
pub(super) fn user_config_path(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    Some(settings_folder(env, "Library/Preferences")?.join("clangd/config.yaml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_configuration_plain_values_are_read() {
        let folder = DatabasePlace::Folder("/project/out".into());
        let uncertain = DatabasePlace::Uncertain;
        for (text, place, adds_flags) in [
            ("", None, false),
            ("# CompileFlags: {CompilationDatabase: out}\n", None, false),
            ("Diagnostics:\n  ClangTidy:\n    Add: [x]\n", None, false),
            ("CompileFlags:\n  Add: [-DX] # -DY\n", None, true),
            ("CompileFlags:\n  CompilationDatabase: out\n  Add: -DX\n", Some(folder.clone()), true),
            ("CompileFlags: {CompilationDatabase: \"out\"}\n", Some(folder.clone()), false),
            ("CompileFlags:\n  CompilationDatabase: /project/out # a\n", Some(folder), false),
            ("CompileFlags: {CompilationDatabase: None}", Some(DatabasePlace::Nowhere), false),
            (
                "CompileFlags: {CompilationDatabase: Ancestors}",
                Some(DatabasePlace::Ancestors),
                false,
            ),
            ("{CompileFlags: {CompilationDatabase: out}}\n", Some(uncertain.clone()), false),
            ("CompileFlags:\n  CompilationDatabase:\n    out\n", Some(uncertain.clone()), false),
            (
                "If: {PathMatch: a}\nCompileFlags:\n  CompilationDatabase: out\n",
                Some(uncertain.clone()),
                false,
            ),
            (
                "CompileFlags: {CompilationDatabase: a}\n---\nCompileFlags: {CompilationDatabase: b}\n",
                Some(uncertain),
                false,
            ),
        ] {
            let config = ClangdConfig::parse(text, Path::new("/project"));
            assert_eq!((config.place, config.adds_flags), (place, adds_flags), "{text}");
        }
        for (text, may_change_flags) in [
            ("Diagnostics:\n  ClangTidy:\n    Add: [x]\n", false),
            ("CompileFlags: {CompilationDatabase: out}\n", false),
            ("CompileFlags: {Remove: [-include]}\n", true),
            ("If: {PathMatch: x}\nCompileFlags:\n  Add: [-Iinc]\n", true),
        ] {
            let config = ClangdConfig::parse(text, Path::new("/project"));
            assert_eq!(config.may_change_flags, may_change_flags, "{text}");
        }
    }

    #[test]
    fn options_have_one_or_two_dashes_and_the_last_one_counts() {
        let value = |args: &[&'static str]| option_value(args, "compile-commands-dir");
        assert_eq!(value(&["--log=error", "--compile-commands-dirs=x"]), None);
        assert_eq!(value(&["-compile-commands-dir=a"]), Some("a"));
        assert_eq!(value(&["--compile-commands-dir=a", "--compile-commands-dir", "b"]), Some("b"));
    }
}
