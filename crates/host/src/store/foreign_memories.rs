//! Reads the databases of other memories, so that they can be imported: claude-mem (schema up to its
//! migration 35) and ralph-mem (schema 1). Their columns were renamed and added over time: a missing text is
//! empty, and an unreadable table is reported and skipped.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use super::StoreError;
use moai_base::limits::FOREIGN_TITLE_CHARS_MAX;

/// The first bytes of every SQLite database.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// One row of another memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignObservation {
    /// Unique over all imports: `claude-mem:observation:17`.
    pub id: String,
    /// Name of the project, or its folder.
    pub project: String,
    /// Id of the host's session; may be empty.
    pub session: String,
    /// Its type, as the other memory calls it.
    pub kind: String,
    /// When it was written, in milliseconds since 1970.
    pub at_ms: i64,
    pub title: String,
    /// Everything else; may be empty.
    pub body: String,
    /// Files it is about.
    pub files: Vec<String>,
}

/// A table of another memory that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedTable {
    pub table: &'static str,
    /// What it lacks, or why it cannot be read.
    pub reason: String,
}

/// Calls `visit` for every row of the database of another memory, which is only read. Returns the tables that
/// were skipped, some rows of which may have been visited.
///
/// # Errors
///
/// The file is not a database of a known memory, or it cannot be read.
pub fn read_foreign_memory(
    path: &Path,
    visit: &mut dyn FnMut(ForeignObservation),
) -> Result<Vec<SkippedTable>, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let columns = |table: &str| columns_of(&connection, table);
    let sessions = columns("sessions")?;
    if !columns("sdk_sessions")?.is_empty() {
        Ok(read_tables(&connection, "claude-mem", &CLAUDE_MEM, visit))
    } else if sessions.iter().any(|name| name == "project_path") {
        Ok(read_tables(&connection, "ralph-mem", &RALPH_MEM, visit))
    } else {
        Err(StoreError::Unavailable(format!(
            "{} is not a database of claude-mem or ralph-mem",
            path.display()
        )))
    }
}

/// True if a file is an SQLite database, by its first bytes.
#[must_use]
pub fn is_database(path: &Path) -> bool {
    let mut magic = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && &magic == MAGIC
}

fn columns_of(connection: &Connection, table: &str) -> Result<Vec<String>, StoreError> {
    let mut select = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = select.query_map([table], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// One table of another memory, as a query whose columns have the names of [`ForeignObservation`].
struct ForeignTable {
    /// Part of the ids.
    name: &'static str,
    table: &'static str,
    /// The table with its project, if it has no project column.
    parent: Option<ParentTable>,
    project: &'static [&'static str],
    session: &'static [&'static str],
    /// A column, or a string literal in quotes.
    kind: &'static str,
    /// Milliseconds or seconds since 1970.
    epoch: &'static str,
    /// A time as text, for older rows.
    time: &'static str,
    title: &'static [&'static str],
    /// Columns that are joined, each after its heading.
    body: &'static [BodyColumn],
    files: &'static [&'static str],
}

/// A table of sessions, to which rows of another table belong.
struct ParentTable {
    table: &'static str,
    /// Columns of both tables with the same value, the newest column names first.
    keys: &'static [ParentKey],
}

struct ParentKey {
    own: &'static str,
    parents: &'static str,
}

struct BodyColumn {
    heading: &'static str,
    column: &'static str,
}

const fn part(heading: &'static str, column: &'static str) -> BodyColumn {
    BodyColumn { heading, column }
}

