//! Detects whether an agent started this shell, for commands reserved to a person. An agent can
//! open its own terminal and remove its variables from the environment of what it starts there;
//! those of the shells above remain.

use moai_base::limits::ANCESTORS_MAX;

/// Variables that agents set for the commands they run.
const AGENTS: [&str; 2] = ["CLAUDECODE", "AI_AGENT"];

/// Whether an agent started this process or an ancestor, as far as can be detected.
pub(super) fn is_agent() -> bool {
    AGENTS.iter().any(|name| std::env::var_os(name).is_some())
        || is_below_agent(own_parent_id(), &read_proc)
}

/// Environment that a process was started with, if readable, and its parent.
struct ProcessOrigin {
    environment: Option<Vec<u8>>,
    parent: i32,
}

fn own_parent_id() -> i32 {
    rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get())
}

/// Reads Linux's `/proc`; elsewhere nothing is known.
fn read_proc(process: i32) -> Option<ProcessOrigin> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // proc(5): the name in parentheses may contain anything; state and parent follow it.
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    let environment = std::fs::read(format!("/proc/{process}/environ")).ok();
    Some(ProcessOrigin { environment, parent })
}

/// Whether a process or an ancestor was started with an agent's variable.
fn is_below_agent(process: i32, read_origin: &dyn Fn(i32) -> Option<ProcessOrigin>) -> bool {
    let mut process = process;
    for _ in 0..ANCESTORS_MAX {
        let Some(ProcessOrigin { environment, parent }) =
            read_origin(process).filter(|_| process > 0)
        else {
            return false;
        };
        if environment.is_some_and(|it| has_agent_variable(&it)) {
            return true;
        }
        process = parent;
    }
    false
}

fn has_agent_variable(environment: &[u8]) -> bool {
    environment.split(|byte| *byte == 0).any(|variable| {
        let name = variable.split(|byte| *byte == b'=').next().unwrap_or_default();
        AGENTS.iter().any(|agent| agent.as_bytes() == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_ancestors_variable_counts_and_unreadable_ones_are_skipped() {
        let tree = |marked: i32| {
            move |process: i32| {
                let own: &[u8] =
                    if process == marked { b"HOME=/\0CLAUDECODE=1\0" } else { b"CLAUDE=1\0" };
                let environment = (process != 7).then(|| own.to_vec());
                (process > 0).then_some(ProcessOrigin { environment, parent: process / 2 })
            }
        };
        assert!(is_below_agent(14, &tree(14)));
        assert!(is_below_agent(14, &tree(3)), "above one that cannot be read");
        assert!(!is_below_agent(14, &tree(7)), "it cannot be read");
        assert!(!is_below_agent(14, &tree(8)), "not above");
        assert!(!is_below_agent(14, &|process| Some(ProcessOrigin {
            environment: None,
            parent: process
        })));
    }
}
