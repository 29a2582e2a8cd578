//! Behavior that every store of the memory has, as functions over the trait: the same for SQLite and for
//! PostgreSQL. Each begins with an empty store.

mod retention;

use moai_memory::budget::InjectionEvent;
use moai_memory::clean::CleanText;
use moai_memory::database::{
    ForgetSelection, Injection, MatchingRows, MemoryDatabase, ObservationFilter, StoredAs,
};
use moai_memory::expression::Expression;
use moai_memory::glossary::Glossary;
use moai_memory::observation::{
    FixOutcome, MemoryProject, NewObservation, Provenance, SessionGoal, StoredObservation,
    Visibility,
};
use moai_memory::query::{Query, StageKind};
use moai_memory::ranking::ObservationKind;
use moai_memory::unit_rows::UnitRows;

use crate::store::StoreError;

/// A store within one transaction.
type Database<'d> = &'d mut dyn MemoryDatabase<Error = StoreError>;
/// A description and the check.
type ConformanceCase = (&'static str, fn(Database<'_>) -> Result<(), StoreError>);

/// All checks. Each needs its own empty store and one transaction that may change it.
pub(crate) const CASES: [ConformanceCase; 24] = [
    ("what is stored is read back", stored_and_loaded),
    ("the same text again is a repetition", repeated),
    ("events repeat themselves in one session only", repeated_events),
    ("ids of an import are kept", external_ids),
    ("no later observation gets an imported id", imported_numbers),
    ("what was exported is known when it is imported again", exported_again),
    ("rows are found by their tokens", matching),
    ("filters exclude what they say", filters),
    ("several_questions are exact for few rows", several_questions),
    ("the newest come first", newest_and_exported),
    ("what is forgotten is gone", forgotten),
    ("what repeats a forgotten text is gone with it", forgotten_goals),
    ("a fix that is made again may hold", fixes_made_again),
    ("fixes are found by their shape", fixes),
    ("later observations replace earlier ones", superseded),
    ("sessions live, end and have a goal", sessions),
    ("a clock that jumps loses nothing", jumping_clock),
    ("injections are used once", injections),
    ("counts add up", counts),
    ("near duplicates become one row", retention::near_duplicates),
    ("old edits become one row a day", retention::summaries),
    ("what changed meanwhile is not folded", retention::changed_meanwhile),
    ("what matters least is dropped first", retention::dropped),
    ("a pass goes over many rows", retention::many_rows),
];

const NOW_MS: i64 = 1_800_000_000_000;

pub(crate) fn clean(text: &str) -> CleanText {
    CleanText::of(text).expect("text is left")
}

fn project(name: &str) -> MemoryProject {
    MemoryProject { key: format!("k{name}"), name: name.to_owned() }
}

/// An observation of the project `web` in session `s1`.
pub(crate) fn observation(title: &str) -> NewObservation {
    NewObservation {
        external_id: None,
        project: project("web"),
        session: "s1".to_owned(),
        kind: ObservationKind::Note,
        at_ms: NOW_MS,
        title: clean(title),
        body: None,
        files: Vec::new(),
        codes: Vec::new(),
        shapes: Vec::new(),
        provenance: Provenance::User,
        importance: 0.5,
        outcome: None,
        visibility: Visibility::Private,
        repeats: 0,
    }
}

fn add(database: Database<'_>, observation: NewObservation) -> Result<i64, StoreError> {
    match database.add(&[observation])?[..] {
        [StoredAs::New(row)] => Ok(row),
        ref other => panic!("{other:?}"),
    }
}

fn everything() -> ObservationFilter {
    ObservationFilter::default()
}

fn load_one(database: Database<'_>, row: i64) -> Result<StoredObservation, StoreError> {
    let mut loaded = database.load(&[row])?;
    assert_eq!(loaded.len(), 1);
    Ok(loaded.remove(0))
}

