//! The moves of a play, drawn from the present texts of its files.

use std::collections::BTreeMap;
use std::time::Duration;

use super::package::{Package, TextSwitch, kind_of, mended, planted};
use super::seeded_random::SeededRandom;

/// Inserted errors in the tree at most: a Stop lists twenty findings.
const PLANTED_MAX: usize = 4;
/// Broken exports at once.
const BROKEN_MAX: usize = 1;

/// Kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Introduce,
    Fix,
    Swap,
    Break,
    Restore,
    Rename,
    Configure,
    Undo,
    Nothing,
}

/// A kind is drawn in proportion to its entries.
const KINDS: [Kind; 17] = [
    Kind::Introduce,
    Kind::Introduce,
    Kind::Introduce,
    Kind::Introduce,
    Kind::Fix,
    Kind::Fix,
    Kind::Swap,
    Kind::Swap,
    Kind::Break,
    Kind::Break,
    Kind::Break,
    Kind::Restore,
    Kind::Rename,
    Kind::Configure,
    Kind::Undo,
    Kind::Undo,
    Kind::Nothing,
];

/// Writer of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// The host's editing tool, whose hook reports the file.
    Tool,
    /// A shell command, whose hook reports no file.
    Command,
    /// A shell command that sets the file's time back, as `cp -p` or `tar` do.
    OlderCopy,
    /// Another program, for which no hook is called.
    Unreported,
    /// The same while the program measures files that may depend on the change.
    DuringCheck,
    /// A command that changes many other files as well, like `git checkout`.
    Checkout,
}

impl Writer {
    /// True if no hook reports the file.
    pub(crate) fn is_hidden(self) -> bool {
        self != Self::Tool
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) kind: Kind,
    pub(crate) writer: Writer,
    pub(crate) path: String,
    /// The former name of a renamed file.
    pub(crate) from: Option<String>,
    pub(crate) before: String,
    pub(crate) after: String,
}

/// The files of a play, with the texts that they have on disk after the last drawn change.
#[derive(Clone, Debug)]
pub(crate) struct Board {
    package: &'static Package,
    random: SeededRandom,
    pub(crate) texts: BTreeMap<String, String>,
    start: BTreeMap<String, String>,
    /// The texts of configuration files.
    pub(crate) settings: BTreeMap<String, String>,
    start_settings: BTreeMap<String, String>,
    last: Option<Change>,
    planted: usize,
}

impl Board {
    pub(crate) fn new(
        package: &'static Package,
        texts: BTreeMap<String, String>,
        settings: BTreeMap<String, String>,
        seed: u64,
    ) -> Self {
        let (start, start_settings) = (texts.clone(), settings.clone());
        let random = SeededRandom::new(seed);
        Self { package, random, texts, start, settings, start_settings, last: None, planted: 0 }
    }

    /// Draws until something can be done.
    pub(crate) fn draw(&mut self) -> Change {
        loop {
            let kind = *self.random.one_of(&KINDS).expect("there are kinds");
            let drawn = match kind {
                Kind::Introduce => self.introduce(),
                Kind::Fix | Kind::Swap => self.mend(kind),
                Kind::Break => self.break_export(),
                Kind::Restore => self.restore(),
                Kind::Rename => self.rename(),
                Kind::Configure => self.configure(),
                Kind::Undo => self.undo(),
                Kind::Nothing => self.nothing(),
            };
            let Some(mut change) = drawn else { continue };
            change.writer = self.writer(change.kind);
            if let Some(from) = &change.from {
                self.texts.remove(from);
            }
            let texts = if kind == Kind::Configure { &mut self.settings } else { &mut self.texts };
            texts.insert(change.path.clone(), change.after.clone());
            self.last = Some(change.clone());
            return change;
        }
    }

    fn writer(&mut self, kind: Kind) -> Writer {
        match self.random.below(16) {
            0 => Writer::Unreported,
            1 => Writer::DuringCheck,
            6 | 7 if kind == Kind::Break => Writer::DuringCheck,
            // The host's tools do not rename.
            _ if kind == Kind::Rename => Writer::Command,
            2..4 => Writer::OlderCopy,
            4..6 => Writer::Command,
            _ => Writer::Tool,
        }
    }

    /// True if the program is restarted before the next checkpoint.
    pub(crate) fn is_restarted(&mut self) -> bool {
        self.random.below(4) == 0
    }

    /// Existing files whose text or name differs from the committed one.
    pub(crate) fn changed(&self) -> Vec<String> {
        let differs = |(path, text): &(&String, &String)| self.start.get(*path) != Some(text);
        self.texts.iter().filter(differs).map(|(path, _)| path.clone()).collect()
    }

    /// A delay below this.
    pub(crate) fn delay(&mut self, max: Duration) -> Duration {
        let ms = usize::try_from(max.as_millis()).unwrap_or(usize::MAX);
        Duration::from_millis(u64::try_from(self.random.below(ms)).unwrap_or_default())
    }

    /// True if an export is broken or a file has its new name.
    pub(crate) fn has_broken_exports(&self) -> bool {
        let is_broken =
            |it: &TextSwitch| self.texts.get(it.file).is_none_or(|text| text.contains(it.to));
        self.package.breaks.iter().any(is_broken)
    }

