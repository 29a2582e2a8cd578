//! Tests of the catalogue: the table and its layers.

use std::path::Path;

use serde_json::json;

use super::*;

fn path(name: &str) -> RelPath {
    RelPath::below(Path::new("/r"), &Path::new("/r").join(name)).expect("relative")
}

fn language(name: &str) -> Option<(&'static str, &'static str)> {
    Catalogue::built_in().language_of(&path(name)).map(|language| (language.id, language.lsp_id))
}

/// Registry packages with the names of servers that are other programs, or empty.
const TRAPS: [(&str, &[&str]); 2] = [
    ("npm", &["dart", "clangd", "gopls", "rust-analyzer", "@taplo/cli", "taplo"]),
    ("pip", &["marksman", "kotlin", "dart", "pyright", "taplo", "gopls", "rust-analyzer"]),
];

#[test]
fn every_server_is_described_and_names_known_languages() {
    let catalogue = Catalogue::built_in();
    let (auxiliary, programming): (Vec<_>, Vec<_>) =
        catalogue.languages().partition(|(_, language)| language.auxiliary);
    // TypeScript and JavaScript share an entry, as do C and C++.
    assert_eq!(programming.len(), 15);
    let auxiliary: Vec<&str> = auxiliary.into_iter().map(|(id, _)| id).collect();
    assert_eq!(auxiliary, ["bash", "css", "html", "json", "toml", "yaml"]);
    assert_eq!(catalogue.dangling_server(), None);
    assert_eq!(language("src/a.PY"), Some(("python", "python")));
    assert_eq!(language("a.tsx"), Some(("typescript", "typescriptreact")));
    assert_eq!(language("data.json"), Some(("json", "json")));
    // Comments are allowed there.
    assert_eq!(language("pkg/tsconfig.build.json"), Some(("json", "jsonc")));
    assert_eq!(language(".vscode/settings.json"), Some(("json", "jsonc")));
    assert_eq!(language("web/.vscode/launch.json"), Some(("json", "jsonc")));
    assert_eq!(language("vscode/settings.json"), Some(("json", "json")));
    assert_eq!(language("README.md"), None);
}

#[test]
fn every_language_has_a_server_and_every_server_an_install_method() {
    let catalogue = Catalogue::built_in();
    let mut used: BTreeSet<&str> = BTreeSet::new();
    let mut extensions = BTreeSet::new();
    for (id, language) in catalogue.languages() {
        assert!(!language.servers.is_empty(), "{id}");
        used.extend(language.servers.iter().chain(&language.companions).map(String::as_str));
        for extension in language.extensions.keys() {
            assert!(extensions.insert(extension), "{extension} belongs to two languages");
        }
    }
    for (id, spec) in catalogue.servers() {
        assert!(used.contains(id), "no language names {id}");
        let install = spec.install.as_ref().unwrap_or_else(|| panic!("{id} has no install"));
        assert!(install.is_possible() || install.hint.is_some(), "{id}");
        // Only the distribution's packages have no version of ours, and not every system has apt.
        assert!(install.apt.is_empty() || install.hint.is_some(), "{id}");
        assert!(spec.verified || install.npm.is_empty() || id.starts_with("vscode-"), "{id}");
        assert!(
            spec.workspace == WorkspaceRule::Root || !spec.root_markers.is_empty(),
            "{id} has nothing to find its folder by"
        );
    }
}

#[test]
fn packages_are_pinned_and_not_known_impostors() {
    for (id, spec) in Catalogue::built_in().servers() {
        let install = spec.install.as_ref().expect("every server says where it comes from");
        for package in &install.npm {
            let (name, version) = package.rsplit_once('@').expect("npm pins with @");
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{id}: {package}");
            assert!(!TRAPS[0].1.contains(&name), "{id}: {package}");
        }
        for package in &install.pip {
            let (name, version) = package.split_once("==").expect("pip pins with ==");
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{id}: {package}");
            assert!(!TRAPS[1].1.contains(&name), "{id}: {package}");
        }
    }
}

#[test]
fn a_broken_entry_names_line_and_key() {
    let text = "{\n \"servers\": {\n  \"x\": {\"command\": 3, \"diagnostics\": \"pull\"}}}";
    let error = Catalogue::parse(text).expect_err("a number is no command");
    assert_eq!((error.line, error.key.as_str()), (3, "servers.x.command"));
    let error = Catalogue::parse("{\"serverz\": {}}").expect_err("unknown key");
    assert!(error.to_string().contains("serverz"), "{error}");
}

#[test]
fn a_projects_entry_replaces_the_built_in_one_and_owns_its_extensions() {
    let own = r#"{
        "servers": {"pyright": {"command": "mine", "diagnostics": "push"}},
        "languages": {"mako": {"name": "Mako", "extensions": {"html": "mako"}, "servers": []}}
    }"#;
    let merged = Catalogue::built_in().with_project_entries(Catalogue::parse(own).expect("valid"));
    assert_eq!(merged.server("pyright").map(|s| s.command.as_str()), Some("mine"));
    assert!(merged.server("typescript-language-server").is_some());
    assert_eq!(merged.language_of(&path("a.html")).map(|language| language.id), Some("mako"));
    assert_eq!(merged.language_of(&path("a.htm")).map(|language| language.id), Some("html"));
}

