//! One pattern in one language: validated on compilation, matched against texts.

use std::ops::Range;

use ast_grep_core::language::Language as _;
use ast_grep_core::matcher::{Pattern as EnginePattern, PatternError, PatternNode};
use ast_grep_core::meta_var::{MetaVarEnv, MetaVariable};
use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_core::{AstGrep, Node};

use super::grammar::Grammar;
use super::matching::{TooDeep, WalkDescent, WalkNodes, for_each_node};
use super::{EngineDocument, is_unparsed, too_deep_gap, unparsed_gap};
use crate::isolation::parse_in_worker;
use crate::language::ScanLanguage;
use moai_base::limits::{PATTERN_BYTES_MAX, TREE_DEPTH_MAX};
use moai_base::text::LineIndex;
use moai_base::verdict::Gap;

/// A pattern that can match something, compiled for one language.
pub(crate) struct CodePattern {
    pub(super) language: ScanLanguage,
    pub(super) matcher: EnginePattern,
    /// Named variables; true for those that capture a list.
    variables: Vec<(String, bool)>,
}

pub(crate) struct PatternMatch {
    /// Byte offsets in the text.
    pub(crate) bytes: Range<usize>,
    /// Sorted by name.
    pub(crate) variables: Vec<PatternVariable>,
}

/// The capture of a variable in one match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternVariable {
    pub(crate) name: String,
    /// True if it captures any number of nodes.
    pub(crate) is_list: bool,
    /// From the first node to the last; `None` for an empty list.
    pub(crate) bytes: Option<Range<usize>>,
}

impl CodePattern {
    /// The error is a lower-case fragment: the problem, its position and its remedy.
    pub(crate) fn compile(text: &str, language: ScanLanguage) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        if text.len() > PATTERN_BYTES_MAX {
            return Err(format!("it is longer than {PATTERN_BYTES_MAX} bytes"));
        }
        let grammar = Grammar::from(language);
        let code = grammar.pre_process_pattern(text);
        parse_in_worker(language, &code).map_err(|gap| gap.detail)?;
        let tree = EngineDocument::try_new(&code, grammar).map(AstGrep::doc);
        let tree = tree.map_err(|_| format!("it does not parse as {}", language.as_str()))?;
        // Checked first, because the engine compiles patterns recursively.
        if for_each_node(&tree, WalkNodes::All, |_, _| WalkDescent::Visit).is_err() {
            return Err(format!("it is nested deeper than {TREE_DEPTH_MAX} levels"));
        }
        let matcher = match as_statement(text, language, &tree) {
            Some(matcher) => matcher,
            None => EnginePattern::try_new(text, grammar)
                .map_err(|error| describe_pattern_error(&error))?,
        };
        if let Some(at) = syntax_error_offset(&tree, &matcher) {
            return Err(syntax_error(&code, at, language));
        }
        if matches!(matcher.node, PatternNode::MetaVar { .. }) {
            let what = "a variable alone matches everything";
            return Err(format!("{what}; write the code around it"));
        }
        let mut variables = Vec::new();
        collect_variables(&matcher.node, &mut variables);
        variables.sort();
        variables.dedup();
        Ok(Self { language, matcher, variables })
    }

    pub(crate) fn language(&self) -> ScanLanguage {
        self.language
    }

    /// The grammar's node kind of the pattern, such as `call`: shown when nothing matches.
    pub(crate) fn kind(&self) -> Option<String> {
        let id = match self.matcher.node {
            PatternNode::Internal { kind_id, .. } | PatternNode::Terminal { kind_id, .. } => {
                kind_id
            }
            PatternNode::MetaVar { .. } => return None,
        };
        let grammar = Grammar::from(self.language).get_ts_language();
        grammar.node_kind_for_id(id).map(str::to_owned)
    }

    /// The named variables; true for those that capture a list.
    pub(super) fn variables(&self) -> &[(String, bool)] {
        &self.variables
    }

    /// All matches by start, outer before inner. The gap explains why the text cannot be searched.
    pub(crate) fn find_matches(&self, text: &str) -> Result<Vec<PatternMatch>, Gap> {
        if !self.may_match(text) {
            return Ok(Vec::new());
        }
        let tree = parse_searchable(text, self.language)?;
        Ok(tree
            .root()
            .find_all(&self.matcher)
            .map(|matched| PatternMatch {
                bytes: matched.range(),
                variables: self.captured_variables(matched.get_env()),
            })
            .collect())
    }

    /// True if the text contains the pattern's longest literal. Most texts do not, and parsing
    /// dominates the cost.
    pub(super) fn may_match(&self, text: &str) -> bool {
        text.contains(&*self.matcher.fixed_string())
    }

    pub(super) fn captured_variables(
        &self,
        env: &MetaVarEnv<'_, EngineDocument>,
    ) -> Vec<PatternVariable> {
        let range = |name: &str, is_list: bool| {
            if !is_list {
                return env.get_match(name).map(Node::range);
            }
            let nodes = env.get_multiple_matches(name);
            Some(nodes.first()?.range().start..nodes.last()?.range().end)
        };
        self.variables
            .iter()
            .map(|(name, is_list)| PatternVariable {
                name: name.clone(),
                is_list: *is_list,
                bytes: range(name, *is_list),
            })
            .collect()
    }
}

