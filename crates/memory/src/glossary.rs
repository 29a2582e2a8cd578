//! Korean and English words of software development that mean the same: a table in
//! `data/glossary.tsv`, which users can extend.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use moai_base::limits::GLOSSARY_ENTRIES_MAX;

use crate::english::stem;
use crate::hangul::is_syllable;
use crate::tokens::IndexTokens;

static BUILT_IN: LazyLock<Glossary> = LazyLock::new(|| {
    let mut glossary = Glossary::default();
    glossary.extend(include_str!("../data/glossary.tsv")).expect("the built-in glossary is tested");
    glossary
});

/// Words and their translations, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glossary {
    /// A Korean word without spaces to English phrases, as stems.
    english: HashMap<String, Vec<Vec<String>>>,
    /// The stem of an English word to Korean words.
    korean: HashMap<String, Vec<String>>,
    entries: usize,
}

/// An invalid line of a glossary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlossaryFault {
    /// 1-based.
    pub line: usize,
    pub reason: &'static str,
}

impl fmt::Display for GlossaryFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.reason)
    }
}

impl Glossary {
    /// The words built into the program.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Adds lines such as `인증<tab>authentication, auth`; empty lines and those beginning with `#`
    /// are skipped. Nothing is added if a line is invalid.
    pub fn extend(&mut self, lines: &str) -> Result<(), GlossaryFault> {
        let mut extended = self.clone();
        for (at, line) in lines.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            extended.add(line).map_err(|reason| GlossaryFault { line: at + 1, reason })?;
        }
        *self = extended;
        Ok(())
    }

    fn add(&mut self, line: &str) -> Result<(), &'static str> {
        let (korean, english) = line.split_once('\t').ok_or("no tab between the languages")?;
        let korean: String = korean.chars().filter(|it| !it.is_whitespace()).collect();
        if korean.is_empty() || !korean.chars().all(is_syllable) {
            return Err("the word before the tab is not Korean");
        }
        for phrase in english.split(',') {
            let words = IndexTokens::of_text(&phrase.to_lowercase()).words;
            if words.is_empty() {
                return Err("no English word after the tab");
            }
            if self.entries >= GLOSSARY_ENTRIES_MAX {
                return Err("too many entries");
            }
            self.entries += 1;
            if let [word] = &words[..] {
                self.korean.entry(word.clone()).or_default().push(korean.clone());
            }
            self.english.entry(korean.clone()).or_default().push(words);
        }
        Ok(())
    }

    /// English phrases for a Korean word without particles, each a list of stems.
    pub(crate) fn english(&self, korean: &str) -> &[Vec<String>] {
        self.english.get(korean).map_or(&[], Vec::as_slice)
    }

    /// Korean words for an English word in lower case.
    pub(crate) fn korean(&self, english: &str) -> &[String] {
        self.korean.get(stem(english)).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_glossary_is_large_and_works_both_ways() {
        let glossary = Glossary::built_in();
        assert!(glossary.english.len() >= 300, "{}", glossary.english.len());
        assert!(glossary.english("인증").contains(&vec![stem("authentication").to_owned()]));
        assert!(glossary.korean("tokens").contains(&"토큰".to_owned()));
        assert!(glossary.korean("zebra").is_empty());
    }

    #[test]
    fn users_add_lines_and_learn_which_one_is_wrong() {
        let mut glossary = Glossary::default();
        glossary.extend("# ours\n정산\tsettlement, payout batch\n").expect("two entries");
        assert_eq!(glossary.korean("settlements"), ["정산"]);
        assert_eq!(glossary.english("정산")[1], ["payout", "batch"].map(|it| stem(it).to_owned()));
        let before = glossary.clone();
        for wrong in ["정산 settlement", "정산\t", "ledger\t원장", "정산\t ,x"] {
            let lines = format!("원장\tledger\n{wrong}");
            let fault = glossary.extend(&lines).expect_err(wrong);
            assert_eq!(fault.line, 2, "{wrong}: {fault}");
        }
        assert_eq!(glossary, before);
    }
}
