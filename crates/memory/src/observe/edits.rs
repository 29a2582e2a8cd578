//! The effects of an edit, from its measured difference: the findings it introduced and fixed, and
//! the lines changed for each fix.

use std::ops::Range;

use moai_base::finding::{Finding, Severity};
use moai_base::hash::ContentHash;
use moai_base::limits::{
    CLEANED_BYTES_MAX, FIX_LINE_CHARS_MAX, FIX_LINES_MAX, FIX_REGION_LINES_MAX, FIXES_PER_EDIT_MAX,
};
use moai_base::lines::{LineHashes, LineMap, LineMapping};

use crate::clean::CleanText;
use crate::shape::FindingShape;

/// Prefix of a line from before a fix.
const OLD_MARK: &str = "- ";
/// Prefix of a line from after it.
const NEW_MARK: &str = "+ ";
/// Prefixes and suffixes of file names whose content is never stored, in lower case.
const SECRET_NAME_STARTS: [&str; 6] =
    [".env", "id_rsa", "id_ed25519", "id_ecdsa", "credentials", "secrets."];
const SECRET_NAME_ENDS: [&str; 6] = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore"];

/// The texts of an edited file.
#[derive(Clone, Copy, Debug)]
pub struct EditTexts<'t> {
    /// Before the edit; empty for a new file.
    pub before: &'t str,
    pub after: &'t str,
}

/// The lines that an edit changed in one place, without common indentation and blank lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FixHunk {
    /// Lines of the earlier text; empty where lines were only added.
    pub old: Vec<String>,
    /// Lines of the later text; empty where lines were only removed.
    pub new: Vec<String>,
}

impl FixHunk {
    /// One line each, old ones after `- `, new ones after `+ `.
    #[must_use]
    pub fn to_text(&self) -> String {
        let old = self.old.iter().map(|line| format!("{OLD_MARK}{line}"));
        let new = self.new.iter().map(|line| format!("{NEW_MARK}{line}"));
        old.chain(new).collect::<Vec<_>>().join("\n")
    }

    /// Parses the output of [`Self::to_text`]; other lines are ignored.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let marked = |mark: &str| {
            let lines = text.lines().filter_map(|line| line.strip_prefix(mark));
            lines.take(FIX_LINES_MAX).map(str::to_owned).collect()
        };
        Self { old: marked(OLD_MARK), new: marked(NEW_MARK) }
    }

    fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

/// A finding that an edit fixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredFix {
    pub finding: Finding,
    pub shape: FindingShape,
    /// The change that fixed it.
    pub hunk: FixHunk,
}

/// True for findings worth remembering: errors and warnings.
#[must_use]
pub fn is_remembered(finding: &Finding) -> bool {
    finding.severity >= Severity::Warning
}

#[must_use]
pub fn shape_of(finding: &Finding) -> FindingShape {
    FindingShape::new(&finding.sensor, &finding.code, &finding.message)
}

/// The findings that an edit fixed with a short change, one for each shape. A shape that the file
/// still has, or that the edit introduced, is not fixed. Empty for files with private passages or
/// secrets, and for files that are too long to be searched for them.
#[must_use]
pub fn measured_fixes(
    path: &str,
    disappeared: &[Finding],
    present: &[Finding],
    texts: EditTexts<'_>,
) -> Vec<MeasuredFix> {
    let mut fixes: Vec<MeasuredFix> = Vec::new();
    // Findings of an emptied file were removed with its code, not fixed.
    let is_emptied = texts.after.trim().is_empty();
    if is_emptied
        || disappeared.iter().all(|finding| !is_remembered(finding))
        || !may_be_quoted(path, texts)
    {
        return fixes;
    }
    let present: Vec<String> = present.iter().map(|finding| shape_of(finding).id()).collect();
    let changes = changes(texts);
    let before = ContentHash::of_bytes(texts.before.as_bytes());
    for finding in disappeared.iter().filter(|finding| is_remembered(finding)) {
        let shape = shape_of(finding);
        let is_known = fixes.iter().any(|fix| fix.shape == shape);
        if is_known || present.contains(&shape.id()) || fixes.len() == FIXES_PER_EDIT_MAX {
            continue;
        }
        // A finding about different bytes has no usable line.
        let line = (finding.content_hash == before).then_some(finding.range.start.line as usize);
        let hunk = hunk_for(line, &changes, texts);
        fixes.extend(hunk.map(|hunk| MeasuredFix { finding: finding.clone(), shape, hunk }));
    }
    fixes
}