const CLAUDE_MEM: [ForeignTable; 3] = [
    ForeignTable {
        name: "observation",
        table: "observations",
        parent: None,
        project: &["observations.project"],
        session: &["observations.memory_session_id", "observations.sdk_session_id"],
        kind: "observations.type",
        epoch: "observations.created_at_epoch",
        time: "observations.created_at",
        title: &["observations.title"],
        body: &[
            part("", "observations.subtitle"),
            part("", "observations.narrative"),
            part("", "observations.text"),
            part("", "observations.facts"),
        ],
        files: &["observations.files_modified", "observations.files_read"],
    },
    ForeignTable {
        name: "summary",
        table: "session_summaries",
        parent: None,
        project: &["session_summaries.project"],
        session: &["session_summaries.memory_session_id", "session_summaries.sdk_session_id"],
        kind: "'digest'",
        epoch: "session_summaries.created_at_epoch",
        time: "session_summaries.created_at",
        title: &["session_summaries.request"],
        body: &[
            part("Investigated: ", "session_summaries.investigated"),
            part("Learned: ", "session_summaries.learned"),
            part("Completed: ", "session_summaries.completed"),
            part("Next: ", "session_summaries.next_steps"),
            part("", "session_summaries.notes"),
        ],
        files: &["session_summaries.files_edited"],
    },
    ForeignTable {
        name: "prompt",
        table: "user_prompts",
        parent: Some(ParentTable {
            table: "sdk_sessions",
            keys: &[
                ParentKey {
                    own: "user_prompts.content_session_id",
                    parents: "sdk_sessions.content_session_id",
                },
                ParentKey {
                    own: "user_prompts.claude_session_id",
                    parents: "sdk_sessions.claude_session_id",
                },
                ParentKey {
                    own: "user_prompts.content_session_id",
                    parents: "sdk_sessions.claude_session_id",
                },
                ParentKey {
                    own: "user_prompts.sdk_session_id",
                    parents: "sdk_sessions.sdk_session_id",
                },
            ],
        }),
        project: &["sdk_sessions.project"],
        session: &[
            "user_prompts.content_session_id",
            "user_prompts.claude_session_id",
            "user_prompts.sdk_session_id",
        ],
        kind: "'prompt'",
        epoch: "user_prompts.created_at_epoch",
        time: "user_prompts.created_at",
        title: &[],
        body: &[part("", "user_prompts.prompt_text")],
        files: &[],
    },
];

const RALPH_MEM_SESSIONS_OF_OBSERVATIONS: ParentTable = ParentTable {
    table: "sessions",
    keys: &[ParentKey { own: "observations.session_id", parents: "sessions.id" }],
};

const RALPH_MEM_SESSIONS_OF_LOOPS: ParentTable = ParentTable {
    table: "sessions",
    keys: &[ParentKey { own: "loop_runs.session_id", parents: "sessions.id" }],
};

const RALPH_MEM: [ForeignTable; 3] = [
    ForeignTable {
        name: "observation",
        table: "observations",
        parent: Some(RALPH_MEM_SESSIONS_OF_OBSERVATIONS),
        project: &["sessions.project_path"],
        session: &["observations.session_id"],
        kind: "observations.type",
        epoch: "",
        time: "observations.created_at",
        title: &[],
        body: &[part("", "observations.content"), part("Tool: ", "observations.tool_name")],
        files: &[],
    },
    ForeignTable {
        name: "session",
        table: "sessions",
        parent: None,
        project: &["sessions.project_path"],
        session: &["sessions.id"],
        kind: "'digest'",
        epoch: "",
        time: "sessions.started_at",
        title: &[],
        body: &[part("", "sessions.summary")],
        files: &[],
    },
    ForeignTable {
        name: "loop",
        table: "loop_runs",
        parent: Some(RALPH_MEM_SESSIONS_OF_LOOPS),
        project: &["sessions.project_path"],
        session: &["loop_runs.session_id"],
        kind: "'verdict'",
        epoch: "",
        time: "loop_runs.started_at",
        title: &["loop_runs.task", "loop_runs.goal"],
        body: &[part("Loop: ", "loop_runs.status"), part("Criteria: ", "loop_runs.criteria")],
        files: &[],
    },
];

fn read_tables(
    connection: &Connection,
    memory: &str,
    tables: &[ForeignTable],
    visit: &mut dyn FnMut(ForeignObservation),
) -> Vec<SkippedTable> {
    let read = |table: &ForeignTable, visit: &mut dyn FnMut(ForeignObservation)| {
        let select = match foreign_select(connection, table)? {
            ForeignSelect::NoTable => return Ok(None),
            ForeignSelect::Lacking(what) => return Ok(Some(format!("it has no {what}"))),
            ForeignSelect::Sql(sql) => sql,
        };
        read_table(connection, memory, table, &select, visit).map(|()| None)
    };
    let mut skipped = Vec::new();
    for table in tables {
        let reason = read(table, visit).unwrap_or_else(|error: StoreError| Some(error.to_string()));
        skipped.extend(reason.map(|reason| SkippedTable { table: table.table, reason }));
    }
    skipped
}

