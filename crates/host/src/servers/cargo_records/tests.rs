//! cargo's records against files whose times hide a change, in temporary folders.

use std::fs::File;
use std::time::SystemTime;

use super::*;

const HASH: &str = "00112233aabbccdd";

/// A workspace with one compiled unit.
struct Workspace {
    folder: tempfile::TempDir,
    is_own: bool,
}

impl Workspace {
    /// The unit's sources were compiled just now.
    fn compiled(sources: &[&str]) -> Self {
        let workspace = Self { folder: tempfile::tempdir().expect("a folder"), is_own: true };
        for source in sources {
            workspace.write(source, "old");
        }
        workspace.compile(sources);
        workspace
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("written");
    }

    /// Records as cargo 1.95 writes them. The time of the compilation is after every earlier write,
    /// because the files were closed before.
    fn compile(&self, sources: &[&str]) {
        let record = r#"{"rustc":1,"local":[{"CheckDepInfo":{"dep_info":"debug/.fingerprint/
            sample-HASH/dep-lib-sample","checksum":false}}],"path":2}"#;
        let record = record.replace(char::is_whitespace, "").replace("HASH", HASH);
        self.write(&format!("out/debug/.fingerprint/sample-{HASH}/lib-sample.json"), &record);
        self.write(&format!("out/debug/.fingerprint/sample-{HASH}/lib-sample"), "0123");
        let listed: Vec<String> = sources.iter().map(|source| format!("{source}:\n")).collect();
        let listed =
            format!("/x/sample.d: {}\n\n{}# env-dep:A\n", sources.join(" "), listed.concat());
        self.write(&format!("out/debug/deps/sample-{HASH}.d"), &listed.replace("my ", "my\\ "));
        fs::create_dir_all(self.path("out/debug/build")).expect("a folder");
        self.await_tick();
        self.write(&format!("out/debug/.fingerprint/sample-{HASH}/dep-lib-sample"), "");
        self.await_tick();
    }

    /// Writes until the file system's clock has moved on.
    fn await_tick(&self) {
        let file = self.path("tick");
        let changed = || {
            fs::write(&file, "").expect("written");
            FileStamp::new(&file.metadata().expect("there")).modified_ns()
        };
        let first = changed();
        while changed() == first {}
    }

    fn prepare(&self) -> Result<(), Gap> {
        let records = RecordFolder {
            path: self.path("out"),
            is_own: self.is_own,
            workspace: self.folder.path().to_path_buf(),
            packages: [("sample".to_owned(), self.folder.path().to_path_buf())].into(),
        };
        records.forget_changed()
    }

    fn is_forgotten(&self) -> bool {
        self.prepare().expect("the records can be read");
        !self.path(&format!("out/debug/.fingerprint/sample-{HASH}/lib-sample")).exists()
    }
}

fn set_back(path: &Path) {
    let file = File::options().write(true).open(path).expect("the file is ours");
    file.set_modified(SystemTime::UNIX_EPOCH).expect("the time is set");
}

#[test]
fn unchanged_and_newer_files_are_left_to_cargo() {
    let workspace = Workspace::compiled(&["src/lib.rs", "src/my mod.rs"]);
    assert!(!workspace.is_forgotten());
    workspace.write("src/lib.rs", "new");
    fs::remove_file(workspace.path("src/my mod.rs")).expect("removed");
    workspace.write("src/other.rs", "");
    assert!(!workspace.is_forgotten());
}

#[test]
fn a_unit_is_forgotten_when_a_source_changed_without_a_later_time() {
    let workspace = Workspace::compiled(&["src/lib.rs", "src/my mod.rs"]);
    set_back(&workspace.path("src/my mod.rs"));
    assert!(workspace.is_forgotten());
    workspace.compile(&["src/lib.rs", "src/my mod.rs"]);
    assert!(!workspace.is_forgotten(), "compiled since");
}

#[test]
fn a_moved_folder_and_a_changed_link_are_changes_of_what_they_contain() {
    let workspace = Workspace::compiled(&["crates/a/src/lib.rs", "other/lib.rs"]);
    fs::rename(workspace.path("crates/a"), workspace.path("b")).expect("moved");
    workspace.compile(&["b/src/lib.rs"]);
    assert!(!workspace.is_forgotten());
    fs::rename(workspace.path("b"), workspace.path("c")).expect("moved");
    fs::rename(workspace.path("c"), workspace.path("b")).expect("moved");
    assert!(workspace.is_forgotten());

    std::os::unix::fs::symlink("b/src", workspace.path("linked")).expect("linked");
    workspace.compile(&["linked/lib.rs"]);
    assert!(!workspace.is_forgotten());
    fs::remove_file(workspace.path("linked")).expect("removed");
    std::os::unix::fs::symlink("other", workspace.path("linked")).expect("linked");
    assert!(workspace.is_forgotten());
}

#[test]
fn what_the_user_compiled_is_kept_and_the_run_proves_nothing() {
    let mut workspace = Workspace::compiled(&["src/lib.rs"]);
    workspace.is_own = false;
    set_back(&workspace.path("src/lib.rs"));
    let gap = workspace.prepare().expect_err("a gap").to_string();
    assert_eq!(
        gap,
        "cargo passes over src/lib.rs, whose time is before the last compilation: touch src/lib.rs"
    );
    assert!(workspace.path(&format!("out/debug/.fingerprint/sample-{HASH}/lib-sample")).exists());
}

