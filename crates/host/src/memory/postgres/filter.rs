//! A filter as the parameters of one condition, which never changes its text.

use moai_memory::database::ObservationFilter;
use moai_memory::ranking::ObservationKind;
use tokio_postgres::types::Type;

use super::connection::Parameter;

/// Rows of `observations AS o` that the role that logged in may see. The policies of the schema say the same,
/// but superusers are exempt from them.
pub(super) const IS_VISIBLE: &str = "(o.author = session_user OR o.visibility = 'team')";

/// The condition on `observations AS o`, except for projects, with [`FilterValues::parameters`].
pub(super) const FULFILS_FILTER: &str = "(o.author = session_user OR o.visibility = 'team')
    AND ($2::text[] IS NULL OR o.kind = ANY ($2))
    AND ($3::text IS NULL OR o.session = $3)
    AND ($4::bigint IS NULL OR o.at_ms >= $4)
    AND ($5::bigint IS NULL OR o.at_ms <= $5)
    AND ($6::text IS NULL OR o.id IN (SELECT n.observation FROM moai_ralph.names AS n
        WHERE n.sort = 'file' AND (n.name = $6 OR n.name > $6 || '/' AND n.name < $6 || '0')))
    AND ($7::text IS NULL OR o.id IN (SELECT n.observation FROM moai_ralph.names AS n
        WHERE n.sort = 'code' AND n.name = lower($7)))
    AND ($8::text IS NULL OR o.session IN (SELECT s.host_id FROM moai_ralph.sessions AS s
        WHERE s.branch = $8 AND s.author = session_user))";

/// The condition on `projects AS p`.
pub(super) const IS_IN_PROJECTS: &str = "($1::text[] IS NULL OR p.key = ANY ($1))";

/// The values of a filter; `None` for conditions that it does not set.
#[derive(Debug)]
pub(super) struct FilterValues {
    projects: Option<Vec<String>>,
    kinds: Option<Vec<&'static str>>,
    session: Option<String>,
    since_ms: Option<i64>,
    until_ms: Option<i64>,
    path: Option<String>,
    code: Option<String>,
    worktree: Option<String>,
}

impl FilterValues {
    pub(super) fn from_filter(filter: &ObservationFilter) -> Self {
        let text = |text: &Option<String>| text.as_deref().map(storable);
        let kinds: Vec<&str> =
            filter.kinds.iter().map(|kind| ObservationKind::name(*kind)).collect();
        let projects: Vec<String> = filter.projects.iter().map(|key| storable(key)).collect();
        Self {
            projects: (!projects.is_empty()).then_some(projects),
            kinds: (!kinds.is_empty()).then_some(kinds),
            session: text(&filter.session),
            since_ms: filter.since_ms,
            until_ms: filter.until_ms,
            path: filter.path.as_deref().map(|path| storable(path.trim_end_matches('/'))),
            code: text(&filter.code),
            worktree: text(&filter.worktree),
        }
    }

    /// True if the projects are the only condition.
    pub(super) fn is_about_projects_only(&self) -> bool {
        self.kinds.is_none()
            && self.session.is_none()
            && self.since_ms.is_none()
            && self.until_ms.is_none()
            && self.path.is_none()
            && self.code.is_none()
            && self.worktree.is_none()
    }

    /// The keys of the projects.
    pub(super) fn projects(&self) -> Parameter<'_> {
        (&self.projects, Type::TEXT_ARRAY)
    }

    /// The parameters 1 to 8.
    pub(super) fn parameters(&self) -> Vec<Parameter<'_>> {
        vec![
            self.projects(),
            (&self.kinds, Type::TEXT_ARRAY),
            (&self.session, Type::TEXT),
            (&self.since_ms, Type::INT8),
            (&self.until_ms, Type::INT8),
            (&self.path, Type::TEXT),
            (&self.code, Type::TEXT),
            (&self.worktree, Type::TEXT),
        ]
    }
}

/// A text that PostgreSQL takes: without zero bytes.
pub(super) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