/// The rows that the strictest stage of a query finds.
pub(crate) fn found(
    database: Database<'_>,
    filter: &ObservationFilter,
    query: &str,
) -> Result<Vec<i64>, StoreError> {
    let query = Query::parse(query, Glossary::built_in());
    let strictest = query.stages.first().expect("the query has units");
    let rows = UnitRows::of_stage(database, filter, &query, *strictest, 100)?;
    Ok(rows.fulfilling(&query, *strictest).map(|(row, _)| row).collect())
}

fn stored_and_loaded(database: Database<'_>) -> Result<(), StoreError> {
    let new = NewObservation {
        external_id: None,
        kind: ObservationKind::Fix,
        body: Some(clean("두 번째 줄\nTS2345 🙂 'quoted' \\ \"x\"")),
        files: vec![clean("src/a b.ts"), clean("문서/결제.md")],
        codes: vec![clean("TS2345")],
        shapes: vec!["0123456789abcdef".to_owned()],
        provenance: Provenance::Measured,
        importance: 0.75,
        outcome: Some(FixOutcome::Held),
        visibility: Visibility::Team,
        repeats: 3,
        ..observation("토큰 저장소를 고쳤다")
    };
    let row = add(database, new.clone())?;
    let stored = load_one(database, row)?;
    assert_eq!(stored.row, row);
    assert_eq!(stored.id, format!("obs-{row}"));
    assert_eq!((&stored.project, stored.session.as_str()), (&new.project, "s1"));
    assert_eq!((stored.kind, stored.at_ms), (new.kind, NOW_MS));
    assert_eq!(
        (stored.title.as_str(), Some(stored.body.as_str())),
        (new.title.as_str(), new.body.as_ref().map(CleanText::as_str))
    );
    assert_eq!((stored.files.len(), stored.files[1].as_str()), (2, "문서/결제.md"));
    assert_eq!((stored.codes, stored.shapes), (vec!["TS2345".to_owned()], new.shapes.clone()));
    assert_eq!((stored.provenance, stored.importance), (Provenance::Measured, 0.75));
    assert_eq!((stored.outcome, stored.visibility), (new.outcome, new.visibility));
    assert_eq!((stored.repeats, stored.is_superseded), (3, false));
    let facts = new.facts();
    assert_eq!((stored.tokens, stored.simhash), (facts.tokens, facts.simhash));
    let alone =
        add(database, NewObservation { session: String::new(), ..observation("no session") })?;
    assert_eq!(load_one(database, alone)?.session, "");
    assert_eq!(database.load(&[alone, 999_999, row])?.len(), 2, "unknown rows are left out");
    Ok(())
}

fn repeated(database: Database<'_>) -> Result<(), StoreError> {
    let row = add(database, observation("Fixed the  cache"))?;
    let again =
        NewObservation { at_ms: NOW_MS + 5, importance: 0.9, ..observation("fixed the cache") };
    assert_eq!(database.add(&[again])?, [StoredAs::Repeated(row)]);
    let earlier = NewObservation { at_ms: NOW_MS - 5, ..observation("fixed the cache") };
    assert_eq!(database.add(&[earlier])?, [StoredAs::Repeated(row)]);
    let stored = load_one(database, row)?;
    assert_eq!((stored.repeats, stored.at_ms, stored.importance), (2, NOW_MS + 5, 0.9));
    assert_eq!(stored.title, "Fixed the  cache");
    let other_kind =
        NewObservation { kind: ObservationKind::Fix, ..observation("fixed the cache") };
    let other_project =
        NewObservation { project: project("api"), ..observation("fixed the cache") };
    let both = database.add(&[other_kind, other_project])?;
    assert!(both.iter().all(|it| matches!(it, StoredAs::New(_))), "{both:?}");
    assert_eq!(database.count(&everything())?, 3);
    Ok(())
}

