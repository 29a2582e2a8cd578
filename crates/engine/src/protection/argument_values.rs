//! Paths and commands in the argument values of a server's tool: servers choose the names of their arguments,
//! so a name only shows that a value is a text, a command, or something that a tool reads.

use moai_base::limits::{FILE_ARGUMENT_DEPTH_MAX, FILE_ARGUMENTS_MAX};
use moai_base::path::percent_decoded;
use moai_guard::shell_writes::{
    ShellWrite, begins_with_program, program_writes, quoted_words, shell_writes,
};
use serde_json::{Map, Value};

use super::mcp_files::{ToolNature, words_of};

/// Names of arguments that hold text of a document or for a reader, without case, `_` and `-`.
const TEXTS: &[&str] = &[
    "body",
    "comment",
    "comments",
    "content",
    "contents",
    "context",
    "description",
    "explanation",
    "facts",
    "filetext",
    "goal",
    "instructions",
    "message",
    "newcode",
    "newcontent",
    "newstr",
    "newstring",
    "newtext",
    "note",
    "notes",
    "observation",
    "observations",
    "oldcode",
    "oldcontent",
    "oldstr",
    "oldstring",
    "oldtext",
    "pattern",
    "prompt",
    "query",
    "question",
    "reason",
    "regex",
    "replacement",
    "search",
    "sql",
    "statement",
    "subject",
    "summary",
    "tags",
    "text",
    "texts",
    "thought",
    "title",
];
/// Those of them that tools run.
const RUN_TEXTS: &[&str] = &["body", "content", "contents", "query", "text", "texts"];
/// Names of arguments that hold a command or a program.
const COMMANDS: &[&str] = &[
    "cmd",
    "cmdline",
    "code",
    "command",
    "commandline",
    "commands",
    "eval",
    "expression",
    "javascript",
    "program",
    "python",
    "script",
    "shell",
    "sourcecode",
];
/// Names of arguments that hold a program, and of those that hold its arguments.
const PROGRAMS: &[&str] = &["bin", "binary", "cmd", "command", "executable", "program"];
const PROGRAM_ARGUMENTS: &[&str] = &["args", "arguments", "argv", "parameters", "params"];
/// Prefixes of argument names for a file that a tool makes although it reads.
const OUTPUTS: &[&str] = &["dest", "download", "export", "out", "save", "write"];
/// Prefixes of argument names for the source of a copy.
const SOURCES: &[&str] = &["from", "input", "old", "source", "src"];
/// Schemes that lead to other machines.
const REMOTE_SCHEMES: &[&str] =
    &["data", "ftp", "git", "http", "https", "mailto", "s3", "ssh", "ws", "wss"];
/// Before a path in a patch.
const PATCH_HEADERS: &[&str] = &[
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
    "*** Update File: ",
    "+++ ",
    "--- ",
    "rename from ",
    "rename to ",
];
/// Longest value that may be a path, in bytes.
const PATH_BYTES_MAX: usize = 4_096;

/// Meaning of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    /// A path, or anything else.
    Plain,
    Text,
    Command,
    /// A file that a tool reads.
    Read,
}

/// The paths and commands in the arguments of a tool.
#[derive(Default)]
pub(super) struct ArgumentValues {
    /// The paths as the agent wrote them.
    pub(super) paths: Vec<String>,
    /// Texts in the language of a shell or of a program.
    pub(super) commands: Vec<String>,
    /// Texts that may be commands.
    possible_commands: Vec<String>,
}

impl ArgumentValues {
    pub(super) fn from_arguments(arguments: &Value, nature: ToolNature) -> Self {
        let mut values = Self::default();
        let kind = if nature == ToolNature::Reads { ValueKind::Read } else { ValueKind::Plain };
        values.add(arguments, kind, nature, FILE_ARGUMENT_DEPTH_MAX);
        values
    }

    /// The writes of the commands. In a text that may or may not be a command, only certain writes count.
    pub(super) fn shell_writes(&self) -> Vec<ShellWrite> {
        let possible = self.possible_commands.iter().filter(|text| begins_with_program(text));
        let possible = possible.flat_map(|text| shell_writes(text)).filter(|it| it.is_known);
        let certain = self.commands.iter().flat_map(|text| shell_writes(text));
        let programs = self.commands.iter().filter(|text| text.contains('('));
        let programs = programs.flat_map(|text| program_writes(text));
        possible.chain(certain).chain(programs).collect()
    }

    fn has_room(&self) -> bool {
        self.paths.len() + self.commands.len() + self.possible_commands.len() < FILE_ARGUMENTS_MAX
    }

