//! Faults with messages as the servers wrote them.

use std::path::Path;

use super::*;
use moai_base::finding::{FindingPlace, Severity};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::text::{Position, TextRange};

/// Findings as `code: message`, one on each line of the file.
fn findings(of: &[(&str, &str)]) -> Vec<Finding> {
    let path = RelPath::below(Path::new("/r"), Path::new("/r/a")).expect("relative");
    let mut findings = Vec::new();
    for (line, (code, message)) in of.iter().enumerate() {
        let at = Position { line: u32::try_from(line).expect("few"), character: 0 };
        let range = TextRange { start: at, end: at };
        let content_hash = ContentHash::of_bytes(b"");
        let place = FindingPlace { path: path.clone(), range, content_hash };
        findings.push(Finding::new("s", code, Severity::Error, place, message));
    }
    findings
}

fn names(of: &[&str]) -> BTreeSet<String> {
    of.iter().map(|name| (*name).to_owned()).collect()
}

fn texts(of: &[(&str, &str)]) -> BTreeMap<String, String> {
    of.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// The codes of the remaining findings, and the gap (empty if there is none).
fn check(
    language: &str,
    text: &str,
    facts: &FaultFacts,
    found: &[(&str, &str)],
    remaining: &[&str],
    gap: &str,
) {
    let (left, fault) = explain_findings(language, text, facts, findings(found));
    let left: Vec<&str> = left.iter().map(|one| one.code.as_str()).collect();
    let fault = fault.map(|fault| fault.to_string()).unwrap_or_default();
    assert_eq!(left, remaining, "{fault}");
    assert!(fault.starts_with(gap) && gap.is_empty() == fault.is_empty(), "{fault:?}");
}

const NUMPY: (&str, &str) = ("reportMissingImports", "Import \"numpy\" could not be resolved");
const DJANGO: (&str, &str) =
    ("import-not-found", "Cannot resolve imported module `django.db` info: Searched in 3 paths");
const TYPE: (&str, &str) = ("reportAssignmentType", "Type \"str\" is not assignable");

fn python_facts() -> FaultFacts {
    FaultFacts { programs: names(&["python3"]), ..FaultFacts::default() }
}

#[test]
fn python_without_an_environment_is_one_gap_and_other_errors_remain() {
    let text = "import numpy\nfrom django.db import models\nx: int = ''\n";
    let gap = "imports cannot be resolved: create a virtual environment";
    check("python", text, &python_facts(), &[NUMPY, DJANGO, TYPE], &["reportAssignmentType"], gap);
    let declared = FaultFacts {
        manifests: texts(&[("pyproject.toml", "dependencies = [\"NumPy>=2\"]")]),
        ..python_facts()
    };
    check("python", "import numpy\n", &declared, &[NUMPY], &[], gap);
    let none = FaultFacts::default();
    check(
        "python",
        "import numpy\n",
        &none,
        &[NUMPY],
        &[],
        "imports cannot be resolved without Python",
    );
}

#[test]
fn a_python_import_that_no_environment_provides_is_a_finding() {
    let missing = &["reportMissingImports"];
    check("python", "import numpy\n", &python_facts(), &[NUMPY], missing, "");
    // Two unresolved imports out of many do not indicate a missing environment.
    let many = format!("import numpy\nimport django\n{}", "import os\n".repeat(3));
    let both = &["reportMissingImports", "import-not-found"];
    check("python", &many, &python_facts(), &[NUMPY, DJANGO], both, "");
    // A module of the project that is missing.
    let own = FaultFacts { neighbours: names(&["numpy", "django"]), ..python_facts() };
    let text = "import numpy\nimport django\n";
    check("python", text, &own, &[NUMPY, DJANGO], both, "");
    // The environment has all declared packages.
    let environment = FaultFacts { has_environment: true, ..python_facts() };
    check("python", text, &environment, &[NUMPY, DJANGO], both, "");
}

#[test]
fn a_declared_python_package_is_known_by_its_modules_name() {
    let import = ("reportMissingImports", "Import \"yaml\" could not be resolved");
    let facts = FaultFacts {
        has_environment: true,
        manifests: texts(&[("requirements.txt", "# ours\nPyYAML==6.0\nrequests-toolbelt\n")]),
        ..python_facts()
    };
    check("python", "import yaml\n", &facts, &[import], &[], "imports cannot be resolved: install");
    let other = ("reportMissingImports", "Import \"request\" could not be resolved");
    check("python", "import request\n", &facts, &[other], &["reportMissingImports"], "");
}

fn node_facts(missing: &[&str]) -> FaultFacts {
    FaultFacts {
        names: names(&["tsconfig.json", "pnpm-lock.yaml"]),
        missing_packages: names(missing),
        ..FaultFacts::default()
    }
}

const EXPRESS: (&str, &str) = ("2307", "Cannot find module 'express' or its type declarations.");
const NODE: (&str, &str) = ("2591", "Cannot find name 'process'. Do you need types for node?");
const RELATIVE: (&str, &str) = ("2307", "Cannot find module './nope' or its type declarations.");
const IMPLICIT: (&str, &str) = ("7006", "Parameter 'req' implicitly has an 'any' type.");
const WRONG: (&str, &str) = ("2322", "Type 'string' is not assignable to type 'number'.");

#[test]
fn missing_packages_are_one_gap() {
    let found = &[EXPRESS, NODE, RELATIVE, IMPLICIT, WRONG];
    let facts = node_facts(&["express", "@types/node"]);
    let gap = "packages of package.json are not installed: pnpm install";
    check("typescript", "", &facts, found, &["2307", "2322"], gap);
    // An undeclared package is an error even after the installation.
    let facts = node_facts(&["express"]);
    check("typescript", "", &facts, found, &["2591", "2307", "2322"], gap);
    let all = &["2307", "2591", "2307", "7006", "2322"];
    check("typescript", "", &node_facts(&[]), found, all, "");
    let scoped = ("2307", "Cannot find module '@a/b/c'.");
    check("javascript", "", &node_facts(&["@a/b"]), &[scoped], &[], gap);
    let types = ("7016", "Could not find a declaration file for module 'cors'.");
    check("typescript", "", &node_facts(&["@types/cors"]), &[types], &[], gap);
}

#[test]
fn a_file_without_a_tsconfig_is_one_gap() {
    let gap = "imports cannot be resolved: add a tsconfig.json";
    check(
        "typescript",
        "",
        &FaultFacts::default(),
        &[EXPRESS, RELATIVE, IMPLICIT, WRONG],
        &["2307", "2322"],
        gap,
    );
    check("typescript", "", &FaultFacts::default(), &[WRONG], &["2322"], "");
    // A file that the tsconfig.json excludes; the marker is removed.
    let mark = ("covering-project", "");
    check("typescript", "", &node_facts(&[]), &[EXPRESS, mark], &[], gap);
    check("typescript", "", &node_facts(&[]), &[WRONG, mark], &["2322"], "");
}

#[test]
fn a_go_file_in_no_package_is_never_clean() {
    let gap = "the file is in no package that the go command builds";
    let of = |path: &str| FaultFacts {
        programs: names(&["go"]),
        names: names(&["go.mod"]),
        path: path.to_owned(),
        ..FaultFacts::default()
    };
    check("go", "", &of("a/testdata/b.go"), &[], &[], gap);
    check("go", "", &of("_a/b.go"), &[], &[], gap);
    let excluded = ("", "No packages found for open file /r/a.go: <nil>.");
    check("go", "", &of("a.go"), &[excluded], &[], gap);
    check("go", "", &of("testdata_of/b_.go"), &[], &[], "");
}

#[test]
fn a_broken_tsconfig_is_never_clean() {
    let facts = FaultFacts {
        names: names(&["tsconfig.json"]),
        has_broken_config: true,
        ..FaultFacts::default()
    };
    check("typescript", "", &facts, &[], &[], "tsconfig.json cannot be read");
    for good in ["", "{}", "\u{feff}{\"a\": [1, 2,], // x\n \"b,}\": \"//\",}", "/* x */ {}"] {
        assert!(is_readable(good), "{good}");
    }
    for bad in ["{ bad", "{\"a\": }", "[}", "{} /* x", "{'a': 1}", "{\"a\": 1 \"b\": 2}"] {
        assert!(!is_readable(bad), "{bad}");
    }
}

#[test]
fn the_bases_of_a_tsconfig_are_those_of_its_own_extends() {
    let cases: [(&str, &[&str]); 9] = [
        ("{\"extends\": \"./base.json\"}", &["./base.json"]),
        ("\u{feff}{ // why\n \"extends\": /* x */ [\"./a\", \"@b/c\",], }", &["./a", "@b/c"]),
        ("{\"extends\": \".\\u002fa\"}", &["./a"]),
        ("{\"extends\": [\"./a]\", \"./b\"]}", &["./a]", "./b"]),
        ("{\"x\": {\"extends\": \"./nested\"}, \"extends\": \"./own\"}", &["./own"]),
        ("{\"x\": {\"extends\": \"./nested\"}}", &[]),
        ("{\"display\": \"extends\", \"y\": \"./a\"}", &[]),
        ("{\"extends\": 1}", &[]),
        ("", &[]),
    ];
    for (config, expected) in cases {
        assert_eq!(extended_configs(config), expected, "{config}");
    }
}

#[test]
fn a_tsconfig_without_its_base_is_never_clean() {
    let facts = FaultFacts { missing_base: Some("./base.json".to_owned()), ..node_facts(&[]) };
    let target =
        ("2550", "Property 'at' does not exist. Do you need to change your target library?");
    check(
        "typescript",
        "",
        &facts,
        &[target, WRONG],
        &["2322"],
        "tsconfig.json extends ./base.json",
    );
    check("typescript", "", &facts, &[], &[], "tsconfig.json extends ./base.json");
}

#[test]
fn go_without_a_module_or_a_toolchain() {
    let import = ("BrokenImport", "could not import github.com/x/y (cannot find package)");
    let facts = FaultFacts { programs: names(&["go"]), ..FaultFacts::default() };
    let found = &[import, ("UnusedVar", "q declared but not used")];
    check("go", "", &facts, found, &["UnusedVar"], "the file belongs to no Go module: go mod init");
    check("go", "", &FaultFacts::default(), &[], &[], "go is not on PATH");
    let module = |text| FaultFacts {
        names: names(&["go.mod"]),
        manifests: texts(&[("go.mod", text)]),
        ..facts.clone()
    };
    let required = module("module m\nrequire (\n\tgithub.com/x v1.0.0\n)\n");
    check("go", "", &required, found, &["UnusedVar"], "modules of go.mod are not downloaded");
    let local = FaultFacts { local_modules: names(&["github.com/x"]), ..required.clone() };
    check("go", "", &local, found, &["BrokenImport", "UnusedVar"], "");
    let inner = FaultFacts { local_modules: names(&["github.com"]), ..required.clone() };
    check("go", "", &inner, found, &["UnusedVar"], "modules of go.mod are not downloaded");
    let internal =
        ("BrokenImport", "could not import github.com/x/y (invalid use of internal package y)");
    check("go", "", &required, &[internal], &["BrokenImport"], "");
    check("go", "", &module("module m\n"), found, &["BrokenImport", "UnusedVar"], "");
    let typing = ("BrokenImport", "could not import fmtt (package fmtt is not in GOROOT)");
    check("go", "", &facts, &[typing], &["BrokenImport"], "");
}

#[test]
fn modules_of_go_work() {
    let text = "go 1.19\n\nuse ./app // the program\nuse (\n\t./lib\n\t\"./with space\"\n)\n\nreplace x => ../x\n";
    assert_eq!(go_work_modules(text), ["./app", "./lib", "./with space"]);
    assert_eq!(go_work_modules("go 1.19\nuse .\n"), ["."]);
}

#[test]
fn replacements_of_a_go_mod_are_folders_in_lines_and_blocks() {
    let text =
        "module m\n\nreplace a.b/c => ../c // local\nreplace (\n\tx v1 => ./x\n\ty => z v2\n)\n";
    let replaced: Vec<&str> = go_replacements(text).iter().map(|it| it.folder).collect();
    assert_eq!(replaced, ["../c", "./x"]);
    assert_eq!(go_replacements("module m\n"), []);
}

#[test]
fn a_module_that_go_work_does_not_list_has_no_findings_of_its_own() {
    let unlisted = FaultFacts {
        names: names(&["go.mod", "go.work"]),
        programs: names(&["go"]),
        module_outside_go_work: Some("./tools".into()),
        ..FaultFacts::default()
    };
    check(
        "go",
        "",
        &unlisted,
        &[WRONG],
        &[],
        "go.work does not list the file's module: go work use ./tools",
    );
    check("go", "", &unlisted, &[], &[], "go.work does not list the file's module");
}

#[test]
fn rust_without_a_package_or_cargo_is_never_clean() {
    check("rust", "", &FaultFacts::default(), &[], &[], "the file belongs to no Cargo package");
    let package = FaultFacts { names: names(&["Cargo.toml"]), ..FaultFacts::default() };
    check("rust", "", &package, &[], &[], "cargo is not on PATH");
    let whole = FaultFacts { programs: names(&["cargo"]), ..package };
    check("rust", "", &whole, &[WRONG], &["2322"], "");
}

#[test]
fn headers_without_compile_commands_are_one_gap() {
    let found = &[
        ("pp_file_not_found", "'mylib/thing.h' file not found"),
        ("undeclared_var_use", "Use of undeclared identifier 'mylib'"),
        ("init_conversion_failed", "Cannot initialize a variable of type 'int'"),
    ];
    let gap = "flags and headers are unknown: there is no compile_commands.json";
    check("cpp", "", &FaultFacts::default(), found, &["init_conversion_failed"], gap);
    check("cpp", "", &FaultFacts::default(), &[], &[], gap);
    let all = &["pp_file_not_found", "undeclared_var_use", "init_conversion_failed"];
    for compile_flags in [CompileFlags::Database, CompileFlags::Fixed] {
        let described = FaultFacts { compile_flags, ..FaultFacts::default() };
        check("cpp", "", &described, found, all, "");
    }
    let unlisted =
        FaultFacts { compile_flags: CompileFlags::OfAnotherFile, ..FaultFacts::default() };
    check("cpp", "", &unlisted, found, all, "compile_commands.json does not list the file");
    let conditional =
        FaultFacts { compile_flags: CompileFlags::Conditional, ..FaultFacts::default() };
    check("cpp", "", &conditional, found, all, "clangd's configuration has conditions");
    let incomplete = FaultFacts {
        compile_flags: CompileFlags::WithMissingFile("pre.h".to_owned()),
        ..FaultFacts::default()
    };
    let gap = "the file's flags include pre.h, which does not exist";
    check("cpp", "", &incomplete, &[], &[], gap);
    check("cpp", "", &incomplete, found, &["init_conversion_failed"], gap);
}

#[test]
fn java_outside_a_project() {
    let syntax = ("32", "A.java is a non-project file, only syntax errors are reported");
    let gap = "the file belongs to no Java project, so only syntax is checked: add a pom.xml";
    check("java", "", &FaultFacts::default(), &[syntax, WRONG], &["2322"], gap);
    let found = &[
        ("268435846", "The import org.junit.Test cannot be resolved"),
        ("16777218", "Test cannot be resolved to a type"),
        ("16777218", "Tset cannot be resolved to a type"),
    ];
    let gap = "imports cannot be resolved without a build file";
    check("java", "", &FaultFacts::default(), found, &["16777218"], gap);
    let packages = names(&["src/org/shop", "src/org/shop/cart"]);
    let sources = FaultFacts { java_packages: packages, ..FaultFacts::default() };
    let moved = ("268435846", "The import org.shop.cart.Item cannot be resolved");
    check("java", "", &sources, &[moved], &["268435846"], "");
    check("java", "", &sources, found, &["16777218"], gap);
    let twins = [("shop.Cart".to_owned(), "Other.java".to_owned())].into();
    let twice = FaultFacts { java_twins: twins, ..FaultFacts::default() };
    let gap = "shop.Cart is also declared in Other.java, which jdtls does not report: remove one";
    check("java", "", &twice, &[WRONG], &["2322"], gap);
    let project = FaultFacts { names: names(&["pom.xml"]), ..FaultFacts::default() };
    check("java", "", &project, found, &["268435846", "16777218", "16777218"], "");
}

#[test]
fn php_without_its_packages() {
    let found = &[
        ("P1009", "Undefined type 'Symfony\\Component\\Console\\Application'."),
        ("P1009", "Undefined type 'App\\Own'."),
        ("P1010", "Undefined function 'foo_bar'."),
    ];
    let manifest =
        r#"{"require": {"symfony/console": "^6"}, "autoload": {"psr-4": {"App\\": "src/"}}}"#;
    let facts =
        FaultFacts { manifests: texts(&[("composer.json", manifest)]), ..FaultFacts::default() };
    let gap = "packages of composer.json are not installed: composer install";
    check("php", "", &facts, found, &["P1009", "P1010"], gap);
    let installed = FaultFacts { names: names(&["vendor"]), ..facts };
    check("php", "", &installed, found, &["P1009", "P1009", "P1010"], "");
    check("php", "", &FaultFacts::default(), found, &["P1009", "P1009", "P1010"], "");
}

#[test]
fn a_document_without_its_schema_is_never_clean() {
    let local = ("65536", "Unable to load schema from '/r/s.json': ENOENT: no such file");
    let on_the_net = ("65536", "Unable to load schema from 'https://x.org/s.json': not supported");
    let of_tombi = ("schema-resolution", "schema file not found: /r/s.json");
    let gap = "the file's schema cannot be read: /r/s.json";
    let facts = FaultFacts::default();
    check("json", "", &facts, &[local, WRONG], &["2322"], gap);
    check("toml", "", &facts, &[of_tombi], &[], gap);
    check("json", "", &facts, &[on_the_net], &["65536"], "");
    assert!(needed_facts("json", &findings(&[WRONG])).is_none());
}

#[test]
fn other_languages_have_no_known_faults() {
    assert!(needed_facts("swift", &findings(&[WRONG])).is_none());
    check("swift", "", &FaultFacts::default(), &[WRONG], &["2322"], "");
}
