//! Generated observations from a seed, each with its facts.

use moai_memory::ranking::ObservationKind;

use crate::vocabulary::{
    ACTIONS, CHINESE_SENTENCES, ENGLISH_SENTENCES, EXTENSIONS, FOLDERS, JAPANESE_SENTENCES,
    KOREAN_FILES, KOREAN_SENTENCES, LOG_LINES, NAME_NOUNS, NAME_TAILS, NAME_VERBS, NOISE, NOUNS,
};

pub(crate) const NOW_MS: i64 = 1_795_000_000_000;
const DAY_MS: i64 = 86_400_000;
const OBSERVATIONS_PER_SESSION: usize = 12;
const IDENTIFIERS: usize = 900;
const CODES: usize = 900;
const PATHS: usize = 900;
/// Each project has 1/n of the observations that the projects before it leave.
const PROJECT_SHARE: usize = 5;

/// A sequence of numbers that depends on its seed alone.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ bits >> 31) % bound as u64) as usize
    }

    pub(crate) fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len())]
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Korean,
    English,
    Japanese,
    Chinese,
    Log,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Snake,
    Camel,
    Pascal,
    Screaming,
    Kebab,
}

pub(crate) const STYLES: [Style; 5] =
    [Style::Snake, Style::Camel, Style::Pascal, Style::Screaming, Style::Kebab];

/// The content of an observation: indexes into the word tables.
pub(crate) struct Facts {
    pub(crate) nouns: [usize; 2],
    pub(crate) action: usize,
    pub(crate) identifier: usize,
    pub(crate) path: usize,
    pub(crate) code: usize,
    pub(crate) style: Style,
    /// True if the text writes both nouns as one word.
    pub(crate) is_joined: bool,
    /// True if it writes them as two words side by side.
    pub(crate) is_spaced: bool,
    pub(crate) korean_file: Option<usize>,
}

pub(crate) struct Observation {
    pub(crate) id: i64,
    pub(crate) text: String,
    pub(crate) language: Language,
    pub(crate) facts: Facts,
    pub(crate) kind: ObservationKind,
    pub(crate) at_ms: i64,
    pub(crate) importance: f64,
    pub(crate) session: i64,
    pub(crate) project: usize,
}

pub(crate) struct Corpus {
    pub(crate) observations: Vec<Observation>,
    /// Parts in lower case.
    pub(crate) identifiers: Vec<Vec<&'static str>>,
    pub(crate) paths: Vec<String>,
    /// The identifier used in each path.
    pub(crate) path_identifiers: Vec<usize>,
    pub(crate) codes: Vec<String>,
}

impl Corpus {
    /// Observations of several projects, of which the first have the most.
    pub(crate) fn generate(seed: u64, size: usize, projects: usize) -> Self {
        let mut dice = Dice::new(seed);
        let mut corpus = Self {
            observations: Vec::new(),
            identifiers: identifiers(&mut dice),
            paths: Vec::new(),
            path_identifiers: Vec::new(),
            codes: codes(&mut dice),
        };
        corpus.add_paths(&mut dice);
        for id in 0..size {
            let session = id / OBSERVATIONS_PER_SESSION;
            let project = project_of_session(seed, session, projects);
            let observation = corpus.observation(id as i64, &mut dice);
            corpus.observations.push(Observation { project, ..observation });
        }
        corpus
    }

    fn observation(&self, id: i64, dice: &mut Dice) -> Observation {
        let (language, sentences) = match dice.below(100) {
            0..=51 => (Language::Korean, KOREAN_SENTENCES),
            52..=85 => (Language::English, ENGLISH_SENTENCES),
            86..=89 => (Language::Japanese, JAPANESE_SENTENCES),
            90..=93 => (Language::Chinese, CHINESE_SENTENCES),
            _ => (Language::Log, LOG_LINES),
        };
        let sentence = dice.pick(sentences);
        let first = dice.below(NOUNS.len());
        let is_pair = sentence.contains("12") && language == Language::Korean;
        let is_joined = is_pair && dice.below(2) == 0;
        let facts = Facts {
            nouns: [first, (first + 1 + dice.below(NOUNS.len() - 1)) % NOUNS.len()],
            action: dice.below(ACTIONS.len()),
            identifier: dice.below(self.identifiers.len()),
            path: dice.below(self.paths.len()),
            code: dice.below(self.codes.len()),
            style: *dice.pick(&STYLES),
            is_joined,
            is_spaced: is_pair && !is_joined,
            korean_file: (language == Language::Korean && dice.below(12) == 0)
                .then(|| dice.below(KOREAN_FILES.len())),
        };
        let text = self.text(sentence, language, &facts, dice);
        let kinds = ObservationKind::ALL;
        Observation {
            id,
            text,
            language,
            facts,
            kind: *dice.pick(&kinds),
            at_ms: NOW_MS - dice.below(400) as i64 * DAY_MS,
            importance: dice.below(10) as f64 / 10.0,
            session: id / OBSERVATIONS_PER_SESSION as i64,
            project: 0,
        }
    }

