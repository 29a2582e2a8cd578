//! Splits a shell command into pipelines of simple commands, without running anything.

use std::iter::Peekable;
use std::str::Chars;

use moai_base::limits::SHELL_TEXT_DEPTH_MAX;

use super::base_name;
use super::variables::Assignment;

/// Programs that run the rest of their arguments as a command, and their options that take a value.
const WRAPPERS: [(&str, &[&str]); 34] = [
    ("builtin", &[]),
    ("bunx", &[]),
    ("caffeinate", &[]),
    ("chronic", &[]),
    ("fakeroot", &[]),
    ("strace", &["--output", "-e", "-o", "-p"]),
    ("toybox", &[]),
    ("unbuffer", &[]),
    ("unshare", &[]),
    ("busybox", &[]),
    ("command", &[]),
    ("coproc", &[]),
    ("doas", &["-C", "-u"]),
    ("env", &["--chdir", "-C", "-u"]),
    ("exec", &["-a"]),
    ("flock", &["-E", "-w"]),
    ("hatch", &[]),
    ("ionice", &["-c", "-n"]),
    ("nice", &["-n"]),
    ("nohup", &[]),
    ("npx", &["-p"]),
    ("parallel", &["-j"]),
    ("pdm", &[]),
    ("pipenv", &[]),
    ("poetry", &[]),
    ("screen", &["-S"]),
    ("setsid", &[]),
    ("stdbuf", &["-e", "-i", "-o"]),
    ("sudo", &["-g", "-u"]),
    ("systemd-run", &["-p", "-u"]),
    ("time", &["--output", "-f", "-o"]),
    ("timeout", &["-k", "-s"]),
    ("uv", &[]),
    ("xargs", &["-E", "-I", "-L", "-P", "-a", "-d", "-n", "-s"]),
];
/// Those with a subcommand `run` for this.
const RUNNERS: [&str; 5] = ["hatch", "pdm", "pipenv", "poetry", "uv"];
/// Programs that print the last of their arguments, or a path to it.
const PRINTERS: [&str; 6] = ["echo", "ls", "printf", "readlink", "realpath", "which"];

/// Shell keywords before a command.
const KEYWORDS: [&str; 10] = ["!", "do", "elif", "else", "if", "then", "until", "while", "{", "}"];

/// The beginning or end of a subshell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parenthesis {
    Open,
    Close,
}

/// One program with its arguments.
#[derive(Clone, Debug, Default)]
pub(super) struct SimpleCommand {
    /// Before the program, which is the first of its pipeline.
    pub(super) parenthesis: Option<Parenthesis>,
    pub(super) words: Vec<String>,
    /// Files that its output is redirected to.
    pub(super) targets: Vec<String>,
    /// The texts of its here-documents and here-strings.
    pub(super) input: String,
    /// Files that are its input.
    pub(super) inputs: Vec<String>,
    /// Pipelines whose outputs are among its words; of those in each other, [`SHELL_TEXT_DEPTH_MAX`] levels.
    pub(super) substituted: Vec<Vec<SimpleCommand>>,
}

impl SimpleCommand {
    /// The position of the program; `None` for assignments alone.
    pub(super) fn program(&self) -> Option<usize> {
        let mut wrapper: Option<&str> = None;
        let mut is_value = false;
        let mut has_lock_file = false;
        self.words.iter().position(|word| {
            if std::mem::take(&mut is_value) {
                return false;
            }
            if let Some((_, options)) = WRAPPERS.iter().find(|(name, _)| Some(*name) == wrapper)
                && options.contains(&word.as_str())
            {
                is_value = true;
                return false;
            }
            let is_assignment = Assignment::parse(word).is_some();
            let is_of_wrapper = wrapper.is_some() && (word.starts_with('-') || is_duration(word));
            if is_assignment || KEYWORDS.contains(&word.as_str()) || is_of_wrapper {
                return false;
            }
            if is_wrapper(word) {
                wrapper = Some(base_name(word));
                return false;
            }
            match wrapper {
                Some(runner) if RUNNERS.contains(&runner) && word == "run" => false,
                // Its first argument is the file to lock.
                Some("flock") => std::mem::replace(&mut has_lock_file, true),
                _ => true,
            }
        })
    }
}

