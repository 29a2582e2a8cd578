//! A filter as a condition of SQL, with its values apart from its text.

use moai_memory::database::ObservationFilter;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _};

use crate::store::StoreError;

/// A condition on `observations AS o`.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// Joined by `AND`; never empty.
    pub(super) sql: String,
    /// For the `?` in it.
    pub(super) values: Vec<Value>,
    /// Numbers of the projects; `None` if all are meant.
    pub(super) projects: Option<Vec<i64>>,
    /// True if it depends only on projects and kinds, which the index has.
    pub(super) is_in_index: bool,
}

impl Conditions {
    pub(super) fn from_filter(
        connection: &Connection,
        filter: &ObservationFilter,
    ) -> Result<Self, StoreError> {
        let projects = known_projects(connection, filter)?;
        let mut conditions = Self {
            sql: "TRUE".to_owned(),
            projects,
            is_in_index: filter.session.is_none()
                && filter.worktree.is_none()
                && filter.since_ms.is_none()
                && filter.until_ms.is_none()
                && filter.path.is_none()
                && filter.code.is_none(),
            ..Self::default()
        };
        if let Some(projects) = conditions.projects.clone() {
            conditions.require_one_of("o.project", projects.into_iter().map(Value::from));
        }
        if !filter.kinds.is_empty() {
            let names = filter.kinds.iter().map(|kind| Value::from(kind.name().to_owned()));
            conditions.require_one_of("o.kind", names);
        }
        if let Some(session) = &filter.session {
            let sql = "o.session IN (SELECT id FROM sessions WHERE host_id = ?)";
            conditions.require(sql, [Value::from(session.clone())]);
        }
        if let Some(worktree) = &filter.worktree {
            // The column has this name from a time when nothing was in it.
            let sql = "o.session IN (SELECT id FROM sessions WHERE branch = ?)";
            conditions.require(sql, [Value::from(worktree.clone())]);
        }
        if let Some(since_ms) = filter.since_ms {
            conditions.require("o.at_ms >= ?", [Value::from(since_ms)]);
        }
        if let Some(until_ms) = filter.until_ms {
            conditions.require("o.at_ms <= ?", [Value::from(until_ms)]);
        }
        if let Some(path) = &filter.path {
            conditions.require_path(path);
        }
        if let Some(code) = &filter.code {
            let sql = "o.id IN (SELECT observation FROM codes WHERE code = ?)";
            conditions.require(sql, [Value::from(code.clone())]);
        }
        Ok(conditions)
    }

    fn require(&mut self, sql: &str, values: impl IntoIterator<Item = Value>) {
        self.sql += " AND ";
        self.sql += sql;
        self.values.extend(values);
    }

    fn require_one_of(&mut self, column: &str, values: impl Iterator<Item = Value>) {
        let values: Vec<Value> = values.collect();
        let marks = vec!["?"; values.len()].join(", ");
        self.require(&format!("{column} IN ({marks})"), values);
    }

    /// A file, or whatever is below a folder: the paths between `folder/` and `folder0`, because `0`
    /// follows `/`.
    fn require_path(&mut self, path: &str) {
        let path = path.trim_end_matches('/');
        let sql = "o.id IN (SELECT observation FROM files WHERE path = ?
                   UNION ALL SELECT observation FROM files WHERE path > ? AND path < ?)";
        let values = [path.to_owned(), format!("{path}/"), format!("{path}0")];
        self.require(sql, values.map(Value::from));
    }
}

fn known_projects(
    connection: &Connection,
    filter: &ObservationFilter,
) -> Result<Option<Vec<i64>>, StoreError> {
    if filter.projects.is_empty() {
        return Ok(None);
    }
    let mut select = connection.prepare_cached("SELECT id FROM projects WHERE key = ?1")?;
    let mut known = Vec::new();
    for key in &filter.projects {
        known.extend(select.query_row([key], |row| row.get::<_, i64>(0)).optional()?);
    }
    Ok(Some(known))
}
