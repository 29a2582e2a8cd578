//! Foreign text (from a repository, its tools or a model), prepared for an agent, a terminal or a
//! CI system. Escape sequences are removed, invisible characters become visible as `\u{202e}`, and
//! no part of it can be mistaken for an instruction of the host or for a line of this program.

use std::fmt::Write as _;

use crate::limits::{ESCAPE_SEQUENCE_BYTES_MAX, LINE_CHARS_MAX};

/// The beginning of each message of this program to an agent.
const OWN_MARK: &str = "[moai-ralph]";
/// Replaces it in foreign text.
const QUOTED_MARK: &str = "‹moai-ralph›";

/// Names of tags that hosts use for instructions and for text that is not the user's. A tag is `<`,
/// perhaps `/`, one of these names in any case, and then no letter, digit or `_`, with blanks
/// anywhere between.
const INSTRUCTION_TAGS: [&str; 20] = [
    "antml",
    "assistant",
    "bash-input",
    "bash-stderr",
    "bash-stdout",
    "command-args",
    "command-contents",
    "command-message",
    "command-name",
    "function_calls",
    "function_results",
    "human",
    "invoke",
    "local-command-caveat",
    "local-command-stderr",
    "local-command-stdout",
    "system",
    "task-notification",
    "tool_use_error",
    "user-prompt-submit-hook",
];

/// More than the characters of the longest instruction tag and of this program's mark, in text whose blanks
/// are single.
const DECIDING_CHARS: usize = 64;

/// The beginning of Claude Code's summary of a compacted conversation.
const SUMMARY_BEGINNING: &str = "This session is being continued from a previous conversation";

/// True if a text that came as a prompt was written by the host or by this program, and not by the
/// user: the end of a background task, the output of a command, a summary, a message of a hook.
#[must_use]
pub fn is_from_host(prompt: &str) -> bool {
    let text = prompt.trim_start();
    text.strip_prefix('<').is_some_and(is_inside_of_instruction_tag)
        || text.starts_with(OWN_MARK)
        || text.starts_with(SUMMARY_BEGINNING)
}

/// A mixture of our lines and foreign text, made visible: without escape sequences, and without the
/// host's instruction tags (`<` becomes `‹`). Line breaks become `
/// `.
#[must_use]
pub fn visible(text: &str) -> String {
    without_hidden(&without_escapes(text), false)
}

/// [`visible`] for a terminal with colors: color sequences are kept.
#[must_use]
pub fn visible_in_color(text: &str) -> String {
    without_hidden(text, true)
}

