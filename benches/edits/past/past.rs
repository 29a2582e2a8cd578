//! Real projects with a past: findings that were there before an agent edited anything. An honest
//! edit must not be blamed for them, and a breaking one must not hide among them.

pub(crate) mod called;
pub(crate) mod drawing;
pub(crate) mod problems;
pub(crate) mod projects;
pub(crate) mod requests;
pub(crate) mod tally;
pub(crate) mod trial;
