//! The impact of an edit, estimated from texts: the names it touched, the files that mention them,
//! and the findings about them. Works on lines and words of any language, because language servers
//! no longer know what was removed or renamed.

mod bodies;
pub mod importers;
pub mod packages;
mod words;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use importers::{FOLDER_FILES, FileImports};
use moai_base::finding::Finding;
use moai_base::limits::{IMPACT_COMMON_FILES_MAX, IMPACT_NAMES_MAX};
use moai_base::path::RelPath;
use packages::PackageNames;
use words::{
    DeclaredName, concerns_all_importers, declared_names, declares_type, is_distinctive,
    is_import_keyword, is_short_name, is_symbol_name, may_declare_for_others, names_of_code,
    word_ranges, words_of, words_outside_strings,
};
pub use words::{is_declaration_file, is_typescript_module};

/// The symbols that an edit touched, to search for in other files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedSymbols {
    /// Names whose meaning an edit may have changed.
    pub names: BTreeSet<String>,
    /// Names that an edit only uses or gives to a parameter: their meaning elsewhere is unchanged.
    pub only_used: BTreeSet<String>,
    /// Names of one or two letters whose declaration changed; only importers are searched for
    /// them, because they occur in every file.
    pub short_names: BTreeSet<String>,
    /// Names of modules as importers write them.
    pub modules: BTreeSet<String>,
    /// A module was added, removed or changed in more names than are searched for, or in what it passes on without
    /// naming it, so that all of its importers are affected.
    pub concerns_importers: bool,
}

impl TouchedSymbols {
    /// The symbols touched by the change of one file, including for a search in the file itself.
    /// `None` is a text that did not or does not exist.
    #[must_use]
    pub fn from_edit(path: &RelPath, before: Option<&str>, after: Option<&str>) -> Self {
        Self::from_edit_except(path, before, after, |_, _| InvisibleLines::default())
    }

    /// The symbols whose change other files can notice: they cannot notice most edits of a
    /// function's body, but those of a type that a function they call takes or returns.
    #[must_use]
    pub fn visible_elsewhere(path: &RelPath, before: Option<&str>, after: Option<&str>) -> Self {
        let mut touched = Self::from_edit_except(path, before, after, |old, new| {
            bodies::invisible_lines(path, old, new)
        });
        // In Python, bodies and texts mention so much that honest edits would concern whole packages.
        let is_python = path.extension().is_some_and(|it| it == "py" || it == "pyi");
        if let Some(after) = after.filter(|_| !is_python) {
            touched.add_carriers(&words::joined_directives(path, after));
        }
        if is_module(path, before) != is_module(path, after) {
            touched.extend(Self::from_edit(path, None, after));
        }
        // The type of data follows from its values.
        touched.concerns_importers |= path.extension().is_some_and(|it| it == "json");
        touched
    }

    /// The symbols touched by the rename of a file: its module, for its importers.
    #[must_use]
    pub fn from_move(from: &RelPath, to: &RelPath) -> Self {
        let modules = module_names(from).into_iter().chain(module_names(to)).collect();
        let is_named_after_type =
            from.extension().is_some_and(|it| ["cs", "java", "kt", "php"].contains(&it.as_str()));
        let names = if is_named_after_type { module_names(from) } else { BTreeSet::new() };
        Self { modules, names, concerns_importers: true, ..Self::default() }
    }

    fn from_edit_except(
        path: &RelPath,
        before: Option<&str>,
        after: Option<&str>,
        unnoticed: impl FnOnce(ChangedLines<'_>, ChangedLines<'_>) -> InvisibleLines,
    ) -> Self {
        let [before_text, after_text] =
            [before, after].map(|text| words::joined_directives(path, text.unwrap_or_default()));
        let touched = touched_names(path, &before_text, &after_text, unnoticed);
        let has_all = touched.names.len() < IMPACT_NAMES_MAX;
        let concerns_importers =
            touched.concerns_importers || before.is_none() != after.is_none() || !has_all;
        Self { modules: module_names(path), concerns_importers, ..touched }
    }