#[test]
fn options_are_merged_field_by_field() {
    let over = |text: &str| -> ServerOverride { serde_json::from_str(text).expect("valid") };
    let mut fields =
        over(r#"{"args": ["-v"], "settings": {"python": {"analysis": {"a": 1, "list": [1]}}}}"#);
    fields.override_with(over(
        r#"{"env": {"X": "1"}, "settings": {"python": {"analysis": {"list": [2]}}}}"#,
    ));
    let options = CatalogueOverrides {
        servers: BTreeMap::from([("pyright".to_owned(), fields)]),
        choose: BTreeMap::from([("python".to_owned(), vec!["ty".to_owned(), "ruff".to_owned()])]),
        languages: vec!["yaml".to_owned()],
    };
    let merged = Catalogue::built_in().clone().with_user_options(&options);
    let spec = merged.server("pyright").expect("described");
    assert_eq!(
        (spec.command.as_str(), spec.args.as_slice()),
        ("pyright-langserver", &["-v".to_owned()][..])
    );
    assert_eq!(spec.env.get("X").map(String::as_str), Some("1"));
    let expected =
        json!({"python": {"pythonPath": "${python}", "analysis": {"a": 1, "list": [2]}}});
    assert_eq!(spec.settings, expected);
    let chosen = merged.language("python").and_then(|it| it.user_servers.clone());
    assert_eq!(chosen, Some(vec!["ty".to_owned(), "ruff".to_owned()]));
    let is_auxiliary = |id: &str| merged.language(id).is_some_and(|it| it.auxiliary);
    assert!(!is_auxiliary("yaml") && is_auxiliary("toml"));
}

const HOST_FILE: &str = r#"{
    "gopls": {
        "command": "my-gopls", "args": ["-r", "${CLAUDE_PLUGIN_ROOT}/x"],
        "extensionToLanguage": {".go": "go"}, "startupTimeout": 5000, "env": {"GOFLAGS": "-mod=mod"},
        "initializationOptions": {"a": 1}, "whatever": true
    },
    "zig": {"command": "zls", "extensionToLanguage": {".zig": "zig", ".ts": "typescript"}},
    "looks": {"command": "pylsp", "extensionToLanguage": {".py": "python"}, "diagnostics": false},
    "far": {"command": "pylsp", "extensionToLanguage": {".py": "python"}, "transport": "socket"},
    "self": {"command": "/opt/bin/moai-ralph", "extensionToLanguage": {".py": "python"}}
}"#;

#[test]
fn servers_of_the_hosts_file_come_first_for_their_extensions() {
    let file = HostServers::parse(HOST_FILE).expect("valid");
    let merged = Catalogue::built_in().clone().with_host_servers(file);
    let servers = |id: &str| merged.language(id).expect("known").servers.clone();
    assert_eq!(servers("go"), ["gopls"]);
    assert_eq!(servers("zig"), ["zig"]);
    assert_eq!(servers("typescript")[0], "zig");
    // Servers for navigation only, servers over sockets, and this program itself are not sensors.
    assert_eq!(servers("python"), ["pyright", "basedpyright", "ty"]);
    let gopls = merged.server("gopls").expect("described");
    assert_eq!((gopls.command.as_str(), gopls.diagnostics), ("my-gopls", DiagnosticsMethod::Gopls));
    assert_eq!(gopls.args, ["-r", "${root}/x"]);
    assert_eq!(gopls.initialization_options, json!({"a": 1}));
    assert_eq!(
        gopls.settings,
        json!({"gopls": {"diagnosticsDelay": "0s", "expandWorkspaceToModule": false}})
    );
    let zls = merged.server("zig").expect("described");
    assert_eq!((zls.diagnostics, zls.verified), (DiagnosticsMethod::Pull, false));
    assert_eq!(zls.extensions.get("ts").map(String::as_str), Some("typescript"));
    assert_eq!(merged.language_of(&path("a.zig")).map(|language| language.lsp_id), Some("zig"));
}

#[test]
fn a_broken_host_file_names_line_and_key() {
    let error =
        HostServers::parse("{\n \"zls\": {\n  \"command\": \"zls\"}}").expect_err("no extensions");
    assert_eq!(error.line, 3);
    assert!(error.to_string().contains("extensionToLanguage"), "{error}");
    let error = HostServers::parse("{\"zls\": {\"command\": 1}}").expect_err("a number");
    assert_eq!(error.key, "zls.command");
}

#[test]
fn only_hidden_files_that_configure_servers_are_recognized() {
    let catalogue = Catalogue::built_in();
    for name in [".clangd", ".ruff.toml", ".clang-tidy", ".eslintrc", ".eslintrc.json", ".flake8"] {
        assert!(catalogue.is_hidden_configuration(name), "{name}");
    }
    for name in [".a.py", ".flake8x", ".env", ".gitignore", ".swap.json"] {
        assert!(!catalogue.is_hidden_configuration(name), "{name}");
    }
}
