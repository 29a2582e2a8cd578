//! The condition of a database, as a look at it finds it.

/// What a database is fit for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreCondition {
    /// There is none yet.
    Absent,
    /// It is missing, but there are backups of it.
    Missing,
    /// It was checked and can be used.
    Sound,
    /// It is sound, but nothing can be written there.
    ReadOnly,
    /// It is damaged; the reason.
    Damaged(String),
    /// A newer program made its schema.
    Newer,
    /// It cannot be read; the reason.
    Unreadable(String),
}