    /// Adds the declarations of the text that mention a symbol whose meaning may have changed, those that mention
    /// these, and so on: other files may mention only the last of them.
    fn add_carriers(&mut self, text: &str) {
        if self.names.is_empty() && self.short_names.is_empty() {
            return;
        }
        let lines: Vec<&str> = text.lines().collect();
        let headers = header_lines(&lines);
        let declared = lines.iter().flat_map(|line| declared_names(line));
        let declared: HashSet<&str> =
            declared.filter(|it| !it.is_parameter).map(|it| it.name).collect();
        let mut words: Vec<Vec<&str>> = lines.iter().map(|line| names_of_code(line)).collect();
        for words in &mut words {
            words.retain(|word| declared.contains(word));
        }
        // What a body mentions seldom changes what others see of its function.
        let is_body = |at: &usize| {
            let mut enclosing = enclosing_lines(&headers, *at).into_iter();
            enclosing.any(|header| !declares_type(lines[header]) && !is_open(lines[header]))
        };
        let mut left: Vec<usize> =
            (0..lines.len()).filter(|at| !words[*at].is_empty() && !is_body(at)).collect();
        loop {
            let (touched, other): (Vec<usize>, Vec<usize>) =
                left.into_iter().partition(|at| words[*at].iter().any(|word| self.touches(word)));
            let mut found: Vec<DeclaredName<'_>> = Vec::new();
            for at in touched {
                found.extend(declared_names(lines[at]));
                let enclosing = enclosing_lines(&headers, at).into_iter();
                found.extend(enclosing.flat_map(|header| declared_names(lines[header])));
            }
            let known = self.names.len() + self.short_names.len() - self.only_used.len();
            let found = found.iter().filter(|it| !it.is_parameter).map(|it| it.name);
            let (short, long): (Vec<&str>, Vec<&str>) = found.partition(|name| is_short_name(name));
            add_names(&mut self.short_names, short.into_iter());
            for name in long.into_iter().filter(|name| is_symbol_name(name)) {
                self.only_used.remove(name);
                add_names(&mut self.names, std::iter::once(name));
            }
            self.concerns_importers |= self.names.len() >= IMPACT_NAMES_MAX;
            if self.names.len() + self.short_names.len() - self.only_used.len() == known {
                return;
            }
            left = other;
        }
    }

    /// The symbols touched by a change of this file, with the name of the package that it represents.
    #[must_use]
    pub fn in_package(mut self, packages: &PackageNames, path: &RelPath) -> Self {
        self.modules.extend(packages.of(path).map(str::to_owned));
        self
    }

    /// Merges two sets.
    pub fn extend(&mut self, other: Self) {
        let mut only_used: BTreeSet<String> =
            self.only_used.union(&other.only_used).cloned().collect();
        only_used.retain(|name| !self.changes_meaning(name) && !other.changes_meaning(name));
        self.only_used = only_used;
        self.names.extend(other.names);
        self.short_names.extend(other.short_names);
        self.modules.extend(other.modules);
        self.concerns_importers |= other.concerns_importers;
    }

    /// True if the meaning of a name may have changed.
    fn touches(&self, word: &str) -> bool {
        self.changes_meaning(word) || self.short_names.contains(word)
    }

    fn changes_meaning(&self, name: &str) -> bool {
        self.names.contains(name) && !self.only_used.contains(name)
    }

    /// True if the code of a text mentions a symbol whose meaning may have changed, or imports its module.
    #[must_use]
    pub fn may_change_meaning_of(&self, text: &str) -> bool {
        let imports = || FileImports::from_text(text, &|name| self.modules.contains(name));
        text.lines().any(|line| names_of_code(line).iter().any(|word| self.touches(word)))
            || (self.concerns_importers && !imports().is_empty())
    }