    fn text(&self, sentence: &str, language: Language, facts: &Facts, dice: &mut Dice) -> String {
        let mut text = String::new();
        let mut rest = sentence.chars().peekable();
        while let Some(character) = rest.next() {
            let word = match character {
                '1' | '2' if language == Language::Log => character.to_string(),
                '1' if rest.peek() == Some(&'2') => {
                    rest.next();
                    let space = if facts.is_joined { "" } else { " " };
                    noun(facts.nouns[0], language) + space + &noun(facts.nouns[1], language)
                }
                '1' => noun(facts.nouns[0], language),
                '2' => noun(facts.nouns[1], language),
                'N' => self.identifier(facts.identifier, facts.style),
                'P' => self.paths[facts.path].clone(),
                'C' if rest.peek().is_none_or(|it| !it.is_ascii_alphabetic()) => {
                    self.codes[facts.code].clone()
                }
                'V' => {
                    let form = rest.peek().and_then(|it| it.to_digit(10));
                    if let Some(form) = form {
                        rest.next();
                        ACTIONS[facts.action].english[form as usize - 1].to_owned()
                    } else {
                        ACTIONS[facts.action].korean.to_owned()
                    }
                }
                '(' if language == Language::Korean
                    && text.ends_with(|it: char| it.is_alphanumeric()) =>
                {
                    let particle: String = rest.by_ref().take_while(|it| *it != ')').collect();
                    after(&text, &particle)
                }
                other => other.to_string(),
            };
            text.push_str(&word);
        }
        if let Some(file) = facts.korean_file {
            // As macOS stores names.
            text += " 문서: docs/";
            text += &decomposed(KOREAN_FILES[file]);
        }
        format!("{text} {}", dice.pick(NOISE)).trim().to_owned()
    }

    fn add_paths(&mut self, dice: &mut Dice) {
        while self.paths.len() < PATHS {
            let style = *dice.pick(&[Style::Snake, Style::Camel, Style::Kebab]);
            let identifier = dice.below(self.identifiers.len());
            let base = self.identifier(identifier, style);
            let folder = dice.pick::<&str>(FOLDERS);
            let path = format!("{folder}/{base}.{}", dice.pick::<&str>(EXTENSIONS));
            if !self.paths.contains(&path) {
                self.paths.push(path);
                self.path_identifiers.push(identifier);
            }
        }
    }

    /// True if the text has an identifier, perhaps as the name of a file.
    pub(crate) fn names(
        &self,
        observation: &Observation,
        is_asked: impl Fn(usize) -> bool,
    ) -> bool {
        is_asked(observation.facts.identifier)
            || is_asked(self.path_identifiers[observation.facts.path])
    }

    pub(crate) fn identifier(&self, at: usize, style: Style) -> String {
        styled(&self.identifiers[at], style)
    }
}

fn project_of_session(seed: u64, session: usize, projects: usize) -> usize {
    let mut dice = Dice::new(seed ^ session as u64 ^ 0x9_0000_0000);
    (0..projects).find(|_| dice.below(PROJECT_SHARE) == 0).unwrap_or(projects - 1)
}

pub(crate) fn styled(parts: &[&str], style: Style) -> String {
    let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
    match style {
        Style::Snake => parts.join("_"),
        Style::Kebab => parts.join("-"),
        Style::Screaming => parts.join("_").to_uppercase(),
        Style::Pascal => parts.iter().map(|part| capital(part)).collect(),
        Style::Camel => {
            let rest: String = parts[1..].iter().map(|part| capital(part)).collect();
            parts[0].to_owned() + &rest
        }
    }
}

fn noun(at: usize, language: Language) -> String {
    let noun = &NOUNS[at];
    let word = match language {
        Language::Korean => noun.korean,
        Language::English | Language::Log => noun.english,
        Language::Japanese => noun.japanese,
        Language::Chinese => noun.chinese,
    };
    word.to_owned()
}

/// A particle in the form that the word before it requires.
pub(crate) fn after(text: &str, particle: &str) -> String {
    let last = text.chars().next_back().unwrap_or(' ');
    let code = u32::from(last);
    let is_syllable = (0xac00..=0xd7a3).contains(&code);
    let final_consonant = if is_syllable { (code - 0xac00) % 28 } else { 0 };
    let for_vowel = match particle {
        "을" => "를",
        "이" => "가",
        "은" => "는",
        "과" => "와",
        "이랑" => "랑",
        "으로" if final_consonant == 8 => return "로".to_owned(),
        "으로" => "로",
        other => other,
    };
    if final_consonant == 0 { for_vowel.to_owned() } else { particle.to_owned() }
}

/// Syllables as their letters: the form in which macOS stores names.
pub(crate) fn decomposed(text: &str) -> String {
    let mut letters = String::new();
    for character in text.chars() {
        let code = u32::from(character);
        if (0xac00..=0xd7a3).contains(&code) {
            let at = code - 0xac00;
            let parts = [0x1100 + at / 588, 0x1161 + at % 588 / 28, 0x11a7 + at % 28];
            let parts = if at % 28 == 0 { &parts[..2] } else { &parts[..] };
            letters.extend(parts.iter().filter_map(|it| char::from_u32(*it)));
        } else {
            letters.push(character);
        }
    }
    letters
}

fn identifiers(dice: &mut Dice) -> Vec<Vec<&'static str>> {
    let mut names: Vec<Vec<&str>> = Vec::new();
    while names.len() < IDENTIFIERS {
        let mut parts = vec![*dice.pick(NAME_VERBS), *dice.pick(NAME_NOUNS)];
        if dice.below(3) > 0 {
            parts.push(*dice.pick::<&str>(NAME_TAILS));
        }
        if !names.contains(&parts) {
            names.push(parts);
        }
    }
    names
}

fn codes(dice: &mut Dice) -> Vec<String> {
    let mut codes = Vec::new();
    while codes.len() < CODES {
        let code = match dice.below(5) {
            0 => format!("TS{}", 1000 + dice.below(9000)),
            1 => format!("E{:04}", dice.below(800)),
            2 => format!("ORA-{:05}", dice.below(30_000)),
            3 => format!("CVE-2025-{}", 1000 + dice.below(9000)),
            _ => format!("CS{:04}", dice.below(9000)),
        };
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    codes
}