    /// Resets the play; returns the files to remove and the texts to write.
    pub(crate) fn back(&mut self) -> (Vec<String>, Vec<(String, String)>) {
        let changed = self.changed();
        let is_new = |path: &&String| !self.start.contains_key(*path);
        let gone = changed.iter().filter(is_new).cloned().collect();
        let differs = |(path, text): &(&String, &String)| self.texts.get(*path) != Some(text);
        let texts = self.start.iter().filter(differs);
        let texts = texts.chain(&self.start_settings);
        let texts = texts.map(|(path, text)| (path.clone(), text.clone())).collect();
        self.texts = self.start.clone();
        self.settings = self.start_settings.clone();
        (gone, texts)
    }

    fn introduce(&mut self) -> Option<Change> {
        let number: usize = self.texts.values().map(|text| planted(text).len()).sum();
        let path = self.edited().filter(|_| number < PLANTED_MAX)?;
        let before = self.texts.get(&path)?.clone();
        let at = *self.random.one_of(&self.package.places(&before))?;
        let kind = self.random.below(self.package.errors.len());
        self.planted += 1;
        let after = self.package.plant(&before, at, self.planted, kind);
        Some(self.edit(Kind::Introduce, path, after))
    }

    fn mend(&mut self, kind: Kind) -> Option<Change> {
        let all: Vec<(String, usize, u32)> = self
            .texts
            .iter()
            .flat_map(|(path, text)| {
                planted(text).into_iter().map(|(number, line)| (path.clone(), number, line))
            })
            .collect();
        let (path, number, line) = self.random.one_of(&all)?.clone();
        let mut after = mended(&self.texts[&path], number);
        if kind == Kind::Swap {
            let at = usize::try_from(line).ok()?;
            let wrong = self.texts[&path].lines().nth(at).unwrap_or_default();
            let error = kind_of(self.package, wrong, number)?;
            let other = self.random.one_of(&self.package.places(&after)).copied();
            self.planted += 1;
            // The same error at a different line is a different error; at the same line it would be the same.
            after = match other.filter(|other| *other != at && self.random.below(2) == 0) {
                Some(other) => self.package.plant(&after, other, self.planted, error),
                None => self.package.plant(&after, at, self.planted, error + 1),
            };
        }
        Some(self.edit(kind, path, after))
    }

    fn break_export(&mut self) -> Option<Change> {
        let broken =
            |it: &&TextSwitch| self.texts.get(it.file).is_some_and(|text| text.contains(it.to));
        if self.package.breaks.iter().filter(broken).count() >= BROKEN_MAX {
            return None;
        }
        let one = self.random.one_of(self.package.breaks)?;
        let text = self.texts.get(one.file).filter(|text| text.contains(one.from))?;
        let after = text.replacen(one.from, one.to, 1);
        Some(self.edit(Kind::Break, one.file.to_owned(), after))
    }

    fn restore(&mut self) -> Option<Change> {
        let one = self.random.one_of(self.package.breaks)?;
        let text = self.texts.get(one.file).filter(|text| text.contains(one.to))?;
        let after = text.replacen(one.to, one.from, 1);
        Some(self.edit(Kind::Restore, one.file.to_owned(), after))
    }

    fn rename(&mut self) -> Option<Change> {
        let (one, other) = *self.random.one_of(self.package.moves)?;
        let (from, to) = if self.texts.contains_key(one) { (one, other) } else { (other, one) };
        // One at a time, because a missing module hides errors in its users.
        let is_away = |(one, _): &&(&str, &str)| !self.texts.contains_key(*one);
        if from == one && self.package.moves.iter().any(|it| is_away(&it)) {
            return None;
        }
        let text = self.texts.get(from)?.clone();
        let path = to.to_owned();
        let from = Some(from.to_owned());
        let (before, after) = (text.clone(), text);
        Some(Change { kind: Kind::Rename, writer: Writer::Command, path, from, before, after })
    }

    fn configure(&mut self) -> Option<Change> {
        let switch = self.random.one_of(self.package.configurations)?;
        let before = self.settings.get(switch.file)?.clone();
        let after = if before.contains(switch.to) {
            before.replace(switch.to, switch.from)
        } else {
            before.replace(switch.from, switch.to)
        };
        let path = switch.file.to_owned();
        Some(Change {
            kind: Kind::Configure,
            writer: Writer::Tool,
            path,
            from: None,
            before,
            after,
        })
    }

    fn undo(&mut self) -> Option<Change> {
        let is_edit = |last: &Change| last.from.is_none() && last.kind != Kind::Configure;
        let last = self.last.take().filter(is_edit)?;
        (last.before != last.after).then(|| self.edit(Kind::Undo, last.path, last.before))
    }

    fn nothing(&mut self) -> Option<Change> {
        let path = self.edited()?;
        let text = self.texts.get(&path)?.clone();
        Some(self.edit(Kind::Nothing, path, text))
    }

    fn edited(&mut self) -> Option<String> {
        self.random.one_of(self.package.edited).map(|path| (*path).to_owned())
    }

    fn edit(&self, kind: Kind, path: String, after: String) -> Change {
        let before = self.texts[&path].clone();
        Change { kind, writer: Writer::Tool, path, from: None, before, after }
    }
}
