//! The files that a tool call edits, by its arguments: a path with texts, or a patch over several
//! files. Where the host does not report the text before an edit, it follows from the text after it.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use moai_base::limits::PATCHED_FILES_MAX;
use serde_json::Value;

use crate::hook::TextBeforeEdit;

/// The first line of a patch.
pub const PATCH_START: &str = "*** Begin Patch";
/// Its last line.
const PATCH_END: &str = "*** End Patch";
const ADDED_FILE: &str = "*** Add File: ";
const UPDATED_FILE: &str = "*** Update File: ";
const DELETED_FILE: &str = "*** Delete File: ";
const MOVED_TO: &str = "*** Move to: ";
/// Names of an argument with a path, by host.
const PATH_KEYS: [&str; 4] = ["file_path", "filePath", "path", "notebook_path"];
const PATCH_KEYS: [&str; 2] = ["command", "patchText"];

/// The ends of lines.
const UNIX_END: &str = "\n";
const DOS_END: &str = "\r\n";

/// A file that a tool call edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// As the agent wrote it: absolute, or relative to the session's folder.
    pub path: PathBuf,
    pub change: FileChange,
}

/// The effect of an edit on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    Created,
    /// It is deleted, or moved elsewhere.
    Deleted,
    /// These parts are replaced, in this order.
    Replaced(Vec<TextReplacement>),
    /// The arguments do not determine the text before the edit.
    Rewritten,
}

/// A part of a text before and after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextReplacement {
    before: String,
    after: String,
    /// True if both are whole lines, each with its end.
    is_lines: bool,
}

impl FileEdit {
    /// The absolute path of the file; `cwd` is the session's folder.
    #[must_use]
    pub fn file(&self, cwd: &Path) -> PathBuf {
        cwd.join(&self.path)
    }

    /// True if the file exists after the edit.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.change != FileChange::Deleted
    }

    /// The text before the edit, if it follows from the text `now`.
    #[must_use]
    pub fn text_before(&self, now: &str) -> TextBeforeEdit {
        match &self.change {
            FileChange::Created => TextBeforeEdit::Absent,
            FileChange::Deleted | FileChange::Rewritten => TextBeforeEdit::Unknown,
            FileChange::Replaced(parts) => {
                let undone = parts.iter().try_fold(now.to_owned(), |text, part| part.undo(&text));
                undone.map_or(TextBeforeEdit::Unknown, TextBeforeEdit::Text)
            }
        }
    }
}

impl TextReplacement {
    /// The text before the replacement; `None` unless the new part occurs exactly once. The new
    /// part has the line ends of the arguments or, where the host keeps them, those of the file.
    fn undo(&self, text: &str) -> Option<String> {
        if self.after.is_empty() {
            return None;
        }
        [UNIX_END, DOS_END].into_iter().find_map(|end| self.undo_written_with(text, end))
    }

    fn undo_written_with(&self, text: &str, end: &str) -> Option<String> {
        let after = with_line_ends(&self.after, end);
        let has_dos_ends = end == DOS_END || text.replacen(&after, "", 1).contains(DOS_END);
        let before = with_line_ends(&self.before, if has_dos_ends { DOS_END } else { UNIX_END });
        if !self.is_lines {
            return replaced_once(text, &after, &before);
        }
        let undone = replaced_once(
            &format!("\n{text}{end}"),
            &format!("\n{after}"),
            &format!("\n{before}"),
        )?;
        let undone = &undone[1..];
        // The last line may have had a different line end.
        let without_end = undone.strip_suffix(DOS_END).or_else(|| undone.strip_suffix(UNIX_END));
        without_end.map(str::to_owned)
    }
}

fn with_line_ends(text: &str, end: &str) -> String {
    text.replace(DOS_END, UNIX_END).replace(UNIX_END, end)
}

