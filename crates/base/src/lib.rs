//! Shared data types: text positions, paths, findings, verdicts, limits. Pure data and arithmetic,
//! without files, processes or clocks.

pub mod baseline;
pub mod change;
pub mod delta;
pub mod evidence;
pub mod failure_lines;
pub mod finding;
pub mod foreign_text;
pub mod hash;
pub mod jsonc;
pub mod limits;
pub mod lines;
pub mod path;
pub mod protected;
pub mod redaction;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
pub mod sensitive;
pub mod store_condition;
pub mod text;
pub mod time_units;
pub mod toml_value;
pub mod tree;
pub mod verdict;
