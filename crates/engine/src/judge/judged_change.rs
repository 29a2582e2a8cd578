//! The change that judges review: base texts from git (without git, from the first checkpoint of a
//! loop), present texts from disk. Files that are not shown are listed with the reason: possible
//! secrets, generated files and unreadable ones.

use std::io::Read as _;
use std::path::Path;

use crate::engine::Engine;
use crate::loops::loop_files;
use crate::project::Project;
use crate::restore::checkpoints;
use crate::restore::checkpoints::FileSinceStart;
use moai_base::evidence::SkippedFile;
use moai_base::limits::{SOURCE_BYTES_MAX, STOP_FILES_MAX};
use moai_base::path::RelPath;
use moai_base::protected::foreign_folder;
use moai_base::sensitive::is_sensitive;
use moai_host::files;
use moai_host::git::base_versions::{BaseVersions, BytesAtBase, versions_since};
use moai_loops::criteria::RUBRIC;
use moai_loops::judge::change::{ReviewChange, ReviewFile, ReviewText};
use moai_scan::comments::without_comments;
use moai_scan::syntax::ScanLanguage;

/// The rejections with their reasons, for the agent.
pub(crate) const FEEDBACK_FILE: &str = "JUDGE_FEEDBACK.md";
/// All decisions, one line each.
pub(crate) const EVOLUTION_FILE: &str = "JUDGE_EVOLUTION.md";

/// Files that a loop itself writes or reads.
const OWN: [&str; 6] = [
    FEEDBACK_FILE,
    EVOLUTION_FILE,
    RUBRIC,
    loop_files::PROGRESS_FILE,
    loop_files::DECISIONS_FILE,
    loop_files::ALIGN_FILE,
];
/// Folders of such files, and their extensions; code in these folders is reviewed.
const OWN_FOLDERS: [&str; 5] =
    [".moai/config/", ".moai/loops/", ".moai/specs/", ".claude/memory/", "docs/learnings/"];
const OWN_KINDS: [&str; 4] = ["json", "md", "yaml", "yml"];
/// Files that package managers write.
const LOCK_FILES: [&str; 12] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Pipfile.lock",
    "bun.lock",
    "composer.lock",
    "go.sum",
    "mix.lock",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

/// The result of collecting a change.
#[derive(Clone, Debug)]
pub(crate) enum CollectedChange {
    /// The change; it may be empty.
    Change(ReviewChange),
    /// The root is outside every working tree, and no loop has a first checkpoint.
    NoGit,
}

/// Collects the change of a root since `base`, or without git since a loop began. The error is one
/// line for users.
pub(crate) fn collect_judged_change(
    engine: &Engine,
    project: &Project,
    base: Option<&str>,
    loop_id: Option<&str>,
) -> Result<CollectedChange, String> {
    let root = &project.root;
    let versions = versions_since(root, base).map_err(|error| error.to_string())?;
    let versions = match versions {
        None => versions_since_start(engine, project, loop_id)?,
        versions => versions,
    };
    let Some(versions) = versions else { return Ok(CollectedChange::NoGit) };
    let mut change = ReviewChange { unread: versions.skipped, ..ReviewChange::default() };
    let reader = files::RootReader::open(root);
    for (path, before) in versions.files {
        if is_own(&path) {
            continue;
        }
        if let Some(reason) = withheld(&path) {
            change.omitted.push(skipped_file(&path, reason));
            continue;
        }
        if change.files.len() == STOP_FILES_MAX {
            change.unread.push(skipped_file(&path, "too many files were changed"));
            continue;
        }
        match (text_before(before, &path), text_now(root, &reader, &path)) {
            (Ok(before), Ok(after)) if before == after => {}
            (Ok(before), Ok(after)) => {
                let before = before.map(|full| both_views(&path, full));
                let after = after.map(|full| both_views(&path, full));
                change.files.push(ReviewFile { path, before, after });
            }
            (Err(OmissionReason::Unreadable(reason)), _)
            | (_, Err(OmissionReason::Unreadable(reason))) => {
                change.unread.push(skipped_file(&path, &reason));
            }
            (Err(OmissionReason::NoText(reason)), _) | (_, Err(OmissionReason::NoText(reason))) => {
                change.omitted.push(skipped_file(&path, reason));
            }
        }
    }
    change.sort();
    Ok(CollectedChange::Change(change))
}

fn skipped_file(path: &RelPath, reason: &str) -> SkippedFile {
    SkippedFile { path: path.to_string(), reason: reason.to_owned() }
}