fn repeated_events(database: Database<'_>) -> Result<(), StoreError> {
    let of = |kind, session: &str| NewObservation {
        kind,
        session: session.to_owned(),
        ..observation("svc.py: edited total")
    };
    let mut rows = Vec::new();
    for kind in [
        ObservationKind::Edit,
        ObservationKind::Command,
        ObservationKind::Test,
        ObservationKind::Diagnostic,
    ] {
        let first = add(database, of(kind, "s1"))?;
        rows.push((kind, first, add(database, of(kind, "s2"))?));
    }
    for (kind, first, second) in rows {
        assert_eq!(database.add(&[of(kind, "s1")])?, [StoredAs::Repeated(first)]);
        assert_eq!(database.add(&[of(kind, "s2")])?, [StoredAs::Repeated(second)]);
        // An exported observation is recognized here.
        let id = Some(format!("obs-{second}"));
        let exported = NewObservation { external_id: id, ..of(kind, "s2") };
        assert_eq!(database.add(&[exported])?, [StoredAs::Repeated(second)]);
    }
    for kind in [ObservationKind::Decision, ObservationKind::Note, ObservationKind::Fix] {
        let first = add(database, of(kind, "s1"))?;
        assert_eq!(database.add(&[of(kind, "s2")])?, [StoredAs::Repeated(first)]);
    }
    Ok(())
}

fn external_ids(database: Database<'_>) -> Result<(), StoreError> {
    let imported =
        |id: &str, title| NewObservation { external_id: Some(id.to_owned()), ..observation(title) };
    let row = add(database, imported("x-1", "from elsewhere"))?;
    let own = add(database, observation("of our own"))?;
    assert_eq!(load_one(database, row)?.id, "x-1");
    // Imported again: the same record, not a repetition.
    assert_eq!(database.add(&[imported("x-1", "from elsewhere")])?, [StoredAs::Repeated(row)]);
    assert_eq!(load_one(database, row)?.repeats, 0);
    // Another record with the same text is another observation, of another time and session.
    let other = add(
        database,
        NewObservation {
            session: "s2".to_owned(),
            at_ms: NOW_MS + 1,
            ..imported("x-2", "from elsewhere")
        },
    )?;
    assert_eq!((load_one(database, row)?.repeats, load_one(database, other)?.repeats), (0, 0));
    let ids = ["x-1", "x-2", &format!("obs-{own}"), "obs-999999", "nothing", "obs-x"];
    let rows = database.rows_of_ids(&ids.map(str::to_owned))?;
    assert_eq!(rows, [Some(row), Some(other), Some(own), None, None, None]);
    Ok(())
}

fn imported_numbers(database: Database<'_>) -> Result<(), StoreError> {
    let before = add(database, observation("before"))?;
    // The numbers that follow those of the imported rows themselves.
    let ids: Vec<String> = (4..7).map(|after| format!("obs-{}", before + after)).collect();
    let mut imported = Vec::new();
    for id in &ids {
        let record = NewObservation { external_id: Some(id.clone()), ..observation(id) };
        imported.push(Some(add(database, record)?));
    }
    for title in ["one", "two", "three", "four"] {
        let later = add(database, observation(title))?;
        assert_eq!(load_one(database, later)?.title, title);
        assert_eq!(database.rows_of_ids(&[format!("obs-{later}")])?, [Some(later)], "{title}");
    }
    assert_eq!(database.rows_of_ids(&ids)?, imported);
    Ok(())
}

/// An observation that was exported here and is imported again is recognized, whatever its id.
fn exported_again(database: Database<'_>) -> Result<(), StoreError> {
    let own = add(database, observation("of our own"))?;
    let of_id = |id: String| NewObservation {
        external_id: Some(id),
        at_ms: NOW_MS + 7,
        session: "s9".to_owned(),
        ..observation("of our own")
    };
    assert_eq!(database.add(&[of_id(format!("obs-{own}"))])?, [StoredAs::Repeated(own)]);
    assert_eq!(load_one(database, own)?.repeats, 0);
    // The same number of another memory is a separate record.
    let foreign = add(database, of_id(format!("obs-{}", own + 70)))?;
    let id = format!("obs-{}", own + 70);
    assert_eq!(database.rows_of_ids(&[id])?, [Some(foreign)]);
    assert_eq!(database.count(&everything())?, 2);
    Ok(())
}

