//! The notes of a loop with structured memory: their initial files, and the archive of a completed
//! loop. Pure; user-written text is never overwritten.

use std::fmt::Write as _;

use super::handoff::{EndedLoop, ended_with_newline};

/// The folder, below the root.
pub const FOLDER: &str = ".claude/memory";
/// The index, below the folder.
pub const INDEX: &str = "INDEX.md";
/// Notes of the running loop, below the folder.
pub const CURRENT: &str = "loops/current.md";
/// Notes of completed loops, below the folder.
pub const LOOPS: &str = "loops";

const LOOPS_HEADING: &str = "## Completed loops";

/// The initial files, below the folder, with their texts.
const SCAFFOLD: [(&str, &str); 5] = [
    (
        INDEX,
        "# Memory\n\nRead this first; follow only the links that the task needs.\n\n\
         - [Goals and what counts as done](spec.md)\n\
         - [Map of the code](map.md)\n\
         - [Constraints that were found](constraints.md)\n\
         - [The running loop](loops/current.md)\n\
         - Decisions: one file per topic below `decisions/`, linked here\n\n\
         ## Completed loops\n",
    ),
    ("spec.md", "# Goals and what counts as done\n\nFilled in by the first iteration.\n"),
    ("map.md", "# Map of the code\n\nAdded to while the code is explored.\n"),
    ("constraints.md", "# Constraints that were found\n\nOnly ever added to.\n"),
    (CURRENT, "# The running loop\n"),
];

/// The missing files with their initial texts.
pub fn scaffold(is_there: impl Fn(&str) -> bool) -> Vec<(&'static str, &'static str)> {
    SCAFFOLD.into_iter().filter(|(path, _)| !is_there(path)).collect()
}

/// The files changed by archiving a loop's notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotesArchive {
    /// The new file, below the folder.
    pub path: String,
    pub text: String,
    /// The index with a link to it.
    pub index: String,
    /// The notes for the next loop.
    pub current: String,
}

/// Archives the notes of the running loop under the next number. `names` are the files in
/// [`LOOPS`]. `None` without notes.
#[must_use]
pub fn archive(
    current: &str,
    index: &str,
    names: &[String],
    ended: EndedLoop<'_>,
) -> Option<NotesArchive> {
    let blank = SCAFFOLD.iter().find(|(path, _)| *path == CURRENT).map_or("", |(_, text)| text);
    let notes = current.trim();
    if notes.is_empty() || notes == blank.trim() {
        return None;
    }
    let number = names
        .iter()
        .filter_map(|name: &String| -> Option<u32> {
            name.strip_prefix("loop-")?.strip_suffix(".md")?.parse().ok()
        })
        .max()
        .unwrap_or(0)
        .saturating_add(1);
    let path = format!("{LOOPS}/loop-{number:03}.md");
    let line = ended.line();
    let notes = notes.strip_prefix(blank.trim()).unwrap_or(notes).trim();
    Some(NotesArchive {
        text: format!("# Loop {number:03} — {line}\n\n{notes}\n"),
        index: with_link(index, &format!("- [Loop {number:03}]({path}) — {line}")),
        current: blank.to_owned(),
        path,
    })
}

/// The index with a link after those of the other completed loops.
fn with_link(index: &str, link: &str) -> String {
    let mut lines: Vec<&str> = index.lines().collect();
    let Some(heading) = lines.iter().position(|line| line.trim() == LOOPS_HEADING) else {
        let mut text = ended_with_newline(index);
        let _ =
            writeln!(text, "{}{LOOPS_HEADING}\n{link}", if index.is_empty() { "" } else { "\n" });
        return text;
    };
    let below = &lines[heading + 1..];
    let end = below.iter().position(|line| line.starts_with('#')).unwrap_or(below.len());
    let used = below[..end].iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    lines.insert(heading + 1 + used, link);
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDED: EndedLoop<'_> = EndedLoop { id: "loop-x", iteration: 2, at_ms: 0 };

    #[test]
    fn only_missing_files_are_created() {
        assert_eq!(scaffold(|_| false).len(), SCAFFOLD.len());
        assert_eq!(scaffold(|path| path != "map.md").len(), 1);
        assert_eq!(scaffold(|_| true), []);
    }

    #[test]
    fn notes_are_put_away_under_the_next_number_and_linked() {
        let index = SCAFFOLD[0].1;
        let names: Vec<String> =
            ["loop-001.md", "loop-007.md", "current.md", "loop-x.md"].map(str::to_owned).into();
        let done = archive("# The running loop\n- found a\n", index, &names, ENDED).expect("notes");
        assert_eq!(done.path, "loops/loop-008.md");
        assert_eq!(
            done.text,
            "# Loop 008 — 1970-01-01 00:00:00 UTC | iteration 2 | loop-x\n\n- found a\n"
        );
        assert_eq!(done.current, "# The running loop\n");
        let link = "## Completed loops\n- [Loop 008](loops/loop-008.md) — 1970-01-01";
        assert!(done.index.contains(link), "{}", done.index);
        let again =
            archive("more", &done.index, &["loop-008.md".to_owned()], ENDED).expect("notes");
        let at = |text: &str| again.index.find(text).expect("linked");
        assert!(at("loop-008") < at("loop-009"), "{}", again.index);
    }

    #[test]
    fn an_index_edited_by_hand_keeps_its_text() {
        let done = archive("x", "# Mine\nwords", &[], ENDED).expect("notes");
        assert!(done.index.starts_with("# Mine\nwords\n\n## Completed loops\n- [Loop 001]"));
        let done =
            archive("x", "## Completed loops\n- a\n\n# More\n- b\n", &[], ENDED).expect("notes");
        let order = ["- a", "- [Loop 001]", "# More", "- b"].map(|text| done.index.find(text));
        assert!(order.is_sorted() && order[0].is_some(), "{}", done.index);
    }

    #[test]
    fn without_notes_there_is_no_archive() {
        assert_eq!(archive("", "", &[], ENDED), None);
        assert_eq!(archive("# The running loop\n\n", "", &[], ENDED), None);
    }
}
