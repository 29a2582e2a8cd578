//! The paths that a shell command may write, judged by its text alone. Programs are known by name, and
//! scripts, functions and archives are not followed, so a caller that must be sure compares the files
//! afterwards. In doubt a path does not count, because reading a protected file is allowed.

use std::collections::{HashMap, HashSet};
use std::iter::Peekable;
use std::str::Chars;

use moai_base::limits::WRITTEN_PATHS_MAX;

/// Programs that write the files that they are given.
const WRITERS: [&str; 17] = [
    "chmod", "chown", "dd", "ed", "ex", "ln", "patch", "rm", "rmdir", "shred", "sponge", "tee",
    "touch", "truncate", "unlink", "mkfifo", "mv",
];

/// Programs that write their last argument, or into it.
const COPIERS: [&str; 4] = ["cp", "install", "rsync", "scp"];

/// Arguments by which programs that usually read write after all.
const WRITING_ARGUMENTS: [(&str, &[&str]); 6] = [
    ("find", &["-delete", "-exec", "-execdir", "-ok", "-fprint", "-fprintf", "-fls"]),
    ("perl", &["-i", "-pi"]),
    ("sed", &["-i", "--in-place", "-Ei", "-ei", "-ni", "-ri", "-si", "-zi"]),
    ("sort", &["-o", "--output", "-uo"]),
    ("xxd", &["-r"]),
    ("yq", &["-i", "-yi", "--inplace"]),
];

/// Commands of git that write files of the work tree that they are given.
const GIT_WRITERS: [&str; 5] = ["checkout", "checkout-index", "mv", "restore", "rm"];
/// Options with which these change only the index.
const GIT_INDEX_ONLY: [&str; 3] = ["--cached", "--staged", "-S"];
/// Options of git before its command that take a value.
const GIT_VALUE_OPTIONS: [&str; 4] = ["-C", "-c", "--git-dir", "--work-tree"];

/// Programs that run a text: of an argument such as `-c`, or of their input.
const INTERPRETERS: [&str; 11] =
    ["bash", "dash", "deno", "ksh", "node", "perl", "php", "python", "ruby", "sh", "zsh"];
/// What a text of such a program contains when it writes files.
const WRITE_HINTS: [&str; 16] = [
    ">", "write", "'w", "\"w", "'a'", "\"a\"", "unlink", "remove", "rename", "truncate", "dump(",
    "copy", "move", "rmtree", "rm ", "sed -i",
];

/// Programs that run the rest of their arguments as a command.
const WRAPPERS: [&str; 11] = [
    "builtin", "command", "env", "exec", "nice", "nohup", "setsid", "sudo", "time", "timeout",
    "xargs",
];

/// Words before a command that are no command themselves.
const KEYWORDS: [&str; 10] = ["!", "do", "elif", "else", "if", "then", "until", "while", "{", "}"];

/// Programs that remove or replace whole folders, or their permissions.
const FOLDER_WRITERS: [&str; 6] = ["chmod", "chown", "mv", "rm", "rmdir", "shred"];

/// A path that a command may write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShellWrite {
    /// As typed, without quotes; relative to the folder in which the command starts.
    pub path: String,
    /// Whether everything below a folder of this name is written too.
    pub is_whole_folder: bool,
}

/// The paths that a command may write, in order, without duplicates; at most [`WRITTEN_PATHS_MAX`].
#[must_use]
pub fn shell_writes(command: &str) -> Vec<ShellWrite> {
    let mut search = WriteSearch::default();
    for pipeline in pipelines(command) {
        let is_piped_to_writer = pipeline.iter().any(|one| {
            let words = &one.words;
            let xargs =
                words.iter().position(|word| matches!(base_name(word), "parallel" | "xargs"));
            xargs.is_some_and(|at| {
                words[at + 1..].iter().any(|word| writes_files(base_name(word), words))
            })
        });
        for simple in &pipeline {
            search.simple_command(simple, is_piped_to_writer);
        }
    }
    search.found
}

/// What a program of this name is called with in a command: its arguments without options, for each
/// call.
#[must_use]
pub fn calls_of(program: &str, command: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    for simple in pipelines(command).into_iter().flatten() {
        let Some(at) = simple.program() else { continue };
        // Options of a wrapper may have values, which look like a program.
        let is_wrapped = simple.words[..at].iter().any(|word| WRAPPERS.contains(&base_name(word)));
        let named = simple.words.iter().position(|word| base_name(word) == program);
        if let Some(named) = named.filter(|named| *named == at || is_wrapped) {
            let arguments = simple.words[named + 1..].iter();
            calls.push(arguments.filter(|word| !word.starts_with('-')).cloned().collect());
        }
    }
    calls
}

