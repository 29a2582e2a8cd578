//! The tools whose configuration is compared key by key: its location, and in which direction each
//! key becomes laxer. Keys are taken from the tools' documentation.

use super::super::settings::SettingsFormat;

/// In which direction a key becomes laxer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Strictness {
    /// True is strict.
    Strict,
    /// True is strict, and the default.
    StrictByDefault,
    /// True is lax.
    Lax,
    /// Words from lax to strict; [`super::compare`] also ranks booleans and numbers.
    Ladder(&'static [&'static str]),
    /// A number that must not decrease or be removed.
    Floor,
    /// A number that must not rise above its earlier value, or above the default if it was absent.
    Ceiling(f64),
    /// A list from which nothing may be removed.
    KeepsItems,
    /// Paths or globs of the checked files; without the list, all files are checked.
    Paths,
    /// A list that must not grow.
    Closed,
    /// A list that must not grow, except by tests, which are neither built nor covered.
    ClosedButTests,
    /// Any change is allowed.
    Free,
}

/// One key, as its path; `*` matches one step, a final `**` everything below.
pub(super) struct ConfigKey {
    pub(super) path: &'static str,
    pub(super) strictness: Strictness,
}

/// A tool with a configuration.
pub(super) struct ConfiguredTool {
    pub(super) name: &'static str,
    /// Tools of the same kind can replace each other.
    pub(super) category: &'static str,
    pub(super) keys: &'static [ConfigKey],
}

/// Location of a tool's configuration.
pub(super) struct ConfigLocation {
    /// The file's name; `*` stands for any text.
    pub(super) file: &'static str,
    pub(super) format: SettingsFormat,
    /// The table in it; empty for the whole file. A `*` at the end takes every table whose name
    /// begins so.
    pub(super) table: &'static [&'static str],
    pub(super) tool: &'static ConfiguredTool,
}

const fn config_key(path: &'static str, way: Strictness) -> ConfigKey {
    ConfigKey { path, strictness: way }
}

const fn config_location(
    file: &'static str,
    format: SettingsFormat,
    table: &'static [&'static str],
    tool: &'static ConfiguredTool,
) -> ConfigLocation {
    ConfigLocation { file, format, table, tool }
}

/// Levels of linters.
pub(super) const LEVELS: &[&str] = &["off", "info", "warn", "error"];
/// Levels of Rust's lints.
const LINTS: &[&str] = &["allow", "warn", "deny", "forbid"];
/// Levels of pyright's reports.
const REPORTS: &[&str] = &["none", "information", "warning", "error"];
/// Levels of the compiler of C#.
const DIAGNOSTICS: &[&str] = &["none", "silent", "suggestion", "warning", "error"];

pub(super) const RUFF: ConfiguredTool = ConfiguredTool {
    name: "ruff",
    category: "python lint",
    keys: &[
        config_key("exclude", Strictness::Closed),
        config_key("extend-exclude", Strictness::Closed),
        config_key("lint.exclude", Strictness::Closed),
        config_key("lint.mccabe.max-complexity", Strictness::Ceiling(10.0)),
        config_key("lint.pylint.*", Strictness::Ceiling(f64::INFINITY)),
    ],
};

pub(super) const FLAKE8: ConfiguredTool = ConfiguredTool {
    name: "flake8",
    category: "python lint",
    keys: &[
        config_key("exclude", Strictness::Closed),
        config_key("extend-exclude", Strictness::Closed),
        config_key("max-complexity", Strictness::Ceiling(f64::INFINITY)),
        config_key("disable-noqa", Strictness::Strict),
    ],
};

const PYLINT: ConfiguredTool = ConfiguredTool {
    name: "pylint",
    category: "python lint",
    keys: &[
        config_key("disable", Strictness::Closed),
        config_key("enable", Strictness::KeepsItems),
        config_key("ignore", Strictness::Closed),
        config_key("ignore-paths", Strictness::Closed),
        config_key("fail-under", Strictness::Floor),
    ],
};

