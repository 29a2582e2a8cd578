//! Words of a line of code in any language: names, declarations, and import keywords. Deliberately
//! rough: a false match only costs a check of one more file.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::word_set::{WordSet, word_set};
use moai_base::limits::NAME_CHARS_MIN;
use moai_base::path::RelPath;

/// True for the bytes of a word, which include all non-ASCII bytes.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The words of a text.
pub(super) fn words_of(text: &str) -> impl Iterator<Item = &str> {
    word_ranges(text).map(|(start, end)| &text[start..end])
}

/// The words of a line that are not in a string.
pub(super) fn words_outside_strings(line: &str) -> impl Iterator<Item = &str> {
    let strings = string_ranges(line);
    word_ranges(line)
        .filter(move |(start, end)| !strings.iter().any(|(from, to)| from < start && end <= to))
        .map(|(start, end)| &line[start..end])
}

/// The words of a text as byte ranges.
pub(super) fn word_ranges(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + bytes[at..].iter().position(|byte| is_word_byte(*byte))?;
        let length = bytes[start..].iter().position(|byte| !is_word_byte(*byte));
        at = length.map_or(bytes.len(), |length| start + length);
        Some((start, at))
    })
}

/// True if a word can be a name that other files mention.
pub(super) fn is_symbol_name(word: &str) -> bool {
    word.chars().count() >= NAME_CHARS_MIN
        && !word.starts_with(|first: char| first.is_ascii_digit())
        && !KEYWORDS.contains(word)
}

/// True for a name so short that only files that import its module are searched for it.
pub(super) fn is_short_name(word: &str) -> bool {
    word.chars().count() < NAME_CHARS_MIN
        && word.starts_with(char::is_alphabetic)
        && !KEYWORDS.contains(word)
}

/// True if a name declared on a line may be visible outside the enclosing block, by the line's
/// shape.
pub(super) fn may_declare_for_others(line: &str) -> bool {
    !line.starts_with(char::is_whitespace)
        || word_ranges(line).any(|(start, end)| {
            let word = &line[start..end];
            is_declaration_keyword(word) && !LOCAL_DECLARING.contains(&word)
        })
}

/// True if a line begins the declaration of a type or a module, whose members other files see.
pub(super) fn declares_type(line: &str) -> bool {
    let mut words = word_ranges(line).map(|(start, end)| &line[start..end]);
    words.any(|word| TYPE_DECLARING.contains(&word))
}

const TYPE_DECLARING: [&str; 17] = [
    "class",
    "defmodule",
    "enum",
    "extension",
    "impl",
    "interface",
    "mod",
    "module",
    "namespace",
    "object",
    "package",
    "protocol",
    "record",
    "struct",
    "trait",
    "type",
    "union",
];

/// True if the change of a line may affect all importers of its file: it passes on what another file declares without
/// naming it, hides or shows the members below, or is for the preprocessor.
pub(super) fn concerns_all_importers(path: &RelPath, line: &str) -> bool {
    let Some(code) = strip_comment(line) else { return false };
    let extension = path.extension().unwrap_or_default();
    if PREPROCESSED.contains(&extension.as_str()) {
        return code.starts_with('#')
            || ACCESS_SPECIFIERS.contains(&code.trim_end_matches([':', ' ']));
    }
    let (start, end) = word_ranges(code).next().unwrap_or_default();
    let rest = code[end..].trim_start();
    match &code[start..end] {
        "__all__" => true,
        "export" => {
            let opens_list =
                code.ends_with('{') && (rest.starts_with('{') || rest.starts_with("type {"));
            rest.starts_with(['"', '\'']) || code.contains('*') || opens_list
        }
        "from" => code.ends_with("import *"),
        "pub" => rest.starts_with("use ") && code.contains('*'),
        "include" | "include_once" | "require" | "require_once" => extension == "php",
        _ => false,
    }
}

/// True if comments of a file declare types.
pub(super) fn has_types_in_comments(path: &RelPath) -> bool {
    path.extension().is_some_and(|it| ["cjs", "js", "jsx", "mjs"].contains(&it.as_str()))
}

/// True for a file that holds only declarations of TypeScript.
#[must_use]
pub fn is_declaration_file(path: &RelPath) -> bool {
    [".d.ts", ".d.mts", ".d.cts"].iter().any(|end| path.as_str().ends_with(end))
}

