//! The tools whose configuration is compared key by key: where it stands and which way each key
//! gets laxer. It must not know texts or how they are read. Keys are those of the tools' documents.

use super::super::settings::Format;

/// Which way a key gets laxer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// True is strict.
    Strict,
    /// True is strict, and the default.
    StrictByDefault,
    /// True is lax.
    Lax,
    /// Words from lax to strict; truth and numbers as [`super::compare`] takes them.
    Ladder(&'static [&'static str]),
    /// A number that must neither fall nor go.
    Floor,
    /// A number that must not rise above what it was, or above the default where it was absent.
    Ceiling(f64),
    /// A list from which nothing may go.
    Kept,
    /// Paths or globs of what is looked at; without the list everything is.
    Paths,
    /// A list that must not grow.
    Closed,
    /// A list that must not grow but by tests, which are no part of what is built or covered.
    ClosedButTests,
    /// Anything goes.
    Free,
}

/// One key, as its path; `*` stands for one step, `**` at the end for all below.
pub(super) struct Key {
    pub(super) path: &'static str,
    pub(super) way: Way,
}

/// A tool with a configuration.
pub(super) struct Tool {
    /// Its name in messages.
    pub(super) name: &'static str,
    /// Tools of one trade replace each other.
    pub(super) trade: &'static str,
    pub(super) keys: &'static [Key],
}

/// Where the configuration of a tool stands.
pub(super) struct Home {
    /// The file's name; `*` stands for any text.
    pub(super) file: &'static str,
    pub(super) format: Format,
    /// The table in it; empty for the whole file. A `*` at the end takes every table whose name
    /// begins so.
    pub(super) table: &'static [&'static str],
    pub(super) tool: &'static Tool,
}

const fn key(path: &'static str, way: Way) -> Key {
    Key { path, way }
}

const fn home(
    file: &'static str,
    format: Format,
    table: &'static [&'static str],
    tool: &'static Tool,
) -> Home {
    Home { file, format, table, tool }
}

/// Levels of linters.
pub(super) const LEVELS: &[&str] = &["off", "info", "warn", "error"];
/// Levels of Rust's lints.
const LINTS: &[&str] = &["allow", "warn", "deny", "forbid"];
/// Levels of pyright's reports.
const REPORTS: &[&str] = &["none", "information", "warning", "error"];
/// Levels of the compiler of C#.
const DIAGNOSTICS: &[&str] = &["none", "silent", "suggestion", "warning", "error"];

pub(super) const RUFF: Tool = Tool {
    name: "ruff",
    trade: "python lint",
    keys: &[
        key("exclude", Way::Closed),
        key("extend-exclude", Way::Closed),
        key("lint.exclude", Way::Closed),
        key("lint.mccabe.max-complexity", Way::Ceiling(10.0)),
        key("lint.pylint.*", Way::Ceiling(f64::INFINITY)),
    ],
};

pub(super) const FLAKE8: Tool = Tool {
    name: "flake8",
    trade: "python lint",
    keys: &[
        key("exclude", Way::Closed),
        key("extend-exclude", Way::Closed),
        key("max-complexity", Way::Ceiling(f64::INFINITY)),
        key("disable-noqa", Way::Strict),
    ],
};

const PYLINT: Tool = Tool {
    name: "pylint",
    trade: "python lint",
    keys: &[
        key("disable", Way::Closed),
        key("enable", Way::Kept),
        key("ignore", Way::Closed),
        key("ignore-paths", Way::Closed),
        key("fail-under", Way::Floor),
    ],
};