fn matching(database: Database<'_>) -> Result<(), StoreError> {
    let korean = add(database, observation("결제 모듈에서 토큰을 갱신했다"))?;
    let name = add(database, observation("validateToken was slow"))?;
    let file = add(
        database,
        NewObservation { files: vec![clean("src/cart_store.rs")], ..observation("edited") },
    )?;
    assert_eq!(found(database, &everything(), "토큰은")?, [korean]);
    assert_eq!(found(database, &everything(), "validate_token")?, [name]);
    assert_eq!(found(database, &everything(), "cart_store.rs")?, [file]);
    assert_eq!(found(database, &everything(), "unrelated")?, [0_i64; 0]);
    // Whatever a query contains is looked for and never read as syntax.
    for odd in ["\" OR *", "a' OR 1=1 --", "NEAR(a b) ^words : \"x", "토큰\" ) OR ( \"", "\\ % _"]
    {
        let query = Query::parse(odd, Glossary::built_in());
        UnitRows::of_stage(database, &everything(), &query, StageKind::Any, 10)?;
    }
    let several: Vec<NewObservation> =
        (0..5).map(|number| observation(&format!("webhook number{number}x"))).collect();
    let rows: Vec<i64> = database
        .add(&several)?
        .into_iter()
        .map(|it| match it {
            StoredAs::New(row) | StoredAs::Repeated(row) => row,
        })
        .collect();
    let query = Query::parse("webhook", Glossary::built_in());
    let exact = query.units[0].exact.clone();
    let answers = database.matching(&everything(), std::slice::from_ref(&exact), 3)?;
    let last = MatchingRows { rows: vec![rows[4], rows[3], rows[2]], is_complete: false };
    assert_eq!(answers, [last], "the last that was stored comes first");
    assert!(database.matching(&everything(), &[exact], 6)?[0].is_complete);
    let described = database.describe(&[rows[4], i64::MAX])?;
    assert_eq!(described.len(), 1, "unknown rows are left out");
    assert_eq!((described[0].row, described[0].at_ms), (rows[4], NOW_MS));
    assert_eq!(described[0].kind, ObservationKind::Note);
    assert!((described[0].importance - 0.5).abs() < f64::EPSILON && described[0].tokens > 0);
    Ok(())
}

fn filters(database: Database<'_>) -> Result<(), StoreError> {
    let web = add(
        database,
        NewObservation {
            files: vec![clean("src/auth/token.rs")],
            codes: vec![clean("E0308")],
            ..observation("token in web")
        },
    )?;
    let api = add(
        database,
        NewObservation {
            project: project("api"),
            session: "s2".to_owned(),
            kind: ObservationKind::Fix,
            at_ms: NOW_MS + 1_000,
            files: vec![clean("src/authority.rs"), clean("src/100%.rs")],
            ..observation("token in api")
        },
    )?;
    let base = everything();
    let cases = [
        (base.clone(), vec![api, web]),
        (ObservationFilter { projects: vec!["kweb".into()], ..base.clone() }, vec![web]),
        (
            ObservationFilter { projects: vec!["kweb".into(), "kapi".into()], ..base.clone() },
            vec![api, web],
        ),
        (ObservationFilter { projects: vec!["unknown".into()], ..base.clone() }, vec![]),
        (ObservationFilter { kinds: vec![ObservationKind::Fix], ..base.clone() }, vec![api]),
        (ObservationFilter { session: Some("s1".into()), ..base.clone() }, vec![web]),
        (ObservationFilter { since_ms: Some(NOW_MS + 1), ..base.clone() }, vec![api]),
        (ObservationFilter { since_ms: Some(NOW_MS), ..base.clone() }, vec![api, web]),
        (ObservationFilter { until_ms: Some(NOW_MS), ..base.clone() }, vec![web]),
        (ObservationFilter { path: Some("src/auth".into()), ..base.clone() }, vec![web]),
        (ObservationFilter { path: Some("src/auth/".into()), ..base.clone() }, vec![web]),
        (ObservationFilter { path: Some("src/auth/token.rs".into()), ..base.clone() }, vec![web]),
        (ObservationFilter { path: Some("src".into()), ..base.clone() }, vec![api, web]),
        (ObservationFilter { path: Some("src/100%.rs".into()), ..base.clone() }, vec![api]),
        (ObservationFilter { path: Some("src/%".into()), ..base.clone() }, vec![]),
        (ObservationFilter { path: Some("src/a".into()), ..base.clone() }, vec![]),
        (ObservationFilter { code: Some("e0308".into()), ..base.clone() }, vec![web]),
    ];
    for (filter, expected) in cases {
        assert_eq!(found(database, &filter, "token")?, expected, "{filter:?}");
        assert_eq!(database.count(&filter)?, expected.len() as u64, "{filter:?}");
        let newest = database.newest(&filter, 10)?;
        let newest: Vec<i64> = newest.iter().map(|it| it.row).collect();
        assert_eq!(newest, expected, "{filter:?}");
    }
    Ok(())
}

