//! Units of time in milliseconds.

/// Milliseconds in a minute.
pub const MS_PER_MINUTE: i64 = 60_000;
/// Milliseconds in an hour.
pub const MS_PER_HOUR: i64 = 60 * MS_PER_MINUTE;
/// Milliseconds in a day of 24 hours.
pub const MS_PER_DAY: i64 = 24 * MS_PER_HOUR;
