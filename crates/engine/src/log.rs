//! The log file: one line per event, bounded, one old file kept. Never holds environments, prompts
//! or source text, and no secrets that an error repeats.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use moai_base::limits::LOG_BYTES_MAX;
use moai_base::redaction::redacted;

/// Writes the program's traces to `folder/name`. An unwritable log is ignored, because the daemon
/// must work without one.
pub(crate) fn to_file(folder: &Path, name: &str) {
    let Ok(log) = BoundedLog::open(folder.join(name)) else { return };
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::INFO)
        .with_writer(Mutex::new(log))
        .finish();
    // A second start in one process (tests) keeps the first log.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

struct BoundedLog {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl BoundedLog {
    fn open(path: PathBuf) -> std::io::Result<Self> {
        let file = File::options().create(true).append(true).mode(0o600).open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path, file, bytes })
    }
}

impl Write for BoundedLog {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        if self.bytes >= LOG_BYTES_MAX {
            std::fs::rename(&self.path, self.path.with_extension("log.1"))?;
            *self = Self::open(self.path.clone())?;
        }
        let text = String::from_utf8_lossy(line);
        let clean = redacted(&text);
        self.file.write_all(clean.as_bytes())?;
        self.bytes += clean.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_moved_aside_and_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("daemon.log");
        let mut log = BoundedLog::open(path.clone()).expect("open");
        log.bytes = LOG_BYTES_MAX;
        log.write_all(b"new\n").expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("there"), "new\n");
        assert!(folder.path().join("daemon.log.1").exists());
    }
}
