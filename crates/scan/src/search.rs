//! Structural search and rewrite with ast-grep patterns, on texts given by the caller.

#[cfg(test)]
mod tests;

use std::ops::Range as Bytes;

use super::edits::{self, EditedText, FixpointError};
use super::engine::fix::{ReplacementTemplate, SyntaxErrors, count_syntax_errors};
use super::engine::pattern::{CodePattern, PatternMatch};
use super::language::ScanLanguage;
use moai_base::foreign_text::one_line;
use moai_base::limits::{EXCERPT_CHARS_MAX, MATCH_CHARS_MAX, OPTION_CHARS_MAX};
use moai_base::path::RelPath;
use moai_base::text::{LineIndex, TextRange};
use moai_base::verdict::Gap;

/// The reason why a pattern query cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternQueryError {
    /// No supported language has this name.
    #[error("unknown language {0}; known: {known}", known = known_languages())]
    Language(String),
    /// The list of languages is empty.
    #[error("no language is given")]
    NoLanguage,
    /// The pattern is invalid.
    #[error("the pattern `{pattern}` cannot be used: {reason}")]
    Pattern {
        /// The pattern on one line.
        pattern: String,
        /// The problem, its position and its remedy.
        reason: String,
    },
    /// The replacement is invalid.
    #[error("the replacement `{replacement}` cannot be used: {reason}")]
    Replacement {
        /// The replacement on one line.
        replacement: String,
        /// The problem and its remedy.
        reason: String,
    },
}

/// A pattern compiled for one or several languages.
pub struct PatternQuery {
    patterns: Vec<CodePattern>,
}

/// One match of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchMatch {
    pub range: TextRange,
    /// The matched text, up to [`MATCH_CHARS_MAX`] characters.
    pub text: String,
    /// The line on which the match starts, up to [`MATCH_CHARS_MAX`] characters.
    pub line: String,
    /// The pattern's named variables, sorted by name.
    pub variables: Vec<CapturedText>,
}

/// The capture of a variable in one match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedText {
    /// Name without its `$`.
    pub name: String,
    /// True if it captures any number of nodes (`$$$NAME`).
    pub is_list: bool,
    /// Range from the first node to the last and its text, up to [`MATCH_CHARS_MAX`] characters;
    /// `None` for an empty list.
    pub place: Option<(TextRange, String)>,
}

impl PatternQuery {
    /// Compiles a pattern for each of the languages, given as in rule files; it must be valid in
    /// all of them.
    pub fn new(pattern: &str, languages: &[String]) -> Result<Self, PatternQueryError> {
        let mut patterns: Vec<CodePattern> = Vec::new();
        for word in languages {
            let language = ScanLanguage::from_name(word)
                .ok_or_else(|| PatternQueryError::Language(one_line(word, OPTION_CHARS_MAX)))?;
            if patterns.iter().any(|known| known.language() == language) {
                continue;
            }
            let compiled = CodePattern::compile(pattern, language);
            patterns.push(compiled.map_err(|reason| PatternQueryError::Pattern {
                pattern: one_line(pattern, EXCERPT_CHARS_MAX),
                reason,
            })?);
        }
        if patterns.is_empty() { Err(PatternQueryError::NoLanguage) } else { Ok(Self { patterns }) }
    }

    /// True if the file is in one of the query's languages.
    #[must_use]
    pub fn covers_path(&self, path: &RelPath) -> bool {
        self.pattern_index(path).is_some()
    }

    /// The first `hits_max` matches by position, and the total number; none in a file of another
    /// language. The gap explains why the text cannot be searched.
    pub fn find(
        &self,
        path: &RelPath,
        text: &str,
        hits_max: usize,
    ) -> Result<(Vec<SearchMatch>, usize), Gap> {
        let Some(at) = self.pattern_index(path) else { return Ok((Vec::new(), 0)) };
        let places = self.patterns[at].find_matches(text)?;
        let (lines, total) = (LineIndex::new(text), places.len());
        let first = places.into_iter().take(hits_max);
        Ok((first.map(|place| search_match(&lines, text, place)).collect(), total))
    }

