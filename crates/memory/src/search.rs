//! A search: finds the rows with the units of a query, from the strictest stage to looser ones
//! until there are enough, loads the most promising, ranks and diversifies them. The same for every
//! store.

use std::collections::HashMap;
use std::sync::Arc;

use moai_base::limits::{
    DURABLE_ROWS_MAX, HITS_ASKED_FOR_MIN, MATCHED_ROWS_MAX, MATCHING_ROWS_MAX, RANKED_ROWS_MAX,
};

use crate::database::{EstimatedRows, MatchedRow, MemoryDatabase, ObservationFilter};
use crate::diversity::diversified;
use crate::glossary::Glossary;
use crate::observation::StoredObservation;
use crate::query::{Query, StageHit, StageKind, StagedSearch};
use crate::ranking::{ObservationKind, Proximity, RankedHit, RankingCandidate, prior, rank};
use crate::unit_rows::UnitRows;

/// Kinds whose old rows are still worth finding when newer ones fill a stage.
const DURABLE_KINDS: [ObservationKind; 4] = [
    ObservationKind::Decision,
    ObservationKind::Note,
    ObservationKind::Fix,
    ObservationKind::Digest,
];

/// The current work, for [`Proximity`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkPlace {
    /// Files of the current work, relative to the root.
    pub files: Vec<String>,
    /// Codes of the current findings.
    pub codes: Vec<String>,
    /// Sessions on the current branch.
    pub sessions_of_branch: Vec<String>,
}

impl WorkPlace {
    #[must_use]
    pub fn proximity(&self, observation: &StoredObservation) -> Proximity {
        let of_files = self
            .files
            .iter()
            .flat_map(|here| observation.files.iter().map(|it| Proximity::of_paths(here, it)));
        let is_same_code = self.codes.iter().any(|code| observation.codes.contains(code));
        let is_same_branch = self.sessions_of_branch.contains(&observation.session);
        let others = [(is_same_code, Proximity::SameCode), (is_same_branch, Proximity::SameBranch)];
        let others = others.into_iter().filter(|(is_near, _)| *is_near).map(|(_, near)| near);
        of_files.chain(others).max().unwrap_or(Proximity::Elsewhere)
    }
}

#[derive(Clone, Debug)]
pub struct MemoryQuestion<'q> {
    /// The question in natural language.
    pub text: &'q str,
    pub filter: ObservationFilter,
    pub hits_max: usize,
    /// Hits after which no looser stage runs: [`moai_base::limits::HITS_ENOUGH_MIN`] for a prompt,
    /// [`HITS_ASKED_FOR_MIN`] for a user's search.
    pub enough: usize,
    /// Milliseconds since 1970.
    pub now_ms: i64,
    pub place: WorkPlace,
    /// Words that mean the same; `None` for the built-in ones.
    pub glossary: Option<Arc<Glossary>>,
}

impl<'q> MemoryQuestion<'q> {
    /// A user's explicit question.
    #[must_use]
    pub fn asked_for(
        text: &'q str,
        filter: ObservationFilter,
        hits_max: usize,
        now_ms: i64,
    ) -> Self {
        let place = WorkPlace::default();
        Self { text, filter, hits_max, enough: HITS_ASKED_FOR_MIN, now_ms, place, glossary: None }
    }
}

#[derive(Clone, Debug, Default)]
pub struct FoundMemory {
    /// The query, with the weights of its units.
    pub query: Query,
    /// The best first.
    pub hits: Vec<MemoryHit>,
    /// The stages in the order they ran, with the number of rows found by each.
    pub stages: Vec<(StageKind, usize)>,
    /// Number of observations in the filter with each unit of the query, in the forms that the
    /// stages needed.
    pub unit_rows: Vec<EstimatedRows>,
    /// Number of observations in the projects of the filter.
    pub searched: u64,
}

#[derive(Clone, Debug)]
pub struct MemoryHit {
    pub observation: StoredObservation,
    /// Its rank, with the parts of its score.
    pub ranked: RankedHit,
}

/// Runs a search on a store. An empty query finds nothing.
pub fn search<D: MemoryDatabase + ?Sized>(
    database: &mut D,
    question: &MemoryQuestion<'_>,
) -> Result<FoundMemory, D::Error> {
    let glossary = question.glossary.as_deref().unwrap_or_else(|| Glossary::built_in());
    let mut query = Query::parse(question.text, glossary);
    let of_projects =
        ObservationFilter { projects: question.filter.projects.clone(), ..Default::default() };
    let searched = database.count(&of_projects)?;
    let mut unit_rows = UnitRows::default();
    let mut asked = StagedSearch::new(&query, question.enough);
    let mut stages = Vec::new();
    while let Some(stage) = asked.next_stage() {
        unit_rows.ask(database, &question.filter, &query, stage, MATCHING_ROWS_MAX)?;
        let counts: Vec<u64> = unit_rows.counts(&query).iter().map(|unit| unit.rows).collect();
        query.weigh(searched, &counts);
        let rows = rows_of_stage(database, question, &query, &unit_rows, stage)?;
        stages.push((stage, rows.len()));
        asked.add(stage, rows);
    }
    let hits = ranked_hits(database, question, &query, &asked.into_hits())?;
    let unit_rows = unit_rows.counts(&query);
    Ok(FoundMemory { query, hits, stages, unit_rows, searched })
}

