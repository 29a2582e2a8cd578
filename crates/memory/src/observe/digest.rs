//! Digests of sessions from their stored observations. Computed on demand, because the end of a
//! session may never be reported.

use std::collections::BTreeMap;

use moai_base::limits::{
    DIGEST_CODES_MAX, DIGEST_DECISIONS_MAX, DIGEST_FILES_MAX, DIGEST_VERDICTS_MAX,
};

use crate::observation::{FixOutcome, Provenance, StoredObservation};
use crate::ranking::ObservationKind;

/// Summary of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionDigest {
    /// The user's first request; empty if unknown.
    pub goal: String,
    /// Decisions, the newest first.
    pub decisions: Vec<DigestLine>,
    /// The end of loops and the rulings of judges, the newest first.
    pub verdicts: Vec<DigestLine>,
    /// The most edited files, those with most edits first.
    pub files: Vec<String>,
    /// Number of edited files that are not listed.
    pub more_files: usize,
    /// Codes of findings that were fixed.
    pub fixed: Vec<String>,
    /// Codes of findings that were introduced and not fixed.
    pub open: Vec<String>,
    /// The weakest source of its texts; `None` if it has none.
    pub provenance: Option<Provenance>,
}

/// An observation in a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestLine {
    pub row: i64,
    pub title: String,
}