    /// The grammars' node kinds for the pattern, such as `call`: shown when nothing matches.
    #[must_use]
    pub fn kinds(&self) -> Vec<String> {
        let mut kinds: Vec<String> = self.patterns.iter().filter_map(CodePattern::kind).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    fn pattern_index(&self, path: &RelPath) -> Option<usize> {
        let language = ScanLanguage::from_path(path)?;
        self.patterns.iter().position(|pattern| pattern.language() == language)
    }
}

fn search_match(lines: &LineIndex<'_>, text: &str, place: PatternMatch) -> SearchMatch {
    let at = |bytes: &Bytes<usize>| lines.range(bytes.start, bytes.end);
    let range = at(&place.bytes);
    let captured = place.variables.into_iter().map(|variable| CapturedText {
        place: variable.bytes.map(|bytes| (at(&bytes), truncate_match(&text[bytes]))),
        name: variable.name,
        is_list: variable.is_list,
    });
    SearchMatch {
        range,
        line: truncate_match(lines.line(range.start.line).unwrap_or_default()),
        variables: captured.collect(),
        text: truncate_match(&text[place.bytes]),
    }
}

/// Cuts a long text with an ellipsis, because a match or its line may be a whole file.
fn truncate_match(text: &str) -> String {
    match text.char_indices().nth(MATCH_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A pattern and the replacement for its matches.
pub struct PatternRewrite {
    query: PatternQuery,
    /// One template per pattern of the query.
    templates: Vec<ReplacementTemplate>,
}

/// The reason why a text cannot be rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// The text cannot be searched.
    #[error("{0}")]
    NotSearchable(Gap),
    /// The replacements do not terminate.
    #[error(transparent)]
    NoFixpoint(#[from] FixpointError),
    /// The result would have a new syntax error.
    #[error("line {line} would no longer parse")]
    SyntaxError {
        /// 1-based, in the resulting text.
        line: u32,
    },
    /// A rule would find a new error.
    #[error("line {line} would have a new error: {code}")]
    NewError {
        /// Id of the rule.
        code: String,
        /// 1-based, in the resulting text.
        line: u32,
    },
}

impl From<Gap> for RewriteError {
    fn from(gap: Gap) -> Self {
        Self::NotSearchable(gap)
    }
}

impl PatternRewrite {
    /// Compiles a pattern and a replacement, both valid in each of the languages. The replacement
    /// may only use named variables of the pattern.
    pub fn new(
        pattern: &str,
        replacement: &str,
        languages: &[String],
    ) -> Result<Self, PatternQueryError> {
        let query = PatternQuery::new(pattern, languages)?;
        let mut templates = Vec::new();
        for pattern in &query.patterns {
            let compiled = ReplacementTemplate::compile(replacement, pattern);
            templates.push(compiled.map_err(|reason| PatternQueryError::Replacement {
                replacement: one_line(replacement, EXCERPT_CHARS_MAX),
                reason,
            })?);
        }
        Ok(Self { query, templates })
    }

    /// The search part of the rewrite.
    #[must_use]
    pub fn query(&self) -> &PatternQuery {
        &self.query
    }

    /// The text with every match replaced once, including matches nested in the variables of
    /// others; `None` if nothing changes. Line endings are preserved.
    pub fn rewrite(&self, path: &RelPath, text: &str) -> Result<Option<EditedText>, RewriteError> {
        let Some(at) = self.query.pattern_index(path) else { return Ok(None) };
        let (pattern, template) = (&self.query.patterns[at], &self.templates[at]);
        let sites = template.sites(pattern, text)?;
        let mut edits = |text: &str, places: &[Bytes<usize>]| {
            template.edits(pattern, text, places).map_err(RewriteError::from)
        };
        let edited = edits::replace_once_each(text, sites, &mut edits)?;
        if edited.text == text {
            return Ok(None);
        }
        refuse_syntax_errors(text, &edited.text, pattern.language())?;
        Ok(Some(edited))
    }
}

/// Fails if `after` has more syntax errors than `before`.
pub(super) fn refuse_syntax_errors(
    before: &str,
    after: &str,
    language: ScanLanguage,
) -> Result<(), RewriteError> {
    let after = count_syntax_errors(after, language)?;
    match after {
        SyntaxErrors { line: Some(line), count }
            if count > count_syntax_errors(before, language)?.count =>
        {
            Err(RewriteError::SyntaxError { line })
        }
        _ => Ok(()),
    }
}

fn known_languages() -> String {
    ScanLanguage::ALL.map(ScanLanguage::as_str).join(", ")
}