/// True if text of a file may be stored: it has no private passage and no secret, and it is short
/// enough to be searched for them.
#[must_use]
pub fn may_be_quoted(path: &str, texts: EditTexts<'_>) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let is_secret = SECRET_NAME_STARTS.iter().any(|start| name.starts_with(start))
        || SECRET_NAME_ENDS.iter().any(|end| name.ends_with(end));
    let is_long = [texts.before, texts.after].iter().any(|text| text.len() > CLEANED_BYTES_MAX);
    if is_secret || is_long {
        return false;
    }
    let cleaned = CleanText::of_fields(&[texts.before, texts.after]);
    cleaned.iter().flatten().all(|text| !text.has_removed())
        && cleaned
            .iter()
            .zip([texts.before, texts.after])
            .all(|(clean, text)| clean.is_some() || text.trim().is_empty())
}

/// Lines of the earlier text, and the lines of the later one that replace them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChangedRegion {
    old: Range<usize>,
    new: Range<usize>,
}

fn changes(texts: EditTexts<'_>) -> Vec<ChangedRegion> {
    let before = LineHashes::from_text(texts.before);
    let after = LineHashes::from_text(texts.after);
    let map = LineMap::between(&before, &after);
    let (mut changes, mut old, mut new) = (Vec::new(), 0, 0);
    for line in 0..=before.count() {
        let kept = match u32::try_from(line).ok().and_then(|line| map.map_old_line(line)) {
            Some(LineMapping::Kept(kept)) => kept as usize,
            Some(LineMapping::Edited(_)) => continue,
            None => after.count(),
        };
        if line > old || kept > new {
            changes.push(ChangedRegion { old: old..line, new: new..kept.max(new) });
        }
        (old, new) = (line + 1, kept + 1);
    }
    changes
}

/// The change at a line, else the nearest one. `None` if it is too long to show the cause of a fix.
fn hunk_for(
    line: Option<usize>,
    changes: &[ChangedRegion],
    texts: EditTexts<'_>,
) -> Option<FixHunk> {
    let distance = |change: &&ChangedRegion| {
        let line = line.unwrap_or_default();
        let last = change.old.end.saturating_sub(1).max(change.old.start);
        change.old.start.saturating_sub(line).max(line.saturating_sub(last))
    };
    let change = match line {
        Some(_) => changes.iter().min_by_key(distance)?,
        None if changes.len() == 1 => changes.first()?,
        None => return None,
    };
    if change.old.len().max(change.new.len()) > FIX_REGION_LINES_MAX {
        return None;
    }
    let hunk = FixHunk {
        old: shown_lines(texts.before, &change.old),
        new: shown_lines(texts.after, &change.new),
    };
    Some(hunk).filter(|hunk| !hunk.is_empty())
}