pub(super) const MYPY: Tool = Tool {
    name: "mypy",
    trade: "python types",
    keys: &[
        key("strict", Way::Strict),
        key("check_untyped_defs", Way::Strict),
        key("disallow_any_decorated", Way::Strict),
        key("disallow_any_explicit", Way::Strict),
        key("disallow_any_generics", Way::Strict),
        key("disallow_incomplete_defs", Way::Strict),
        key("disallow_subclassing_any", Way::Strict),
        key("disallow_untyped_calls", Way::Strict),
        key("disallow_untyped_decorators", Way::Strict),
        key("disallow_untyped_defs", Way::Strict),
        key("extra_checks", Way::Strict),
        key("no_implicit_reexport", Way::Strict),
        key("strict_equality", Way::Strict),
        key("strict_optional", Way::StrictByDefault),
        key("warn_redundant_casts", Way::Strict),
        key("warn_return_any", Way::Strict),
        key("warn_unreachable", Way::Strict),
        key("warn_unused_ignores", Way::Strict),
        key("ignore_errors", Way::Lax),
        key("ignore_missing_imports", Way::Lax),
        key("allow_untyped_globals", Way::Lax),
        key("disable_error_code", Way::Closed),
        key("enable_error_code", Way::Kept),
        key("exclude", Way::Closed),
        key("files", Way::Paths),
        key("packages", Way::Paths),
        key("follow_imports", Way::Ladder(&["skip", "silent", "normal", "error"])),
        key("overrides.*.ignore_errors", Way::Lax),
        key("overrides.*.disable_error_code", Way::Closed),
        key("overrides.*.disallow_untyped_defs", Way::Strict),
        key("overrides.*.strict", Way::Strict),
    ],
};

pub(super) const PYRIGHT: Tool = Tool {
    name: "pyright",
    trade: "python types",
    keys: &[
        key("typeCheckingMode", Way::Ladder(&["off", "basic", "standard", "strict"])),
        key("ignore", Way::Closed),
        key("exclude", Way::Closed),
        key("strict", Way::Kept),
        key("strictListInference", Way::Strict),
        key("strictDictionaryInference", Way::Strict),
        key("strictParameterNoneValue", Way::Strict),
        key("reportMissingModuleSource", Way::Free),
        key("reportMissingTypeStubs", Way::Free),
        key(
            "executionEnvironments.*.typeCheckingMode",
            Way::Ladder(&["off", "basic", "standard", "strict"]),
        ),
        key("executionEnvironments.*.reportMissingModuleSource", Way::Free),
        key("executionEnvironments.*.reportMissingTypeStubs", Way::Free),
        key("executionEnvironments.*.*", Way::Ladder(REPORTS)),
        key("*", Way::Ladder(REPORTS)),
    ],
};

pub(super) const PYTEST: Tool = Tool {
    name: "pytest",
    trade: "python test",
    keys: &[
        key("testpaths", Way::Paths),
        key("python_files", Way::Paths),
        key("python_classes", Way::Paths),
        key("python_functions", Way::Paths),
        key("norecursedirs", Way::Closed),
        key("xfail_strict", Way::Strict),
        key("strict_markers", Way::Strict),
        key("strict", Way::Strict),
        key("reruns", Way::Ceiling(0.0)),
        key("retries", Way::Ceiling(0.0)),
        key("timeout", Way::Ceiling(f64::INFINITY)),
    ],
};

const COVERAGE: Tool = Tool {
    name: "coverage",
    trade: "python coverage",
    keys: &[
        key("report.fail_under", Way::Floor),
        key("run.branch", Way::Strict),
        key("run.source", Way::Paths),
        key("run.source_pkgs", Way::Paths),
        key("run.include", Way::Paths),
        key("run.omit", Way::ClosedButTests),
        key("report.omit", Way::ClosedButTests),
        key("report.include", Way::Paths),
    ],
};