/// True if a text of TypeScript imports or exports something.
#[must_use]
pub fn is_typescript_module(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| {
        let rest = line.strip_prefix("import").or_else(|| line.strip_prefix("export"));
        rest.is_some_and(|rest| rest.starts_with([' ', '"', '\'', '{', '*', '=']))
    })
}

/// Extensions of the files that a preprocessor reads.
const PREPROCESSED: [&str; 10] = ["c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "m", "mm"];

/// Lines that decide who may use the members below them.
const ACCESS_SPECIFIERS: [&str; 3] = ["private", "protected", "public"];

/// Declaration keywords that are common inside of functions.
const LOCAL_DECLARING: [&str; 4] = ["const", "let", "val", "var"];

/// True if a name is worth searching for although it was only added or removed on a line.
pub(super) fn is_distinctive(word: &str) -> bool {
    is_symbol_name(word) && !COMMON.contains(word)
}

/// True if a word indicates that its line imports or exports a module.
pub(super) fn is_import_keyword(word: &str) -> bool {
    IMPORTING.contains(word)
}

/// The words of a line of code, without comments; of its strings only those that are a single word
/// (a key, a tag).
pub(super) fn names_of_code(line: &str) -> Vec<&str> {
    let Some(code) = strip_comment(line) else { return Vec::new() };
    let strings = string_ranges(code);
    let mut names = Vec::new();
    for (start, end) in word_ranges(code) {
        let enclosing = strings.iter().find(|(from, to)| *from < start && end <= *to);
        if enclosing.is_none_or(|(from, to)| (start, end) == (from + 1, *to)) {
            names.push(&code[start..end]);
        }
    }
    names
}

/// A name that a line of code declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DeclaredName<'t> {
    pub(super) name: &'t str,
    /// True if it is a parameter, which callers do not refer to.
    pub(super) is_parameter: bool,
}

/// The names that a line of code declares, as far as its shape shows: the word after `def`,
/// `class`, `fn` …, the first word before `=` or `:`, a parameter with its type, a function's name.
pub(super) fn declared_names(line: &str) -> Vec<DeclaredName<'_>> {
    let Some(code) = strip_comment(line) else { return Vec::new() };
    let words = CodeWords { code, ranges: word_ranges(code).collect() };
    let indices = 0..words.ranges.len();
    let has_keyword = indices.clone().any(|at| is_declaration_keyword(words.word(at)));
    let mut declared = Vec::new();
    for at in indices.filter(|at| words.is_declared(*at, has_keyword)) {
        let before = words.text_before(at);
        let is_parameter = before.ends_with('(') || before.trim_end().ends_with(',');
        declared.push(DeclaredName { name: words.word(at), is_parameter });
    }
    declared
}

/// A line of code and the ranges of its words.
struct CodeWords<'t> {
    code: &'t str,
    ranges: Vec<(usize, usize)>,
}

