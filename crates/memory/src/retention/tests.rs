//! The rules over rows, without a store.

use super::*;
use crate::clean::CleanText;
use crate::observation::{MemoryProject, NewObservation, Provenance, Visibility};

/// The beginning of a day.
const DAY_MS: i64 = 20_000 * MS_PER_DAY;

fn edit(row: i64, file: &str, title: &str) -> StoredObservation {
    StoredObservation {
        row,
        id: format!("obs-{row}"),
        project: MemoryProject { key: "p".to_owned(), name: "shop".to_owned() },
        session: "s".to_owned(),
        kind: ObservationKind::Edit,
        at_ms: DAY_MS + row,
        title: format!("{file}: {title}"),
        body: "a finding".to_owned(),
        files: vec![file.to_owned()],
        codes: vec!["TS2345".to_owned()],
        shapes: vec!["s1".to_owned()],
        provenance: Provenance::Measured,
        importance: 0.2,
        repeats: 0,
        is_superseded: false,
        outcome: None,
        visibility: Visibility::Private,
        tokens: 5,
        simhash: None,
    }
}

fn command(row: i64, title: &str) -> StoredObservation {
    StoredObservation {
        kind: ObservationKind::Command,
        title: title.to_owned(),
        files: Vec::new(),
        provenance: Provenance::Tool,
        importance: 0.3,
        ..edit(row, "", "")
    }
}

fn stored(row: i64, new: &NewObservation) -> StoredObservation {
    StoredObservation {
        title: new.title.as_str().to_owned(),
        body: new.body.as_ref().map_or_else(String::new, |body| body.as_str().to_owned()),
        files: new.files.iter().map(|file| file.as_str().to_owned()).collect(),
        repeats: new.repeats,
        at_ms: new.at_ms,
        ..edit(row, "", "")
    }
}

fn folded(folds: &[RowFold]) -> Vec<&[i64]> {
    folds.iter().map(|fold| fold.rows.as_slice()).collect()
}

#[test]
fn a_summary_counts_files_and_keeps_the_titles() {
    let rows = [
        edit(1, "src/cart.ts", "edited total"),
        StoredObservation { repeats: 2, ..edit(2, "src/pay.ts", "결제 편집") },
        edit(3, "src/cart.ts", "edited sum"),
        StoredObservation { importance: 0.4, ..edit(4, "src/cart.ts", "edited total") },
    ];
    let new = summary(&rows).expect("there are rows");
    assert_eq!(new.title.as_str(), "Σ 6: src/cart.ts ×3, src/pay.ts ×3");
    let body = new.body.as_ref().map(CleanText::as_str);
    let expected = "src/cart.ts: edited total\nsrc/pay.ts: 결제 편집\nsrc/cart.ts: edited sum";
    assert_eq!(body, Some(expected));
    assert_eq!((new.at_ms, new.repeats, new.session.as_str()), (DAY_MS + 4, 5, "s"));
    assert_eq!((new.files.len(), new.codes.len(), new.importance), (2, 1, 0.4));
}

#[test]
fn summaries_are_summarized_again() {
    let first = summary(&[edit(1, "a.ts", "edited x"), edit(2, "b.ts", "edited y")]);
    let first = stored(9, &first.expect("there are rows"));
    let again = summary(&[first, edit(3, "b.ts", "edited z")]).expect("there are rows");
    assert_eq!(again.title.as_str(), "Σ 3: b.ts ×2, a.ts");
    let body = again.body.as_ref().map(CleanText::as_str);
    assert_eq!(body, Some("a.ts: edited x\nb.ts: edited y\nb.ts: edited z"));
}

#[test]
fn a_summary_has_a_bounded_size() {
    let rows: Vec<StoredObservation> = (0..500)
        .map(|row| command(row, &format!("run-{row} failed with exit code 1: {}", "x".repeat(90))))
        .collect();
    let new = summary(&rows).expect("there are rows");
    assert!(new.title.as_str().contains("+496"), "{}", new.title.as_str());
    let body = new.body.as_ref().map_or("", CleanText::as_str);
    assert!(body.chars().count() <= moai_base::limits::SUMMARY_BODY_CHARS_MAX);
    assert!(body.lines().count() > 20);
}

