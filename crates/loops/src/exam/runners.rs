//! Files that test runners, build tools and interpreters load by themselves: adding one changes a
//! check without touching it.

use std::collections::BTreeSet;

use crate::criteria::CheckPlan;
use moai_base::path::RelPath;

/// Files that some programs load at their start.
struct LoadedFiles {
    /// The programs, without version numbers.
    programs: &'static [&'static str],
    /// Names of files in any folder, or their last path components.
    names: &'static [&'static str],
    /// Python modules that take precedence over installed ones of the same name, in any folder.
    modules: &'static [&'static str],
    /// The same, but only in the root, which the interpreter searches first.
    root_modules: &'static [&'static str],
    /// Files that they search for in the folders above the project, too.
    above: &'static [&'static str],
    /// The user's own files, below the home folder; a name that ends with `/` is a folder.
    user_files: &'static [&'static str],
}

const NONE: LoadedFiles = LoadedFiles {
    programs: &[],
    names: &[],
    modules: &[],
    root_modules: &[],
    above: &[],
    user_files: &[],
};

/// The home folder in the paths of an exam.
pub const HOME: &str = "~/";
/// Their prefix for a file in a folder above the project, before its absolute path.
pub const ABOVE: &str = "...";
/// The user's files that shells read if they are login shells or talk to a person.
const LOGIN_FILES: [&str; 9] = [
    ".bash_login",
    ".bash_profile",
    ".bashrc",
    ".profile",
    ".zlogin",
    ".zprofile",
    ".zshrc",
    ".config/fish/config.fish",
    ".kshrc",
];

