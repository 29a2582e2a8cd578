//! The matching engine. Only this module uses the ast-grep crates; the rest of the program works
//! with rules, ranges and gaps.

mod bounded_parse;
mod compile;
mod enclosing;
pub(super) mod fix;
mod globs;
mod grammar;
mod imports;
mod inject;
mod matching;
pub(super) mod pattern;
mod prefilter;
mod suppressions;
#[cfg(test)]
mod tests;
pub(super) mod tree;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ast_grep_config::{RuleConfig, Severity as EngineSeverity};
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, Node, NodeMatch};

pub(super) use self::bounded_parse::CpuBound;
use self::bounded_parse::{ParseFailure, parse_bounded};
pub(super) use self::compile::{EngineRule, UtilityRules};
pub(super) use self::globs::NameGlobs;
use self::grammar::Grammar;
pub(super) use self::inject::LanguageInjector;
use self::matching::{ActiveRules, ImportResolver, KindTable, MatchInput};
use self::prefilter::{Prefilter, WordHits};
pub(super) use self::suppressions::UNUSED as UNUSED_SUPPRESSION;
use super::edits::ByteEdit;
use super::isolation::parse_in_worker;
use super::language::ScanLanguage;
use super::rules::RuleInfo;
use moai_base::finding::Severity;
use moai_base::limits::{BRACKETS_DEPTH_MAX, TREE_DEPTH_MAX};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};

type EngineDocument = StrDoc<Grammar>;

/// The rules of one language and the prefilter for their texts.
pub(super) struct RuleEngine {
    language: ScanLanguage,
    pub(super) rules: Vec<Arc<EngineRule>>,
    /// Built when the first text is matched.
    prefilter: OnceLock<Prefilter>,
}

pub(super) struct RuleMatch {
    pub(super) id: String,
    pub(super) severity: Severity,
    pub(super) message: String,
    /// Byte offsets in the text.
    pub(super) bytes: Range<usize>,
    /// The rule's fix, if it has one.
    pub(super) edit: Option<ByteEdit>,
}

impl RuleEngine {
    pub(super) fn new(language: ScanLanguage, rules: Vec<Arc<EngineRule>>) -> Self {
        Self { language, rules, prefilter: OnceLock::new() }
    }

    /// Data that the findings of a rule carry.
    pub(super) fn info(&self, id: &str) -> RuleInfo {
        let rule = self.rules.iter().find(|rule| rule.spec.id == id);
        rule.map(|rule| rule.spec.info.clone()).unwrap_or_default()
    }

    /// True if some rule covers this path.
    pub(super) fn handles(&self, path: &RelPath) -> bool {
        self.rules.iter().any(|rule| rule.admits(path))
    }

    /// All unsuppressed matches, plus comments that suppress nothing, and the gap if the text was
    /// not measured completely. A text that no rule can match is not parsed, so its syntax errors
    /// leave no gap. `tried` is called with a rule's id after each attempt to match the rule at a
    /// node. Matching ends when the bound is exceeded.
    pub(super) fn matches(
        &self,
        path: &RelPath,
        text: &str,
        bound: &CpuBound,
        tried: &mut impl FnMut(&str),
    ) -> (Vec<RuleMatch>, Option<Gap>) {
        let prefilter = self
            .prefilter
            .get_or_init(|| Prefilter::new(self.rules.iter().map(|rule| rule.need()).collect()));
        let hits = prefilter.find_words(text);
        let active = self.active(path, prefilter, &hits);
        let has_marker = text.contains(suppressions::MARKER);
        if !has_marker && active.iter().all(Option::is_none) {
            return (Vec::new(), None);
        }
        let tree = match parse_tree(self.language, text) {
            Ok(tree) => tree,
            Err(gap) => return (Vec::new(), Some(gap)),
        };
        let table = KindTable::new(self.language.into(), &active);
        let Ok(walk) = table.walk(&tree, &active, has_marker) else {
            return (Vec::new(), Some(too_deep_gap()));
        };
        let imports = ImportResolver::new(&self.rules, self.language);
        let input = MatchInput { tree: &tree, active: &active, imports: &imports, bound };
        let mut matches = Vec::new();
        let on_match = |rule: &_, place: &_| matches.push(to_match(rule, place));
        let tried_rules = KindTable::match_rules(&input, walk, on_match, tried);
        if let Some(id) = tried_rules.slow_rule {
            let detail = format!("matching took too long, last with rule `{id}`");
            return (matches, Some(Gap::new(Cause::Skipped, detail)));
        }
        matches.extend(tried_rules.suppressions.unused().map(unused_suppression));
        (matches, is_unparsed(&tree).then(|| unparsed_gap(self.language)))
    }