fn several_questions(database: Database<'_>) -> Result<(), StoreError> {
    let common: Vec<NewObservation> =
        (0..30).map(|number| observation(&format!("cache entry{number}x"))).collect();
    database.add(&common)?;
    let api =
        add(database, NewObservation { project: project("api"), ..observation("cache in api") })?;
    let query = Query::parse("cache webhook api", Glossary::built_in());
    let questions: Vec<Expression> = query.units.iter().map(|unit| unit.exact.clone()).collect();
    let web = ObservationFilter { projects: vec!["kweb".into()], ..everything() };
    let sizes = |answers: &[MatchingRows]| answers.iter().map(|it| it.rows.len()).collect();
    let in_web: Vec<usize> = sizes(&database.matching(&web, &questions, 100)?);
    assert_eq!(in_web, [30, 0, 0]);
    let answers = database.matching(&everything(), &questions, 100)?;
    let everywhere: Vec<usize> = sizes(&answers);
    assert_eq!(everywhere, [31, 0, 1]);
    assert_eq!(answers[0].rows[0], api, "rows of all projects are in one order");
    assert!(answers.iter().all(|answer| answer.is_complete));
    Ok(())
}

fn newest_and_exported(database: Database<'_>) -> Result<(), StoreError> {
    let at = |title, at_ms| NewObservation { at_ms, ..observation(title) };
    let late = add(database, at("late", NOW_MS + 2))?;
    let early = add(database, at("early", NOW_MS - 2))?;
    let middle = add(database, at("middle", NOW_MS))?;
    let newest = database.newest(&everything(), 2)?;
    assert_eq!(newest.iter().map(|it| it.row).collect::<Vec<_>>(), [late, middle]);
    let oldest = database.oldest(&everything(), 2)?;
    assert_eq!(oldest.iter().map(|it| it.row).collect::<Vec<_>>(), [early, middle]);
    let mut exported = Vec::new();
    database.export(&everything(), &mut |it| {
        exported.push(it.row);
        Ok(())
    })?;
    assert_eq!(exported, [early, middle, late]);
    let stop = StoreError::Conflict("enough".to_owned());
    let stopped = database.export(&everything(), &mut |_| Err(stop.clone()));
    assert_eq!(stopped, Err(stop.clone()));
    Ok(())
}

