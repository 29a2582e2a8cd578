//! The effects of a planned or completed restore of a checkpoint: a diff, the files, the kept
//! files, and how to undo it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::agent::truncate_text;
use super::rename::{ChangedFile, preview};
use super::{count_noun, sanitized_name};
use moai_base::limits::{RESTORE_DIFF_CHARS_MAX, SKIPPED_NAMED_MAX};
use moai_base::path::RelPath;
use moai_base::tree::{Checkpoint, RestoreStep, RestoreSteps};
use moai_protocol::documents::loops::{RestoreDocument, RestoreFileEntry, RestoreGapEntry};

/// A checkpoint that can be or was restored.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    pub checkpoint: Checkpoint,
    /// Files to change and to keep.
    pub steps: RestoreSteps,
    /// The changed texts of a preview.
    pub texts: Vec<ChangedFile>,
    /// The checkpoint of the replaced files; `None` for a preview.
    pub saved: Option<String>,
}

/// The files that checkpoints omit, with the reasons; `None` if they omit none.
#[must_use]
pub fn excluded_files(files: &BTreeMap<String, String>) -> Option<String> {
    let more = files.len().saturating_sub(SKIPPED_NAMED_MAX);
    let named = files.iter().take(SKIPPED_NAMED_MAX);
    let mut named: Vec<String> =
        named.map(|(path, reason)| format!("{} ({reason})", sanitized_name(path))).collect();
    if more > 0 {
        named.push(format!("… and {}", count_noun(more, "more file")));
    }
    let all = named.join(", ");
    (!files.is_empty()).then(|| format!("[moai-ralph] not in the checkpoints: {all}"))
}

impl RestoreReport {
    fn counts(&self) -> String {
        let number = |step| self.steps.steps.values().filter(|it| **it == step).count();
        let parts = [RestoreStep::Added, RestoreStep::Changed, RestoreStep::Removed]
            .into_iter()
            .filter_map(|step| {
                let number = number(step);
                (number > 0).then(|| format!("{} {}", count_noun(number, "file"), step.as_str()))
            });
        parts.collect::<Vec<_>>().join(", ")
    }
}

/// The text: the diff of a preview, or the written files.
#[must_use]
pub fn restore_text(restored: &RestoreReport) -> String {
    let Checkpoint { owner, name, .. } = &restored.checkpoint;
    let mut text = String::new();
    if restored.saved.is_none() {
        let diff = preview(&restored.texts);
        let all = "all files are listed below";
        text.push_str(&truncate_text(diff.trim_end(), RESTORE_DIFF_CHARS_MAX, all));
        if !text.is_empty() {
            text.push('\n');
        }
    }
    for (path, step) in &restored.steps.steps {
        let _ = writeln!(text, "{:<7} {}", step.as_str(), sanitized_name(path.as_str()));
    }
    for path in &restored.steps.kept_files {
        let path = sanitized_name(path.as_str());
        let _ = writeln!(text, "kept    {path} (in no checkpoint of the loop)");
    }
    for (path, reason) in &restored.steps.untouched {
        let _ = writeln!(text, "left    {} ({reason})", sanitized_name(path));
    }
    let counts = restored.counts();
    let _ = match &restored.saved {
        _ if counts.is_empty() => writeln!(text, "checkpoint {name} of {owner}: nothing differs"),
        None => writeln!(text, "checkpoint {name} of {owner}: {counts}; not written, use --apply"),
        Some(saved) => writeln!(
            text,
            "checkpoint {name} of {owner} is restored: {counts}\n\
             undo: moai-ralph loop restore {owner} --to {saved} --apply"
        ),
    };
    text
}

/// The same as one document.
#[must_use]
pub fn restore_document(restored: &RestoreReport) -> RestoreDocument<'_> {
    let steps = &restored.steps;
    let files = steps.steps.iter();
    let left = steps.untouched.iter();
    RestoreDocument {
        owner: &restored.checkpoint.owner,
        checkpoint: &restored.checkpoint.name,
        status: if restored.saved.is_some() { "applied" } else { "preview" },
        files: files
            .map(|(path, step)| RestoreFileEntry { path: path.as_str(), action: step.as_str() })
            .collect(),
        kept: steps.kept_files.iter().map(RelPath::as_str).collect(),
        left: left.map(|(path, reason)| RestoreGapEntry { path, reason }).collect(),
        saved: restored.saved.as_deref(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use moai_protocol::documents::json_value;

    fn restored() -> RestoreReport {
        let path = |text| RelPath::parse(text).unwrap();
        let checkpoint = Checkpoint {
            owner: "loop-1".into(),
            name: "3".into(),
            at_secs: 0,
            tree_id: String::new(),
            root: PathBuf::from("/r"),
        };
        let mut way = RestoreSteps::default();
        way.steps.insert(path("a.py"), RestoreStep::Changed);
        way.steps.insert(path("new.bin"), RestoreStep::Removed);
        way.kept_files.push(path("mine.py"));
        way.untouched.insert("big".into(), "not saved now: larger than 16 MiB".into());
        let text = |text: &str| Some(text.to_owned());
        let texts = vec![ChangedFile {
            path: "a.py".into(),
            moved_from: None,
            before: text("x = 2\n"),
            after: text("x = 1\n"),
        }];
        RestoreReport { checkpoint, steps: way, texts, saved: None }
    }

    #[test]
    fn a_preview_shows_the_diff_and_what_stays() {
        insta::assert_snapshot!(restore_text(&restored()), @r"
        --- a/a.py
        +++ b/a.py
        @@ -1 +1 @@
        -x = 2
        +x = 1
        changed a.py
        removed new.bin
        kept    mine.py (in no checkpoint of the loop)
        left    big (not saved now: larger than 16 MiB)
        checkpoint 3 of loop-1: 1 file changed, 1 file removed; not written, use --apply
        ");
        assert_eq!(json_value(&restore_document(&restored()))["status"], "preview");
    }

    #[test]
    fn a_restore_says_how_to_take_it_back() {
        let restored = RestoreReport { saved: Some("before-1".into()), ..restored() };
        let text = restore_text(&restored);
        assert!(text.contains("is restored: 1 file changed, 1 file removed\n"), "{text}");
        assert!(text.contains("loop restore loop-1 --to before-1 --apply\n"), "{text}");
        assert!(!text.contains("@@"), "{text}");
        assert_eq!(json_value(&restore_document(&restored))["saved"], "before-1");
    }
}
