//! What stands in the place of a match afterwards: the replacement of a rewrite, the fix of a rule.
//! It must not know which of several replacements is made first.

use std::collections::HashSet;
use std::ops::Range;

use ast_grep_config::RuleConfig;
use ast_grep_core::NodeMatch;
use ast_grep_core::language::Language as _;
use ast_grep_core::replacer::{Replacer as _, TemplateFix};

use super::EngineDocument;
use super::grammar::Grammar;
use super::pattern::{CodePattern, parse_searchable};
use crate::base::limits::PATTERN_BYTES_MAX;
use crate::base::text::LineIndex;
use crate::base::verdict::Gap;
use crate::scan::edits::{ByteEdit, RewriteSite};
use crate::scan::language::ScanLanguage;

/// A replacement for what a pattern matches.
pub(in crate::scan) struct ReplacementTemplate {
    fix: TemplateFix,
    used_variables: Vec<String>,
}

impl ReplacementTemplate {
    /// The error is a lower-case fragment: what is wrong and what to do.
    pub(in crate::scan) fn compile(text: &str, pattern: &CodePattern) -> Result<Self, String> {
        if text.len() > PATTERN_BYTES_MAX {
            return Err(format!("it is longer than {PATTERN_BYTES_MAX} bytes"));
        }
        let grammar = Grammar::from(pattern.language);
        let known = pattern.variables();
        let mut used = Vec::new();
        for (name, is_list) in template_variables(text, grammar.meta_var_char()) {
            let shown = |is_list: bool| format!("{}{name}", if is_list { "$$$" } else { "$" });
            if !known.iter().any(|(known, _)| *known == name) {
                return Err(format!("{} is not in the pattern; {}", shown(is_list), listed(known)));
            }
            if !known.contains(&(name.clone(), is_list)) {
                return Err(format!("the pattern has {name} as {}", shown(!is_list)));
            }
            used.push(name);
        }
        let Ok(fix) = TemplateFix::try_new(text, &grammar);
        Ok(Self { fix, used_variables: used })
    }

    /// The places of a text that would be replaced, and their parts that stay.
    pub(in crate::scan) fn sites(
        &self,
        pattern: &CodePattern,
        text: &str,
    ) -> Result<Vec<RewriteSite>, Gap> {
        if !pattern.may_match(text) {
            return Ok(Vec::new());
        }
        let tree = parse_searchable(text, pattern.language)?;
        let site = |found: NodeMatch<'_, EngineDocument>| {
            let captured = pattern.captured_variables(found.get_env()).into_iter();
            let kept = captured.filter(|it| self.used_variables.contains(&it.name));
            RewriteSite {
                bytes: self.fix.get_replaced_range(&found, &pattern.matcher),
                preserved: kept.filter_map(|it| it.bytes).collect(),
            }
        };
        Ok(tree.root().find_all(&pattern.matcher).map(site).collect())
    }

    /// The replacements of those of the places that the pattern matches.
    pub(in crate::scan) fn edits(
        &self,
        pattern: &CodePattern,
        text: &str,
        places: &[Range<usize>],
    ) -> Result<Vec<ByteEdit>, Gap> {
        let tree = parse_searchable(text, pattern.language)?;
        let line_ends = LineEnding::from_text(text);
        let mut wanted: HashSet<Range<usize>> = places.iter().cloned().collect();
        let mut edits = Vec::new();
        for found in tree.root().find_all(&pattern.matcher) {
            let bytes = self.fix.get_replaced_range(&found, &pattern.matcher);
            if wanted.remove(&bytes) {
                let text = self.fix.generate_replacement(&found);
                let text = line_ends.apply_to(&String::from_utf8_lossy(&text));
                edits.push(ByteEdit { bytes, text });
            }
        }
        Ok(edits)
    }
}

/// What a rule would put in the place of one of its matches; of several fixes its author prefers
/// the first.
pub(super) fn edit_of_match(
    rule: &RuleConfig<Grammar>,
    place: &NodeMatch<'_, EngineDocument>,
) -> Option<ByteEdit> {
    let edit = place.make_edit(&rule.matcher, rule.fixer.first()?);
    let text = String::from_utf8_lossy(&edit.inserted_text).into_owned();
    Some(ByteEdit { bytes: edit.position..edit.position + edit.deleted_length, text })
}

/// How the lines of a text end.
pub(in crate::scan) enum LineEnding {
    /// All with `\r\n`.
    Windows,
    /// In any other way: new lines stay as they are written.
    Other,
}

impl LineEnding {
    pub(in crate::scan) fn from_text(text: &str) -> Self {
        let is_windows = text.contains("\r\n")
            && text.match_indices('\n').all(|(at, _)| text[..at].ends_with('\r'));
        if is_windows { Self::Windows } else { Self::Other }
    }

    /// A replacement with the line ends of the text it goes into.
    pub(in crate::scan) fn apply_to(&self, text: &str) -> String {
        match self {
            Self::Windows => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            Self::Other => text.to_owned(),
        }
    }
}

/// What the parser could do nothing with, or made up, in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::scan) struct SyntaxErrors {
    /// How many places.
    pub(in crate::scan) count: usize,
    /// The 1-based line of the first one.
    pub(in crate::scan) line: Option<u32>,
}

/// Counts the syntax errors of a text. The error is why nobody can.
pub(in crate::scan) fn count_syntax_errors(
    text: &str,
    language: ScanLanguage,
) -> Result<SyntaxErrors, Gap> {
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

/// The named variables of a replacement, each with whether it is written as a list, as the engine
/// reads them.
fn template_variables(text: &str, sigil: char) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(sigil) {
        rest = &rest[at..];
        let sigils = rest.chars().take_while(|it| *it == sigil).take(3).count();
        rest = &rest[sigils * sigil.len_utf8()..];
        let is_part = |it: char| it.is_ascii_uppercase() || it == '_' || it.is_ascii_digit();
        let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        if rest.starts_with(|first: char| first.is_ascii_uppercase() || first == '_') {
            found.push((rest[..end].to_owned(), sigils == 3));
        }
        rest = &rest[end..];
    }
    found
}

fn listed(known: &[(String, bool)]) -> String {
    if known.is_empty() {
        return "the pattern has no variables".to_owned();
    }
    let shown =
        |(name, is_list): &(String, bool)| format!("{}{name}", if *is_list { "$$$" } else { "$" });
    format!("the pattern has {}", known.iter().map(shown).collect::<Vec<_>>().join(", "))
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
