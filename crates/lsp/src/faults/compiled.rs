//! Go, Rust, C/C++ and Java: a file that no project or build description covers. Codes of gopls
//! 0.10 to 0.20, clangd 19 and 22, and Eclipse's Java server (`IProblem`).

use super::{CompileFlags, FaultFacts, NeededFacts, ProjectFault, matching_indices};
use moai_base::finding::Finding;
use moai_base::verdict::Gap;

pub(super) const GO_FACTS: NeededFacts = NeededFacts {
    names: &["go.mod", "go.work"],
    manifests: &["go.mod"],
    programs: &["go"],
    ..NeededFacts::NONE
};

/// The fault of a file that its name or build constraints keep out of every package.
const NOT_BUILT: &str = "the file is in no package that the go command builds";

/// True if a gap says that a file's own name or text keeps it out of the build, which no other file
/// changes.
#[must_use]
pub fn is_kept_out_by_itself(gap: &Gap) -> bool {
    gap.detail == NOT_BUILT
}

/// gopls reports nothing without a toolchain, and resolves only the standard library without a
/// module. An import that go.mod requires only has to be downloaded.
pub(super) fn go_fault(facts: &FaultFacts, found: &[Finding]) -> Option<ProjectFault> {
    if facts.programs.is_empty() {
        let remedy = "install Go and put it on PATH";
        return Some(ProjectFault::new("go is not on PATH", remedy, []));
    }
    if let Some(module) = &facts.module_outside_go_work {
        let remedy = format!("go work use {module}");
        // The go command itself refuses the module, so no finding is about the code.
        let all = 0..found.len();
        return Some(ProjectFault::new("go.work does not list the file's module", &remedy, all));
    }
    let is_left_out = facts
        .path
        .split('/')
        .any(|part| part == "testdata" || part.starts_with('_') || part.starts_with('.'));
    let has_package = found.iter().all(|one| !one.message.starts_with("No packages found"));
    if is_left_out || !has_package {
        let remedy =
            "check the folder's and file's names (testdata, leading _ or .), build tags and GOOS";
        let explained = matching_indices(found, |one| one.message.starts_with("No packages found"));
        return Some(ProjectFault::new(NOT_BUILT, remedy, explained));
    }
    let has_module = facts.has_any(&["go.mod", "go.work"]);
    let manifest = facts.manifest("go.mod");
    let foreign = matching_indices(found, |one| {
        let import = one.message.strip_prefix("could not import ").unwrap_or_default();
        let import = import.split([' ', '(']).next().unwrap_or_default();
        // Only a module path begins with a host name.
        let is_foreign = import.split('/').next().is_some_and(|host| host.contains('.'));
        one.code == "BrokenImport"
            && is_foreign
            && !one.message.contains("use of internal package")
            && (!has_module || is_downloaded(facts, manifest, import))
    });
    if foreign.is_empty() {
        return None;
    }
    Some(if has_module {
        ProjectFault::new("modules of go.mod are not downloaded", "go mod download", foreign)
    } else {
        ProjectFault::new(
            "the file belongs to no Go module",
            "go mod init NAME && go mod tidy",
            foreign,
        )
    })
}

/// The module folders that a `go.work` lists in its `use` directives, relative to its folder.
/// Source: <https://go.dev/ref/mod#go-work-file>.
#[must_use]
pub fn go_work_modules(text: &str) -> Vec<&str> {
    directive_entries(text, "use").into_iter().map(unquoted).collect()
}

/// A `replace` directive with a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoReplacement<'t> {
    /// The replaced module.
    pub module: &'t str,
    /// The folder, as written.
    pub folder: &'t str,
}

/// The `replace` directives of a `go.mod` or `go.work` that name folders.
#[must_use]
pub fn go_replacements(text: &str) -> Vec<GoReplacement<'_>> {
    let entries = directive_entries(text, "replace").into_iter();
    let replacements = entries.filter_map(|entry| {
        let (module, folder) = entry.split_once("=>")?;
        let module = unquoted(module.split_whitespace().next()?);
        Some(GoReplacement { module, folder: unquoted(folder.trim()) })
    });
    // These prefixes mark folders; the other targets are modules with a version.
    replacements.filter(|it| it.folder.starts_with(['.', '/'])).collect()
}

