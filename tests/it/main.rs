//! Fast integration tests: the real executable and a scripted language server, both as processes.

mod fake_server;
mod payload_files;
mod plugin;
mod sandbox;
mod support;
mod tidy;
