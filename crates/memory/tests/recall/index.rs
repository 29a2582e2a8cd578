//! An index like a store's: an SQLite FTS5 table in memory, filled with the crate's tokens and
//! queried with its expressions.

use std::collections::HashMap;

use moai_memory::budget::estimated_tokens;
use moai_memory::database::{MatchedRow, MatchingRows};
use moai_memory::dedupe::simhash;
use moai_memory::diversity::diversified;
use moai_memory::glossary::Glossary;
use moai_memory::query::{Query, StageHit, StagedSearch};
use moai_memory::ranking::{Proximity, RankingCandidate, rank};
use moai_memory::search::best_rows;
use moai_memory::tokens::IndexTokens;
use moai_memory::unit_rows::UnitRows;
use rusqlite::Connection;

use crate::corpus::{Corpus, NOW_MS, Observation};

const ENOUGH: usize = 10;

/// A filled index.
pub(crate) struct MemoryIndex<'c> {
    connection: Connection,
    observations: HashMap<i64, &'c Observation>,
}

impl<'c> MemoryIndex<'c> {
    pub(crate) fn of(corpus: &'c Corpus) -> Self {
        let connection = Connection::open_in_memory().expect("a database in memory");
        let schema = "CREATE VIRTUAL TABLE entries USING \
                      fts5(words, pairs, content='', tokenize=\"unicode61 tokenchars '_'\")";
        connection.execute_batch(schema).expect("FTS5 is built in");
        let mut insert = connection
            .prepare("INSERT INTO entries(rowid, words, pairs) VALUES (?1, ?2, ?3)")
            .expect("a valid statement");
        for observation in &corpus.observations {
            let tokens = IndexTokens::of_text(&observation.text);
            insert
                .execute((observation.id, tokens.words_column(), tokens.pairs_column()))
                .expect("the row is new");
        }
        drop(insert);
        let observations = corpus.observations.iter().map(|it| (it.id, it)).collect();
        Self { connection, observations }
    }

    /// The results of an explicit search, the best first.
    pub(crate) fn search(&self, text: &str) -> Vec<i64> {
        let mut query = Query::parse(text, Glossary::built_in());
        let mut unit_rows = UnitRows::default();
        let mut search = StagedSearch::new(&query, ENOUGH);
        while let Some(stage) = search.next_stage() {
            let questions = unit_rows.open_questions(&query, stage);
            let answers: Vec<MatchingRows> =
                questions.iter().map(|it| self.rows(&it.expression.to_string())).collect();
            unit_rows.add(&questions, &answers);
            let counts: Vec<u64> = unit_rows.counts(&query).iter().map(|it| it.rows).collect();
            query.weigh(self.observations.len() as u64, &counts);
            let rows = unit_rows.fulfilling(&query, stage);
            let rows = rows.map(|(row, weight)| (self.matched(row), weight));
            search.add(stage, best_rows(rows, NOW_MS));
        }
        let candidates: Vec<RankingCandidate<'_>> =
            search.into_hits().into_iter().map(|hit| self.candidate(hit)).collect();
        let ranked = rank(&query, &candidates, NOW_MS);
        diversified(&ranked, 10).into_iter().map(|row| row.id).collect()
    }

    fn rows(&self, expression: &str) -> MatchingRows {
        let mut select = self
            .connection
            .prepare_cached("SELECT rowid FROM entries WHERE entries MATCH ?1 ORDER BY rowid DESC")
            .expect("a valid statement");
        let rows = select.query_map([expression], |row| row.get(0)).and_then(Iterator::collect);
        let rows = rows.unwrap_or_else(|fault| panic!("{fault}: {expression}"));
        MatchingRows { rows, is_complete: true }
    }

    fn matched(&self, row: i64) -> MatchedRow {
        let observation = self.observations[&row];
        MatchedRow {
            row,
            kind: observation.kind,
            at_ms: observation.at_ms,
            importance: observation.importance,
            tokens: estimated_tokens(&observation.text),
        }
    }

    fn candidate(&self, hit: StageHit) -> RankingCandidate<'c> {
        let observation = self.observations[&hit.id];
        RankingCandidate {
            hit,
            text: &observation.text,
            kind: observation.kind,
            at_ms: observation.at_ms,
            proximity: Proximity::Elsewhere,
            importance: observation.importance,
            repeats: 0,
            is_superseded: false,
            session: observation.session,
            simhash: simhash(&observation.text),
        }
    }
}
