//! One pattern of one language: checked before it is used, matched against texts. It must not know
//! what is done with the places.

use std::ops::Range;

use ast_grep_core::language::Language as _;
use ast_grep_core::matcher::{Pattern as EnginePattern, PatternError, PatternNode};
use ast_grep_core::meta_var::{MetaVarEnv, MetaVariable};
use ast_grep_core::tree_sitter::LanguageExt as _;
use ast_grep_core::{AstGrep, Node, NodeMatch};

use super::grammar::Grammar;
use super::matching::{TooDeep, WalkDescent, for_each_node};
use super::{EngineDocument, is_unparsed, too_deep_gap, unparsed_gap};
use crate::base::limits::{PATTERN_BYTES_MAX, TREE_DEPTH_MAX};
use crate::base::text::LineIndex;
use crate::base::verdict::Gap;
use crate::scan::language::ScanLanguage;

/// A pattern that can match something.
pub(in crate::scan) struct CodePattern {
    pub(super) language: ScanLanguage,
    pub(super) matcher: EnginePattern,
    /// Its named variables, each with whether it stands for a list.
    variables: Vec<(String, bool)>,
}

/// One place that a pattern matches.
pub(in crate::scan) struct PatternMatch {
    /// Byte offsets in the text.
    pub(in crate::scan) bytes: Range<usize>,
    /// Sorted by name.
    pub(in crate::scan) variables: Vec<PatternVariable>,
}

/// What a variable stands for at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::scan) struct PatternVariable {
    pub(in crate::scan) name: String,
    /// Whether it stands for any number of nodes.
    pub(in crate::scan) is_list: bool,
    /// From the first node to the last; `None` for a list of nothing.
    pub(in crate::scan) bytes: Option<Range<usize>>,
}

impl CodePattern {
    /// The error is a lower-case fragment: what is wrong, where, and what to do.
    pub(in crate::scan) fn compile(text: &str, language: ScanLanguage) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        if text.len() > PATTERN_BYTES_MAX {
            return Err(format!("it is longer than {PATTERN_BYTES_MAX} bytes"));
        }
        let grammar = Grammar::from(language);
        let code = grammar.pre_process_pattern(text);
        let tree = EngineDocument::try_new(&code, grammar).map(AstGrep::doc);
        let tree = tree.map_err(|_| format!("it does not parse as {}", language.as_str()))?;
        // Before the engine makes a pattern of it, which recurses.
        if for_each_node(&tree, |_| WalkDescent::Visit).is_err() {
            return Err(format!("it is nested deeper than {TREE_DEPTH_MAX} levels"));
        }
        let matcher = match as_statement(text, &tree) {
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

    pub(in crate::scan) fn language(&self) -> ScanLanguage {
        self.language
    }

    /// The grammar's word for what is looked for, such as `call`; it tells why nothing is found.
    pub(in crate::scan) fn kind(&self) -> Option<String> {
        let id = match self.matcher.node {
            PatternNode::Internal { kind_id, .. } | PatternNode::Terminal { kind_id, .. } => {
                kind_id
            }
            PatternNode::MetaVar { .. } => return None,
        };
        let grammar = Grammar::from(self.language).get_ts_language();
        grammar.node_kind_for_id(id).map(str::to_owned)
    }

    /// The named variables, each with whether it stands for a list.
    pub(super) fn variables(&self) -> &[(String, bool)] {
        &self.variables
    }

    /// Every place in a text, in the order of their start, outer before inner. The error is why
    /// the text cannot be searched.
    pub(in crate::scan) fn find_matches(&self, text: &str) -> Result<Vec<PatternMatch>, Gap> {
        if !self.may_match(text) {
            return Ok(Vec::new());
        }
        let tree = parse_searchable(text, self.language)?;
        let place = |found: NodeMatch<'_, EngineDocument>| PatternMatch {
            bytes: found.range(),
            variables: self.captured_variables(found.get_env()),
        };
        Ok(tree.root().find_all(&self.matcher).map(place).collect())
    }

    /// Whether a text holds the pattern's longest word. Most do not, and parsing takes longest.
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
        let variable = |(name, is_list): &(String, bool)| PatternVariable {
            name: name.clone(),
            is_list: *is_list,
            bytes: range(name, *is_list),
        };
        self.variables.iter().map(variable).collect()
    }
}

/// A text's tree; the error is why it cannot be matched.
pub(super) fn parse_searchable(
    text: &str,
    language: ScanLanguage,
) -> Result<AstGrep<EngineDocument>, Gap> {
    let tree = super::parse_tree(language, text)?;
    for_each_node(&tree, |_| WalkDescent::Visit).map_err(|TooDeep| too_deep_gap())?;
    if is_unparsed(&tree) { Err(unparsed_gap(language)) } else { Ok(tree) }
}

/// An expression that is no program by itself, read as the statement it would be with its end: C
/// takes a bare `f($A)` for a type.
fn as_statement(text: &str, tree: &AstGrep<EngineDocument>) -> Option<EnginePattern> {
    let grammar = *tree.lang();
    if !tree.root().get_inner_node().has_error() || text.trim() != text {
        return None;
    }
    let statement = format!("{text};");
    let code = grammar.pre_process_pattern(&statement);
    let tree = AstGrep::doc(EngineDocument::try_new(&code, grammar).ok()?);
    let root = tree.root();
    if root.get_inner_node().has_error() {
        return None;
    }
    let expression = root.dfs().find(|node| node.range() == (0..code.len() - 1))?;
    EnginePattern::contextual(&statement, &expression.kind(), grammar).ok()
}

/// Where the parser could do nothing with a part of a pattern, or made something up for it. The
/// end of a statement may be made up, because a pattern need not write it; and a pattern may be no
/// program as a whole.
fn syntax_error_offset(tree: &AstGrep<EngineDocument>, matcher: &EnginePattern) -> Option<usize> {
    let root = tree.root();
    let grammar = tree.lang();
    let code = tree.get_text();
    let whole = code.len() - code.trim_start().len()..code.trim_end().len();
    let is_end =
        |node: &Node<'_, EngineDocument>| node.kind().trim().is_empty() || node.kind() == ";";
    let is_broken = |node: &Node<'_, EngineDocument>| {
        node.is_missing() && !is_end(node)
            || node.is_error()
                && node.range() != whole
                && grammar.extract_meta_var(&node.text()).is_none()
    };
    let at = root.dfs().find(is_broken).map(|node| node.range().start);
    at.or_else(|| matcher.has_error().then_some(0))
}

fn syntax_error(code: &str, at: usize, language: ScanLanguage) -> String {
    let lines = LineIndex::new(code);
    let start = lines.position(at);
    let (line, column) = (start.line + 1, start.character + 1);
    let word = language.as_str();
    format!("it is no {word} code at {line}:{column}; write a whole expression or statement")
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

fn collect_variables(node: &PatternNode, found: &mut Vec<(String, bool)>) {
    match node {
        PatternNode::MetaVar { meta_var: MetaVariable::Capture(name, _) } => {
            found.push((name.clone(), false));
        }
        PatternNode::MetaVar { meta_var: MetaVariable::MultiCapture(name) } => {
            found.push((name.clone(), true));
        }
        PatternNode::MetaVar { .. } | PatternNode::Terminal { .. } => {}
        PatternNode::Internal { children, .. } => {
            for child in children {
                collect_variables(child, found);
            }
        }
    }
}
