//! The agents that are calling tools below a root, and the state that shell commands found when they began.
//! It decides whether a change on disk can only come from one command.

use std::collections::BTreeMap;

use crate::ledger::SessionAgent;
use moai_base::limits::TOOL_AGENTS_MAX;
use moai_base::tree::FileTree;

/// A shell command that has begun.
#[derive(Clone, Debug)]
pub(crate) struct BegunCommand {
    /// The files before it.
    pub(crate) before: FileTree,
    /// The commit of HEAD before it.
    pub(crate) head: Option<String>,
    /// When the files were read, in milliseconds since the epoch.
    pub(crate) at_ms: u64,
}

/// The tool calls of one agent.
#[derive(Debug, Default)]
struct AgentCalls {
    /// The last beginning or end of a call, in milliseconds since the epoch.
    last_ms: u64,
    is_running: bool,
    /// True if one of its commands may still run after its call.
    has_background: bool,
    command: Option<BegunCommand>,
}

/// The tool calls below a root; see the module.
#[derive(Debug, Default)]
pub(crate) struct ToolCalls {
    agents: BTreeMap<SessionAgent, AgentCalls>,
    /// True if agents were forgotten, so that unknown agents may be running.
    is_cut: bool,
}

impl ToolCalls {
    /// A call begins; a command that may run on in the background is noted.
    pub(crate) fn begin(&mut self, agent: &SessionAgent, is_background: bool, now_ms: u64) {
        if self.agents.len() >= TOOL_AGENTS_MAX && !self.agents.contains_key(agent) {
            self.agents.clear();
            self.is_cut = true;
        }
        let calls = self.agents.entry(agent.clone()).or_default();
        calls.last_ms = now_ms;
        calls.is_running = true;
        calls.has_background |= is_background;
        calls.command = None;
    }

    /// Keeps the state that a command of the agent found.
    pub(crate) fn keep(&mut self, agent: &SessionAgent, command: BegunCommand) {
        self.agents.entry(agent.clone()).or_default().command = Some(command);
    }

    /// Ends a call; returns the state that its command had found, if known.
    pub(crate) fn end(&mut self, agent: &SessionAgent, now_ms: u64) -> Option<BegunCommand> {
        let calls = self.agents.entry(agent.clone()).or_default();
        calls.last_ms = now_ms;
        calls.is_running = false;
        calls.command.take()
    }

    /// True if another agent may have written files at this time (milliseconds since the epoch) or later.
    pub(crate) fn has_other(&self, agent: &SessionAgent, since_ms: u64) -> bool {
        let mut others = self.agents.iter().filter(|(other, _)| *other != agent);
        let is_at_work =
            |it: &AgentCalls| it.is_running || it.has_background || it.last_ms >= since_ms;
        self.is_cut || others.any(|(_, calls)| is_at_work(calls))
    }

    /// The agent has ended, or the user has interrupted it: its open calls are closed.
    pub(crate) fn interrupt(&mut self, agent: &SessionAgent) {
        if let Some(calls) = self.agents.get_mut(agent) {
            calls.is_running = false;
            calls.command = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(subagent: Option<&str>) -> SessionAgent {
        SessionAgent { session: "s".to_owned(), agent: subagent.map(str::to_owned) }
    }

    #[test]
    fn an_agent_is_alone_unless_another_calls_tools_meanwhile() {
        let (main, worker) = (agent(None), agent(Some("a1")));
        let mut calls = ToolCalls::default();
        calls.begin(&main, false, 10);
        assert!(!calls.has_other(&main, 10));
        calls.begin(&worker, false, 11);
        assert!(calls.has_other(&main, 20), "its call has not ended");
        calls.end(&worker, 15);
        assert!(calls.has_other(&main, 15) && !calls.has_other(&main, 16));
        calls.begin(&worker, false, 17);
        calls.interrupt(&worker);
        assert!(!calls.has_other(&main, 18));
        calls.begin(&worker, true, 18);
        calls.end(&worker, 19);
        assert!(calls.has_other(&main, 90), "its command may still run");
    }

    #[test]
    fn beyond_the_bound_nobody_is_known_to_be_alone() {
        let mut calls = ToolCalls::default();
        for number in 0..TOOL_AGENTS_MAX {
            calls.begin(&agent(Some(&number.to_string())), false, 1);
            calls.end(&agent(Some(&number.to_string())), 1);
        }
        assert!(!calls.has_other(&agent(Some("0")), 2));
        calls.begin(&agent(None), false, 2);
        assert!(calls.has_other(&agent(None), 2));
    }
}
