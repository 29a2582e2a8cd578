//! `doctor`'s findings about the daemon, the databases and the memory of a team.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::{count_noun, sanitized_line, sanitized_name};
use moai_base::store_condition::StoreCondition;
use moai_protocol::documents::servers::{DaemonHealthEntry, StoreHealthEntry, TeamMemoryEntry};

/// A database that was examined.
#[derive(Clone, Debug)]
pub struct ExaminedStore {
    pub content: StoreContent,
    pub path: PathBuf,
    pub condition: StoreCondition,
    /// Bytes of the file and its log.
    pub bytes: u64,
    /// Its observations or loops, if they could be counted.
    pub rows: Option<u64>,
    /// Its schema, if it could be read.
    pub schema: Option<usize>,
    /// The newest schema that this program knows.
    pub schema_known: usize,
    /// When its newest backup was made, in milliseconds since 1970.
    pub backup_ms: Option<u64>,
    /// Observations that wait until they can be stored.
    pub waiting: u64,
    /// Databases that were damaged and moved aside.
    pub damaged_copies: Vec<PathBuf>,
}

/// Content of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreContent {
    /// The memory of all projects.
    Memory,
    /// The loops of one project.
    Loops,
}

impl StoreContent {
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Loops => "loops",
        }
    }
}

impl ExaminedStore {
    /// True if a person has to do something, or will lose something.
    #[must_use]
    pub fn needs_attention(&self) -> bool {
        !matches!(self.condition, StoreCondition::Absent | StoreCondition::Sound)
    }

    /// Its entry in the document; `now_ms` is the time of the check.
    #[must_use]
    pub fn entry(&self, now_ms: i64) -> StoreHealthEntry {
        let (state, reason) = match &self.condition {
            StoreCondition::Absent => ("none", None),
            StoreCondition::Missing => ("missing", Some("the file is missing".to_owned())),
            StoreCondition::Sound => ("ok", None),
            StoreCondition::ReadOnly => {
                ("locked", Some("nothing can be written there, so nothing new is kept".to_owned()))
            }
            StoreCondition::Damaged(reason) => ("damaged", Some(sanitized_line(reason))),
            StoreCondition::Newer => ("newer", Some("a newer program made its schema".to_owned())),
            StoreCondition::Unreadable(reason) => ("unreadable", Some(sanitized_line(reason))),
        };
        let is_checked = matches!(
            self.condition,
            StoreCondition::Sound
                | StoreCondition::ReadOnly
                | StoreCondition::Damaged(_)
                | StoreCondition::Newer
        );
        StoreHealthEntry {
            name: self.content.name(),
            path: self.path.clone(),
            state,
            reason,
            remedy: self.remedy(),
            bytes: self.bytes,
            rows: self.rows,
            schema: self.schema,
            schema_known: self.schema_known,
            checked_at: is_checked.then(|| moment(now_ms)).flatten(),
            backup_at: self.backup_ms.and_then(|at| moment(i64::try_from(at).ok()?)),
            waiting: (self.content == StoreContent::Memory).then_some(self.waiting),
            damaged_copies: self.damaged_copies.clone(),
        }
    }

    fn remedy(&self) -> Option<String> {
        let use_it = match self.content {
            StoreContent::Memory => "moai-ralph memory status",
            StoreContent::Loops => "moai-ralph loop status",
        };
        Some(match (&self.condition, self.backup_ms) {
            (StoreCondition::Missing | StoreCondition::Damaged(_), Some(_)) => {
                format!("its next use replaces it by the newest sound backup: {use_it}")
            }
            (StoreCondition::Missing | StoreCondition::Damaged(_), None) => {
                format!(
                    "there is no backup: its next use moves it aside and starts empty: {use_it}"
                )
            }
            (StoreCondition::Newer, _) => {
                "update moai-ralph, then: moai-ralph daemon stop".to_owned()
            }
            (StoreCondition::ReadOnly, _) => {
                let folder = self.path.parent().unwrap_or(&self.path).to_string_lossy();
                format!("chmod -R u+rwX {}", sanitized_name(&folder))
            }
            (StoreCondition::Unreadable(_), _) => {
                format!(
                    "make it readable for you: chmod u+rw {}",
                    sanitized_name(&self.shown_path())
                )
            }
            (StoreCondition::Absent | StoreCondition::Sound, _) => return None,
        })
    }

