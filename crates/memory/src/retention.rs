//! Long-term retention. A pass walks over the whole memory in small steps: near duplicates become
//! one row that counts them, old edits and failed commands become one row per session and day, and
//! a project that is too large loses its least important rows. Decisions, notes and texts by users
//! are never touched; imported rows are never folded.

pub mod rows;
pub mod summary;

use std::collections::{BTreeMap, VecDeque};

use moai_base::limits::{
    DROPPED_AGE_DAYS_MIN, RETENTION_COMPARED_MAX, RETENTION_ENTRIES_MAX, RETENTION_REMOVED_MAX,
    RETENTION_ROWS_MAX, RETENTION_SIZES_MAX, SUMMARY_AGE_DAYS,
};
use moai_base::time_units::MS_PER_DAY;

use self::rows::{DropChoice, FoldTarget, RetentionScan, RowFold, ScannedRows, TimePosition};
use self::summary::summary;
use crate::database::MemoryDatabase;
use crate::near_duplicates::{ComparedText, are_comparable, is_foldable};
use crate::observation::StoredObservation;
use crate::ranking::ObservationKind;

/// Kinds whose old rows are summarized.
const SUMMARIZED_KINDS: [ObservationKind; 2] = [ObservationKind::Edit, ObservationKind::Command];

/// Kinds that may be dropped, the least important first.
const DROPPED_KINDS: [&[ObservationKind]; 4] = [
    &[ObservationKind::Edit, ObservationKind::Command, ObservationKind::Blocked],
    &[ObservationKind::Test, ObservationKind::Diagnostic],
    &[ObservationKind::Prompt, ObservationKind::Digest, ObservationKind::Verdict],
    &[ObservationKind::Fix],
];

/// A change by a pass, small enough for one transaction.
#[derive(Clone, Debug, PartialEq)]
pub enum RetentionChange {
    Fold(RowFold),
    Drop(Vec<i64>),
    /// Rebuild at most this many index entries of an older tokenizer version.
    RefreshIndex(usize),
}

impl RetentionChange {
    /// Applies the change to a store. Rows deleted in the meantime are skipped. Returns the number
    /// of affected rows.
    pub fn apply<D: MemoryDatabase + ?Sized>(&self, database: &mut D) -> Result<u64, D::Error> {
        match self {
            Self::Fold(fold) => database.fold(fold),
            Self::Drop(rows) => database.drop_rows(rows),
            Self::RefreshIndex(entries_max) => database.refresh_index(*entries_max),
        }
    }
}

/// One pass over the memory.
#[derive(Clone, Debug)]
pub struct RetentionPass {
    text_bytes_max: u64,
    now_ms: i64,
    stage: RetentionStage,
}

#[derive(Clone, Debug)]
enum RetentionStage {
    Index,
    /// The projects to fold, and the position in the last of them.
    Fold {
        projects: Vec<String>,
        after: TimePosition,
        earlier: VecDeque<ComparedRow>,
    },
    /// Sums of text by project so far.
    Measure {
        sizes: BTreeMap<String, u64>,
        after: i64,
    },
    /// The bytes to free in each project, and the remaining choices for the last of them.
    Drop {
        excess: Vec<(String, u64)>,
        choices: VecDeque<DropChoice>,
    },
    Done,
}

/// A row with which later ones are compared.
#[derive(Clone, Debug)]
struct ComparedRow {
    observation: StoredObservation,
    text: ComparedText,
}

