//! The index that a store would keep: a table of SQLite's FTS5 in memory, filled with the crate's
//! tokens and asked with its expressions.

use std::collections::HashMap;

use moai_memory::dedupe::simhash;
use moai_memory::diversity::diversified;
use moai_memory::glossary::Glossary;
use moai_memory::query::{Query, StageHit, StagedSearch};
use moai_memory::ranking::{Proximity, RankingCandidate, rank};
use moai_memory::tokens::IndexTokens;
use rusqlite::Connection;

use crate::corpus::{Corpus, NOW_MS, Observation};

const ROWS_PER_STAGE: i64 = 60;
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

    /// What an explicit search shows, the best first.
    pub(crate) fn search(&self, text: &str) -> Vec<i64> {
        let mut query = Query::parse(text, Glossary::built_in());
        let counts: Vec<u64> =
            query.units.iter().map(|unit| self.count(&unit.in_any_form().to_string())).collect();
        query.weigh(self.observations.len() as u64, &counts);
        let mut search = StagedSearch::new(&query, ENOUGH);
        while let Some(stage) = search.next_stage() {
            search.add(stage.kind, self.rows(&stage.expression.to_string()));
        }
        let candidates: Vec<RankingCandidate<'_>> =
            search.into_hits().into_iter().map(|hit| self.candidate(hit)).collect();
        let ranked = rank(&query, &candidates, NOW_MS);
        diversified(&ranked, 10).into_iter().map(|row| row.id).collect()
    }

    fn count(&self, expression: &str) -> u64 {
        let mut select = self
            .connection
            .prepare_cached("SELECT count(*) FROM entries WHERE entries MATCH ?1")
            .expect("a valid statement");
        let count: i64 =
            select.query_row([expression], |row| row.get(0)).expect("a valid expression");
        count.unsigned_abs()
    }

    fn rows(&self, expression: &str) -> Vec<i64> {
        let mut select = self
            .connection
            .prepare_cached(
                "SELECT rowid FROM entries WHERE entries MATCH ?1 \
                 ORDER BY bm25(entries, 1.0, 0.5) LIMIT ?2",
            )
            .expect("a valid statement");
        select
            .query_map((expression, ROWS_PER_STAGE), |row| row.get(0))
            .and_then(Iterator::collect)
            .unwrap_or_else(|fault| panic!("{fault}: {expression}"))
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
