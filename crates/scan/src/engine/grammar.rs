//! The parser of each language: ast-grep's grammars, and R.

use std::borrow::Cow;

use ast_grep_core::Language as PatternLanguage;
use ast_grep_core::Node;
use ast_grep_core::matcher::{Pattern, PatternBuilder, PatternError};
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc, TSLanguage, TSRange};
use ast_grep_language::SupportLang;
use serde::{Deserialize, Deserializer};

use crate::language::ScanLanguage;

/// Replaces `$` in patterns of R, where `$` is an operator: a letter that R accepts in names and
/// that is practically never used.
const R_SIGIL: char = 'µ';

/// A language as the matching engine sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Grammar {
    /// A grammar that comes with ast-grep.
    Known(SupportLang),
    /// R, whose grammar is a separate crate.
    R,
}

impl From<ScanLanguage> for Grammar {
    fn from(language: ScanLanguage) -> Self {
        Self::Known(match language {
            ScanLanguage::Bash => SupportLang::Bash,
            ScanLanguage::C => SupportLang::C,
            ScanLanguage::Cpp => SupportLang::Cpp,
            ScanLanguage::CSharp => SupportLang::CSharp,
            ScanLanguage::Css => SupportLang::Css,
            ScanLanguage::Dart => SupportLang::Dart,
            ScanLanguage::Elixir => SupportLang::Elixir,
            ScanLanguage::Go => SupportLang::Go,
            ScanLanguage::Html => SupportLang::Html,
            ScanLanguage::Java => SupportLang::Java,
            ScanLanguage::JavaScript => SupportLang::JavaScript,
            ScanLanguage::Json => SupportLang::Json,
            ScanLanguage::Kotlin => SupportLang::Kotlin,
            ScanLanguage::Php => SupportLang::Php,
            ScanLanguage::Python => SupportLang::Python,
            ScanLanguage::R => return Self::R,
            ScanLanguage::Ruby => SupportLang::Ruby,
            ScanLanguage::Rust => SupportLang::Rust,
            ScanLanguage::Scala => SupportLang::Scala,
            ScanLanguage::Swift => SupportLang::Swift,
            ScanLanguage::Tsx => SupportLang::Tsx,
            ScanLanguage::TypeScript => SupportLang::TypeScript,
            ScanLanguage::Yaml => SupportLang::Yaml,
        })
    }
}

impl<'de> Deserialize<'de> for Grammar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        ScanLanguage::from_name(&word)
            .map(Self::from)
            .ok_or_else(|| serde::de::Error::custom(format!("unknown language `{word}`")))
    }
}

impl PatternLanguage for Grammar {
    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        match self {
            Self::Known(known) => known.pre_process_pattern(query),
            Self::R => Cow::Owned(with_sigil(query, R_SIGIL)),
        }
    }

    fn meta_var_char(&self) -> char {
        match self {
            Self::Known(known) => known.meta_var_char(),
            Self::R => '$',
        }
    }

    fn expando_char(&self) -> char {
        match self {
            Self::Known(known) => known.expando_char(),
            Self::R => R_SIGIL,
        }
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        match self {
            Self::Known(known) => known.kind_to_id(kind),
            Self::R => self.get_ts_language().id_for_node_kind(kind, true),
        }
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        match self {
            Self::Known(known) => known.field_to_id(field),
            Self::R => self.get_ts_language().field_id_for_name(field).map(std::num::NonZero::get),
        }
    }

    fn build_pattern(&self, builder: &PatternBuilder) -> Result<Pattern, PatternError> {
        builder.build(|text| StrDoc::try_new(text, *self))
    }
}

impl LanguageExt for Grammar {
    fn get_ts_language(&self) -> TSLanguage {
        match self {
            Self::Known(known) => known.get_ts_language(),
            Self::R => tree_sitter_r::LANGUAGE.into(),
        }
    }

    fn injectable_languages(&self) -> Option<&'static [&'static str]> {
        match self {
            Self::Known(known) => known.injectable_languages(),
            Self::R => None,
        }
    }

    fn extract_injections<L: LanguageExt>(
        &self,
        root: Node<'_, StrDoc<L>>,
    ) -> Vec<(String, Vec<TSRange>)> {
        match self {
            Self::Known(known) => known.extract_injections(root),
            Self::R => Vec::new(),
        }
    }
}

/// The pattern with `sigil` in place of every `$` that starts a meta-variable: one or more before a
/// capital or `_`, or exactly three before anything.
fn with_sigil(query: &str, sigil: char) -> String {
    let mut out = String::with_capacity(query.len());
    let mut rest = query;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let count = rest[at..].bytes().take_while(|byte| *byte == b'$').count();
        rest = &rest[at + count..];
        let is_variable =
            count == 3 || rest.starts_with(|next: char| next.is_ascii_uppercase() || next == '_');
        let mark = if is_variable { sigil } else { '$' };
        out.extend(std::iter::repeat_n(mark, count));
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_r_pattern_keeps_the_dollar_operator() {
        let check = |query: &str, expected: &str| {
            assert_eq!(with_sigil(query, 'x'), expected, "{query}");
        };
        check("f($A, $$$ARGS)", "f(xA, xxxARGS)");
        check("f($$$)", "f(xxx)");
        check("data$name", "data$name");
        check("$DATA$name", "xDATA$name");
        check("a$", "a$");
    }

    #[test]
    fn every_language_has_a_parser() {
        for language in ScanLanguage::ALL {
            let grammar = Grammar::from(language);
            assert!(StrDoc::try_new("", grammar).is_ok(), "{language:?}");
        }
    }
}
