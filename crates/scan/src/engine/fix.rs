//! Computes replacement texts for matches: templates of rewrites and fixes of rules.

use std::collections::HashSet;
use std::ops::Range;

use ast_grep_config::RuleConfig;
use ast_grep_core::NodeMatch;
use ast_grep_core::language::Language as _;
use ast_grep_core::replacer::{Replacer as _, TemplateFix};

use super::EngineDocument;
use super::grammar::Grammar;
use super::pattern::{CodePattern, parse_searchable};
use crate::edits::{ByteEdit, RewriteSite};
use crate::language::ScanLanguage;
use moai_base::limits::REPLACEMENT_BYTES_MAX;
use moai_base::text::LineIndex;
use moai_base::verdict::Gap;

/// A compiled replacement template.
pub(crate) struct ReplacementTemplate {
    fix: TemplateFix,
    used_variables: Vec<String>,
}

impl ReplacementTemplate {
    /// The error is a lower-case fragment: the problem and its remedy.
    pub(crate) fn compile(text: &str, pattern: &CodePattern) -> Result<Self, String> {
        if text.len() > REPLACEMENT_BYTES_MAX {
            return Err(format!("it is longer than {REPLACEMENT_BYTES_MAX} bytes"));
        }
        let grammar = Grammar::from(pattern.language);
        let known = pattern.variables();
        let mut used = Vec::new();
        for (name, is_list) in template_variables(text, grammar.meta_var_char()) {
            let written = |is_list: bool| format!("{}{name}", if is_list { "$$$" } else { "$" });
            if !known.iter().any(|(known, _)| *known == name) {
                return Err(format!(
                    "{} is not in the pattern; {}",
                    written(is_list),
                    describe_variables(known)
                ));
            }
            if !known.contains(&(name.clone(), is_list)) {
                return Err(format!("the pattern has {name} as {}", written(!is_list)));
            }
            used.push(name);
        }
        let Ok(fix) = TemplateFix::try_new(text, &grammar);
        Ok(Self { fix, used_variables: used })
    }

    /// The ranges that would be replaced, with the parts that the replacement preserves.
    pub(crate) fn sites(&self, pattern: &CodePattern, text: &str) -> Result<Vec<RewriteSite>, Gap> {
        if !pattern.may_match(text) {
            return Ok(Vec::new());
        }
        let tree = parse_searchable(text, pattern.language)?;
        let site = |matched: NodeMatch<'_, EngineDocument>| {
            let captured = pattern.captured_variables(matched.get_env()).into_iter();
            let preserved = captured.filter(|it| self.used_variables.contains(&it.name));
            RewriteSite {
                bytes: self.fix.get_replaced_range(&matched, &pattern.matcher),
                preserved: preserved.filter_map(|it| it.bytes).collect(),
            }
        };
        Ok(tree.root().find_all(&pattern.matcher).map(site).collect())
    }

    /// The replacements for those of the given ranges that the pattern matches.
    pub(crate) fn edits(
        &self,
        pattern: &CodePattern,
        text: &str,
        places: &[Range<usize>],
    ) -> Result<Vec<ByteEdit>, Gap> {
        let tree = parse_searchable(text, pattern.language)?;
        let line_ends = LineEnding::from_text(text);
        let mut remaining: HashSet<Range<usize>> = places.iter().cloned().collect();
        let mut edits = Vec::new();
        for matched in tree.root().find_all(&pattern.matcher) {
            let bytes = self.fix.get_replaced_range(&matched, &pattern.matcher);
            if remaining.remove(&bytes) {
                let text = self.fix.generate_replacement(&matched);
                let text = line_ends.apply_to(&String::from_utf8_lossy(&text));
                edits.push(ByteEdit { bytes, text });
            }
        }
        Ok(edits)
    }
}