pub(super) const MYPY: ConfiguredTool = ConfiguredTool {
    name: "mypy",
    category: "python types",
    keys: &[
        config_key("strict", Strictness::Strict),
        config_key("check_untyped_defs", Strictness::Strict),
        config_key("disallow_any_decorated", Strictness::Strict),
        config_key("disallow_any_explicit", Strictness::Strict),
        config_key("disallow_any_generics", Strictness::Strict),
        config_key("disallow_incomplete_defs", Strictness::Strict),
        config_key("disallow_subclassing_any", Strictness::Strict),
        config_key("disallow_untyped_calls", Strictness::Strict),
        config_key("disallow_untyped_decorators", Strictness::Strict),
        config_key("disallow_untyped_defs", Strictness::Strict),
        config_key("extra_checks", Strictness::Strict),
        config_key("no_implicit_reexport", Strictness::Strict),
        config_key("strict_equality", Strictness::Strict),
        config_key("strict_optional", Strictness::StrictByDefault),
        config_key("warn_redundant_casts", Strictness::Strict),
        config_key("warn_return_any", Strictness::Strict),
        config_key("warn_unreachable", Strictness::Strict),
        config_key("warn_unused_ignores", Strictness::Strict),
        config_key("ignore_errors", Strictness::Lax),
        config_key("ignore_missing_imports", Strictness::Lax),
        config_key("allow_untyped_globals", Strictness::Lax),
        config_key("disable_error_code", Strictness::Closed),
        config_key("enable_error_code", Strictness::KeepsItems),
        config_key("exclude", Strictness::Closed),
        config_key("files", Strictness::Paths),
        config_key("packages", Strictness::Paths),
        config_key("follow_imports", Strictness::Ladder(&["skip", "silent", "normal", "error"])),
        config_key("overrides.*.ignore_errors", Strictness::Lax),
        config_key("overrides.*.disable_error_code", Strictness::Closed),
        config_key("overrides.*.disallow_untyped_defs", Strictness::Strict),
        config_key("overrides.*.strict", Strictness::Strict),
    ],
};

pub(super) const PYRIGHT: ConfiguredTool = ConfiguredTool {
    name: "pyright",
    category: "python types",
    keys: &[
        config_key("typeCheckingMode", Strictness::Ladder(&["off", "basic", "standard", "strict"])),
        config_key("ignore", Strictness::Closed),
        config_key("exclude", Strictness::Closed),
        config_key("strict", Strictness::KeepsItems),
        config_key("strictListInference", Strictness::Strict),
        config_key("strictDictionaryInference", Strictness::Strict),
        config_key("strictParameterNoneValue", Strictness::Strict),
        config_key("reportMissingModuleSource", Strictness::Free),
        config_key("reportMissingTypeStubs", Strictness::Free),
        config_key(
            "executionEnvironments.*.typeCheckingMode",
            Strictness::Ladder(&["off", "basic", "standard", "strict"]),
        ),
        config_key("executionEnvironments.*.reportMissingModuleSource", Strictness::Free),
        config_key("executionEnvironments.*.reportMissingTypeStubs", Strictness::Free),
        config_key("executionEnvironments.*.*", Strictness::Ladder(REPORTS)),
        config_key("*", Strictness::Ladder(REPORTS)),
    ],
};

pub(super) const PYTEST: ConfiguredTool = ConfiguredTool {
    name: "pytest",
    category: "python test",
    keys: &[
        config_key("testpaths", Strictness::Paths),
        config_key("python_files", Strictness::Paths),
        config_key("python_classes", Strictness::Paths),
        config_key("python_functions", Strictness::Paths),
        config_key("norecursedirs", Strictness::Closed),
        config_key("xfail_strict", Strictness::Strict),
        config_key("strict_markers", Strictness::Strict),
        config_key("strict", Strictness::Strict),
        config_key("reruns", Strictness::Ceiling(0.0)),
        config_key("retries", Strictness::Ceiling(0.0)),
        config_key("timeout", Strictness::Ceiling(f64::INFINITY)),
    ],
};