impl RetentionPass {
    /// A pass that leaves at most `text_bytes_max` bytes of titles and bodies in each project.
    /// Times are in milliseconds since 1970.
    #[must_use]
    pub fn new(text_bytes_max: u64, now_ms: i64) -> Self {
        Self { text_bytes_max, now_ms, stage: RetentionStage::Index }
    }

    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.stage, RetentionStage::Done)
    }

    /// Reads the next rows and returns the changes, which must be applied before the next call.
    pub fn next_changes<D: MemoryDatabase + ?Sized>(
        &mut self,
        database: &mut D,
    ) -> Result<Vec<RetentionChange>, D::Error> {
        match std::mem::replace(&mut self.stage, RetentionStage::Done) {
            RetentionStage::Index => self.check_index(database),
            RetentionStage::Fold { projects, after, earlier } => {
                self.fold(database, projects, after, earlier)
            }
            RetentionStage::Measure { sizes, after } => self.measure(database, sizes, after),
            RetentionStage::Drop { excess, choices } => self.drop_excess(database, excess, choices),
            RetentionStage::Done => Ok(Vec::new()),
        }
    }

    fn check_index<D: MemoryDatabase + ?Sized>(
        &mut self,
        database: &mut D,
    ) -> Result<Vec<RetentionChange>, D::Error> {
        if database.has_outdated_entries()? {
            self.stage = RetentionStage::Index;
            return Ok(vec![RetentionChange::RefreshIndex(RETENTION_ENTRIES_MAX)]);
        }
        let projects = database.own_projects()?;
        self.stage =
            RetentionStage::Fold { projects, after: TimePosition::START, earlier: VecDeque::new() };
        Ok(Vec::new())
    }

    fn fold<D: MemoryDatabase + ?Sized>(
        &mut self,
        database: &mut D,
        mut projects: Vec<String>,
        after: TimePosition,
        mut earlier: VecDeque<ComparedRow>,
    ) -> Result<Vec<RetentionChange>, D::Error> {
        let Some(project) = projects.last() else {
            self.stage = RetentionStage::Measure { sizes: BTreeMap::new(), after: i64::MIN };
            return Ok(Vec::new());
        };
        let scan = RetentionScan { project: project.clone(), after, rows_max: RETENTION_ROWS_MAX };
        let mut scanned = database.scan_rows(&scan)?;
        scanned.foldable.retain(is_foldable);
        let end = whole_days(&mut scanned, self.summary_end_ms());
        let (summarized, compared): (Vec<_>, Vec<_>) = scanned
            .foldable
            .into_iter()
            .partition(|row| row.at_ms < self.summary_end_ms() && is_summarized(row));
        let mut folds = summaries(summarized);
        folds.extend(near_duplicates(compared, &mut earlier));
        self.stage = if let Some(after) = end {
            RetentionStage::Fold { projects, after, earlier }
        } else {
            projects.pop();
            let after = TimePosition::START;
            RetentionStage::Fold { projects, after, earlier: VecDeque::new() }
        };
        Ok(folds.into_iter().map(RetentionChange::Fold).collect())
    }

    /// Start of the first day whose edits are too recent for a summary.
    fn summary_end_ms(&self) -> i64 {
        day_of(self.now_ms.saturating_sub(SUMMARY_AGE_DAYS * MS_PER_DAY)).saturating_mul(MS_PER_DAY)
    }

    fn measure<D: MemoryDatabase + ?Sized>(
        &mut self,
        database: &mut D,
        mut sizes: BTreeMap<String, u64>,
        after: i64,
    ) -> Result<Vec<RetentionChange>, D::Error> {
        let next = database.text_sizes(after, RETENTION_SIZES_MAX)?;
        for (project, bytes) in next.projects {
            *sizes.entry(project).or_default() += bytes;
        }
        self.stage = if let Some(after) = next.last {
            RetentionStage::Measure { sizes, after }
        } else {
            let excess = sizes
                .into_iter()
                .map(|(project, bytes)| (project, bytes.saturating_sub(self.text_bytes_max)));
            let excess = excess.filter(|(_, bytes)| *bytes > 0).collect();
            RetentionStage::Drop { excess, choices: VecDeque::new() }
        };
        Ok(Vec::new())
    }

    fn drop_excess<D: MemoryDatabase + ?Sized>(
        &mut self,
        database: &mut D,
        mut excess: Vec<(String, u64)>,
        mut choices: VecDeque<DropChoice>,
    ) -> Result<Vec<RetentionChange>, D::Error> {
        let Some((project, bytes)) = excess.last_mut() else { return Ok(Vec::new()) };
        if choices.is_empty() {
            choices = drop_choices(project, self.now_ms);
        }
        let Some(choice) = choices.front() else { return Ok(Vec::new()) };
        let found = database.droppable_rows(choice, RETENTION_REMOVED_MAX)?;
        if found.len() < RETENTION_REMOVED_MAX {
            choices.pop_front();
        }
        let mut dropped = Vec::new();
        for row in found {
            if *bytes > 0 {
                *bytes = bytes.saturating_sub(row.bytes);
                dropped.push(row.row);
            }
        }
        if *bytes == 0 || choices.is_empty() {
            excess.pop();
            choices.clear();
        }
        self.stage = RetentionStage::Drop { excess, choices };
        if dropped.is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![RetentionChange::Drop(dropped)])
    }
}

