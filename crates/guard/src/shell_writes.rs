//! The words of a shell command that may name a file which the command writes. An approximation by
//! the command's text: variables, functions and scripts are not followed, so a caller that must know
//! compares the files afterwards. Of two errors it prefers the missed write, because reading a
//! protected file is allowed.

/// Programs that write no file that they are given.
const READERS: [&str; 62] = [
    ".",
    ":",
    "[",
    "[[",
    "ack",
    "ag",
    "alias",
    "awk",
    "basename",
    "bat",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "comm",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "export",
    "false",
    "fd",
    "fgrep",
    "file",
    "find",
    "grep",
    "head",
    "hexdump",
    "jq",
    "less",
    "ls",
    "md5sum",
    "more",
    "moai-ralph",
    "nl",
    "od",
    "printf",
    "pwd",
    "read",
    "readlink",
    "realpath",
    "rg",
    "sed",
    "sha256sum",
    "sort",
    "source",
    "stat",
    "tail",
    "test",
    "tr",
    "tree",
    "true",
    "type",
    "uniq",
    "wc",
    "which",
    "xxd",
    "yq",
];

/// Arguments by which some of them write after all.
const WRITING_ARGUMENTS: [(&str, &[&str]); 6] = [
    ("awk", &["inplace"]),
    ("find", &["-delete", "-exec", "-execdir", "-ok", "-fprint", "-fprintf", "-fls"]),
    ("sed", &["-i", "--in-place", "-n -i", "-Ei", "-ni", "-i.bak"]),
    ("sort", &["-o", "--output"]),
    ("xxd", &["-r"]),
    ("yq", &["-i", "--inplace"]),
];

/// Commands of git that write files of the work tree or of its own folder by name.
const GIT_WRITERS: [&str; 17] = [
    "am",
    "apply",
    "checkout",
    "cherry-pick",
    "clean",
    "config",
    "merge",
    "mv",
    "pull",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "switch",
    "update-ref",
];

/// Shells, which read a script that they are given.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];

/// Programs that run the rest of their arguments as a command.
const WRAPPERS: [&str; 9] =
    ["builtin", "command", "env", "exec", "nice", "nohup", "sudo", "time", "timeout"];

/// Words before a command that are no command themselves.
const KEYWORDS: [&str; 10] = ["!", "do", "elif", "else", "if", "then", "until", "while", "{", "}"];

/// Programs that take the names of files from their input.
const NAME_READERS: [&str; 2] = ["parallel", "xargs"];

/// Programs that remove or replace whole folders, or their permissions.
const FOLDER_WRITERS: [&str; 8] =
    ["chmod", "chown", "mv", "rm", "rmdir", "rsync", "shred", "unlink"];

/// A word that may name a written file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenWord {
    /// The folder that earlier `cd` commands lead to, as typed; empty for the command's own.
    pub folder: String,
    /// The word without its quotes.
    pub word: String,
    /// Whether everything below a folder of this name is written too.
    pub is_whole_folder: bool,
}

/// The words that may name a written file, in order, without duplicates.
#[must_use]
pub fn written_words(command: &str) -> Vec<WrittenWord> {
    let mut found = Vec::new();
    let mut folder = String::new();
    let mut assigned = Vec::new();
    for pipeline in pipelines(command) {
        let names_are_piped = pipeline.iter().any(|one| {
            one.program().is_some_and(|at| NAME_READERS.contains(&base_name(&one.words[at])))
        });
        for simple in &pipeline {
            for target in &simple.targets {
                push(&mut found, &folder, target, false);
            }
            let Some(at) = simple.program() else {
                let values = simple.words.iter().filter_map(|word| word.split_once('='));
                assigned.extend(values.map(|(_, value)| value.to_owned()));
                continue;
            };
            let (program, arguments) = (base_name(&simple.words[at]), &simple.words[at + 1..]);
            if program == "cd" {
                folder = joined(&folder, arguments.first().map_or("", String::as_str));
                continue;
            }
            let runs_text = arguments.iter().any(|it| it.starts_with('-') && it.contains('c'));
            let is_script = SHELLS.contains(&program) && !runs_text;
            // The script is read; what `-c` runs is searched like any text.
            let arguments = if is_script { arguments.get(1..).unwrap_or(&[]) } else { arguments };
            if is_reader(program, arguments) && !names_are_piped {
                continue;
            }
            let is_whole_folder = FOLDER_WRITERS.contains(&program);
            for word in arguments {
                push(&mut found, &folder, word, is_whole_folder);
                for part in path_like_parts(word) {
                    push(&mut found, &folder, part, is_whole_folder);
                }
            }
            for value in std::mem::take(&mut assigned) {
                push(&mut found, &folder, &value, is_whole_folder);
            }
        }
    }
    found
}

