//! Patterns in place of rules: where code of one shape stands, and the same texts with other code
//! in its place. Pure: it must not know files.

#[cfg(test)]
mod tests;

use std::ops::Range as Bytes;

use super::edits::{self, Edited, Endless};
use super::engine::fix::{Broken, Template, broken};
use super::engine::pattern::{Pattern, Place};
use super::language::Language;
use crate::base::limits::{EXCERPT_CHARS_MAX, MATCH_CHARS_MAX, OPTION_CHARS_MAX};
use crate::base::path::RelPath;
use crate::base::text::{LineIndex, Range, one_line};
use crate::base::verdict::Gap;

/// Why there is nothing to look for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
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
pub struct Query {
    patterns: Vec<Pattern>,
}

/// One place that a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Where.
    pub range: Range,
    /// The text there, up to [`MATCH_CHARS_MAX`].
    pub text: String,
    /// The line on which it begins, up to [`MATCH_CHARS_MAX`].
    pub line: String,
    /// The pattern's named variables, sorted by name.
    pub variables: Vec<Captured>,
}

/// What a variable of the pattern stands for at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Without its `$`.
    pub name: String,
    /// Whether it stands for any number of nodes.
    pub is_list: bool,
    /// From its first node to its last, the text up to [`MATCH_CHARS_MAX`]; `None` for a list of
    /// nothing.
    pub place: Option<(Range, String)>,
}

impl Query {
    /// A pattern that is valid in every one of the languages, which are named as in rule files.
    pub fn new(pattern: &str, languages: &[String]) -> Result<Self, QueryError> {
        let mut patterns: Vec<Pattern> = Vec::new();
        for word in languages {
            let unknown = || QueryError::Language(one_line(word, OPTION_CHARS_MAX));
            let language = Language::named(word).ok_or_else(unknown)?;
            if patterns.iter().any(|known| known.language() == language) {
                continue;
            }
            let compiled = Pattern::compile(pattern, language);
            patterns.push(compiled.map_err(|reason| QueryError::Pattern {
                pattern: one_line(pattern, EXCERPT_CHARS_MAX),
                reason,
            })?);
        }
        if patterns.is_empty() { Err(QueryError::NoLanguage) } else { Ok(Self { patterns }) }
    }

    /// Whether a file is in one of the languages.
    #[must_use]
    pub fn speaks_about(&self, path: &RelPath) -> bool {
        self.position(path).is_some()
    }

    /// The first places in a text, in the order of their start, and how many there are in all;
    /// none in a file of another language. The error is why the text cannot be searched.
    pub fn find(
        &self,
        path: &RelPath,
        text: &str,
        hits_max: usize,
    ) -> Result<(Vec<Hit>, usize), Gap> {
        let Some(at) = self.position(path) else { return Ok((Vec::new(), 0)) };
        let places = self.patterns[at].places(text)?;
        let (lines, total) = (LineIndex::new(text), places.len());
        let first = places.into_iter().take(hits_max);
        Ok((first.map(|place| hit(&lines, text, place)).collect(), total))
    }

    /// What the pattern is read as, in the words of each grammar: `call`. It tells why nothing is
    /// found.
    #[must_use]
    pub fn kinds(&self) -> Vec<String> {
        let mut kinds: Vec<String> = self.patterns.iter().filter_map(Pattern::kind).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    fn position(&self, path: &RelPath) -> Option<usize> {
        let language = Language::of(path)?;
        self.patterns.iter().position(|pattern| pattern.language() == language)
    }
}

fn hit(lines: &LineIndex<'_>, text: &str, place: Place) -> Hit {
    let at = |bytes: &Bytes<usize>| lines.range(bytes.start, bytes.end);
    let range = at(&place.bytes);
    let captured = place.variables.into_iter().map(|variable| Captured {
        place: variable.bytes.map(|bytes| (at(&bytes), cut(&text[bytes]))),
        name: variable.name,
        is_list: variable.is_list,
    });
    Hit {
        range,
        line: cut(lines.line(range.start.line).unwrap_or_default()),
        variables: captured.collect(),
        text: cut(&text[place.bytes]),
    }
}

/// A matched text or its line may be a whole file; one that is cut ends with an ellipsis.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MATCH_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A pattern and what takes the place of its matches.
pub struct Rewrite {
    query: Query,
    /// One per pattern of the query.
    templates: Vec<Template>,
}

/// Why a text is not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRewritten {
    /// It cannot be searched: nothing is known of it.
    #[error("{0}")]
    Unsearched(Gap),
    /// It comes to no end.
    #[error(transparent)]
    Endless(#[from] Endless),
    /// It would have a syntax error that it does not have now.
    #[error("line {line} would not parse any more")]
    Broken {
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

impl From<Gap> for NotRewritten {
    fn from(gap: Gap) -> Self {
        Self::Unsearched(gap)
    }
}

impl Rewrite {
    /// A pattern and a replacement, both valid in every one of the languages. The replacement may
    /// use the pattern's named variables and no others.
    pub fn new(pattern: &str, replacement: &str, languages: &[String]) -> Result<Self, QueryError> {
        let query = Query::new(pattern, languages)?;
        let compile = |pattern: &Pattern| {
            Template::compile(replacement, pattern).map_err(|reason| QueryError::Replacement {
                replacement: one_line(replacement, EXCERPT_CHARS_MAX),
                reason,
            })
        };
        let templates = query.patterns.iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { query, templates })
    }

    /// The pattern's part.
    #[must_use]
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// A text with every match of it replaced once, also those inside the variables of others;
    /// `None` when nothing would change. Line ends stay those of the text.
    pub fn rewrite(&self, path: &RelPath, text: &str) -> Result<Option<Edited>, NotRewritten> {
        let Some(at) = self.query.position(path) else { return Ok(None) };
        let (pattern, template) = (&self.query.patterns[at], &self.templates[at]);
        let sites = template.sites(pattern, text)?;
        let mut edits = |text: &str, places: &[Bytes<usize>]| {
            template.edits(pattern, text, places).map_err(NotRewritten::from)
        };
        let edited = edits::once_each(text, sites, &mut edits)?;
        if edited.text == text {
            return Ok(None);
        }
        refuse_broken(text, &edited.text, pattern.language())?;
        Ok(Some(edited))
    }
}

/// Refuses a text that has more syntax errors than the one it was made from.
pub(super) fn refuse_broken(
    before: &str,
    after: &str,
    language: Language,
) -> Result<(), NotRewritten> {
    let after = broken(after, language)?;
    match after {
        Broken { line: Some(line), count } if count > broken(before, language)?.count => {
            Err(NotRewritten::Broken { line })
        }
        _ => Ok(()),
    }
}

fn known_languages() -> String {
    Language::ALL.map(Language::as_str).join(", ")
}
