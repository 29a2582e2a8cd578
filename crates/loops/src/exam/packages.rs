//! Files of package managers, by their names: manifests and lock files, the records of installers, and
//! caches among installed packages.

use crate::criteria::CheckPlan;
use moai_base::path::RelPath;

/// Files that say which packages a project needs.
const MANIFESTS: [&str; 17] = [
    "Pipfile",
    "Pipfile.lock",
    "bun.lock",
    "bun.lockb",
    "environment.yml",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.json",
    "pdm.lock",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "poetry.lock",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "uv.lock",
    "yarn.lock",
];
/// Files that installers write behind all others: npm, Yarn, pnpm.
const NODE_RECORDS: [&str; 4] =
    [".modules.yaml", ".package-lock.json", ".yarn-integrity", ".yarn-state.yml"];
/// The file that installers of Python write behind the others of a package, in its folder of metadata.
const PYTHON_RECORD: &str = "RECORD";
const PYTHON_METADATA_END: &str = ".dist-info";
/// The folder with the packages of Node, and the hidden folders in it that hold more than caches.
const NODE_PACKAGES: &str = "node_modules";
const NODE_FOLDERS: [&str; 2] = [".bin", ".pnpm"];
/// Folder of Python's compiled modules.
const PYTHON_CACHE: &str = "__pycache__";

/// Programs that install packages when one of these words follows.
const INSTALLERS: [&str; 11] =
    ["bun", "hatch", "npm", "pdm", "pip", "pipenv", "pnpm", "poetry", "python", "uv", "yarn"];
const INSTALLING: [&str; 4] = ["ci", "i", "install", "sync"];
/// Programs that install on their own before they run something, and the word that follows.
const SYNCING: [(&str, &str); 3] = [("hatch", "run"), ("hatch", "test"), ("uv", "run")];

/// True if a file says which packages the project needs.
#[must_use]
pub fn is_manifest(path: &RelPath) -> bool {
    let name = path.file_name();
    let is_text = path.extension().is_some_and(|end| matches!(end.as_str(), "in" | "txt"));
    MANIFESTS.contains(&name) || is_text && path.as_str().contains("requirements")
}

/// True if an installer writes a file among packages when it has written the others.
#[must_use]
pub fn is_installers_record(path: &RelPath) -> bool {
    let mut parts = path.as_str().rsplit('/');
    let (name, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    NODE_RECORDS.contains(&name) && folder == NODE_PACKAGES
        || name == PYTHON_RECORD && folder.ends_with(PYTHON_METADATA_END)
}

/// True if a file or folder among packages is written when they run.
#[must_use]
pub fn is_packages_cache(path: &RelPath) -> bool {
    let mut parts = path.as_str().rsplit('/');
    let (name, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let is_hidden = folder == NODE_PACKAGES && name.starts_with('.');
    name == PYTHON_CACHE
        || is_hidden && !NODE_FOLDERS.contains(&name) && !NODE_RECORDS.contains(&name)
}

/// True if the checks install packages themselves; `autochecks` is the text of the project's
/// script.
#[must_use]
pub fn plan_installs_packages(plan: &CheckPlan, autochecks: &str) -> bool {
    let commands =
        plan.commands.iter().map(|command| command.argv.iter().map(String::as_str).collect());
    let lines = autochecks.lines().filter(|line| !line.trim_start().starts_with('#'));
    let script = lines.flat_map(|line| line.split([';', '&', '|', '(', ')']));
    let script = script.map(|part| part.split_whitespace().collect());
    let mut all = commands.chain(script);
    all.any(|words: Vec<&str>| installs(&words))
}

fn installs(words: &[&str]) -> bool {
    let program = words.iter().position(|word| INSTALLERS.contains(&program_name(word)));
    let Some(program) = program else { return false };
    let (name, rest) = (program_name(words[program]), &words[program + 1..]);
    let mut synced = SYNCING.iter().filter(|(known, _)| *known == name);
    synced.any(|(_, word)| rest.first() == Some(word))
        || rest.iter().any(|word| INSTALLING.contains(word))
}

/// `/usr/bin/python3.12` is `python`.
fn program_name(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criteria::CheckCriterion;
    use crate::samples::command;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).expect("a relative path")
    }

    #[test]
    fn files_of_package_managers_are_known_by_their_names() {
        for text in ["web/package.json", "uv.lock", "requirements-dev.txt", "requirements/a.in"] {
            assert!(is_manifest(&path(text)), "{text}");
        }
        assert!(!is_manifest(&path("notes.txt")) && !is_manifest(&path("src/package.py")));
        let site = ".venv/lib/python3.12/site-packages";
        for text in ["node_modules/.package-lock.json", "node_modules/.modules.yaml"] {
            assert!(is_installers_record(&path(text)) && !is_packages_cache(&path(text)), "{text}");
        }
        assert!(is_installers_record(&path(&format!("{site}/a-1.dist-info/RECORD"))));
        assert!(!is_installers_record(&path(&format!("{site}/a/RECORD"))));
        for text in ["node_modules/.cache", "node_modules/.vite", "a/node_modules/.x"] {
            assert!(is_packages_cache(&path(text)), "{text}");
        }
        assert!(is_packages_cache(&path(&format!("{site}/a/__pycache__"))));
        for text in ["node_modules/.bin", "node_modules/.pnpm", "node_modules/a/.eslintrc.js"] {
            assert!(!is_packages_cache(&path(text)), "{text}");
        }
    }

    #[test]
    fn checks_that_install_are_known_by_their_words() {
        let check = |line: &str, is_installing: bool| {
            let commands = vec![command(line, CheckCriterion::TestPass)];
            let plan = CheckPlan { commands, ..CheckPlan::default() };
            assert_eq!(plan_installs_packages(&plan, ""), is_installing, "{line}");
            let script = format!("#!/bin/sh\nset -e\ntrue && {line}\n");
            let plan = CheckPlan::default();
            assert_eq!(plan_installs_packages(&plan, &script), is_installing, "{line}");
        };
        for line in ["npm ci", "pip3 install -r a.txt", "python3 -m pip install .", "uv run pytest"]
        {
            check(line, true);
        }
        for line in ["npm test", "python3 -m pytest", "poetry run pytest", "make install"] {
            check(line, false);
        }
        assert!(!plan_installs_packages(&CheckPlan::default(), "# npm ci\nnpm test\n"));
    }
}
