//! The English of comments: ratchets, and phrases that no comment has.

use super::sources::{Source, assert_none, product_sources};

/// Share of the comments that begin with a relative clause, per thousand. A noun of the field says more.
const CLAUSE_STARTS_PER_MILLE_MAX: usize = 10;
const CLAUSE_STARTS: [&str; 3] = ["What", "Whether", "Who"];
/// Frequency of the word "what", per 10,000 words.
const WHATS_PER_10_000_WORDS_MAX: usize = 11;
/// In lower case: ambiguous words, dialect, and British spellings of words that the code has in American.
const BANNED: [&str; 14] = [
    " anew",
    "back end",
    "behaviour",
    "favour",
    "gives way",
    " in vain",
    "initialis",
    "it must not know",
    "let be",
    "nobody",
    "normalis",
    "recognis",
    "somebody",
    "what was told",
];

/// Consecutive comment lines of one kind.
struct CommentBlock {
    /// 1-based.
    line: usize,
    text: String,
}

fn comment_blocks(file: &Source) -> Vec<CommentBlock> {
    let mut blocks: Vec<CommentBlock> = Vec::new();
    let mut open_kind = None;
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim();
        let Some(after) = line.strip_prefix("//") else {
            open_kind = None;
            continue;
        };
        let kind = after.chars().next().filter(|first| ['/', '!'].contains(first));
        let text = after.trim_start_matches(['/', '!']).trim();
        match blocks.last_mut().filter(|_| open_kind == Some(kind)) {
            Some(block) => {
                block.text.push(' ');
                block.text.push_str(text);
            }
            None => blocks.push(CommentBlock { line: index + 1, text: text.to_owned() }),
        }
        open_kind = Some(kind);
    }
    blocks
}

fn all_blocks() -> Vec<CommentBlock> {
    product_sources().iter().flat_map(comment_blocks).collect()
}

#[test]
fn few_comments_begin_with_a_relative_clause() {
    let blocks = all_blocks();
    let begins = |block: &&CommentBlock| {
        block.text.split_whitespace().next().is_some_and(|word| CLAUSE_STARTS.contains(&word))
    };
    let share = blocks.iter().filter(begins).count() * 1_000 / blocks.len();
    assert!(share <= CLAUSE_STARTS_PER_MILLE_MAX, "{share} of 1,000 comments");
}

#[test]
fn the_word_what_is_rare_in_comments() {
    let blocks = all_blocks();
    let words: Vec<&str> = blocks.iter().flat_map(|block| block.text.split_whitespace()).collect();
    let is_what = |word: &&&str| {
        word.trim_matches(|letter: char| !letter.is_alphabetic()).eq_ignore_ascii_case("what")
    };
    let whats = words.iter().filter(is_what).count() * 10_000 / words.len();
    assert!(whats <= WHATS_PER_10_000_WORDS_MAX, "{whats} per 10,000 words");
}

#[test]
fn no_comment_has_a_banned_phrase() {
    let mut found = Vec::new();
    for file in product_sources() {
        for block in comment_blocks(&file) {
            let text = block.text.to_lowercase();
            let phrases = BANNED.iter().filter(|phrase| text.contains(*phrase));
            found.extend(phrases.map(|phrase| format!("{}:{}: {phrase}", file.path, block.line)));
        }
    }
    assert_none("phrases that CONTRIBUTING.md rules out", &found);
}