#[test]
fn each_session_kind_and_day_has_its_own_summary() {
    let of_session = |row, session: &str| StoredObservation {
        session: session.to_owned(),
        ..edit(row, "a.ts", &format!("edited f{row}"))
    };
    let next_day = |row| StoredObservation { at_ms: DAY_MS + MS_PER_DAY, ..of_session(row, "s") };
    let rows = vec![
        of_session(1, "s"),
        of_session(2, "t"),
        command(3, "make failed"),
        of_session(4, "s"),
        command(5, "tox failed"),
        next_day(6),
        next_day(7),
    ];
    let folds = summaries(rows);
    assert_eq!(folded(&folds), [&[1, 4][..], &[3, 5], &[6, 7]]);
}

#[test]
fn near_duplicates_fold_into_the_first() {
    let other_project = StoredObservation {
        project: MemoryProject { key: "q".to_owned(), name: "q".to_owned() },
        ..command(5, "make failed with exit code 2")
    };
    let test = StoredObservation {
        kind: ObservationKind::Test,
        ..command(6, "make failed with exit code 2")
    };
    let rows = vec![
        command(1, "make failed with exit code 2"),
        command(2, "make failed with exit code 1"),
        command(3, "make failed, with exit code 2"),
        other_project,
        test,
        command(7, "make failed with exit code 2."),
    ];
    let mut earlier = VecDeque::new();
    let folds = near_duplicates(rows, &mut earlier);
    assert_eq!(folded(&folds), [&[3, 7]]);
    assert_eq!(folds[0].into, FoldTarget::Row(1));
    let later = near_duplicates(vec![command(8, "make failed with exit code 1!")], &mut earlier);
    assert_eq!(later, [RowFold { rows: vec![8], into: FoldTarget::Row(2) }]);
}

#[test]
fn edits_of_other_sessions_are_not_folded() {
    let other = StoredObservation { session: "t".to_owned(), ..edit(2, "a.ts", "edited total") };
    let same = edit(3, "a.ts", "edited total.");
    let rows = vec![edit(1, "a.ts", "edited total"), other, same];
    assert_eq!(folded(&near_duplicates(rows, &mut VecDeque::new())), [&[3]]);
}

#[test]
fn what_a_person_wrote_is_neither_folded_nor_dropped() {
    let of_user = StoredObservation { provenance: Provenance::User, ..command(1, "make") };
    let decision = StoredObservation { kind: ObservationKind::Decision, ..command(2, "make") };
    assert!(!is_foldable(&of_user) && !is_foldable(&decision) && is_foldable(&command(3, "make")));
    let choices = drop_choices("p", DAY_MS);
    let kinds: Vec<ObservationKind> =
        choices.iter().flat_map(|choice| choice.kinds.clone()).collect();
    assert!(!kinds.contains(&ObservationKind::Decision) && !kinds.contains(&ObservationKind::Note));
    assert!(choices.iter().all(|choice| choice.before_ms == DAY_MS - 7 * MS_PER_DAY));
    assert!(!choices[0].is_imported && !choices[0].is_used);
}

#[test]
fn a_day_is_read_as_a_whole_where_that_is_possible() {
    let of_day = |row, day: i64| StoredObservation {
        at_ms: DAY_MS + day * MS_PER_DAY + row,
        ..edit(row, "a.ts", "edited")
    };
    let scan = |rows: &[StoredObservation]| ScannedRows {
        foldable: rows.to_vec(),
        end: rows.last().map(TimePosition::of),
    };
    let old = DAY_MS + 90 * MS_PER_DAY;
    let mut scanned = scan(&[of_day(1, 0), of_day(2, 1), of_day(3, 2)]);
    let end = whole_days(&mut scanned, old).expect("there is more");
    assert_eq!(scanned.foldable.len(), 2);
    assert_eq!(end.at_ms, DAY_MS + 2 * MS_PER_DAY - 1);
    let mut scanned = scan(&[of_day(1, 2), of_day(2, 2)]);
    assert_eq!(whole_days(&mut scanned, old), Some(TimePosition::of(&of_day(2, 2))));
    assert_eq!(scanned.foldable.len(), 2);
    let mut scanned = scan(&[of_day(1, 0), of_day(3, 2)]);
    assert_eq!(whole_days(&mut scanned, DAY_MS), Some(TimePosition::of(&of_day(3, 2))));
    assert_eq!(scanned.foldable.len(), 2);
}
