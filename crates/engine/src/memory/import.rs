//! `memory import`: reads a file in parts, and stores one part while the next one is read. The file
//! has JSON lines, or is the database of another memory.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Take};
use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::replies::{MemoryRefusal, MemoryReply, reply};
use super::scope::caller_project;
use crate::engine::{Engine, memory_now_ms};
use crate::replies::REFUSED;
use moai_base::hash::ContentHash;
use moai_base::limits::{
    MEMORY_BAD_LINES_LISTED_MAX, MEMORY_ID_CHARS_MAX, MEMORY_IMPORT_BYTES_MAX,
    MEMORY_IMPORTED_AT_ONCE, MEMORY_LINE_BYTES_MAX, MEMORY_NAMES_MAX, MEMORY_ROW_MAX,
};
use moai_host::files;
use moai_host::store::StoreError;
use moai_host::store::foreign_memories::{
    ForeignObservation, SkippedTable, is_database, read_foreign_memory,
};
use moai_memory::clean::{CleanRecord, CleanText};
use moai_memory::database::{MemoryDatabase, StoredAs};
use moai_memory::names::files_and_codes;
use moai_memory::observation::{FixOutcome, MemoryProject, NewObservation, Provenance, Visibility};
use moai_memory::ranking::ObservationKind;
use moai_protocol::control::{CallerContext, CommandReply};
use moai_protocol::documents::json_text;
use moai_protocol::documents::memory::{MemoryChangeDocument, RejectedLine};
use moai_protocol::observation_lines::{ObservationLine, is_in_calendar};
use moai_report::memory::change_text;

/// Importance of an imported observation without one.
const IMPORTED_IMPORTANCE: f64 = 0.5;
/// Parts of the file that wait for the store.
const PARTS_WAITING: usize = 2;

/// A part of the file.
type ImportPart = Vec<NewObservation>;

/// Lines that cannot be used.
#[derive(Default)]
struct BadLines {
    listed: Vec<RejectedLine>,
    total: u64,
}

impl BadLines {
    fn add(&mut self, line: u64, reason: &str) {
        self.total += 1;
        if self.listed.len() < MEMORY_BAD_LINES_LISTED_MAX {
            self.listed.push(RejectedLine { line, reason: reason.to_owned() });
        }
    }
}

pub(super) async fn import(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    file: &Path,
    json: bool,
) -> MemoryReply {
    let path = caller.cwd.join(file);
    let opened = files::open_input(&path).and_then(|file| {
        // Looking into a pipe would take its beginning away.
        let is_file = file.metadata()?.is_file();
        Ok((file, is_file && is_database(&path)))
    });
    let (opened, is_database) =
        opened.map_err(|error| MemoryRefusal::Invalid(format!("{}: {error}", path.display())))?;
    let job = engine.job();
    let mut reader = ImportReader {
        engine: Arc::clone(engine),
        caller: caller.clone(),
        own: caller_project(engine, caller),
        named: HashMap::new(),
        now_ms: memory_now_ms(),
        bad: BadLines::default(),
    };
    let (parts, waiting) = channel(PARTS_WAITING);
    let source = path.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let read = if is_database {
            let read = reader.read_database(&source, &parts);
            read.map_err(|error| MemoryRefusal::of_file(&source, error))
        } else {
            // One byte more than allowed, so that an endless input is detected instead of cut.
            let bounded = opened.take(MEMORY_IMPORT_BYTES_MAX + 1);
            let read = reader.read(BufReader::new(bounded), &parts);
            read.map_err(|error| MemoryRefusal::Invalid(format!("{}: {error}", source.display())))
        };
        (reader.bad, read)
    });
    let stored = store_parts(engine, waiting).await;
    let (bad, read) = reading
        .await
        .map_err(|_| MemoryRefusal::Invalid("the file could not be read".to_owned()))?;
    let StoredParts { new, repeated, failure } = stored;
    let imported = new + repeated;
    if let Some(error) = failure {
        return Err(MemoryRefusal::Unfinished { imported, reason: error.to_string() });
    }
    read.map_err(|refusal| match refusal {
        MemoryRefusal::Invalid(reason) if imported > 0 => {
            MemoryRefusal::Unfinished { imported, reason }
        }
        other => other,
    })?;
    drop(job);
    let document = MemoryChangeDocument {
        command: "import",
        status: "done",
        observations: imported,
        repeated,
        rejected: bad.listed,
        rejected_total: bad.total,
        file: Some(path.to_string_lossy().into_owned()),
        ..MemoryChangeDocument::default()
    };
    // An empty file is the export of an empty memory.
    let is_unusable = document.observations == 0 && document.rejected_total > 0;
    let text = change_text(&document);
    let code = if is_unusable { REFUSED } else { 0 };
    Ok(CommandReply { code, ..reply(json_text(&document), text, json) })
}