/// The droppable rows of a project, the least important first: rows by this program before imported
/// ones, unused before used.
fn drop_choices(project: &str, now_ms: i64) -> VecDeque<DropChoice> {
    let before_ms = now_ms.saturating_sub(DROPPED_AGE_DAYS_MIN * MS_PER_DAY);
    let mut choices = VecDeque::new();
    for is_imported in [false, true] {
        for is_used in [false, true] {
            for kinds in DROPPED_KINDS {
                let (project, kinds) = (project.to_owned(), kinds.to_vec());
                choices.push_back(DropChoice { project, kinds, is_imported, is_used, before_ms });
            }
        }
    }
    choices
}

fn is_summarized(row: &StoredObservation) -> bool {
    SUMMARIZED_KINDS.contains(&row.kind)
}

/// The day of a time, in UTC, counted from 1970.
fn day_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(MS_PER_DAY)
}

/// Leaves the rows of the last day to the next scan if that day is old and may have more rows.
/// Returns the start of the next scan.
fn whole_days(scanned: &mut ScannedRows, summary_end_ms: i64) -> Option<TimePosition> {
    let end = scanned.end?;
    let day_ms = day_of(end.at_ms).saturating_mul(MS_PER_DAY);
    let is_one_day = scanned.foldable.first().is_none_or(|row| row.at_ms >= day_ms);
    if end.at_ms >= summary_end_ms || is_one_day {
        return Some(end);
    }
    scanned.foldable.retain(|row| row.at_ms < day_ms);
    Some(TimePosition { at_ms: day_ms.saturating_sub(1), row: i64::MAX })
}

/// One summary for the rows of a session, a kind and a day, where there are several.
fn summaries(rows: Vec<StoredObservation>) -> Vec<RowFold> {
    let mut groups: BTreeMap<(i64, String, ObservationKind), Vec<StoredObservation>> =
        BTreeMap::new();
    for row in rows {
        let group = (day_of(row.at_ms), row.session.clone(), row.kind);
        groups.entry(group).or_default().push(row);
    }
    let parts = groups
        .into_values()
        .flat_map(|rows| rows.chunks(RETENTION_REMOVED_MAX).map(<[_]>::to_vec).collect::<Vec<_>>());
    parts
        .filter(|rows| rows.len() > 1)
        .filter_map(|rows| {
            let into = FoldTarget::Summary(Box::new(summary(&rows)?));
            Some(RowFold { rows: rows.iter().map(|row| row.row).collect(), into })
        })
        .collect()
}

/// Near duplicates of an earlier row, among these and the last ones that were compared.
fn near_duplicates(
    rows: Vec<StoredObservation>,
    earlier: &mut VecDeque<ComparedRow>,
) -> Vec<RowFold> {
    let mut folds: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for observation in rows {
        let text = ComparedText::of(&observation.text());
        let same = earlier.iter().find(|kept| {
            are_comparable(&kept.observation, &observation) && kept.text.says_the_same(&text)
        });
        if let Some(kept) = same {
            folds.entry(kept.observation.row).or_default().push(observation.row);
            continue;
        }
        earlier.push_back(ComparedRow { observation, text });
        if earlier.len() > RETENTION_COMPARED_MAX {
            earlier.pop_front();
        }
    }
    let parts = folds.into_iter().flat_map(|(kept, rows)| {
        let parts = rows.chunks(RETENTION_REMOVED_MAX).map(<[_]>::to_vec).collect::<Vec<_>>();
        parts.into_iter().map(move |rows| RowFold { rows, into: FoldTarget::Row(kept) })
    });
    parts.collect()
}

#[cfg(test)]
mod tests;