/// The folder in which `env` runs its program.
pub(super) fn folder_of_env<'w>(words: &[&'w str]) -> Option<&'w str> {
    let at = words.iter().position(|word| base_name(word) == "env")?;
    let options = &words[at + 1..];
    let behind = options.windows(2).find(|pair| matches!(pair[0], "-C" | "--chdir"));
    let inside = options
        .iter()
        .find_map(|word| word.strip_prefix("--chdir=").or(word.strip_prefix("-C")))
        .filter(|folder| !folder.is_empty());
    behind.map(|pair| pair[1]).or(inside)
}

pub(super) fn is_wrapper(word: &str) -> bool {
    WRAPPERS.iter().any(|(name, _)| *name == base_name(word))
}

/// True if this is a number, with a unit or not.
fn is_duration(word: &str) -> bool {
    word.trim_end_matches(['s', 'm', 'h', 'd']).parse::<f64>().is_ok()
}

/// The commands of a text, those connected by pipes together.
pub(super) fn pipelines(text: &str) -> Vec<Vec<SimpleCommand>> {
    pipelines_inside(text, SHELL_TEXT_DEPTH_MAX)
}

/// The same, with this many texts of here-documents inside it.
fn pipelines_inside(text: &str, depth_left: usize) -> Vec<Vec<SimpleCommand>> {
    let mut reader =
        ShellReader { pipelines: vec![vec![SimpleCommand::default()]], ..ShellReader::default() };
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        match (reader.quote, next) {
            (Some('\''), '\'') | (Some('"'), '"') => reader.quote = None,
            (Some('\''), other) => reader.push(other),
            (Some('"') | None, '\\') => match rest.next() {
                Some('\n') | None => {}
                Some(escaped) => reader.push(escaped),
            },
            // A substitution runs its own command; the word around it continues after it.
            (_, '$') if rest.peek() == Some(&'(') => {
                rest.next();
                reader.begin_substitution(false);
            }
            (_, '`') if reader.outer.last().is_some_and(|outer| outer.is_backtick) => {
                reader.end_substitution();
            }
            (_, '`') => reader.begin_substitution(true),
            // As in `$'a\x62'` and `$"a"`.
            (None, '$') if rest.next_if_eq(&'\'').is_some() => {
                let text = escaped_text(&mut rest);
                reader.word.push_str(&text);
                reader.is_in_word = true;
            }
            (None, '$') if rest.peek() == Some(&'"') => {}
            (None, ')') if reader.outer.last().is_some_and(|outer| !outer.is_backtick) => {
                reader.end_substitution();
            }
            (None, quote @ ('\'' | '"')) => {
                reader.quote = Some(quote);
                reader.is_quoted_word = true;
                reader.is_in_word = true;
            }
            (None, '#') if !reader.is_in_word => while rest.next_if(|it| *it != '\n').is_some() {},
            (None, '>') => {
                // The number or `&` before it selects a stream.
                if reader.word.chars().all(|it| it.is_ascii_digit() || it == '&') {
                    reader.word.clear();
                }
                reader.end_word();
                while rest.next_if(|it| matches!(it, '>' | '|')).is_some() {}
                // `>&2` duplicates a stream.
                reader.is_target = rest.next_if_eq(&'&').is_none()
                    || !rest.peek().is_some_and(|it| it.is_ascii_digit() || *it == '-');
            }
            (None, '<') => {
                reader.end_word();
                if rest.next_if_eq(&'>').is_some() {
                    reader.is_target = true;
                } else if rest.next_if_eq(&'<').is_none() {
                    reader.is_input = true;
                } else if rest.next_if_eq(&'<').is_some() {
                    reader.is_here_string = true;
                } else {
                    rest.next_if_eq(&'-');
                    reader.is_delimiter = true;
                }
            }
            (None, '|') if rest.peek() != Some(&'|') => {
                rest.next_if_eq(&'&');
                reader.end_command();
            }
            (None, '&') if rest.peek() == Some(&'>') => reader.end_word(),
            (None, '\n') => {
                reader.end_word();
                let mut run = Vec::new();
                for (delimiter, is_quoted) in std::mem::take(&mut reader.delimiters) {
                    let text = here_document(&mut rest, &delimiter);
                    reader.add_input(&text);
                    if let Some(depth_left) = depth_left.checked_sub(1).filter(|_| !is_quoted) {
                        let inner = |text| pipelines_inside(text, depth_left);
                        run.extend(substitutions(&text).flat_map(inner));
                    }
                }
                reader.pipelines.extend(run);
                reader.end_pipeline();
            }
            (None, '(') if reader.word.ends_with('=') => reader.array(&mut rest),
            (None, '(') => reader.parenthesis(Parenthesis::Open),
            (None, ')') => reader.parenthesis(Parenthesis::Close),
            (None, ';' | '|' | '&') => reader.end_pipeline(),
            (None, space) if space.is_whitespace() => reader.end_word(),
            (_, other) => reader.push(other),
        }
    }
    reader.end_word();
    while !reader.outer.is_empty() {
        reader.end_substitution();
        reader.end_word();
    }
    reader.pipelines
}