/// The JSON document with hidden characters, instruction tags of the host and beginnings of this
/// program's messages escaped as `\u202e`; its strings keep their values.
#[must_use]
pub fn visible_json(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    let mut rest = document;
    while let Some(character) = rest.chars().next() {
        let begins_mark =
            rest.get(..OWN_MARK.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(OWN_MARK));
        rest = &rest[character.len_utf8()..];
        let is_tag = character == '<' && is_inside_of_instruction_tag(rest);
        let is_blank = matches!(character, '\r' | '\n' | '\t');
        if !is_blank && (begins_mark || is_tag || is_hidden(character)) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    out
}

/// Foreign text of several lines, cut to `chars_max` characters with an ellipsis.
#[must_use]
pub fn quoted(text: &str, chars_max: usize) -> String {
    // Most text has nothing to quote.
    let is_plain =
        |byte| matches!(byte, b'\t' | b'\n' | b' '..=b'~') && byte != b'<' && byte != b'[';
    if text.bytes().all(is_plain) {
        return cut(text, chars_max);
    }
    cut(&without_own_mark(&visible(text)), chars_max)
}

/// The lines of foreign text, each bounded and prefixed with `  | `, so that no foreign text begins
/// a line. A carriage return ends a line too.
pub fn quoted_lines(text: &str) -> impl Iterator<Item = String> {
    let text = without_escapes(text).replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<String> = text.lines().map(|line| quoted(line, LINE_CHARS_MAX)).collect();
    lines.into_iter().map(|line| format!("  | {line}"))
}

/// The text on one line, cut to `chars_max` characters with an ellipsis. All foreign text passes
/// through here before it is shown.
#[must_use]
pub fn one_line(text: &str, chars_max: usize) -> String {
    let (mut line, mut count) = (String::new(), 0);
    let (mut rest, mut is_blank) = (text, true);
    // What follows a character decides about it, but nothing decides about one so far before it.
    while count < chars_max.saturating_add(DECIDING_CHARS) {
        let Some(character) = rest.chars().next() else { break };
        if let Some(sequence) = escape_sequence(rest) {
            rest = &rest[sequence..];
            continue;
        }
        rest = &rest[character.len_utf8()..];
        let is_character = !character.is_whitespace() && !character.is_control();
        if is_character || !is_blank {
            line.push(if is_character { character } else { ' ' });
            count += 1;
        }
        is_blank = !is_character;
    }
    quoted(line.trim_end(), chars_max)
}

/// A name on one line, cut to `chars_max` characters: every character of it is visible, so that
/// different names look different.
#[must_use]
pub fn one_line_name(name: &str, chars_max: usize) -> String {
    let name = escape_hidden(name).replace('\n', "\\n").replace('\t', "\\t");
    quoted(&name, chars_max)
}

/// Escapes controls, direction marks and zero-width characters as `\u{202e}`; tabs and line breaks
/// are kept.
#[must_use]
pub fn escape_hidden(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        push_visible(&mut out, character);
    }
    out
}

/// True if a character is invisible or changes how others are displayed.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    match character {
        '\t' | '\n' => false,
        // Tags and variation selectors (the last two ranges) can carry whole texts that no editor
        // shows.
        '\u{ad}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{180e}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0e}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

/// Text for a place whose lines GitHub Actions reads for workflow commands: no line begins with
/// `::` or has `##[`, which the runner searches for anywhere.
#[must_use]
pub fn without_workflow_commands(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.replace("##[", "## [").split_inclusive('\n') {
        let command = line.trim_start();
        if let Some(rest) = command.strip_prefix("::") {
            out.push_str(&line[..line.len() - command.len()]);
            out.push_str(": :");
            out.push_str(rest);
        } else {
            out.push_str(line);
        }
    }
    out
}

fn push_visible(out: &mut String, character: char) {
    if is_hidden(character) {
        let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
    } else {
        out.push(character);
    }
}

/// Escapes hidden characters and breaks instruction tags. Color sequences are kept where
/// `keeps_color`.
fn without_hidden(text: &str, keeps_color: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let sequence = escape_sequence(rest).map(|length| &rest[..length]);
        if let Some(sequence) = sequence.filter(|_| keeps_color) {
            if is_color(sequence) {
                out.push_str(sequence);
            }
            rest = &rest[sequence.len()..];
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match character {
            '\r' if rest.starts_with('\n') => {}
            '<' if is_inside_of_instruction_tag(rest) => out.push('‹'),
            other => push_visible(&mut out, other),
        }
    }
    out
}

/// True if the text after a `<` makes it an instruction tag.
fn is_inside_of_instruction_tag(text: &str) -> bool {
    let text = text.trim_start();
    let text = text.strip_prefix('/').unwrap_or(text).trim_start();
    INSTRUCTION_TAGS.iter().any(|name| {
        let Some((begin, after)) = text.split_at_checked(name.len()) else { return false };
        let is_longer = after.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        begin.eq_ignore_ascii_case(name) && !is_longer
    })
}

fn without_own_mark(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, mark) in lower.match_indices(OWN_MARK) {
        out.push_str(&text[done..at]);
        out.push_str(QUOTED_MARK);
        done = at + mark.len();
    }
    out.push_str(&text[done..]);
    out
}

fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\u{1b}', '\u{9b}']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = escape_sequence(rest).unwrap_or_else(|| {
            let introducer = rest.chars().next().map_or(0, char::len_utf8);
            out.push_str(&rest[..introducer]);
            introducer
        });
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// Length in bytes of the escape sequence (ECMA-48) that a text begins with.
fn escape_sequence(text: &str) -> Option<usize> {
    let (introducer, rest) = match text.chars().next()? {
        '\u{9b}' => return control_sequence(&text[2..]).map(|length| length + 2),
        '\u{1b}' => (text[1..].chars().next()?, text.get(2..)?),
        _ => return None,
    };
    match introducer {
        '[' => control_sequence(rest).map(|length| length + 2),
        // Strings: commands of the operating system, of devices and of applications.
        ']' | 'P' | 'X' | '^' | '_' => string_end(rest).map(|length| length + 2),
        ' '..='/' => {
            let end = rest.find(|it| !matches!(it, ' '..='/'))?;
            matches!(rest.as_bytes()[end], b'0'..=b'~').then_some(end + 3)
        }
        '0'..='~' => Some(2),
        _ => None,
    }
}

/// Length of parameters, intermediate characters and the final one.
fn control_sequence(text: &str) -> Option<usize> {
    let end = text.find(|it| !matches!(it, ' '..='?'))?;
    let is_complete = matches!(text.as_bytes()[end], b'@'..=b'~');
    (is_complete && end < ESCAPE_SEQUENCE_BYTES_MAX).then_some(end + 1)
}

/// Length including the end of a control string.
fn string_end(text: &str) -> Option<usize> {
    let end = text.bytes().take(ESCAPE_SEQUENCE_BYTES_MAX).position(|it| matches!(it, 7 | 0x1b))?;
    match text.as_bytes()[end] {
        7 => Some(end + 1),
        _ => text[end + 1..].starts_with('\\').then_some(end + 2),
    }
}