fn shown_lines(text: &str, lines: &Range<usize>) -> Vec<String> {
    let lines = text.lines().skip(lines.start).take(lines.len());
    let shown = lines.map(str::trim).filter(|line| !line.is_empty()).take(FIX_LINES_MAX);
    shown.map(|line| line.chars().take(FIX_LINE_CHARS_MAX).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::samples;

    const BEFORE: &str = "import os\n\ndef f(id: str) -> int:\n    return id\n\nprint(f('1'))\n";
    const AFTER: &str =
        "import os\n\ndef f(id: str) -> int:\n    return int(id)\n\nprint(f('1'))\n";

    fn finding(line: u32, code: &str, text: &str) -> Finding {
        Finding {
            content_hash: ContentHash::of_bytes(text.as_bytes()),
            ..samples::finding("src/a.py", line, code)
        }
    }

    fn fixes(gone: &[Finding], present: &[Finding], before: &str, after: &str) -> Vec<MeasuredFix> {
        measured_fixes("src/a.py", gone, present, EditTexts { before, after })
    }

    #[test]
    fn the_lines_that_fixed_a_finding_are_kept() {
        let found = fixes(&[finding(3, "ret", BEFORE)], &[], BEFORE, AFTER);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].hunk.to_text(), "- return id\n+ return int(id)");
        assert_eq!(FixHunk::from_text(&found[0].hunk.to_text()), found[0].hunk);
        assert_eq!(found[0].shape, shape_of(&finding(3, "ret", BEFORE)));
    }

    #[test]
    fn the_nearest_change_fixed_a_finding_on_a_line_that_stays() {
        let before = "a = b\nprint(a)\n";
        let after = "from m import b\na = b\nprint(a)\n";
        let found = fixes(&[finding(0, "undefined", before)], &[], before, after);
        assert_eq!(found[0].hunk.to_text(), "+ from m import b");
        let removed = fixes(&[finding(1, "unused", before)], &[], before, "a = b\n");
        assert_eq!(removed[0].hunk.to_text(), "- print(a)");
    }

    #[test]
    fn an_emptied_file_fixes_nothing() {
        for after in ["", "\n \n"] {
            assert!(fixes(&[finding(3, "ret", BEFORE)], &[], BEFORE, after).is_empty());
        }
    }

    #[test]
    fn a_shape_that_is_still_there_is_not_fixed() {
        let gone = [finding(3, "ret", BEFORE), finding(5, "ret", BEFORE)];
        assert_eq!(fixes(&gone, &[], BEFORE, AFTER).len(), 1, "one for each shape");
        assert!(fixes(&gone, &[finding(9, "ret", AFTER)], BEFORE, AFTER).is_empty());
        let hint = Finding { severity: Severity::Hint, ..finding(3, "ret", BEFORE) };
        assert!(fixes(&[hint], &[], BEFORE, AFTER).is_empty());
    }

    #[test]
    fn a_line_of_another_text_names_no_place() {
        let other = finding(0, "ret", "another text");
        assert_eq!(
            fixes(std::slice::from_ref(&other), &[], BEFORE, AFTER).len(),
            1,
            "one change alone"
        );
        let after = AFTER.replace("import os", "import sys");
        assert!(fixes(&[other], &[], BEFORE, &after).is_empty(), "one of two changes");
    }

    #[test]
    fn a_long_change_says_nothing() {
        let long = "x = 1\n".repeat(FIX_REGION_LINES_MAX + 1);
        let after = BEFORE.replace("    return id\n", &long);
        assert!(fixes(&[finding(3, "ret", BEFORE)], &[], BEFORE, &after).is_empty());
    }

    #[test]
    fn files_with_secrets_are_not_quoted() {
        let gone = |before: &str| vec![finding(3, "ret", before)];
        let key = ["AKIA", "IOSFODNN7", "EXAMPLQ"].concat();
        let secret = format!("{BEFORE}key = '{key}'\n");
        assert!(fixes(&gone(&secret), &[], &secret, &secret.replace("return id", "x")).is_empty());
        let private = format!("# <private>\n{BEFORE}");
        let after = private.replace("return id", "return 1");
        assert!(fixes(&gone(&private), &[], &private, &after).is_empty());
        let texts = EditTexts { before: BEFORE, after: AFTER };
        for path in [".env.local", "conf/Credentials.json", "keys/server.pem"] {
            assert!(measured_fixes(path, &gone(BEFORE), &[], texts).is_empty(), "{path}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_two_texts_have_bounded_hunks(
            before in "([ab]|\r?\n|가){0,60}",
            after in "([ab]|\r?\n|가){0,60}",
            line in 0_u32..70,
        ) {
            for fix in fixes(&[finding(line, "x", &before)], &[], &before, &after) {
                proptest::prop_assert!(fix.hunk.old.len() <= FIX_LINES_MAX);
                proptest::prop_assert!(fix.hunk.new.len() <= FIX_LINES_MAX);
                proptest::prop_assert!(!fix.hunk.is_empty());
            }
        }
    }
}
