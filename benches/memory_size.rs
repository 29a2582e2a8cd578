//! Size on disk of the memory of 1,000 typical sessions: `cargo bench --bench memory_size`. Half a year of
//! sessions in four projects, with a pass of retention each week; and the processor time of each step of a
//! pass, which delays searches and writes. `MOAI_RALPH_MEMORY_SESSIONS` sets their number. Ends with 1 when a
//! budget is exceeded.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use moai_host::memory::MemoryStore;
use moai_memory::budget::InjectionEvent;
use moai_memory::database::{Injection, MemoryDatabase, ObservationFilter, StoredAs};
use moai_memory::observation::{MemoryProject, NewObservation, Provenance};
use moai_memory::observe::{ObservationDraft, ObservationOrigin};
use moai_memory::ranking::ObservationKind;
use moai_memory::retention::RetentionPass;

const SEED: u64 = 20_261_124;
const SESSIONS: u64 = 1_000;
const PROJECTS: u64 = 4;
const WEEKS: u64 = 26;
const START_MS: i64 = 1_780_000_000_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// The default of `memory.max_mb`.
const PROJECT_BYTES_MAX: u64 = 100 << 20;
const DISK_MB_MAX: f64 = 60.0;
const STEP_MS_MAX: f64 = 50.0;

// Observations of one session.
const PROMPTS: u64 = 8;
const EDITS: u64 = 50;
const FIXES: u64 = 8;
const FAILED_COMMANDS: u64 = 10;
const DECISIONS: u64 = 2;
const SHOWN: u64 = 14;

const WORDS: [&str; 24] = [
    "cart", "token", "session", "payment", "refund", "coupon", "cache", "queue", "worker", "login",
    "parser", "index", "upload", "filter", "price", "order", "invoice", "search", "profile",
    "report", "webhook", "router", "schema", "batch",
];
const SENTENCES: [&str; 8] = [
    "장바구니에 쿠폰을 두 번 적용하면 합계가 틀리니까 원인을 찾아서 고쳐줘",
    "결제가 실패했을 때 재시도하는 부분에 테스트를 추가하고 로그를 정리해줘",
    "the refund of a partial order rounds twice, please make it use the money type everywhere",
    "move the session check into the middleware and keep the old routes working for the app",
    "검색 결과가 두 번째 페이지부터 중복되는데 정렬 기준을 확인해줘",
    "why does the upload worker keep the file handle open after a timeout, and how do we test it",
    "관리자 화면에서 주문 상태를 바꾸면 알림이 가지 않는 문제를 봐줘",
    "split the report builder into reading and formatting so that the formats can be tested alone",
];
const MESSAGES: [&str; 6] = [
    "Argument of type 'string | undefined' is not assignable to parameter of type 'string'.",
    "Property 'total' does not exist on type 'CartLine'. Did you mean 'subtotal'?",
    "\"retry_after\" is possibly unbound",
    "Object literal may only specify known properties, and 'currency' does not exist in type 'Money'.",
    "Cannot access attribute \"items\" for class \"None\"",
    "mismatched types: expected `Result<Order, OrderError>`, found `Option<Order>`",
];
const COMMANDS: [&str; 6] =
    ["npm test", "pytest -q", "cargo nextest run", "npm run build", "ruff check .", "tsc --noEmit"];

/// The same numbers each time.
struct SeededNumbers(u64);

impl SeededNumbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        let at = self.below(texts.len() as u64);
        texts[usize::try_from(at).expect("a small number")]
    }

    fn path(&mut self) -> String {
        let (folder, name) = (self.pick(&WORDS), self.pick(&WORDS));
        let extension = self.pick(&["ts", "tsx", "py", "rs"]);
        format!("src/{folder}/{name}_{}.{extension}", self.pick(&WORDS))
    }

    fn name(&mut self) -> String {
        let (one, other) = (self.pick(&WORDS), self.pick(&WORDS));
        format!("{one}_{other}_{}", self.pick(&WORDS))
    }

    fn finding(&mut self, path: &str) -> String {
        let (line, code) = (self.below(400), 2_000 + self.below(800));
        format!("{path}:{line}:7 error TS{code} {}", self.pick(&MESSAGES))
    }
}

fn draft(kind: ObservationKind, by: Provenance, title: String, body: String) -> ObservationDraft {
    ObservationDraft { body, ..ObservationDraft::new(kind, by, title) }
}