/// Takes the lines of a here-document up to its delimiter.
fn here_document(rest: &mut Peekable<Chars<'_>>, delimiter: &str) -> String {
    let mut text = String::new();
    while rest.peek().is_some() {
        let line: String = rest.by_ref().take_while(|it| *it != '\n').collect();
        if line.trim() == delimiter {
            break;
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The commands in the substitutions of a text.
fn substitutions(text: &str) -> impl Iterator<Item = &str> {
    let in_brackets = text.split("$(").skip(1).filter_map(|rest| {
        let mut depth = 0_usize;
        let end = rest.find(|it: char| {
            depth = if it == '(' { depth + 1 } else { depth };
            let is_end = it == ')' && depth == 0;
            depth = if it == ')' { depth.saturating_sub(1) } else { depth };
            is_end
        });
        end.map(|end| &rest[..end])
    });
    in_brackets.chain(text.split('`').skip(1).step_by(2))
}

/// Takes a text up to its quotation mark, with the escapes of `$'…'`.
fn escaped_text(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(next) = rest.next().filter(|next| *next != '\'') {
        if next != '\\' {
            text.push(next);
            continue;
        }
        let Some(kind) = rest.next() else { break };
        let (radix, digits_max) = match kind {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 3),
            _ => {
                text.push(match kind {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    other => other,
                });
                continue;
            }
        };
        let mut digits: String = if radix == 8 { kind.to_string() } else { String::new() };
        while digits.len() < digits_max && rest.peek().is_some_and(|it| it.is_digit(radix)) {
            digits.extend(rest.next());
        }
        text.extend(u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32));
    }
    text
}

/// The output of a command, if its text shows it.
fn printed(command: &SimpleCommand) -> Option<String> {
    let (program, arguments) = command.words.split_first()?;
    let last = arguments.last().map(String::as_str).unwrap_or_default();
    match base_name(program) {
        "git" if arguments.iter().any(|word| word == "rev-parse") => {
            return match last {
                "--show-toplevel" | "--show-cdup" => Some(".".to_owned()),
                "--absolute-git-dir" | "--git-common-dir" | "--git-dir" => Some(".git".to_owned()),
                path if arguments.iter().any(|word| word == "--git-path") => {
                    Some(format!(".git/{path}"))
                }
                _ => None,
            };
        }
        "dirname" => {
            return Some(last.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned());
        }
        _ => {}
    }
    if program == "echo" {
        let words = arguments.iter().filter(|word| !word.starts_with('-'));
        return Some(words.cloned().collect::<Vec<_>>().join(" "));
    }
    // As in `command -v moai-ralph`.
    let is_known = PRINTERS.contains(&base_name(program)) || program == "command";
    arguments.last().filter(|last| is_known && !last.starts_with('-')).cloned()
}

#[derive(Debug, Default)]
struct ShellReader {
    pipelines: Vec<Vec<SimpleCommand>>,
    word: String,
    is_in_word: bool,
    /// The next word is the target of a redirection.
    is_target: bool,
    /// The next word is a file that is read.
    is_input: bool,
    /// The next word is the input itself.
    is_here_string: bool,
    /// The next word ends a here-document.
    is_delimiter: bool,
    /// Delimiters of the here-documents that begin on the next line, and whether they are quoted: in
    /// the others substitutions run.
    delimiters: Vec<(String, bool)>,
    /// True if the present word has quotes.
    is_quoted_word: bool,
    quote: Option<char>,
    /// The contexts of the current substitutions: quote and command.
    outer: Vec<OuterCommand>,
}

/// A command that a substitution interrupts.
#[derive(Debug)]
struct OuterCommand {
    is_backtick: bool,
    quote: Option<char>,
    word: String,
    is_target: bool,
    pipeline: Vec<SimpleCommand>,
}

impl ShellReader {
    fn push(&mut self, character: char) {
        self.word.push(character);
        self.is_in_word = true;
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let is_quoted = std::mem::take(&mut self.is_quoted_word);
        if !std::mem::take(&mut self.is_in_word) || word.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_delimiter) {
            self.delimiters.push((word, is_quoted));
            return;
        }
        let is_input = std::mem::take(&mut self.is_input);
        if std::mem::take(&mut self.is_here_string) {
            self.add_input(&word);
            return;
        }
        let is_target = std::mem::take(&mut self.is_target);
        let command = self.pipelines.last_mut().and_then(|pipeline| pipeline.last_mut());
        let Some(command) = command else { return };
        let list = match (is_input, is_target) {
            (true, _) => &mut command.inputs,
            (false, true) => &mut command.targets,
            (false, false) => &mut command.words,
        };
        list.push(word);
    }

    /// Reads the values of a list, each as an assignment: `a=(b c)`.
    fn array(&mut self, rest: &mut Peekable<Chars<'_>>) {
        let name = std::mem::take(&mut self.word).trim_end_matches(['=', '+']).to_owned();
        self.is_in_word = false;
        let values: String = rest.take_while(|it| *it != ')').collect();
        let command = self.pipelines.last_mut().and_then(|pipeline| pipeline.last_mut());
        let Some(command) = command else { return };
        for value in values.split_whitespace() {
            command.words.push(format!("{name}={}", value.trim_matches(['"', '\''])));
        }
    }

    /// Gives the text of a here-document or a here-string to the last command that has words.
    fn add_input(&mut self, text: &str) {
        let commands =
            self.pipelines.iter_mut().rev().flat_map(|pipeline| pipeline.iter_mut().rev());
        if let Some(command) = commands.into_iter().find(|command| !command.words.is_empty()) {
            command.input.push_str(text);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        if let Some(pipeline) = self.pipelines.last_mut() {
            pipeline.push(SimpleCommand::default());
        }
    }

    fn end_pipeline(&mut self) {
        self.end_word();
        // As in `<(command)`.
        (self.is_input, self.is_target, self.is_delimiter) = (false, false, false);
        self.is_here_string = false;
        self.pipelines.push(vec![SimpleCommand::default()]);
    }

    fn parenthesis(&mut self, parenthesis: Parenthesis) {
        self.end_pipeline();
        let command = SimpleCommand { parenthesis: Some(parenthesis), ..SimpleCommand::default() };
        self.pipelines.push(vec![command]);
    }

    fn begin_substitution(&mut self, is_backtick: bool) {
        let pipeline = self.pipelines.pop().unwrap_or_default();
        self.outer.push(OuterCommand {
            is_backtick,
            quote: self.quote.take(),
            word: std::mem::take(&mut self.word),
            is_target: std::mem::take(&mut self.is_target),
            pipeline,
        });
        self.is_in_word = false;
        self.pipelines.push(vec![SimpleCommand::default()]);
    }

    fn end_substitution(&mut self) {
        self.end_word();
        let Some(mut outer) = self.outer.pop() else { return };
        // Each level holds a copy of those inside it.
        if self.outer.len() < SHELL_TEXT_DEPTH_MAX
            && let (Some(command), Some(inner)) = (outer.pipeline.last_mut(), self.pipelines.last())
        {
            command.substituted.push(inner.clone());
        }
        let printed = self.pipelines.last().and_then(|pipeline| pipeline.last()).and_then(printed);
        let printed = printed.unwrap_or_else(|| "$()".to_owned());
        self.pipelines.push(outer.pipeline);
        (self.word, self.quote, self.is_target) = (outer.word, outer.quote, outer.is_target);
        for (at, piece) in printed.split(' ').enumerate() {
            // Outside of quotes, each printed word is one of the command.
            match self.quote {
                _ if at == 0 => {}
                Some(_) => self.word.push(' '),
                None => self.end_word(),
            }
            self.word.push_str(piece);
            self.is_in_word = true;
        }
    }
}
