//! The tables of frozen exams, one per loop, with the frozen texts. They are outside the working tree, out of
//! reach of the agent's edits.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension as _, Row, Transaction, params};
use serde::{Deserialize, Serialize};

use super::session_writes::{insert_writes, select_writes};
use super::{ProjectKey, Store, StoreError};
use moai_base::hash::ContentHash;
use moai_base::limits::EXAMS_MAX;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_loops::criteria::counts::TestCounts;
use moai_loops::criteria::{CheckCommand, CheckCriterion, CheckPlan, CriterionGap};
use moai_loops::exam::{Exam, ExamRole, FrozenFile, SessionWrites};

/// Copies the rows of the exam of loop `?1` for loop `?2`.
const CONTINUED: [&str; 5] = [
    "INSERT INTO exams (loop_id, frozen_ms, is_cut, plan)
     SELECT ?2, frozen_ms, is_cut, plan FROM exams WHERE loop_id = ?1",
    "INSERT INTO exam_files (loop_id, path, role, hash, bytes, changed_ns, text)
     SELECT ?2, path, role, hash, bytes, changed_ns, text FROM exam_files WHERE loop_id = ?1",
    "INSERT INTO exam_counts (loop_id, name, passed, failed, skipped, duration_ms)
     SELECT ?2, name, passed, failed, skipped, duration_ms FROM exam_counts WHERE loop_id = ?1",
    "INSERT INTO exam_writes (loop_id, path, hash)
     SELECT ?2, path, hash FROM exam_writes WHERE loop_id = ?1",
    "INSERT INTO exam_links (loop_id, path)
     SELECT ?2, path FROM exam_links WHERE loop_id = ?1",
];

/// Texts of an exam by path; for other files only the hash is kept.
pub type ExamTexts = BTreeMap<RelPath, Vec<u8>>;

impl Store {
    /// Saves the exam of a loop, replacing an earlier one, and deletes the oldest exams of finished
    /// loops.
    pub async fn freeze_exam(
        &self,
        project: &ProjectKey,
        loop_id: &str,
        exam: Exam,
        texts: ExamTexts,
    ) -> Result<(), StoreError> {
        let id = loop_id.to_owned();
        self.write(project, move |transaction| write_exam(transaction, &id, &exam, &texts)).await
    }

    /// Gives a new loop the whole exam of an earlier one, with the changes of that loop's session. False if
    /// the earlier exam no longer exists.
    pub async fn continue_exam(
        &self,
        project: &ProjectKey,
        earlier: &str,
        loop_id: &str,
    ) -> Result<bool, StoreError> {
        let (earlier, id) = (earlier.to_owned(), loop_id.to_owned());
        self.write(project, move |transaction| {
            let sql = "SELECT 1 FROM exams WHERE loop_id = ?1";
            let found = transaction.query_row(sql, params![earlier], |_| Ok(())).optional()?;
            if found.is_none() {
                return Ok(false);
            }
            transaction.execute("DELETE FROM exams WHERE loop_id = ?1", params![id])?;
            for copy in CONTINUED {
                transaction.execute(copy, params![earlier, id])?;
            }
            Ok(true)
        })
        .await
    }