/// Query for one table.
enum ForeignSelect {
    /// The database has no table of this name.
    NoTable,
    /// Columns without which its rows mean nothing.
    Lacking(String),
    /// A query for the columns of [`observation`].
    Sql(String),
}

fn foreign_select(
    connection: &Connection,
    table: &ForeignTable,
) -> Result<ForeignSelect, StoreError> {
    let main = table.table;
    let mut known = qualified_columns(connection, main)?;
    if known.is_empty() {
        return Ok(ForeignSelect::NoTable);
    }
    let mut from = main.to_owned();
    if let Some(parent) = &table.parent {
        known.extend(qualified_columns(connection, parent.table)?);
        let has = |name: &str| known.iter().any(|column| column == name);
        let Some(key) = parent.keys.iter().find(|key| has(key.own) && has(key.parents)) else {
            return Ok(ForeignSelect::Lacking(format!("column that leads to {}", parent.table)));
        };
        from = format!("{main} JOIN {} ON {} = {}", parent.table, key.parents, key.own);
    }
    let existing = |name: &str| known.iter().any(|column| column == name);
    let texts: Vec<&str> =
        table.title.iter().copied().chain(table.body.iter().map(|part| part.column)).collect();
    if !texts.iter().any(|name| existing(name)) {
        let names = texts.iter().map(|name| name.rsplit('.').next().unwrap_or(name));
        return Ok(ForeignSelect::Lacking(names.collect::<Vec<_>>().join(", ")));
    }
    let text_of = |names: &[&str]| first_text(names, &existing);
    let column_or = |name: &'static str, other: &'static str| {
        if name.starts_with('\'') || existing(name) { name } else { other }
    };
    let number = if existing(&format!("{main}.id")) { "id" } else { "rowid" };
    let mut columns = vec![
        format!("CAST({main}.{number} AS TEXT)"),
        text_of(table.project),
        text_of(table.session),
        format!("CAST({} AS TEXT)", column_or(table.kind, "''")),
        format!(
            "COALESCE(CAST({} AS INTEGER), CAST(strftime('%s', {}) AS INTEGER))",
            column_or(table.epoch, "NULL"),
            column_or(table.time, "NULL")
        ),
        text_of(table.title),
        text_of(table.files),
    ];
    columns.extend(table.body.iter().map(|part| text_of(&[part.column])));
    Ok(ForeignSelect::Sql(format!(
        "SELECT {} FROM {from} ORDER BY {main}.rowid",
        columns.join(", ")
    )))
}

/// The columns of a table as `table.column`; none if it does not exist.
fn qualified_columns(connection: &Connection, table: &str) -> Result<Vec<String>, StoreError> {
    let columns = columns_of(connection, table)?;
    Ok(columns.into_iter().map(|column| format!("{table}.{column}")).collect())
}

fn read_table(
    connection: &Connection,
    memory: &str,
    table: &ForeignTable,
    sql: &str,
    visit: &mut dyn FnMut(ForeignObservation),
) -> Result<(), StoreError> {
    let mut select = connection.prepare(sql)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(observation) = observation(row, memory, table)? {
            visit(observation);
        }
    }
    Ok(())
}

/// The first of these columns that exists and holds something.
fn first_text(names: &[&str], existing: &dyn Fn(&str) -> bool) -> String {
    let columns = names.iter().filter(|name| existing(name));
    let columns: Vec<String> =
        columns.map(|name| format!("NULLIF(CAST({name} AS TEXT), '')")).collect();
    format!(
        "COALESCE({}, '', '')",
        if columns.is_empty() { "NULL".to_owned() } else { columns.join(", ") }
    )
}