/// The name that a `go.mod` gives its module.
#[must_use]
pub fn go_module_name(text: &str) -> Option<&str> {
    directive_entries(text, "module").into_iter().next().map(unquoted)
}

/// True if a Go file uses cgo: it imports the package "C".
#[must_use]
pub fn imports_c(text: &str) -> bool {
    text.lines().any(is_import_of_c)
}

/// The part of a Go file that holds C: the lines before its import of the package "C"; empty without it.
#[must_use]
pub fn cgo_preamble(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let end = lines.iter().position(|line| is_import_of_c(line)).unwrap_or_default();
    lines[..end].to_vec()
}

fn is_import_of_c(line: &str) -> bool {
    let line = line.split("//").next().unwrap_or_default().trim();
    let imported = line.strip_prefix("import").unwrap_or(line);
    imported.trim_matches([' ', '\t', '(', ')', ';']) == "\"C\""
}

/// The entries of a directive: after it on the line, or in a block of lines.
fn directive_entries<'t>(text: &'t str, directive: &str) -> Vec<&'t str> {
    let (mut entries, mut is_block) = (Vec::new(), false);
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let entry = match line.strip_prefix(directive) {
            _ if is_block => line,
            Some(entry) if entry.starts_with([' ', '\t', '(']) => entry.trim(),
            _ => continue,
        };
        match entry {
            "(" => is_block = true,
            ")" => is_block = false,
            "" => {}
            entry => entries.push(entry),
        }
    }
    entries
}

fn unquoted(name: &str) -> &str {
    name.trim_matches(['"', '`'])
}

/// True if the import is of a required module and of no local one. Of nested modules the inner one counts.
fn is_downloaded(facts: &FaultFacts, manifest: &str, import: &str) -> bool {
    let required = manifest
        .lines()
        .filter_map(|line| line.trim().trim_start_matches("require ").split_whitespace().next());
    let required = required.filter(|module| module.contains('.') && is_below(import, module));
    let local = facts.local_modules.iter().filter(|module| is_below(import, module));
    required.map(str::len).max() > local.map(String::len).max()
}

/// True if an import path is that of a module or of a package in it.
fn is_below(import: &str, module: &str) -> bool {
    import.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) const RUST_FACTS: NeededFacts = NeededFacts {
    names: &["Cargo.toml", "rust-project.json"],
    programs: &["cargo"],
    ..NeededFacts::NONE
};

/// Outside a package rust-analyzer checks at most the syntax, without reporting that.
pub(super) fn rust_fault(facts: &FaultFacts) -> Option<ProjectFault> {
    if !facts.has_any(&["Cargo.toml", "rust-project.json"]) {
        let detail = "the file belongs to no Cargo package, so only syntax is checked";
        return Some(ProjectFault::new(detail, "cargo init", []));
    }
    let has_cargo = facts.has_any(&["rust-project.json"]) || !facts.programs.is_empty();
    (!has_cargo).then(|| {
        ProjectFault::new(
            "cargo is not on PATH",
            "install the Rust toolchain (https://rustup.rs)",
            [],
        )
    })
}

pub(super) const CPP_FACTS: NeededFacts =
    NeededFacts { manifests: &["CMakeLists.txt"], compile_flags: true, ..NeededFacts::NONE };

/// Findings about names that a missing header would have declared.
const UNDECLARED_CODES: [&str; 5] = [
    "undeclared_var_use",
    "unknown_typename",
    "no_template",
    "typename_nested_not_found",
    "ext_implicit_function_decl_c99",
];