/// The base versions of changed files without git, from a loop's first checkpoint.
fn versions_since_start(
    engine: &Engine,
    project: &Project,
    loop_id: Option<&str>,
) -> Result<Option<BaseVersions>, String> {
    let Some(since) = checkpoints::changes_since_start(engine, project, loop_id)? else {
        return Ok(None);
    };
    let skipped = since.unknown.into_iter().map(|(path, reason)| SkippedFile { path, reason });
    let skipped = skipped.collect();
    let mut files = Vec::with_capacity(since.files.len());
    for FileSinceStart { path, before, .. } in since.files {
        let version = match before {
            None => BytesAtBase::Absent,
            Some(bytes) if bytes.len() as u64 > SOURCE_BYTES_MAX => {
                BytesAtBase::NotRead("larger than 1 MiB")
            }
            Some(bytes) => BytesAtBase::Bytes(bytes),
        };
        files.push((path, version));
    }
    Ok(Some(BaseVersions { files, skipped }))
}

/// Why a file is not shown.
enum OmissionReason {
    /// The file holds no text.
    NoText(&'static str),
    /// The file may hold text that could not be read.
    Unreadable(String),
}

/// True if a file belongs to the loop itself. Such files are left out, because they would turn the same
/// change into a new question each time, and because the agent's claims in them must not sway the judge.
fn is_own(path: &RelPath) -> bool {
    let (name, kind) = (path.as_str(), path.extension());
    OWN.contains(&name)
        || kind.is_some_and(|kind| OWN_KINDS.contains(&kind.as_str()))
            && OWN_FOLDERS.iter().any(|folder| name.starts_with(folder))
}

fn withheld(path: &RelPath) -> Option<&'static str> {
    let name = path.file_name();
    if is_sensitive(path) {
        return Some("files of this name usually hold secrets");
    }
    if LOCK_FILES.contains(&name) {
        return Some("made by a package manager");
    }
    foreign_folder(path).map(|_| "copied or built")
}

fn text_before(before: BytesAtBase, path: &RelPath) -> Result<Option<String>, OmissionReason> {
    match before {
        BytesAtBase::Absent => Ok(None),
        BytesAtBase::Bytes(bytes) if bytes.contains(&0) => Err(binary(path, &bytes)),
        BytesAtBase::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(OmissionReason::Unreadable("it was not UTF-8".to_owned())),
        },
        BytesAtBase::NotRead("no regular file") => {
            Err(OmissionReason::NoText("was not a regular file"))
        }
        BytesAtBase::NotRead(reason) => Err(OmissionReason::Unreadable(reason.to_owned())),
    }
}

fn text_now(
    root: &Path,
    reader: &files::RootReader,
    path: &RelPath,
) -> Result<Option<String>, OmissionReason> {
    match path.under(root).symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Ok(meta) if !meta.is_file() => return Err(OmissionReason::NoText("no regular file")),
        _ => {}
    }
    match reader.read(path) {
        Ok(snapshot) => Ok(Some(snapshot.text.to_string())),
        Err(skipped) => {
            let mut bytes = Vec::new();
            let file = files::open_regular(&path.under(root));
            let read =
                file.and_then(|file| file.take(SOURCE_BYTES_MAX + 1).read_to_end(&mut bytes));
            let is_whole = read.is_ok_and(|length| length as u64 <= SOURCE_BYTES_MAX);
            Err(if is_whole && bytes.contains(&0) {
                binary(path, &bytes)
            } else {
                OmissionReason::Unreadable(skipped.reason)
            })
        }
    }
}

/// The reason for bytes that contain a zero. A zero byte in a source must not hide it from the judge.
fn binary(path: &RelPath, bytes: &[u8]) -> OmissionReason {
    let is_source = ScanLanguage::from_path(path).is_some();
    if is_source || is_utf16(bytes) || is_text_with_zeros(bytes) {
        return OmissionReason::Unreadable(
            "it contains zero bytes but is not a binary file".to_owned(),
        );
    }
    OmissionReason::NoText("binary")
}

fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

fn is_text_with_zeros(bytes: &[u8]) -> bool {
    let rest: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    !rest.is_empty() && std::str::from_utf8(&rest).is_ok_and(|text| text.chars().all(is_text_char))
}

fn is_text_char(character: char) -> bool {
    !character.is_control() || matches!(character, '\t' | '\n' | '\r' | '\x0c')
}

fn both_views(path: &RelPath, full: String) -> ReviewText {
    let code = without_comments(path, &full);
    ReviewText { full, code }
}