fn forgotten(database: Database<'_>) -> Result<(), StoreError> {
    let secret = add(
        database,
        NewObservation {
            external_id: Some("x-9".to_owned()),
            files: vec![clean("src/plan.md")],
            codes: vec![clean("E1")],
            shapes: vec!["aa".to_owned()],
            kind: ObservationKind::Fix,
            ..observation("zebracorn plan")
        },
    )?;
    let other =
        add(database, NewObservation { session: "s2".to_owned(), ..observation("giraffe") })?;
    let injection = |row| Injection {
        session: "s3".to_owned(),
        row,
        at_ms: NOW_MS,
        event: InjectionEvent::Prompt,
        tokens: 7,
    };
    database.record_injections(&[injection(secret), injection(other)])?;
    assert_eq!(database.forget(&ForgetSelection::Rows(vec![secret, secret, 999_999]))?, 1);
    assert_eq!(database.forget(&ForgetSelection::Rows(vec![secret]))?, 0);
    assert_eq!(found(database, &everything(), "zebracorn")?, [0_i64; 0]);
    assert_eq!(database.rows_of_ids(&["x-9".to_owned()])?, [None]);
    assert_eq!(database.load(&[secret])?, []);
    assert_eq!(database.fixes_of_shape("aa", 5)?, []);
    assert_eq!(database.count(&everything())?, 1);
    let open = database.open_injections("s3")?;
    assert_eq!(open.iter().map(|it| it.observation).collect::<Vec<_>>(), [other]);
    let again = add(database, observation("zebracorn plan"))?;
    assert_ne!(again, secret, "a number is never given again");
    let of_session = ObservationFilter { session: Some("s2".into()), ..everything() };
    assert_eq!(database.forget(&ForgetSelection::Filter(of_session))?, 1);
    assert_eq!(database.forget(&ForgetSelection::Filter(everything()))?, 1);
    assert_eq!(database.count(&everything())?, 0);
    assert_eq!(database.projects_named("web")?, []);
    Ok(())
}

fn forgotten_goals(database: Database<'_>) -> Result<(), StoreError> {
    let web = project("web");
    let prompt = |session: &str, title| NewObservation {
        kind: ObservationKind::Prompt,
        session: session.to_owned(),
        ..observation(title)
    };
    let secret = add(database, prompt("s1", "move the zebracorn. And more"))?;
    let other = add(database, prompt("s1", "then the giraffe"))?;
    add(database, prompt("s2", "feed the owls"))?;
    let goal = |row| SessionGoal { text: clean("move the zebracorn."), row };
    // The second session begins with the same text, which is one observation.
    for session in ["s1", "s2"] {
        database.touch_session(&web, session, NOW_MS, Some(&goal(secret)), None)?;
    }
    let digest = |session: &str| NewObservation {
        kind: ObservationKind::Digest,
        ..prompt(session, "session: move the zebracorn")
    };
    let digests = [add(database, digest("s1"))?, add(database, digest("s9"))?];
    let goals = |database: Database<'_>| -> Result<Vec<String>, StoreError> {
        let mut sessions = database.sessions("kweb", 9)?;
        sessions.retain(|session| session.id != "s9");
        Ok(sessions.into_iter().map(|session| session.goal).collect())
    };
    assert_eq!(goals(database)?, ["move the zebracorn."; 2]);
    assert_eq!(database.forget(&ForgetSelection::Rows(vec![secret]))?, 1);
    assert_eq!(goals(database)?, [""; 2]);
    let left = database.load(&digests)?;
    assert_eq!(left.iter().map(|it| it.row).collect::<Vec<_>>(), [digests[1]]);
    // A session whose goal was forgotten takes its goal from a later prompt only.
    database.touch_session(&web, "s1", NOW_MS, Some(&goal(secret)), None)?;
    assert_eq!(goals(database)?, [""; 2]);
    let goal = SessionGoal { text: clean("then the giraffe"), row: other };
    database.touch_session(&web, "s1", NOW_MS, Some(&goal), None)?;
    assert!(goals(database)?.contains(&"then the giraffe".to_owned()));
    // Retention forgets no digest together with another row.
    let digest = add(database, digest("s1"))?;
    database.drop_rows(&[other])?;
    assert_eq!(database.load(&[digest])?.len(), 1);
    assert_eq!(goals(database)?, [""; 2]);
    Ok(())
}

fn fixes_made_again(database: Database<'_>) -> Result<(), StoreError> {
    let fix = NewObservation { kind: ObservationKind::Fix, ..observation("cast it") };
    let row = add(database, fix.clone())?;
    for (outcome, after) in [(FixOutcome::Undone, None), (FixOutcome::Held, Some(FixOutcome::Held))]
    {
        database.set_outcome(row, outcome)?;
        database.add(std::slice::from_ref(&fix))?;
        assert_eq!(load_one(database, row)?.outcome, after);
    }
    Ok(())
}

