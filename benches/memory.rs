//! Recall and speed of the memory: `cargo bench --bench memory`. 200,000 synthetic observations of twenty
//! projects in a real store, and questions of many kinds whose answers are known.
//!
//! `MOAI_RALPH_MEMORY_OBSERVATIONS` sets their number. `-- --postgres` measures the memory of a team on a
//! PostgreSQL server that it starts. Ends with 1 when a budget is exceeded.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "some hundred thousand observations"
)]
#![expect(clippy::unnecessary_wraps, reason = "all kinds of questions have one signature")]

#[path = "../crates/memory/tests/recall/corpus.rs"]
mod corpus;
#[path = "../crates/memory/tests/recall/questions.rs"]
mod questions;
#[path = "../crates/host/src/memory/postgres/tests/server.rs"]
#[expect(dead_code, reason = "shared with the tests, which use the rest")]
mod server;
#[path = "../crates/memory/tests/recall/tally.rs"]
mod tally;
#[path = "../crates/memory/tests/recall/vocabulary.rs"]
mod vocabulary;

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use corpus::{Corpus, NOW_MS, Observation};
use moai_host::memory::MemoryStore;
use moai_host::memory::postgres::PostgresSettings;
use moai_memory::clean::CleanText;
use moai_memory::database::ObservationFilter;
use moai_memory::observation::{MemoryProject, NewObservation, Provenance, Visibility};
use moai_memory::search::{MemoryQuestion, search};
use questions::questions;
use server::{ADMIN, PostgresServer};
use tally::Tally;

const SEED: u64 = 20_261_124;
const OBSERVATIONS: usize = 200_000;
const PROJECTS: usize = 20;
const QUESTIONS_PER_KIND: usize = 40;
const OBSERVATIONS_PER_WRITE: usize = 1_000;
const SINGLE_WRITES: usize = 500;
const HITS: usize = 10;

const RECALL_MIN: f64 = 0.95;
const RECIPROCAL_RANK_MIN: f64 = 0.88;
const EXACT_KINDS_RECALL_MIN: f64 = 0.98;
const SEARCH_P50_MS_MAX: f64 = 5.0;
const SEARCH_P99_MS_MAX: f64 = 40.0;
const WRITE_P99_MS_MAX: f64 = 5.0;
const INDEX_MB_MAX: f64 = 60.0;
/// The same with PostgreSQL on the same machine.
const POSTGRES_SEARCH_P99_MS_MAX: f64 = 80.0;

/// Figures with the most or the least that each may be.
struct Budgets {
    table: String,
    is_exceeded: bool,
}

impl Budgets {
    fn at_most(&mut self, name: &str, value: f64, max: f64) {
        self.row(name, value, max, value <= max, "<=");
    }

    fn least(&mut self, name: &str, value: f64, min: f64) {
        self.row(name, value, min, value >= min, ">=");
    }

    fn row(&mut self, name: &str, value: f64, bound: f64, is_kept: bool, sign: &str) {
        let mark = if is_kept { "" } else { "   exceeded" };
        writeln!(self.table, "{name:45} {value:10.3} {sign} {bound}{mark}").expect("text");
        self.is_exceeded |= !is_kept;
    }
}

fn main() -> ExitCode {
    let number = env::var("MOAI_RALPH_MEMORY_OBSERVATIONS").ok();
    let observations = number.and_then(|it| it.parse().ok()).unwrap_or(OBSERVATIONS);
    let home = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let corpus = Corpus::generate(SEED, observations, PROJECTS);
    let mut budgets = Budgets { table: String::new(), is_exceeded: false };
    let report = if env::args().any(|argument| argument == "--postgres") {
        runtime.block_on(measure_postgres(&corpus, home.path(), &mut budgets))
    } else {
        runtime.block_on(measure(&corpus, home.path(), &mut budgets))
    };
    let text = format!("{report}\n{}", budgets.table);
    std::io::stdout().write_all(text.as_bytes()).expect("stdout");
    ExitCode::from(u8::from(budgets.is_exceeded))
}

async fn measure(corpus: &Corpus, home: &Path, budgets: &mut Budgets) -> String {
    let store = MemoryStore::start(home.to_path_buf());
    let mut report = fill(&store, corpus).await;
    let (table, mut durations) = ask(&store, corpus, budgets).await;
    report += &table;
    budgets.at_most("search, p50, ms", percentile(&mut durations, 0.5), SEARCH_P50_MS_MAX);
    budgets.at_most("search, p99, ms", percentile(&mut durations, 0.99), SEARCH_P99_MS_MAX);
    let mut writes = single_writes(&store, corpus).await;
    budgets.at_most(
        "write of one observation, p99, ms",
        percentile(&mut writes, 0.99),
        WRITE_P99_MS_MAX,
    );
    writeln!(report, "write p50 {:.3} ms", percentile(&mut writes, 0.5)).expect("text");
    let database = std::fs::metadata(store.path()).expect("it exists").len() as f64 / 1e6;
    writeln!(report, "database {database:.1} MB").expect("text");
    budgets.at_most("index, MB", index_mb(&store.path()), INDEX_MB_MAX);
    report
}

async fn measure_postgres(corpus: &Corpus, home: &Path, budgets: &mut Budgets) -> String {
    let server = PostgresServer::start();
    let settings = PostgresSettings::from_url(&server.url(ADMIN), &BTreeMap::new());
    let store = MemoryStore::start(home.to_path_buf()).with_team(settings.expect("a valid URL"));
    let store = store.for_command();
    let mut report = fill(&store, corpus).await;
    // Maintenance that a server does by itself in idle time.
    server.psql(ADMIN, "VACUUM ANALYZE");
    let (table, mut durations) = ask(&store, corpus, budgets).await;
    report += &table;
    let p50 = percentile(&mut durations, 0.5);
    writeln!(report, "search p50 {p50:.2} ms").expect("text");
    let p99 = percentile(&mut durations, 0.99);
    budgets.at_most("search, p99, ms", p99, POSTGRES_SEARCH_P99_MS_MAX);
    report
}

