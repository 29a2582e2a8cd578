//! The patterns of EARS (Easy Approach to Requirements Syntax), in English and Korean.

use moai_loops::named_variants;

/// Shape of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarsPattern {
    /// The system shall …: always.
    Ubiquitous,
    /// WHEN something happens, the system shall …
    EventDriven,
    /// WHILE (or IF) a state holds, the system shall …
    StateDriven,
    /// IF an undesired event happens, THEN the system shall …; or: it shall not …
    Unwanted,
    /// WHERE a feature is included, the system shall …
    Optional,
    /// Several of these conditions.
    Complex,
}

named_variants!(EarsPattern {
    Ubiquitous: "Ubiquitous",
    EventDriven: "Event-Driven",
    StateDriven: "State-Driven",
    Unwanted: "Unwanted",
    Optional: "Optional",
    Complex: "Complex",
});

/// One sentence of a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementStatement {
    /// 1-based line.
    pub line: usize,
    /// The sentence, on one line, without emphasis.
    pub text: String,
    /// True if it obliges or forbids.
    pub has_obligation: bool,
    /// True if it forbids something.
    pub is_prohibition: bool,
    /// The conditions that it begins with.
    pub conditions: EarsConditions,
}

/// Conditions of a sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarsConditions {
    /// WHEN: an event.
    pub event: bool,
    /// WHILE: a state.
    pub state: bool,
    /// IF: a state or an undesired event.
    pub condition: bool,
    /// WHERE: a feature.
    pub feature: bool,
}

/// Words that oblige. Korean ends a sentence with them.
const OBLIGATIONS_KO: [&str; 6] = ["야 한다", "야 합니다", "야 함", "안 된다", "안 됩니다", "금지"];
const PROHIBITIONS_KO: [&str; 5] = ["않아야", "말아야", "안 된다", "안 됩니다", "금지"];
/// Ends of a condition in Korean.
const EVENTS_KO: [&str; 5] = ["하면", "되면", "할 때", "될 때", "시에"];
const STATES_KO: [&str; 2] = ["동안", "중에는"];
const CASES_KO: [&str; 4] = ["경우", "이면", "있으면", "없으면"];

impl EarsPattern {
    /// The pattern with this name, in any case, with blanks or `-`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let plain = |text: &str| text.to_lowercase().replace([' ', '_'], "-");
        let name = plain(name.trim());
        let name = match name.as_str() {
            "unwanted-behavior" | "unwanted-behaviour" => "unwanted",
            "optional-feature" => "optional",
            other => other,
        };
        Self::NAMES.iter().find(|(_, known)| plain(known) == name).map(|(pattern, _)| *pattern)
    }

    /// True if a sentence may be part of a requirement of this pattern.
    pub(super) fn fits(self, statement: &RequirementStatement) -> bool {
        let EarsConditions { event, state, condition, feature } = statement.conditions;
        let has_condition = event || state || condition || feature;
        match self {
            Self::Ubiquitous => !has_condition,
            Self::EventDriven => event,
            Self::StateDriven => state || condition,
            Self::Unwanted => statement.is_prohibition || condition,
            Self::Optional => feature || condition,
            Self::Complex => has_condition,
        }
    }

    /// The form of a sentence of this pattern.
    pub(super) fn form(self) -> &'static str {
        match self {
            Self::Ubiquitous => "The system shall …",
            Self::EventDriven => "WHEN … THEN the system shall …",
            Self::StateDriven => "WHILE … the system shall …",
            Self::Unwanted => "IF … THEN the system shall …, or: The system shall not …",
            Self::Optional => "WHERE … the system shall …",
            Self::Complex => "WHILE … WHEN … the system shall …",
        }
    }
}

/// Reads one sentence.
pub(super) fn read_statement(text: &str, line: usize) -> RequirementStatement {
    let text = text.replace(['*', '`'], "");
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|it: char| !it.is_alphanumeric() && it != '\'').collect();
    let has_word = |word: &str| words.contains(&word);
    let has_part = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    let has_pair = |first: &str, second: &str| words.windows(2).any(|pair| pair == [first, second]);
    let is_prohibition = has_pair("shall", "not")
        || has_pair("must", "not")
        || has_pair("shall", "never")
        || has_pair("must", "never")
        || has_part(&PROHIBITIONS_KO);
    let conditions = EarsConditions {
        event: has_word("when") || has_part(&EVENTS_KO),
        state: has_word("while") || has_part(&STATES_KO),
        condition: has_word("if") || has_part(&CASES_KO),
        feature: has_word("where"),
    };
    let has_obligation = has_word("shall") || has_word("must") || has_part(&OBLIGATIONS_KO);
    RequirementStatement {
        line,
        text: text.trim().to_owned(),
        has_obligation,
        is_prohibition,
        conditions,
    }
}

/// True if a text begins with a keyword of EARS.
pub(super) fn begins_with_keyword(text: &str) -> bool {
    let bare = text.trim_start_matches(['*', '_', ' ']);
    let word = bare.split(|it: char| !it.is_ascii_alphabetic()).next().unwrap_or_default();
    ["when", "while", "if", "where", "the"].contains(&word.to_ascii_lowercase().as_str())
}
