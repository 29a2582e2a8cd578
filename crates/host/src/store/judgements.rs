//! The table of judgements, so that the same change is never judged twice, and later calls can be
//! reminded of earlier opinions.

use std::path::Path;

use rusqlite::{OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use super::{ProjectKey, Store, StoreError};
use moai_base::hash::ContentHash;
use moai_base::limits::JUDGEMENTS_KEPT_MAX;
use moai_base::path::RelPath;
use moai_base::redaction::redact;
use moai_loops::judge::decision::JudgeOpinion;
use moai_loops::judge::verdict::{
    CriterionRuling, Ruling, RulingDoubt, SourceQuote, Suspicion, SuspicionKind,
};

/// Identity of a judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgementKey {
    /// Hash of the judge and everything it was shown.
    pub key: ContentHash,
    /// Hash of the criteria, because rulings on other criteria mean nothing.
    pub criteria: ContentHash,
}

impl Store {
    /// The stored opinion about this change.
    pub async fn find_judgement(
        &self,
        project: &ProjectKey,
        about: &JudgementKey,
    ) -> Result<Option<JudgeOpinion>, StoreError> {
        let key = about.key.to_string();
        self.read(project, move |transaction| {
            let sql = "SELECT opinion FROM judgements WHERE key = ?1";
            let json: Option<String> =
                transaction.query_row(sql, params![key], |row| row.get(0)).optional()?;
            json.map(|json| decode(&json)).transpose()
        })
        .await
    }

    /// Saves an opinion; the oldest beyond [`JUDGEMENTS_KEPT_MAX`] are deleted.
    pub async fn save_judgement(
        &self,
        project: &ProjectKey,
        root: &Path,
        about: &JudgementKey,
        opinion: &JudgeOpinion,
        at_ms: u64,
    ) -> Result<(), StoreError> {
        let row = (
            about.key.to_string(),
            root.to_string_lossy().into_owned(),
            about.criteria.to_string(),
        );
        let (opinion, at_ms) = (encode(opinion)?, i64::try_from(at_ms).unwrap_or(i64::MAX));
        self.write(project, move |transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO judgements (key, root, criteria, opinion, at_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![row.0, row.1, row.2, opinion, at_ms],
            )?;
            transaction.execute(
                "DELETE FROM judgements WHERE rowid NOT IN
                 (SELECT rowid FROM judgements ORDER BY at_ms DESC, rowid DESC LIMIT ?1)",
                params![i64::try_from(JUDGEMENTS_KEPT_MAX).unwrap_or(i64::MAX)],
            )?;
            Ok(())
        })
        .await
    }

    /// The last opinions on earlier changes of a root by the same criteria, newest first.
    pub async fn last_judgements(
        &self,
        project: &ProjectKey,
        root: &Path,
        about: &JudgementKey,
        count_max: usize,
    ) -> Result<Vec<JudgeOpinion>, StoreError> {
        let (root, criteria) = (root.to_string_lossy().into_owned(), about.criteria.to_string());
        self.read(project, move |transaction| {
            let mut statement = transaction.prepare(
                "SELECT opinion FROM judgements WHERE root = ?1 AND criteria = ?2
                 ORDER BY at_ms DESC, rowid DESC LIMIT ?3",
            )?;
            let count = i64::try_from(count_max).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![root, criteria, count], |row| row.get(0))?;
            let texts = rows.collect::<Result<Vec<String>, _>>()?;
            texts.iter().map(|json| decode(json)).collect()
        })
        .await
    }
}

/// The stored form, separate from the opinion so that its type may change freely.
#[derive(Serialize, Deserialize)]
struct StoredOpinion {
    ruled: Vec<StoredRuling>,
    suspicions: Vec<StoredSuspicion>,
    has_unread: bool,
    confidence: f64,
}

#[derive(Serialize, Deserialize)]
struct StoredRuling {
    id: String,
    ruling: String,
    doubt: Option<String>,
    reason: String,
    fix_hint: Option<String>,
    evidence: Vec<(String, u32, u32, String)>,
}

#[derive(Serialize, Deserialize)]
struct StoredSuspicion {
    kind: String,
    path: String,
    line: Option<u32>,
}

