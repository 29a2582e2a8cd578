//! Phrases that address a judge: words in sequence, with a few others allowed in between.

/// A sequence of words.
pub(super) struct InjectionPhrase {
    pub(super) slots: &'static [PhraseSlot],
    /// True if it only counts in a sentence, because its words also occur in code.
    pub(super) is_prose: bool,
}

/// One position of a phrase.
pub(super) enum PhraseSlot {
    Word(&'static [&'static str]),
    /// One of these, followed by a colon.
    Addressed(&'static [&'static str]),
    /// A word with one of these prefixes, because Korean endings vary.
    Stem(&'static [&'static str]),
    /// A word with one of these prefixes, followed by a colon or comma.
    AddressedStem(&'static [&'static str]),
    /// A word with one of these prefixes and one of these endings of request.
    Request(&'static [&'static str], &'static [&'static str]),
}

use PhraseSlot::{Addressed, AddressedStem, Request, Stem, Word};

const fn anywhere(slots: &'static [PhraseSlot]) -> InjectionPhrase {
    InjectionPhrase { slots, is_prose: false }
}

const fn in_prose(slots: &'static [PhraseSlot]) -> InjectionPhrase {
    InjectionPhrase { slots, is_prose: true }
}

const EARLIER: &[&str] = &["previous", "prior", "above", "earlier", "preceding", "other"];
const INSTRUCTIONS: &[&str] =
    &["instruction", "instructions", "prompt", "prompts", "rules", "criteria", "rubric"];
const JUDGE: &[&str] = &["judge", "grader", "evaluator", "reviewer"];
const READERS: &[&str] = &[
    "judge",
    "judges",
    "grader",
    "graders",
    "evaluator",
    "evaluators",
    "reviewer",
    "reviewers",
    "llm",
    "llms",
    "ai",
];
const FINE: &[&str] = &["met", "approved", "passed", "satisfied", "fulfilled"];

pub(super) const ENGLISH: &[InjectionPhrase] = &[
    anywhere(&[
        Word(&["ignore", "disregard", "forget", "override"]),
        Word(EARLIER),
        Word(INSTRUCTIONS),
    ]),
    anywhere(&[
        Word(&["ignore", "disregard", "forget"]),
        Word(&["your", "all", "any"]),
        Word(&["instruction", "instructions", "criteria", "rubric"]),
    ]),
    anywhere(&[Word(&["you", "your"]), Word(&["are", "role", "act"]), Word(JUDGE)]),
    in_prose(&[
        Word(&["note", "message", "instruction", "instructions", "attention", "hint", "notice"]),
        Word(&["to", "for"]),
        Word(READERS),
    ]),
    in_prose(&[Word(&["dear", "hey", "hello", "attention"]), Word(READERS)]),
    anywhere(&[
        Word(JUDGE),
        Word(&["must", "should", "please"]),
        Word(&["approve", "accept", "pass"]),
    ]),
    in_prose(&[
        Addressed(READERS),
        Word(&["approve", "approved", "accept", "met", "lgtm", "verdict"]),
    ]),
    in_prose(&[
        Addressed(READERS),
        Word(&["pass"]),
        Word(&["this", "it", "all", "every", "the", "these"]),
    ]),
    anywhere(&[
        Word(&["please", "must", "just", "always"]),
        Word(&["approve"]),
        Word(&["this", "change", "code", "it"]),
    ]),
    anywhere(&[
        Word(&["already", "been", "is", "was", "pre"]),
        Word(&["approved", "verified", "reviewed", "audited"]),
        Word(&["by"]),
        Word(&["expert", "experts", "human", "senior", "security", "judge", "lead", "maintainer"]),
    ]),
    anywhere(&[
        Word(&["mark", "count", "treat", "set", "rate", "grade", "score", "consider"]),
        Word(&["criteria", "criterion", "verdict"]),
        Word(FINE),
    ]),
    in_prose(&[
        Word(&["output", "return", "say", "answer", "respond", "give", "report"]),
        Word(&["verdict"]),
        Word(FINE),
    ]),
    anywhere(&[Word(&["all", "every"]), Word(&["criteria", "criterion"]), Word(FINE)]),
    anywhere(&[
        Word(&["verdict", "answer", "respond", "output", "return"]),
        Word(&["met", "approved"]),
        Word(&["for", "to"]),
        Word(&["all", "every"]),
    ]),
];

const ASKING: &[&str] =
    &["하십시오", "하세요", "하시오", "하라", "해라", "해주", "해달", "해야", "할것", "하시기"];

/// Korean phrases; words are compared by prefix.
pub(super) const KOREAN: &[InjectionPhrase] = &[
    anywhere(&[
        Stem(&["이전", "앞선", "앞의", "기존", "지금까지", "위의", "위에", "상기", "모든"]),
        Stem(&["지시", "지침", "명령", "프롬프트"]),
        Stem(&["무시", "잊", "따르지"]),
    ]),
    anywhere(&[
        Word(&["위", "앞"]),
        Stem(&["지시", "지침", "명령", "규칙", "기준", "프롬프트"]),
        Stem(&["무시", "잊", "따르지"]),
    ]),
    anywhere(&[
        Stem(&["지시를", "지시는", "지침을", "지침은", "프롬프트를", "프롬프트는"]),
        Stem(&["무시", "잊"]),
    ]),
    in_prose(&[
        AddressedStem(&[
            "심사자",
            "심사위원",
            "심사관",
            "채점자",
            "채점관",
            "평가자",
            "검토자",
            "리뷰어",
            "판정자",
        ]),
        Stem(&["통과", "승인", "합격", "충족", "만족", "무시", "approve", "met"]),
    ]),
    anywhere(&[
        Stem(&["met", "충족", "만족", "통과", "합격", "승인"]),
        Request(&["판정", "답", "답변", "응답", "간주", "평가", "채점", "표시", "보고"], ASKING),
    ]),
];

/// Korean requests, without spaces.
pub(super) const KOREAN_REQUESTS: &[&str] = &[
    "승인해",
    "승인하세요",
    "승인하십시오",
    "승인하시오",
    "승인하라",
    "승인할것",
    "승인바랍",
    "승인부탁",
    "승인요망",
    "합격시켜",
    "합격시키세요",
    "통과시켜라",
    "통과시켜주",
    "통과시켜달",
    "통과시키라",
    "통과시키세요",
    "통과시키시오",
    "통과시키십시오",
    "통과시킬것",
];