const LOADED: &[LoadedFiles] = &[
    LoadedFiles {
        programs: &["python", "pytest", "unittest", "mypy", "coverage", "nose2"],
        names: &[".pytest.ini", "pytest.toml", ".pytest.toml", ".python-version"],
        modules: &[
            "_pytest",
            "coverage",
            "nose2",
            "pluggy",
            "pytest",
            "sitecustomize",
            "unittest",
            "usercustomize",
        ],
        // Modules that unittest and pytest import before they collect tests.
        root_modules: &[
            "argparse",
            "ast",
            "asyncio",
            "atexit",
            "attr",
            "attrs",
            "base64",
            "bdb",
            "binascii",
            "bisect",
            "bz2",
            "calendar",
            "cmd",
            "code",
            "codecs",
            "codeop",
            "collections",
            "colorama",
            "concurrent",
            "configparser",
            "contextlib",
            "contextvars",
            "copy",
            "copyreg",
            "csv",
            "ctypes",
            "dataclasses",
            "datetime",
            "difflib",
            "dis",
            "doctest",
            "email",
            "enum",
            "exceptiongroup",
            "faulthandler",
            "fnmatch",
            "fractions",
            "functools",
            "getpass",
            "gettext",
            "glob",
            "gzip",
            "hashlib",
            "heapq",
            "html",
            "importlib",
            "iniconfig",
            "inspect",
            "io",
            "ipaddress",
            "itertools",
            "json",
            "keyword",
            "linecache",
            "locale",
            "logging",
            "lzma",
            "multiprocessing",
            "numbers",
            "opcode",
            "operator",
            "optparse",
            "os",
            "packaging",
            "pathlib",
            "pdb",
            "pickle",
            "pkgutil",
            "platform",
            "posixpath",
            "pprint",
            "pygments",
            "queue",
            "quopri",
            "random",
            "re",
            "readline",
            "reprlib",
            "runpy",
            "select",
            "selectors",
            "shlex",
            "shutil",
            "signal",
            "site",
            "socket",
            "ssl",
            "stat",
            "string",
            "struct",
            "subprocess",
            "sysconfig",
            "tempfile",
            "textwrap",
            "threading",
            "timeit",
            "token",
            "tokenize",
            "tomli",
            "tomllib",
            "traceback",
            "types",
            "typing",
            "unicodedata",
            "urllib",
            "uuid",
            "warnings",
            "weakref",
            "xml",
            "zipfile",
            "zipimport",
            "zlib",
            "zoneinfo",
        ],
        above: &[
            ".pytest.ini",
            ".python-version",
            "conftest.py",
            "pyproject.toml",
            "pytest.ini",
            "pytest.toml",
            "setup.cfg",
            "tox.ini",
        ],
        user_files: &[".mypy.ini", ".config/mypy/config", ".pyenv/version", ".python-version"],
    },
    LoadedFiles { programs: &["make", "gmake"], names: &["GNUmakefile", "makefile"], ..NONE },
    LoadedFiles {
        programs: &["npm", "npx", "pnpm", "yarn", "bun", "node"],
        names: &[
            ".node-version",
            ".npmrc",
            ".pnpmfile.cjs",
            ".yarnrc",
            ".yarnrc.yml",
            "bunfig.toml",
        ],
        above: &[".node-version", ".yarnrc.yml"],
        user_files: &[".bunfig.toml", ".config/pnpm/rc", ".node-version", ".npmrc", ".yarnrc.yml"],
        ..NONE
    },
    LoadedFiles {
        programs: &["cargo", "rustc"],
        names: &["rust-toolchain", "rust-toolchain.toml", ".cargo/config", ".cargo/config.toml"],
        above: &[".cargo/config", ".cargo/config.toml", "rust-toolchain", "rust-toolchain.toml"],
        user_files: &[".cargo/config", ".cargo/config.toml", ".config/nextest/config.toml"],
        ..NONE
    },
    LoadedFiles {
        programs: &["mvn", "mvnw", "gradle", "gradlew"],
        names: &[
            ".mvn/extensions.xml",
            ".mvn/jvm.config",
            ".mvn/maven.config",
            "gradle.properties",
            "gradle-wrapper.properties",
            "init.gradle",
        ],
        user_files: &[
            ".gradle/gradle.properties",
            ".gradle/init.d/",
            ".gradle/init.gradle",
            ".gradle/init.gradle.kts",
            ".m2/settings.xml",
            ".mavenrc",
        ],
        ..NONE
    },
    LoadedFiles {
        programs: &["go", "gotestsum", "golangci-lint"],
        names: &["go.work", ".go-version"],
        above: &[".go-version", "go.work"],
        user_files: &[".config/go/env"],
        ..NONE
    },
    LoadedFiles {
        programs: &["rspec", "ruby"],
        names: &[".rspec-local", ".ruby-version"],
        user_files: &[".rspec", ".config/rspec/options"],
        ..NONE
    },
    LoadedFiles { programs: &["zsh"], user_files: &[".zshenv"], ..NONE },
    LoadedFiles { programs: &["bash", "ksh", "sh", "zsh"], user_files: &LOGIN_FILES, ..NONE },
    // asdf and mise replace each of these programs by one that reads these files.
    LoadedFiles {
        programs: &[
            "bundle", "cargo", "dart", "dotnet", "elixir", "flutter", "go", "gradle", "java",
            "mix", "mvn", "node", "npm", "npx", "php", "pnpm", "pytest", "python", "rspec", "ruby",
            "swift", "yarn",
        ],
        names: &[".tool-versions", ".mise.toml", "mise.toml", "mise.local.toml"],
        above: &[".tool-versions", ".mise.toml", "mise.toml"],
        user_files: &[".tool-versions", ".asdfrc", ".config/mise/config.toml"],
        ..NONE
    },
    LoadedFiles {
        programs: &["dotnet"],
        names: &["Directory.Build.props", "Directory.Build.targets", "global.json"],
        above: &["Directory.Build.props", "Directory.Build.targets", "global.json"],
        ..NONE
    },
    LoadedFiles {
        programs: &["just", "task"],
        names: &["justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml"],
        ..NONE
    },
];

/// Programs that start others, which makes the started program unknown.
const STARTERS: &[&str] = &[
    "bash", "bundle", "bun", "dash", "env", "gmake", "hatch", "just", "make", "nox", "npm", "npx",
    "pdm", "pipenv", "pnpm", "poetry", "rake", "sh", "task", "tox", "uv", "yarn", "zsh",
];

/// Folders of installed Python packages.
const PACKAGE_FOLDERS: &[&str] = &["dist-packages", "site-packages"];
/// Modules that Python imports at its start.
const STARTUP_MODULES: &[&str] = &["sitecustomize", "usercustomize"];

