//! Freezes what a loop is examined by into the store when it starts, and looks later what differs
//! on disk. What counts as a difference is decided in `looping::exam`.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::criteria;
use super::engine::{Engine, blocking, now_ms};
use super::project::Project;
use crate::base::evidence::{Reading, SensorKind};
use crate::base::finding::Finding;
use crate::base::hash::ContentHash;
use crate::base::limits::{
    EXAM_FILE_BYTES_MAX, EXAM_FILES_MAX, EXAM_TEXT_BYTES_MAX, EXAM_TEXTS_BYTES_MAX,
};
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::files;
use crate::looping::exam::roles::{FOLDERS, is_silent, subject};
use crate::looping::exam::{self, Difference, Exam, Frozen, Role, role};
use crate::looping::state::LoopState;
use crate::store::StoreError;
use crate::store::exams::Texts;

/// Freezes what a loop is examined by as it is now, in place of an earlier exam.
pub(super) async fn freeze(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
) -> Result<(), StoreError> {
    let found = {
        let project = project.clone();
        blocking(move || {
            let plan = criteria::plan(&project);
            let (files, texts, is_cut) = collect(&project.root);
            let exam = Exam { frozen_ms: now_ms(), plan, files, is_cut, counts: BTreeMap::new() };
            (exam, texts)
        })
    };
    let lost = || StoreError::Unavailable("the files could not be read".to_owned());
    let (exam, texts) = found.await.ok_or_else(lost)?;
    engine.store.freeze_exam(&project.key, loop_id, exam, texts).await
}

/// The exam of a loop and what differs from it; `None` for a loop without one.
pub(super) async fn look(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
) -> Result<Option<(Exam, Vec<Difference>)>, StoreError> {
    let Some(exam) = engine.store.find_exam(&project.key, loop_id).await? else { return Ok(None) };
    let root = project.root.clone();
    let found = blocking(move || {
        let differences = exam::differences(&exam, &now(&root, &exam));
        (exam, differences)
    });
    let lost = || StoreError::Unavailable("the files could not be read".to_owned());
    found.await.map(Some).ok_or_else(lost)
}

/// What a Stop learns from the exam: a reading and its findings; `None` for a loop without one. It
/// is asked after the checks, which may write files.
pub(super) async fn differences(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
) -> Option<(Reading, Vec<Finding>)> {
    match look(engine, project, &state.id).await {
        Ok(None) => None,
        Ok(Some((exam, differences))) => Some(exam::judged(&exam, &differences)),
        Err(error) => {
            let gap = Gap::new(Cause::Crashed, error.to_string());
            let clean = Reading::clean(exam::READING, SensorKind::Guard, 0);
            Some((Reading { gap: Some(gap), ..clean }, Vec::new()))
        }
    }
}

type Files = BTreeMap<RelPath, Frozen>;

/// All files that examine a loop, the texts that are kept, and whether there are more files than
/// an exam holds.
fn collect(root: &Path) -> (Files, Texts, bool) {
    let mut found: Vec<(Role, RelPath)> = files::walk_names(root, &|path| role(path).is_some())
        .into_iter()
        .chain(shallow(root))
        .filter_map(|path| Some((role(&path)?, path)))
        .collect();
    // Tests come last: of too many files those are left out that others look at as well.
    found.sort();
    found.dedup();
    let is_cut = found.len() > EXAM_FILES_MAX;
    found.truncate(EXAM_FILES_MAX);
    let (mut files, mut texts, mut kept_bytes) = (Files::new(), Texts::new(), 0);
    for (role, path) in found {
        let Some(read) = read(root, &path) else { continue };
        if is_silent(&path, &read.bytes) {
            continue;
        }
        files.insert(path.clone(), Frozen { role, hash: read.hash(&path), stamp: read.stamp });
        let is_small = read.bytes.len() <= EXAM_TEXT_BYTES_MAX;
        if is_small && kept_bytes + read.bytes.len() <= EXAM_TEXTS_BYTES_MAX {
            kept_bytes += read.bytes.len();
            texts.insert(path, read.bytes);
        }
    }
    (files, texts, is_cut)
}

/// Hashes of the files of an exam that are there, and of those that would belong to it and stand
/// where new ones are looked for.
fn now(root: &Path, exam: &Exam) -> BTreeMap<RelPath, ContentHash> {
    let mut hashes = BTreeMap::new();
    for (path, frozen) in &exam.files {
        let is_same = frozen.role == Role::Test && stamp(root, path) == Some(frozen.stamp);
        let hash = if is_same { Some(frozen.hash) } else { hash(root, path) };
        hashes.extend(hash.map(|hash| (path.clone(), hash)));
    }
    for path in shallow(root) {
        let is_new = !exam.files.contains_key(&path) && role(&path) != Some(Role::Test);
        if let Some(read) = is_new.then(|| read(root, &path)).flatten()
            && !is_silent(&path, &read.bytes)
        {
            let hash = read.hash(&path);
            hashes.insert(path, hash);
        }
    }
    hashes
}

/// Files that examine a loop and stand in the root or in one of a few folders.
fn shallow(root: &Path) -> Vec<RelPath> {
    let mut found = Vec::new();
    for folder in std::iter::once("").chain(FOLDERS) {
        let Ok(entries) = root.join(folder).read_dir() else { continue };
        let paths = entries.flatten().take(EXAM_FILES_MAX).map(|entry| entry.path());
        let paths = paths.filter_map(|path| RelPath::below(root, &path));
        found.extend(paths.filter(|path| role(path).is_some()));
    }
    found
}

/// One file as it is.
struct Read {
    bytes: Vec<u8>,
    stamp: (u64, i64),
}

impl Read {
    /// Hash of what matters of it; of a file that is longer than what is read, the length counts.
    fn hash(&self, path: &RelPath) -> ContentHash {
        let subject = subject(path, &self.bytes);
        if self.stamp.0 <= EXAM_FILE_BYTES_MAX {
            return ContentHash::of(&subject);
        }
        ContentHash::of(format!("{} {}", ContentHash::of(&subject), self.stamp.0).as_bytes())
    }
}

/// `None` for what is not there or is no file: a pipe would never end.
fn read(root: &Path, path: &RelPath) -> Option<Read> {
    let stamp = stamp(root, path)?;
    let file = std::fs::File::open(path.under(root)).ok()?;
    let mut bytes = Vec::new();
    file.take(EXAM_FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(Read { bytes, stamp })
}

/// Hash of what matters of a file; `None` when it is not there.
pub(super) fn hash(root: &Path, path: &RelPath) -> Option<ContentHash> {
    // What is there and cannot be read is not the same as before.
    read(root, path).map(|read| read.hash(path)).or_else(|| {
        let is_there = path.under(root).symlink_metadata().is_ok();
        is_there.then(|| ContentHash::of(b"not readable"))
    })
}

/// Size and modification time.
fn stamp(root: &Path, path: &RelPath) -> Option<(u64, i64)> {
    let metadata = path.under(root).metadata().ok().filter(std::fs::Metadata::is_file)?;
    let seconds = metadata.mtime().saturating_mul(1_000_000_000);
    Some((metadata.len(), seconds.saturating_add(metadata.mtime_nsec())))
}