#[test]
fn a_unit_without_readable_records_is_compiled_again() {
    for name in [
        format!("out/debug/.fingerprint/sample-{HASH}/lib-sample.json"),
        format!("out/debug/deps/sample-{HASH}.d"),
    ] {
        let workspace = Workspace::compiled(&["src/lib.rs"]);
        workspace.write(&name, "?");
        assert!(workspace.is_forgotten(), "{name}");
    }
    let unknown = Workspace::compiled(&[]);
    fs::rename(unknown.path("out/debug/.fingerprint"), unknown.path("moved")).expect("moved");
    unknown.write("out/debug/build/sample/x", "");
    assert!(unknown.prepare().is_err(), "nothing is known about this layout");
}

#[test]
fn the_inputs_of_a_build_script_are_compared_below_their_folders() {
    let workspace = Workspace::compiled(&["src/lib.rs"]);
    let unit = format!("out/debug/.fingerprint/sample-{HASH}");
    fs::remove_file(workspace.path(&format!("{unit}/lib-sample.json"))).expect("removed");
    workspace.write("input/deep/a.txt", "old");
    let record = r#"{"local":[{"RerunIfEnvChanged":{"var":"A","val":null}},
        {"RerunIfChanged":{"output":"debug/build/sample/output","paths":["input"]}}]}"#;
    workspace.write(&format!("{unit}/lib-sample.json"), record);
    workspace.await_tick();
    workspace.write("out/debug/build/sample/output", "");
    workspace.await_tick();
    assert!(!workspace.is_forgotten());
    set_back(&workspace.path("input/deep/a.txt"));
    assert!(workspace.is_forgotten());
    let files = input_files(workspace.folder.path(), &["input".into(), "no".into()]);
    assert_eq!(files.expect("few").len(), 4);
}

#[test]
fn the_next_layout_of_cargo_is_known() {
    let workspace = Workspace::compiled(&[]);
    fs::remove_dir_all(workspace.path("out")).expect("removed");
    workspace.write("src/lib.rs", "old");
    let unit = format!("out/x86_64-unknown-linux-gnu/debug/build/sample/{HASH}");
    let record = r#"{"local":[{"CheckDepInfo":{"dep_info":"dep","checksum":false}}]}"#;
    workspace.write(&format!("{unit}/fingerprint/lib-sample.json"), record);
    workspace.write(&format!("{unit}/fingerprint/lib-sample"), "0123");
    workspace.write(&format!("{unit}/out/sample.d"), "x.d: src/lib.rs\n\nsrc/lib.rs:\n");
    workspace.await_tick();
    workspace.write("out/dep", "");
    workspace.await_tick();
    workspace.prepare().expect("the records can be read");
    assert!(workspace.path(&format!("{unit}/fingerprint/lib-sample")).exists());
    set_back(&workspace.path("src/lib.rs"));
    workspace.prepare().expect("the records can be read");
    assert!(!workspace.path(&format!("{unit}/fingerprint/lib-sample")).exists());
}

#[test]
fn a_separate_build_folder_and_an_unset_option_are_the_users() {
    let metadata = |build: Option<&str>| CargoMetadata {
        workspace_root: "/w".into(),
        target_directory: "/w/target".into(),
        build_directory: build.map(PathBuf::from),
        packages: vec![CargoPackage { name: "a".into(), manifest_path: "/w/a/Cargo.toml".into() }],
    };
    for (build, setting, path, is_own) in [
        (None, "true", "/w/target/rust-analyzer", true),
        (Some("/w/target"), "true", "/w/target/rust-analyzer", true),
        (Some("/shared"), "true", "/shared", false),
        (None, "\"mine\"", "/w/mine", true),
        (None, "\"target\"", "/w/target", false),
        (None, "null", "/w/target", false),
    ] {
        let setting: Value = serde_json::from_str(setting).expect("valid");
        let folder = RecordFolder::new(metadata(build), &setting);
        assert_eq!((folder.path.to_str(), folder.is_own), (Some(path), is_own), "{build:?}");
        assert_eq!(folder.packages["a"], Path::new("/w/a"));
    }
}

#[tokio::test]
async fn cargo_tells_where_its_folders_are() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(cargo_folders(folder.path()), [""; 0].map(PathBuf::from));
    let package = folder.path().join("a");
    fs::create_dir_all(package.join("src")).expect("folders");
    fs::write(package.join("src/lib.rs"), "").expect("written");
    fs::write(package.join("Cargo.toml"), "[package").expect("written");
    assert_eq!(cargo_folders(folder.path()), std::slice::from_ref(&package));
    let env: BTreeMap<String, String> = std::env::vars().collect();
    let gap = cargo_metadata(&package, &env).await.expect_err("the manifest is broken");
    assert!(gap.to_string().starts_with("the cargo project has a fault: error: "), "{gap}");
    fs::write(package.join("Cargo.toml"), "[package]\nname = \"a\"\n").expect("written");
    let metadata = cargo_metadata(&package, &env).await.expect("a project");
    assert_eq!(metadata.packages[0].name, "a");
    assert!(metadata.workspace_root.ends_with("a"));
}