/// The file with entry points, and the suffixes of the folders with package metadata.
const ENTRY_POINTS: &str = "entry_points.txt";
const METADATA_ENDS: [&str; 2] = [".dist-info", ".egg-info"];

/// The end of the names of path files.
const PATH_FILE_END: &str = ".pth";

/// Extensions of a Python module.
const MODULE_ENDS: &[&str] = &["py", "pyc", "pyd", "so"];

/// Configuration that runners load from any folder; no diff shows those that git ignores.
const LOADED_CONFIG: &[&str] = &[
    ".coveragerc",
    ".rspec",
    "Makefile",
    "Rakefile",
    "conftest.py",
    "noxfile.py",
    "pyproject.toml",
    "pytest.ini",
    "setup.cfg",
    "tox.ini",
];

/// The same, by the beginning of the name.
const LOADED_CONFIG_STARTS: &[&str] = &[
    ".mocharc.",
    "jest.config.",
    "jest.setup.",
    "phpunit.xml",
    "vitest.config.",
    "vitest.setup.",
    "vitest.workspace.",
];

/// True if a runner loads a file of this name.
#[must_use]
pub fn is_loaded(path: &RelPath) -> bool {
    LOADED.iter().any(|row| row.holds(path))
}

/// True if a program loads a file at its start that no diff of the project shows: one of the user's
/// own files, one above the project, or one among the installed packages that Python always runs.
#[must_use]
pub fn is_startup_file(path: &RelPath) -> bool {
    is_run_by_python(path)
        || is_entry_points(path)
        || LOADED.iter().any(|row| row.has_file_outside(path))
}

/// True if only a login shell, or one that talks to a person, reads this file of the user.
#[must_use]
pub fn is_of_login_shell(path: &RelPath) -> bool {
    path.as_str().strip_prefix(HOME).is_some_and(|below| LOGIN_FILES.contains(&below))
}

/// The files that some program searches for in the folders above the project.
pub fn files_above() -> impl Iterator<Item = &'static str> {
    let all: BTreeSet<&str> = LOADED.iter().flat_map(|row| row.above.iter().copied()).collect();
    all.into_iter()
}

/// The user's own files, below the home folder, that some program loads at its start; a name that
/// ends with `/` is a folder.
pub fn user_files() -> impl Iterator<Item = &'static str> {
    LOADED.iter().flat_map(|row| row.user_files.iter().copied())
}

fn is_run_by_python(path: &RelPath) -> bool {
    let Some((folder, name)) = path.as_str().rsplit_once('/') else { return false };
    let is_module = module(name).is_some_and(|(module, _)| STARTUP_MODULES.contains(&module));
    PACKAGE_FOLDERS.contains(&last(folder)) && (is_module || name.ends_with(PATH_FILE_END))
}

/// True if these are the entry points of a package that was installed for development: pytest loads
/// plugins that those name below its folder.
fn is_entry_points(path: &RelPath) -> bool {
    let is_metadata = |folder: &str| METADATA_ENDS.iter().any(|end| folder.ends_with(end));
    path.as_str().rsplit_once('/').is_some_and(|(folder, name)| {
        name == ENTRY_POINTS && is_metadata(folder) && !folder.contains(PACKAGE_FOLDERS[1])
    })
}

/// The plugins of pytest that entry points name.
#[must_use]
pub fn plugins_of_entry_points(path: &RelPath, bytes: &[u8]) -> Option<Vec<u8>> {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    is_entry_points(path).then(|| {
        let plugins = lines.skip_while(|line| *line != b"[pytest11]").skip(1);
        plugins.take_while(|line| !line.starts_with(b"[")).collect::<Vec<_>>().join(&b'\n')
    })
}

/// The lines of a path file of Python that run code; it ignores the others at its start, or searches
/// the folders that they name after all others.
#[must_use]
pub fn code_of_path_file(path: &RelPath, bytes: &[u8]) -> Option<Vec<u8>> {
    let is_path_file = is_run_by_python(path) && path.as_str().ends_with(PATH_FILE_END);
    is_path_file.then(|| {
        let lines = bytes.split(|byte| *byte == b'\n');
        lines.filter(|line| line.starts_with(b"import")).collect::<Vec<_>>().join(&b'\n')
    })
}

