//! G10: comments and attributes that silence a tool. Each silenced code of a file counts
//! separately.

use super::facts::{ParsedFiles, SourceSide};
use super::new_occurrences::{NewOccurrence, NodeOccurrence, new_occurrences, occurrences};
use super::{Detection, GuardInput, SourceChange};
use moai_base::finding::{Finding, Severity};
use moai_base::protected::is_generated;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

const CODE: &str = "G10";

/// How a directive lists its codes.
#[derive(Clone, Copy)]
enum CodeSyntax {
    /// It has none; prose follows.
    None,
    /// `[a, b]`, or nothing.
    Brackets,
    /// `name=value` pairs separated by commas; those that disable something count.
    Settings,
    /// Words with a number, such as `E501`, after a colon or a blank.
    Numbered,
    /// A list separated by commas, up to a blank without a comma before it, or to `--`.
    List,
}

/// Directives in comments; a directive comes before its prefixes.
const DIRECTIVES: &[(&str, CodeSyntax)] = &[
    ("@ts-expect-error", CodeSyntax::None),
    ("@ts-ignore", CodeSyntax::None),
    ("@ts-nocheck", CodeSyntax::None),
    ("ast-grep-ignore", CodeSyntax::List),
    ("biome-ignore", CodeSyntax::List),
    ("c8 ignore", CodeSyntax::List),
    ("CHECKSTYLE:OFF", CodeSyntax::None),
    ("eslint-disable-next-line", CodeSyntax::List),
    ("eslint-disable-line", CodeSyntax::List),
    ("eslint-disable", CodeSyntax::List),
    ("flake8: noqa", CodeSyntax::Numbered),
    ("istanbul ignore", CodeSyntax::List),
    ("lint:ignore", CodeSyntax::List),
    ("mypy: ignore-errors", CodeSyntax::None),
    ("mypy: disable-error-code", CodeSyntax::List),
    ("nolint", CodeSyntax::List),
    ("noqa", CodeSyntax::Numbered),
    ("nosec", CodeSyntax::Numbered),
    ("nosemgrep", CodeSyntax::List),
    ("NOSONAR", CodeSyntax::None),
    ("oxlint-disable", CodeSyntax::List),
    ("pragma: no cover", CodeSyntax::None),
    ("pragma: nocover", CodeSyntax::None),
    ("pylint: disable", CodeSyntax::List),
    ("pylint: skip-file", CodeSyntax::None),
    ("pyright: ignore", CodeSyntax::Brackets),
    ("pyright: basic", CodeSyntax::List),
    ("pyright:", CodeSyntax::Settings),
    ("ReSharper disable", CodeSyntax::List),
    ("ruff: noqa", CodeSyntax::Numbered),
    ("tslint:disable", CodeSyntax::List),
    ("type: ignore", CodeSyntax::Brackets),
    ("v8 ignore", CodeSyntax::List),
];

/// Equivalent directives of other tools.
const SAME: &[(&str, &str)] = &[
    ("istanbul ignore", "c8 ignore"),
    ("v8 ignore", "c8 ignore"),
    ("pragma: nocover", "pragma: no cover"),
];

/// Separators between a directive and its reason.
const SEPARATORS: &[char] = &['#', '/', '-', ':', ';', '(', ')', '*', '—', '=', ',', '.'];

/// One silenced code.
struct Suppression {
    directive: String,
    /// Empty for all codes.
    code: String,
    has_reason: bool,
}

impl Suppression {
    /// Key by which two suppressions are equal. Coverage pragmas have free text, which is not part
    /// of it.
    fn key(&self) -> String {
        let same = SAME.iter().find(|(word, _)| *word == self.directive);
        let directive = same.map_or(self.directive.as_str(), |(_, other)| other);
        let is_part = directive == "c8 ignore" && self.code != "file";
        format!("{directive}\0{}", if is_part { "" } else { self.code.as_str() })
    }