pub(super) const TSC: Tool = Tool {
    name: "tsconfig",
    trade: "js types",
    keys: &[
        key("compilerOptions.strict", Way::Strict),
        key("compilerOptions.alwaysStrict", Way::Strict),
        key("compilerOptions.checkJs", Way::Strict),
        key("compilerOptions.exactOptionalPropertyTypes", Way::Strict),
        key("compilerOptions.noFallthroughCasesInSwitch", Way::Strict),
        key("compilerOptions.noImplicitAny", Way::Strict),
        key("compilerOptions.noImplicitOverride", Way::Strict),
        key("compilerOptions.noImplicitReturns", Way::Strict),
        key("compilerOptions.noImplicitThis", Way::Strict),
        key("compilerOptions.noPropertyAccessFromIndexSignature", Way::Strict),
        key("compilerOptions.noUncheckedIndexedAccess", Way::Strict),
        key("compilerOptions.noUnusedLocals", Way::Strict),
        key("compilerOptions.noUnusedParameters", Way::Strict),
        key("compilerOptions.strictBindCallApply", Way::Strict),
        key("compilerOptions.strictBuiltinIteratorReturn", Way::Strict),
        key("compilerOptions.strictFunctionTypes", Way::Strict),
        key("compilerOptions.strictNullChecks", Way::Strict),
        key("compilerOptions.strictPropertyInitialization", Way::Strict),
        key("compilerOptions.useUnknownInCatchVariables", Way::Strict),
        key("compilerOptions.noEmitOnError", Way::Strict),
        key("compilerOptions.allowUnreachableCode", Way::Lax),
        key("compilerOptions.allowUnusedLabels", Way::Lax),
        key("compilerOptions.noCheck", Way::Lax),
        key("include", Way::Paths),
        key("exclude", Way::ClosedButTests),
    ],
};

pub(super) const ESLINT: Tool = Tool {
    name: "eslint",
    trade: "js lint",
    keys: &[
        key("extends", Way::Kept),
        key("ignorePatterns", Way::Closed),
        key("ignores", Way::Closed),
        key("reportUnusedDisableDirectives", Way::Strict),
    ],
};

const BIOME: Tool = Tool {
    name: "biome",
    trade: "js lint",
    keys: &[
        key("linter.enabled", Way::StrictByDefault),
        key("linter.ignore", Way::Closed),
        key("files.ignore", Way::Closed),
        key("linter.rules.recommended", Way::StrictByDefault),
        key("linter.rules.*.*.level", Way::Ladder(LEVELS)),
        key("linter.rules.*.*", Way::Ladder(LEVELS)),
    ],
};

const JEST: Tool = Tool {
    name: "jest",
    trade: "js test",
    keys: &[
        key("testMatch", Way::Paths),
        key("testRegex", Way::Paths),
        key("roots", Way::Paths),
        key("projects", Way::Paths),
        key("testPathIgnorePatterns", Way::Closed),
        key("coveragePathIgnorePatterns", Way::ClosedButTests),
        key("coverageThreshold.**", Way::Floor),
        key("testTimeout", Way::Ceiling(5_000.0)),
        key("passWithNoTests", Way::Lax),
        key("retryTimes", Way::Ceiling(0.0)),
    ],
};

const VITEST: Tool = Tool {
    name: "vitest",
    trade: "js test",
    keys: &[
        key("test.include", Way::Paths),
        key("test.exclude", Way::Closed),
        key("test.projects", Way::Paths),
        key("test.coverage.thresholds.**", Way::Floor),
        key("test.coverage.exclude", Way::ClosedButTests),
        key("test.coverage.enabled", Way::Strict),
        key("test.testTimeout", Way::Ceiling(5_000.0)),
        key("test.hookTimeout", Way::Ceiling(10_000.0)),
        key("test.retry", Way::Ceiling(0.0)),
        key("test.passWithNoTests", Way::Lax),
        key("test.allowOnly", Way::Lax),
        key("test.dangerouslyIgnoreUnhandledErrors", Way::Lax),
        key("test.testNamePattern", Way::Closed),
    ],
};

const MOCHA: Tool = Tool {
    name: "mocha",
    trade: "js test",
    keys: &[
        key("spec", Way::Paths),
        key("ignore", Way::Closed),
        key("exclude", Way::Closed),
        key("timeout", Way::Ceiling(2_000.0)),
        key("retries", Way::Ceiling(0.0)),
        key("forbid-only", Way::Strict),
        key("forbidOnly", Way::Strict),
        key("grep", Way::Closed),
    ],
};

const PLAYWRIGHT: Tool = Tool {
    name: "playwright",
    trade: "js e2e",
    keys: &[
        key("retries", Way::Ceiling(0.0)),
        key("timeout", Way::Ceiling(30_000.0)),
        key("expect.timeout", Way::Ceiling(5_000.0)),
        key("testIgnore", Way::Closed),
        key("forbidOnly", Way::Strict),
        key("grepInvert", Way::Closed),
    ],
};