fn push(found: &mut Vec<WrittenWord>, folder: &str, word: &str, is_whole_folder: bool) {
    let new = WrittenWord { folder: folder.to_owned(), word: word.to_owned(), is_whole_folder };
    if !word.is_empty() && !found.contains(&new) {
        found.push(new);
    }
}

fn joined(folder: &str, next: &str) -> String {
    match next {
        "" | "-" => String::new(),
        next if folder.is_empty() || next.starts_with(['/', '~', '$']) => next.to_owned(),
        next => format!("{folder}/{next}"),
    }
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn is_reader(program: &str, arguments: &[String]) -> bool {
    if program == "git" {
        // An option's value, as of `-C FOLDER`, is no command.
        return !arguments.iter().any(|word| GIT_WRITERS.contains(&word.as_str()));
    }
    let writing = WRITING_ARGUMENTS.iter().find(|(name, _)| *name == program);
    let is_writing = writing.is_some_and(|(_, flags)| {
        arguments.iter().any(|word| flags.iter().any(|flag| word.starts_with(flag)))
    });
    READERS.contains(&program) && !is_writing
}

/// The parts of a quoted program text, such as that of `python -c`, that look like paths.
fn path_like_parts(word: &str) -> impl Iterator<Item = &str> {
    let is_text = word.contains(|it: char| it.is_whitespace() || "()'\"=,;".contains(it));
    let is_of_path = |it: char| it.is_alphanumeric() || "._-/~$".contains(it);
    word.split(move |it: char| !is_of_path(it)).filter(move |_| is_text)
}

/// One program with its arguments.
#[derive(Debug, Default)]
struct SimpleCommand {
    words: Vec<String>,
    /// Files that its output is redirected to.
    targets: Vec<String>,
}

impl SimpleCommand {
    /// The position of the program; `None` for assignments alone.
    fn program(&self) -> Option<usize> {
        let mut is_after_wrapper = false;
        self.words.iter().position(|word| {
            let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|it| it.is_alphanumeric() || it == '_')
            });
            let is_skipped = is_assignment
                || KEYWORDS.contains(&word.as_str())
                || is_after_wrapper && (word.starts_with('-') || word.parse::<f64>().is_ok());
            let is_wrapper = WRAPPERS.contains(&base_name(word));
            is_after_wrapper |= is_wrapper;
            !is_skipped && !is_wrapper
        })
    }
}

/// The commands of a text, those connected by pipes together.
fn pipelines(text: &str) -> Vec<Vec<SimpleCommand>> {
    let mut reader =
        ShellReader { pipelines: vec![vec![SimpleCommand::default()]], ..Default::default() };
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        match (reader.quote, next) {
            (Some('\''), '\'') | (Some('"'), '"') => reader.quote = None,
            (Some('\''), other) => reader.push(other),
            (Some('"') | None, '\\') => match rest.next() {
                Some('\n') | None => {}
                Some(escaped) => reader.push(escaped),
            },
            // A substitution in quotes runs a command of its own.
            (_, '$') if rest.peek() == Some(&'(') => {
                rest.next();
                reader.quote = None;
                reader.end_pipeline();
            }
            (None, quote @ ('\'' | '"')) => {
                reader.quote = Some(quote);
                reader.is_in_word = true;
            }
            (None, '#') if !reader.is_in_word => while rest.next_if(|it| *it != '\n').is_some() {},
            (None, '>') => {
                // The number or `&` before it names a stream.
                if reader.word.chars().all(|it| it.is_ascii_digit() || it == '&') {
                    reader.word.clear();
                }
                reader.end_word();
                while rest.next_if(|it| matches!(it, '>' | '|')).is_some() {}
                // `>&2` duplicates a stream.
                reader.is_target = rest.next_if_eq(&'&').is_none()
                    || !rest.peek().is_some_and(|it| it.is_ascii_digit() || *it == '-');
            }
            (None, '<') => reader.end_word(),
            (None, '|') if rest.peek() != Some(&'|') => {
                rest.next_if_eq(&'&');
                reader.end_command();
            }
            (None, '&') if rest.peek() == Some(&'>') => reader.end_word(),
            (None, ';' | '|' | '&' | '\n' | '(' | ')') | (_, '`') => reader.end_pipeline(),
            (None, space) if space.is_whitespace() => reader.end_word(),
            (_, other) => reader.push(other),
        }
    }
    reader.end_word();
    reader.pipelines
}