fn replaced_once(text: &str, old: &str, new: &str) -> Option<String> {
    let (head, tail) = text.split_once(old)?;
    // A second place may begin within the first.
    let rest = &text[text.ceil_char_boundary(head.len() + 1)..];
    (!rest.contains(old)).then(|| format!("{head}{new}{tail}"))
}

/// The files in the arguments of a tool. The caller decides if the tool writes them.
#[must_use]
pub fn edits_of(tool_input: &Value) -> Vec<FileEdit> {
    if let Some(patch) = patch_in(tool_input) {
        return edits_of_patch(&patch);
    }
    let named = PATH_KEYS.iter().find_map(|key| tool_input[*key].as_str());
    let edit = named
        .filter(|path| !path.is_empty())
        .map(|path| FileEdit { path: PathBuf::from(path), change: change_of(tool_input) });
    edit.into_iter().collect()
}

/// True if a text is only a patch, and not a command with one.
#[must_use]
pub fn is_patch(text: &str) -> bool {
    text.trim_start().starts_with(PATCH_START)
}

/// The patch in the arguments of a tool, which may be the patch itself or a command with one or
/// several. It extends from the first start marker to the last end marker, because a line of a file
/// may look like an end marker.
fn patch_in(tool_input: &Value) -> Option<Cow<'_, str>> {
    let texts = PATCH_KEYS.iter().map(|key| &tool_input[*key]);
    let mut texts = std::iter::once(tool_input).chain(texts).filter_map(Value::as_str);
    let patch = texts.find_map(|text| text.find(PATCH_START).map(|start| &text[start..]))?;
    // A quoted shell text may have its line ends escaped.
    let is_quoted = !patch.contains('\n');
    Some(if is_quoted { Cow::Owned(patch.replace("\\n", "\n")) } else { Cow::Borrowed(patch) })
}

fn change_of(tool_input: &Value) -> FileChange {
    let text = |names: [&str; 2]| names.iter().find_map(|name| tool_input[*name].as_str());
    let is_everywhere = tool_input["replaceAll"].as_bool().unwrap_or_default();
    match (text(["old_str", "oldString"]), text(["new_str", "newString"])) {
        (Some(before), Some(after)) if !is_everywhere => {
            let (before, after) = (before.to_owned(), after.to_owned());
            FileChange::Replaced(vec![TextReplacement { before, after, is_lines: false }])
        }
        _ => FileChange::Rewritten,
    }
}

/// The files of a patch.
fn edits_of_patch(patch: &str) -> Vec<FileEdit> {
    let mut edits: Vec<FileEdit> = Vec::new();
    let lines: Vec<&str> = patch.lines().skip(1).collect();
    // A quotation mark may follow the end marker.
    let end = lines.iter().rposition(|line| line.trim_start().starts_with(PATCH_END));
    for line in lines.iter().take(end.unwrap_or(lines.len())) {
        if edits.len() >= PATCHED_FILES_MAX {
            break;
        }
        // Codex and Copilot accept headers with white space before them.
        let header = line.trim_start();
        if let Some(path) = header.strip_prefix(ADDED_FILE) {
            edits.push(edit_at(path, FileChange::Created));
        } else if let Some(path) = header.strip_prefix(UPDATED_FILE) {
            edits.push(edit_at(path, FileChange::Replaced(Vec::new())));
        } else if let Some(path) = header.strip_prefix(DELETED_FILE) {
            edits.push(edit_at(path, FileChange::Deleted));
        } else if let Some(path) = header.strip_prefix(MOVED_TO) {
            move_last(&mut edits, path);
        } else if let Some(FileEdit { change: FileChange::Replaced(parts), .. }) = edits.last_mut()
        {
            add_line(parts, line);
        }
    }
    edits.retain(|edit| !edit.path.as_os_str().is_empty());
    edits
}

fn edit_at(path: &str, change: FileChange) -> FileEdit {
    FileEdit { path: PathBuf::from(path.trim()), change }
}