    /// The exam of a loop with the files in these roles, without their texts; `None` if the loop has no exam.
    pub async fn find_exam(
        &self,
        project: &ProjectKey,
        loop_id: &str,
        roles: &'static [ExamRole],
    ) -> Result<Option<Exam>, StoreError> {
        let id = loop_id.to_owned();
        self.read(project, move |transaction| {
            let sql = "SELECT frozen_ms, is_cut, plan FROM exams WHERE loop_id = ?1";
            let Some((frozen_ms, is_cut, plan)) = transaction
                .query_row(sql, params![id], |row: &Row<'_>| {
                    Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?))
                })
                .optional()?
            else {
                return Ok(None);
            };
            let frozen_ms: i64 = frozen_ms;
            Ok(Some(Exam {
                frozen_ms: u64::try_from(frozen_ms).unwrap_or_default(),
                is_truncated: is_cut,
                plan: decode(&plan)?,
                files: files(transaction, &id, roles)?,
                counts: counts(transaction, &id)?,
                code_links: code_links(transaction, &id)?,
            }))
        })
        .await
    }

    /// The frozen text of a file; `None` if it is not in the exam or too large.
    pub async fn exam_text(
        &self,
        project: &ProjectKey,
        loop_id: &str,
        path: &RelPath,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let (id, path) = (loop_id.to_owned(), path.to_string());
        self.read(project, move |transaction| {
            let sql = "SELECT text FROM exam_files WHERE loop_id = ?1 AND path = ?2";
            let text =
                transaction.query_row(sql, params![id, path], |row| row.get(0)).optional()?;
            Ok(text.flatten())
        })
        .await
    }

    /// Records the state in which a loop's session left files of its exam. Does nothing for a loop
    /// without an exam.
    pub async fn note_exam_writes(
        &self,
        project: &ProjectKey,
        loop_id: &str,
        writes: SessionWrites,
    ) -> Result<(), StoreError> {
        let id = loop_id.to_owned();
        let sql = "INSERT OR REPLACE INTO exam_writes
                   SELECT loop_id, ?2, ?3 FROM exams WHERE loop_id = ?1";
        self.write(project, move |transaction| insert_writes(transaction, sql, &id, &writes)).await
    }

    /// The state in which a loop's session left the exam files that it wrote.
    pub async fn exam_writes(
        &self,
        project: &ProjectKey,
        loop_id: &str,
    ) -> Result<SessionWrites, StoreError> {
        let id = loop_id.to_owned();
        let sql = "SELECT path, hash FROM exam_writes WHERE loop_id = ?1";
        self.read(project, move |transaction| select_writes(transaction, sql, &id)).await
    }

    /// Records the test counts of checks for the next comparison. Does nothing for a loop without
    /// an exam.
    pub async fn set_exam_counts(
        &self,
        project: &ProjectKey,
        loop_id: &str,
        counts: BTreeMap<String, TestCounts>,
    ) -> Result<(), StoreError> {
        let id = loop_id.to_owned();
        self.write(project, move |transaction| {
            let sql = "SELECT 1 FROM exams WHERE loop_id = ?1";
            let is_there =
                transaction.query_row(sql, params![id], |_| Ok(())).optional()?.is_some();
            for (name, counts) in counts.iter().filter(|_| is_there) {
                put_counts(transaction, &id, name, counts)?;
            }
            Ok(())
        })
        .await
    }
}

/// Writes the exam of a loop, replacing an earlier one.
pub(super) fn write_exam(
    at: &Transaction<'_>,
    id: &str,
    exam: &Exam,
    texts: &ExamTexts,
) -> Result<(), StoreError> {
    prune_exams(at, id)?;
    insert(at, id, exam)?;
    let mut statement = at.prepare("INSERT INTO exam_files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (path, file) in &exam.files {
        statement.execute(params![
            id,
            path.as_str(),
            file.role.as_str(),
            file.hash.as_bytes().as_slice(),
            sql_integer(file.stamp.0),
            file.stamp.1,
            texts.get(path)
        ])?;
    }
    for (name, counts) in &exam.counts {
        put_counts(at, id, name, counts)?;
    }
    for link in &exam.code_links {
        at.execute("INSERT INTO exam_links VALUES (?1, ?2)", params![id, link.as_str()])?;
    }
    Ok(())
}

/// Deletes the exam of this loop, and all but the newest exams of finished loops.
fn prune_exams(at: &Transaction<'_>, id: &str) -> Result<(), StoreError> {
    at.execute("DELETE FROM exams WHERE loop_id = ?1", params![id])?;
    let kept = i64::try_from(EXAMS_MAX).unwrap_or(i64::MAX);
    at.execute(
        "DELETE FROM exams WHERE loop_id IN (
             SELECT loop_id FROM exams LEFT JOIN loops ON loops.id = exams.loop_id
             WHERE loops.status IS NULL OR loops.status NOT IN ('running', 'paused')
             ORDER BY frozen_ms DESC LIMIT -1 OFFSET ?1)",
        params![kept],
    )?;
    Ok(())
}