const NYC: Tool = Tool {
    name: "nyc",
    trade: "js coverage",
    keys: &[
        key("check-coverage", Way::Strict),
        key("lines", Way::Floor),
        key("branches", Way::Floor),
        key("functions", Way::Floor),
        key("statements", Way::Floor),
        key("exclude", Way::ClosedButTests),
    ],
};

const CLIPPY: Tool = Tool {
    name: "clippy",
    trade: "rust lint",
    keys: &[
        key("disallowed-methods", Way::Kept),
        key("disallowed-types", Way::Kept),
        key("disallowed-macros", Way::Kept),
        key("disallowed-names", Way::Kept),
        key("avoid-breaking-exported-api", Way::Lax),
        key("allow-dbg-in-tests", Way::Free),
        key("allow-expect-in-tests", Way::Free),
        key("allow-panic-in-tests", Way::Free),
        key("allow-print-in-tests", Way::Free),
        key("allow-unwrap-in-tests", Way::Free),
        key("allow-indexing-slicing-in-tests", Way::Free),
        key("*", Way::Ceiling(f64::INFINITY)),
    ],
};

pub(super) const CARGO: Tool = Tool {
    name: "cargo",
    trade: "rust",
    keys: &[
        key("lib.test", Way::StrictByDefault),
        key("lib.doctest", Way::StrictByDefault),
        key("lints.*.*.level", Way::Ladder(LINTS)),
        key("lints.*.*", Way::Ladder(LINTS)),
        key("workspace.lints.*.*.level", Way::Ladder(LINTS)),
        key("workspace.lints.*.*", Way::Ladder(LINTS)),
    ],
};

const NEXTEST: Tool = Tool {
    name: "nextest",
    trade: "rust test",
    keys: &[
        key("profile.*.retries", Way::Ceiling(0.0)),
        key("profile.*.retries.count", Way::Ceiling(0.0)),
        key("profile.*.default-filter", Way::Closed),
    ],
};

pub(super) const GOLANGCI: Tool = Tool {
    name: "golangci-lint",
    trade: "go lint",
    keys: &[
        key("linters.enable", Way::Kept),
        key("linters.disable", Way::Closed),
        key("linters.enable-all", Way::Strict),
        key("linters.disable-all", Way::Lax),
        key("linters.presets", Way::Kept),
        key("linters.default", Way::Ladder(&["none", "fast", "standard", "all"])),
        key("linters.exclusions.paths", Way::Closed),
        key("linters.exclusions.presets", Way::Closed),
        key("linters.exclusions.rules", Way::Closed),
        key("linters-settings.*.min-complexity", Way::Ceiling(f64::INFINITY)),
        key("linters-settings.*.max-complexity", Way::Ceiling(f64::INFINITY)),
        key("linters-settings.funlen.*", Way::Ceiling(f64::INFINITY)),
        key("linters.settings.*.min-complexity", Way::Ceiling(f64::INFINITY)),
        key("linters.settings.*.max-complexity", Way::Ceiling(f64::INFINITY)),
        key("linters.settings.funlen.*", Way::Ceiling(f64::INFINITY)),
        key("issues.exclude", Way::Closed),
        key("issues.exclude-rules", Way::Closed),
        key("issues.exclude-dirs", Way::Closed),
        key("issues.exclude-files", Way::Closed),
        key("issues.new", Way::Lax),
        key("issues.exit-code", Way::Free),
        key("run.skip-dirs", Way::Closed),
        key("run.skip-files", Way::Closed),
        key("run.tests", Way::StrictByDefault),
        key("run.issues-exit-code", Way::Floor),
    ],
};

const EDITORCONFIG: Tool = Tool {
    name: "the compiler of C#",
    trade: "csharp lint",
    keys: &[key("*.*", Way::Ladder(DIAGNOSTICS))],
};