    /// True if it only ends an earlier suppression.
    fn is_end(&self) -> bool {
        self.directive.ends_with("8 ignore") && matches!(self.code.as_str(), "stop" | "end")
    }
}

pub(super) fn suppression_hits(input: &GuardInput<'_>, files: &ParsedFiles<'_>) -> Vec<Detection> {
    let deprecates = deprecates(files);
    let new = new_occurrences(files, side_things);
    let new = new.into_iter().filter(|it| !is_narrower(it) && !is_replaced(it));
    new.filter_map(|novel| hit(&novel, input.base_findings, deprecates)).collect()
}

/// True if the change deprecates code of the project that other code still uses.
fn deprecates(files: &ParsedFiles<'_>) -> bool {
    let count = |side: Option<&SourceSide<'_>>| {
        let rust = side.filter(|it| it.language == ScanLanguage::Rust);
        rust.map_or(0, |side| side.root.text().matches("#[deprecated").count())
    };
    files.files.iter().any(|file| count(file.after.as_ref()) > count(file.before.as_ref()))
}

/// The directives of a file; a key consists of directive and code.
fn side_things<'t>(side: &SourceSide<'t>) -> Vec<NodeOccurrence<'t>> {
    if is_generated(side.root.text().as_bytes()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for thing in occurrences(side, |node| is_place(node, side.language).then(String::new)) {
        let own =
            find_suppressions(side, thing.node).into_iter().filter(|silence| !silence.is_end());
        found.extend(own.map(|silence| NodeOccurrence { key: silence.key(), node: thing.node }));
    }
    found
}

fn is_place(node: SyntaxNode<'_>, language: ScanLanguage) -> bool {
    match node.kind() {
        kind if kind.contains("comment") => {
            !node.parent().is_some_and(|it| it.kind().contains("comment"))
        }
        "attribute_item" | "inner_attribute_item" => language == ScanLanguage::Rust,
        "annotation" => language == ScanLanguage::Java,
        "attribute" | "preproc_pragma" | "preproc_nullable" | "nullable_directive" => {
            language == ScanLanguage::CSharp
        }
        _ => false,
    }
}