#[derive(Debug, Default)]
struct ShellReader {
    pipelines: Vec<Vec<SimpleCommand>>,
    word: String,
    is_in_word: bool,
    /// The next word is the target of a redirection.
    is_target: bool,
    quote: Option<char>,
}

impl ShellReader {
    fn push(&mut self, character: char) {
        self.word.push(character);
        self.is_in_word = true;
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let is_target = std::mem::take(&mut self.is_in_word) && std::mem::take(&mut self.is_target);
        let command = self.pipelines.last_mut().and_then(|pipeline| pipeline.last_mut());
        if let Some(command) = command.filter(|_| !word.is_empty()) {
            let list = if is_target { &mut command.targets } else { &mut command.words };
            list.push(word);
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
        self.pipelines.push(vec![SimpleCommand::default()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(command: &str, name: &str) -> bool {
        written_words(command).iter().any(|found| {
            let path = joined(&found.folder, &found.word);
            path == name || found.is_whole_folder && name.starts_with(&format!("{path}/"))
        })
    }

    #[test]
    fn reading_and_running_a_file_writes_nothing() {
        for command in [
            "cat RUBRIC.md",
            "cat RUBRIC.md && npm test",
            "grep -n x RUBRIC.md | head -3; make",
            "bash RUBRIC.md --fast",
            "./RUBRIC.md",
            "git diff RUBRIC.md",
            "git add RUBRIC.md && git commit -m 'RUBRIC.md: more'",
            "sed -n 1,5p RUBRIC.md",
            "npm test > out.txt 2>&1 # RUBRIC.md",
            "cat < RUBRIC.md",
            "if grep -q x RUBRIC.md; then npm test; fi",
            "diff RUBRIC.md other.md >/tmp/d",
        ] {
            assert!(!writes(command, "RUBRIC.md"), "{command}");
        }
    }

    #[test]
    fn every_usual_way_to_write_is_found() {
        for command in [
            "echo x > RUBRIC.md",
            "echo x >>RUBRIC.md",
            "echo x &> RUBRIC.md",
            "echo x >| 'RUBRIC.md'",
            "echo x 1>\"RUBRIC.md\"",
            "sed -i s/a/b/ RUBRIC.md",
            "sed -i.bak s/a/b/ RUBRIC.md",
            "rm -f RUBRIC.md",
            "cp other.md RUBRIC.md",
            "true && sudo -n mv other.md RUBRIC.md",
            "cat other | tee RUBRIC.md >/dev/null",
            "python3 -c \"open('RUBRIC.md', 'w').write('')\"",
            "bash -c 'echo x > RUBRIC.md'",
            "echo RUBRIC.md | xargs rm",
            "find . -name RUBRIC.md -delete",
            "git checkout HEAD~3 -- RUBRIC.md",
            "git -C . restore RUBRIC.md",
            "f=RUBRIC.md; rm $f",
            "x=$(rm RUBRIC.md)",
            "echo \"$(rm RUBRIC.md)\"",
            "(cd . ; truncate -s 0 RUBRIC.md)",
            "if true; then rm RUBRIC.md; fi",
            "env A=1 timeout 5 rm RUBRIC.md",
            "R\\UBRIC=1 rm RUBR''IC.md",
            "dd if=/dev/null of=RUBRIC.md",
        ] {
            let is_found = ["RUBRIC.md", "./RUBRIC.md"].iter().any(|name| writes(command, name));
            assert!(is_found, "{command}: {:?}", written_words(command));
        }
    }

    #[test]
    fn folders_count_where_the_program_takes_all_of_them_and_after_cd() {
        assert!(writes("rm -rf .moai", ".moai/config/lsp.json"));
        assert!(!writes("prettier --write .moai", ".moai/config/lsp.json"));
        assert!(writes("cd .claude && rm autochecks.sh", ".claude/autochecks.sh"));
        assert!(writes("cd a; cd b; touch c", "a/b/c"));
    }

    #[test]
    fn odd_texts_end() {
        for command in ["", "'", "\"$(", "`", "\\", "a | | b", ">", "$((", "<<EOF\nrm x\nEOF", "\0"]
        {
            let _ = written_words(command);
        }
    }
}
