//! The files that examine a loop, recognized by name, and the relevant part of their text.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::front_matter::{HOST_FOLDER, hooks_of_document, is_document};
use super::runners;
use crate::criteria::{AUTOCHECKS, RUBRIC};
use crate::named_enum::named_variants;
use moai_base::path::RelPath;
use moai_base::protected::foreign_folder;

/// The role of a file in the exam.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExamRole {
    /// The rubric of the judge.
    Rubric,
    /// The project's script of checks.
    Checks,
    /// Settings of the host that register hooks.
    Hooks,
    /// Options and rules of this program, and the loop's alignment.
    Engine,
    /// Rules that make git ignore files, outside of what is committed.
    Unseen,
    /// Files that runners of checks load by themselves.
    Runner,
    /// Configuration of a measuring tool.
    Config,
    /// Files that a check uses and that may be the work as well: expected values, recipes, programs
    /// on PATH.
    Used,
    /// A test, or data that it compares with.
    Test,
}

named_variants!(ExamRole {
    Rubric: "rubric",
    Checks: "checks",
    Hooks: "hooks",
    Engine: "engine",
    Unseen: "unseen",
    Runner: "runner",
    Config: "config",
    Used: "used",
    Test: "test",
});

impl ExamRole {
    pub const ALL: &'static [Self] = &[
        Self::Rubric,
        Self::Checks,
        Self::Hooks,
        Self::Engine,
        Self::Unseen,
        Self::Runner,
        Self::Config,
        Self::Used,
        Self::Test,
    ];
    /// Roles whose change is a finding by itself; every Stop compares their few files.
    pub const STRICT: &'static [Self] =
        &[Self::Rubric, Self::Checks, Self::Hooks, Self::Engine, Self::Unseen, Self::Runner];
    /// These, configuration, including configuration that git ignores, and files that checks use.
    pub const AT_STOP: &'static [Self] = &[
        Self::Rubric,
        Self::Checks,
        Self::Hooks,
        Self::Engine,
        Self::Unseen,
        Self::Runner,
        Self::Config,
        Self::Used,
    ];

    /// A short name for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Rubric => "the rubric",
            Self::Checks => "the project's checks",
            Self::Hooks => "registration of hooks",
            Self::Engine => "options of moai-ralph",
            Self::Unseen => "rules that hide files from git",
            Self::Runner => "a file that a check's runner loads",
            Self::Config => "configuration of a tool",
            Self::Used => "what a check uses",
            Self::Test => "a test",
        }
    }
}

/// Folders in addition to the root whose own files are searched for new ones at every Stop; hidden
/// folders are not walked, and a full walk would take too long.
pub const FOLDERS: [&str; 13] = [
    ".claude",
    ".codex",
    ".github/hooks",
    ".github/workflows",
    ".opencode",
    ".opencode/plugin",
    ".opencode/plugins",
    ".config",
    ".cargo",
    ".mvn",
    "src",
    "test",
    "tests",
];

/// Our own folders and those of the host's documents, which are searched completely.
pub const TREES: [&str; 5] =
    [".claude/agents", ".claude/commands", ".claude/skills", ".moai/config", ".moai/rules"];

/// True if a path is `place`, or below it if that is a folder.
fn is_at(path: &str, place: &str) -> bool {
    path == place || place.ends_with('/') && path.starts_with(place)
}

/// Git's rules that hide files and are never committed. They have these names wherever git keeps
/// them; the first represents all ignore rules outside the project.
pub const UNSEEN: [&str; 2] = [".git/info/exclude", ".git/info/sparse-checkout"];

/// Settings of the host, in its folder. Permissions in them change while an agent works, hooks do not.
const SETTINGS: [&str; 2] = ["settings.json", "settings.local.json"];

/// Files and folders in which other hosts register hooks.
const OTHER_REGISTRATIONS: [&str; 9] = [
    ".codex/config.toml",
    ".codex/hooks.json",
    ".github/hooks/",
    ".opencode/opencode.json",
    ".opencode/opencode.jsonc",
    ".opencode/plugin/",
    ".opencode/plugins/",
    "opencode.json",
    "opencode.jsonc",
];

/// Keys of these settings that decide whether hooks run.
const HOOK_KEYS: [&str; 4] =
    ["hooks", "disableAllHooks", "allowManagedHooksOnly", "enabledPlugins"];

