//! A PostgreSQL server for a test: the distribution's programs, in its own folder.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The role that made the server: a superuser.
pub(super) const ADMIN: &str = "admin";
const START_SECS_MAX: u64 = 60;

/// A running server; it ends, with its folder, when it is dropped.
pub(super) struct PostgresServer {
    folder: TempDir,
    process: Child,
    pub(super) port: u16,
}

impl PostgresServer {
    /// Starts a server: on a Unix socket everybody is trusted, on loopback passwords are asked for.
    pub(super) fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").expect("a folder");
        // The server refuses to run as root, so the folder belongs to an unprivileged user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("changed");
        let data = folder.path().join("data");
        let made = program("initdb")
            .arg("--pgdata")
            .arg(&data)
            .args(["--username", ADMIN, "--encoding", "UTF8", "--locale", "C", "--no-sync"])
            .args(["--auth-local", "trust", "--auth-host", "scram-sha-256"])
            .env("HOME", folder.path())
            .output()
            .expect("initdb is installed");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let process = start(folder.path(), port);
        let server = Self { folder, process, port };
        server.wait_until_ready();
        server
    }

    /// The URL of a role over the Unix socket.
    pub(super) fn url(&self, role: &str) -> String {
        format!(
            "postgres://{role}@/postgres?host={}&port={}",
            self.folder.path().display(),
            self.port
        )
    }

    /// Folder of its log and its files.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Output of `psql` for statements of a role.
    pub(super) fn psql(&self, role: &str, sql: &str) -> String {
        let (text, is_success) = self.try_psql(role, sql);
        assert!(is_success, "{sql}: {text}");
        text
    }

    pub(super) fn try_psql(&self, role: &str, sql: &str) -> (String, bool) {
        let output = program("psql")
            .args([
                "--no-psqlrc",
                "--tuples-only",
                "--no-align",
                "--quiet",
                "--set=ON_ERROR_STOP=1",
            ])
            .args(["--username", role, "--dbname", "postgres", "--command", sql, "--host"])
            .arg(self.folder.path())
            .args(["--port", &self.port.to_string()])
            .output()
            .expect("psql is installed");
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text += &String::from_utf8_lossy(&output.stderr);
        (text.trim().to_owned(), output.status.success())
    }

    fn wait_until_ready(&self) {
        let start = Instant::now();
        while !self.try_psql(ADMIN, "SELECT 1").1 {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(start.elapsed().as_secs() < START_SECS_MAX, "the server does not start: {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The server and the processes of its connections.
    fn processes(&self) -> Vec<Pid> {
        let server =
            i32::try_from(self.process.id()).ok().and_then(Pid::from_raw).expect("a process");
        let path = format!("/proc/{0}/task/{0}/children", self.process.id());
        let children = fs::read_to_string(path).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|id| Pid::from_raw(id.parse().ok()?));
        std::iter::once(server).chain(children).collect()
    }

    /// Sends a signal to the server and to the processes of its connections.
    pub(super) fn signal(&self, signal: Signal) {
        for process in self.processes() {
            let _ = kill_process(process, signal);
        }
    }

    /// Kills it without any chance to end connections.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.process.wait().expect("it was started");
    }

    /// Starts it again after [`Self::kill`].
    pub(super) fn start_again(&mut self) {
        let _ = fs::remove_file(self.folder.path().join("data/postmaster.pid"));
        self.process = start(self.folder.path(), self.port);
        self.wait_until_ready();
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.process.wait();
    }
}

fn start(folder: &Path, port: u16) -> Child {
    let log = fs::File::create(folder.join("log")).expect("a log");
    program("postgres")
        .arg("-D")
        .arg(folder.join("data"))
        .arg("-k")
        .arg(folder)
        .args(["-p", &port.to_string(), "-h", "127.0.0.1"])
        .args(["-c", "fsync=off", "-c", "shared_buffers=64MB", "-c", "max_connections=30"])
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a log"))
        .stderr(log)
        .process_group(0)
        .spawn()
        .expect("postgres is installed")
}

/// A program of PostgreSQL, which is not on PATH; run as an unprivileged user if this is root.
fn program(name: &str) -> Command {
    let path = programs().join(name);
    let mut command = if rustix::process::getuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(path);
        command
    } else {
        Command::new(path)
    };
    command.current_dir("/").env_remove("PGPASSWORD");
    command
}

/// The newest installed version.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").map(|folder| {
        folder.flatten().map(|version| version.path().join("bin")).collect::<Vec<_>>()
    });
    let with_server =
        versions.unwrap_or_default().into_iter().filter(|it| it.join("initdb").exists());
    with_server.max().expect("PostgreSQL is not installed: apt-get install postgresql")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    listener.local_addr().expect("an address").port()
}