const COVERAGE: ConfiguredTool = ConfiguredTool {
    name: "coverage",
    category: "python coverage",
    keys: &[
        config_key("report.fail_under", Strictness::Floor),
        config_key("run.branch", Strictness::Strict),
        config_key("run.source", Strictness::Paths),
        config_key("run.source_pkgs", Strictness::Paths),
        config_key("run.include", Strictness::Paths),
        config_key("run.omit", Strictness::ClosedButTests),
        config_key("report.omit", Strictness::ClosedButTests),
        config_key("report.include", Strictness::Paths),
    ],
};

pub(super) const TSC: ConfiguredTool = ConfiguredTool {
    name: "tsconfig",
    category: "js types",
    keys: &[
        config_key("compilerOptions.strict", Strictness::Strict),
        config_key("compilerOptions.alwaysStrict", Strictness::Strict),
        config_key("compilerOptions.checkJs", Strictness::Strict),
        config_key("compilerOptions.exactOptionalPropertyTypes", Strictness::Strict),
        config_key("compilerOptions.noFallthroughCasesInSwitch", Strictness::Strict),
        config_key("compilerOptions.noImplicitAny", Strictness::Strict),
        config_key("compilerOptions.noImplicitOverride", Strictness::Strict),
        config_key("compilerOptions.noImplicitReturns", Strictness::Strict),
        config_key("compilerOptions.noImplicitThis", Strictness::Strict),
        config_key("compilerOptions.noPropertyAccessFromIndexSignature", Strictness::Strict),
        config_key("compilerOptions.noUncheckedIndexedAccess", Strictness::Strict),
        config_key("compilerOptions.noUnusedLocals", Strictness::Strict),
        config_key("compilerOptions.noUnusedParameters", Strictness::Strict),
        config_key("compilerOptions.strictBindCallApply", Strictness::Strict),
        config_key("compilerOptions.strictBuiltinIteratorReturn", Strictness::Strict),
        config_key("compilerOptions.strictFunctionTypes", Strictness::Strict),
        config_key("compilerOptions.strictNullChecks", Strictness::Strict),
        config_key("compilerOptions.strictPropertyInitialization", Strictness::Strict),
        config_key("compilerOptions.useUnknownInCatchVariables", Strictness::Strict),
        config_key("compilerOptions.noEmitOnError", Strictness::Strict),
        config_key("compilerOptions.allowUnreachableCode", Strictness::Lax),
        config_key("compilerOptions.allowUnusedLabels", Strictness::Lax),
        config_key("compilerOptions.noCheck", Strictness::Lax),
        config_key("include", Strictness::Paths),
        config_key("exclude", Strictness::ClosedButTests),
    ],
};

pub(super) const ESLINT: ConfiguredTool = ConfiguredTool {
    name: "eslint",
    category: "js lint",
    keys: &[
        config_key("extends", Strictness::KeepsItems),
        config_key("ignorePatterns", Strictness::Closed),
        config_key("ignores", Strictness::Closed),
        config_key("reportUnusedDisableDirectives", Strictness::Strict),
    ],
};

const BIOME: ConfiguredTool = ConfiguredTool {
    name: "biome",
    category: "js lint",
    keys: &[
        config_key("linter.enabled", Strictness::StrictByDefault),
        config_key("linter.ignore", Strictness::Closed),
        config_key("files.ignore", Strictness::Closed),
        config_key("linter.rules.recommended", Strictness::StrictByDefault),
        config_key("linter.rules.*.*.level", Strictness::Ladder(LEVELS)),
        config_key("linter.rules.*.*", Strictness::Ladder(LEVELS)),
    ],
};

const JEST: ConfiguredTool = ConfiguredTool {
    name: "jest",
    category: "js test",
    keys: &[
        config_key("testMatch", Strictness::Paths),
        config_key("testRegex", Strictness::Paths),
        config_key("roots", Strictness::Paths),
        config_key("projects", Strictness::Paths),
        config_key("testPathIgnorePatterns", Strictness::Closed),
        config_key("coveragePathIgnorePatterns", Strictness::ClosedButTests),
        config_key("coverageThreshold.**", Strictness::Floor),
        config_key("testTimeout", Strictness::Ceiling(5_000.0)),
        config_key("passWithNoTests", Strictness::Lax),
        config_key("retryTimes", Strictness::Ceiling(0.0)),
    ],
};