fn encode(opinion: &JudgeOpinion) -> Result<String, StoreError> {
    let ruled = |item: &CriterionRuling| StoredRuling {
        id: item.id.clone(),
        ruling: item.ruling.as_str().to_owned(),
        doubt: item.doubt.map(|doubt| doubt.as_str().to_owned()),
        reason: redact(item.reason.clone()),
        fix_hint: item.fix_hint.clone().map(redact),
        evidence: item
            .quotes
            .iter()
            .map(|it| (it.path.to_string(), it.line_start, it.line_end, redact(it.text.clone())))
            .collect(),
    };
    let stored = StoredOpinion {
        ruled: opinion.rulings.iter().map(ruled).collect(),
        suspicions: opinion
            .suspicions
            .iter()
            .map(|item| StoredSuspicion {
                kind: item.kind.as_str().to_owned(),
                path: item.path.to_string(),
                line: item.line,
            })
            .collect(),
        has_unread: opinion.has_unread,
        confidence: opinion.confidence,
    };
    serde_json::to_string(&stored).map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn decode(json: &str) -> Result<JudgeOpinion, StoreError> {
    let broken = |what: &str| StoreError::Corrupt(format!("a judgement cannot be read: {what}"));
    let stored: StoredOpinion =
        serde_json::from_str(json).map_err(|error| broken(&error.to_string()))?;
    let path = |text: &str| RelPath::parse(text).ok_or_else(|| broken(text));
    let ruled = |item: StoredRuling| {
        Ok(CriterionRuling {
            ruling: Ruling::from_name(&item.ruling).ok_or_else(|| broken(&item.ruling))?,
            doubt: item
                .doubt
                .map(|word| RulingDoubt::from_name(&word).ok_or_else(|| broken(&word)))
                .transpose()?,
            id: item.id,
            reason: item.reason,
            fix_hint: item.fix_hint,
            quotes: item
                .evidence
                .into_iter()
                .map(|(at, line_start, line_end, text)| {
                    Ok(SourceQuote { path: path(&at)?, line_start, line_end, text })
                })
                .collect::<Result<_, StoreError>>()?,
        })
    };
    Ok(JudgeOpinion {
        rulings: stored.ruled.into_iter().map(ruled).collect::<Result<_, StoreError>>()?,
        suspicions: stored
            .suspicions
            .into_iter()
            .map(|item| {
                let kind =
                    SuspicionKind::from_name(&item.kind).ok_or_else(|| broken(&item.kind))?;
                Ok(Suspicion { kind, path: path(&item.path)?, line: item.line })
            })
            .collect::<Result<_, StoreError>>()?,
        has_unread: stored.has_unread,
        confidence: stored.confidence,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opinion(reason: &str) -> JudgeOpinion {
        let path = RelPath::parse("src/한글.py").expect("relative");
        let quote =
            SourceQuote { path: path.clone(), line_start: 1, line_end: 2, text: "a\nb".into() };
        JudgeOpinion {
            rulings: vec![CriterionRuling {
                id: "C1".into(),
                ruling: Ruling::Unclear,
                doubt: Some(RulingDoubt::Disagreement),
                reason: reason.into(),
                fix_hint: Some("h".into()),
                quotes: vec![quote],
            }],
            suspicions: vec![Suspicion { kind: SuspicionKind::Stub, path, line: Some(3) }],
            has_unread: true,
            confidence: 0.5,
        }
    }

    fn about(key: &str, criteria: &str) -> JudgementKey {
        let hash = |text: &str| ContentHash::of_bytes(text.as_bytes());
        JudgementKey { key: hash(key), criteria: hash(criteria) }
    }

    #[tokio::test]
    async fn what_was_said_comes_back_for_the_same_change_and_reminds_of_the_same_criteria() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::start(folder.path().join("home"));
        let (project, root) = (ProjectKey::from_folder(Path::new("/p")), Path::new("/p"));
        for (at, key, criteria) in [(1, "a", "x"), (2, "b", "x"), (3, "c", "y"), (4, "a", "x")] {
            let (about, opinion) = (about(key, criteria), opinion(key));
            store.save_judgement(&project, root, &about, &opinion, at).await.expect("kept");
        }
        assert_eq!(store.find_judgement(&project, &about("a", "x")).await, Ok(Some(opinion("a"))));
        assert_eq!(store.find_judgement(&project, &about("d", "x")).await, Ok(None));
        let last = store.last_judgements(&project, root, &about("d", "x"), 9).await.expect("read");
        let reasons: Vec<_> = last.iter().map(|one| one.rulings[0].reason.as_str()).collect();
        assert_eq!(reasons, ["a", "b"]);
        let elsewhere = store.last_judgements(&project, Path::new("/q"), &about("d", "x"), 9).await;
        assert_eq!(elsewhere, Ok(Vec::new()));
    }
}
