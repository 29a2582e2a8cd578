//! Observations that wait for the store, one JSON object a line. Only clean texts get here, and they
//! are cleaned again when they are read, because a file can be changed.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use moai_memory::clean::CleanText;
use moai_memory::observation::{FixOutcome, MemoryProject, NewObservation, Provenance, Visibility};
use moai_memory::ranking::ObservationKind;
use serde::{Deserialize, Serialize};

use crate::files::private_dir;
use crate::store::StoreError;
use moai_base::limits::MEMORY_SPOOL_BYTES_MAX;

const FILE_NAME: &str = "spool.jsonl";

/// The file of waiting observations.
#[derive(Clone, Debug)]
pub(super) struct Spool {
    path: PathBuf,
}

/// The spool while no other process can change it.
#[derive(Debug)]
pub(super) struct LockedSpool {
    path: PathBuf,
    file: File,
}

impl Spool {
    pub(super) fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join(FILE_NAME) }
    }

    /// The spool of another store, which is identified by letters and digits.
    pub(super) fn of_store(folder: &Path, store: &str) -> Self {
        Self { path: folder.join(format!("spool-{store}.jsonl")) }
    }

    pub(super) fn has_lines(&self) -> bool {
        let has_lines = |path: &Path| fs::metadata(path).is_ok_and(|file| file.len() > 0);
        has_lines(&self.path) || has_lines(&self.taken_path())
    }

    fn taken_path(&self) -> PathBuf {
        self.path.with_extension("taken")
    }

    /// Closes the file of spooled observations to new ones and returns it: storing them takes long, and
    /// observations that arrive meanwhile go into a new file. `None` if it is empty, or if another process is
    /// storing them.
    pub(super) fn take(&self) -> Result<Option<LockedSpool>, StoreError> {
        let path = self.taken_path();
        let failed = |error: io::Error| unavailable(&path, &error);
        // Left by a process that ended, or in use by a running one.
        match open(OpenOptions::new().read(true), &path) {
            Ok(file) if file.try_lock().is_ok() => {
                return Ok(is_still_named(&file, &path).then_some(LockedSpool { path, file }));
            }
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        let Some(locked) = self.lock()? else { return Ok(None) };
        fs::rename(&locked.path, &path).map_err(failed)?;
        Ok(Some(LockedSpool { path, file: locked.file }))
    }

    /// Adds observations, durably.
    pub(super) fn append(&self, observations: &[NewObservation]) -> io::Result<()> {
        let lines: Vec<String> = observations
            .iter()
            .map(|it| SpoolLine::from_observation(it).text())
            .collect::<Result<_, _>>()?;
        if let Some(folder) = self.path.parent() {
            private_dir(folder)?;
        }
        let mut file = loop {
            let file = open(OpenOptions::new().read(true).append(true).create(true), &self.path)?;
            file.lock()?;
            // The file may have been stored and removed while this process waited.
            if is_still_named(&file, &self.path) {
                break file;
            }
        };
        let length = file.metadata()?.len();
        // A process that was killed has left part of a line.
        let is_cut = length > 0 && !ends_line(&file, length)?;
        let text = if is_cut { "\n".to_owned() } else { String::new() } + &lines.concat();
        if length + text.len() as u64 > MEMORY_SPOOL_BYTES_MAX {
            return Err(io::Error::other("the spool is full"));
        }
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        // On a full disk part of the text may be written.
        written.inspect_err(|_| drop(file.set_len(length)))
    }

    /// `None` if nothing waits.
    pub(super) fn lock(&self) -> Result<Option<LockedSpool>, StoreError> {
        let file = match open(OpenOptions::new().read(true), &self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| unavailable(&self.path, &error))?,
        };
        file.lock().map_err(|error| unavailable(&self.path, &error))?;
        // Another process may have stored and removed it meanwhile.
        let path = self.path.clone();
        Ok(is_still_named(&file, &path).then_some(LockedSpool { path, file }))
    }
}