/// The observations of one session, in their order.
fn session_drafts(numbers: &mut SeededNumbers) -> Vec<ObservationDraft> {
    let mut drafts = Vec::new();
    for _ in 0..PROMPTS {
        let (first, more) = (numbers.pick(&SENTENCES), numbers.pick(&SENTENCES));
        let text = format!("{first} ({})", numbers.name());
        let body = format!("{text}\n{more}\n{}", numbers.pick(&SENTENCES));
        drafts.push(draft(ObservationKind::Prompt, Provenance::User, text, body));
    }
    let files: Vec<String> = (0..8).map(|_| numbers.path()).collect();
    for _ in 0..EDITS {
        let path = numbers.pick(&files.iter().map(String::as_str).collect::<Vec<_>>()).to_owned();
        let title = format!("{path}: edited {}, {}", numbers.name(), numbers.name());
        let has_findings = numbers.below(4) == 0;
        let body = if has_findings { numbers.finding(&path) } else { String::new() };
        let edit = draft(ObservationKind::Edit, Provenance::Measured, title, body);
        drafts.push(ObservationDraft { files: vec![path], ..edit });
    }
    for _ in 0..FIXES {
        let path = numbers.path();
        let title = format!(
            "fixed TS{} in {path}: {}",
            2_000 + numbers.below(800),
            numbers.pick(&MESSAGES)
        );
        let body = format!(
            "- const {0} = {1}.value;\n- return {0};\n+ const {0} = {1}?.value ?? 0;\n+ return {0} || fallback;",
            numbers.name(),
            numbers.name()
        );
        let fix = draft(ObservationKind::Fix, Provenance::Measured, title, body);
        drafts.push(ObservationDraft { files: vec![path], ..fix });
    }
    for number in 0..FAILED_COMMANDS {
        let command = numbers.pick(&COMMANDS);
        let path = numbers.path();
        let lines: Vec<String> = (0..4).map(|_| numbers.finding(&path)).collect();
        let title = format!("{command} failed with exit code 1: {}", lines[0]);
        let kind = if number % 2 == 0 { ObservationKind::Test } else { ObservationKind::Command };
        drafts.push(draft(kind, Provenance::Tool, title, lines.join("\n")));
    }
    for _ in 0..DECISIONS {
        let title = format!("결정: {}은 {} 방식으로 한다", numbers.name(), numbers.name());
        let body = numbers.pick(&SENTENCES).to_owned();
        drafts.push(draft(ObservationKind::Decision, Provenance::Agent, title, body));
    }
    let digest = format!("{}; {}", numbers.pick(&SENTENCES), files[..5].join(", "));
    drafts.push(draft(ObservationKind::Digest, Provenance::Measured, digest, String::new()));
    let verdict =
        format!("loop completed after {} iterations: {}", 1 + numbers.below(9), numbers.name());
    let errors = "errors: 9 7 7 3 0".to_owned();
    drafts.push(draft(ObservationKind::Verdict, Provenance::Measured, verdict, errors));
    drafts
}

async fn store_session(
    store: &MemoryStore,
    numbers: &mut SeededNumbers,
    number: u64,
    at_ms: i64,
) -> u64 {
    let project = number % PROJECTS;
    let project =
        MemoryProject { key: format!("project{project}"), name: format!("shop{project}") };
    let session = format!("00000000-0000-4000-8000-{number:012}");
    let mut drafts = session_drafts(numbers);
    let mut count = 0;
    for (part, drafts) in drafts.chunks_mut(5).enumerate() {
        let at_ms = at_ms + i64::try_from(part).expect("few") * 60_000;
        let origin =
            ObservationOrigin { project: project.clone(), session: session.clone(), at_ms };
        let new: Vec<NewObservation> =
            drafts.iter().filter_map(|draft| draft.cleaned(&origin)).collect();
        count += new.len() as u64;
        let stored = store.write(move |database| database.add(&new)).await.expect("stored");
        let rows = stored.into_iter().map(|it| match it {
            StoredAs::New(row) | StoredAs::Repeated(row) => row,
        });
        let shown = usize::try_from(SHOWN).expect("few").div_ceil(16);
        let session = session.clone();
        let injection = move |row| Injection {
            session: session.clone(),
            row,
            at_ms,
            event: InjectionEvent::Start,
            tokens: 30,
        };
        let injections: Vec<Injection> = rows.take(shown).map(injection).collect();
        store.write(move |database| database.record_injections(&injections)).await.expect("noted");
    }
    count
}