/// True if a Python module of the project has a name that runners import: its edits are work, only
/// a new one takes the place of another.
#[must_use]
pub fn is_own_module(path: &RelPath) -> bool {
    let holds = |row: &LoadedFiles| {
        module(path.as_str())
            .is_some_and(|(module, folder)| folder.is_empty() && row.root_modules.contains(&module))
    };
    LOADED.iter().any(holds)
}

/// True if a file that git ignores changes what a runner does.
#[must_use]
pub fn is_loaded_unseen(path: &RelPath) -> bool {
    let name = last(path.as_str());
    LOADED_CONFIG.contains(&name)
        || LOADED_CONFIG_STARTS.iter().any(|start| name.starts_with(start))
}

/// True if a folder of this name may be a Python package that takes precedence over an installed
/// one, or describes one.
#[must_use]
pub fn is_package(folder: &str) -> bool {
    METADATA_ENDS.iter().any(|end| folder.ends_with(end))
        || LOADED
            .iter()
            .any(|row| row.modules.contains(&folder) || row.root_modules.contains(&folder))
}

/// True if a program that these checks run loads the file; a script may run anything.
#[must_use]
pub fn is_loaded_by_checks(path: &RelPath, plan: &CheckPlan, has_script: bool) -> bool {
    let programs: Vec<&str> =
        plan.commands.iter().flat_map(|it| &it.argv).map(|word| program(word)).collect();
    let is_open = has_script
        || plan.commands.iter().any(|it| it.argv.first().is_some_and(|word| word.contains('/')))
        || programs.iter().any(|word| STARTERS.contains(word));
    LOADED
        .iter()
        .filter(|row| row.holds(path))
        .any(|row| is_open || row.programs.iter().any(|program| programs.contains(program)))
}

