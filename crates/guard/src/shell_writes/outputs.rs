//! Writes other than to plain operands: copies, links, outputs of options and of embedded programs.

use moai_base::limits::VARIABLE_VALUES_MAX;

use super::shell_reader::SimpleCommand;
use super::{WriteSearch, WrittenBelow, base_name, is_name, joined};

/// Options that name a file to write.
const OUTPUT_OPTIONS: [(&str, &[&str]); 18] = [
    ("base64", &["-o"]),
    ("cc", &["-o", "-MF"]),
    ("clang", &["-o", "-MF"]),
    (
        "curl",
        &["-c", "-D", "-o", "--cookie-jar", "--dump-header", "--output", "--stderr", "--trace"],
    ),
    ("gcc", &["-o", "-MF"]),
    ("gh", &["-O", "--output"]),
    ("gpg", &["-o", "--output"]),
    ("history", &["-a", "-w"]),
    ("iconv", &["-o"]),
    ("less", &["-o", "-O"]),
    ("openssl", &["-out"]),
    ("pandoc", &["-o", "--output"]),
    ("remark", &["-o", "--output"]),
    ("shuf", &["-o"]),
    ("sort", &["-o", "--output"]),
    ("tree", &["-o"]),
    ("wget", &["-O", "-a", "-o", "--output-document"]),
    ("xmllint", &["-o", "--output"]),
];

impl WriteSearch {
    /// The last argument of a copy, or the value of an option, is the file, or the folder that gets
    /// files of the same names.
    pub(super) fn copy(&mut self, program: &str, arguments: &[&str]) {
        let mut named: Vec<&str> =
            arguments.iter().copied().filter(|word| !word.starts_with('-')).collect();
        let long = arguments.iter().find_map(|word| word.strip_prefix("--target-directory="));
        let is_cluster = |word: &str| word.starts_with('-') && !word.starts_with("--");
        let clusters = arguments.iter().enumerate().filter(|(_, word)| is_cluster(word));
        // Elsewhere `-t` keeps times.
        let has_target = !matches!(program, "rsync" | "scp");
        let mut targets = clusters.filter_map(|(at, word)| {
            let (_, folder) = word.split_once('t').filter(|_| has_target)?;
            // As in `-ft.moai`.
            if folder.is_empty() { arguments.get(at + 1).copied() } else { Some(folder) }
        });
        let folder = long.or_else(|| targets.next());
        named.retain(|word| Some(*word) != folder);
        let Some(target) = folder.or_else(|| named.pop()) else { return };
        self.push(target, false);
        for source in named {
            // As in `host:file`.
            let name = base_name(source).rsplit(':').next().unwrap_or_default();
            let is_recursive = arguments.iter().any(|word| {
                is_cluster(word) && word.contains(['a', 'r', 'R']) || *word == "--recursive"
            });
            let is_itself = arguments.iter().any(|word| is_cluster(word) && word.contains('T'));
            if is_recursive && !matches!(name, "" | ".") {
                let inner = format!("{}/{name}", target.trim_end_matches('/'));
                let folder = joined(&self.folder, source);
                let place = if is_itself { target } else { &inner };
                self.push_below(place, WrittenBelow::HeldBy { folder, is_mirrored: false });
            }
            if matches!(name, "" | ".") {
                let is_mirrored = arguments.iter().any(|word| word.starts_with("--del"));
                let folder = joined(&self.folder, source);
                self.push_below(target, WrittenBelow::HeldBy { folder, is_mirrored });
            } else {
                self.push(&format!("{}/{name}", target.trim_end_matches('/')), false);
            }
            if program == "mv" {
                self.push(source, true);
            }
        }
    }

    /// A link is written; later writes through it in the command go to its target.
    pub(super) fn symbolic_link(&mut self, arguments: &[&str]) {
        let named: Vec<&str> =
            arguments.iter().copied().filter(|word| !word.starts_with('-')).collect();
        let Some((target, places)) = named.split_first() else { return };
        let link = places.last().copied().unwrap_or_else(|| base_name(target));
        self.push(link, false);
        if places.is_empty() || link.ends_with('/') || link == "." {
            self.push(&format!("{}/{}", link.trim_end_matches('/'), base_name(target)), false);
        }
        // A relative target is meant from the folder of the link.
        let folder = link.rsplit_once('/').map_or("", |(folder, _)| folder);
        let (from, to) =
            (joined(&self.folder, link), joined(&self.folder, &joined(folder, target)));
        if self.links.len() < VARIABLE_VALUES_MAX {
            self.links.push((from, to));
        }
    }