fn find_suppressions(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> Vec<Suppression> {
    let is_explained = has_reason_beside(side, node);
    let text = node.text();
    match node.kind() {
        "attribute_item" | "inner_attribute_item" => rust(node, is_explained),
        "annotation" => java(node, is_explained),
        "attribute" => csharp(node, is_explained),
        "preproc_pragma" => match text.split_once("warning disable") {
            Some((_, rest)) => listed("#pragma warning disable", rest, is_explained),
            None => Vec::new(),
        },
        "preproc_nullable" | "nullable_directive" if text.contains("disable") => {
            listed("#nullable disable", "", is_explained)
        }
        _ => comment(node, is_explained),
    }
}

fn comment(node: SyntaxNode<'_>, is_explained: bool) -> Vec<Suppression> {
    let text = node.text();
    let mut found = Vec::new();
    let mut taken = 0..0;
    for (word, codes) in DIRECTIVES {
        let Some(at) = text.find(word).filter(|at| is_directive(text, *at) && !taken.contains(at))
        else {
            continue;
        };
        taken = at..at + word.len();
        let rest = text[at + word.len()..].lines().next().unwrap_or_default();
        if rest.starts_with(|it: char| it.is_alphanumeric()) {
            continue;
        }
        let (codes, rest) = codes_of(*codes, rest);
        let has_reason = is_reason(&rest) || is_explained;
        found.extend(codes.into_iter().map(|code| Suppression {
            directive: (*word).to_owned(),
            code,
            has_reason,
        }));
    }
    found
}

/// True if a directive is where a tool reads it: at the start of its comment or after another
/// directive, not in the middle of prose.
fn is_directive(text: &str, at: usize) -> bool {
    let before = text[..at].rsplit('\n').next().unwrap_or_default();
    let before = before.trim_end();
    before.is_empty() || before.ends_with(['#', '/', '*', '!', '<'])
}

/// The codes after a directive (one empty code for all), and the text after them.
fn codes_of(codes: CodeSyntax, rest: &str) -> (Vec<String>, String) {
    let all = || vec![String::new()];
    match codes {
        CodeSyntax::None => (all(), rest.to_owned()),
        CodeSyntax::Settings => {
            let is_off = |value: &str| {
                let word = value.split_whitespace().next();
                matches!(word, Some("false" | "none" | "information"))
            };
            let pairs = rest.split(',').filter_map(|part| part.split_once('='));
            let off = pairs.filter(|(_, value)| is_off(value));
            (off.map(|(name, _)| name.trim().to_owned()).collect(), String::new())
        }
        CodeSyntax::Brackets => {
            let inner = rest.trim_start().strip_prefix('[').and_then(|it| it.split_once(']'));
            let Some((inner, rest)) = inner else { return (all(), rest.to_owned()) };
            (inner.split(',').map(|it| it.trim().to_owned()).collect(), rest.to_owned())
        }
        CodeSyntax::Numbered => {
            let is_code = |word: &&str| {
                let letters = word.trim_end_matches(|it: char| it.is_ascii_digit());
                letters.len() < word.len()
                    && !letters.is_empty()
                    && letters.chars().all(|it| it.is_ascii_uppercase())
            };
            let words: Vec<&str> =
                rest.split([' ', ',', ':']).filter(|it| !it.is_empty()).collect();
            let found: Vec<String> =
                words.iter().take_while(|it| is_code(it)).map(|it| (*it).to_owned()).collect();
            let behind = words[found.len()..].join(" ");
            (if found.is_empty() { all() } else { found }, behind)
        }
        CodeSyntax::List => {
            let rest = rest.trim_start_matches([':', '=', ' ']).trim_end_matches("*/");
            let (list, mut behind) = rest
                .split_once("--")
                .map_or((rest, String::new()), |(list, why)| (list, why.to_owned()));
            let mut found = Vec::new();
            let mut parts = list.split(',');
            for part in parts.by_ref() {
                let mut words = part.split_whitespace();
                let code = words.next().unwrap_or_default().trim_end_matches(':');
                if !code.starts_with(SEPARATORS) && !code.is_empty() {
                    found.push(code.to_owned());
                } else {
                    behind.push_str(code);
                }
                let prose: Vec<&str> = words.collect();
                if !prose.is_empty() {
                    behind.push_str(&prose.join(" "));
                    break;
                }
            }
            (if found.is_empty() { all() } else { found }, behind)
        }
    }
}

/// True if a text is a reason: a word of at least four letters, or two words.
pub(super) fn is_reason(text: &str) -> bool {
    let words = text.split(|it: char| !it.is_alphabetic()).filter(|it| it.chars().count() > 1);
    let words: Vec<&str> = words.collect();
    words.len() > 1 || words.iter().any(|it| it.chars().count() > 3 || !it.is_ascii())
}

/// True if a comment on the line above, or at the end of the same line, gives a reason.
fn has_reason_beside(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    side.comments.iter().any(|other| {
        let is_above = other.end_line() + 1 == node.line();
        let is_behind = other.line() == node.end_line() && other.bytes() != node.bytes();
        (is_above || is_behind)
            && is_reason(other.text())
            && !DIRECTIVES.iter().any(|(word, _)| other.text().contains(word))
    })
}

fn listed(directive: &str, rest: &str, is_explained: bool) -> Vec<Suppression> {
    let (codes, behind) = rest.split_once("//").unwrap_or((rest, ""));
    let has_reason = is_reason(behind) || is_explained;
    let mut codes: Vec<&str> = codes.split(',').map(str::trim).collect();
    codes.dedup();
    codes
        .into_iter()
        .map(|code| Suppression {
            directive: directive.to_owned(),
            code: code.to_owned(),
            has_reason,
        })
        .collect()
}

fn rust(node: SyntaxNode<'_>, is_explained: bool) -> Vec<Suppression> {
    let comments = node.text().lines().filter_map(|line| line.split_once("//"));
    let has_comment = comments.into_iter().any(|(_, comment)| is_reason(comment));
    let lines = node.text().lines().map(|line| line.split("//").next().unwrap_or_default());
    let text: String = lines.collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for directive in ["allow", "expect"] {
        let open = format!("{directive}(");
        let Some(at) = text.find(&open) else { continue };
        let is_word = text[..at].ends_with(['[', ' ', ',', '(']);
        let inner = &text[at + open.len()..];
        let (codes, why) = inner.split_once("reason").unwrap_or((inner, ""));
        let codes = codes.split(')').next().filter(|_| is_word).unwrap_or_default();
        let has_reason = is_reason(why) || is_explained || has_comment;
        let codes = codes.split(',').map(str::trim).filter(|it| !it.is_empty());
        let directive = format!("#[{directive}]");
        found.extend(codes.map(|code| Suppression {
            directive: directive.clone(),
            code: code.to_owned(),
            has_reason,
        }));
    }
    found
}

fn java(node: SyntaxNode<'_>, is_explained: bool) -> Vec<Suppression> {
    let name = node.field("name").map_or("", SyntaxNode::text);
    if !matches!(name, "SuppressWarnings" | "SuppressFBWarnings") {
        return Vec::new();
    }
    let has_reason = node.text().contains("justification") || is_explained;
    let (codes, _) = node.text().split_once("justification").unwrap_or((node.text(), ""));
    let codes = codes.split('"').skip(1).step_by(2).map(str::to_owned);
    codes.map(|code| Suppression { directive: format!("@{name}"), code, has_reason }).collect()
}

fn csharp(node: SyntaxNode<'_>, is_explained: bool) -> Vec<Suppression> {
    let name = node.field("name").map_or("", SyntaxNode::text);
    if !matches!(
        name,
        "SuppressMessage" | "UnconditionalSuppressMessage" | "ExcludeFromCodeCoverage"
    ) {
        return Vec::new();
    }
    let text = node.text();
    let why = text.split_once("Justification").map_or("", |(_, why)| why);
    let has_reason = is_reason(why) && !why.contains("<Pending>") || is_explained;
    let code = text.split('"').nth(3).unwrap_or_default();
    let code = code.split(':').next().unwrap_or_default().to_owned();
    vec![Suppression { directive: name.to_owned(), code, has_reason }]
}

/// True if a directive for one code replaced one for all codes.
fn is_narrower(new: &NewOccurrence<'_, '_>) -> bool {
    let Some((directive, code)) = new.occurrence.key.split_once('\0') else { return false };
    let before = new.file.before.as_ref();
    if code.is_empty() || !before.is_some_and(|it| it.root.text().contains(directive)) {
        return false;
    }
    let wide = format!("{directive}\0");
    let count = |side: Option<&SourceSide<'_>>| {
        side.map_or(0, |side| side_things(side).iter().filter(|it| it.key == wide).count())
    };
    count(before) > count(Some(new.side))
}