    /// True if no symbol was touched that another file could mention.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.short_names.is_empty() && !self.concerns_importers
    }

    /// How a file mentions the symbols; `None` when the edit does not affect the file.
    #[must_use]
    pub fn mentioned_in(&self, text: &str) -> Option<FileMentions> {
        let (mut count, mut short_count, mut imports) = (0, 0, false);
        for line in text.lines() {
            let mut may_import = false;
            for (start, end) in word_ranges(line) {
                let word = &line[start..end];
                count += usize::from(self.names.contains(word));
                short_count += usize::from(self.short_names.contains(word));
                may_import |= is_import_keyword(word);
            }
            imports |= may_import && self.modules.iter().any(|module| has_word(line, module));
        }
        if imports {
            count += short_count;
        }
        let is_concerned = count > 0 || (imports && self.concerns_importers);
        is_concerned.then_some(FileMentions { imports, count })
    }

    /// True if the finding's message or line mentions a touched symbol.
    #[must_use]
    pub fn concerns_finding(&self, finding: &Finding, text: &str) -> bool {
        let line = text.lines().nth(finding.range.start.line as usize).unwrap_or_default();
        let is_import = words_of(line).next().is_some_and(is_import_keyword)
            || words_of(line).any(|word| matches!(word, "from" | "import" | "require"));
        let names_module = |module: &String| {
            is_import && has_word(line, module)
                || has_path_part(line, module)
                || has_path_part(&finding.message, module)
        };
        words_of(&finding.message).any(|word| self.touches(word))
            || words_of(line).any(|word| self.changes_meaning(word))
            || words_outside_strings(line).any(|word| self.short_names.contains(word))
            || (self.concerns_importers && self.modules.iter().any(names_module))
    }
}

/// The lines of a text, with the changed ones marked.
#[derive(Clone, Copy, Debug)]
struct ChangedLines<'t> {
    lines: &'t [&'t str],
    /// Ascending indices into the lines.
    changed: &'t [usize],
}

/// Indices of the changed lines of both texts that other files cannot notice.
#[derive(Debug, Default)]
struct InvisibleLines {
    before: BTreeSet<usize>,
    after: BTreeSet<usize>,
}

/// How one file mentions the touched symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMentions {
    /// It imports the edited module.
    pub imports: bool,
    pub count: usize,
}

/// Orders files by how likely the edit affects them: importers first, then neighbours of the edited
/// file, then those with the most mentions. For a name so common that hundreds of files mention it,
/// only importers and neighbours are kept.
#[must_use]
pub fn rank_by_impact(edited: &[RelPath], mut found: Vec<(RelPath, FileMentions)>) -> Vec<RelPath> {
    let folders: HashSet<&str> = edited.iter().map(RelPath::folder).collect();
    if found.len() > IMPACT_COMMON_FILES_MAX {
        found.retain(|(path, mentions)| mentions.imports || folders.contains(path.folder()));
    }
    found.sort_by_cached_key(|(path, mentions)| {
        let is_near = folders.contains(path.folder());
        let rank = (Reverse(mentions.imports), Reverse(is_near), Reverse(mentions.count));
        (rank, path.clone())
    });
    found.into_iter().map(|(path, _)| path).collect()
}

/// False for a declaration file of TypeScript without imports and exports, whose names are global.
fn is_module(path: &RelPath, text: Option<&str>) -> bool {
    !is_declaration_file(path) || text.is_some_and(is_typescript_module)
}

