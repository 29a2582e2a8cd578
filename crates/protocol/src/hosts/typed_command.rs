//! Commands of this program in a prompt. Hosts without an event for slash commands pass them on as
//! they were typed: `/moai-loop …`, `/moai-ralph:moai-loop …`, `$moai-ralph:moai-loop …`.

/// The beginning of this program's texts.
const OWN_MARK: &str = "[moai-ralph]";
/// The plugin's name before a command.
const PLUGIN_PREFIX: &str = "moai-ralph:";
/// Codex's prefix of a command that it lists as a skill.
const COMMAND_PREFIX: &str = "source-command-";

/// The names of all commands, as in `commands/`.
pub const COMMAND_NAMES: &[&str] = &[
    "alfred",
    "cancel-loop",
    "mem-forget",
    "mem-inject",
    "mem-search",
    "mem-status",
    "moai-adopt",
    "moai-align",
    "moai-fix",
    "moai-loop",
    "moai-pivot",
    "moai-plan",
    "moai-resume",
    "moai-run",
    "moai-status",
    "moai-sync",
    "pipeline-answer",
    "pipeline-cancel",
    "pipeline-resume",
    "pipeline-status",
    "ralph",
    "uam",
    "uam-answer",
    "uam-bugfix",
    "uam-cancel",
    "uam-compound",
    "uam-resume",
    "uam-run",
    "uam-small",
    "uam-status",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedCommand<'p> {
    /// Its name, without a prefix.
    pub name: &'p str,
    /// Everything after it.
    pub arguments: &'p str,
}

/// The command in a prompt; `None` for every other prompt.
#[must_use]
pub fn typed_command(prompt: &str) -> Option<TypedCommand<'_>> {
    let typed = prompt.trim_start().strip_prefix(['/', '$'])?;
    let (word, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let name = word.strip_prefix(PLUGIN_PREFIX).unwrap_or(word);
    let name = name.strip_prefix(COMMAND_PREFIX).unwrap_or(name);
    COMMAND_NAMES.contains(&name).then(|| TypedCommand { name, arguments: rest.trim() })
}

/// True if a prompt is a text of this program that the host sent back.
#[must_use]
pub fn is_own_text(prompt: &str) -> bool {
    prompt.trim_start().starts_with(OWN_MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_in_every_way_to_type_it() {
        let expected = TypedCommand { name: "moai-loop", arguments: "fix \"it\" --mode basic" };
        for start in ["/", "/moai-ralph:", "$moai-ralph:", "$moai-ralph:source-command-", "\n /"] {
            let prompt = format!("{start}moai-loop  fix \"it\" --mode basic\n");
            assert_eq!(typed_command(&prompt), Some(expected), "{prompt}");
        }
        let status = TypedCommand { name: "moai-status", arguments: "" };
        assert_eq!(typed_command("/moai-status"), Some(status));
    }

    #[test]
    fn other_prompts_are_no_commands() {
        for prompt in [
            "moai-loop x",
            "/other",
            "/other:moai-loop x",
            "see /moai-loop",
            "/",
            "",
            "/moai-loops x",
        ] {
            assert_eq!(typed_command(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn an_own_text_is_recognized_by_its_start() {
        assert!(is_own_text("[moai-ralph] still wrong") && is_own_text("\n[moai-ralph] x"));
        assert!(!is_own_text("what does [moai-ralph] mean?") && !is_own_text(""));
    }
}