/// True if a directive for one code replaced one for another code on a line whose code is
/// unchanged: tools rename their rules.
fn is_replaced(new: &NewOccurrence<'_, '_>) -> bool {
    let Some((directive, code)) = new.occurrence.key.split_once('\0') else { return false };
    let Some(before) = new.file.before.as_ref().filter(|_| !code.is_empty()) else { return false };
    let beside = |side: &SourceSide<'_>, node: SyntaxNode<'_>| {
        let start = node.bytes().start;
        let code = side.root.text()[..start].rsplit('\n').next().unwrap_or_default();
        code.trim().to_owned()
    };
    let own = beside(new.side, new.occurrence.node);
    let count = |side: &SourceSide<'_>| {
        let fits = |it: &NodeOccurrence<'_>| {
            let is_same = it.key.split_once('\0').is_some_and(|(other, _)| other == directive);
            is_same && beside(side, it.node) == own
        };
        side_things(side).iter().filter(|it| fits(it)).count()
    };
    !own.is_empty() && count(new.side) <= count(before)
}

fn hit(new: &NewOccurrence<'_, '_>, known: &[Finding], deprecates: bool) -> Option<Detection> {
    let silence = find_suppressions(new.side, new.occurrence.node)
        .into_iter()
        .find(|it| !it.is_end() && it.key() == new.occurrence.key)?;
    let (directive, code) = (silence.directive.as_str(), silence.code.as_str());
    let is_test = is_apart(new.side, new.occurrence.node);
    // A test that expects a compiler error is a test of types.
    if is_test && directive == "@ts-expect-error" {
        return None;
    }
    let hides =
        known.iter().find(|it| is_hidden(it, &silence, new.occurrence.node, new.file.change));
    let is_own = deprecates && code == "deprecated";
    let is_fine = silence.has_reason
        || is_test
        || is_own
        || is_usual(new.side, new.occurrence.node, &silence);
    let what = if code.is_empty() { directive.to_owned() } else { format!("{directive} {code}") };
    let message = match hides {
        Some(finding) => {
            format!("`{what}` hides {} {}: fix the finding instead", finding.sensor, finding.code)
        }
        None if is_fine => format!("`{what}` is new: fix what it silences if possible"),
        None => format!(
            "`{what}` is new and gives no reason: fix what it silences, or add one next to it"
        ),
    };
    Some(Detection {
        code: CODE,
        severity: if hides.is_some() || !is_fine { Severity::Error } else { Severity::Warning },
        path: new.file.change.path.clone(),
        bytes: new.occurrence.node.bytes(),
        message,
        anchor: format!("{what} {}", new.occurrence.node.text()),
    })
}

