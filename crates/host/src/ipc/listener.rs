//! The daemon's side: the lock held for life, the socket bound under it, and the lines of a
//! connection.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{FileLock, StateDirs, try_lock};
use moai_base::limits::{CONTROL_LINE_BYTES_MAX, SMALL_CALL_BYTES_MAX};
use moai_protocol::control::{DaemonCall, DaemonReply};

/// The only listener of these folders.
#[derive(Debug)]
pub struct DaemonListener {
    listener: UnixListener,
    socket: PathBuf,
    /// Device and inode of our socket, because another daemon's socket of the same name must not be
    /// removed.
    identity: Option<(u64, u64)>,
    lock: FileLock,
}

impl DaemonListener {
    /// Takes the lock, then binds the socket (0600). `None`: another daemon holds the lock. The
    /// folder must exist and be private.
    pub fn try_start(dirs: &StateDirs) -> std::io::Result<Option<Self>> {
        let Some(mut lock) = try_lock(&dirs.daemon_lock())? else { return Ok(None) };
        let socket = dirs.socket_path();
        // No living daemon can own this socket while we hold the lock: a killed one left it.
        match std::fs::remove_file(&socket) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&socket)?;
        std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o600))?;
        let identity = identity(&socket);
        lock.write(socket.as_os_str().as_bytes())?;
        Ok(Some(Self { listener, socket, identity, lock }))
    }

    /// True if front doors can still reach this listener. If the folder was removed, a second daemon can
    /// start, and this one gets no more calls.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.identity.is_some() && identity(&self.socket) == self.identity
    }

    /// Stops listening but keeps the lock: new callers get no connection, and a new daemon waits
    /// for the lock.
    #[must_use]
    pub fn close(self) -> FileLock {
        // Remove the socket before releasing the lock, so that a starter never sees the socket
        // without a lock holder.
        if self.is_in_place() {
            let _ = std::fs::remove_file(&self.socket);
        }
        self.lock
    }

    /// The next connection of this user; those of other users are rejected.
    pub async fn accept(&self) -> std::io::Result<UnixStream> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let user = stream.peer_cred()?.uid();
            if user == rustix::process::getuid().as_raw() {
                return Ok(stream);
            }
            tracing::warn!(user, "rejected a connection from another user");
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|meta| (meta.dev(), meta.ino()))
}

/// A call, and for a large one the permission to have it in memory.
#[derive(Debug)]
pub struct ReceivedCall {
    pub call: DaemonCall,
    /// Held until the call is handled.
    pub large_call: Option<OwnedSemaphorePermit>,
}

/// Reads a connection's only call; the error is for the log. A call above [`SMALL_CALL_BYTES_MAX`]
/// waits for one of the `large_calls`.
pub async fn read_call(
    stream: &mut UnixStream,
    large_calls: &Arc<Semaphore>,
) -> Result<ReceivedCall, String> {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    let mut first = (&mut reader).take(SMALL_CALL_BYTES_MAX);
    let read = first.read_until(b'\n', &mut line).await.map_err(|error| error.to_string())?;
    if read == 0 {
        return Err("closed without a call".to_owned());
    }
    let mut large_call = None;
    if line.len() as u64 == SMALL_CALL_BYTES_MAX && line.last() != Some(&b'\n') {
        let permit = Arc::clone(large_calls).acquire_owned().await;
        large_call = Some(permit.map_err(|error| error.to_string())?);
        let mut rest = (&mut reader).take(CONTROL_LINE_BYTES_MAX - SMALL_CALL_BYTES_MAX);
        rest.read_until(b'\n', &mut line).await.map_err(|error| error.to_string())?;
    }
    let call = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
    Ok(ReceivedCall { call, large_call })
}

/// Writes the answer; an error means that it was not delivered.
pub async fn write_reply(stream: &mut UnixStream, answer: &DaemonReply) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    stream.flush().await
}

/// Resolves when the other end has closed the connection.
pub async fn wait_for_disconnect(stream: &mut UnixStream) {
    let mut byte = [0];
    // A front door sends nothing after its call, so the end of input means that it has disconnected.
    let _ = stream.read(&mut byte).await;
}
