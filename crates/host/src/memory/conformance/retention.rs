//! Retention: observations that every store folds, drops and keeps.

use moai_memory::budget::InjectionEvent;
use moai_memory::database::Injection;
use moai_memory::observation::{NewObservation, Provenance, StoredObservation, Visibility};
use moai_memory::ranking::ObservationKind;
use moai_memory::retention::RetentionPass;
use moai_memory::retention::rows::{FoldTarget, RowFold};

use super::{Database, NOW_MS, add, clean, everything, found, load_one, observation, project};
use crate::store::StoreError;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const PLENTY: u64 = 1 << 40;

fn retain(database: Database<'_>, text_bytes_max: u64) -> Result<u64, StoreError> {
    retain_at(database, text_bytes_max, NOW_MS)
}

/// A whole pass at some time.
pub(super) fn retain_at(
    database: Database<'_>,
    text_bytes_max: u64,
    now_ms: i64,
) -> Result<u64, StoreError> {
    let mut pass = RetentionPass::new(text_bytes_max, now_ms);
    let mut removed = 0;
    while !pass.is_done() {
        for change in pass.next_changes(database)? {
            removed += change.apply(database)?;
        }
    }
    Ok(removed)
}

/// A failed command, the day before.
fn command(title: &str) -> NewObservation {
    NewObservation {
        kind: ObservationKind::Command,
        provenance: Provenance::Tool,
        importance: 0.3,
        at_ms: NOW_MS - DAY_MS,
        ..observation(title)
    }
}

/// An edit, so many days ago.
fn edit(title: &str, file: &str, days: i64) -> NewObservation {
    NewObservation {
        kind: ObservationKind::Edit,
        provenance: Provenance::Measured,
        importance: 0.2,
        at_ms: NOW_MS - days * DAY_MS,
        files: vec![clean(file)],
        ..observation(title)
    }
}

fn injection(row: i64) -> Injection {
    let event = InjectionEvent::Start;
    Injection { session: "later".to_owned(), row, at_ms: NOW_MS, event, tokens: 9 }
}

fn all(database: Database<'_>) -> Result<Vec<StoredObservation>, StoreError> {
    database.newest(&everything(), 1_000)
}

pub(super) fn near_duplicates(database: Database<'_>) -> Result<(), StoreError> {
    let first = add(database, command("make failed with exit code 2"))?;
    let second = add(
        database,
        NewObservation {
            at_ms: NOW_MS - DAY_MS + 5,
            importance: 0.6,
            shapes: vec!["aa".to_owned()],
            repeats: 1,
            session: "s2".to_owned(),
            ..command("make failed, with exit code 2")
        },
    )?;
    let of_person =
        NewObservation { provenance: Provenance::User, ..command("make failed with exit code 2!") };
    let imported = NewObservation {
        external_id: Some("x-1".to_owned()),
        ..command("make failed with exit code 2")
    };
    let for_team =
        NewObservation { visibility: Visibility::Team, ..command("make: failed with exit code 2") };
    let elsewhere =
        NewObservation { project: project("api"), ..command("make failed with exit code 2.") };
    let fix = |title| NewObservation { kind: ObservationKind::Fix, ..command(title) };
    let others = [
        command("make failed with exit code 9"),
        of_person,
        imported,
        for_team,
        elsewhere,
        fix("make failed with exit code 2"),
        fix("make failed with exit code 2."),
    ];
    database.add(&others)?;
    database.record_injections(&[injection(second)])?;
    assert_eq!(retain(database, PLENTY)?, 1);
    let kept = load_one(database, first)?;
    assert_eq!((kept.repeats, kept.at_ms, kept.importance), (2, NOW_MS - DAY_MS + 5, 0.6));
    assert_eq!(
        (kept.title.as_str(), kept.session.as_str()),
        ("make failed with exit code 2", "s1")
    );
    assert_eq!(database.load(&[second])?, []);
    assert_eq!(database.rows_of_ids(&[format!("obs-{second}")])?, [Some(first)]);
    let open = database.open_injections("later")?;
    assert_eq!(open.iter().map(|it| it.observation).collect::<Vec<_>>(), [first]);
    assert_eq!(database.count(&everything())?, 1 + others.len() as u64);
    assert_eq!(database.counts(&everything())?.folded, 1);
    assert_eq!(retain(database, PLENTY)?, 0, "nothing is left to fold");
    Ok(())
}