fn insert(at: &Transaction<'_>, id: &str, exam: &Exam) -> Result<(), StoreError> {
    let plan = encode(&exam.plan)?;
    at.execute(
        "INSERT INTO exams (loop_id, frozen_ms, is_cut, plan) VALUES (?1, ?2, ?3, ?4)",
        params![id, sql_integer(exam.frozen_ms), exam.is_truncated, plan],
    )?;
    Ok(())
}

fn files(
    at: &Transaction<'_>,
    id: &str,
    roles: &[ExamRole],
) -> Result<BTreeMap<RelPath, FrozenFile>, StoreError> {
    let words: Vec<String> = roles.iter().map(|role| format!("'{}'", role.as_str())).collect();
    let mut statement = at.prepare_cached(&format!(
        "SELECT path, role, hash, bytes, changed_ns FROM exam_files
         WHERE loop_id = ?1 AND role IN ({})",
        words.join(", ")
    ))?;
    let mut rows = statement.query(params![id])?;
    let mut files = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (path, role): (String, String) = (row.get(0)?, row.get(1)?);
        let (hash, bytes, changed_ns): ([u8; 32], i64, i64) =
            (row.get(2)?, row.get(3)?, row.get(4)?);
        let role = ExamRole::from_name(&role).ok_or_else(|| unreadable_exam(&role))?;
        let path = RelPath::parse(&path).ok_or_else(|| unreadable_exam(&path))?;
        let stamp = (u64::try_from(bytes).unwrap_or_default(), changed_ns);
        files.insert(path, FrozenFile { role, hash: ContentHash::from_bytes(hash), stamp });
    }
    Ok(files)
}

fn code_links(at: &Transaction<'_>, id: &str) -> Result<BTreeSet<RelPath>, StoreError> {
    let mut statement = at.prepare_cached("SELECT path FROM exam_links WHERE loop_id = ?1")?;
    let mut rows = statement.query(params![id])?;
    let mut links = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let path: String = row.get(0)?;
        links.insert(RelPath::parse(&path).ok_or_else(|| unreadable_exam(&path))?);
    }
    Ok(links)
}