    /// The files that `sed` writes with its command `w`.
    pub(super) fn sed_outputs(&mut self, arguments: &[&str]) {
        for text in arguments {
            for (at, _) in text.match_indices("w ").chain(text.match_indices("W ")) {
                let before = text[..at].chars().next_back();
                if before.is_none_or(|it| !it.is_alphabetic()) {
                    self.push(text[at + 2..].lines().next().unwrap_or_default().trim(), false);
                }
            }
            // As in `1e command` and `s/a/command/e`.
            for piece in text.split([';', '\n']) {
                let piece = piece.trim_start_matches(|it: char| it == '$' || it.is_ascii_digit());
                if let Some(command) = piece.strip_prefix("e ") {
                    self.in_subshell(command);
                }
                let mut parts = piece.strip_prefix('s').unwrap_or_default().chars();
                let parts = parts.next().map(|mark| piece[1 + mark.len_utf8()..].split(mark));
                let parts: Vec<&str> = parts.into_iter().flatten().collect();
                if let [_, command, flags] = parts[..]
                    && flags.contains('e')
                {
                    self.in_subshell(command);
                }
            }
        }
    }

    /// The files that an editor writes by a command among its arguments or in its input.
    pub(super) fn editor_outputs(&mut self, simple: &SimpleCommand) {
        let lines = simple.words.iter().map(String::as_str).chain(simple.input.lines());
        for line in lines {
            let line = line.trim_start_matches(|it: char| it == ':' || it.is_ascii_digit());
            let mut words = line.split_whitespace();
            let command = words.next().unwrap_or_default().trim_end_matches('!');
            if matches!(command, "W" | "sav" | "saveas" | "w" | "wq" | "write") {
                words.next().into_iter().for_each(|file| self.push(file, false));
            }
        }
    }

    /// Files named after the downloads.
    pub(super) fn downloads(&mut self, program: &str, arguments: &[&str]) {
        // As in `-qO`.
        let is_o =
            |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('O');
        let keeps_name = match program {
            "wget" => !arguments.iter().any(|word| word.starts_with("--output-d") || is_o(word)),
            "curl" => arguments.iter().any(|word| {
                let is_short = word.starts_with('-') && !word.starts_with("--");
                *word == "--remote-name" || is_short && word.contains('O')
            }),
            _ => false,
        };
        let urls = arguments.iter().filter(|word| keeps_name && word.contains("://"));
        for url in urls {
            self.push(base_name(url), false);
        }
        let folders = arguments.windows(2).filter(|pair| pair[0] == "--output-dir");
        for folder in folders.map(|pair| pair[1].trim_end_matches('/')) {
            self.push(folder, false);
            self.push(&format!("{folder}/*"), false);
            let urls = arguments.iter().filter(|word| word.contains("://"));
            urls.for_each(|url| self.push(&format!("{folder}/{}", base_name(url)), false));
        }
    }

    /// The files to which the text of `awk` redirects its output.
    pub(super) fn awk_outputs(&mut self, arguments: &[&str]) {
        for text in arguments {
            let mut pieces = text.split('"');
            while let (Some(before), Some(quoted)) = (pieces.next(), pieces.next()) {
                if before.trim_end().ends_with('>') {
                    self.push(quoted, false);
                }
                if before.trim_end().ends_with(['|', '(']) {
                    self.in_subshell(quoted);
                }
            }
            // A variable that is set with `-v` may name the file.
            if let Some((_, file)) = text.split_once('=').filter(|(name, _)| is_name(name)) {
                let redirects =
                    arguments.iter().any(|text| text.contains("> ") || text.contains('|'));
                Some(file)
                    .filter(|_| redirects)
                    .into_iter()
                    .for_each(|file| self.push(file, false));
            }
        }
    }

    /// Files written by a program that runs another one, such as `strace -o`.
    pub(super) fn wrapper_outputs(&mut self, words: &[&str]) {
        for pair in words.windows(2).filter(|pair| matches!(pair[0], "-o" | "--output")) {
            self.push(pair[1], false);
        }
        for word in words {
            let value = word.strip_prefix("--output=").or_else(|| word.strip_prefix("-o"));
            // Options of `stdbuf`.
            let is_output = |value: &&str| !matches!(*value, "" | "0" | "L");
            value.filter(is_output).into_iter().for_each(|file| self.push(file, false));
        }
    }

    /// The files to which the options of a program name its output.
    pub(super) fn output_options(&mut self, program: &str, arguments: &[&str]) {
        let known = OUTPUT_OPTIONS.iter().find(|(name, _)| *name == program);
        let Some((_, options)) = known else { return };
        // As in `-oRUBRIC.md` and `--output=RUBRIC.md`.
        let joined = arguments.iter().filter_map(|word| {
            let value = |option: &&str| match option.strip_prefix("--") {
                Some(_) => word.strip_prefix(*option)?.strip_prefix('='),
                None => word.strip_prefix(*option),
            };
            options.iter().find_map(value)
        });
        for file in joined.filter(|file| !file.is_empty()) {
            self.push(file, false);
        }
        for pair in arguments.windows(2) {
            let is_option = options.iter().any(|option| {
                let letter = option.trim_start_matches('-');
                // As in `-uo`.
                let is_cluster = letter.len() == 1
                    && pair[0].starts_with('-')
                    && !pair[0].starts_with("--")
                    && pair[0].ends_with(letter);
                pair[0] == *option || is_cluster
            });
            if is_option {
                self.push(pair[1], false);
            }
        }
    }
}
