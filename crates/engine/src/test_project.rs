//! Test fixture: a project in a repository with its own engine and state folder, and the `git`
//! program without user configuration.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::engine::Engine;
use crate::project::Project;
use moai_config::Config;
use moai_host::ipc::StateDirs;
use moai_protocol::control::CallerContext;

/// A temporary project, removed when dropped.
pub(crate) struct TestProject {
    temp: tempfile::TempDir,
    pub(crate) engine: Arc<Engine>,
}

impl TestProject {
    /// An empty project; needs a tokio runtime.
    pub(crate) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir(top.join("root")).unwrap();
        let dirs = StateDirs::from_env(&env(&top)).unwrap();
        let engine = Engine::new(dirs, &Config::default(), None);
        let project = Self { temp, engine };
        fs::write(
            project.top().join("gitconfig"),
            "[user]\nname = t\nemail = t@example.org\n[maintenance]\nauto = false\n[gc]\nauto = 0\n",
        )
        .unwrap();
        project
    }

    /// A repository on `main` with one commit of these files.
    pub(crate) fn repository(files: &[(&str, &str)]) -> Self {
        let project = Self::new();
        project.git(&["init", "-q", "-b", "main"]);
        project.commit(files);
        project
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.top().join("root")
    }

    pub(crate) fn caller(&self, root: &Path) -> CallerContext {
        let env = env(&self.top());
        CallerContext {
            cwd: root.to_owned(),
            root: Some(root.to_owned()),
            env,
            ..CallerContext::default()
        }
    }

    pub(crate) fn project(&self, root: &Path) -> Project {
        Project::load(&self.engine, &self.caller(root)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.root().join(name)).ok()
    }

    /// Writes files in the root and commits them.
    pub(crate) fn commit(&self, files: &[(&str, &str)]) -> String {
        for (name, text) in files {
            self.write(name, text);
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "step"]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.root(), arguments)
    }

    /// The output of git, without trailing whitespace.
    pub(crate) fn git_in(&self, folder: &Path, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(folder).env_clear().envs(env(&self.top()));
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {arguments:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }
}

fn env(top: &Path) -> BTreeMap<String, String> {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let pairs = [
        ("HOME", text(top)),
        ("MOAI_RALPH_HOME", text(&top.join("state"))),
        ("PATH", std::env::var("PATH").unwrap()),
        ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
        ("GIT_CONFIG_GLOBAL", text(&top.join("gitconfig"))),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