pub(super) fn summaries(database: Database<'_>) -> Result<(), StoreError> {
    let cart = add(database, edit("src/cart.ts: edited totalPrice", "src/cart.ts", 40))?;
    let pay = add(database, edit("src/pay.ts: 환불금액 편집", "src/pay.ts", 40))?;
    let young = add(database, edit("src/cart.ts: edited sum", "src/cart.ts", 2))?;
    let alone = add(database, edit("src/cart.ts: edited only", "src/cart.ts", 50))?;
    let decided = add(
        database,
        NewObservation {
            kind: ObservationKind::Decision,
            ..edit("캐시는 쓰지 않는다", "src/cart.ts", 40)
        },
    )?;
    database.record_injections(&[injection(cart)])?;
    assert_eq!(retain(database, PLENTY)?, 2);
    assert_eq!(database.load(&[cart, pay])?, []);
    let rows = all(database)?;
    assert_eq!(rows.len(), 4);
    let summary = rows.iter().find(|row| ![young, alone, decided].contains(&row.row));
    let summary = summary.expect("a summary");
    assert_eq!(summary.title, "Σ 2: src/cart.ts, src/pay.ts");
    assert_eq!((summary.repeats, summary.at_ms), (1, NOW_MS - 40 * DAY_MS));
    for query in ["totalPrice", "환불금액을", "pay.ts"] {
        assert_eq!(found(database, &everything(), query)?, [summary.row], "{query}");
    }
    let open = database.open_injections("later")?;
    assert_eq!(open.iter().map(|it| it.observation).collect::<Vec<_>>(), [summary.row]);
    // One more of that day, noted late.
    let late = add(database, edit("src/pay.ts: edited refund", "src/pay.ts", 40))?;
    assert_eq!(retain(database, PLENTY)?, 2);
    assert_eq!(database.load(&[late])?, []);
    let of_day = found(database, &everything(), "refund")?;
    assert_eq!(load_one(database, of_day[0])?.title, "Σ 3: src/pay.ts ×2, src/cart.ts");
    assert_eq!(found(database, &everything(), "totalPrice")?, of_day);
    Ok(())
}

pub(super) fn changed_meanwhile(database: Database<'_>) -> Result<(), StoreError> {
    let one = add(database, edit("src/a.ts: edited x", "src/a.ts", 40))?;
    let other = add(database, edit("src/b.ts: edited y", "src/b.ts", 40))?;
    let summary = |days| {
        let text = edit("Σ 2: src/a.ts, src/b.ts", "src/a.ts", days);
        RowFold { rows: vec![one, other], into: FoldTarget::Summary(Box::new(text)) }
    };
    assert_eq!(database.fold(&summary(41))?, 0, "a row was seen again since");
    let unknown = RowFold { rows: vec![one], into: FoldTarget::Row(999_999) };
    assert_eq!(database.fold(&unknown)?, 0);
    let itself = RowFold { rows: vec![one, 999_999], into: FoldTarget::Row(one) };
    assert_eq!(database.fold(&itself)?, 0);
    assert_eq!(database.count(&everything())?, 2);
    assert_eq!(database.fold(&summary(40))?, 2);
    assert_eq!(database.fold(&summary(40))?, 0, "its rows are gone");
    assert_eq!(database.count(&everything())?, 1);
    assert_eq!(database.last_retention_ms()?, None);
    for at_ms in [NOW_MS, NOW_MS - 5] {
        database.record_retention(at_ms)?;
        assert_eq!(database.last_retention_ms()?, Some(at_ms));
    }
    Ok(())
}

