//! Parts of a text that are in another language: scripts and styles in HTML, and what a project's
//! own rules point at. It must not know which rules speak about them.

use std::ops::Range;

use ast_grep_config::{DeserializeEnv, GlobalRules, RuleCore, SerializableRuleCore};
use ast_grep_core::AstGrep;
use ast_grep_core::tree_sitter::LanguageExt as _;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::compile::chain;
use super::grammar::Grammar;
use super::matching::{Below, TooDeep, for_each_node};
use super::{Document, is_unparsed, parse, too_deep, unparsed};
use crate::base::verdict::Gap;
use crate::scan::language::Language;

/// A part of a text that is in another language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::scan) struct Part {
    pub(in crate::scan) language: Language,
    /// Byte offsets in the whole text.
    pub(in crate::scan) bytes: Range<usize>,
}

/// What finds such parts.
#[derive(Default)]
pub(in crate::scan) struct Injector {
    own: Vec<Injection>,
}

/// A project's own rule: `$CONTENT` is in the language that `$LANG` names, else in the first of
/// `injected`.
struct Injection {
    host: Language,
    matcher: RuleCore,
    injected: Vec<Language>,
    /// Whether the language is fixed.
    is_static: bool,
}

impl Injector {
    /// Adds a rule of a project. `core` holds its `rule`, `constraints` and `utils`.
    pub(in crate::scan) fn add(
        &mut self,
        host: Language,
        core: &Map<String, Value>,
        injected: Vec<Language>,
        is_static: bool,
    ) -> Result<(), String> {
        let core = SerializableRuleCore::deserialize(Value::Object(core.clone()))
            .map_err(|error| chain(&error))?;
        let env = DeserializeEnv::new(Grammar::from(host)).with_globals(&GlobalRules::default());
        let matcher = core.get_matcher(env).map_err(|error| chain(&error))?;
        self.own.push(Injection { host, matcher, injected, is_static });
        Ok(())
    }

    /// The languages that parts of a text in this one may be in.
    pub(in crate::scan) fn languages(&self, host: Language) -> Vec<Language> {
        let own = self.own.iter().filter(|it| it.host == host).flat_map(|it| it.injected.clone());
        let words = Grammar::from(host).injectable_languages().unwrap_or_default();
        let mut languages: Vec<Language> =
            words.iter().filter_map(|word| Language::named(word)).chain(own).collect();
        languages.sort_unstable();
        languages.dedup();
        languages
    }

    /// The parts of a text, or why they cannot be found.
    pub(in crate::scan) fn parts(&self, host: Language, text: &str) -> Result<Vec<Part>, Gap> {
        let grammar = Grammar::from(host);
        let is_own = self.own.iter().any(|it| it.host == host);
        if grammar.injectable_languages().is_none() && !is_own {
            return Ok(Vec::new());
        }
        let tree = parse(host, text)?;
        for_each_node(&tree, |_| Below::Visit).map_err(|TooDeep| too_deep())?;
        if is_unparsed(&tree) {
            return Err(unparsed(host));
        }
        let brought = grammar.extract_injections(tree.root()).into_iter();
        let mut parts: Vec<Part> = brought
            .filter_map(|(word, ranges)| Some((Language::named(&word)?, ranges)))
            .flat_map(|(language, ranges)| {
                let part = move |range: ast_grep_core::tree_sitter::TSRange| Part {
                    language,
                    bytes: range.start_byte..range.end_byte,
                };
                ranges.into_iter().map(part)
            })
            .collect();
        for injection in self.own.iter().filter(|it| it.host == host) {
            parts.extend(injection.parts(&tree));
        }
        parts.retain(|part| !is_data(text, part));
        Ok(parts)
    }
}

impl Injection {
    fn parts(&self, tree: &AstGrep<Document>) -> Vec<Part> {
        let root = tree.root();
        let part = |place: ast_grep_core::NodeMatch<'_, Document>| {
            let env = place.get_env();
            let content = env.get_match("CONTENT")?;
            let named = env.get_match("LANG").and_then(|node| Language::named(&node.text()));
            let fallback = self.injected.first().copied().filter(|_| self.is_static);
            let language = named.filter(|it| self.injected.contains(it)).or(fallback)?;
            Some(Part { language, bytes: content.range() })
        };
        root.find_all(&self.matcher).filter_map(part).collect()
    }
}

/// Whether a script is none: its element's `type` names data, such as JSON or a template.
fn is_data(text: &str, part: &Part) -> bool {
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