const VITEST: ConfiguredTool = ConfiguredTool {
    name: "vitest",
    category: "js test",
    keys: &[
        config_key("test.include", Strictness::Paths),
        config_key("test.exclude", Strictness::Closed),
        config_key("test.projects", Strictness::Paths),
        config_key("test.coverage.thresholds.**", Strictness::Floor),
        config_key("test.coverage.exclude", Strictness::ClosedButTests),
        config_key("test.coverage.enabled", Strictness::Strict),
        config_key("test.testTimeout", Strictness::Ceiling(5_000.0)),
        config_key("test.hookTimeout", Strictness::Ceiling(10_000.0)),
        config_key("test.retry", Strictness::Ceiling(0.0)),
        config_key("test.passWithNoTests", Strictness::Lax),
        config_key("test.allowOnly", Strictness::Lax),
        config_key("test.dangerouslyIgnoreUnhandledErrors", Strictness::Lax),
        config_key("test.testNamePattern", Strictness::Closed),
    ],
};

const MOCHA: ConfiguredTool = ConfiguredTool {
    name: "mocha",
    category: "js test",
    keys: &[
        config_key("spec", Strictness::Paths),
        config_key("ignore", Strictness::Closed),
        config_key("exclude", Strictness::Closed),
        config_key("timeout", Strictness::Ceiling(2_000.0)),
        config_key("retries", Strictness::Ceiling(0.0)),
        config_key("forbid-only", Strictness::Strict),
        config_key("forbidOnly", Strictness::Strict),
        config_key("grep", Strictness::Closed),
    ],
};

const PLAYWRIGHT: ConfiguredTool = ConfiguredTool {
    name: "playwright",
    category: "js e2e",
    keys: &[
        config_key("retries", Strictness::Ceiling(0.0)),
        config_key("timeout", Strictness::Ceiling(30_000.0)),
        config_key("expect.timeout", Strictness::Ceiling(5_000.0)),
        config_key("testIgnore", Strictness::Closed),
        config_key("forbidOnly", Strictness::Strict),
        config_key("grepInvert", Strictness::Closed),
    ],
};

const NYC: ConfiguredTool = ConfiguredTool {
    name: "nyc",
    category: "js coverage",
    keys: &[
        config_key("check-coverage", Strictness::Strict),
        config_key("lines", Strictness::Floor),
        config_key("branches", Strictness::Floor),
        config_key("functions", Strictness::Floor),
        config_key("statements", Strictness::Floor),
        config_key("exclude", Strictness::ClosedButTests),
    ],
};

const CLIPPY: ConfiguredTool = ConfiguredTool {
    name: "clippy",
    category: "rust lint",
    keys: &[
        config_key("disallowed-methods", Strictness::KeepsItems),
        config_key("disallowed-types", Strictness::KeepsItems),
        config_key("disallowed-macros", Strictness::KeepsItems),
        config_key("disallowed-names", Strictness::KeepsItems),
        config_key("avoid-breaking-exported-api", Strictness::Lax),
        config_key("allow-dbg-in-tests", Strictness::Free),
        config_key("allow-expect-in-tests", Strictness::Free),
        config_key("allow-panic-in-tests", Strictness::Free),
        config_key("allow-print-in-tests", Strictness::Free),
        config_key("allow-unwrap-in-tests", Strictness::Free),
        config_key("allow-indexing-slicing-in-tests", Strictness::Free),
        config_key("*", Strictness::Ceiling(f64::INFINITY)),
    ],
};

pub(super) const CARGO: ConfiguredTool = ConfiguredTool {
    name: "cargo",
    category: "rust",
    keys: &[
        config_key("lints.*.*.level", Strictness::Ladder(LINTS)),
        config_key("lints.*.*", Strictness::Ladder(LINTS)),
        config_key("workspace.lints.*.*.level", Strictness::Ladder(LINTS)),
        config_key("workspace.lints.*.*", Strictness::Ladder(LINTS)),
    ],
};