/// A pass, with the processor time of each of its steps on the store's thread.
async fn pass(store: &MemoryStore, now_ms: i64, steps: &mut Vec<Duration>) -> u64 {
    let mut pass = RetentionPass::new(PROJECT_BYTES_MAX, now_ms);
    let mut removed = 0;
    while !pass.is_done() {
        let read = move |database: &mut dyn MemoryDatabase<Error = _>| {
            let before = cpu_time();
            let changes = pass.next_changes(database)?;
            Ok((pass, changes, cpu_time().saturating_sub(before)))
        };
        let (next, changes, time) = store.read(read).await.expect("read");
        pass = next;
        steps.push(time);
        for change in changes {
            let apply = move |database: &mut dyn MemoryDatabase<Error = _>| {
                let before = cpu_time();
                let removed = change.apply(database)?;
                Ok((removed, cpu_time().saturating_sub(before)))
            };
            let (gone, time) = store.write(apply).await.expect("changed");
            removed += gone;
            steps.push(time);
        }
    }
    removed
}

/// Processor time of this thread, which other programs on the machine do not change.
fn cpu_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let nanos = u32::try_from(spent.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(spent.tv_sec).unwrap_or_default(), nanos)
}

/// The database and its log.
fn disk_mb(store: &MemoryStore) -> f64 {
    let log = store.path().with_extension("db-wal");
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    mb(size(&store.path()) + size(&log))
}

#[expect(clippy::cast_precision_loss, reason = "some hundred million bytes")]
fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

async fn measure(sessions: u64, with_retention: bool, report: &mut String) -> (f64, Duration) {
    let home = tempfile::tempdir().expect("a folder");
    let mut store = MemoryStore::start(home.path().to_path_buf());
    let mut numbers = SeededNumbers(SEED);
    let (mut stored, mut removed, mut steps) = (0, 0, Vec::new());
    let mut now_ms = START_MS;
    for week in 0..WEEKS {
        for number in (0..sessions).filter(|number| number * WEEKS / sessions == week) {
            let at_ms = now_ms + i64::try_from(numbers.below(7)).expect("few") * DAY_MS;
            stored += store_session(&store, &mut numbers, number, at_ms).await;
        }
        now_ms += 7 * DAY_MS;
        if with_retention {
            removed += pass(&store, now_ms, &mut steps).await;
        }
    }
    if with_retention {
        // Once more with the file made smaller, as the daemon does it.
        let pace = moai_host::memory::retention::RetentionPace {
            quiet: Duration::ZERO,
            step: Duration::ZERO,
        };
        store.retain(PROJECT_BYTES_MAX, now_ms, pace).await.expect("done");
    }
    let counts = store
        .read(|database| database.counts(&ObservationFilter::default()))
        .await
        .expect("counted");
    // Closing the database empties its log.
    drop(store);
    tokio::time::sleep(Duration::from_millis(500)).await;
    store = MemoryStore::start(home.path().to_path_buf());
    let disk = disk_mb(&store);
    let connection = rusqlite::Connection::open(store.path()).expect("it exists");
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u64>(0));
    let index = number("SELECT sum(length(block)) FROM entries_data").expect("a number");
    let free = number("PRAGMA freelist_count").expect("a number") * 4_096;
    let rows: u64 = counts.by_kind.iter().map(|(_, rows)| rows).sum();
    let name = if with_retention { "with retention" } else { "without" };
    writeln!(
        report,
        "{name}: {stored} observations of {sessions} sessions, {rows} rows, {removed} folded or \
         dropped; {disk:.1} MB on disk, {:.1} of them index and {:.1} free; text of the largest project {:.1} MB",
        mb(index),
        mb(free),
        mb(counts.largest_project_bytes)
    )
    .expect("text");
    steps.sort_unstable();
    let longest = steps.last().copied().unwrap_or_default();
    if let Some(median) = steps.get(steps.len() / 2) {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        writeln!(
            report,
            "{} steps, processor time: p50 {:.2} ms, longest {:.2} ms",
            steps.len(),
            ms(*median),
            ms(longest)
        )
        .expect("text");
    }
    (disk, longest)
}

fn main() -> ExitCode {
    let number = env::var("MOAI_RALPH_MEMORY_SESSIONS").ok();
    let sessions = number.and_then(|it| it.parse().ok()).unwrap_or(SESSIONS);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut report = String::new();
    let (disk, longest) = runtime.block_on(async {
        measure(sessions, false, &mut report).await;
        measure(sessions, true, &mut report).await
    });
    let longest = longest.as_secs_f64() * 1e3;
    let is_kept = disk <= DISK_MB_MAX && longest <= STEP_MS_MAX;
    let verdict = if is_kept { "kept" } else { "exceeded" };
    writeln!(report, "budgets ({DISK_MB_MAX} MB, {STEP_MS_MAX} ms for a step): {verdict}")
        .expect("text");
    std::io::stdout().write_all(report.as_bytes()).expect("stdout");
    ExitCode::from(u8::from(!is_kept))
}