fn fixes(database: Database<'_>) -> Result<(), StoreError> {
    let fix = |title, name, at_ms| NewObservation {
        kind: ObservationKind::Fix,
        project: project(name),
        shapes: vec!["shape".to_owned()],
        at_ms,
        ..observation(title)
    };
    let old = add(database, fix("cast it", "web", NOW_MS))?;
    let new = add(database, fix("change the type", "api", NOW_MS + 1))?;
    add(
        database,
        NewObservation { kind: ObservationKind::Diagnostic, ..fix("seen", "web", NOW_MS) },
    )?;
    database.set_outcome(old, FixOutcome::Undone)?;
    let found = database.fixes_of_shape("shape", 5)?;
    let outcomes: Vec<_> = found.iter().map(|it| (it.row, it.outcome)).collect();
    assert_eq!(outcomes, [(new, None), (old, Some(FixOutcome::Undone))]);
    assert_eq!(database.fixes_of_shape("shape", 1)?.len(), 1);
    assert_eq!(database.fixes_of_shape("other", 5)?, []);
    Ok(())
}

fn superseded(database: Database<'_>) -> Result<(), StoreError> {
    let old = add(database, observation("use the small cache"))?;
    let new = add(database, observation("use the large cache"))?;
    database.supersede(&[old, new], new)?;
    assert!(load_one(database, old)?.is_superseded && !load_one(database, new)?.is_superseded);
    database.forget(&ForgetSelection::Rows(vec![new]))?;
    assert!(!load_one(database, old)?.is_superseded, "what replaced it is gone");
    Ok(())
}

fn sessions(database: Database<'_>) -> Result<(), StoreError> {
    let web = project("web");
    database.touch_session(&web, "empty", NOW_MS, None, None)?;
    database.touch_session(&web, "s1", NOW_MS, None, Some(&clean("shop")))?;
    assert_eq!(database.sessions("kweb", 5)?, [], "sessions without observations do not count");
    let row = add(database, observation("zebra"))?;
    let goal = |text| SessionGoal { text: clean(text), row };
    database.touch_session(
        &web,
        "s1",
        NOW_MS + 9,
        Some(&goal("고쳐 줘")),
        Some(&clean("shop-fix")),
    )?;
    database.touch_session(&web, "s1", NOW_MS + 5, Some(&goal("second")), None)?;
    add(
        database,
        NewObservation { session: "s0".into(), at_ms: NOW_MS - 9, ..observation("two") },
    )?;
    let sessions = database.sessions("kweb", 5)?;
    assert_eq!(sessions.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["s1", "s0"]);
    assert_eq!((sessions[0].started_ms, sessions[0].last_ms), (NOW_MS, NOW_MS + 9));
    assert_eq!((sessions[0].goal.as_str(), sessions[0].worktree.as_str()), ("고쳐 줘", "shop"));
    assert!(!sessions[0].has_ended);
    let in_worktree =
        |name: &str| ObservationFilter { worktree: Some(name.into()), ..everything() };
    assert_eq!(database.count(&in_worktree("shop"))?, 1);
    assert_eq!(database.count(&in_worktree("shop-fix"))?, 0, "it is the one it began in");
    assert_eq!(found(database, &in_worktree("shop"), "zebra")?, [row]);
    assert_eq!(found(database, &in_worktree("shop-fix"), "zebra")?, [0; 0]);
    database.end_session("s1", NOW_MS + 20)?;
    let ended = database.sessions("kweb", 1)?;
    assert!(ended[0].has_ended && ended[0].last_ms == NOW_MS + 20);
    database.touch_session(&web, "s1", NOW_MS + 30, None, None)?;
    assert!(!database.sessions("kweb", 1)?[0].has_ended, "it was resumed");
    assert_eq!(database.sessions("kapi", 5)?, []);
    assert_eq!(database.projects_named("web")?, std::slice::from_ref(&web));
    assert_eq!(database.projects_named("kweb")?, [web]);
    Ok(())
}

