//! The loop: whether an agent that wants to stop is done. Pure: state, input, evidence and time
//! go in, the next state and a decision come out. It must not know files, processes or wording.

pub mod arguments;
pub mod criteria;
pub mod exam;
pub mod promise;
pub mod start;
pub mod state;
pub mod step;