/// The last component of a path without a version: `/usr/bin/python3.12` is `python`.
fn program(word: &str) -> &str {
    last(word).trim_end_matches(|it: char| it.is_ascii_digit() || it == '.')
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl LoadedFiles {
    fn holds(&self, path: &RelPath) -> bool {
        let text = path.as_str();
        let is_python = !self.root_modules.is_empty();
        let is_of_python = is_run_by_python(path) || is_entry_points(path);
        if is_python && is_of_python || self.has_file_outside(path) {
            return true;
        }
        if text.starts_with(HOME) || text.starts_with(ABOVE) {
            return false;
        }
        if self.names.iter().any(|name| ends_with_components(text, name)) {
            return true;
        }
        let Some((module, folder)) = module(text) else { return false };
        self.modules.contains(&module) || (folder.is_empty() && self.root_modules.contains(&module))
    }

    /// True if this is one of the user's own files, or one above the project.
    fn has_file_outside(&self, path: &RelPath) -> bool {
        let text = path.as_str();
        if text.starts_with(ABOVE) {
            return self.above.iter().any(|name| ends_with_components(text, name));
        }
        text.strip_prefix(HOME).is_some_and(|below| {
            let is_at =
                |name: &str| name == below || name.ends_with('/') && below.starts_with(name);
            self.user_files.iter().any(|name| is_at(name))
        })
    }
}

/// The source file that Python would load without this compiled module or package next to it.
#[must_use]
pub fn shadowed_source(path: &RelPath) -> Option<RelPath> {
    let (stem, folder) = module(path.as_str())?;
    let is_package = last(path.as_str()).starts_with("__init__.");
    let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let source = RelPath::parse(&format!("{start}{stem}.py"));
    // Python prefers a source file to what it has compiled from it.
    let is_extension = path.extension().is_some_and(|end| matches!(&*end, "so" | "pyd"));
    source.filter(|_| is_package || is_extension)
}

/// True if these are the last components of a path.
fn ends_with_components(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// The Python module or package of a file, with its folder.
fn module(path: &str) -> Option<(&str, &str)> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, end) = name.split_once('.')?;
    if !MODULE_ENDS.contains(&end.rsplit('.').next().unwrap_or(end)) {
        return None;
    }
    if stem != "__init__" && stem != "__main__" {
        return Some((stem, folder));
    }
    let (above, package) = folder.rsplit_once('/').unwrap_or(("", folder));
    Some((package, above))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criteria::CheckCriterion;
    use crate::samples::command;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).expect("a relative path")
    }

    fn check(line: &str, loaded: &[&str], others: &[&str]) {
        let commands = vec![command(line, CheckCriterion::TestPass)];
        let plan = CheckPlan { commands, ..CheckPlan::default() };
        for text in loaded {
            assert!(is_loaded_by_checks(&path(text), &plan, false), "{line}: {text}");
        }
        for text in others {
            assert!(!is_loaded_by_checks(&path(text), &plan, false), "{line}: {text}");
        }
    }

    #[test]
    fn a_runner_loads_the_files_of_its_row_and_a_starter_may_load_all() {
        let python = [
            "unittest.py",
            "unittest/__init__.py",
            "unittest.cpython-312-x86_64-linux-gnu.so",
            "pytest/__main__.py",
            "tests/pytest.pyc",
            "sitecustomize.py",
            ".pytest.ini",
            "traceback.py",
        ];
        let others = ["src/app/types.py", "unittest.txt", "src/test.py", ".npmrc", "GNUmakefile"];
        check("python3.12 -m unittest", &python, &others);
        check("pytest -q", &python, &others);
        check("cargo test", &["rust-toolchain", "a/.cargo/config"], &["unittest.py", ".npmrc"]);
        check("make test", &["makefile", "unittest.py", ".npmrc", "rust-toolchain.toml"], &[]);
        check("go test ./...", &["~/.config/go/env", "~/.tool-versions"], &["~/.npmrc"]);
        check("npm test", &["~/.npmrc", "~/.gradle/init.d/a.gradle"], &[]);
        check("./check", &["unittest.py", "web/.npmrc"], &["my.npmrc", "src/main.rs"]);
        assert!(is_loaded_by_checks(&path("unittest.py"), &CheckPlan::default(), true));
        assert!(!is_loaded_by_checks(&path("unittest.py"), &CheckPlan::default(), false));
    }

    #[test]
    fn a_package_and_an_extension_module_take_the_place_of_a_source_file() {
        for (file, source) in [
            ("src/app/__init__.py", Some("src/app.py")),
            ("src/app/__init__.pyc", Some("src/app.py")),
            ("src/app.so", Some("src/app.py")),
            ("app.cpython-312-x86_64-linux-gnu.so", Some("app.py")),
            ("src/app.pyc", None),
            ("src/app.py", None),
            ("src/app.txt", None),
        ] {
            let found = shadowed_source(&path(file));
            assert_eq!(found.as_ref().map(RelPath::as_str), source, "{file}");
        }
    }

    #[test]
    fn configuration_that_runners_load_is_distinguished_from_build_output() {
        for text in ["conftest.py", "tests/conftest.py", "web/jest.config.mjs"] {
            assert!(is_loaded_unseen(&path(text)), "{text}");
        }
        for text in ["out/package.json", "a.py", "lib/tsconfig.json"] {
            assert!(!is_loaded_unseen(&path(text)), "{text}");
        }
        let startup = ".venv/lib/python3.12/site-packages/";
        for name in ["a.pth", "sitecustomize.py", "usercustomize.cpython-312.so"] {
            assert!(is_startup_file(&path(&format!("{startup}{name}"))), "{name}");
        }
        for text in ["~/.npmrc", "~/.gradle/init.d/a.gradle", "~/.local/lib/site-packages/a.pth"] {
            assert!(is_startup_file(&path(text)), "{text}");
        }
        for text in [
            ".npmrc",
            "~/src/.npmrc",
            "a.pth",
            "sitecustomize.py",
            ".venv/lib/site-packages/a/sitecustomize.py",
        ] {
            assert!(!is_startup_file(&path(text)), "{text}");
        }
        let paths = b"/src\nimport _virtualenv\n# import x\n";
        let code = code_of_path_file(&path(&format!("{startup}a.pth")), paths);
        assert_eq!(code.as_deref(), Some(b"import _virtualenv".as_slice()));
        assert!(is_own_module(&path("json.py")) && is_own_module(&path("json/__init__.py")));
        assert!(!is_own_module(&path("app/json.py")) && !is_own_module(&path("unittest.py")));
        assert!(is_package("unittest") && is_package("json") && !is_package("app"));
    }
}