/// The rows that have all units of a query as words of their own or as whole names, with any
/// endings and spelling styles; empty for a query without units.
pub fn rows_with_all_units<D: MemoryDatabase + ?Sized>(
    database: &mut D,
    filter: &ObservationFilter,
    text: &str,
) -> Result<Vec<i64>, D::Error> {
    let query = Query::parse(text, Glossary::built_in());
    let rows = UnitRows::of_stage(database, filter, &query, StageKind::Exact, usize::MAX)?;
    Ok(rows.fulfilling(&query, StageKind::Exact).map(|(row, _)| row).collect())
}

/// The rows of a stage that are worth loading, the best first.
fn rows_of_stage<D: MemoryDatabase + ?Sized>(
    database: &mut D,
    question: &MemoryQuestion<'_>,
    query: &Query,
    unit_rows: &UnitRows,
    stage: StageKind,
) -> Result<Vec<i64>, D::Error> {
    let mut weights: Vec<(i64, f64)> = unit_rows.fulfilling(query, stage).collect();
    // Highest weight first; of equal ones the most recently stored.
    weights.sort_by(|one, other| other.1.total_cmp(&one.1));
    let is_cut = weights.len() > MATCHED_ROWS_MAX;
    weights.truncate(MATCHED_ROWS_MAX);
    let durable = durable(&question.filter);
    if is_cut && !durable.kinds.is_empty() && stage != StageKind::Any {
        let rows = UnitRows::of_stage(database, &durable, query, stage, MATCHING_ROWS_MAX)?;
        weights.extend(rows.fulfilling(query, stage).take(DURABLE_ROWS_MAX));
    }
    let rows: Vec<i64> = weights.iter().map(|(row, _)| *row).collect();
    let weights: HashMap<i64, f64> = weights.into_iter().collect();
    let described = database.describe(&rows)?;
    let weighed =
        described.into_iter().map(|row| (row, weights.get(&row.row).map_or(0.0, |it| *it)));
    Ok(best_rows(weighed, question.now_ms))
}

/// The filter, restricted to kinds whose old observations count.
fn durable(filter: &ObservationFilter) -> ObservationFilter {
    let is_meant = |kind: &ObservationKind| filter.kinds.is_empty() || filter.kinds.contains(kind);
    let kinds = DURABLE_KINDS.into_iter().filter(is_meant).collect();
    ObservationFilter { kinds, ..filter.clone() }
}

/// The rows with the highest weights, and of equal ones those that their age and kind put first.
#[must_use]
pub fn best_rows(rows: impl Iterator<Item = (MatchedRow, f64)>, now_ms: i64) -> Vec<i64> {
    let mut scored: Vec<(i64, f64)> =
        rows.map(|(row, weight)| (row.row, weight + prior(&row, now_ms))).collect();
    scored.sort_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
    scored.dedup_by_key(|(row, _)| *row);
    scored.into_iter().map(|(row, _)| row).take(RANKED_ROWS_MAX).collect()
}

fn ranked_hits<D: MemoryDatabase + ?Sized>(
    database: &mut D,
    question: &MemoryQuestion<'_>,
    query: &Query,
    stage_hits: &[StageHit],
) -> Result<Vec<MemoryHit>, D::Error> {
    let rows: Vec<i64> = stage_hits.iter().map(|hit| hit.id).collect();
    let observations = database.load(&rows)?;
    let texts: Vec<String> = observations.iter().map(StoredObservation::searched_text).collect();
    let mut sessions: HashMap<&str, i64> = HashMap::new();
    let mut candidates = Vec::with_capacity(observations.len());
    for (observation, text) in observations.iter().zip(&texts) {
        let Some(hit) = stage_hits.iter().find(|hit| hit.id == observation.row) else { continue };
        let next = i64::try_from(sessions.len()).unwrap_or(i64::MAX);
        // Observations without a session have nothing in common.
        let session = if observation.session.is_empty() {
            -observation.row
        } else {
            *sessions.entry(&observation.session).or_insert(next)
        };
        candidates.push(RankingCandidate {
            hit: *hit,
            text,
            kind: observation.kind,
            at_ms: observation.at_ms,
            proximity: question.place.proximity(observation),
            importance: observation.importance,
            repeats: observation.repeats,
            is_superseded: observation.is_superseded,
            session,
            simhash: observation.simhash,
        });
    }
    let ranked = rank(query, &candidates, question.now_ms);
    let mut by_row: HashMap<i64, StoredObservation> =
        observations.into_iter().map(|it| (it.row, it)).collect();
    let shown = diversified(&ranked, question.hits_max).into_iter();
    let hits = shown.filter_map(|ranked| {
        by_row.remove(&ranked.id).map(|observation| MemoryHit { observation, ranked })
    });
    Ok(hits.collect())
}