/// What was found so far, and what later commands depend on.
#[derive(Default)]
struct WriteSearch {
    found: Vec<ShellWrite>,
    seen: HashSet<ShellWrite>,
    /// Where earlier `cd` commands lead; empty for the folder in which the command starts.
    folder: String,
    /// Values of variables and of `for` loops, by name.
    variables: HashMap<String, Vec<String>>,
}

impl WriteSearch {
    fn simple_command(&mut self, simple: &SimpleCommand, is_piped_to_writer: bool) {
        for target in &simple.targets {
            self.push(target, false);
        }
        let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
        for word in &words {
            if let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_name(name)) {
                self.variables.entry(name.to_owned()).or_default().push(value.to_owned());
            }
        }
        if let ["for", name, "in", values @ ..] = words.as_slice() {
            let values = values.iter().map(|value| (*value).to_owned());
            self.variables.entry((*name).to_owned()).or_default().extend(values);
            return;
        }
        let Some(at) = simple.program() else { return };
        let (program, arguments) = (base_name(words[at]), &words[at + 1..]);
        if matches!(program, "cd" | "pushd") {
            self.folder = joined(&self.folder, arguments.first().copied().unwrap_or_default());
            return;
        }
        // `python3.12` is `python`.
        let unversioned = program.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
        if INTERPRETERS.contains(&unversioned) {
            self.program_texts(arguments, &simple.input);
            return;
        }
        let is_whole_folder = FOLDER_WRITERS.contains(&program) || program == "git";
        if COPIERS.contains(&program) || program == "mv" {
            self.copy(program, arguments);
        } else if writes_files(program, &simple.words) || is_piped_to_writer {
            for word in arguments.iter().filter(|word| !word.starts_with('-')) {
                self.push(word, is_whole_folder);
            }
            for named in arguments.iter().filter_map(|word| word.strip_prefix("of=")) {
                self.push(named, false);
            }
        }
        if let Some(output) = arguments.iter().find_map(|word| word.strip_prefix("--output=")) {
            self.push(output, false);
        }
    }

    /// The last argument of a copy is the file, or the folder that gets files of the same names.
    fn copy(&mut self, program: &str, arguments: &[&str]) {
        let named: Vec<&str> =
            arguments.iter().copied().filter(|word| !word.starts_with('-')).collect();
        let Some((target, sources)) = named.split_last() else { return };
        self.push(target, false);
        for source in sources {
            self.push(&format!("{}/{}", target.trim_end_matches('/'), base_name(source)), false);
            if program == "mv" {
                self.push(source, true);
            }
        }
    }

    /// Texts that an interpreter runs: what looks like a path in them counts if they write at all.
    fn program_texts(&mut self, arguments: &[&str], input: &str) {
        let flag = arguments.iter().position(|word| {
            word.starts_with('-') && word.ends_with(['c', 'e', 'r']) && word.len() <= 4
        });
        let text = flag.and_then(|at| arguments.get(at + 1)).copied().unwrap_or_default();
        for text in [text, input] {
            for found in written_in_text(text) {
                self.push(&found, false);
            }
        }
    }

    /// Adds a word with the values of its variable; a pattern stands for everything in its folder.
    fn push(&mut self, word: &str, is_whole_folder: bool) {
        let name = word.split_once('$').map(|(_, rest)| rest.trim_start_matches('{'));
        let name = name.map(|rest| rest.split(|it: char| !is_name_character(it)).next());
        let values =
            name.flatten().and_then(|name| Some((name, self.variables.get(name)?.clone())));
        if let Some((name, values)) = values {
            for value in values {
                let filled = word.replace(&format!("${{{name}}}"), &value);
                self.add(&filled.replace(&format!("${name}"), &value), is_whole_folder);
            }
            return;
        }
        self.add(word, is_whole_folder);
    }

    fn add(&mut self, word: &str, is_whole_folder: bool) {
        let is_pattern = word.contains(['*', '?', '{', '[']);
        let (word, is_whole_folder) = match word.split(['*', '?', '{', '[']).next() {
            Some(start) if is_pattern => {
                (start.rsplit_once('/').map_or("", |(folder, _)| folder), true)
            }
            _ => (word, is_whole_folder),
        };
        // A substitution before a path usually prints the present folder.
        let word = word.trim_start_matches("$()/");
        let new = ShellWrite { path: joined(&self.folder, word), is_whole_folder };
        let has_room = self.found.len() < WRITTEN_PATHS_MAX;
        if has_room && !word.is_empty() && self.seen.insert(new.clone()) {
            self.found.push(new);
        }
    }
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_name_character)
}