/// Names of configuration files, in any folder.
const CONFIG_NAMES: [&str; 44] = [
    ".clang-tidy",
    ".clangd",
    ".coveragerc",
    ".credo.exs",
    ".flake8",
    ".mocharc.json",
    ".mocharc.yml",
    ".mypy.ini",
    ".nycrc",
    ".nycrc.json",
    ".phpcs.xml",
    ".pylintrc",
    ".rspec",
    ".rubocop.yml",
    ".ruff.toml",
    ".swiftlint.yml",
    "CMakeLists.txt",
    "Cargo.toml",
    "Gemfile",
    "Makefile",
    "Rakefile",
    "analysis_options.yaml",
    "biome.json",
    "biome.jsonc",
    "build.gradle",
    "build.gradle.kts",
    "build.sbt",
    "clippy.toml",
    ".clippy.toml",
    "composer.json",
    "conftest.py",
    "mix.exs",
    "mypy.ini",
    "noxfile.py",
    "package.json",
    "phpcs.xml",
    "pom.xml",
    "pyproject.toml",
    "pyrightconfig.json",
    "pytest.ini",
    "ruff.toml",
    "setup.cfg",
    "sgconfig.yml",
    "tox.ini",
];

/// Beginnings of names of configuration files, in any folder.
const CONFIG_STARTS: [&str; 17] = [
    ".eslintrc",
    ".golangci.",
    ".mocharc.",
    "cypress.config.",
    "eslint.config.",
    "jest.config.",
    "jest.setup.",
    "karma.conf.",
    "phpstan.neon",
    "phpunit.xml",
    "playwright.config.",
    "tsconfig",
    "vite.config.",
    "vitest.config.",
    "vitest.setup.",
    "vitest.workspace.",
    "webpack.config.",
];

/// Paths of configuration files.
const CONFIG_PATHS: [&str; 3] = [".config/nextest.toml", ".gitlab-ci.yml", ".circleci/config.yml"];

/// Names of test folders, at any depth.
const TEST_FOLDERS: [&str; 5] = ["__tests__", "__snapshots__", "spec", "test", "tests"];

/// Extensions of tests in such a folder, and of files that tests run.
const TEST_EXTENSIONS: [&str; 30] = [
    "bats", "c", "cc", "cjs", "cpp", "cs", "cts", "cxx", "dart", "ex", "exs", "fs", "go", "h",
    "hpp", "java", "js", "jsx", "kt", "mjs", "mts", "php", "py", "rb", "rs", "scala", "sh", "snap",
    "swift", "ts",
];

/// Endings of names of tests next to the code, before the extension.
const TEST_ENDS: [&str; 12] = [
    "_test", "_tests", ".test", ".spec", "_spec", "Test", "Tests", "TestCase", "IT", "Spec",
    "Suite", ".cy",
];

/// The role of a file; `None` for a file that examines nothing.
#[must_use]
pub fn role(path: &RelPath) -> Option<ExamRole> {
    let text = path.as_str();
    let is_of_engine =
        [".moai/config/", ".moai/rules/"].iter().any(|folder| text.starts_with(folder));
    match text {
        RUBRIC => return Some(ExamRole::Rubric),
        AUTOCHECKS => return Some(ExamRole::Checks),
        ".claude/gulf-align.md" => return Some(ExamRole::Engine),
        _ if is_of_engine => return Some(ExamRole::Engine),
        _ if is_registration_of_host(path) => return Some(ExamRole::Hooks),
        _ if OTHER_REGISTRATIONS.iter().any(|place| is_at(text, place)) => {
            return Some(ExamRole::Hooks);
        }
        _ if UNSEEN.contains(&text) => return Some(ExamRole::Unseen),
        _ if runners::is_startup_file(path) => return Some(ExamRole::Runner),
        _ if foreign_folder(path).is_some() => return None,
        _ => {}
    }
    if runners::is_loaded(path) {
        return Some(ExamRole::Runner);
    }
    let name = text.rsplit('/').next().unwrap_or(text);
    let is_config = CONFIG_NAMES.contains(&name)
        || CONFIG_STARTS.iter().any(|start| name.starts_with(start))
        || CONFIG_PATHS.contains(&text)
        || text.starts_with(".github/workflows/");
    if is_config {
        return Some(ExamRole::Config);
    }
    is_test(path, name).then_some(ExamRole::Test)
}

