//! Expands words with variables, as far as the command itself sets them.

use moai_base::limits::{SHELL_TEXT_DEPTH_MAX, VARIABLE_VALUE_BYTES_MAX, VARIABLE_VALUES_MAX};

use super::shell_reader::SimpleCommand;
use super::variables::Assignment;
use super::{WriteSearch, base_name, is_name, is_name_character};

/// Programs that read names into variables.
const READERS_OF_NAMES: [&str; 3] = ["mapfile", "read", "readarray"];

impl WriteSearch {
    /// The possible expansions of a word. A variable that the command does not set remains `$NAME`. A word
    /// longer than [`VARIABLE_VALUE_BYTES_MAX`] remains as it is.
    pub(super) fn expanded(&self, word: &str) -> Vec<String> {
        self.expanded_inside(word, SHELL_TEXT_DEPTH_MAX)
    }

    /// The same, with this many default values in each other.
    fn expanded_inside(&self, word: &str, depth_left: usize) -> Vec<String> {
        if word.len() > VARIABLE_VALUE_BYTES_MAX {
            return vec![word.to_owned()];
        }
        let mut values = vec![String::new()];
        let mut rest = word;
        while let Some((before, text)) = rest.split_once('$') {
            let variable = self.variable(text, depth_left);
            let ReadVariable { values: choices, behind } = variable
                .unwrap_or_else(|| ReadVariable { values: vec!["$".to_owned()], behind: text });
            let mut longer = Vec::new();
            for value in &values {
                let room = VARIABLE_VALUES_MAX.saturating_sub(longer.len());
                let all = choices.iter().map(|choice| format!("{value}{before}{choice}"));
                longer.extend(all.filter(|it| it.len() <= VARIABLE_VALUE_BYTES_MAX).take(room));
            }
            values = longer;
            rest = behind;
        }
        for value in &mut values {
            value.push_str(rest);
        }
        if values.is_empty() { vec![word.to_owned()] } else { values }
    }

