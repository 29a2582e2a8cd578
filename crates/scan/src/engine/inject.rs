//! Finds the parts of a text in another language: scripts and styles in HTML, and matches of a
//! project's own injection rules.

use std::ops::Range;

use ast_grep_config::{DeserializeEnv, GlobalRules, RuleCore, SerializableRuleCore};
use ast_grep_core::AstGrep;
use ast_grep_core::tree_sitter::LanguageExt as _;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::compile::error_chain;
use super::grammar::Grammar;
use super::matching::{TooDeep, WalkDescent, WalkNodes, for_each_node};
use super::{EngineDocument, is_unparsed, parse_tree, too_deep_gap, unparsed_gap};
use crate::language::ScanLanguage;
use moai_base::verdict::Gap;

/// A part of a text in another language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InjectedPart {
    pub(crate) language: ScanLanguage,
    /// Byte offsets in the whole text.
    pub(crate) bytes: Range<usize>,
}

/// Finds the embedded parts of a text.
#[derive(Default)]
pub(crate) struct LanguageInjector {
    project_rules: Vec<InjectionRule>,
}

/// A project's injection rule: `$CONTENT` is in the language in `$LANG`, else in the first of
/// `injected`.
struct InjectionRule {
    host: ScanLanguage,
    matcher: RuleCore,
    injected: Vec<ScanLanguage>,
    /// True if `injected` is a single language, which needs no `$LANG`.
    is_static: bool,
}

impl LanguageInjector {
    /// Adds a project's rule; `core` holds its `rule`, `constraints` and `utils`.
    pub(crate) fn add(
        &mut self,
        host: ScanLanguage,
        core: &Map<String, Value>,
        injected: Vec<ScanLanguage>,
        is_static: bool,
    ) -> Result<(), String> {
        let core = SerializableRuleCore::deserialize(Value::Object(core.clone()))
            .map_err(|error| error_chain(&error))?;
        let env = DeserializeEnv::new(Grammar::from(host)).with_globals(&GlobalRules::default());
        let matcher = core.get_matcher(env).map_err(|error| error_chain(&error))?;
        self.project_rules.push(InjectionRule { host, matcher, injected, is_static });
        Ok(())
    }

    /// Languages that may be embedded in a text of the host language.
    pub(crate) fn languages(&self, host: ScanLanguage) -> Vec<ScanLanguage> {
        let own = self
            .project_rules
            .iter()
            .filter(|it| it.host == host)
            .flat_map(|it| it.injected.clone());
        let words = Grammar::from(host).injectable_languages().unwrap_or_default();
        let mut languages: Vec<ScanLanguage> =
            words.iter().filter_map(|word| ScanLanguage::from_name(word)).chain(own).collect();
        languages.sort_unstable();
        languages.dedup();
        languages
    }

    /// The embedded parts of a text; the gap explains why they cannot be found.
    pub(crate) fn parts(&self, host: ScanLanguage, text: &str) -> Result<Vec<InjectedPart>, Gap> {
        let grammar = Grammar::from(host);
        let has_project_rule = self.project_rules.iter().any(|it| it.host == host);
        if grammar.injectable_languages().is_none() && !has_project_rule {
            return Ok(Vec::new());
        }
        let tree = parse_tree(host, text)?;
        for_each_node(&tree, WalkNodes::All, |_, _| WalkDescent::Visit)
            .map_err(|TooDeep| too_deep_gap())?;
        if is_unparsed(&tree) {
            return Err(unparsed_gap(host));
        }
        let injections = grammar.extract_injections(tree.root()).into_iter();
        let mut parts: Vec<InjectedPart> = injections
            .filter_map(|(word, ranges)| Some((ScanLanguage::from_name(&word)?, ranges)))
            .flat_map(|(language, ranges)| {
                ranges.into_iter().map(move |range| InjectedPart {
                    language,
                    bytes: range.start_byte..range.end_byte,
                })
            })
            .collect();
        for injection in self.project_rules.iter().filter(|it| it.host == host) {
            parts.extend(injection.parts(&tree));
        }
        parts.retain(|part| !is_data(text, part));
        Ok(parts)
    }
}

impl InjectionRule {
    fn parts(&self, tree: &AstGrep<EngineDocument>) -> Vec<InjectedPart> {
        let root = tree.root();
        let part = |place: ast_grep_core::NodeMatch<'_, EngineDocument>| {
            let env = place.get_env();
            let content = env.get_match("CONTENT")?;
            let named =
                env.get_match("LANG").and_then(|node| ScanLanguage::from_name(&node.text()));
            let fallback = self.injected.first().copied().filter(|_| self.is_static);
            let language = named.filter(|it| self.injected.contains(it)).or(fallback)?;
            Some(InjectedPart { language, bytes: content.range() })
        };
        root.find_all(&self.matcher).filter_map(part).collect()
    }
}

/// True if the `type` of a script element declares data, such as JSON or a template.
fn is_data(text: &str, part: &InjectedPart) -> bool {
    let before = &text[..part.bytes.start];
    let Some(tag) = before.rfind('<').map(|at| before[at..].to_ascii_lowercase()) else {
        return false;
    };
    let value = tag.starts_with("<script").then(|| tag.split_once("type=")).flatten();
    value.is_some_and(|(_, value)| {
        let value = value.trim_start_matches(['"', '\'']);
        let value = value.split(['"', '\'', ' ', '>']).next().unwrap_or_default();
        let is_code = ["script", "module", "babel", "jsx"].iter().any(|it| value.contains(it));
        !value.is_empty() && !is_code
    })
}