    fn add(&mut self, value: &Value, kind: ValueKind, nature: ToolNature, depth_left: usize) {
        if depth_left == 0 || !self.has_room() {
            return;
        }
        match value {
            Value::String(text) => self.add_text(text, kind, nature, depth_left),
            Value::Array(items) => match words_of_command(items) {
                Some(words) if kind == ValueKind::Command => {
                    self.commands.push(quoted_words(&words));
                }
                _ => {
                    for item in items {
                        self.add(item, kind, nature, depth_left - 1);
                    }
                }
            },
            Value::Object(fields) => self.add_fields(fields, nature, depth_left),
            _ => {}
        }
    }

    fn add_fields(&mut self, fields: &Map<String, Value>, nature: ToolNature, depth_left: usize) {
        let call = words_of_call(fields);
        self.commands.extend(call.as_deref().map(quoted_words));
        for (name, value) in fields {
            let plain = plain_name(name);
            let is_of_call = PROGRAMS.contains(&&*plain) || PROGRAM_ARGUMENTS.contains(&&*plain);
            if call.is_some() && is_of_call {
                continue;
            }
            // As in `{"files": {"a/b.json": "text"}}`.
            if nature != ToolNature::Reads && name.contains(['.', '/']) {
                self.add_paths(name);
            }
            self.add(value, kind_of(&plain, name, nature), nature, depth_left - 1);
        }
    }

    fn add_text(&mut self, text: &str, kind: ValueKind, nature: ToolNature, depth_left: usize) {
        match kind {
            ValueKind::Text | ValueKind::Read => return,
            ValueKind::Command => return self.commands.push(text.to_owned()),
            ValueKind::Plain => {}
        }
        if text.trim_start().starts_with(['{', '['])
            && let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text)
        {
            return self.add(&inner, kind, nature, depth_left - 1);
        }
        for line in text.lines() {
            let named = PATCH_HEADERS.iter().find_map(|header| line.strip_prefix(header));
            if let Some(named) = named.map(|named| named.split('\t').next().unwrap_or(named)) {
                self.add_paths(named);
                // As in `a/src/x.py` and `b/src/x.py`.
                let bare = named.strip_prefix("a/").or_else(|| named.strip_prefix("b/"));
                if let Some(bare) = bare {
                    self.add_paths(bare);
                }
            }
        }
        // Lists of paths; a sentence has spaces between its marks.
        let pieces: Vec<&str> = text.split([',', ';', '\n']).map(str::trim).collect();
        if pieces.len() > 1 && !pieces.iter().any(|piece| piece.contains(char::is_whitespace)) {
            for piece in &pieces {
                self.add_paths(piece);
            }
        }
        self.add_paths(text);
        if text.trim().contains(char::is_whitespace) {
            self.possible_commands.push(text.to_owned());
        }
    }

    /// Adds a value, and its variants without quotes, scheme, escapes and positions.
    fn add_paths(&mut self, text: &str) {
        // Hosts end a path there, if they take it.
        let text = text.split('\0').next().unwrap_or_default();
        let text = text.trim().trim_matches(['"', '\'', '`', '<', '>']);
        if text.is_empty() || text.len() > PATH_BYTES_MAX || text.contains('\n') || !self.has_room()
        {
            return;
        }
        let mut forms = match text.split_once(':') {
            Some((scheme, _)) if REMOTE_SCHEMES.contains(&&*scheme.to_ascii_lowercase()) => return,
            Some((scheme, rest)) if rest.starts_with('/') && is_scheme(scheme) => local_paths(rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => vec![rest.to_owned()],
            _ => vec![text.to_owned()],
        };
        let encoded = forms.iter().filter(|form| form.contains('%'));
        let decoded: Vec<String> = encoded.map(|form| percent_decoded(form)).collect();
        forms.extend(decoded);
        for form in forms {
            let place = form.split(['#', '?']).next().unwrap_or_default();
            let is_position = |it: char| it.is_ascii_digit() || it == ':' || it == '-';
            let bare = place.trim_end_matches(is_position);
            // As in `a.md:3:1`.
            let file = if place[bare.len()..].starts_with(':') { bare } else { place };
            if !file.is_empty() && file != form {
                self.paths.push(plain_variable(file));
            }
            self.paths.push(plain_variable(&form));
        }
    }
}

/// True if one of these arguments is a text of a document.
pub(super) fn has_texts(arguments: &Value) -> bool {
    let mut names = arguments.as_object().into_iter().flatten().map(|(name, _)| plain_name(name));
    names.any(|name| TEXTS.contains(&name.as_str()))
}

fn kind_of(plain: &str, name: &str, nature: ToolNature) -> ValueKind {
    if COMMANDS.contains(&plain) {
        return ValueKind::Command;
    }
    match nature {
        ToolNature::Runs if RUN_TEXTS.contains(&plain) => ValueKind::Command,
        _ if TEXTS.contains(&plain) => ValueKind::Text,
        ToolNature::Reads if !is_output(name) => ValueKind::Read,
        ToolNature::Copies if is_source(name) => ValueKind::Read,
        _ => ValueKind::Plain,
    }
}

fn is_source(name: &str) -> bool {
    words_of(name).first().is_some_and(|word| SOURCES.iter().any(|it| word.starts_with(it)))
}