const NEXTEST: ConfiguredTool = ConfiguredTool {
    name: "nextest",
    category: "rust test",
    keys: &[
        config_key("profile.*.retries", Strictness::Ceiling(0.0)),
        config_key("profile.*.retries.count", Strictness::Ceiling(0.0)),
        config_key("profile.*.default-filter", Strictness::Closed),
    ],
};

pub(super) const GOLANGCI: ConfiguredTool = ConfiguredTool {
    name: "golangci-lint",
    category: "go lint",
    keys: &[
        config_key("linters.enable", Strictness::KeepsItems),
        config_key("linters.disable", Strictness::Closed),
        config_key("linters.enable-all", Strictness::Strict),
        config_key("linters.disable-all", Strictness::Lax),
        config_key("linters.presets", Strictness::KeepsItems),
        config_key("linters.default", Strictness::Ladder(&["none", "fast", "standard", "all"])),
        config_key("linters.exclusions.paths", Strictness::Closed),
        config_key("linters.exclusions.presets", Strictness::Closed),
        config_key("linters.exclusions.rules", Strictness::Closed),
        config_key("linters-settings.*.min-complexity", Strictness::Ceiling(f64::INFINITY)),
        config_key("linters-settings.*.max-complexity", Strictness::Ceiling(f64::INFINITY)),
        config_key("linters-settings.funlen.*", Strictness::Ceiling(f64::INFINITY)),
        config_key("linters.settings.*.min-complexity", Strictness::Ceiling(f64::INFINITY)),
        config_key("linters.settings.*.max-complexity", Strictness::Ceiling(f64::INFINITY)),
        config_key("linters.settings.funlen.*", Strictness::Ceiling(f64::INFINITY)),
        config_key("issues.exclude", Strictness::Closed),
        config_key("issues.exclude-rules", Strictness::Closed),
        config_key("issues.exclude-dirs", Strictness::Closed),
        config_key("issues.exclude-files", Strictness::Closed),
        config_key("issues.new", Strictness::Lax),
        config_key("issues.exit-code", Strictness::Free),
        config_key("run.skip-dirs", Strictness::Closed),
        config_key("run.skip-files", Strictness::Closed),
        config_key("run.tests", Strictness::StrictByDefault),
        config_key("run.issues-exit-code", Strictness::Floor),
    ],
};

const EDITORCONFIG: ConfiguredTool = ConfiguredTool {
    name: "the compiler of C#",
    category: "csharp lint",
    keys: &[config_key("*.*", Strictness::Ladder(DIAGNOSTICS))],
};

