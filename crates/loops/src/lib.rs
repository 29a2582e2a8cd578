//! Decides whether an agent that wants to stop is done. Pure: state, input, evidence and time go in,
//! the next state and a decision come out.

pub mod align;
pub mod arguments;
pub mod charter;
pub mod claims;
pub mod control;
pub mod cooldown;
pub mod criteria;
pub mod exam;
pub mod facts;
pub mod fences;
mod fields;
pub mod framework;
pub mod handoff;
pub mod judge;
pub mod marker;
pub mod named_enum;
pub mod options;
pub mod progress;
mod promise;
pub mod records;
pub mod research;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
#[cfg(test)]
mod simulation;
pub mod start;
pub mod state;
pub mod step;
#[cfg(test)]
mod stop_simulation;
pub mod stop_table;
pub mod wiki;