/// Parses a text for matching; the gap explains why it cannot be matched.
pub(super) fn parse_searchable(
    text: &str,
    language: ScanLanguage,
) -> Result<AstGrep<EngineDocument>, Gap> {
    let tree = super::parse_tree(language, text)?;
    for_each_node(&tree, WalkNodes::All, |_, _| WalkDescent::Visit)
        .map_err(|TooDeep| too_deep_gap())?;
    if is_unparsed(&tree) { Err(unparsed_gap(language)) } else { Ok(tree) }
}

/// Reparses an expression that is not a valid program on its own as a statement, because C parses a
/// bare `f($A)` as a type.
fn as_statement(
    text: &str,
    language: ScanLanguage,
    tree: &AstGrep<EngineDocument>,
) -> Option<EnginePattern> {
    let grammar = *tree.lang();
    if !tree.root().get_inner_node().has_error() || text.trim() != text {
        return None;
    }
    let statement = format!("{text};");
    let code = grammar.pre_process_pattern(&statement);
    parse_in_worker(language, &code).ok()?;
    let tree = AstGrep::doc(EngineDocument::try_new(&code, grammar).ok()?);
    let root = tree.root();
    if root.get_inner_node().has_error() {
        return None;
    }
    let expression = root.dfs().find(|node| node.range() == (0..code.len() - 1))?;
    EnginePattern::contextual(&statement, &expression.kind(), grammar).ok()
}

/// Offset of the first syntax error in a pattern. A missing end of statement does not count,
/// because a pattern may omit it; neither does an error node that spans the whole pattern, because
/// a pattern need not be a complete program.
fn syntax_error_offset(tree: &AstGrep<EngineDocument>, matcher: &EnginePattern) -> Option<usize> {
    let root = tree.root();
    let grammar = tree.lang();
    let code = tree.get_text();
    let whole = code.len() - code.trim_start().len()..code.trim_end().len();
    let is_end =
        |node: &Node<'_, EngineDocument>| node.kind().trim().is_empty() || node.kind() == ";";
    let at = root
        .dfs()
        .find(|node| {
            node.is_missing() && !is_end(node)
                || node.is_error()
                    && node.range() != whole
                    && grammar.extract_meta_var(&node.text()).is_none()
        })
        .map(|node| node.range().start);
    at.or_else(|| matcher.has_error().then_some(0))
}

fn syntax_error(code: &str, at: usize, language: ScanLanguage) -> String {
    let lines = LineIndex::new(code);
    let start = lines.position(at);
    let (line, column) = (start.line + 1, start.character + 1);
    let word = language.as_str();
    format!("it is not {word} code at {line}:{column}; write a whole expression or statement")
}

fn describe_pattern_error(error: &PatternError) -> String {
    match error {
        PatternError::MultipleNode(_) => {
            "it is more than one expression or statement; write one".to_owned()
        }
        PatternError::NoContent(_) => "there is no code in it".to_owned(),
        PatternError::RootMultiMetaVar(_) => {
            "a list alone matches everything; write the code around it".to_owned()
        }
        other => other.to_string(),
    }
}

fn collect_variables(node: &PatternNode, variables: &mut Vec<(String, bool)>) {
    match node {
        PatternNode::MetaVar { meta_var: MetaVariable::Capture(name, _) } => {
            variables.push((name.clone(), false));
        }
        PatternNode::MetaVar { meta_var: MetaVariable::MultiCapture(name) } => {
            variables.push((name.clone(), true));
        }
        PatternNode::MetaVar { .. } | PatternNode::Terminal { .. } => {}
        PatternNode::Internal { children, .. } => {
            for child in children {
                collect_variables(child, variables);
            }
        }
    }
}