/// True if it is in tests, examples or benchmarks.
fn is_apart(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let folders = ["bench", "benches", "benchmarks", "examples"];
    let is_beside = side.path.as_str().split('/').rev().skip(1).any(|it| folders.contains(&it));
    let attribute: String = node.text().split_whitespace().collect();
    side.is_test_at(node.bytes().start) || is_beside || attribute.contains("cfg_attr(test,")
}

/// True if the reason for a directive at this position is common knowledge.
fn is_usual(side: &SourceSide<'_>, node: SyntaxNode<'_>, silence: &Suppression) -> bool {
    let line = side.root.text().lines().nth(node.line()).unwrap_or_default();
    match silence.directive.as_str() {
        "noqa" => {
            side.path.as_str().ends_with("__init__.py")
                && ["F401", "F403", ""].contains(&silence.code.as_str())
        }
        "pragma: no cover" => [
            "__main__",
            "TYPE_CHECKING",
            "NotImplementedError",
            "@overload",
            "abstractmethod",
            "...",
        ]
        .iter()
        .any(|word| line.contains(word)),
        _ => false,
    }
}

/// True if a directive silences a finding of the base.
fn is_hidden(
    finding: &Finding,
    silence: &Suppression,
    node: SyntaxNode<'_>,
    change: &SourceChange,
) -> bool {
    if finding.path != *change.path_before() || finding.code.is_empty() {
        return false;
    }
    let last = |code: &str| code.rsplit(['/', ':']).next().unwrap_or_default().to_ascii_lowercase();
    if !silence.code.is_empty() {
        return last(&finding.code) == last(&silence.code);
    }
    let line = |text: Option<&String>, number: usize| {
        text.and_then(|it| it.lines().nth(number)).map_or("", str::trim).to_owned()
    };
    let old = line(change.before.as_ref(), finding.range.start.line as usize);
    let near = [node.line(), node.end_line() + 1].map(|number| line(change.after.as_ref(), number));
    old.len() > 2 && near.iter().any(|now| now.starts_with(&old))
}
