//! Tests of server selection: which servers, from where, with which settings, in which folder.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::*;
use crate::servers::ProjectPrograms;
use crate::servers::installed_packages::InstalledPackages;
use moai_lsp::registry::{Catalogue, CatalogueOverrides};

/// A project in a temporary folder, with executables below any `bin` or `.bin`.
struct Project {
    _folder: tempfile::TempDir,
    root: PathBuf,
    options: CatalogueOverrides,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("project");
        for (name, text) in files {
            let file = root.join(name);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
            std::fs::write(&file, text).expect("a file");
            if name.contains("bin/") {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                std::fs::set_permissions(&file, mode).expect("mode");
            }
        }
        Self { _folder: folder, root, options: CatalogueOverrides::default() }
    }

    fn choosing(mut self, language: &str, ids: &[&str]) -> Self {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        self.options.choose.insert(language.to_owned(), ids);
        self
    }

    /// PATH and the home are folders of the project.
    fn chosen(&self, path: &str) -> Vec<ServerSelection> {
        self.chosen_with("path/bin", &[], path)
    }

    /// With this folder of the project as PATH, and more variables.
    fn chosen_with(
        &self,
        folder: &str,
        variables: &[(&str, &str)],
        path: &str,
    ) -> Vec<ServerSelection> {
        let text = |folder: &str| self.root.join(folder).display().to_string();
        let mut env =
            BTreeMap::from([("PATH".to_owned(), text(folder)), ("HOME".to_owned(), text("home"))]);
        env.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let catalogue = Catalogue::built_in().clone().with_user_options(&self.options).into();
        let context =
            ServerContext::new(self.root.clone(), env.into(), catalogue, ProjectPrograms::Allowed);
        let path = RelPath::below(&self.root, &self.root.join(path)).expect("relative");
        select_servers(&context, &self.root.join("data"), &InstalledPackages::default(), &path)
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).expect("inside").display().to_string()
    }

    /// `id program`, or `id: gap`, of every server.
    fn words(&self, path: &str) -> Vec<String> {
        let word = |chosen: ServerSelection| match chosen {
            Ok(choice) => format!("{} {}", choice.id, self.relative(&choice.program)),
            Err((sensor, gap)) => format!("{sensor}: {gap}"),
        };
        self.chosen(path).into_iter().map(word).collect()
    }

    fn only(&self, path: &str) -> ResolvedServer {
        let [chosen] = <[ServerSelection; 1]>::try_from(self.chosen(path)).expect("one server");
        chosen.expect("it is there")
    }
}

fn check(files: &[(&str, &str)], path: &str, expected: &[&str]) {
    assert_eq!(Project::new(files).words(path), expected, "{path} among {files:?}");
}

const PYRIGHT: &str = "data/servers/pyright@1.1.414/node_modules/.bin/pyright-langserver";
const RUFF: &str = "data/servers/ruff@0.17.6/venv/bin/ruff";