/// Every known place.
pub(super) const HOMES: &[Home] = &[
    home("pyproject.toml", Format::Toml, &["tool", "ruff"], &RUFF),
    home("ruff.toml", Format::Toml, &[], &RUFF),
    home(".ruff.toml", Format::Toml, &[], &RUFF),
    home(".flake8", Format::Ini, &["flake8"], &FLAKE8),
    home("setup.cfg", Format::Ini, &["flake8"], &FLAKE8),
    home("tox.ini", Format::Ini, &["flake8"], &FLAKE8),
    home("pyproject.toml", Format::Toml, &["tool", "pylint"], &PYLINT),
    home(".pylintrc", Format::Ini, &[], &PYLINT),
    home("pylintrc", Format::Ini, &[], &PYLINT),
    home("pyproject.toml", Format::Toml, &["tool", "mypy"], &MYPY),
    home("mypy.ini", Format::Ini, &["mypy*"], &MYPY),
    home(".mypy.ini", Format::Ini, &["mypy*"], &MYPY),
    home("setup.cfg", Format::Ini, &["mypy*"], &MYPY),
    home("pyproject.toml", Format::Toml, &["tool", "pyright"], &PYRIGHT),
    home("pyproject.toml", Format::Toml, &["tool", "basedpyright"], &PYRIGHT),
    home("pyrightconfig.json", Format::Json, &[], &PYRIGHT),
    home("pyproject.toml", Format::Toml, &["tool", "pytest", "ini_options"], &PYTEST),
    home("pytest.ini", Format::Ini, &["pytest"], &PYTEST),
    home(".pytest.ini", Format::Ini, &["pytest"], &PYTEST),
    home("tox.ini", Format::Ini, &["pytest"], &PYTEST),
    home("setup.cfg", Format::Ini, &["tool:pytest"], &PYTEST),
    home("pyproject.toml", Format::Toml, &["tool", "coverage"], &COVERAGE),
    home(".coveragerc", Format::Ini, &[], &COVERAGE),
    home("setup.cfg", Format::Ini, &["coverage:*"], &COVERAGE),
    home("tsconfig*.json", Format::Json, &[], &TSC),
    home("jsconfig.json", Format::Json, &[], &TSC),
    home(".eslintrc", Format::Json, &[], &ESLINT),
    home(".eslintrc.json", Format::Json, &[], &ESLINT),
    home(".eslintrc.yml", Format::Yaml, &[], &ESLINT),
    home(".eslintrc.yaml", Format::Yaml, &[], &ESLINT),
    home("package.json", Format::Json, &["eslintConfig"], &ESLINT),
    home("biome.json", Format::Json, &[], &BIOME),
    home("biome.jsonc", Format::Json, &[], &BIOME),
    home("package.json", Format::Json, &["jest"], &JEST),
    home("jest.config.json", Format::Json, &[], &JEST),
    home("package.json", Format::Json, &["mocha"], &MOCHA),
    home(".mocharc.json", Format::Json, &[], &MOCHA),
    home(".mocharc.yml", Format::Yaml, &[], &MOCHA),
    home(".mocharc.yaml", Format::Yaml, &[], &MOCHA),
    home("package.json", Format::Json, &["nyc"], &NYC),
    home(".nycrc", Format::Json, &[], &NYC),
    home(".nycrc.json", Format::Json, &[], &NYC),
    home("clippy.toml", Format::Toml, &[], &CLIPPY),
    home(".clippy.toml", Format::Toml, &[], &CLIPPY),
    home("Cargo.toml", Format::Toml, &[], &CARGO),
    home("nextest.toml", Format::Toml, &[], &NEXTEST),
    home(".golangci.yml", Format::Yaml, &[], &GOLANGCI),
    home(".golangci.yaml", Format::Yaml, &[], &GOLANGCI),
    home(".golangci.toml", Format::Toml, &[], &GOLANGCI),
    home(".golangci.json", Format::Json, &[], &GOLANGCI),
    home(".editorconfig", Format::Ini, &[], &EDITORCONFIG),
];

/// Names of files in which a program makes the configuration; they are read as far as they are
/// literal.
pub(super) const CODE_HOMES: &[(&str, &Tool)] = &[
    ("eslint.config.", &ESLINT),
    (".eslintrc.", &ESLINT),
    ("jest.config.", &JEST),
    ("vitest.config.", &VITEST),
    ("vite.config.", &VITEST),
    (".mocharc.", &MOCHA),
    ("playwright.config.", &PLAYWRIGHT),
];