impl<'t> CodeWords<'t> {
    fn word(&self, at: usize) -> &'t str {
        let (start, end) = self.ranges[at];
        &self.code[start..end]
    }

    /// The text between the previous word and this one; empty before the first word.
    fn text_before(&self, at: usize) -> &'t str {
        if at == 0 { "" } else { &self.code[self.ranges[at - 1].1..self.ranges[at].0] }
    }

    /// `has_keyword`: one of the line's words begins a declaration.
    fn is_declared(&self, at: usize, has_keyword: bool) -> bool {
        let before = self.text_before(at);
        let word_before = if at == 0 { "" } else { self.word(at - 1) };
        let is_member = before.ends_with('.') && matches!(word_before, "self" | "this" | "cls");
        let is_first = at == 0 || (at == 1 && is_member);
        if self.is_export_list() && at > 0 {
            return !matches!(self.word(at), "as" | "default" | "from" | "type");
        }
        let is_behind_word = at > 0 && before.trim_matches([' ', '*', '&']).is_empty();
        if is_behind_word && is_declaration_keyword(word_before) {
            // PHP imports functions with `use function App\fmt;`.
            return self.word(0) != "use";
        }
        let is_only_word = self.ranges.len() == 1;
        let rest = self.code[self.ranges[at].1..].trim_start();
        match rest.bytes().next() {
            Some(b'(') => {
                let is_call = is_behind_word && BEFORE_CALLS.contains(word_before);
                (has_keyword && !is_call && !before.ends_with(['.', '>']))
                    || (is_first && self.opens_block())
                    || (is_behind_word && !is_call)
            }
            Some(b'"') => {
                is_first && rest[1..].trim_start().starts_with(':') && self.code.starts_with('"')
            }
            Some(b'=') => (is_first || self.is_typed_variable(at)) && !rest.starts_with("=="),
            Some(b'[') => self.is_typed_variable(at) && rest.ends_with(['=', '{', ';']),
            Some(b';') => {
                self.word(0) == "typedef"
                    || self.is_typed_variable(at)
                    || (is_first && is_only_word)
            }
            Some(b':') if rest.starts_with("::") => false,
            Some(b':') => is_first || before.ends_with(['(', ',', '{']) || before.ends_with(", "),
            Some(b',') => is_first && is_only_word,
            None => is_only_word,
            _ => false,
        }
    }

    /// True if the line names what a module exports.
    fn is_export_list(&self) -> bool {
        let rest = self.code.strip_prefix("export").unwrap_or_default().trim_start();
        rest.strip_prefix("type").unwrap_or(rest).trim_start().starts_with('{')
    }

    /// True if a type stands before a word, as in `static int sizes[4];` or `using Row = int;`.
    fn is_typed_variable(&self, at: usize) -> bool {
        let before = &self.code[..self.ranges[at].0];
        at > 0
            && self.text_before(at).trim_matches([' ', '*', '&', '>']).is_empty()
            && !before.contains(['(', ')', '[', '{', '}', '.', '=', '"', '\'', '!', '?'])
            && ![self.word(0), self.word(at - 1)].iter().any(|word| BEFORE_CALLS.contains(word))
            && !self.word(at - 1).starts_with(|c: char| c.is_ascii_digit())
    }

    fn opens_block(&self) -> bool {
        self.code.trim_end().ends_with(['{', ':', '(', ',']) || self.code.contains("):")
    }
}

/// A text of C or its relatives whose directives are written without a space (`# define`), which looks like the
/// comment of other languages.
pub(super) fn joined_directives<'t>(path: &RelPath, text: &'t str) -> Cow<'t, str> {
    let extension = path.extension().unwrap_or_default();
    let is_spaced = |line: &str| {
        line.trim_start().strip_prefix('#').is_some_and(|rest| rest.starts_with([' ', '\t']))
    };
    if !PREPROCESSED.contains(&extension.as_str()) || !text.lines().any(is_spaced) {
        return Cow::Borrowed(text);
    }
    let mut joined = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match line.split_once('#').filter(|_| is_spaced(line)) {
            Some((indentation, directive)) => {
                joined.extend([indentation, "#", directive.trim_start_matches([' ', '\t'])]);
            }
            None => joined.push_str(line),
        }
    }
    Cow::Owned(joined)
}

/// A line without its comment; `None` for a line that is one.
pub(super) fn strip_comment(line: &str) -> Option<&str> {
    let code = line.trim();
    let is_comment =
        ["//", "/*", "* ", "-- ", "# ", "\"\"\""].iter().any(|it| code.starts_with(it));
    let end = [" # ", " // ", "\t# ", "\t// "].iter().filter_map(|mark| code.find(mark)).min();
    (!is_comment).then(|| &code[..end.unwrap_or(code.len())])
}

/// The ranges of the strings in a line; they begin with the quote.
fn string_ranges(code: &str) -> Vec<(usize, usize)> {
    let bytes = code.as_bytes();
    let has_lifetimes = ["<'", "&'"]
        .iter()
        .any(|mark| code.match_indices(mark).any(|(before, _)| begins_lifetime(code, before + 1)));
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(start) = bytes[at..].iter().position(|byte| b"\"'`".contains(byte)) {
        let start = at + start;
        if has_lifetimes && begins_lifetime(code, start) {
            at = start + 1;
            continue;
        }
        let Some(length) = bytes[start + 1..].iter().position(|byte| *byte == bytes[start]) else {
            break;
        };
        found.push((start, start + 1 + length));
        at = start + length + 2;
    }
    found
}

/// True if the quote at this place is that of a Rust lifetime: a name without another quote follows.
fn begins_lifetime(code: &str, quote: usize) -> bool {
    let Some(rest) = code[quote..].strip_prefix('\'') else { return false };
    let end = rest.bytes().position(|byte| !is_word_byte(byte)).unwrap_or(rest.len());
    end > 0 && !rest[end..].starts_with('\'')
}