    /// The variable at the beginning of a text, after its `$`.
    fn variable<'t>(&self, text: &'t str, depth_left: usize) -> Option<ReadVariable<'t>> {
        if let Some(inside) = text.strip_prefix('{') {
            let end = end_of_braces(inside)?;
            let values = self.values_in_braces(&inside[..end], depth_left);
            return Some(ReadVariable { values, behind: &inside[end + 1..] });
        }
        let end = if text.starts_with(['@', '*']) {
            1
        } else {
            text.find(|it: char| !is_name_character(it)).unwrap_or(text.len())
        };
        let name = Some(&text[..end]).filter(|name| !name.is_empty())?;
        let values = self.values_of(name).unwrap_or_else(|| vec![format!("${name}")]);
        Some(ReadVariable { values, behind: &text[end..] })
    }

    fn values_of(&self, name: &str) -> Option<Vec<String>> {
        let values = self.variables.get(name)?;
        let separators = self.variables.get("IFS").and_then(|all| all.last());
        let mut all = values.to_vec();
        if let Some(separators) = separators.filter(|it| !it.is_empty()) {
            let pieces = values.iter().flat_map(|it| it.split(|at| separators.contains(at)));
            all.extend(pieces.map(str::to_owned));
        }
        Some(all)
    }

    /// The values of `${…}`, such as `${name%.md}`.
    fn values_in_braces(&self, inside: &str, depth_left: usize) -> Vec<String> {
        let is_indirect = inside.starts_with('!');
        let inside = inside.trim_start_matches(['!', '#']);
        let end = if inside.starts_with(['@', '*']) {
            1
        } else {
            inside.find(|it: char| !is_name_character(it)).unwrap_or(inside.len())
        };
        let (name, change) = inside.split_at(end);
        let mut values = self.values_of(name);
        if is_indirect {
            let names = values.unwrap_or_default();
            values = Some(names.iter().filter_map(|name| self.values_of(name)).flatten().collect());
        }
        // As in `${files[0]}`.
        let change = match change.strip_prefix('[') {
            Some(index) => index.split_once(']').map_or("", |(_, change)| change),
            None => change,
        };
        match values.filter(|values| !values.is_empty()) {
            Some(values) => values.iter().map(|value| changed(value, change)).collect(),
            None => match default_in(change).zip(depth_left.checked_sub(1)) {
                Some((default, depth_left)) => self.expanded_inside(default, depth_left),
                None => vec![format!("${name}")],
            },
        }
    }

    /// Records the assignments in the words of a command.
    pub(super) fn assignments(&mut self, words: &[&str]) {
        let is_reference = matches!(words, ["declare" | "local" | "typeset", "-n", ..]);
        for word in words {
            if let Some(Assignment { name, value, is_appended }) = Assignment::parse(word) {
                // As in `[key]=value` of a list.
                let value = match value.strip_prefix('[').and_then(|rest| rest.split_once("]=")) {
                    Some((_, value)) => value,
                    None => value,
                };
                if is_appended {
                    self.variables.append(name, value);
                } else {
                    let mut values = self.expanded(value);
                    if is_reference {
                        values = self.values_of(value).unwrap_or(values);
                    }
                    self.variables.add(name, values);
                }
            }
            // As in `${name:=value}`.
            for inside in word.split("${").skip(1) {
                let name_end = inside.find(|it: char| !is_name_character(it)).unwrap_or_default();
                let (name, change) = inside.split_at(name_end);
                let value = change.trim_start_matches(':').strip_prefix('=');
                if let Some(value) = value.and_then(|value| value.split_once('}')) {
                    self.variables.add(name, [value.0.to_owned()]);
                }
            }
        }
        if let ["printf", "-v", name, values @ ..] = words {
            self.variables.add(name, values.iter().map(|value| (*value).to_owned()));
        }
    }

    /// Records the output and the operands of a text's other commands, for programs that read names
    /// into variables.
    pub(super) fn read_names(&mut self, pipelines: &[Vec<SimpleCommand>]) {
        let all = || pipelines.iter().flatten();
        let is_reader = |simple: &&SimpleCommand| {
            simple
                .program()
                .is_some_and(|at| READERS_OF_NAMES.contains(&base_name(&simple.words[at])))
        };
        if !all().any(|simple| is_reader(&simple)) {
            return;
        }
        let prints = |simple: &&SimpleCommand| {
            let program = simple.program().map(|at| base_name(&simple.words[at]));
            matches!(program, Some("echo" | "find" | "ls" | "printf"))
        };
        let printed = all().filter(prints).flat_map(|simple| simple.words.iter().skip(1));
        let given = all().flat_map(|simple| simple.input.split_whitespace());
        let names = printed.map(String::as_str).chain(given).filter(|word| !word.starts_with('-'));
        let names: Vec<String> = names.take(VARIABLE_VALUES_MAX).map(str::to_owned).collect();
        for simple in all().filter(is_reader) {
            let variables = simple.words.iter().skip(1).filter(|word| is_name(word));
            for variable in variables {
                self.variables.add(variable, names.iter().cloned());
            }
        }
    }
}

/// A variable in a word.
struct ReadVariable<'t> {
    /// Its possible values.
    values: Vec<String>,
    /// The text behind it.
    behind: &'t str,
}

/// The end of the braces around a text.
fn end_of_braces(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The value for a variable that is not set.
fn default_in(change: &str) -> Option<&str> {
    change.trim_start_matches(':').strip_prefix(['-', '='])
}

/// A value with the change of `${name…}`, as far as it is literal.
fn changed(value: &str, change: &str) -> String {
    let plain = |text: &str| text.trim_matches(['"', '\'']).to_owned();
    if let Some(end) = change.strip_prefix('%') {
        let end = plain(end.trim_start_matches('%'));
        if let Some(start) = end.strip_suffix('*') {
            let at = value.rfind(start).unwrap_or(value.len());
            return value[..at].to_owned();
        }
        return value.strip_suffix(end.as_str()).unwrap_or(value).to_owned();
    }
    if let Some(start) = change.strip_prefix('#') {
        let start = plain(start.trim_start_matches('#'));
        return value.strip_prefix(start.as_str()).unwrap_or(value).to_owned();
    }
    if let Some(replaced) = change.strip_prefix('/') {
        let (old, new) = replaced.trim_start_matches('/').split_once('/').unwrap_or((replaced, ""));
        return if old.is_empty() {
            value.to_owned()
        } else {
            value.replace(&plain(old), &plain(new))
        };
    }
    match change {
        "^^" => value.to_uppercase(),
        ",," => value.to_lowercase(),
        _ => value.to_owned(),
    }
}