fn is_test(path: &RelPath, name: &str) -> bool {
    let Some(extension) = path.extension() else { return false };
    let is_code = TEST_EXTENSIONS.contains(&extension.as_str()) || extension == "tsx";
    if !is_code {
        return false;
    }
    let folders = path.folder();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    folders.split('/').any(|folder| TEST_FOLDERS.contains(&folder))
        || name.starts_with("test_")
        || TEST_ENDS.iter().any(|end| stem.len() > end.len() && stem.ends_with(end))
}

/// The bytes of a file that matter to the exam: of the host's settings the keys that decide whether
/// hooks run, of its documents the hooks, of git's rules the rules, of a file that chooses a
/// toolchain the program in it; of every other file all bytes. Unreadable settings count with all
/// their bytes.
#[must_use]
pub fn relevant_bytes<'a>(path: &RelPath, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    if UNSEEN.contains(&path.as_str()) {
        let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        return Cow::Owned(
            lines
                .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
                .collect::<Vec<_>>()
                .join(&b'\n'),
        );
    }
    if chooses_version(path) {
        let names_program = |line: &&[u8]| {
            let has_word = |word: &[u8]| line.windows(word.len()).any(|it| it == word);
            line.starts_with(b"path") || line.contains(&b'/') || has_word(b"system")
        };
        let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        return Cow::Owned(lines.filter(names_program).collect::<Vec<_>>().join(&b'\n'));
    }
    if is_document(path) {
        return Cow::Owned(hooks_of_document(&String::from_utf8_lossy(bytes)).into_bytes());
    }
    if let Some(code) = runners::code_of_path_file(path, bytes) {
        return Cow::Owned(code);
    }
    if let Some(plugins) = runners::plugins_of_entry_points(path, bytes) {
        return Cow::Owned(plugins);
    }
    if !is_settings(path) {
        return Cow::Borrowed(bytes);
    }
    match serde_json::from_slice::<Map<String, Value>>(bytes) {
        Ok(settings) => {
            let kept = HOOK_KEYS.map(|key| settings.get(key).map(Value::to_string));
            Cow::Owned(format!("{kept:?}").into_bytes())
        }
        Err(_) => Cow::Borrowed(bytes),
    }
}

/// True if the host reads hooks from a file, in its folder at the root or below any other.
#[must_use]
pub fn is_registration_of_host(path: &RelPath) -> bool {
    is_settings(path) || is_document(path)
}

fn is_settings(path: &RelPath) -> bool {
    let mut parts = path.as_str().rsplit('/');
    let name = parts.next().unwrap_or_default();
    SETTINGS.contains(&name) && parts.next() == Some(HOST_FOLDER)
}

/// True if a file chooses a toolchain or an interpreter, by its version unless it names a program
/// of its own or the system's.
fn chooses_version(path: &RelPath) -> bool {
    let name = path.file_name();
    let is_version = name.starts_with('.') && name.ends_with("-version");
    is_version
        || matches!(name, "rust-toolchain" | "rust-toolchain.toml" | ".tool-versions")
        || path.as_str() == "~/.pyenv/version"
}