/// Whether a program writes the files that it is given with these words.
fn writes_files(program: &str, words: &[String]) -> bool {
    if program == "git" {
        return writes_by_git(words);
    }
    let flags = WRITING_ARGUMENTS.iter().find(|(name, _)| *name == program).map(|(_, flags)| flags);
    let has_flag = flags.is_some_and(|flags| {
        words.iter().any(|word| flags.iter().any(|flag| word.starts_with(flag)))
    });
    WRITERS.contains(&program) || COPIERS.contains(&program) || has_flag
}

fn writes_by_git(words: &[String]) -> bool {
    let mut rest = words.iter().skip_while(|word| base_name(word) != "git").skip(1);
    let mut command = None;
    while let Some(word) = rest.next() {
        if GIT_VALUE_OPTIONS.contains(&word.as_str()) {
            rest.next();
        } else if !word.starts_with('-') {
            command = Some(word.as_str());
            break;
        }
    }
    let is_index_only = words.iter().any(|word| GIT_INDEX_ONLY.contains(&word.as_str()));
    command.is_some_and(|command| GIT_WRITERS.contains(&command)) && !is_index_only
}

/// The parts of a program text that look like paths; none if nothing in it writes.
fn written_in_text(text: &str) -> Vec<String> {
    if !WRITE_HINTS.iter().any(|hint| text.contains(hint)) {
        return Vec::new();
    }
    let is_of_path = |it: char| it.is_alphanumeric() || "._-/~$".contains(it);
    let parts = text.split(|it: char| !is_of_path(it)).filter(|part| part.contains(['.', '/']));
    parts.take(WRITTEN_PATHS_MAX).map(str::to_owned).collect()
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

/// One program with its arguments.
#[derive(Debug, Default)]
struct SimpleCommand {
    words: Vec<String>,
    /// Files that its output is redirected to.
    targets: Vec<String>,
    /// The texts of its here-documents.
    input: String,
}

impl SimpleCommand {
    /// The position of the program; `None` for assignments alone.
    fn program(&self) -> Option<usize> {
        let mut is_after_wrapper = false;
        self.words.iter().position(|word| {
            let is_assignment = word.split_once('=').is_some_and(|(name, _)| is_name(name));
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
            // A substitution runs a command of its own; the word around it goes on after it.
            (_, '$') if rest.peek() == Some(&'(') => {
                rest.next();
                reader.begin_substitution();
            }
            (None, ')') if !reader.outer.is_empty() => reader.end_substitution(),
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
            (None, '<') => {
                reader.end_word();
                let is_document = rest.next_if_eq(&'<').is_some() && rest.peek() != Some(&'<');
                if is_document {
                    rest.next_if_eq(&'-');
                    reader.is_delimiter = true;
                } else {
                    while rest.next_if_eq(&'<').is_some() {}
                    reader.is_input = true;
                }
            }
            (None, '|') if rest.peek() != Some(&'|') => {
                rest.next_if_eq(&'&');
                reader.end_command();
            }
            (None, '&') if rest.peek() == Some(&'>') => reader.end_word(),
            (None, '\n') => {
                reader.end_word();
                for delimiter in std::mem::take(&mut reader.delimiters) {
                    let text = here_document(&mut rest, &delimiter);
                    reader.add_input(&text);
                }
                reader.end_pipeline();
            }
            (None, ';' | '|' | '&' | '(' | ')') | (_, '`') => reader.end_pipeline(),
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

#[derive(Debug, Default)]
struct ShellReader {
    pipelines: Vec<Vec<SimpleCommand>>,
    word: String,
    is_in_word: bool,
    /// The next word is the target of a redirection.
    is_target: bool,
    /// The next word is a file that is read.
    is_input: bool,
    /// The next word ends a here-document.
    is_delimiter: bool,
    /// Delimiters of the here-documents that begin on the next line.
    delimiters: Vec<String>,
    quote: Option<char>,
    /// What surrounds the present substitutions: quote and command.
    outer: Vec<OuterCommand>,
}

/// A command that a substitution interrupts.
#[derive(Debug)]
struct OuterCommand {
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
        if !std::mem::take(&mut self.is_in_word) || word.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_delimiter) {
            self.delimiters.push(word);
            return;
        }
        let is_input = std::mem::take(&mut self.is_input);
        let is_target = std::mem::take(&mut self.is_target);
        let command = self.pipelines.last_mut().and_then(|pipeline| pipeline.last_mut());
        if let Some(command) = command.filter(|_| !is_input) {
            let list = if is_target { &mut command.targets } else { &mut command.words };
            list.push(word);
        }
    }

    /// Gives the text of a here-document to the last command that has words.
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
        self.pipelines.push(vec![SimpleCommand::default()]);
    }

    fn begin_substitution(&mut self) {
        let pipeline = self.pipelines.pop().unwrap_or_default();
        self.outer.push(OuterCommand {
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
        let Some(outer) = self.outer.pop() else { return };
        self.pipelines.push(outer.pipeline);
        // What the command printed is unknown.
        self.word = outer.word + "$()";
        (self.quote, self.is_target, self.is_in_word) = (outer.quote, outer.is_target, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(command: &str, name: &str) -> bool {
        shell_writes(command).iter().any(|found| {
            let below = format!("{}/", found.path);
            found.path == name || found.is_whole_folder && name.starts_with(&below)
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
            "git commit -m \"$(cat <<'EOF'\nMove rules out of RUBRIC.md\n\nrm RUBRIC.md by hand\nEOF\n)\"",
            "gh pr create --body \"$(cat <<'EOF'\n- Update RUBRIC.md > more\nEOF\n)\"",
            "cat > docs/setup.md <<'EOF'\nrm -rf RUBRIC.md\nEOF",
            "cp RUBRIC.md /tmp/x && strings RUBRIC.md",
            "python3 -m json.tool RUBRIC.md",
            "python3 -c \"import json; print(json.load(open('RUBRIC.md')))\"",
            "for f in RUBRIC.md README.md; do wc -l $f; done",
            "f=RUBRIC.md; [ -f \"$f\" ] && head \"$f\"; rm -f /tmp/x",
            "git restore --staged RUBRIC.md; git rm --cached RUBRIC.md; git reset HEAD RUBRIC.md",
            "git log -S checkout -- RUBRIC.md; git stash show -p -- RUBRIC.md",
            "npx prettier --check RUBRIC.md; shellcheck RUBRIC.md; bash -n RUBRIC.md",
            "while read f; do echo $f; done < RUBRIC.md",
            "echo RUBRIC.md | xargs cat",
            "tar czf /tmp/x.tgz RUBRIC.md; curl https://host/RUBRIC.md -o /tmp/y",
            "mv dist/out.zip ..",
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
            "python3 - <<'EOF'\nfrom pathlib import Path\nPath('RUBRIC.md').write_text('')\nEOF",
            "node <<'EOF'\nfs.writeFileSync('RUBRIC.md', '')\nEOF",
            "F=RUBRIC.md\necho x > \"$F\"",
            "export D=.; echo x > $D/RUBRIC.md",
            "cp other/RUBRIC.md .",
            "cp -r other/RUBRIC.md ./",
            "for f in RUBRIC.md other; do sed -ri s/a/b/ $f; done",
            "sed -zi s/a/b/ RUBRIC.md",
            "echo \"$(date)\" > RUBRIC.md",
            "echo > $(pwd)/RUBRIC.md",
            "pushd . ; rm RUBRIC.md",
            "diff <(cat a) <(rm RUBRIC.md)",
            "python3.12 -c \"open('RUBRIC.md', 'w')\"",
        ] {
            let is_found = ["RUBRIC.md", "./RUBRIC.md"].iter().any(|name| writes(command, name));
            assert!(is_found, "{command}: {:?}", shell_writes(command));
        }
    }

    #[test]
    fn folders_count_where_the_program_takes_all_of_them_and_after_cd() {
        assert!(writes("rm -rf .moai", ".moai/config/lsp.json"));
        assert!(!writes("prettier --write .moai", ".moai/config/lsp.json"));
        assert!(writes("cd .claude && rm autochecks.sh", ".claude/autochecks.sh"));
        assert!(writes("cd a; cd b; touch c", "a/b/c"));
        assert!(writes("rm -rf .claude/*", ".claude/settings.json"));
        assert!(writes("git checkout HEAD~1 -- .claude", ".claude/settings.json"));
        assert!(!writes("rm *.md", "docs/a.md"));
    }

    #[test]
    fn a_long_text_is_read_once() {
        let calls: Vec<String> = (0..100_000).map(|at| format!("x{at}.a(y{at}.b); ")).collect();
        let found = shell_writes(&format!("node -e 'write {}'; rm last", calls.concat()));
        assert_eq!(found.len(), WRITTEN_PATHS_MAX);
    }

    #[test]
    fn calls_are_found_behind_wrappers() {
        let calls = |command| calls_of("moai-ralph", command).concat().join(" ");
        assert_eq!(calls("env -u A setsid -f ./bin/moai-ralph -q trust"), "trust");
        assert_eq!(calls("x=$(moai-ralph loop refreeze)"), "loop refreeze");
        assert_eq!(calls("echo moai-ralph trust"), "");
    }

    #[test]
    fn odd_texts_end() {
        for command in ["", "'", "\"$(", "`", "\\", "a | | b", ">", "$((", "<<EOF\nrm x\nEOF", "\0"]
        {
            let _ = shell_writes(command);
        }
    }
}
