//! The units of a query that each row contains. The index is queried for each form of a unit once,
//! when the first stage needs it; the answers decide which rows match a stage.

use moai_base::limits::QUERY_UNITS_MAX;

use crate::database::{EstimatedRows, MatchingRows, MemoryDatabase, ObservationFilter};
use crate::expression::Expression;
use crate::query::{Query, QueryUnit, StageKind};

/// A bit for each unit of a query, by its place.
type UnitBits = u16;

const _: () = assert!(QUERY_UNITS_MAX <= UnitBits::BITS as usize, "every unit has a bit");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnitForm {
    Exact,
    Loose,
    Translated,
}

impl UnitForm {
    const ALL: [Self; 3] = [Self::Exact, Self::Loose, Self::Translated];

    fn of(self, unit: &QueryUnit) -> Option<&Expression> {
        match self {
            Self::Exact => Some(&unit.exact),
            Self::Loose => unit.loose.as_ref(),
            Self::Translated => unit.translated.as_ref(),
        }
    }
}

/// The units that a text has, in each form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundUnits {
    exact: UnitBits,
    loose: UnitBits,
    translated: UnitBits,
}

impl FoundUnits {
    fn of(form: UnitForm, unit: usize) -> Self {
        let bit = 1 << unit;
        match form {
            UnitForm::Exact => Self { exact: bit, ..Self::default() },
            UnitForm::Loose => Self { loose: bit, ..Self::default() },
            UnitForm::Translated => Self { translated: bit, ..Self::default() },
        }
    }

    fn add(&mut self, other: Self) {
        self.exact |= other.exact;
        self.loose |= other.loose;
        self.translated |= other.translated;
    }

    fn in_any_form(self) -> UnitBits {
        self.exact | self.loose | self.translated
    }

    fn has(self, unit: usize) -> bool {
        self.in_any_form() & (1 << unit) != 0
    }

    /// True if these units match a stage of the query.
    #[must_use]
    pub fn fulfil(self, query: &Query, stage: StageKind) -> bool {
        let bits = |is_meant: fn(&QueryUnit) -> bool| {
            let units = query.units.iter().enumerate().filter(|(_, unit)| is_meant(unit));
            units.fold(0, |bits: UnitBits, (at, _)| bits | 1 << at)
        };
        let all = bits(|_| true);
        let own_language = self.exact | self.loose;
        match stage {
            StageKind::Exact => self.exact == all,
            StageKind::Loose => own_language == all,
            StageKind::Translated => {
                let translatable = bits(|unit| unit.translated.is_some());
                self.translated & translatable | own_language & !translatable == all
            }
            StageKind::Named => {
                let named = bits(|unit| unit.kind.is_literal());
                self.exact & named == named
            }
            StageKind::AllButOne => self.in_any_form().count_ones() + 1 >= all.count_ones(),
            StageKind::Any => self.in_any_form() != 0,
        }
    }
}

/// An index query for one form of a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitQuestion {
    pub expression: Expression,
    form: UnitForm,
    /// The place of the unit in the query.
    unit: usize,
}

/// The rows with any unit of a query, as far as the index was queried for the forms of its units.
#[derive(Clone, Debug, Default)]
pub struct UnitRows {
    asked: Vec<(UnitForm, usize)>,
    /// The most recently stored first.
    rows: Vec<(i64, FoundUnits)>,
    /// Units with more rows than an answer holds, with the oldest row of that answer.
    cut: Vec<(i64, FoundUnits)>,
}

impl UnitRows {
    /// The index queries that [`Self::fulfilling`] needs for a stage. Most searches never need the
    /// looser forms, which are the most expensive.
    #[must_use]
    pub fn open_questions(&self, query: &Query, stage: StageKind) -> Vec<UnitQuestion> {
        let mut questions = Vec::new();
        for (at, unit) in query.units.iter().enumerate() {
            for form in deciding_forms(stage, unit) {
                let Some(expression) = form.of(unit) else { continue };
                if !self.asked.contains(&(*form, at)) {
                    let expression = expression.clone();
                    questions.push(UnitQuestion { expression, form: *form, unit: at });
                }
            }
        }
        questions
    }