fn is_declaration_keyword(word: &str) -> bool {
    DECLARING.contains(word)
}

/// Words before a declared name.
static DECLARING: WordSet = LazyLock::new(|| {
    word_set(
        "class const def define defmodule defp enum extension fn fun func function impl interface let \
         macro_rules mixin mod module namespace object package protocol record static struct sub \
         trait type typedef union val var",
    )
});

/// Words before a call; after any other word a name with a bracket is being declared.
static BEFORE_CALLS: WordSet = LazyLock::new(|| {
    word_set(
        "and assert async await case defer delete do elif else elsif from go if in is lambda new \
         not of or raise return then throw try typeof unless when while with yield",
    )
});

/// Words of import lines.
static IMPORTING: WordSet = LazyLock::new(|| {
    word_set(
        "alias export extern from import include library load mod open part require require_once \
         require_relative source use using",
    )
});

/// Keywords and built-in types, which are never names of symbols.
static KEYWORDS: WordSet = LazyLock::new(|| {
    word_set(
        "Any Boolean Dict Err False Int Integer None Null Number Option Optional Override \
         Promise Self Some String True Tuple Vec Void __init__ abstract and any assert async \
         await bool boolean break byte case catch char class cls const constructor continue \
         crate def default defmodule defp del delete double elif else elsif enum except export \
         extends extension extern false final finally float for foreach from fun func function \
         global goto impl implements import include instanceof int int64 interface internal \
         isinstance lambda let long loop macro_rules module mut namespace new nil not null \
         number of override package pass private protected protocol pub public raise readonly \
         require rescue return self short static str string struct sub super switch then this \
         throw throws trait true try typedef typeof undefined union unknown unless unsigned use \
         using val var void volatile when where while with yield",
    )
});

/// Words that occur in every file: they connect two files only where they are declared.
static COMMON: WordSet = LazyLock::new(|| {
    word_set(
        "Error List Map Object Result Set Type args data dict end err error get http https item \
         items key kwargs len list main map match name object open print println range record \
         ref result set test type value values",
    )
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_recognized_by_their_shape_in_many_languages() {
        let check = |line: &str, expected: &[&str]| {
            let found: Vec<&str> = declared_names(line)
                .into_iter()
                .map(|it| it.name)
                .filter(|it| is_symbol_name(it))
                .collect();
            assert_eq!(found, expected, "{line}");
        };
        check("def price_of(item: Item, count=1) -> int:", &["price_of", "item"]);
        check("    self.total = 3", &["total"]);
        check("export async function load(path: string) {", &["load", "path"]);
        check("  render(props: Props): Node {", &["render", "props"]);
        check("func (r *Repo) Find(id int) error {", &["Find"]);
        check("pub struct Cart<T> {", &["Cart"]);
        check("int area(const Shape *shape);", &["area", "Shape"]);
        check("  Blue,", &["Blue"]);
        check("#define LIMIT 10", &["LIMIT"]);
        check("typedef struct { int v; } number_t;", &["number_t"]);
        check("constexpr int kSize = 4;", &["kSize"]);
        check("static const char *names[] = {", &["names"]);
        check("using Callback = std::function<std::string(int)>;", &["Callback"]);
        check("  std::vector<Row> rows;", &["rows"]);
        check(
            "export type { default as Price, Item } from './price';",
            &["Price", "Item", "price"],
        );
        check("  \"retries\": 3,", &["retries"]);
        check("return total;", &[]);
        check("if (left == right[0])", &[]);
        check("entry.first = value;", &[]);
        check("  value: number;", &["value"]);
        check("total = compute(price)", &["total"]);
        check("    return compute(price)", &[]);
        check("// def gone(x): comment", &[]);
    }

    #[test]
    fn comments_and_prose_in_strings_are_no_names() {
        assert_eq!(names_of_code("send(\"hello there\", 'kind') # the rest"), ["send", "kind"]);
        let view = names_of_code("pub struct View<'a, 'b: 'a> { row: Row<'a>, c: char = 'x' }");
        assert!(view.contains(&"row") && view.contains(&"Row"), "{view:?}");
        assert_eq!(names_of_code("let x = ['some name', 'kind'];"), ["let", "x", "kind"]);
        assert!(names_of_code("# a comment").is_empty());
    }
}