pub(super) fn dropped(database: Database<'_>) -> Result<(), StoreError> {
    let text = |word: &str| format!("{word} {}", "0123456789 ".repeat(40));
    let of_kind = |kind, word: &str, days| NewObservation {
        kind,
        provenance: Provenance::Agent,
        at_ms: NOW_MS - days * DAY_MS,
        body: Some(clean(&text(word))),
        ..observation(word)
    };
    let keep = [
        of_kind(ObservationKind::Decision, "decision", 300),
        of_kind(ObservationKind::Note, "note", 300),
        NewObservation {
            provenance: Provenance::User,
            ..of_kind(ObservationKind::Prompt, "prompt", 300)
        },
        NewObservation {
            visibility: Visibility::Team,
            ..of_kind(ObservationKind::Command, "shared", 300)
        },
        of_kind(ObservationKind::Command, "recent", 1),
        NewObservation {
            project: project("api"),
            ..of_kind(ObservationKind::Command, "other", 300)
        },
    ];
    database.add(&keep)?;
    let old = add(database, of_kind(ObservationKind::Command, "oldest", 300))?;
    let command = add(database, of_kind(ObservationKind::Command, "old", 200))?;
    let used = add(database, of_kind(ObservationKind::Command, "used", 250))?;
    let tested = add(database, of_kind(ObservationKind::Test, "test", 280))?;
    let fix = add(database, of_kind(ObservationKind::Fix, "fix", 290))?;
    let imported = NewObservation {
        external_id: Some("x-1".to_owned()),
        ..of_kind(ObservationKind::Command, "imported", 299)
    };
    let imported = add(database, imported)?;
    database.record_injections(&[injection(used)])?;
    let open = database.open_injections("later")?;
    database.mark_used(&[open[0].id])?;
    let size = database.counts(&everything())?.largest_project_bytes;
    assert_eq!(retain(database, size)?, 0, "there is room");
    let order = [old, command, tested, fix, used, imported];
    for (at, row) in order.into_iter().enumerate() {
        let size = database.counts(&everything())?.largest_project_bytes;
        assert_eq!(retain(database, size - 1)?, 1);
        assert_eq!(database.load(&[row])?, [], "{at}");
        assert_eq!(database.load(&order[at + 1..])?.len(), order.len() - at - 1);
    }
    assert_eq!(retain(database, 1)?, 1, "that of the other project, which is too large now");
    assert_eq!(database.count(&everything())?, keep.len() as u64 - 1);
    assert_eq!(database.counts(&everything())?.dropped, order.len() as u64 + 1);
    Ok(())
}

pub(super) fn many_rows(database: Database<'_>) -> Result<(), StoreError> {
    let old: Vec<NewObservation> = (0..260)
        .map(|number| NewObservation {
            session: format!("s{}", number % 3),
            ..edit(
                &format!("src/f{number}.ts: edited v{number}x"),
                &format!("src/f{number}.ts"),
                40 + number % 4,
            )
        })
        .collect();
    database.add(&old)?;
    let again: Vec<NewObservation> = (0..130)
        .map(|number| NewObservation {
            at_ms: NOW_MS - number,
            ..command(&format!("tox failed{}", "!".repeat(usize::try_from(number).unwrap_or(0))))
        })
        .collect();
    for one in &again {
        database.add(std::slice::from_ref(one))?;
    }
    while retain(database, PLENTY)? > 0 {}
    let rows = all(database)?;
    let titles: Vec<&str> = rows.iter().map(|row| row.title.as_str()).collect();
    assert_eq!(rows.len(), 3 * 4 + 1, "{titles:#?}");
    let seen: u32 = rows.iter().map(|row| 1 + row.repeats).sum();
    assert_eq!(seen as usize, old.len() + again.len());
    Ok(())
}