#[test]
fn the_projects_typescript_chooses_the_server() {
    let package = "node_modules/typescript/package.json";
    let gap = |id: &str| format!("{id}: not installed: moai-ralph server install typescript");
    let (native, tsls) = (gap("typescript-native"), gap("typescript-language-server"));
    check(&[], "a.ts", &[&tsls]);
    check(&[(package, r#"{"version": "5.9.3"}"#)], "src/a.ts", &[&tsls]);
    let seven = (package, r#"{"version": "7.0.2"}"#);
    let local = ("node_modules/.bin/tsc", "");
    check(&[seven, local], "src/a.ts", &["typescript-native node_modules/.bin/tsc"]);
    // Another version's findings would not apply to this project.
    let wanted = ("package.json", r#"{"devDependencies": {"typescript": "^7.0.0"}}"#);
    check(&[wanted, ("path/bin/typescript-language-server", "")], "a.tsx", &[&native]);
}

#[test]
fn the_first_installed_alternative_is_asked() {
    check(&[], "a.py", &["pyright: not installed: moai-ralph server install python"]);
    check(&[("path/bin/ty", "")], "a.py", &["ty path/bin/ty"]);
    check(&[("path/bin/ty", ""), (PYRIGHT, "")], "a.py", &[&format!("pyright {PYRIGHT}")]);
}

#[test]
fn a_companion_is_asked_where_it_is_installed() {
    let both = [format!("pyright {PYRIGHT}"), format!("ruff {RUFF}")];
    check(&[(PYRIGHT, ""), (RUFF, "")], "a.py", &both.each_ref().map(String::as_str));
    let gap = "pyright: not installed: moai-ralph server install python";
    check(&[("path/bin/ruff", "")], "a.py", &[gap, "ruff path/bin/ruff"]);
}

#[test]
fn chosen_servers_are_all_asked_and_missing_ones_are_gaps() {
    let project = Project::new(&[(PYRIGHT, ""), ("path/bin/ty", "")]);
    let project = project.choosing("python", &["ty", "basedpyright", "ruff"]);
    let gap = |id: &str| format!("{id}: not installed: moai-ralph server install {id}");
    let expected = ["ty path/bin/ty".to_owned(), gap("basedpyright"), gap("ruff")];
    assert_eq!(project.words("a.py"), expected);
    // Chosen by name, a server needs no project that asks for it.
    let native = "data/servers/typescript-native@7.0.2/node_modules/.bin/tsc";
    let project = Project::new(&[(native, "")]).choosing("typescript", &["typescript-native"]);
    assert_eq!(project.words("a.ts"), [format!("typescript-native {native}")]);
}

#[test]
fn auxiliary_languages_count_where_their_server_is_installed_or_chosen() {
    check(&[], "a.yaml", &[]);
    let program = "path/bin/yaml-language-server";
    check(&[(program, "")], "a.yaml", &[&format!("yaml-language-server {program}")]);
    let project = Project::new(&[]).choosing("yaml", &["yaml-language-server"]);
    let gap = "yaml-language-server: not installed: moai-ralph server install yaml";
    assert_eq!(project.words("a.yaml"), [gap]);
}

#[test]
fn a_server_without_its_required_program_is_a_gap() {
    let gopls = ("path/bin/gopls", "");
    let gap = "gopls: go, which it requires, is not on PATH: moai-ralph server install go";
    check(&[gopls], "a.go", &[gap]);
    check(&[gopls, ("path/bin/go", "")], "a.go", &["gopls path/bin/gopls"]);
    check(&[], "a.rb", &["ruby-lsp: not installed: gem install ruby-lsp"]);
}

#[test]
fn an_installed_server_gets_the_projects_interpreter_and_reports_its_version() {
    let project = Project::new(&[(PYRIGHT, ""), (".venv/bin/python", "")]);
    let choice = project.only("a.py");
    let python = project.root.join(".venv/bin/python").display().to_string();
    assert_eq!(choice.settings, serde_json::json!({"python": {"pythonPath": python}}));
    assert_eq!(choice.version.as_deref(), Some("1.1.414"));
    let choice = Project::new(&[("path/bin/pyright-langserver", "")]).only("a.py");
    assert_eq!(choice.settings, serde_json::json!({"python": {"pythonPath": null}}));
    assert_eq!(choice.version, None);
}

#[test]
fn placeholders_lead_to_the_servers_folder_and_to_storage_of_its_own() {
    let java = "data/servers/jdtls@1.26.1/jre/bin/java";
    let project = Project::new(&[(java, ""), ("app/pom.xml", ""), ("app/core/pom.xml", "")]);
    let choice = project.only("app/core/A.java");
    assert_eq!(project.relative(&choice.program), java);
    assert_eq!(project.relative(&choice.workspace), "app");
    let after = |flag: &str| {
        let at = choice.spec.args.iter().position(|it| it == flag).expect("the flag");
        project.relative(Path::new(&choice.spec.args[at + 1]))
    };
    assert_eq!(after("-jar"), "data/servers/jdtls@1.26.1/jdtls/plugins/launcher.jar");
    let storage = after("-data");
    assert!(storage.starts_with("data/storage/jdtls-") && storage.ends_with("/data"), "{storage}");
    let folder = project.root.join(&storage).parent().expect("a parent").to_path_buf();
    let mode = std::os::unix::fs::MetadataExt::mode(&folder.metadata().expect("it was made"));
    assert_eq!(mode & 0o777, 0o700);
    assert!(choice.spec.args.iter().all(|argument| !argument.contains("${")));
}

#[test]
fn a_servers_folder_is_found_by_its_markers() {
    let check = |files: &[&str], path: &str, expected: &str| {
        let tools = ["path/bin/gopls", "path/bin/go", "path/bin/rust-analyzer", "path/bin/ty"];
        let all: Vec<_> = files.iter().chain(&tools).map(|name| (*name, "")).collect();
        let project = Project::new(&all);
        assert_eq!(
            project.relative(&project.only(path).workspace),
            expected,
            "{path} in {files:?}"
        );
    };
    check(&["go.mod", "tool/go.mod"], "tool/cmd/a.go", "tool");
    check(&["go.mod", "tool/go.mod"], "cmd/a.go", "");
    check(&["go.work", "tool/go.mod"], "tool/a.go", "");
    check(&["a/Cargo.toml", "a/b/Cargo.toml"], "a/b/src/lib.rs", "a");
    check(&["sub/pyproject.toml"], "sub/a.py", "");
    check(&[], "a.rs", "");
}

#[test]
fn rustups_link_counts_only_where_the_component_is_installed() {
    let proxy = |files: &[(&str, &str)], expected: &str| {
        let project = Project::new(&[&[("home/bin/rustup", "")], files].concat());
        let link = project.root.join("path/bin/rust-analyzer");
        std::fs::create_dir_all(link.parent().expect("a parent")).expect("folders");
        std::os::unix::fs::symlink(project.root.join("home/bin/rustup"), link).expect("a link");
        assert_eq!(project.words("a.rs"), [expected], "{files:?}");
    };
    let there = "rust-analyzer path/bin/rust-analyzer";
    let gap = "rust-analyzer: not installed: moai-ralph server install rust";
    let default = ("home/.rustup/settings.toml", "default_toolchain = \"stable-x\"\n[overrides]\n");
    let stable = ("home/.rustup/toolchains/stable-x/bin/rustc", "");
    let stable_too = ("home/.rustup/toolchains/stable-x/bin/rust-analyzer", "");
    let old = ("home/.rustup/toolchains/1.80-x/bin/rustc", "");
    let pin = ("rust-toolchain.toml", "[toolchain]\nchannel = \"1.80\" # old\n");
    proxy(&[default, stable], gap);
    proxy(&[default, stable, stable_too], there);
    proxy(&[default, stable_too, old, pin], gap);
    // If files cannot decide it, the server has to report it.
    proxy(&[stable], there);
    let overrides = ("home/.rustup/settings.toml", "[overrides]\n\"/x\" = \"stable-x\"\n");
    proxy(&[overrides, stable], there);
}

#[test]
fn a_change_of_a_file_read_at_start_restarts_the_server() {
    let project = Project::new(&[(PYRIGHT, ""), ("pyproject.toml", ""), ("path/bin/clangd", "")]);
    let before = project.only("a.py").identity;
    let later = SystemTime::now() + std::time::Duration::from_secs(5);
    let set = |name: &str| {
        let file = std::fs::File::options().append(true).create(true).open(project.root.join(name));
        file.and_then(|file| file.set_modified(later)).expect("writable");
    };
    set("compile_commands.json");
    assert_eq!(project.only("a.py").identity, before);
    set("pyproject.toml");
    assert_ne!(project.only("a.py").identity, before);
    // The file that tells pyenv which Python to start.
    let before = project.only("a.py").identity;
    set(".python-version");
    let after = project.only("a.py").identity;
    assert!(after != before && after.shares_environment(before));
    let before = project.only("a.c").identity;
    std::fs::remove_file(project.root.join("compile_commands.json")).expect("it is ours");
    assert_ne!(project.only("a.c").identity, before);
}

#[test]
fn prose_is_in_no_language() {
    check(&[], "README.md", &[]);
}

#[test]
fn pyright_works_in_the_folder_of_the_nearest_configuration() {
    let files = [
        (PYRIGHT, ""),
        ("pyproject.toml", "[project]\nname = \"all\"\n[tool.pyright]\n"),
        ("strict/pyrightconfig.json", "{}"),
        ("own/pyproject.toml", "[tool.pyright.defineConstant]\nX = 1\n"),
        ("plain/pyproject.toml", "# [tool.pyright]\n[project]\nname = \"plain\"\n"),
    ];
    let project = Project::new(&files);
    for (file, folder) in [
        ("a.py", ""),
        ("strict/a.py", "strict"),
        ("strict/deep/a.py", "strict"),
        ("own/a.py", "own"),
        ("plain/a.py", ""),
    ] {
        assert_eq!(project.only(file).workspace, project.root.join(folder), "{file}");
    }
    let before = project.only("own/a.py").identity;
    std::fs::remove_file(project.root.join("own/pyproject.toml")).expect("it is ours");
    assert_ne!(project.only("own/a.py").identity, before);
}

#[test]
fn rust_analyzer_works_in_the_nearest_cargo_workspace() {
    let project = Project::new(&[
        ("path/bin/rust-analyzer", ""),
        ("Cargo.toml", "[package]\nname = \"a\"\n\n[workspace.package]\n[workspace]\n"),
        ("member/Cargo.toml", "[package]\nname = \"b\"\n"),
        ("nested/Cargo.toml", "[workspace]\n"),
    ]);
    for (file, folder) in
        [("src/lib.rs", ""), ("member/src/lib.rs", ""), ("nested/src/lib.rs", "nested")]
    {
        assert_eq!(project.only(file).workspace, project.root.join(folder), "{file}");
    }
}

#[test]
fn the_identity_is_what_path_leads_to_and_the_variables_that_matter() {
    let project = Project::new(&[
        ("one/bin/gopls", ""),
        ("one/bin/go", ""),
        ("two/bin/gopls", ""),
        ("two/bin/go", ""),
        ("go.mod", ""),
    ]);
    for name in ["link", "other-link"] {
        std::os::unix::fs::symlink(project.root.join("one"), project.root.join(name))
            .expect("ours");
    }
    let identity = |folder: &str, variables: &[(&str, &str)]| {
        let chosen = project.chosen_with(folder, variables, "a.go").pop().expect("one");
        chosen.expect("it is there").identity
    };
    let first = identity("link/bin", &[("TERM", "a")]);
    assert_eq!(identity("other-link/bin", &[("TERM", "b")]), first);
    for other in [identity("two/bin", &[]), identity("one/bin", &[("GOOS", "plan9")])] {
        assert!(other != first && !other.shares_environment(first));
    }
    // Another program in the same place replaces the earlier one.
    let (go, new) = (project.root.join("one/bin/go"), project.root.join("two/bin/go"));
    std::fs::rename(new, go).expect("ours");
    let upgraded = identity("link/bin", &[]);
    assert!(upgraded != first && upgraded.shares_environment(first));
}

#[test]
fn a_tool_that_is_missing_is_part_of_the_identity() {
    let project = Project::new(&[("path/bin/rust-analyzer", ""), ("Cargo.toml", "")]);
    let before = project.only("a.rs").identity;
    assert_eq!(project.only("b.rs").identity, before);
    std::fs::hard_link(
        project.root.join("path/bin/rust-analyzer"),
        project.root.join("path/bin/cargo"),
    )
    .expect("ours");
    assert!(!project.only("a.rs").identity.shares_environment(before));
}

#[test]
fn interpreters_of_two_virtual_environments_differ_though_they_lead_to_one_python() {
    let project = Project::new(&[(PYRIGHT, ""), ("path/bin/python3", "")]);
    let mut identities = Vec::new();
    for name in ["first", "second"] {
        let folder = project.root.join(name);
        std::fs::create_dir_all(folder.join("bin")).expect("ours");
        let python = project.root.join("path/bin/python3");
        std::os::unix::fs::symlink(python, folder.join("bin/python")).expect("ours");
        let _ = std::fs::remove_file(project.root.join(".venv"));
        std::os::unix::fs::symlink(&folder, project.root.join(".venv")).expect("ours");
        identities.push(project.only("a.py").identity);
    }
    assert_ne!(identities[0], identities[1]);
}