/// Result of storing the parts of a file.
#[derive(Default)]
struct StoredParts {
    new: u64,
    /// Observations that were known.
    repeated: u64,
    /// Why the other parts are not stored.
    failure: Option<StoreError>,
}

/// Each part is stored completely or not at all; after the first failure no other is tried.
async fn store_parts(engine: &Engine, mut waiting: Receiver<ImportPart>) -> StoredParts {
    let mut done = StoredParts::default();
    while let Some(part) = waiting.recv().await {
        let store = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
            let part = with_ids_of_other_memories(database, part)?;
            database.add(&part)
        };
        match engine.memory.for_command().write(store).await {
            Ok(stored) => {
                let new = stored.iter().filter(|it| matches!(it, StoredAs::New(_))).count();
                done.new += new as u64;
                done.repeated += (stored.len() - new) as u64;
            }
            Err(error) => {
                done.failure = Some(error);
                return done;
            }
        }
    }
    done
}

/// An id that this program gave in another memory may be the one of another record here: then the imported
/// one gets an id that is made of its text.
fn with_ids_of_other_memories(
    database: &mut dyn MemoryDatabase<Error = StoreError>,
    mut part: ImportPart,
) -> Result<ImportPart, StoreError> {
    for record in &mut part {
        let Some(id) = record.external_id.clone() else { continue };
        let Some(number) = own_number(&id) else { continue };
        if number > MEMORY_ROW_MAX.unsigned_abs() {
            record.external_id = Some(made_id_of(record));
            continue;
        }
        let row = database.rows_of_ids(&[id])?.into_iter().flatten().next();
        let Some(known) = database.load(row.as_slice())?.into_iter().next() else { continue };
        let body = record.body.as_ref().map_or("", CleanText::as_str);
        let is_same = known.kind == record.kind
            && known.project.key == record.project.key
            && known.title == record.title.as_str()
            && known.body == body;
        if !is_same {
            record.external_id = Some(made_id_of(record));
        }
    }
    Ok(part)
}

/// The number of an id, if this program numbers observations so.
fn own_number(id: &str) -> Option<u64> {
    id.strip_prefix("obs-").and_then(|number| number.parse().ok())
}

fn made_id_of(record: &NewObservation) -> String {
    let body = record.body.as_ref().map_or("", CleanText::as_str);
    let text = format!("{}\n{body}", record.title.as_str());
    made_id(&text, &record.session, Some(record.at_ms))
}

/// Reads lines as observations.
struct ImportReader {
    engine: Arc<Engine>,
    caller: CallerContext,
    /// For lines without a project.
    own: MemoryProject,
    named: HashMap<String, MemoryProject>,
    now_ms: i64,
    bad: BadLines,
}

impl ImportReader {
    fn read(
        &mut self,
        mut file: BufReader<Take<File>>,
        parts: &Sender<ImportPart>,
    ) -> std::io::Result<()> {
        let mut part = ImportPart::new();
        let mut bytes = Vec::new();
        for number in 1.. {
            bytes.clear();
            if file.get_ref().limit() == 0 {
                let reason = format!("more than {MEMORY_IMPORT_BYTES_MAX} bytes");
                return Err(std::io::Error::other(reason));
            }
            let line_max = MEMORY_LINE_BYTES_MAX as u64 + 1;
            if file.by_ref().take(line_max).read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            if bytes.len() > MEMORY_LINE_BYTES_MAX && bytes.last() != Some(&b'\n') {
                self.bad.add(number, "the line is too long");
                skip_line(&mut file)?;
                continue;
            }
            let line = String::from_utf8_lossy(&bytes);
            let line = line.trim_start_matches('\u{feff}').trim();
            if line.is_empty() {
                continue;
            }
            match ObservationLine::parse(line).and_then(|line| self.observation(line)) {
                Ok(observation) => part.push(observation),
                Err(reason) => self.bad.add(number, &reason),
            }
            // Without a receiver the store has failed, which is reported.
            if part.len() == MEMORY_IMPORTED_AT_ONCE
                && parts.blocking_send(std::mem::take(&mut part)).is_err()
            {
                return Ok(());
            }
        }
        if !part.is_empty() {
            let _ = parts.blocking_send(part);
        }
        Ok(())
    }

    /// Reads the database of another memory. Rows that cannot be stored are counted by their place in the
    /// order of reading.
    fn read_database(&mut self, path: &Path, parts: &Sender<ImportPart>) -> Result<(), StoreError> {
        let mut part = ImportPart::new();
        let mut number = 0;
        let skipped = read_foreign_memory(path, &mut |foreign| {
            number += 1;
            match self.observation(line_of(foreign)) {
                Ok(observation) => part.push(observation),
                Err(reason) => self.bad.add(number, &reason),
            }
            if part.len() == MEMORY_IMPORTED_AT_ONCE {
                // Without a receiver the store has failed, which is reported.
                let _ = parts.blocking_send(std::mem::take(&mut part));
            }
        })?;
        for SkippedTable { table, reason } in skipped {
            self.bad.add(0, &format!("the table {table}: {reason}"));
        }
        if !part.is_empty() {
            let _ = parts.blocking_send(part);
        }
        Ok(())
    }

