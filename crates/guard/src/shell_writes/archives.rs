//! Files written by archive programs: the archive, or its extracted files.

use super::{WriteSearch, joined};

/// Programs for archives.
pub(super) const PROGRAMS: [&str; 8] =
    ["7z", "7za", "7zr", "bsdtar", "gtar", "tar", "unzip", "zip"];

impl WriteSearch {
    pub(super) fn archive(&mut self, program: &str, arguments: &[&str]) {
        match program {
            "zip" => {
                let is_move = arguments.iter().any(|it| is_cluster(it) && it.contains('m'));
                let files = arguments.iter().filter(|word| !word.starts_with('-'));
                let count = if is_move { usize::MAX } else { 1 };
                files.take(count).for_each(|file| self.push(file, false));
            }
            "unzip" => {
                let reads = |it: &&str| is_cluster(it) && it.contains(['l', 'p', 't', 'v', 'Z']);
                if !arguments.iter().any(reads) {
                    let folder = value_of(arguments, &["-d"]);
                    self.unpacked(folder, &members(arguments, folder, 1));
                }
            }
            "7z" | "7za" | "7zr" => {
                if matches!(arguments.first(), Some(&("e" | "x"))) {
                    let folder = arguments.iter().find_map(|word| word.strip_prefix("-o"));
                    self.unpacked(folder, &members(&arguments[1..], folder, 1));
                }
            }
            _ => self.tar(arguments),
        }
    }

    fn tar(&mut self, arguments: &[&str]) {
        let Some((first, rest)) = arguments.split_first() else { return };
        let clusters = arguments.iter().enumerate();
        let is_mode = |letter: char, long: &[&str]| {
            let mut of_letters = clusters.clone().filter(|(at, it)| *at == 0 || is_cluster(it));
            of_letters.any(|(_, it)| !it.starts_with("--") && it.contains(letter))
                || arguments.iter().any(|it| long.contains(it))
        };
        let commands = arguments.iter().filter_map(|word| {
            let action = word.strip_prefix("--checkpoint-action=exec=");
            action.or_else(|| word.strip_prefix("--to-command="))
        });
        let filters = ["-I", "--use-compress-program"];
        for command in commands.chain(value_of(arguments, &filters)) {
            self.in_subshell(command);
        }
        if arguments.contains(&"--remove-files") {
            let folder = value_of(arguments, &["-C", "--directory"]).unwrap_or_default();
            for word in rest.iter().filter(|word| !word.starts_with('-')) {
                self.push(&joined(folder, word), true);
            }
        }
        let archive = match value_of(arguments, &["-f", "--file"]) {
            None if first.contains('f') => rest.first().copied(),
            named => named,
        };
        if is_mode('x', &["--extract", "--get"]) && !is_mode('O', &["--to-stdout"]) {
            let folder = value_of(arguments, &["-C", "--directory"]);
            let named = rest.iter().copied().filter(|it| !it.starts_with('-'));
            let named = named.filter(|it| Some(*it) != folder && Some(*it) != archive);
            self.unpacked(folder, &named.collect::<Vec<_>>());
        } else if let Some(archive) = archive.filter(|_| {
            is_mode('c', &["--create"])
                || is_mode('r', &["--append"])
                || is_mode('u', &["--update"])
        }) {
            self.push(archive, false);
        }
    }

    /// Files that are taken out of an archive: these, or unknown ones.
    fn unpacked(&mut self, folder: Option<&str>, members: &[&str]) {
        let folder = folder.map(|folder| folder.trim_end_matches('/'));
        for member in members {
            let path = folder.map_or((*member).to_owned(), |folder| format!("{folder}/{member}"));
            self.push(&path, false);
        }
        if let Some(folder) = folder.filter(|folder| members.is_empty() && *folder != ".") {
            self.push(&format!("{folder}/*"), false);
        }
    }
}

/// Letters of options in one word.
fn is_cluster(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-'))
}

/// The value of an option: behind it, or in the same word.
fn value_of<'a>(arguments: &[&'a str], options: &[&str]) -> Option<&'a str> {
    let behind = arguments.windows(2).find(|pair| options.contains(&pair[0])).map(|pair| pair[1]);
    let inside = arguments.iter().find_map(|word| {
        let option = options.iter().find(|option| word.starts_with(**option))?;
        let value = word[option.len()..].trim_start_matches('=');
        Some(value).filter(|value| !value.is_empty())
    });
    behind.or(inside)
}

/// The words that are neither options nor this value, without the first few.
fn members<'a>(arguments: &[&'a str], value: Option<&str>, first: usize) -> Vec<&'a str> {
    let plain = arguments.iter().copied().filter(|word| !word.starts_with('-'));
    plain.filter(|word| Some(*word) != value).skip(first).collect()
}