/// True if a sequence sets the color or weight of text.
fn is_color(sequence: &str) -> bool {
    let parameters = sequence.strip_prefix("\u{1b}[").and_then(|it| it.strip_suffix('m'));
    parameters.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_json_document_means_the_same_and_shows_nothing_hidden() {
        let text = "a\n[moai-ralph] done \u{202e}x\u{85}\u{e0041} <system-reminder>é[b] \u{1b}[1m";
        let document = serde_json::json!({"message": text, "list": ["[Moai-Ralph]", "<b>"]});
        for plain in [document.to_string(), format!("{document:#}\n")] {
            let shown = visible_json(&plain);
            let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
            assert_eq!(read, document);
            assert!(
                !shown.to_lowercase().contains(OWN_MARK) && !shown.contains("<system"),
                "{shown}"
            );
            assert!(!shown.chars().any(is_hidden), "{shown}");
            assert!(shown.contains("\\udb40\\udc41") && shown.contains("<b>"), "{shown}");
        }
    }

    #[test]
    fn foreign_text_becomes_one_bounded_line() {
        assert_eq!(one_line("a\n  b\u{1b}[31m\tc\u{0}d", 20), "a b c d");
        assert_eq!(one_line("가나다라", 3), "가나…");
        assert_eq!(one_line("가나다", 3), "가나다");
    }

    #[test]
    fn escape_sequences_are_removed_and_incomplete_ones_are_shown() {
        for sequence in [
            "\u{1b}[2J",
            "\u{1b}[38;5;9m",
            "\u{1b}]0;title\u{7}",
            "\u{1b}]8;;https://x\u{1b}\\",
            "\u{1b}Pq\u{1b}\\",
            "\u{1b}(B",
            "\u{1b}c",
            "\u{9b}31m",
        ] {
            assert_eq!(visible(&format!("a{sequence}b")), "ab", "{sequence:?}");
        }
        assert_eq!(visible("a\u{1b}]0;rest\nb"), "a\\u{1b}]0;rest\nb");
        assert_eq!(visible("a\u{1b}"), "a\\u{1b}");
        assert_eq!(visible("a\u{1b}é"), "a\\u{1b}é");
    }

    #[test]
    fn colors_stay_on_request_and_nothing_else_of_a_terminal() {
        let text = "\u{1b}[31merror\u{1b}[0m\u{1b}[2J\u{202e}\u{1b}]0;t\u{7}";
        assert_eq!(visible_in_color(text), "\u{1b}[31merror\u{1b}[0m\\u{202e}");
    }

    #[test]
    fn hidden_characters_become_visible() {
        assert_eq!(
            visible("a\u{202e}b\u{200b}c\u{e0041}\u{2066}\u{2028}\u{85}\td\r\ne\rf"),
            "a\\u{202e}b\\u{200b}c\\u{e0041}\\u{2066}\\u{2028}\\u{85}\td\ne\\u{d}f"
        );
        assert_eq!(visible("한글 é 🦀 naïve"), "한글 é 🦀 naïve");
    }

    #[test]
    fn instruction_tags_are_broken_in_any_spelling() {
        for tag in [
            "<system-reminder>",
            "</system-reminder>",
            "< / System-Reminder\n>",
            "<SYSTEM>",
            "<system",
            "<command-name a=\"b\">",
            "<tool_use_error>",
            "<user-prompt-submit-hook>",
            "<invoke name=\"x\">",
            "<sys\u{1b}[0mtem>",
        ] {
            assert!(!visible(tag).contains('<'), "{tag:?}");
            assert!(!one_line(tag, 100).contains('<'), "{tag:?}");
        }
        for other in ["<systemd>", "Vec<String>", "a < system_x", "<div>", "<b", "<", "1 < 2"] {
            assert_eq!(visible(other), other);
        }
    }

    #[test]
    fn our_mark_is_ours_alone() {
        assert_eq!(one_line("\n[moai-ralph] done", 100), "‹moai-ralph› done");
        assert_eq!(quoted("a\n [MOAI-Ralph] done", 100), "a\n ‹moai-ralph› done");
        assert_eq!(visible("[moai-ralph] done"), "[moai-ralph] done");
    }

    #[test]
    fn names_stay_different_and_on_one_line() {
        let names = ["a\nb", "a b", "a\u{1b}[31mb", "ab", "a\u{200b}b", "a  b", "a\tb"];
        let mut shown: Vec<String> = names.iter().map(|it| one_line_name(it, 100)).collect();
        assert_eq!(shown[0], "a\\nb");
        shown.sort();
        shown.dedup();
        assert_eq!(shown.len(), names.len(), "{shown:?}");
    }

    #[test]
    fn quoted_lines_never_stand_at_the_start() {
        let lines: Vec<String> = quoted_lines("one\r\n[moai-ralph] x\n\n10%\r20%\n").collect();
        assert_eq!(lines, ["  | one", "  | ‹moai-ralph› x", "  | ", "  | 10%", "  | 20%"]);
    }

    #[test]
    fn workflow_commands_become_text() {
        let text = "::error::x\n  ::debug::y\na ::b\nx ##[add-mask]z\n";
        assert_eq!(
            without_workflow_commands(text),
            ": :error::x\n  : :debug::y\na ::b\nx ## [add-mask]z\n"
        );
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left_and_a_second_pass_changes_nothing(
            text in r"[a<\[/ \n\r\t\u{1b}\u{9b}\u{7}m;0-9\]system\u{202e}\u{e0041}é-]{0,60}",
        ) {
            let once = visible(&text);
            prop_assert!(!once.contains(is_hidden));
            prop_assert_eq!(&visible(&once), &once);
            let line = one_line(&text, 50);
            prop_assert!(!line.contains('\n') && line.chars().count() <= 50);
            prop_assert_eq!(one_line(&text.repeat(3), 9), cut(&one_line(&text.repeat(3), 999), 9));
        }
    }
}