/// The names by which importers may refer to a file's module: its stem, and its folder where the
/// file represents it (`__init__.py`, `index.ts`, `mod.rs`) or packages are folders (Go).
fn module_names(path: &RelPath) -> BTreeSet<String> {
    let name = path.file_name();
    let stem = name.split('.').next().unwrap_or_default();
    let parent = path.folder().rsplit('/').next().unwrap_or_default();
    let is_folder = FOLDER_FILES.contains(&stem);
    let is_package = path.extension().as_deref() == Some("go");
    let named = [(!is_folder).then_some(stem), (is_folder || is_package).then_some(parent)];
    named.into_iter().flatten().filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The names whose meaning may have changed between two texts: declared on changed lines, added or
/// removed there, or defined around them, because a function's type may follow from its body.
/// Bounded; declarations first.
fn touched_names(
    path: &RelPath,
    before: &str,
    after: &str,
    unnoticed: impl FnOnce(ChangedLines<'_>, ChangedLines<'_>) -> InvisibleLines,
) -> TouchedSymbols {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let (mut gone, mut came) = (lines_missing_in(&new, &old), lines_missing_in(&old, &new));
    let has_types_in_comments = words::has_types_in_comments(path);
    for (lines, changed) in [(&old, &mut gone), (&new, &mut came)] {
        add_described_lines(lines, changed, has_types_in_comments);
    }
    let unnoticed = unnoticed(
        ChangedLines { lines: &old, changed: &gone },
        ChangedLines { lines: &new, changed: &came },
    );
    gone.retain(|at| !unnoticed.before.contains(at));
    came.retain(|at| !unnoticed.after.contains(at));
    let mut changed = gone.iter().map(|at| old[*at]).chain(came.iter().map(|at| new[*at]));
    let concerns_importers = changed.any(|line| concerns_all_importers(path, line));
    let (old_declared, new_declared) =
        (touched_declarations(&old, &gone), touched_declarations(&new, &came));
    let mut redefined: BTreeSet<String> =
        old_declared.iter().map(|it| it.name.to_owned()).collect();
    let defined = new_declared.iter().filter(|it| !it.is_parameter);
    redefined.extend(defined.map(|it| it.name.to_owned()));
    let mut short_names = BTreeSet::new();
    for (lines, changed) in [(&old, &gone), (&new, &came)] {
        add_names(&mut short_names, short_declarations(lines, changed));
    }
    let mut names = BTreeSet::new();
    let declared = old_declared.iter().chain(&new_declared).map(|it| it.name);
    add_names(&mut names, declared.filter(|word| is_symbol_name(word)));
    let (gone, came) = (word_counts(&old, &gone), word_counts(&new, &came));
    let (removed, added) = (more_frequent_words(&gone, &came), more_frequent_words(&came, &gone));
    for words in [&removed, &added] {
        add_names(&mut names, words.iter().map(String::as_str).filter(|word| is_distinctive(word)));
    }
    redefined.extend(removed);
    let only_used = names.difference(&redefined).cloned().collect();
    TouchedSymbols {
        names,
        only_used,
        short_names,
        concerns_importers,
        ..TouchedSymbols::default()
    }
}

fn more_frequent_words(
    counts: &HashMap<&str, usize>,
    others: &HashMap<&str, usize>,
) -> BTreeSet<String> {
    let more =
        counts.iter().filter(|(word, count)| others.get(*word).is_none_or(|other| other < count));
    more.map(|(word, _)| (*word).to_owned()).collect()
}

/// Indices of the changed lines and of those that enclose them, each once.
fn with_enclosing(lines: &[&str], changed: &[usize]) -> Vec<usize> {
    let headers = header_lines(lines);
    let enclosing: BTreeSet<usize> =
        changed.iter().flat_map(|at| enclosing_lines(&headers, *at)).collect();
    changed.iter().copied().chain(enclosing).collect()
}

/// The names declared on changed lines, and the definitions that enclose them.
fn touched_declarations<'t>(lines: &[&'t str], changed: &[usize]) -> Vec<DeclaredName<'t>> {
    let touched = with_enclosing(lines, changed);
    touched.into_iter().flat_map(|at| declared_names(lines[at])).collect()
}

/// The names of one or two letters that changed lines declare for other files, or that enclose them.
fn short_declarations<'t>(lines: &[&'t str], changed: &[usize]) -> impl Iterator<Item = &'t str> {
    let touched = with_enclosing(lines, changed);
    let visible = touched.into_iter().filter(|at| may_declare_for_others(lines[*at]));
    let declared: Vec<DeclaredName<'t>> =
        visible.flat_map(|at| declared_names(lines[at])).collect();
    let short = declared.into_iter().filter(|it| !it.is_parameter && is_short_name(it.name));
    short.map(|it| it.name)
}

fn add_names<'w>(names: &mut BTreeSet<String>, words: impl Iterator<Item = &'w str>) {
    for word in words {
        if names.len() >= IMPACT_NAMES_MAX {
            return;
        }
        names.insert(word.to_owned());
    }
}

