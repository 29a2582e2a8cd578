//! Hook events of the host: input, dispatch, output.

pub(crate) mod foreign_event;
pub(crate) mod hook;
pub(crate) mod hook_call;
pub(crate) mod memory_commands;
pub(crate) mod pivot_command;
pub(crate) mod pre_compact;
pub(crate) mod pre_tool_use;
pub(crate) mod session_end;
pub(crate) mod session_start;
pub(crate) mod user_prompt_expansion;
pub(crate) mod user_prompt_submit;