/// True if a new file is harmless: settings or a document of the host without hooks, a path file of
/// Python without code, entry points without plugins of pytest, git rules that hide nothing, or a
/// toolchain chosen by its version.
#[must_use]
pub fn is_irrelevant_settings(path: &RelPath, bytes: &[u8]) -> bool {
    let nothing: &[u8] = match path.as_str() {
        _ if is_settings(path) => b"{}",
        text if UNSEEN.contains(&text) => b"",
        _ if chooses_version(path) || is_document(path) => b"",
        _ if runners::code_of_path_file(path, b"").is_some() => b"",
        _ if runners::plugins_of_entry_points(path, b"").is_some() => b"",
        _ => return false,
    };
    relevant_bytes(path, bytes) == relevant_bytes(path, nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).expect("a relative path")
    }

    #[test]
    fn files_have_the_role_of_their_name() {
        let check = |role_of: Option<ExamRole>, paths: &[&str]| {
            for text in paths {
                assert_eq!(role(&path(text)), role_of, "{text}");
            }
        };
        check(Some(ExamRole::Rubric), &["RUBRIC.md"]);
        check(Some(ExamRole::Checks), &[".claude/autochecks.sh"]);
        check(Some(ExamRole::Unseen), &[".git/info/exclude", ".git/info/sparse-checkout"]);
        check(
            Some(ExamRole::Hooks),
            &[
                ".claude/settings.json",
                ".claude/settings.local.json",
                ".codex/hooks.json",
                ".github/hooks/any.json",
                ".opencode/plugins/any.ts",
                ".opencode/plugin/any.ts",
                "opencode.json",
                ".claude/skills/any/SKILL.md",
                ".claude/agents/vendor/any.md",
                "web/.claude/settings.json",
                "web/a/.claude/skills/any/SKILL.md",
            ],
        );
        let own =
            [".moai/config/sections/ralph.yaml", ".moai/rules/a.yml", ".claude/gulf-align.md"];
        check(Some(ExamRole::Engine), &own);
        check(
            Some(ExamRole::Runner),
            &["unittest.py", "tests/pytest/__init__.py", "GNUmakefile", ".npmrc", ".cargo/config"],
        );
        check(
            Some(ExamRole::Config),
            &[
                "tsconfig.json",
                "packages/a/tsconfig.build.json",
                "pyproject.toml",
                ".eslintrc.cjs",
                "eslint.config.mjs",
                "jest.config.ts",
                ".golangci.yml",
                "phpunit.xml.dist",
                ".github/workflows/ci.yml",
                "tests/conftest.py",
                "web/package.json",
                ".config/nextest.toml",
            ],
        );
        check(
            Some(ExamRole::Test),
            &[
                "tests/test_a.py",
                "test_b.py",
                "src/a_test.go",
                "src/a.test.tsx",
                "src/__tests__/a.js",
                "src/__snapshots__/a.test.js.snap",
                "src/test/java/a/AHelper.java",
                "src/a/PriceTest.kt",
                "spec/models/a_spec.rb",
                "test/a_test.exs",
                "tests/it/main.rs",
            ],
        );
        check(
            None,
            &[
                "README.md",
                "src/contest.py",
                "src/latest.ts",
                "src/Test.md",
                "node_modules/x/package.json",
                "vendor/a/a_test.go",
                "docs/RUBRIC.md",
                "tests/data.bin",
                "JUDGE_FEEDBACK.md",
                "progress.txt",
            ],
        );
    }

    #[test]
    fn only_hook_settings_are_compared() {
        let settings = path(".claude/settings.local.json");
        let of = |text: &str| relevant_bytes(&settings, text.as_bytes()).into_owned();
        let plain = of(r#"{"hooks": {"Stop": []}, "permissions": {"allow": []}}"#);
        assert_eq!(of(r#"{"permissions": {"allow": ["Bash"]}, "hooks": {"Stop": []}}"#), plain);
        assert_ne!(of(r#"{"hooks": {}}"#), plain);
        assert_ne!(of(r#"{"hooks": {"Stop": []}, "disableAllHooks": true}"#), plain);
        assert_ne!(of("{broken"), of("{broke"));
        assert!(is_irrelevant_settings(&settings, br#"{"permissions": {}}"#));
        assert!(!is_irrelevant_settings(&settings, br#"{"disableAllHooks": true}"#));
        assert!(!is_irrelevant_settings(&path("RUBRIC.md"), b""));
        let skill = path(".claude/skills/a/SKILL.md");
        assert!(is_irrelevant_settings(&skill, b"---\nname: a\n---\nText\n"));
        assert!(!is_irrelevant_settings(&skill, b"---\nhooks: {Stop: [x]}\n---\n"));
        let rules = path(".git/info/exclude");
        assert!(is_irrelevant_settings(&rules, b"# git ls-files --others\n\n# *.[oa]\n"));
        assert_eq!(relevant_bytes(&rules, b"# why\n*.log \n\na\n").as_ref(), b"*.log\na");
        assert_eq!(relevant_bytes(&path("RUBRIC.md"), b"x").as_ref(), b"x");
        let chosen = path("rust-toolchain.toml");
        assert!(is_irrelevant_settings(&chosen, b"[toolchain]\nchannel = \"1.90\"\n"));
        assert!(!is_irrelevant_settings(&chosen, b"[toolchain]\npath = \"/tmp/fake\"\n"));
    }
}