/// Turns the last edit into a move: its file is deleted, and the result is written to a new path.
fn move_last(edits: &mut Vec<FileEdit>, path: &str) {
    let Some(last) = edits.last_mut() else { return };
    let change = std::mem::replace(&mut last.change, FileChange::Deleted);
    edits.push(edit_at(path, change));
}

/// A line of an updated file: `@@` begins a new part, and the first character marks it as old, new
/// or both.
fn add_line(parts: &mut Vec<TextReplacement>, line: &str) {
    if line.starts_with("@@") {
        let (before, after) = (String::new(), String::new());
        parts.push(TextReplacement { before, after, is_lines: true });
        return;
    }
    if parts.is_empty() && !line.starts_with("***") {
        add_line(parts, "@@");
    }
    let Some(part) = parts.last_mut() else { return };
    let text = line.get(1..).unwrap_or_default();
    let (is_before, is_after) = match line.chars().next() {
        Some('-') => (true, false),
        Some('+') => (false, true),
        // An empty line is a context line.
        Some(' ') | None => (true, true),
        Some(_) => return,
    };
    for (side, is_in) in [(&mut part.before, is_before), (&mut part.after, is_after)] {
        if is_in {
            side.push_str(text);
            side.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edits(tool_input: &Value) -> Vec<(String, FileChange)> {
        let edits = edits_of(tool_input).into_iter();
        edits.map(|edit| (edit.path.to_string_lossy().into_owned(), edit.change)).collect()
    }

    fn paths(tool_input: &Value) -> Vec<(String, bool)> {
        let edits = edits_of(tool_input).into_iter();
        edits.map(|it| (it.path.to_string_lossy().into_owned(), it.is_kept())).collect()
    }

    const SEVERAL: &str = "*** Begin Patch\n*** Add File: b.py\n+b = 1\n+*** Add File: no.py\n\
        *** Update File: old.py\n*** Move to: pkg/new.py\n@@\n-x = 1\n+x = 2\n\
        *** Delete File: gone.py\n*** End Patch\n*** Add File: after.py\n";

    #[test]
    fn headers_count_with_white_space_before_them() {
        let patch = json!(
            "*** Begin Patch\n *** Update File: RUBRIC.md\n@@\n-# R\n+# S\n\t*** Add File: b.py\n+b = 1\n\
             *** End Patch"
        );
        assert_eq!(paths(&patch), [("RUBRIC.md".into(), true), ("b.py".into(), true)]);
    }

    #[test]
    fn every_host_names_its_files_in_its_own_way() {
        for key in PATH_KEYS {
            assert_eq!(paths(&json!({key: "/p/a.py", "content": "x"})), [("/p/a.py".into(), true)]);
        }
        let several: Vec<(String, bool)> = vec![
            ("b.py".into(), true),
            ("old.py".into(), false),
            ("pkg/new.py".into(), true),
            ("gone.py".into(), false),
        ];
        assert_eq!(paths(&json!(SEVERAL)), several);
        assert_eq!(paths(&json!({"command": SEVERAL})), several);
        assert_eq!(paths(&json!({"patchText": SEVERAL})), several);
        let in_shell = json!({"command": format!("cd x && apply_patch <<'EOF'\n{SEVERAL}EOF")});
        assert_eq!(paths(&in_shell), several);
        assert!(is_patch(SEVERAL) && !is_patch("apply_patch <<'EOF'"));
        let one = |path: &str| format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch");
        for command in [
            format!("bash -lc \"apply_patch <<'EOF'\n{}\nEOF\"", one("a.py")),
            format!("apply_patch \"{}\"", one("a.py")),
            format!("apply_patch $'{}'", one("a.py").replace('\n', "\\n")),
            format!("printf '%s' '{}' | apply_patch", one("a.py")),
            format!("cat >p <<'E'\n{}\nE\napply_patch <p", one("a.py").replace('\n', "\r\n")),
        ] {
            assert_eq!(paths(&json!({"command": command})), [("a.py".into(), false)], "{command}");
        }
        let two = format!("apply_patch <<E\n{}\nE\napply_patch <<E\n{}\nE", one("a"), one("b"));
        assert_eq!(paths(&json!({"command": two})), [("a".into(), false), ("b".into(), false)]);
        let quoting = "*** Begin Patch\n*** Update File: a\n@@\n *** End Patch\n-x\n\
                       *** Delete File: b\n*** End Patch";
        assert_eq!(paths(&json!(quoting)), [("a".into(), true), ("b".into(), false)]);
    }

    #[test]
    fn what_names_no_file_is_no_edit() {
        for odd in [
            json!(null),
            json!({"command": "ls"}),
            json!({"path": ""}),
            json!({"path": 5}),
            json!("*** Begin Patch\n*** Delete File: \n*** Move to: \n"),
            json!("*** Begin Patch\n*** Move to: a.py\n*** End Patch"),
            json!({"command": "*** Begin Patch\n garbage\n*** End Patch"}),
        ] {
            assert!(edits(&odd).is_empty(), "{odd}");
        }
    }

    #[test]
    fn the_text_before_follows_from_the_text_after() {
        let check = |tool_input: Value, now: &str, expected: TextBeforeEdit| {
            let found = edits_of(&tool_input);
            let edit = found.iter().find(|edit| edit.is_kept()).expect("a file");
            assert_eq!(edit.text_before(now), expected, "{tool_input}");
        };
        let text = |text: &str| TextBeforeEdit::Text(text.to_owned());
        let replaced = |old: &str, new: &str| json!({"path": "a", "old_str": old, "new_str": new});
        check(replaced("1", "2"), "x = 2\n", text("x = 1\n"));
        check(replaced("1", "2"), "x = 2\ny = 2\n", TextBeforeEdit::Unknown);
        check(replaced("1", ""), "x = 2\n", TextBeforeEdit::Unknown);
        check(replaced("a", "\n\n"), "x\n\n\n", TextBeforeEdit::Unknown);
        let everywhere =
            json!({"filePath": "a", "oldString": "1", "newString": "2", "replaceAll": true});
        check(everywhere, "x = 2\n", TextBeforeEdit::Unknown);
        check(json!({"path": "a", "file_text": "x"}), "x", TextBeforeEdit::Unknown);
        check(json!(SEVERAL), "b = 1\n", TextBeforeEdit::Absent);
        let patch = |body: &str| {
            json!(format!("*** Begin Patch\n*** Update File: a.py\n{body}*** End Patch\n"))
        };
        let two = "@@ def f\n a\n-b\n+c\n@@\n-d\n+e\n f\n";
        check(patch(two), "a\nc\nxe\ne\nf\n", text("a\nb\nxe\nd\nf\n"));
        check(patch(" a\n+b\n\n"), "a\nb\n\n", text("a\n\n"));
        check(patch("@@\n-x\n"), "y\n", TextBeforeEdit::Unknown);
        check(patch("@@\n+x\n"), "y\nx\n", text("y\n"));
        check(patch("@@\n-o\n+한\n*** End of File\n"), "y\n한", text("y\no"));
        let dos = "@@\n a\n-b\n+c\n";
        check(patch(dos), "x\r\na\r\nc\r\ny\r\n", text("x\r\na\r\nb\r\ny\r\n"));
        check(patch(dos), "x\r\na\nc\ny\r\n", text("x\r\na\r\nb\r\ny\r\n"));
        check(patch(dos), "x\r\na\r\nc", text("x\r\na\r\nb"));
        let dos = json!(
            format!("*** Begin Patch\n*** Update File: a\n{dos}*** End Patch\n")
                .replace('\n', "\r\n")
        );
        check(dos, "a\nc\n", text("a\nb\n"));
        check(replaced("1\ny", "2\ny"), "x = 2\r\ny\r\n", text("x = 1\r\ny\r\n"));
        let moved = json!("*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch");
        check(moved, "same\n", text("same\n"));
    }
}
