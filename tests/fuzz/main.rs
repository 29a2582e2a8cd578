//! Fuzzing of every parser of foreign input: valid samples, changed at random but reproducibly. No
//! input may cause a panic, take long, or be answered with far more than it holds.

mod configurations;
mod corpus;
mod hook_inputs;
mod language_servers;
mod loop_texts;
mod mutation;
mod pipeline_documents;
mod positions;
mod runner;
mod sources;