impl LockedSpool {
    /// The waiting observations; lines that cannot be read are left out.
    pub(super) fn observations(&self) -> Result<Vec<NewObservation>, StoreError> {
        let mut bytes = Vec::new();
        let mut file = (&self.file).take(MEMORY_SPOOL_BYTES_MAX);
        file.read_to_end(&mut bytes).map_err(|error| unavailable(&self.path, &error))?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        let observations: Vec<NewObservation> =
            lines.iter().filter_map(|line| SpoolLine::parse(line)).collect();
        if observations.len() < lines.len() {
            let lost = lines.len() - observations.len();
            tracing::warn!(lost, "lines of the spool of the memory cannot be read");
        }
        Ok(observations)
    }

    pub(super) fn remove(self) -> Result<(), StoreError> {
        fs::remove_file(&self.path).map_err(|error| unavailable(&self.path, &error))
    }
}

/// The lines of all spools of a folder.
pub(super) fn waiting_lines(folder: &Path) -> u64 {
    let is_spool = |path: &Path| {
        let is_named = |name: &OsStr| name.to_string_lossy().starts_with("spool");
        let kind = path.extension().unwrap_or_default();
        path.file_stem().is_some_and(is_named) && (kind == "jsonl" || kind == "taken")
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let read = |path: PathBuf| {
        let mut bytes = Vec::new();
        let opened = File::open(path).map(|file| file.take(MEMORY_SPOOL_BYTES_MAX));
        let _ = opened.and_then(|mut file| file.read_to_end(&mut bytes));
        bytes.split(|it| *it == b'\n').filter(|line| !line.is_empty()).count() as u64
    };
    files.filter(|path| is_spool(path)).map(read).sum()
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.mode(0o600).open(path)
}

fn ends_line(file: &File, length: u64) -> io::Result<bool> {
    let mut last = [0];
    file.read_exact_at(&mut last, length - 1)?;
    Ok(last == *b"\n")
}

fn is_still_named(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

fn unavailable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", path.display()))
}

/// One observation in the file.
#[derive(Debug, Serialize, Deserialize)]
struct SpoolLine {
    external_id: Option<String>,
    project_key: String,
    project_name: String,
    session: String,
    kind: String,
    at_ms: i64,
    title: String,
    body: Option<String>,
    files: Vec<String>,
    codes: Vec<String>,
    shapes: Vec<String>,
    provenance: String,
    importance: f64,
    outcome: Option<String>,
    visibility: String,
    #[serde(default)]
    repeats: u32,
}

impl SpoolLine {
    fn from_observation(observation: &NewObservation) -> Self {
        let texts = |texts: &[CleanText]| texts.iter().map(|it| it.as_str().to_owned()).collect();
        Self {
            external_id: observation.external_id.clone(),
            project_key: observation.project.key.clone(),
            project_name: observation.project.name.clone(),
            session: observation.session.clone(),
            kind: observation.kind.name().to_owned(),
            at_ms: observation.at_ms,
            title: observation.title.as_str().to_owned(),
            body: observation.body.as_ref().map(|body| body.as_str().to_owned()),
            files: texts(&observation.files),
            codes: texts(&observation.codes),
            shapes: observation.shapes.clone(),
            provenance: observation.provenance.name().to_owned(),
            importance: observation.importance,
            outcome: observation.outcome.map(|outcome| outcome.name().to_owned()),
            visibility: observation.visibility.name().to_owned(),
            repeats: observation.repeats,
        }
    }

    fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(self).map(|line| line + "\n")
    }

    fn parse(line: &str) -> Option<NewObservation> {
        let line: Self = serde_json::from_str(line).ok()?;
        let clean = |texts: &[String]| texts.iter().filter_map(|it| CleanText::of(it)).collect();
        Some(NewObservation {
            external_id: line.external_id,
            project: MemoryProject { key: line.project_key, name: line.project_name },
            session: line.session,
            kind: ObservationKind::from_name(&line.kind)?,
            at_ms: line.at_ms,
            title: CleanText::of(&line.title)?,
            body: line.body.as_deref().and_then(CleanText::of),
            files: clean(&line.files),
            codes: clean(&line.codes),
            shapes: line.shapes,
            provenance: Provenance::from_name(&line.provenance)?,
            importance: line.importance,
            outcome: line.outcome.as_deref().and_then(FixOutcome::from_name),
            visibility: Visibility::from_name(&line.visibility)?,
            repeats: line.repeats,
        })
    }
}