/// Indices of the lines that the other text lacks; order is ignored, so a moved line is unchanged.
fn lines_missing_in(other: &[&str], lines: &[&str]) -> Vec<usize> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for line in other {
        *left.entry(line.trim_end()).or_default() += 1;
    }
    let mut missing = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        match left.get_mut(line.trim_end()) {
            Some(count) if *count > 0 => *count -= 1,
            _ if line.trim_end().is_empty() => {}
            _ => missing.push(at),
        }
    }
    missing
}

/// Adds the declarations to the changed lines whose attributes, decorators or, with
/// `has_types_in_comments`, types in comments changed above them.
fn add_described_lines(lines: &[&str], changed: &mut Vec<usize>, has_types_in_comments: bool) {
    let mut all: BTreeSet<usize> = changed.iter().copied().collect();
    for at in &*changed {
        let describes = is_attribute(lines[*at])
            || (has_types_in_comments && is_comment(lines[*at]) && lines[*at].contains('@'));
        let is_code =
            |line: &&str| !line.trim_start().is_empty() && !is_attribute(line) && !is_comment(line);
        if describes && let Some(below) = lines[*at..].iter().position(is_code) {
            all.insert(at + below);
        }
    }
    *changed = all.into_iter().collect();
}

/// True for a line that is an attribute, a decorator or an annotation of the declaration below.
fn is_attribute(line: &str) -> bool {
    let code = line.trim_start();
    code.starts_with("#[") || code.starts_with("[[") || code.starts_with('@')
}

/// True for a line of a block comment.
fn is_comment(line: &str) -> bool {
    let code = line.trim_start();
    code.starts_with('*') || code.starts_with("/*")
}

/// For each line its header: the nearest line above with less indentation. A line that begins with a closing or an
/// opening bracket continues the one before.
fn header_lines(lines: &[&str]) -> Vec<Option<usize>> {
    let (mut headers, mut open) = (vec![None; lines.len()], Vec::<(usize, usize)>::new());
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if code.is_empty() {
            continue;
        }
        let indent = line.len() - code.len();
        let continues = code.starts_with([')', ']', '}', '{']);
        while open.last().is_some_and(|(of, _)| *of > indent || (*of == indent && !continues)) {
            open.pop();
        }
        headers[at] = open.last().map(|(_, header)| *header);
        if !continues {
            open.push((indent, at));
        }
    }
    headers
}

/// True if a line leaves a parenthesis open: the lines below belong to its signature.
fn is_open(line: &str) -> bool {
    line.matches('(').count() > line.matches(')').count()
}

/// The headers that enclose a line, the innermost first.
fn enclosing_lines(headers: &[Option<usize>], at: usize) -> Vec<usize> {
    std::iter::successors(headers[at], |header| headers[*header]).collect()
}

fn word_counts<'t>(lines: &[&'t str], changed: &[usize]) -> HashMap<&'t str, usize> {
    let mut counts = HashMap::new();
    for word in changed.iter().flat_map(|at| names_of_code(lines[*at])) {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// True if a text contains another one as a whole word.
fn has_word(text: &str, word: &str) -> bool {
    whole_words(text, word).next().is_some()
}

/// True if a text has a module's name next to a quote or the separator of a path: a module may be called `use`.
fn has_path_part(text: &str, module: &str) -> bool {
    const SEPARATORS: &[u8] = b"'\"`/\\.:";
    let is_separator = |byte: Option<&u8>| byte.is_some_and(|byte| SEPARATORS.contains(byte));
    whole_words(text, module).any(|at| {
        let (before, after) = (&text.as_bytes()[..at], &text.as_bytes()[at + module.len()..]);
        is_separator(before.last()) || is_separator(after.first())
    })
}

/// Where a text contains another one as a whole word.
fn whole_words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    text.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let (before, after) = (&text.as_bytes()[..*at], &text.as_bytes()[at + word.len()..]);
        !before.last().copied().is_some_and(is_module_byte)
            && !after.first().copied().is_some_and(is_module_byte)
    })
}

/// Module names may have hyphens.
fn is_module_byte(byte: u8) -> bool {
    byte == b'-' || words::is_word_byte(byte)
}

#[cfg(test)]
mod tests;