    fn shown_path(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

/// RFC 3339 in seconds.
fn moment(at_ms: i64) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(at_ms).ok()?;
    Some(at.strftime("%FT%TZ").to_string())
}

/// Daemon, databases and the memory of a team, a line each.
#[must_use]
pub fn health_text(
    daemon: &DaemonHealthEntry,
    stores: &[StoreHealthEntry],
    team: Option<&TeamMemoryEntry>,
) -> String {
    let DaemonHealthEntry { pid, version, uptime_secs, socket, log } = daemon;
    let (socket, log) = (socket.to_string_lossy(), log.to_string_lossy());
    let mut text = format!(
        "ok       daemon {version}: pid {pid}, up {uptime_secs} s, socket {}, log {}\n",
        sanitized_name(&socket),
        sanitized_name(&log)
    );
    for store in stores {
        text += &store_text(store);
    }
    if let Some(team) = team {
        let place = sanitized_line(&team.place);
        let _ = match &team.reason {
            None => writeln!(text, "ok       memory of the team: {place}"),
            Some(reason) => {
                writeln!(text, "lost     memory of the team: {place} ({})", sanitized_line(reason))
            }
        };
    }
    text
}

fn store_text(store: &StoreHealthEntry) -> String {
    let path = store.path.to_string_lossy();
    let mut text = format!("{:<8} {}: {}", store.state, store.name, sanitized_name(&path));
    if store.state != "none" {
        let _ = write!(text, ", {} KiB", store.bytes.div_ceil(1024));
    }
    if let Some(rows) = store.rows {
        let noun = if store.name == "memory" { "observation" } else { "loop" };
        let _ = write!(text, ", {}", count_noun(usize::try_from(rows).unwrap_or(usize::MAX), noun));
    }
    if let Some(schema) = store.schema {
        let _ = write!(text, ", schema {schema}");
        if schema > store.schema_known {
            let _ = write!(text, " (this program knows {})", store.schema_known);
        }
    }
    if store.state == "ok" {
        text += ", checked now";
    }
    if let Some(at) = &store.backup_at {
        let _ = write!(text, ", last backup {at}");
    }
    text.push('\n');
    if let Some(reason) = &store.reason {
        let _ = writeln!(text, "         {reason}");
    }
    if let Some(remedy) = &store.remedy {
        let _ = writeln!(text, "         {remedy}");
    }
    if let Some(waiting) = store.waiting.filter(|waiting| *waiting > 0) {
        let waiting = count_noun(usize::try_from(waiting).unwrap_or(usize::MAX), "observation");
        let _ = writeln!(text, "         waiting to be stored: {waiting}");
    }
    for copy in &store.damaged_copies {
        let copy = copy.to_string_lossy();
        let _ = writeln!(text, "         damaged copy: {}", sanitized_name(&copy));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(condition: StoreCondition, backup_ms: Option<u64>) -> ExaminedStore {
        ExaminedStore {
            content: StoreContent::Memory,
            path: PathBuf::from("/s/memory.db"),
            condition,
            bytes: 5_000,
            rows: Some(2),
            schema: Some(99),
            schema_known: 3,
            backup_ms,
            waiting: 1,
            damaged_copies: vec![PathBuf::from("/s/memory.db.corrupt-1")],
        }
    }

    #[test]
    fn what_is_wrong_with_a_database_has_a_remedy() {
        let damaged = store(StoreCondition::Damaged("page 3".to_owned()), Some(0));
        assert!(damaged.needs_attention());
        assert_eq!(
            store_text(&damaged.entry(86_400_000)),
            "damaged  memory: /s/memory.db, 5 KiB, 2 observations, schema 99 (this program knows 3), \
             last backup 1970-01-01T00:00:00Z\n         page 3\n         its next use replaces it by the \
             newest sound backup: moai-ralph memory status\n         waiting to be stored: 1 observation\n\
             \x20        damaged copy: /s/memory.db.corrupt-1\n"
        );
        for condition in [
            StoreCondition::Missing,
            StoreCondition::Newer,
            StoreCondition::ReadOnly,
            StoreCondition::Unreadable("no".to_owned()),
        ] {
            let entry = store(condition, None).entry(0);
            assert!(entry.reason.is_some() && entry.remedy.is_some(), "{entry:?}");
        }
        for condition in [StoreCondition::Absent, StoreCondition::Sound] {
            let sound = store(condition, None);
            assert!(!sound.needs_attention() && sound.entry(0).remedy.is_none());
        }
    }
}
