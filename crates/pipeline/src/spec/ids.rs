//! Ids of specifications (`SPEC-AUTH-001`) and requirements (`REQ-AUTH-001`).

use std::fmt;

use crate::prose::prose_words;

/// The id of a specification. It is the name of a folder, so it has only capitals, digits and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpecId(String);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequirementId(String);

impl SpecId {
    /// Parses an id alone.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        is_id(text, "SPEC").then(|| Self(text.to_owned()))
    }

    /// The first free id for a title: its area is the first word of its prose in Latin letters.
    #[must_use]
    pub fn for_title(title: &str, taken: &[Self]) -> Self {
        let prose = prose_words(title);
        let words =
            prose.iter().flat_map(|word| word.split(|it: char| !it.is_ascii_alphanumeric()));
        let is_area =
            |word: &&str| word.len() > 2 && word.starts_with(|it: char| it.is_ascii_alphabetic());
        let word = words.into_iter().find(is_area).unwrap_or("WORK").to_ascii_uppercase();
        let area = &word[..word.len().min(AREA_CHARS_MAX)];
        let id = |number: usize| Self(format!("SPEC-{area}-{number:03}"));
        // One more number than there are used ids, so one of them is free.
        (1..=taken.len()).map(id).find(|id| !taken.contains(id)).unwrap_or(id(taken.len() + 1))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part between `SPEC-` and the number; empty if there is none.
    #[must_use]
    pub fn area(&self) -> &str {
        let inside = self.0.trim_start_matches("SPEC-");
        inside.rsplit_once('-').map_or("", |(area, _)| area)
    }
}

/// Characters of an area that is taken from a title.
const AREA_CHARS_MAX: usize = 12;
/// Longest id, in characters.
const ID_CHARS_MAX: usize = 64;

impl RequirementId {
    /// Parses an id alone.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        is_id(text, "REQ").then(|| Self(text.to_owned()))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SpecId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for RequirementId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// True if a text is `KIND`, parts of capitals and digits, and a number at the end.
fn is_id(text: &str, kind: &str) -> bool {
    let Some(parts) = text.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-')) else {
        return false;
    };
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit())
    };
    let number = parts.rsplit('-').next().unwrap_or_default();
    text.len() <= ID_CHARS_MAX
        && parts.split('-').all(is_part)
        && number.chars().all(|it| it.is_ascii_digit())
}

/// The word at the start of a text that looks like an id of this kind (`REQ-…`), valid or not, and
/// the rest.
pub(super) fn leading_id_word<'t>(text: &'t str, kind: &str) -> Option<(&'t str, &'t str)> {
    let text = text.trim_start_matches(['*', '_', '`', '[', ' ', '@']);
    text.strip_prefix(kind)?.strip_prefix('-')?;
    let is_end = |it: char| it.is_whitespace() || ":：*`]|,;.)(".contains(it);
    let end = text.find(is_end).unwrap_or(text.len());
    Some((&text[..end], text[end..].trim_start_matches(['*', '_', '`', ']'])))
}

/// The valid requirement ids in a text.
pub(crate) fn requirement_ids(text: &str) -> Vec<RequirementId> {
    let is_end = |it: char| !(it.is_ascii_alphanumeric() || it == '-');
    let mut ids: Vec<RequirementId> = Vec::new();
    for id in text.split(is_end).filter_map(RequirementId::parse) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_name_of_a_folder_and_nothing_else() {
        for text in ["SPEC-RALPH-001", "SPEC-1", "SPEC-A2-B-07"] {
            assert_eq!(SpecId::parse(text).expect(text).as_str(), text);
        }
        for text in
            ["", "SPEC", "SPEC-", "SPEC-AUTH", "SPEC-auth-1", "SPEC-../1", "SPEC-A--1", "REQ-A-1"]
        {
            assert_eq!(SpecId::parse(text), None, "{text}");
        }
        assert_eq!(SpecId::parse("SPEC-A-B-1").expect("two parts").area(), "A-B");
    }

    #[test]
    fn a_title_gets_the_first_free_id() {
        let first = SpecId::for_title("Add authentication with tokens", &[]);
        assert_eq!(first.as_str(), "SPEC-ADD-001");
        let second = SpecId::for_title("add a thing", &[first]);
        assert_eq!(second.as_str(), "SPEC-ADD-002");
        assert_eq!(SpecId::for_title("로그인 기능 $(id) ../x", &[]).as_str(), "SPEC-WORK-001");
        assert_eq!(SpecId::for_title("$(touch x) 한국어", &[]).as_str(), "SPEC-WORK-001");
        assert_eq!(SpecId::for_title("`touch x` the user's page", &[]).as_str(), "SPEC-THE-001");
        assert_eq!(
            SpecId::for_title("internationalization", &[]).as_str(),
            "SPEC-INTERNATIONA-001"
        );
    }

    #[test]
    fn requirement_ids_are_found_in_a_text() {
        let ids = requirement_ids("@REQ-A-1 see REQ-B-002, REQ-A-1; not REQ-x or REQ-A");
        let ids: Vec<&str> = ids.iter().map(RequirementId::as_str).collect();
        assert_eq!(ids, ["REQ-A-1", "REQ-B-002"]);
    }
}