pub(super) fn cpp_fault(facts: &FaultFacts, found: &[Finding]) -> Option<ProjectFault> {
    let of_missing_header = matching_indices(found, |one| {
        one.code == "pp_file_not_found" || UNDECLARED_CODES.contains(&one.code.as_str())
    });
    match &facts.compile_flags {
        CompileFlags::Fixed | CompileFlags::Database => None,
        CompileFlags::OfAnotherFile => {
            let detail = "compile_commands.json does not list the file, so its flags are unknown";
            let remedy = "add the file to the build and regenerate it";
            Some(ProjectFault::new(detail, remedy, []))
        }
        CompileFlags::Conditional => {
            let detail = "clangd's configuration has conditions, so the file's flags are uncertain";
            let remedy = "name CompilationDatabase once and without If";
            Some(ProjectFault::new(detail, remedy, []))
        }
        CompileFlags::WithMissingFile(name) => {
            let detail = format!("the file's flags include {name}, which does not exist");
            let remedy = "run the step of the build that writes it, or correct the flags";
            Some(ProjectFault::new(&detail, remedy, of_missing_header))
        }
        CompileFlags::Unknown => {
            let detail = "flags and headers are unknown: there is no compile_commands.json";
            let remedy = if facts.manifests.contains_key("CMakeLists.txt") {
                "cmake -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
            } else {
                "write compile_flags.txt with the -I options, or have the build write compile_commands.json"
            };
            Some(ProjectFault::new(detail, remedy, of_missing_header))
        }
    }
}

/// `IProblem.ImportNotFound`.
const IMPORT_NOT_FOUND: &str = "268435846";
/// `IProblem.UndefinedType`.
const UNDEFINED_TYPE: &str = "16777218";
const JAVA_BUILDS: &[&str] = &["pom.xml", "build.gradle", "build.gradle.kts", ".classpath"];

pub(super) const JAVA_FACTS: NeededFacts =
    NeededFacts { names: JAVA_BUILDS, java_sources: true, ..NeededFacts::NONE };

pub(super) fn java_fault(facts: &FaultFacts, found: &[Finding]) -> Option<ProjectFault> {
    let syntax_only =
        matching_indices(found, |one| one.message.contains("only syntax errors are reported"));
    let has_build = facts.has_any(JAVA_BUILDS);
    let imports = matching_indices(found, |one| {
        !has_build && one.code == IMPORT_NOT_FOUND && !is_of_project(facts, &one.message)
    });
    if syntax_only.is_empty() && imports.is_empty() {
        // A compiler fails; the server compares the types of files only when it builds the project.
        let (name, file) = facts.java_twins.iter().next()?;
        let detail = format!("{name} is also declared in {file}, which jdtls does not report");
        return Some(ProjectFault::new(&detail, "remove one of the declarations", []));
    }
    // Only the types from those imports.
    let types = matching_indices(found, |one| {
        let name = one.message.split_whitespace().next().unwrap_or_default();
        let import_end = format!(".{name} ");
        one.code == UNDEFINED_TYPE
            && !name.is_empty()
            && imports.iter().any(|at| found[*at].message.contains(&import_end))
    });
    let (detail, remedy) = if has_build {
        ("the file is on no class path, so only syntax is checked", "move it to a source folder")
    } else if syntax_only.is_empty() {
        ("imports cannot be resolved without a build file", "add a pom.xml or build.gradle")
    } else {
        (
            "the file belongs to no Java project, so only syntax is checked",
            "add a pom.xml or build.gradle",
        )
    };
    Some(ProjectFault::new(
        detail,
        remedy,
        syntax_only.into_iter().chain(imports.clone()).chain(types),
    ))
}

/// True if an import that cannot be resolved names something in a package of the project: no build file
/// would resolve it. The message ends the name at its first unknown part.
fn is_of_project(facts: &FaultFacts, message: &str) -> bool {
    let name = message.strip_prefix("The import ").unwrap_or_default();
    let name = name.split_whitespace().next().unwrap_or_default();
    let Some((package, _)) = name.rsplit_once('.') else { return false };
    let folder = package.replace('.', "/");
    facts.java_packages.iter().any(|path| {
        path.strip_suffix(&folder).is_some_and(|above| above.is_empty() || above.ends_with('/'))
    })
}