fn counts(at: &Transaction<'_>, id: &str) -> Result<BTreeMap<String, TestCounts>, StoreError> {
    let sql = "SELECT name, passed, failed, skipped, duration_ms FROM exam_counts
               WHERE loop_id = ?1";
    let mut statement = at.prepare_cached(sql)?;
    let number = |row: &Row<'_>, at: usize| -> rusqlite::Result<u64> {
        let number: i64 = row.get(at)?;
        Ok(u64::try_from(number).unwrap_or_default())
    };
    let found = statement.query_map(params![id], |row| {
        let duration_ms: Option<i64> = row.get(4)?;
        let counts = TestCounts {
            passed: number(row, 1)?,
            failed: number(row, 2)?,
            skipped: number(row, 3)?,
            duration_ms: duration_ms.and_then(|ms| u64::try_from(ms).ok()),
            ..TestCounts::default()
        };
        Ok((row.get(0)?, counts))
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn put_counts(
    at: &Transaction<'_>,
    id: &str,
    name: &str,
    counts: &TestCounts,
) -> Result<(), StoreError> {
    at.execute(
        "INSERT OR REPLACE INTO exam_counts (loop_id, name, passed, failed, skipped, duration_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            id,
            name,
            sql_integer(counts.passed),
            sql_integer(counts.failed),
            sql_integer(counts.skipped),
            counts.duration_ms.map(sql_integer)
        ],
    )?;
    Ok(())
}

fn sql_integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unreadable_exam(what: &str) -> StoreError {
    StoreError::Corrupt(format!("an exam cannot be read: {what}"))
}

/// The stored form of a plan, separate from the plan so that its type may change freely.
#[derive(Serialize, Deserialize)]
struct StoredPlan {
    version: u32,
    commands: Vec<StoredCommand>,
    unanswered: Vec<StoredGap>,
}

#[derive(Serialize, Deserialize)]
struct StoredCommand {
    name: String,
    criterion: String,
    argv: Vec<String>,
    folder: String,
    timeout_secs: Option<u64>,
    source: String,
    why: String,
}

#[derive(Serialize, Deserialize)]
struct StoredGap {
    name: String,
    detail: String,
    remedy: Option<String>,
    /// It is refused, not just unknown.
    is_refused: bool,
    /// There are tests without a command that runs them.
    #[serde(default)]
    is_untested: bool,
}

const PLAN_VERSION: u32 = 1;

fn encode(plan: &CheckPlan) -> Result<String, StoreError> {
    let command = |item: &CheckCommand| StoredCommand {
        name: item.name.clone(),
        criterion: item.criterion.as_str().to_owned(),
        argv: item.argv.clone(),
        folder: item.folder.clone(),
        timeout_secs: item.timeout_secs,
        source: item.source.clone(),
        why: item.why.clone(),
    };
    let stored = StoredPlan {
        version: PLAN_VERSION,
        commands: plan.commands.iter().map(command).collect(),
        unanswered: plan
            .unanswered
            .iter()
            .map(|item| StoredGap {
                name: item.name.clone(),
                detail: item.gap.detail.clone(),
                remedy: item.gap.remedy.clone(),
                is_refused: item.gap.cause == Cause::Refused,
                is_untested: item.gap.cause == Cause::NoCheck,
            })
            .collect(),
    };
    serde_json::to_string(&stored).map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn decode(json: &str) -> Result<CheckPlan, StoreError> {
    let stored: StoredPlan =
        serde_json::from_str(json).map_err(|error| unreadable_exam(&error.to_string()))?;
    let command = |item: StoredCommand| {
        let criterion = CheckCriterion::from_name(&item.criterion);
        let criterion = criterion.ok_or_else(|| unreadable_exam(&item.criterion))?;
        let StoredCommand { name, argv, folder, timeout_secs, source, why, .. } = item;
        Ok(CheckCommand { name, criterion, argv, folder, timeout_secs, source, why })
    };
    let unanswered = |item: StoredGap| {
        let cause = match (item.is_refused, item.is_untested) {
            (true, _) => Cause::Refused,
            (false, true) => Cause::NoCheck,
            (false, false) => Cause::NoTool,
        };
        let gap = Gap { remedy: item.remedy, ..Gap::new(cause, item.detail) };
        CriterionGap { name: item.name, gap }
    };
    Ok(CheckPlan {
        commands: stored.commands.into_iter().map(command).collect::<Result<_, StoreError>>()?,
        unanswered: stored.unanswered.into_iter().map(unanswered).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use moai_loops::samples::command;
    use moai_loops::samples::state;
    use moai_loops::state::{LoopState, Status};

    fn store() -> (tempfile::TempDir, Store, ProjectKey) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::start(folder.path().join("home"));
        (folder, store, ProjectKey::from_folder(Path::new("/p")))
    }

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).expect("a relative path")
    }

    fn exam(frozen_ms: u64) -> Exam {
        let frozen = FrozenFile {
            role: ExamRole::Rubric,
            hash: ContentHash::of_bytes(b"strict"),
            stamp: (6, -5),
        };
        let refused = Gap::new(Cause::Refused, "a && b").with_remedy("r");
        let unanswered = CriterionGap { name: "x".into(), gap: refused };
        let mut slow = command("npm test", CheckCriterion::TestPass);
        slow.timeout_secs = Some(9);
        let duration_ms = Some(40);
        let counts =
            TestCounts { passed: 5, failed: 1, skipped: 2, duration_ms, ..TestCounts::default() };
        Exam {
            frozen_ms,
            is_truncated: true,
            plan: CheckPlan { commands: vec![slow], unanswered: vec![unanswered] },
            files: [(path("RUBRIC.md"), frozen)].into(),
            counts: [("npm test".to_owned(), counts)].into(),
            code_links: [path("shared")].into(),
        }
    }

    #[tokio::test]
    async fn an_exam_comes_back_as_it_was_with_its_texts() {
        let (_folder, store, key) = store();
        assert_eq!(store.find_exam(&key, "loop-1", ExamRole::ALL).await, Ok(None));
        let texts: ExamTexts = [(path("RUBRIC.md"), b"strict \xff".to_vec())].into();
        store.freeze_exam(&key, "loop-1", exam(1), texts).await.expect("stored");
        assert_eq!(store.find_exam(&key, "loop-1", ExamRole::ALL).await, Ok(Some(exam(1))));
        let text = async |name: &str| store.exam_text(&key, "loop-1", &path(name)).await;
        assert_eq!(text("RUBRIC.md").await, Ok(Some(b"strict \xff".to_vec())));
        assert_eq!(text("a.py").await, Ok(None));
        let strict = store.find_exam(&key, "loop-1", &[ExamRole::Test]).await.expect("readable");
        assert!(strict.expect("there").files.is_empty());
        // Frozen again: nothing of the first stays.
        store.freeze_exam(&key, "loop-1", Exam::default(), ExamTexts::new()).await.expect("stored");
        assert_eq!(store.find_exam(&key, "loop-1", ExamRole::ALL).await, Ok(Some(Exam::default())));
        assert_eq!(text("RUBRIC.md").await, Ok(None));
    }

    #[tokio::test]
    async fn what_a_session_wrote_is_kept_until_the_exam_is_frozen_again() {
        let (_folder, store, key) = store();
        let writes: SessionWrites =
            [(path("a"), Some(ContentHash::of_bytes(b"a"))), (path("b"), None)].into();
        store.note_exam_writes(&key, "loop-1", writes.clone()).await.expect("nothing to do");
        assert_eq!(store.exam_writes(&key, "loop-1").await, Ok(SessionWrites::new()));
        store.freeze_exam(&key, "loop-1", exam(1), ExamTexts::new()).await.expect("stored");
        store.note_exam_writes(&key, "loop-1", writes.clone()).await.expect("stored");
        assert_eq!(store.exam_writes(&key, "loop-1").await, Ok(writes));
        store.freeze_exam(&key, "loop-1", exam(2), ExamTexts::new()).await.expect("stored");
        assert_eq!(store.exam_writes(&key, "loop-1").await, Ok(SessionWrites::new()));
    }

    #[tokio::test]
    async fn counts_are_remembered_where_there_is_an_exam() {
        let (_folder, store, key) = store();
        let counts = TestCounts { passed: 7, ..TestCounts::default() };
        let all: BTreeMap<_, _> = [("npm test".to_owned(), counts)].into();
        let set = async |id: &str| store.set_exam_counts(&key, id, all.clone()).await;
        assert_eq!(set("loop-1").await, Ok(()));
        store.freeze_exam(&key, "loop-1", exam(1), ExamTexts::new()).await.expect("stored");
        assert_eq!(set("loop-1").await, Ok(()));
        let found =
            store.find_exam(&key, "loop-1", ExamRole::ALL).await.expect("readable").expect("there");
        assert_eq!(found.counts, all);
    }

    #[tokio::test]
    async fn old_exams_are_forgotten_but_never_one_of_an_active_loop() {
        let (_folder, store, key) = store();
        let root = Path::new("/p");
        store.insert_loop(&key, root, LoopState { id: "a".into(), ..state() }).await.expect("new");
        let over = LoopState { id: "b".into(), status: Status::Completed, ..state() };
        store.insert_loop(&key, root, over).await.expect("new");
        for id in ["a", "b"] {
            store.freeze_exam(&key, id, exam(1), ExamTexts::new()).await.expect("stored");
        }
        for number in 0..=EXAMS_MAX {
            let at = 2 + u64::try_from(number).expect("few");
            let id = format!("gone-{number}");
            store.freeze_exam(&key, &id, exam(at), ExamTexts::new()).await.expect("stored");
        }
        let is_there = async |id: &str| {
            store.find_exam(&key, id, ExamRole::ALL).await.expect("readable").is_some()
        };
        assert!(is_there("a").await && is_there("gone-1").await && is_there("gone-20").await);
        assert!(!is_there("b").await);
    }
}