impl SessionDigest {
    /// The digest of a session's observations, the newest first. Output of tools is omitted.
    #[must_use]
    pub fn of(goal: &str, observations: &[StoredObservation]) -> Self {
        let told = observations.iter().filter(|one| one.provenance != Provenance::Tool);
        let told: Vec<&StoredObservation> = told.filter(|one| !one.is_superseded).collect();
        let of_kind = |kind, lines_max| {
            let of_kind = told.iter().filter(|one| one.kind == kind).take(lines_max);
            of_kind
                .map(|one| DigestLine { row: one.row, title: one.title.clone() })
                .collect::<Vec<_>>()
        };
        let files = edited_files(&told);
        let of_fixes = || told.iter().filter(|one| one.kind == ObservationKind::Fix);
        let is_undone = |one: &&&StoredObservation| one.outcome == Some(FixOutcome::Undone);
        let fixed = codes(of_fixes().filter(|one| !is_undone(one)));
        let edits = told.iter().filter(|one| one.kind == ObservationKind::Edit);
        let mut open = codes(of_fixes().filter(is_undone).chain(edits));
        open.retain(|code| !fixed.contains(code));
        Self {
            goal: goal.to_owned(),
            decisions: of_kind(ObservationKind::Decision, DIGEST_DECISIONS_MAX),
            verdicts: of_kind(ObservationKind::Verdict, DIGEST_VERDICTS_MAX),
            more_files: files.len().saturating_sub(DIGEST_FILES_MAX),
            files: files.into_iter().take(DIGEST_FILES_MAX).collect(),
            fixed,
            open,
            provenance: told.iter().map(|one| one.provenance).min(),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.goal.is_empty() && !self.has_events()
    }

    /// True if anything besides the goal is known.
    #[must_use]
    pub fn has_events(&self) -> bool {
        !(self.decisions.is_empty()
            && self.verdicts.is_empty()
            && self.files.is_empty()
            && self.fixed.is_empty()
            && self.open.is_empty())
    }

    pub fn rows(&self) -> impl Iterator<Item = i64> {
        self.decisions.iter().chain(&self.verdicts).map(|line| line.row)
    }
}

/// The edited files, those with most edits first.
fn edited_files(told: &[&StoredObservation]) -> Vec<String> {
    let mut edits: BTreeMap<&str, u32> = BTreeMap::new();
    for one in told.iter().filter(|one| one.kind == ObservationKind::Edit) {
        for file in &one.files {
            let count: &mut u32 = edits.entry(file).or_default();
            *count = count.saturating_add(one.repeats).saturating_add(1);
        }
    }
    let mut files: Vec<(&str, u32)> = edits.into_iter().collect();
    files.sort_by_key(|(_, edits)| std::cmp::Reverse(*edits));
    files.into_iter().map(|(file, _)| file.to_owned()).collect()
}

fn codes<'o>(observations: impl Iterator<Item = &'o &'o StoredObservation>) -> Vec<String> {
    let mut codes: Vec<String> = Vec::new();
    for code in observations.flat_map(|one| &one.codes) {
        if !codes.contains(code) && codes.len() < DIGEST_CODES_MAX {
            codes.push(code.clone());
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{MemoryProject, Visibility};

    fn stored(row: i64, kind: ObservationKind, title: &str) -> StoredObservation {
        StoredObservation {
            row,
            id: format!("obs-{row}"),
            project: MemoryProject { key: "p".to_owned(), name: "shop".to_owned() },
            session: "s".to_owned(),
            kind,
            at_ms: row,
            title: title.to_owned(),
            body: String::new(),
            files: Vec::new(),
            codes: Vec::new(),
            shapes: Vec::new(),
            provenance: Provenance::Measured,
            importance: 0.5,
            repeats: 0,
            is_superseded: false,
            outcome: None,
            visibility: Visibility::Private,
            tokens: 5,
            simhash: None,
        }
    }

    fn edit(row: i64, file: &str, code: &str, repeats: u32) -> StoredObservation {
        StoredObservation {
            files: vec![file.to_owned()],
            codes: vec![code.to_owned()],
            repeats,
            ..stored(row, ObservationKind::Edit, file)
        }
    }

    #[test]
    fn a_session_is_what_was_decided_edited_and_fixed() {
        let fix = StoredObservation {
            codes: vec!["TS1".to_owned()],
            ..stored(6, ObservationKind::Fix, "fixed")
        };
        let output = StoredObservation {
            provenance: Provenance::Tool,
            ..stored(5, ObservationKind::Test, "a tool's text")
        };
        let decided = StoredObservation {
            provenance: Provenance::User,
            ..stored(4, ObservationKind::Decision, "세션 쿠키를 쓰기로 했다")
        };
        let rows =
            [fix, output, decided, edit(3, "src/b.ts", "TS2", 4), edit(2, "src/a.ts", "TS1", 0)];
        let digest = SessionDigest::of("로그인을 고쳐줘", &rows);
        assert_eq!(digest.files, ["src/b.ts", "src/a.ts"]);
        assert_eq!(
            (digest.fixed.as_slice(), digest.open.as_slice()),
            (["TS1".to_owned()].as_slice(), ["TS2".to_owned()].as_slice())
        );
        assert_eq!(digest.decisions[0].title, "세션 쿠키를 쓰기로 했다");
        assert_eq!(digest.provenance, Some(Provenance::User));
        assert_eq!(digest.rows().collect::<Vec<_>>(), [4]);
        assert!(!digest.is_empty() && SessionDigest::of("", &[]).is_empty());
    }

    #[test]
    fn what_was_undone_is_open_and_what_held_is_fixed() {
        let fix = |row, code: &str, outcome| StoredObservation {
            codes: vec![code.to_owned()],
            outcome,
            ..stored(row, ObservationKind::Fix, "fixed")
        };
        let rows = [
            fix(3, "back", Some(FixOutcome::Undone)),
            fix(2, "held", Some(FixOutcome::Held)),
            fix(1, "unknown", None),
        ];
        let digest = SessionDigest::of("", &rows);
        assert_eq!(digest.fixed, ["held", "unknown"]);
        assert_eq!(digest.open, ["back"]);
    }

    #[test]
    fn many_files_are_counted() {
        let rows: Vec<StoredObservation> =
            (0..20).map(|row| edit(row, &format!("src/{row}.ts"), "", 0)).collect();
        let digest = SessionDigest::of("", &rows);
        assert_eq!(digest.files.len() + digest.more_files, 20);
        assert_eq!(digest.files.len(), DIGEST_FILES_MAX);
    }
}