    fn observation(&mut self, line: ObservationLine) -> Result<NewObservation, String> {
        let record =
            CleanRecord::of(&line.title, &line.body).ok_or("nothing is left that may be stored")?;
        let (files, codes) = files_and_codes(&record.text());
        let session = clean_id(&line.session).unwrap_or_default();
        let id = line.id.as_deref().and_then(clean_id);
        let id = id.unwrap_or_else(|| made_id(&record.text(), &session, line.at_ms));
        let CleanRecord { title, body } = record;
        let files = line.files.unwrap_or(files);
        let codes = line.codes.unwrap_or(codes);
        let names = |names: Vec<String>| -> Vec<CleanText> {
            names.iter().filter_map(|name| CleanText::of(name)).take(MEMORY_NAMES_MAX).collect()
        };
        let provenance = line.provenance.as_deref().and_then(Provenance::from_name);
        Ok(NewObservation {
            external_id: Some(id),
            project: self.project(line.project.as_deref(), line.project_key),
            session,
            kind: ObservationKind::from_foreign_name(&line.kind),
            at_ms: line.at_ms.unwrap_or(self.now_ms),
            title,
            body,
            files: names(files),
            codes: names(codes),
            shapes: line
                .shapes
                .into_iter()
                .filter(|id| is_shape(id))
                .take(MEMORY_NAMES_MAX)
                .collect(),
            // A file cannot say that this program measured something.
            provenance: provenance
                .filter(|it| *it != Provenance::Measured)
                .unwrap_or(Provenance::Agent),
            importance: line.importance.unwrap_or(IMPORTED_IMPORTANCE).clamp(0.0, 1.0),
            outcome: line.outcome.as_deref().and_then(FixOutcome::from_name),
            visibility: Visibility::Private,
            repeats: line.repeats,
        })
    }

    /// The project of a folder that a line has in place of a project, as in ralph-mem.
    fn project_at(&self, name: &str) -> Option<MemoryProject> {
        let folder = Path::new(name);
        if !folder.is_absolute() || !folder.is_dir() {
            return None;
        }
        let there = CallerContext { cwd: folder.to_path_buf(), root: None, ..self.caller.clone() };
        Some(caller_project(&self.engine, &there))
    }

    /// The project of a line. A key is kept if this program could have made it.
    fn project(&mut self, name: Option<&str>, key: Option<String>) -> MemoryProject {
        let Some(name) = name.and_then(clean_id) else { return self.own.clone() };
        if let Some(key) = key.filter(|key| is_key(key)) {
            return MemoryProject { key, name };
        }
        if let Some(project) = self.named.get(&name) {
            return project.clone();
        }
        let project = self.project_at(&name).unwrap_or_else(|| MemoryProject::named(&name));
        self.named.insert(name, project.clone());
        project
    }
}

/// A row of another memory as a line of an import.
fn line_of(foreign: ForeignObservation) -> ObservationLine {
    let ForeignObservation { id, project, session, kind, at_ms, title, body, files } = foreign;
    ObservationLine {
        id: Some(id),
        project: Some(project).filter(|name| !name.is_empty()),
        session,
        kind,
        at_ms: Some(at_ms).filter(|at_ms| is_in_calendar(*at_ms)),
        title,
        body,
        files: Some(files).filter(|files| !files.is_empty()),
        ..ObservationLine::default()
    }
}

fn clean_id(id: &str) -> Option<String> {
    CleanText::of(id).map(|id| id.as_str().chars().take(MEMORY_ID_CHARS_MAX).collect())
}

/// An id for a record without one: the same whenever the record is read.
fn made_id(text: &str, session: &str, at_ms: Option<i64>) -> String {
    let at = at_ms.map_or_else(String::new, |at_ms| at_ms.to_string());
    let identity = format!("{session}\n{at}\n{text}");
    format!("line-{}", ContentHash::of_bytes(identity.as_bytes()).short_hex())
}

/// True if this program could have made the id of a shape.
fn is_shape(id: &str) -> bool {
    id.len() == 16 && id.bytes().all(|it| it.is_ascii_hexdigit())
}

fn is_key(key: &str) -> bool {
    (16..=17).contains(&key.len()) && key.bytes().all(|it| it.is_ascii_alphanumeric())
}

fn skip_line(file: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = file.fill_buf()?;
        let (length, is_end) = match buffer.iter().position(|it| *it == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        file.consume(length);
        if is_end {
            return Ok(());
        }
    }
}