/// `None` for a row without text.
fn observation(
    row: &Row<'_>,
    memory: &str,
    table: &ForeignTable,
) -> Result<Option<ForeignObservation>, StoreError> {
    const BODY_COLUMN: usize = 7;
    let mut parts = Vec::new();
    for (at, part) in table.body.iter().enumerate() {
        let text = text_at(row, BODY_COLUMN + at)?;
        if !text.trim().is_empty() {
            parts.push(format!("{}{}", part.heading, list_or_text(&text).join("\n")));
        }
    }
    let mut body = parts.join("\n");
    let mut title = first_line(&text_at(row, 5)?);
    if title.is_empty() {
        title = first_line(&body);
        if body.trim() == title {
            body.clear();
        }
    }
    if title.is_empty() {
        return Ok(None);
    }
    let id = text_at(row, 0)?;
    let at: Option<i64> = row.get(4)?;
    let files = text_at(row, 6)?;
    Ok(Some(ForeignObservation {
        id: format!("{memory}:{}:{id}", table.name),
        project: text_at(row, 1)?,
        session: text_at(row, 2)?,
        kind: text_at(row, 3)?,
        at_ms: milliseconds(at.unwrap_or_default()),
        title,
        body,
        files: if files.is_empty() { Vec::new() } else { list_or_text(&files) },
    }))
}

/// A text, whatever bytes it has; empty for NULL.
fn text_at(row: &Row<'_>, column: usize) -> Result<String, StoreError> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(_) | ValueRef::Null => String::new(),
    })
}

/// Seconds since 1970 have at most eleven digits for the next thousand years.
fn milliseconds(epoch: i64) -> i64 {
    if epoch.unsigned_abs() < 100_000_000_000 { epoch * 1_000 } else { epoch }
}

/// The strings of a JSON list, or the text itself.
fn list_or_text(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_else(|_| vec![text.to_owned()])
}

fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(FOREIGN_TITLE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(sql: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let connection = Connection::open(file.path()).expect("a new database");
        connection.execute_batch(sql).expect("valid statements");
        file
    }

    fn read(file: &tempfile::NamedTempFile) -> Vec<ForeignObservation> {
        let mut found = Vec::new();
        let skipped = read_foreign_memory(file.path(), &mut |it| found.push(it));
        assert_eq!(skipped.expect("a known memory"), []);
        found
    }

    #[test]
    fn observations_summaries_and_prompts_of_claude_mem_are_read() {
        let file = database(
            "CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT);
            CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT,
                title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, files_read TEXT, files_modified TEXT,
                created_at TEXT, created_at_epoch INTEGER);
            CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT,
                learned TEXT, created_at TEXT, created_at_epoch INTEGER);
            CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_text TEXT,
                created_at TEXT, created_at_epoch INTEGER);
            INSERT INTO sdk_sessions VALUES (1, 'host-1', 'mem-1', 'shop');
            INSERT INTO observations VALUES (17, 'mem-1', 'shop', NULL, 'bugfix', '토큰 만료를 고쳤다', '',
                '[\"refresh runs once\", \"clock skew 30 s\"]', 'The guard compared seconds with milliseconds.',
                NULL, '[\"src/auth.ts\"]', '2026-03-01T10:00:00Z', 1772359200000);
            INSERT INTO observations VALUES (18, 'mem-1', 'shop', NULL, 'change', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
            INSERT INTO session_summaries VALUES (3, 'mem-1', 'shop', 'Fix the login', 'Tokens are cached', '2026-03-01 10:00:00', NULL);
            INSERT INTO user_prompts VALUES (5, 'host-1', 'why does it log out?', NULL, 1772359200);",
        );
        let found = read(&file);
        assert_eq!(found.len(), 3, "{found:#?}");
        assert_eq!(
            found[0],
            ForeignObservation {
                id: "claude-mem:observation:17".to_owned(),
                project: "shop".to_owned(),
                session: "mem-1".to_owned(),
                kind: "bugfix".to_owned(),
                at_ms: 1_772_359_200_000,
                title: "토큰 만료를 고쳤다".to_owned(),
                body: "The guard compared seconds with milliseconds.\nrefresh runs once\nclock skew 30 s"
                    .to_owned(),
                files: vec!["src/auth.ts".to_owned()],
            }
        );
        assert_eq!((found[1].kind.as_str(), found[1].at_ms), ("digest", 1_772_359_200_000));
        assert_eq!(found[1].body, "Learned: Tokens are cached");
        assert_eq!((found[2].title.as_str(), found[2].body.as_str()), ("why does it log out?", ""));
        assert_eq!((found[2].project.as_str(), found[2].at_ms), ("shop", 1_772_359_200_000));
    }

    #[test]
    fn observations_sessions_and_loops_of_ralph_mem_are_read() {
        let file = database(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, project_path TEXT, started_at TEXT, summary TEXT);
            CREATE TABLE observations (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, tool_name TEXT, content TEXT, created_at TEXT);
            CREATE TABLE loop_runs (id TEXT PRIMARY KEY, session_id TEXT, task TEXT, criteria TEXT, status TEXT, started_at TEXT);
            INSERT INTO sessions VALUES ('s1', '/projects/shop', '2026-03-01 10:00:00', NULL);
            INSERT INTO observations VALUES ('o1', 's1', 'error', 'Bash', 'npm test\nfailed: 3', '2026-03-01 10:00:01');
            INSERT INTO loop_runs VALUES ('l1', 's1', 'add JWT', '[]', 'success', '2026-03-01 11:00:00');",
        );
        let found = read(&file);
        assert_eq!(found.len(), 2, "{found:#?}");
        assert_eq!((found[0].title.as_str(), found[0].kind.as_str()), ("npm test", "error"));
        assert_eq!(found[0].body, "npm test\nfailed: 3\nTool: Bash");
        assert_eq!(found[0].at_ms, 1_772_359_201_000);
        assert_eq!(
            (found[1].title.as_str(), found[1].project.as_str()),
            ("add JWT", "/projects/shop")
        );
    }

    #[test]
    fn older_names_of_columns_are_read_and_a_table_without_what_it_needs_is_skipped() {
        let file = database(
            "CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, claude_session_id TEXT, sdk_session_id TEXT, project TEXT);
            CREATE TABLE observations (id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, text TEXT, type TEXT,
                created_at TEXT);
            CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, claude_session_id TEXT, prompt_text TEXT, created_at TEXT);
            CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, sdk_session_id TEXT, created_at TEXT);
            INSERT INTO sdk_sessions VALUES (1, 'host-1', 'mem-1', 'shop');
            INSERT INTO observations VALUES (17, 'mem-1', 'shop', CAST(x'746f6b656e20ff' AS TEXT), 'bugfix', '2026-03-01 10:00:00');
            INSERT INTO user_prompts VALUES (5, 'host-1', 'why does it log out?', '2026-03-01 10:00:00');
            INSERT INTO session_summaries VALUES (1, 'mem-1', NULL);",
        );
        let mut found = Vec::new();
        let skipped = read_foreign_memory(file.path(), &mut |it| found.push(it));
        let reason =
            "it has no request, investigated, learned, completed, next_steps, notes".to_owned();
        assert_eq!(skipped, Ok(vec![SkippedTable { table: "session_summaries", reason }]));
        let titles: Vec<&str> = found.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(titles, ["token \u{fffd}", "why does it log out?"]);
        assert_eq!((found[0].session.as_str(), found[1].session.as_str()), ("mem-1", "host-1"));
        assert_eq!(found[1].project, "shop");
    }

    #[test]
    fn prompts_that_lead_to_no_session_are_named() {
        let file = database(
            "CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, project TEXT);
            CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, prompt_text TEXT);
            INSERT INTO user_prompts VALUES (5, 'why?');",
        );
        let mut none = |_: ForeignObservation| panic!("nothing can be read");
        let skipped = read_foreign_memory(file.path(), &mut none).expect("a known memory");
        assert_eq!(skipped.len(), 1, "{skipped:?}");
        assert_eq!(skipped[0].reason, "it has no column that leads to sdk_sessions");
    }

    #[test]
    fn another_database_or_file_is_refused() {
        let other = database("CREATE TABLE notes (id INTEGER);");
        let mut none = |_: ForeignObservation| panic!("nothing can be read");
        let refused = read_foreign_memory(other.path(), &mut none).expect_err("unknown");
        assert!(refused.to_string().contains("claude-mem or ralph-mem"), "{refused}");
        let text = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(text.path(), "{\"id\": 1}".repeat(200)).expect("it can be written");
        assert!(read_foreign_memory(text.path(), &mut none).is_err());
        assert!(read_foreign_memory(Path::new("/nowhere/mem.db"), &mut none).is_err());
    }
}
