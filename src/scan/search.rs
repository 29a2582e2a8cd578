//! Patterns in place of rules: where code of one shape stands, and the same texts with other code
//! in its place. Pure: it must not know files.

#[cfg(test)]
mod tests;

use std::ops::Range as Bytes;

use super::edits::{self, EditedText, FixpointError};
use super::engine::fix::{ReplacementTemplate, SyntaxErrors, count_syntax_errors};
use super::engine::pattern::{CodePattern, PatternMatch};
use super::language::ScanLanguage;
use crate::base::limits::{EXCERPT_CHARS_MAX, MATCH_CHARS_MAX, OPTION_CHARS_MAX};
use crate::base::path::RelPath;
use crate::base::text::{LineIndex, TextRange, one_line};
use crate::base::verdict::Gap;

/// Why there is nothing to look for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternQueryError {
    /// Nobody knows a language of this name.
    #[error("unknown language {0}; known: {known}", known = known_languages())]
    Language(String),
    /// No language is named.
    #[error("no language is named")]
    NoLanguage,
    /// The pattern cannot be used.
    #[error("the pattern `{pattern}` cannot be used: {reason}")]
    Pattern {
        /// The pattern on one line.
        pattern: String,
        /// What is wrong, where, and what to do.
        reason: String,
    },
    /// The replacement cannot be used.
    #[error("the replacement `{replacement}` cannot be used: {reason}")]
    Replacement {
        /// The replacement on one line.
        replacement: String,
        /// What is wrong and what to do.
        reason: String,
    },
}

/// A pattern, for one language or several.
pub struct PatternQuery {
    patterns: Vec<CodePattern>,
}

/// One place that a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchMatch {
    /// Where.
    pub range: TextRange,
    /// The text there, up to [`MATCH_CHARS_MAX`].
    pub text: String,
    /// The line on which it begins, up to [`MATCH_CHARS_MAX`].
    pub line: String,
    /// The pattern's named variables, sorted by name.
    pub variables: Vec<CapturedText>,
}

/// What a variable of the pattern stands for at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedText {
    /// Without its `$`.
    pub name: String,
    /// Whether it stands for any number of nodes.
    pub is_list: bool,
    /// From its first node to its last, the text up to [`MATCH_CHARS_MAX`]; `None` for a list of
    /// nothing.
    pub place: Option<(TextRange, String)>,
}

impl PatternQuery {
    /// A pattern that is valid in every one of the languages, which are named as in rule files.
    pub fn new(pattern: &str, languages: &[String]) -> Result<Self, PatternQueryError> {
        let mut patterns: Vec<CodePattern> = Vec::new();
        for word in languages {
            let unknown = || PatternQueryError::Language(one_line(word, OPTION_CHARS_MAX));
            let language = ScanLanguage::from_name(word).ok_or_else(unknown)?;
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

    /// Whether a file is in one of the languages.
    #[must_use]
    pub fn covers_path(&self, path: &RelPath) -> bool {
        self.pattern_index(path).is_some()
    }

    /// The first places in a text, in the order of their start, and how many there are in all;
    /// none in a file of another language. The error is why the text cannot be searched.
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

    /// What the pattern is read as, in the words of each grammar: `call`. It tells why nothing is
    /// found.
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

/// A matched text or its line may be a whole file; one that is cut ends with an ellipsis.
fn truncate_match(text: &str) -> String {
    match text.char_indices().nth(MATCH_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A pattern and what takes the place of its matches.
pub struct PatternRewrite {
    query: PatternQuery,
    /// One per pattern of the query.
    templates: Vec<ReplacementTemplate>,
}

/// Why a text is not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// It cannot be searched: nothing is known of it.
    #[error("{0}")]
    NotSearchable(Gap),
    /// It comes to no end.
    #[error(transparent)]
    NoFixpoint(#[from] FixpointError),
    /// It would have a syntax error that it does not have now.
    #[error("line {line} would not parse any more")]
    SyntaxError {
        /// 1-based, in the text afterwards.
        line: u32,
    },
    /// A rule would find an error that it does not find now.
    #[error("line {line} would have a new error: {code}")]
    NewError {
        /// The rule.
        code: String,
        /// 1-based, in the text afterwards.
        line: u32,
    },
}

impl From<Gap> for RewriteError {
    fn from(gap: Gap) -> Self {
        Self::NotSearchable(gap)
    }
}

impl PatternRewrite {
    /// A pattern and a replacement, both valid in every one of the languages. The replacement may
    /// use the pattern's named variables and no others.
    pub fn new(
        pattern: &str,
        replacement: &str,
        languages: &[String],
    ) -> Result<Self, PatternQueryError> {
        let query = PatternQuery::new(pattern, languages)?;
        let compile = |pattern: &CodePattern| {
            ReplacementTemplate::compile(replacement, pattern).map_err(|reason| {
                PatternQueryError::Replacement {
                    replacement: one_line(replacement, EXCERPT_CHARS_MAX),
                    reason,
                }
            })
        };
        let templates = query.patterns.iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { query, templates })
    }

    /// The pattern's part.
    #[must_use]
    pub fn query(&self) -> &PatternQuery {
        &self.query
    }

    /// A text with every match of it replaced once, also those inside the variables of others;
    /// `None` when nothing would change. Line ends stay those of the text.
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

/// Refuses a text that has more syntax errors than the one it was made from.
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
