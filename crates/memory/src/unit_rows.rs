//! Which rows have which units of a query. The index is asked for each form of a unit once; whether a
//! row fulfils a stage is decided from the answers.

use moai_base::limits::QUERY_UNITS_MAX;

use crate::database::{EstimatedRows, MatchingRows, MemoryDatabase, ObservationFilter};
use crate::expression::Expression;
use crate::query::{Query, QueryUnit, StageKind};

/// A bit for each unit of a query, by its place.
type UnitBits = u16;

const _: () = assert!(QUERY_UNITS_MAX <= UnitBits::BITS as usize, "every unit has a bit");

/// A form of units.
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

    /// Whether these units of a query fulfil a stage of it.
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

/// The rows that have any unit of a query.
#[derive(Clone, Debug, Default)]
pub struct UnitRows {
    /// The last that was stored first.
    rows: Vec<(i64, FoundUnits)>,
    counts: Vec<EstimatedRows>,
}

impl UnitRows {
    /// What the index is to be asked for, in the order that [`Self::new`] expects.
    #[must_use]
    pub fn questions(query: &Query) -> Vec<Expression> {
        forms(query).map(|(_, _, expression)| expression.clone()).collect()
    }

    /// The answers to [`Self::questions`]. A unit that more rows have than an answer holds distinguishes
    /// little: older rows count as if they had it.
    #[must_use]
    pub fn new(query: &Query, answers: &[MatchingRows]) -> Self {
        let mut rows: Vec<(i64, FoundUnits)> = Vec::new();
        let mut assumed: Vec<(i64, FoundUnits)> = Vec::new();
        for ((form, unit, _), answer) in forms(query).zip(answers) {
            let found = FoundUnits::of(form, unit);
            rows.extend(answer.rows.iter().map(|row| (*row, found)));
            if let Some(oldest) = answer.rows.last().filter(|_| !answer.is_complete) {
                assumed.push((*oldest, found));
            }
        }
        rows.sort_unstable_by_key(|(row, _)| std::cmp::Reverse(*row));
        rows.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1.add(next.1);
            }
            is_same
        });
        let counts = (0..query.units.len()).map(|unit| EstimatedRows {
            rows: rows.iter().filter(|(_, found)| found.has(unit)).count() as u64,
            is_exact: assumed.iter().all(|(_, found)| !found.has(unit)),
        });
        let counts = counts.collect();
        for (row, found) in &mut rows {
            for (oldest, unit) in &assumed {
                if *row < *oldest {
                    found.add(*unit);
                }
            }
        }
        Self { rows, counts }
    }

    /// Asks a store for the last `rows_max` rows with each form of a unit.
    pub fn ask<D: MemoryDatabase + ?Sized>(
        database: &mut D,
        filter: &ObservationFilter,
        query: &Query,
        rows_max: usize,
    ) -> Result<Self, D::Error> {
        if query.units.is_empty() {
            return Ok(Self::default());
        }
        let answers = database.matching(filter, &Self::questions(query), rows_max)?;
        Ok(Self::new(query, &answers))
    }

    /// How many rows have each unit in any form, in the order of the units.
    #[must_use]
    pub fn counts(&self) -> &[EstimatedRows] {
        &self.counts
    }

    /// The rows that fulfil a stage, the last that was stored first, and the sum of the weights of the
    /// units that each has.
    pub fn fulfilling(&self, query: &Query, stage: StageKind) -> impl Iterator<Item = (i64, f64)> {
        let fulfilling = self.rows.iter().filter(move |(_, found)| found.fulfil(query, stage));
        fulfilling.map(|(row, found)| {
            let units = query.units.iter().enumerate().filter(|(at, _)| found.has(*at));
            (*row, units.map(|(_, unit)| unit.weight).sum())
        })
    }
}

/// The forms of the units of a query, with the place of the unit.
fn forms(query: &Query) -> impl Iterator<Item = (UnitForm, usize, &Expression)> {
    query.units.iter().enumerate().flat_map(|(at, unit)| {
        UnitForm::ALL.into_iter().filter_map(move |form| Some((form, at, form.of(unit)?)))
    })
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
        let answers: Vec<MatchingRows> = forms(&query)
            .map(|(form, unit, _)| match (form, unit) {
                (UnitForm::Exact, 0) => answer(&[9, 8], false),
                (UnitForm::Exact, 1) => answer(&[10, 8, 3], true),
                _ => answer(&[], true),
            })
            .collect();
        let rows = UnitRows::new(&query, &answers);
        let found: Vec<i64> =
            rows.fulfilling(&query, StageKind::Exact).map(|(row, _)| row).collect();
        assert_eq!(found, [8, 3], "10 is newer than the rows that were listed");
        let counts: Vec<(u64, bool)> =
            rows.counts().iter().map(|count| (count.rows, count.is_exact)).collect();
        assert_eq!(counts, [(2, false), (3, true)], "what is assumed is not counted");
    }

    #[test]
    fn a_row_weighs_as_much_as_the_units_that_it_has() {
        let mut query = Query::parse("zzqcache TS2345", Glossary::built_in());
        query.weigh(1_000, &[2, 2]);
        let answers: Vec<MatchingRows> = forms(&query)
            .map(|(_, unit, _)| answer(if unit == 0 { &[1, 2] } else { &[2, 3] }, true))
            .collect();
        let rows = UnitRows::new(&query, &answers);
        let weights: Vec<(i64, f64)> = rows.fulfilling(&query, StageKind::Any).collect();
        let numbers: Vec<i64> = weights.iter().map(|(row, _)| *row).collect();
        assert_eq!(numbers, [3, 2, 1], "the last that was stored first");
        assert!(weights[1].1 > weights[0].1 && weights[0].1 > weights[2].1, "{weights:?}");
    }
}
