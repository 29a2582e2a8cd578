//! The house, held by a test: which module may know which, and what no file may contain.
//! The tables here are the living copy of the layers in `ARCHITECTURE.md`.

mod agent_files;
mod comments;
mod cycles;
mod manifests;
mod plugin_files;
mod sources;
mod text;