fn is_output(name: &str) -> bool {
    words_of(name).iter().any(|word| OUTPUTS.iter().any(|output| word.starts_with(output)))
}

fn plain_name(argument: &str) -> String {
    let plain = argument.chars().filter(|it| !matches!(it, '_' | '-'));
    plain.map(|it| it.to_ascii_lowercase()).collect()
}

/// The texts of a list, if it consists of texts.
fn words_of_command(items: &[Value]) -> Option<Vec<&str>> {
    items.iter().map(Value::as_str).collect::<Option<Vec<_>>>().filter(|words| !words.is_empty())
}

/// A program with its arguments, where these are two arguments of the tool.
fn words_of_call(fields: &Map<String, Value>) -> Option<Vec<&str>> {
    let field = |names: &[&str]| {
        fields.iter().find(|(name, _)| names.contains(&&*plain_name(name))).map(|(_, value)| value)
    };
    let program = field(PROGRAMS)?.as_str().filter(|it| !it.contains(char::is_whitespace))?;
    let arguments = words_of_command(field(PROGRAM_ARGUMENTS)?.as_array()?)?;
    Some([vec![program], arguments].concat())
}

fn is_scheme(text: &str) -> bool {
    text.len() > 1 && text.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it))
}

/// The paths after the scheme of a local URI: with a host, without it, and where the host is the
/// first folder.
fn local_paths(rest: &str) -> Vec<String> {
    let Some(named) = rest.strip_prefix("//") else { return vec![rest.to_owned()] };
    let after_host = named.find('/').map(|at| named[at..].to_owned());
    [Some(named.to_owned()), after_host].into_iter().flatten().collect()
}

/// The path with `$NAME` for `${NAME}` at its beginning.
fn plain_variable(path: &str) -> String {
    match path.strip_prefix("${").and_then(|rest| rest.split_once('}')) {
        Some((name, rest)) => format!("${name}{rest}"),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(arguments: &Value) -> Vec<String> {
        ArgumentValues::from_arguments(arguments, ToolNature::Writes).paths
    }

    #[test]
    fn paths_are_found_in_every_form() {
        for (arguments, expected) in [
            (json!({"anything": "a/b.md"}), "a/b.md"),
            (json!({"x": [[{"y": "a/b.md"}]]}), "a/b.md"),
            (json!({"x": "file:///p/%2Egit/%E2%9C%93%zz"}), "/p/.git/✓%zz"),
            (json!({"x": "file:/p/a.md"}), "/p/a.md"),
            (json!({"x": "file:a.md"}), "a.md"),
            (json!({"x": "editor://host/p/a.md#L3"}), "/p/a.md"),
            (json!({"x": "a.md:12:3"}), "a.md"),
            (json!({"x": "b.md, a.md"}), "a.md"),
            (json!({"x": "b.md\na.md\n"}), "a.md"),
            (json!({"x": "'a.md'"}), "a.md"),
            (json!({"x": "${HOME}/a.md"}), "$HOME/a.md"),
            (json!({"x": "{\"path\": \"a.md\"}"}), "a.md"),
            (json!({"x": "diff\n--- /dev/null\n+++ b/a.md\t2020\n"}), "a.md"),
            (json!({"files": {"a.md": "text"}}), "a.md"),
        ] {
            assert!(paths(&arguments).iter().any(|it| it == expected), "{arguments}");
        }
    }

    #[test]
    fn texts_and_addresses_are_no_paths() {
        for arguments in [
            json!({"content": "a.md", "oldText": "b.md", "new_string": "c.md"}),
            json!({"x": "https://example.invalid/a.md"}),
            json!({"x": 5, "y": null, "z": true}),
        ] {
            assert_eq!(paths(&arguments), [""; 0], "{arguments}");
        }
    }

    #[test]
    fn commands_are_put_together() {
        let commands = |arguments: &Value| {
            let values = ArgumentValues::from_arguments(arguments, ToolNature::Writes);
            values.commands.join("; ")
        };
        assert_eq!(commands(&json!({"command": "rm", "args": ["a b"]})), "'rm' 'a b'");
        assert_eq!(commands(&json!({"cmd": ["rm", "a"]})), "'rm' 'a'");
        assert_eq!(commands(&json!({"text": "rm a"})), "");
        let run = ArgumentValues::from_arguments(&json!({"text": "rm a"}), ToolNature::Runs);
        assert_eq!(run.commands, ["rm a"]);
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let mut deep = json!({"path": "a"});
        for _ in 0..FILE_ARGUMENT_DEPTH_MAX {
            deep = json!([deep]);
        }
        assert_eq!(paths(&deep), [""; 0]);
        let many = json!({"paths": vec!["a"; FILE_ARGUMENTS_MAX + 9]});
        assert_eq!(paths(&many).len(), FILE_ARGUMENTS_MAX);
    }
}