async fn fill(store: &MemoryStore, corpus: &Corpus) -> String {
    let started = Instant::now();
    for part in corpus.observations.chunks(OBSERVATIONS_PER_WRITE) {
        let new: Vec<NewObservation> = part.iter().map(new_observation).collect();
        store.write(move |database| database.add(&new).map(drop)).await.expect("stored");
    }
    let seconds = started.elapsed().as_secs_f64();
    format!("{} observations stored in {seconds:.1} s\n", corpus.observations.len())
}

async fn single_writes(store: &MemoryStore, corpus: &Corpus) -> Vec<Duration> {
    let mut durations = Vec::new();
    for (number, observation) in corpus.observations.iter().take(SINGLE_WRITES).enumerate() {
        let title = format!("later {number}: {}", observation.text);
        let external_id = Some(format!("later-{number}"));
        let new =
            NewObservation { external_id, title: clean(&title), ..new_observation(observation) };
        let started = Instant::now();
        store.write(move |database| database.add(&[new])).await.expect("stored");
        durations.push(started.elapsed());
    }
    durations
}

/// A table of the results, and the duration of each search.
async fn ask(
    store: &MemoryStore,
    corpus: &Corpus,
    budgets: &mut Budgets,
) -> (String, Vec<Duration>) {
    let mut by_kind: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut slowest: BTreeMap<&str, Duration> = BTreeMap::new();
    let (mut durations, mut cpu_times) = (Vec::new(), Vec::new());
    for question in questions(corpus, SEED, QUESTIONS_PER_KIND) {
        let text = question.text.clone();
        let filter =
            ObservationFilter { projects: vec![key(question.project)], ..Default::default() };
        let (found, duration, cpu) = store
            .read(move |database| {
                let (started, cpu) = (Instant::now(), cpu_time());
                let asked = MemoryQuestion::asked_for(&text, filter, HITS, NOW_MS);
                let found = search(database, &asked)?;
                Ok((found, started.elapsed(), cpu_time().saturating_sub(cpu)))
            })
            .await
            .expect("answered");
        let ids: Vec<i64> =
            found.hits.iter().filter_map(|hit| hit.observation.id.parse().ok()).collect();
        by_kind.entry(question.kind).or_default().add(&question, &ids);
        let slow = slowest.entry(question.kind).or_default();
        *slow = duration.max(*slow);
        durations.push(duration);
        cpu_times.push(cpu);
    }
    let mut all = Tally::default();
    let mut table = format!("{:45} {:>4} {:5} {:5} {:5}\n", "kind", "n", "rec10", "MRR", "first");
    for (kind, of_kind) in &by_kind {
        table += of_kind.row(kind).trim_end();
        writeln!(table, " {:7.2} ms at most", slowest[kind].as_secs_f64() * 1e3).expect("text");
        all.merge(of_kind);
    }
    table += &all.row("all");
    let (p50, p99) = (percentile(&mut cpu_times, 0.5), percentile(&mut cpu_times, 0.99));
    writeln!(table, "processor time of a search: p50 {p50:.2} ms, p99 {p99:.2} ms").expect("text");
    budgets.least("recall@10", all.recall(), RECALL_MIN);
    budgets.least("mean reciprocal rank", all.mean_reciprocal_rank(), RECIPROCAL_RANK_MIN);
    for kind in [
        questions::KOREAN_WITH_PARTICLES,
        questions::KOREAN_WITH_OTHER_PARTICLES,
        questions::OTHER_STYLE,
    ] {
        budgets.least(kind, by_kind[kind].recall(), EXACT_KINDS_RECALL_MIN);
    }
    (table, durations)
}

/// Processor time of this thread, which other programs on the machine do not change.
fn cpu_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

fn key(project: usize) -> String {
    format!("project{project}")
}

fn clean(text: &str) -> CleanText {
    CleanText::of(text).expect("text is left")
}

/// The first sentence is the title.
fn new_observation(observation: &Observation) -> NewObservation {
    let (title, body) = observation.text.split_once(". ").unwrap_or((&observation.text, ""));
    NewObservation {
        external_id: Some(observation.id.to_string()),
        project: MemoryProject { key: key(observation.project), name: key(observation.project) },
        session: format!("session-{}", observation.session),
        kind: observation.kind,
        at_ms: observation.at_ms,
        title: clean(title),
        body: CleanText::of(body),
        files: Vec::new(),
        codes: Vec::new(),
        shapes: Vec::new(),
        provenance: Provenance::Agent,
        importance: observation.importance,
        outcome: None,
        visibility: Visibility::Private,
        repeats: 0,
    }
}

fn percentile(durations: &mut [Duration], share: f64) -> f64 {
    durations.sort_unstable();
    let at = (durations.len() as f64 * share) as usize;
    durations[at.min(durations.len() - 1)].as_secs_f64() * 1e3
}

/// Size of the index in the file.
fn index_mb(path: &Path) -> f64 {
    let connection = rusqlite::Connection::open(path).expect("it exists");
    let sql = "SELECT (SELECT sum(length(block)) FROM entries_data)
               + (SELECT sum(length(sz) + 12) FROM entries_docsize)";
    let bytes: i64 = connection.query_row(sql, [], |row| row.get(0)).expect("the tables of FTS5");
    bytes as f64 / 1e6
}