    /// The rules that cover this path and may match in the text. Only these are compiled; a rule
    /// that does not compile records its fault.
    fn active(&self, path: &RelPath, prefilter: &Prefilter, hits: &WordHits) -> ActiveRules<'_> {
        let numbered = self.rules.iter().enumerate().map(|(number, rule)| {
            let may_match = prefilter.may_match(number, hits) && rule.admits(path);
            may_match.then_some(number)
        });
        let compiled = numbered.map(|number| {
            let rule = self.rules[number?].compiled().ok()?;
            Some((rule, prefilter.anchors(number?, hits)))
        });
        compiled.collect()
    }
}

/// Message of the finding for a comment that suppresses nothing.
const UNUSED_MESSAGE: &str = "this comment suppresses nothing; remove it, or correct its ids";

fn unused_suppression(bytes: Range<usize>) -> RuleMatch {
    RuleMatch {
        id: UNUSED_SUPPRESSION.to_owned(),
        severity: Severity::Hint,
        message: UNUSED_MESSAGE.to_owned(),
        bytes,
        edit: None,
    }
}

/// Parses a text in this process; the gap explains why it cannot be parsed.
pub(super) fn parse_gap(language: ScanLanguage, text: &str) -> Option<Gap> {
    parse_here(language, text).err()
}

/// Parses a text in this process, after a worker has shown that it can be parsed.
fn parse_tree(language: ScanLanguage, text: &str) -> Result<AstGrep<EngineDocument>, Gap> {
    parse_in_worker(language, text)?;
    parse_here(language, text)
}

/// Parses a text in this process, unless its brackets show that the tree would be too deep.
fn parse_here(language: ScanLanguage, text: &str) -> Result<AstGrep<EngineDocument>, Gap> {
    if has_deeper_brackets(text, BRACKETS_DEPTH_MAX) {
        return Err(too_deep_gap());
    }
    parse_bounded(language, text).map_err(|failure| match failure {
        ParseFailure::NoTree => unparsed_gap(language),
        ParseFailure::TooSlow => Gap::new(Cause::Skipped, "parsing took too long"),
    })
}

/// Ranges of the comments of a text and of the contents of its docstrings. `None` if the tree has
/// any error, because an apparent comment there may be code.
pub(super) fn comment_ranges(language: ScanLanguage, text: &str) -> Option<Vec<Range<usize>>> {
    let tree = parse_tree(language, text).ok()?;
    if tree.root().dfs().any(|node| node.is_error() || node.is_missing()) {
        return None;
    }
    Some(
        tree.root()
            .dfs()
            .filter(|node| suppressions::is_comment(&node.kind()) || is_docstring(node))
            .map(|node| node.range())
            .collect(),
    )
}

fn is_docstring(node: &Node<'_, EngineDocument>) -> bool {
    let above = node.parent().filter(|above| above.kind() == "string");
    let statement = above.and_then(|above| above.parent());
    node.kind() == "string_content"
        && statement.is_some_and(|it| it.kind() == "expression_statement")
}

/// True if more than `depth_max` brackets are open at once. Brackets in strings and comments count
/// too; an unrealistic number of them would have to be unbalanced to matter. Angle brackets count
/// as long as only names and separators are between them, as in type arguments: elsewhere they
/// compare.
fn has_deeper_brackets(text: &str, depth_max: usize) -> bool {
    let (mut depth, mut angles) = (0_usize, 0_usize);
    text.bytes().any(|byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'<' => angles += 1,
            b'>' => angles = angles.saturating_sub(1),
            b'_' | b',' | b'.' | b'?' | b'&' | b':' | b'\'' | b'$' | b'@' => {}
            _ if byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() => {}
            _ => angles = 0,
        }
        depth > depth_max || angles > depth_max
    })
}

fn too_deep_gap() -> Gap {
    Gap::new(Cause::Skipped, format!("code nested deeper than {TREE_DEPTH_MAX} levels"))
}

fn unparsed_gap(language: ScanLanguage) -> Gap {
    Gap::new(Cause::Skipped, format!("the text does not parse as {}", language.as_str()))
}

/// True if the text failed to parse as a whole: the root is an error or has only errors as
/// children. An error next to parsed code does not invalidate the matches in that code.
fn is_unparsed(tree: &AstGrep<EngineDocument>) -> bool {
    let root = tree.root();
    let mut children = root.children().filter(Node::is_named).peekable();
    root.is_error() || (children.peek().is_some() && children.all(|child| child.is_error()))
}

fn to_match(rule: &RuleConfig<Grammar>, place: &NodeMatch<'_, EngineDocument>) -> RuleMatch {
    let message = if rule.message.is_empty() {
        rule.id.clone()
    } else if rule.message.contains('$') {
        rule.get_message(place)
    } else {
        rule.message.clone()
    };
    let severity = match rule.severity {
        EngineSeverity::Error => Severity::Error,
        EngineSeverity::Warning => Severity::Warning,
        EngineSeverity::Info => Severity::Info,
        EngineSeverity::Hint | EngineSeverity::Off => Severity::Hint,
    };
    let edit = fix::edit_of_match(rule, place);
    RuleMatch { id: rule.id.clone(), severity, message, bytes: place.range(), edit }
}