fn jumping_clock(database: Database<'_>) -> Result<(), StoreError> {
    const YEAR_MS: i64 = 366 * 24 * 60 * 60 * 1_000;
    let times = [
        NOW_MS,
        NOW_MS - 40 * YEAR_MS,
        NOW_MS + 40 * YEAR_MS,
        0,
        -5,
        NOW_MS + 1,
        i64::MAX,
        i64::MIN,
    ];
    let edit = |number: usize, at_ms| NewObservation {
        kind: ObservationKind::Edit,
        provenance: Provenance::Measured,
        at_ms,
        ..observation(&format!("src/f{number}.rs: edited"))
    };
    let mut rows = Vec::new();
    for (number, at_ms) in times.into_iter().enumerate() {
        database.touch_session(&project("web"), "s1", at_ms, None, None)?;
        rows.push((at_ms, add(database, edit(number, at_ms))?));
    }
    rows.sort_unstable();
    let oldest = database.oldest(&everything(), 100)?;
    let oldest: Vec<(i64, i64)> = oldest.iter().map(|it| (it.at_ms, it.row)).collect();
    assert_eq!(oldest, rows);
    let until = ObservationFilter { until_ms: Some(NOW_MS), ..everything() };
    assert_eq!(database.count(&until)?, 5);
    let session = &database.sessions("kweb", 1)?[0];
    assert_eq!((session.started_ms, session.last_ms), (i64::MIN, i64::MAX));
    // Nothing of the future is old, and two edits of one day long ago are folded.
    database.add(&[edit(97, NOW_MS - 40 * YEAR_MS), edit(98, 7)])?;
    for now_ms in [NOW_MS - 50 * YEAR_MS, NOW_MS, NOW_MS - YEAR_MS] {
        retention::retain_at(database, u64::MAX, now_ms)?;
    }
    assert_eq!(database.count(&everything())?, times.len() as u64);
    let seen: u32 = database.newest(&everything(), 100)?.iter().map(|it| 1 + it.repeats).sum();
    assert_eq!(seen as usize, times.len() + 2);
    Ok(())
}

fn injections(database: Database<'_>) -> Result<(), StoreError> {
    let row =
        add(database, NewObservation { files: vec![clean("src/a.rs")], ..observation("one") })?;
    let injection = Injection {
        session: "s2".to_owned(),
        row,
        at_ms: NOW_MS,
        event: InjectionEvent::Start,
        tokens: 40,
    };
    let unknown = Injection { row: 999_999, ..injection.clone() };
    database.record_injections(&[injection, unknown])?;
    let open = database.open_injections("s2")?;
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].text.as_str(), open[0].files.len()), ("one", 1));
    assert_eq!(database.open_injections("s1")?, []);
    database.mark_used(&[open[0].id])?;
    assert_eq!(database.open_injections("s2")?, []);
    let counts = database.counts(&everything())?;
    assert_eq!((counts.injections, counts.injections_used, counts.injected_tokens), (1, 1, 40));
    Ok(())
}

fn counts(database: Database<'_>) -> Result<(), StoreError> {
    let fix = NewObservation { kind: ObservationKind::Fix, ..observation("three") };
    let api = NewObservation { project: project("api"), ..observation("four") };
    database.add(&[observation("one"), observation("two"), fix, api])?;
    database.record_search(true)?;
    database.record_search(false)?;
    let counts = database.counts(&everything())?;
    let by_kind = [(ObservationKind::Fix, 1), (ObservationKind::Note, 3)];
    assert_eq!(counts.by_kind, by_kind);
    assert_eq!((counts.sessions, counts.projects), (2, 2));
    assert_eq!((counts.searches, counts.searches_with_hits), (2, 1));
    assert!(counts.bytes > 0);
    let web = ObservationFilter { projects: vec!["kweb".into()], ..everything() };
    assert_eq!(
        database.counts(&web)?.by_kind,
        [(ObservationKind::Fix, 1), (ObservationKind::Note, 2)]
    );
    Ok(())
}
