//! The condition of a database.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreCondition {
    /// No database exists yet.
    Absent,
    /// It is missing, but there are backups of it.
    Missing,
    /// It was checked and can be used.
    Sound,
    /// It is sound, but nothing can be written there.
    ReadOnly,
    /// It is damaged; the reason.
    Damaged(String),
    /// Its schema is from a newer program.
    Newer,
    /// It cannot be read; the reason.
    Unreadable(String),
}