/// Every known location.
pub(super) const HOMES: &[ConfigLocation] = &[
    config_location("pyproject.toml", SettingsFormat::Toml, &["tool", "ruff"], &RUFF),
    config_location("ruff.toml", SettingsFormat::Toml, &[], &RUFF),
    config_location(".ruff.toml", SettingsFormat::Toml, &[], &RUFF),
    config_location(".flake8", SettingsFormat::Ini, &["flake8"], &FLAKE8),
    config_location("setup.cfg", SettingsFormat::Ini, &["flake8"], &FLAKE8),
    config_location("tox.ini", SettingsFormat::Ini, &["flake8"], &FLAKE8),
    config_location("pyproject.toml", SettingsFormat::Toml, &["tool", "pylint"], &PYLINT),
    config_location(".pylintrc", SettingsFormat::Ini, &[], &PYLINT),
    config_location("pylintrc", SettingsFormat::Ini, &[], &PYLINT),
    config_location("pyproject.toml", SettingsFormat::Toml, &["tool", "mypy"], &MYPY),
    config_location("mypy.ini", SettingsFormat::Ini, &["mypy*"], &MYPY),
    config_location(".mypy.ini", SettingsFormat::Ini, &["mypy*"], &MYPY),
    config_location("setup.cfg", SettingsFormat::Ini, &["mypy*"], &MYPY),
    config_location("pyproject.toml", SettingsFormat::Toml, &["tool", "pyright"], &PYRIGHT),
    config_location("pyproject.toml", SettingsFormat::Toml, &["tool", "basedpyright"], &PYRIGHT),
    config_location("pyrightconfig.json", SettingsFormat::Json, &[], &PYRIGHT),
    config_location(
        "pyproject.toml",
        SettingsFormat::Toml,
        &["tool", "pytest", "ini_options"],
        &PYTEST,
    ),
    config_location("pytest.ini", SettingsFormat::Ini, &["pytest"], &PYTEST),
    config_location(".pytest.ini", SettingsFormat::Ini, &["pytest"], &PYTEST),
    config_location("tox.ini", SettingsFormat::Ini, &["pytest"], &PYTEST),
    config_location("setup.cfg", SettingsFormat::Ini, &["tool:pytest"], &PYTEST),
    config_location("pyproject.toml", SettingsFormat::Toml, &["tool", "coverage"], &COVERAGE),
    config_location(".coveragerc", SettingsFormat::Ini, &[], &COVERAGE),
    config_location("setup.cfg", SettingsFormat::Ini, &["coverage:*"], &COVERAGE),
    config_location("tox.ini", SettingsFormat::Ini, &["coverage:*"], &COVERAGE),
    config_location("tsconfig*.json", SettingsFormat::Json, &[], &TSC),
    config_location("jsconfig.json", SettingsFormat::Json, &[], &TSC),
    config_location(".eslintrc", SettingsFormat::Json, &[], &ESLINT),
    config_location(".eslintrc.json", SettingsFormat::Json, &[], &ESLINT),
    config_location(".eslintrc.yml", SettingsFormat::Yaml, &[], &ESLINT),
    config_location(".eslintrc.yaml", SettingsFormat::Yaml, &[], &ESLINT),
    config_location("package.json", SettingsFormat::Json, &["eslintConfig"], &ESLINT),
    config_location("biome.json", SettingsFormat::Json, &[], &BIOME),
    config_location("biome.jsonc", SettingsFormat::Json, &[], &BIOME),
    config_location("package.json", SettingsFormat::Json, &["jest"], &JEST),
    config_location("jest.config.json", SettingsFormat::Json, &[], &JEST),
    config_location("package.json", SettingsFormat::Json, &["mocha"], &MOCHA),
    config_location(".mocharc.json", SettingsFormat::Json, &[], &MOCHA),
    config_location(".mocharc.yml", SettingsFormat::Yaml, &[], &MOCHA),
    config_location(".mocharc.yaml", SettingsFormat::Yaml, &[], &MOCHA),
    config_location("package.json", SettingsFormat::Json, &["nyc"], &NYC),
    config_location(".nycrc", SettingsFormat::Json, &[], &NYC),
    config_location(".nycrc.json", SettingsFormat::Json, &[], &NYC),
    config_location("clippy.toml", SettingsFormat::Toml, &[], &CLIPPY),
    config_location(".clippy.toml", SettingsFormat::Toml, &[], &CLIPPY),
    config_location("Cargo.toml", SettingsFormat::Toml, &[], &CARGO),
    config_location("nextest.toml", SettingsFormat::Toml, &[], &NEXTEST),
    config_location(".golangci.yml", SettingsFormat::Yaml, &[], &GOLANGCI),
    config_location(".golangci.yaml", SettingsFormat::Yaml, &[], &GOLANGCI),
    config_location(".golangci.toml", SettingsFormat::Toml, &[], &GOLANGCI),
    config_location(".golangci.json", SettingsFormat::Json, &[], &GOLANGCI),
    config_location(".editorconfig", SettingsFormat::Ini, &[], &EDITORCONFIG),
];

/// Names of files in which code builds the configuration; only their literal values are
/// read.
pub(super) const CODE_HOMES: &[(&str, &ConfiguredTool)] = &[
    ("eslint.config.", &ESLINT),
    (".eslintrc.", &ESLINT),
    ("jest.config.", &JEST),
    ("vitest.config.", &VITEST),
    ("vite.config.", &VITEST),
    (".mocharc.", &MOCHA),
    ("playwright.config.", &PLAYWRIGHT),
];
