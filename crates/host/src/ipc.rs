//! How front doors and the daemon find each other: folders, socket, locks, start.
//!
//! One daemon per state folder: it holds a lock there (flock) for life, takes it before it unlinks or
//! binds anything, and writes the socket's path into it, because the socket's folder depends on the
//! environment of the process. Front doors that want to start a daemon queue up at `*.start`.

pub mod client;
pub mod listener;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use moai_base::hash::ContentHash;
use moai_base::limits::SOCKET_PATH_BYTES_MAX;
use moai_protocol::control::PROTOCOL_VERSION;

use crate::files::read_regular_text;

/// Folders of this user's state, downloads, options and socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDirs {
    /// Databases and logs.
    pub state: PathBuf,
    /// Downloaded language servers.
    pub data: PathBuf,
    /// The user's options file.
    pub user_config: PathBuf,
    /// Folder of socket and locks.
    pub socket_folder: PathBuf,
    /// File name of the socket without extension; includes protocol version and state folder, so
    /// that other versions and homes have their own.
    stem: String,
}

impl StateDirs {
    /// From a caller's environment (contract section 1). `None` if it has no home.
    #[must_use]
    pub fn from_env(env: &BTreeMap<String, String>) -> Option<Self> {
        let absolute =
            |name: &str| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let below_home = |rest: &str| home.as_ref().map(|home| home.join(rest));
        let named = |own: &str, base: &str, rest: &str| {
            let base = || absolute(base).or_else(|| below_home(rest));
            absolute(own).or_else(|| base().map(|base| base.join("moai-ralph")))
        };
        let state = named("MOAI_RALPH_HOME", "XDG_STATE_HOME", ".local/state")?;
        let data = named("MOAI_RALPH_DATA", "XDG_DATA_HOME", ".local/share")
            .unwrap_or_else(|| state.join("data"));
        let config = absolute("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
        let user_config =
            config.map_or_else(|| state.join("ralph.yaml"), |it| it.join("moai-ralph/ralph.yaml"));
        let stem = format!(
            "d{PROTOCOL_VERSION}-{}",
            ContentHash::of_bytes(state.as_os_str().as_bytes()).short_hex()
        );
        let runtime = absolute("XDG_RUNTIME_DIR").filter(|folder| folder.is_dir());
        let wanted = runtime.map_or_else(|| state.clone(), |folder| folder.join("moai-ralph"));
        let fits = wanted.join(format!("{stem}.sock")).as_os_str().len() <= SOCKET_PATH_BYTES_MAX;
        let user = rustix::process::getuid().as_raw();
        let socket_folder = if fits {
            wanted
        } else {
            // Unix socket paths are short; the file name still identifies the state folder.
            let temporary = absolute("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"));
            temporary.join(format!("moai-ralph-{user}"))
        };
        Some(Self { state, data, user_config, socket_folder, stem })
    }

    #[must_use]
    pub fn socket_path(&self) -> PathBuf {
        self.socket_folder.join(format!("{}.sock", self.stem))
    }

    /// The folder of log files.
    #[must_use]
    pub fn log_folder(&self) -> PathBuf {
        self.state.join("log")
    }

    /// Its holder is the only process that uses the databases of the state folder, and writes its
    /// socket's path into it.
    fn daemon_lock(&self) -> PathBuf {
        self.state.join(format!("daemon-{PROTOCOL_VERSION}.lock"))
    }

    /// A connection to the daemon, also to one that was started in an environment with another folder
    /// for sockets.
    fn connect(&self) -> std::io::Result<UnixStream> {
        let own = self.socket_path();
        UnixStream::connect(&own).or_else(|error| {
            let recorded = read_regular_text(&self.daemon_lock(), SOCKET_PATH_BYTES_MAX as u64);
            match recorded.map(PathBuf::from) {
                Ok(path) if path.is_absolute() && path != own => UnixStream::connect(path),
                _ => Err(error),
            }
        })
    }

    fn start_lock(&self) -> PathBuf {
        self.socket_folder.join(format!("{}.start", self.stem))
    }
}

/// This process's environment, without variables that are not UTF-8, because they cannot be JSON;
/// none of them matters here.
#[must_use]
pub fn process_environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// An exclusive flock; the kernel releases it however the process ends.
#[derive(Debug)]
pub struct FileLock(File);

impl FileLock {
    /// Replaces the content of the locked file.
    fn write(&mut self, content: &[u8]) -> std::io::Result<()> {
        self.0.set_len(0)?;
        self.0.write_all(content)
    }
}

fn try_lock(path: &Path) -> std::io::Result<Option<FileLock>> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(FileLock(file))),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(env: &[(&str, &str)]) -> Option<StateDirs> {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        StateDirs::from_env(&env.collect())
    }

    #[test]
    fn own_variables_win_over_xdg_and_home() {
        let plain = dirs(&[("HOME", "/h")]).expect("a home");
        assert_eq!(plain.state, Path::new("/h/.local/state/moai-ralph"));
        assert_eq!(plain.data, Path::new("/h/.local/share/moai-ralph"));
        assert_eq!(plain.user_config, Path::new("/h/.config/moai-ralph/ralph.yaml"));
        assert_eq!(plain.socket_folder, plain.state);
        let own = [("HOME", "/h"), ("MOAI_RALPH_HOME", "/s"), ("XDG_DATA_HOME", "/d")];
        let own = dirs(&own).expect("a home");
        assert_eq!(
            (own.state.as_path(), own.data.as_path()),
            (Path::new("/s"), Path::new("/d/moai-ralph"))
        );
        assert_eq!(dirs(&[("HOME", "relative")]), None);
    }

    #[test]
    fn two_homes_never_share_a_socket_and_long_paths_still_fit() {
        let runtime = tempfile::tempdir().expect("a folder");
        let runtime = runtime.path().to_str().expect("UTF-8");
        let of = |home: &str| {
            dirs(&[("MOAI_RALPH_HOME", home), ("XDG_RUNTIME_DIR", runtime)]).expect("a home")
        };
        assert_ne!(of("/a").socket_path(), of("/b").socket_path());
        let long = format!("/{}", "x".repeat(120));
        let deep = dirs(&[("MOAI_RALPH_HOME", &long)]).expect("a home");
        assert!(deep.socket_path().as_os_str().len() <= SOCKET_PATH_BYTES_MAX);
    }

    #[test]
    fn a_lock_is_held_once_and_free_after_its_holder() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.lock");
        let held = try_lock(&path).expect("lockable").expect("free");
        assert!(try_lock(&path).expect("lockable").is_none());
        drop(held);
        assert!(try_lock(&path).expect("lockable").is_some());
    }
}