    pub fn add(&mut self, questions: &[UnitQuestion], answers: &[MatchingRows]) {
        for (question, answer) in questions.iter().zip(answers) {
            let found = FoundUnits::of(question.form, question.unit);
            self.asked.push((question.form, question.unit));
            self.rows.extend(answer.rows.iter().map(|row| (*row, found)));
            if let Some(oldest) = answer.rows.last().filter(|_| !answer.is_complete) {
                self.cut.push((*oldest, found));
            }
        }
        self.rows.sort_unstable_by_key(|(row, _)| std::cmp::Reverse(*row));
        self.rows.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1.add(next.1);
            }
            is_same
        });
    }

    /// Runs the index queries that a stage still needs, for the last `rows_max` rows with each form
    /// of a unit.
    pub fn ask<D: MemoryDatabase + ?Sized>(
        &mut self,
        database: &mut D,
        filter: &ObservationFilter,
        query: &Query,
        stage: StageKind,
        rows_max: usize,
    ) -> Result<(), D::Error> {
        let questions = self.open_questions(query, stage);
        if questions.is_empty() {
            return Ok(());
        }
        let expressions: Vec<Expression> =
            questions.iter().map(|question| question.expression.clone()).collect();
        let answers = database.matching(filter, &expressions, rows_max)?;
        self.add(&questions, &answers);
        Ok(())
    }

    /// The rows that one stage needs.
    pub fn of_stage<D: MemoryDatabase + ?Sized>(
        database: &mut D,
        filter: &ObservationFilter,
        query: &Query,
        stage: StageKind,
        rows_max: usize,
    ) -> Result<Self, D::Error> {
        let mut rows = Self::default();
        rows.ask(database, filter, query, stage, rows_max)?;
        Ok(rows)
    }

    /// Number of rows with each unit in one of the queried forms, in the order of the units.
    #[must_use]
    pub fn counts(&self, query: &Query) -> Vec<EstimatedRows> {
        let counts = (0..query.units.len()).map(|unit| EstimatedRows {
            rows: self.rows.iter().filter(|(_, found)| found.has(unit)).count() as u64,
            is_exact: self.cut.iter().all(|(_, found)| !found.has(unit)),
        });
        counts.collect()
    }

    /// The rows that match a stage, the most recently stored first, each with the total weight of
    /// its units. A unit with more rows than an answer holds distinguishes little: older rows count
    /// as if they had it.
    pub fn fulfilling(&self, query: &Query, stage: StageKind) -> impl Iterator<Item = (i64, f64)> {
        let assumed = self.rows.iter().map(|(row, found)| {
            let mut found = *found;
            for (oldest, unit) in &self.cut {
                if *row < *oldest {
                    found.add(*unit);
                }
            }
            (*row, found)
        });
        let fulfilling = assumed.filter(move |(_, found)| found.fulfil(query, stage));
        fulfilling.map(|(row, found)| {
            let units = query.units.iter().enumerate().filter(|(at, _)| found.has(*at));
            (row, units.map(|(_, unit)| unit.weight).sum())
        })
    }
}

/// The forms of a unit that decide if a row matches a stage.
fn deciding_forms(stage: StageKind, unit: &QueryUnit) -> &'static [UnitForm] {
    match stage {
        StageKind::Exact => &[UnitForm::Exact],
        StageKind::Named if unit.kind.is_literal() => &[UnitForm::Exact],
        StageKind::Named => &[],
        StageKind::Translated if unit.translated.is_some() => &[UnitForm::Translated],
        StageKind::Loose | StageKind::Translated => &[UnitForm::Exact, UnitForm::Loose],
        StageKind::AllButOne | StageKind::Any => &UnitForm::ALL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glossary::Glossary;

    fn answer(rows: &[i64], is_complete: bool) -> MatchingRows {
        MatchingRows { rows: rows.to_vec(), is_complete }
    }

    #[test]
    fn older_rows_count_as_if_they_had_a_very_frequent_unit() {
        let query = Query::parse("zzqcache zzqwebhook", Glossary::built_in());
        let mut rows = UnitRows::default();
        let questions = rows.open_questions(&query, StageKind::Exact);
        rows.add(&questions, &[answer(&[9, 8], false), answer(&[10, 8, 3], true)]);
        let found: Vec<i64> =
            rows.fulfilling(&query, StageKind::Exact).map(|(row, _)| row).collect();
        assert_eq!(found, [8, 3], "10 is newer than the rows that were listed");
        let counts: Vec<(u64, bool)> =
            rows.counts(&query).iter().map(|count| (count.rows, count.is_exact)).collect();
        assert_eq!(counts, [(2, false), (3, true)], "what is assumed is not counted");
    }

    #[test]
    fn a_row_weighs_as_much_as_the_units_that_it_has() {
        let mut query = Query::parse("zzqcache TS2345", Glossary::built_in());
        query.weigh(1_000, &[2, 2]);
        let mut rows = UnitRows::default();
        let questions = rows.open_questions(&query, StageKind::Any);
        let of_unit = |question: &UnitQuestion| {
            answer(if question.unit == 0 { &[1, 2] } else { &[2, 3] }, true)
        };
        let answers: Vec<MatchingRows> = questions.iter().map(of_unit).collect();
        rows.add(&questions, &answers);
        let weights: Vec<(i64, f64)> = rows.fulfilling(&query, StageKind::Any).collect();
        let numbers: Vec<i64> = weights.iter().map(|(row, _)| *row).collect();
        assert_eq!(numbers, [3, 2, 1], "the last that was stored first");
        assert!(weights[1].1 > weights[0].1 && weights[0].1 > weights[2].1, "{weights:?}");
    }

    #[test]
    fn the_index_is_asked_for_each_form_once_and_not_before_a_stage_needs_it() {
        let query = Query::parse("session timeout", Glossary::built_in());
        let mut rows = UnitRows::default();
        let mut asked: Vec<(UnitForm, usize)> = Vec::new();
        for stage in [StageKind::Exact, StageKind::Loose, StageKind::Translated, StageKind::Any] {
            let questions = rows.open_questions(&query, stage);
            let answers = vec![answer(&[], true); questions.len()];
            rows.add(&questions, &answers);
            asked.extend(questions.iter().map(|question| (question.form, question.unit)));
            let is_loose_asked = asked.iter().any(|(form, _)| *form == UnitForm::Loose);
            assert_eq!(is_loose_asked, stage != StageKind::Exact, "{stage:?}: {asked:?}");
        }
        let mut distinct = asked.clone();
        distinct.sort_by_key(|(form, unit)| (*form as usize, *unit));
        distinct.dedup();
        assert_eq!(distinct.len(), asked.len(), "{asked:?}");
        assert_eq!(asked.len(), 6, "two words in three forms: {asked:?}");
    }
}