/// A rule's fix for one of its matches; of several fixes the first, which ast-grep treats as the
/// preferred one.
pub(super) fn edit_of_match(
    rule: &RuleConfig<Grammar>,
    place: &NodeMatch<'_, EngineDocument>,
) -> Option<ByteEdit> {
    let edit = place.make_edit(&rule.matcher, rule.fixer.first()?);
    let text = String::from_utf8_lossy(&edit.inserted_text).into_owned();
    Some(ByteEdit { bytes: edit.position..edit.position + edit.deleted_length, text })
}

/// Line ending of a text.
pub(crate) enum LineEnding {
    /// Every line ends with `\r\n`.
    Windows,
    /// Anything else; line breaks in replacements are kept as written.
    Other,
}

impl LineEnding {
    pub(crate) fn from_text(text: &str) -> Self {
        let is_windows = text.contains("\r\n")
            && text.match_indices('\n').all(|(at, _)| text[..at].ends_with('\r'));
        if is_windows { Self::Windows } else { Self::Other }
    }

    /// Converts a replacement to this line ending.
    pub(crate) fn apply_to(&self, text: &str) -> String {
        match self {
            Self::Windows => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            Self::Other => text.to_owned(),
        }
    }
}

/// Parse errors and missing nodes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxErrors {
    /// Number of error nodes.
    pub(crate) count: usize,
    /// 1-based line of the first one.
    pub(crate) line: Option<u32>,
}

/// Counts the syntax errors of a text; the gap explains why they cannot be counted.
pub(crate) fn count_syntax_errors(text: &str, language: ScanLanguage) -> Result<SyntaxErrors, Gap> {
    let tree = super::parse_tree(language, text)?;
    if !tree.root().get_inner_node().has_error() {
        return Ok(SyntaxErrors { count: 0, line: None });
    }
    let (mut count, mut first) = (0, None);
    for node in tree.root().dfs().filter(|node| node.is_error() || node.is_missing()) {
        count += 1;
        first.get_or_insert(node.range().start);
    }
    let line = first.map(|at| LineIndex::new(text).position(at).line + 1);
    Ok(SyntaxErrors { count, line })
}

/// The named variables of a template as the engine parses them; true for a list (`$$$NAME`).
fn template_variables(text: &str, sigil: char) -> Vec<(String, bool)> {
    let mut variables = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(sigil) {
        rest = &rest[at..];
        let sigils = rest.chars().take_while(|it| *it == sigil).take(3).count();
        rest = &rest[sigils * sigil.len_utf8()..];
        let is_part = |it: char| it.is_ascii_uppercase() || it == '_' || it.is_ascii_digit();
        let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        if rest.starts_with(|first: char| first.is_ascii_uppercase() || first == '_') {
            variables.push((rest[..end].to_owned(), sigils == 3));
        }
        rest = &rest[end..];
    }
    variables
}

fn describe_variables(known: &[(String, bool)]) -> String {
    if known.is_empty() {
        return "the pattern has no variables".to_owned();
    }
    format!(
        "the pattern has {}",
        known
            .iter()
            .map(|(name, is_list)| format!("{}{name}", if *is_list { "$$$" } else { "$" }))
            .collect::<Vec<_>>()
            .join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_replacement_are_those_the_engine_puts_in() {
        let check = |text: &str, expected: &[(&str, bool)]| {
            let found = template_variables(text, '$');
            let found: Vec<_> = found.iter().map(|(name, list)| (name.as_str(), *list)).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("f($A, $$$ARGS)", &[("A", false), ("ARGS", true)]);
        check("costs $5, $name and $", &[]);
        check("`${NAME}` $A1_B $$B", &[("A1_B", false), ("B", false)]);
        check("$$$$C", &[("C", false)]);
    }

    #[test]
    fn syntax_errors_are_counted_with_the_line_of_the_first() {
        let check = |text: &str, is_broken: bool, line: Option<u32>| {
            let broken = count_syntax_errors(text, ScanLanguage::Python).expect("it is parsed");
            assert_eq!((broken.count > 0, broken.line), (is_broken, line), "{text}");
        };
        check("a = 1\nf(a)\n", false, None);
        check("a = 1\nf(a\n", true, Some(2));
        check("a = 1\n\nb = )\n", true, Some(3));
    }
}
