//! Bounds of the program's own threads.

/// Stack of each thread of the async runtime, in bytes. Memory is used only as far as the stack grows; one that
/// overflows ends the whole daemon.
pub const RUNTIME_STACK_BYTES: usize = 8 * 1024 * 1024;
