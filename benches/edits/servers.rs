//! The language servers of the plays, one row each.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use moai_base::limits::PUSH_QUIET_MS;
use moai_lsp::registry::{Catalogue, ServerSpec};
use serde_json::{Value, json};

use super::package::{Package, outside_path};
use super::stage::{Stage, StageLayout};
use super::truth::Truth;
use super::{c, go, java, php, python, rust, typescript};
use crate::support::{Sandbox, test_cache};

/// How a minimal client of this server knows the errors after a change: not when the right list arrives,
/// because only a bench can recognize it, but when no other list can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Natural {
    /// It asks with `textDocument/diagnostic`, and the answer is for the text sent before.
    Pull,
    /// A publish carries the version, and each version gets one.
    Publish,
    /// A publish carries the version; another may follow until `textDocument/clangd.fileStatus` is idle.
    PublishAndIdle,
    /// A publish carries no version, and another may follow: it is the last when the server was quiet for the
    /// catalogue's time, or for the engine's wait if the catalogue has none.
    PublishAndQuiet,
    /// It writes the file, notifies the server, waits for `cargo check` to begin and end, and asks.
    SaveAndCheck,
}

#[derive(Debug)]
pub(crate) struct Server {
    /// Its id in the catalogue, and the sensor's name.
    pub(crate) name: &'static str,
    pub(crate) language: &'static str,
    pub(crate) package: &'static Package,
    pub(crate) command: &'static str,
    /// LSP's id of the played language.
    pub(crate) language_id: &'static str,
    pub(crate) natural: Natural,
    /// `initializationOptions` of the comparing client.
    pub(crate) initialization: &'static str,
    /// True if the project must select this server instead of the language's first.
    pub(crate) is_chosen: bool,
    /// Files that the project needs for this server, with their texts.
    pub(crate) files: &'static [(&'static str, &'static str)],
    pub(crate) truth: fn(&Stage<'_>, &Self) -> Truth,
    /// The result of a newly started server for one file, if the batch tool does not report all true errors.
    pub(crate) afresh: Option<fn(&Stage<'_>, &Self, &str) -> Truth>,
}

const PYTHON: Server = Server {
    name: "pyright",
    language: "python",
    package: &python::PACKAGE,
    command: "pyright-langserver",
    language_id: "python",
    natural: Natural::Pull,
    initialization: "null",
    is_chosen: false,
    files: &[],
    truth: python::truth,
    afresh: None,
};

const TYPESCRIPT: Server = Server {
    name: "typescript-language-server",
    language: "typescript",
    package: &typescript::PACKAGE,
    command: "typescript-language-server",
    language_id: "typescript",
    natural: Natural::PublishAndQuiet,
    initialization: "{\"disableAutomaticTypingAcquisition\": true}",
    is_chosen: false,
    files: &[],
    truth: typescript::truth,
    afresh: None,
};

/// All rows, in the order in which they are played.
pub(crate) const SERVERS: &[Server] = &[
    PYTHON,
    Server { name: "basedpyright", command: "basedpyright-langserver", is_chosen: true, ..PYTHON },
    TYPESCRIPT,
    Server {
        name: "typescript-native",
        command: "tsc",
        natural: Natural::Pull,
        initialization: "null",
        files: &[("package.json", "{\"devDependencies\": {\"typescript\": \"^7.0.0\"}}\n")],
        ..TYPESCRIPT
    },
    Server {
        name: "gopls",
        language: "go",
        package: &go::PACKAGE,
        command: "gopls",
        language_id: "go",
        natural: Natural::Publish,
        initialization: "{\"diagnosticsDelay\": \"0s\"}",
        is_chosen: false,
        files: &[],
        truth: go::truth,
        afresh: None,
    },
    Server {
        name: "rust-analyzer",
        language: "rust",
        package: &rust::PACKAGE,
        command: "rust-analyzer",
        language_id: "rust",
        natural: Natural::SaveAndCheck,
        initialization: "null",
        is_chosen: false,
        files: &[],
        truth: rust::truth,
        afresh: Some(rust::afresh),
    },
    Server {
        name: "clangd",
        language: "cpp",
        package: &c::PACKAGE,
        command: "clangd",
        language_id: "c",
        natural: Natural::PublishAndIdle,
        initialization: "{\"clangdFileStatus\": true}",
        is_chosen: false,
        files: &[],
        truth: c::truth,
        afresh: None,
    },
    Server {
        name: "jdtls",
        language: "java",
        package: &java::PACKAGE,
        command: "java",
        language_id: "java",
        natural: Natural::PublishAndQuiet,
        initialization: "null",
        is_chosen: false,
        files: &[],
        truth: java::truth,
        afresh: None,
    },
    Server {
        name: "intelephense",
        language: "php",
        package: &php::PACKAGE,
        command: "intelephense",
        language_id: "php",
        natural: Natural::PublishAndQuiet,
        // Its cache of earlier runs goes by the times of files, which some changes set back.
        initialization: "{\"clearCache\": true}",
        is_chosen: false,
        files: &[],
        truth: php::truth,
        afresh: None,
    },
];

impl Server {
    /// The layout of a play: the servers of one run differ in it, as do the seeds of one server.
    pub(crate) fn layout(&self, seed: u64) -> StageLayout {
        let row = SERVERS.iter().position(|server| server.name == self.name).unwrap_or_default();
        StageLayout::from_seed(seed + u64::try_from(row).unwrap_or_default())
    }

    /// Makes the project of a play: sources, configuration, and the choice of this server.
    pub(crate) fn lay(&self, stage: &Stage<'_>) {
        (self.package.lay)(stage);
        for (path, text) in self.files {
            stage.write(path, text);
        }
        if self.is_chosen {
            let endings = self.package.endings.iter();
            let ids: Value =
                endings.map(|it| (it[1..].to_owned(), json!(self.language_id))).collect();
            let language =
                json!({"name": self.language, "extensions": ids, "servers": [self.name]});
            let own = json!({"languages": {self.language: language}});
            stage.write_settings("lsp.json", &own.to_string());
        }
        if stage.layout.ignores_exports {
            stage.ignore(&self.package.export_files());
        }
        if stage.layout.has_checkout {
            self.package.write_filler(stage, 0);
        }
        stage.commit();
    }

    /// `initializationOptions` of the comparing client.
    pub(crate) fn initialization_options(&self) -> Value {
        serde_json::from_str(self.initialization).expect("the rows hold JSON")
    }

    /// How long it must be quiet after a publish without a version.
    pub(crate) fn quiet(&self) -> Duration {
        Duration::from_millis(self.spec().publishes.quiet_ms.unwrap_or(PUSH_QUIET_MS))
    }

    /// Copies the catalogue's installation into the sandbox's data folder; `Err` is the missing part.
    pub(crate) fn install(&self, sandbox: &Sandbox) -> Result<(), String> {
        if self.program().is_some() {
            return Ok(());
        }
        let output = sandbox.run(&["server", "install", self.name]);
        if output.code == 0 { Ok(()) } else { Err(output.stderr.trim().to_owned()) }
    }

    /// Its process for a client that is not the engine.
    pub(crate) fn command(&self, stage: &Stage<'_>) -> Option<Command> {
        let mut command = stage.command(self.program()?);
        let storage = outside_path(stage, "storage").display().to_string();
        let server = self.installed().map(|it| it.display().to_string()).unwrap_or_default();
        for argument in &self.spec().args {
            let argument = argument.replace("${server}", &server).replace("${os}", "linux");
            command.arg(argument.replace("${storage}", &storage));
        }
        Some(command)
    }

    /// Its program: the one that `server install` put into the downloads, else the first on PATH.
    pub(crate) fn program(&self) -> Option<PathBuf> {
        let bins = ["node_modules/.bin", "bin", "venv/bin", "jre/bin"];
        let installed = self.installed();
        let mut programs =
            installed.iter().flat_map(|it| bins.map(|bin| it.join(bin).join(self.command)));
        let comes_along = self.spec().command.starts_with("${server}");
        let elsewhere = || on_path(self.command).filter(|_| !comes_along);
        programs.find(|program| program.is_file()).or_else(elsewhere)
    }

    fn spec(&self) -> &'static ServerSpec {
        Catalogue::built_in().server(self.name).expect("every row is in the catalogue")
    }

    fn installed(&self) -> Option<PathBuf> {
        let prefix = format!("{}@", self.name);
        let mut folders = test_cache().join("data/servers").read_dir().ok()?.flatten();
        let own = folders.find(|it| it.file_name().to_string_lossy().starts_with(&prefix))?;
        Some(own.path())
    }

    /// A program that comes with the server.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        let program = self.program().expect("a server that is not there is not played");
        program.with_file_name(name)
    }
}

/// The first program of this name on PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(name));
    found.into_iter().find(|program: &PathBuf| Path::is_file(program))
}

/// Lets toolchains find their files in the developer's home, and gives Stops the longest time for language servers:
/// what they find is compared, on machines that do other work.
pub(crate) fn environment(sandbox: &mut Sandbox) {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        let folder = std::env::var_os(name).map_or_else(|| home.join(folder), PathBuf::from);
        sandbox.set(name, folder);
    }
    sandbox.set("CARGO_NET_OFFLINE", "true");
    sandbox.set("GOCACHE", test_cache().join("go-build"));
    sandbox.set("GOFLAGS", "-mod=mod");
    sandbox.set("GOPROXY", "off");
    sandbox.set("MOAI_RALPH_LOOP_STOP_BUDGET_MS", "150000");
}
