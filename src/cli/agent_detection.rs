//! Whether an agent started the shell in which something is asked for that only a person decides. An
//! agent can open a terminal of its own and take its marks out of the environment of what it starts
//! there; those of the shells above stay. It must not know what is asked for.

use crate::base::limits::ANCESTORS_MAX;

/// Variables that agents set for the commands they run.
const AGENTS: [&str; 2] = ["CLAUDECODE", "AI_AGENT"];

/// Whether this process or one above it was started by an agent, as far as can be told.
pub(super) fn is_agent() -> bool {
    AGENTS.iter().any(|name| std::env::var_os(name).is_some())
        || is_below_agent(own_parent_id(), &read_proc)
}

/// What is known of a process: the environment it was started with, where that can be read, and
/// its parent.
struct ProcessOrigin {
    environment: Option<Vec<u8>>,
    parent: i32,
}

fn own_parent_id() -> i32 {
    rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get())
}

/// From Linux's `/proc`; elsewhere nothing is known.
fn read_proc(process: i32) -> Option<ProcessOrigin> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // proc(5): the name in parentheses may hold anything; state and parent come behind it.
    let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    let environment = std::fs::read(format!("/proc/{process}/environ")).ok();
    Some(ProcessOrigin { environment, parent })
}

/// Whether a process or one above it was started with a mark of an agent.
fn is_below_agent(process: i32, look: &dyn Fn(i32) -> Option<ProcessOrigin>) -> bool {
    let mut process = process;
    for _ in 0..ANCESTORS_MAX {
        let Some(ProcessOrigin { environment, parent }) = look(process).filter(|_| process > 0)
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
    fn a_mark_of_any_shell_above_counts_and_what_cannot_be_read_is_passed_over() {
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
