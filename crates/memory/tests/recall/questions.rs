//! Questions of many kinds. They never quote a text: words get different particles, endings, spaces
//! and styles, or another language.

use std::collections::BTreeMap;

use crate::corpus::{Corpus, Dice, Facts, Language, Observation, STYLES, Style, after, decomposed};
use crate::vocabulary::{ACTIONS, KOREAN_FILES, NOUNS, NOUNS_IN_GLOSSARY};

pub(crate) const KOREAN_WITH_PARTICLES: &str = "Korean words, text with particles";
pub(crate) const KOREAN_WITH_OTHER_PARTICLES: &str = "Korean words with particles of their own";
pub(crate) const OTHER_STYLE: &str = "identifier in another style";

const ANSWERS_MAX: usize = 5;
const TRIES_MAX: usize = 200_000;

const PARTICLES: &[&str] =
    &["을", "이", "은", "과", "으로", "에서", "까지", "의", "도", "만", "에서는", "부터", "보다"];
const ENDINGS: &[&str] =
    &["하다가", "됐는지", "하는데", "됩니다", "해서", "되면", "했던", "하려고", "할", "했을때"];

/// A question and the observations that answer it.
pub(crate) struct Question {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    pub(crate) project: usize,
    pub(crate) answers: Vec<i64>,
}

/// A question about one observation: its text, and a test for other observations that answer it
/// too. `None` if the observation does not suit the kind.
type Asked<'o> = Option<(String, Box<dyn Fn(&Observation) -> bool + 'o>)>;
type Ask = for<'o> fn(&'o Corpus, &'o Observation, &mut Dice) -> Asked<'o>;

const KINDS: &[(&str, Ask)] = &[
    (KOREAN_WITH_PARTICLES, korean_words),
    (KOREAN_WITH_OTHER_PARTICLES, korean_with_particles),
    ("Korean noun and verb with an ending", korean_ending),
    ("text joins a compound, query does not", joined_text),
    ("query joins a compound, text does not", joined_query),
    ("Korean question with fillers", korean_question),
    ("Korean word and identifier", korean_and_identifier),
    ("Korean query, English text", korean_to_english),
    ("English query, Korean text", english_to_korean),
    ("the same, a word missing in the glossary", unknown_word),
    ("Korean file name, composed or not", korean_file),
    ("English words", english_words),
    ("English words, inflected", english_inflected),
    ("English question with fillers", english_question),
    ("identifier as written", identifier_exact),
    (OTHER_STYLE, identifier_other_style),
    ("parts of an identifier as words", identifier_parts),
    ("beginning of an identifier", identifier_prefix),
    ("end of a path", path_end),
    ("path with a typo in its folders", path_typo),
    ("file name and code", base_and_code),
    ("code in another spelling", code_spelling),
    ("code, Korean word and identifier", code_korean_identifier),
    ("line of an error, pasted", pasted_line),
    ("Japanese words", japanese),
    ("Chinese question", chinese),
    ("syntax of the index", index_syntax),
];

/// `per_kind` questions of each kind, each about one project and with 1 to 5 answers in it.
pub(crate) fn questions(corpus: &Corpus, seed: u64, per_kind: usize) -> Vec<Question> {
    let mut dice = Dice::new(seed ^ 0x5eed);
    let mut all = Vec::new();
    let mut of_project: BTreeMap<usize, Vec<&Observation>> = BTreeMap::new();
    for observation in &corpus.observations {
        of_project.entry(observation.project).or_default().push(observation);
    }
    for (kind, ask) in KINDS {
        let mut found: Vec<Question> = Vec::new();
        for _ in 0..TRIES_MAX {
            if found.len() == per_kind {
                break;
            }
            let observation = dice.pick(&corpus.observations);
            let Some((text, is_answer)) = ask(corpus, observation, &mut dice) else { continue };
            let project = observation.project;
            let answers: Vec<i64> =
                of_project[&project].iter().filter(|it| is_answer(it)).map(|it| it.id).collect();
            assert!(answers.contains(&observation.id), "{kind}: {text}");
            if answers.len() <= ANSWERS_MAX && found.iter().all(|it| it.text != text) {
                found.push(Question { kind, text, project, answers });
            }
        }
        assert!(found.len() >= per_kind / 5, "{kind}: {} questions", found.len());
        all.append(&mut found);
    }
    all
}

fn has_nouns(facts: &Facts, nouns: [usize; 2]) -> bool {
    nouns.iter().all(|noun| facts.nouns.contains(noun))
}

fn answers_in<'o>(language: Language, nouns: [usize; 2]) -> Box<dyn Fn(&Observation) -> bool + 'o> {
    Box::new(move |other| other.language == language && has_nouns(&other.facts, nouns))
}

fn korean(at: usize) -> &'static str {
    NOUNS[at].korean
}

fn with_particle(word: &str, dice: &mut Dice) -> String {
    word.to_owned() + &after(word, dice.pick::<&str>(PARTICLES))
}

fn korean_words<'o>(_: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    let [one, other] = target.facts.nouns;
    let words = if dice.below(2) == 0 { [one, other] } else { [other, one] };
    let text = words.map(korean).join(" ");
    suits(target, Language::Korean)?;
    Some((text, answers_in(Language::Korean, target.facts.nouns)))
}

fn suits(target: &Observation, language: Language) -> Option<()> {
    (target.language == language).then_some(())
}

fn korean_with_particles<'o>(_: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    suits(target, Language::Korean)?;
    let words = target.facts.nouns.map(|noun| with_particle(korean(noun), dice));
    Some((words.join(" "), answers_in(Language::Korean, target.facts.nouns)))
}

fn korean_ending<'o>(_: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    suits(target, Language::Korean)?;
    let (noun, action) = (*dice.pick(&target.facts.nouns), target.facts.action);
    let verb = format!("{}{}", ACTIONS[action].korean, dice.pick::<&str>(ENDINGS));
    let text = format!("{} {verb}", with_particle(korean(noun), dice));
    let is_answer = move |other: &Observation| {
        other.language == Language::Korean
            && other.facts.action == action
            && other.facts.nouns.contains(&noun)
    };
    Some((text, Box::new(is_answer)))
}

fn joined_text<'o>(_: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    target.facts.is_joined.then_some(())?;
    let [one, other] = target.facts.nouns.map(korean);
    let text = format!("{one} {}", with_particle(other, dice));
    Some((text, answers_in(Language::Korean, target.facts.nouns)))
}

fn joined_query<'o>(_: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    target.facts.is_spaced.then_some(())?;
    let [one, other] = target.facts.nouns.map(korean);
    let text = format!("{one}{}", with_particle(other, dice));
    Some((text, answers_in(Language::Korean, target.facts.nouns)))
}

fn korean_question<'o>(_: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    suits(target, Language::Korean)?;
    let [one, other] = target.facts.nouns.map(korean);
    let (subject, with) = (after(other, "이"), after(other, "이랑"));
    let text = match dice.below(6) {
        0 => format!("지난번에 {one} {other} 문제 어떻게 고쳤지?"),
        1 => format!("{one}에서 {other}{subject} 왜 그랬더라"),
        2 => format!("{other}{with} {one} 관련해서 결정한 거 뭐였지"),
        3 => format!("예전에 {one} 때문에 {other} 안 됐을 때 해결 방법 알려줘"),
        4 => format!("우리 {one}에 {other} 쓰기로 했었나요?"),
        _ => format!("{one} 쪽 {other} 이슈 기억나?"),
    };
    Some((text, answers_in(Language::Korean, target.facts.nouns)))
}

fn korean_and_identifier<'o>(
    corpus: &'o Corpus,
    target: &'o Observation,
    dice: &mut Dice,
) -> Asked<'o> {
    suits(target, Language::Korean)?;
    let (noun, identifier) = (*dice.pick(&target.facts.nouns), target.facts.identifier);
    let name = corpus.identifier(identifier, other_style(target.facts.style, dice));
    let text = format!("{}에서 {}", name, with_particle(korean(noun), dice));
    let is_answer = move |other: &Observation| {
        other.language == Language::Korean
            && corpus.names(other, |it| it == identifier)
            && other.facts.nouns.contains(&noun)
    };
    Some((text, Box::new(is_answer)))
}

fn are_in_glossary(nouns: [usize; 2]) -> bool {
    nouns.iter().all(|noun| *noun < NOUNS_IN_GLOSSARY)
}

fn korean_to_english<'o>(
    corpus: &'o Corpus,
    target: &'o Observation,
    dice: &mut Dice,
) -> Asked<'o> {
    are_in_glossary(target.facts.nouns).then_some(())?;
    across_languages(corpus, target, dice, Language::English)
}

fn english_to_korean<'o>(
    corpus: &'o Corpus,
    target: &'o Observation,
    dice: &mut Dice,
) -> Asked<'o> {
    are_in_glossary(target.facts.nouns).then_some(())?;
    across_languages(corpus, target, dice, Language::Korean)
}

fn unknown_word<'o>(corpus: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    let nouns = target.facts.nouns;
    let is_one_known = nouns.iter().any(|noun| *noun < NOUNS_IN_GLOSSARY);
    (is_one_known && !are_in_glossary(nouns)).then_some(())?;
    let language = *dice.pick(&[Language::Korean, Language::English]);
    across_languages(corpus, target, dice, language)
}

/// Asks in the other language about a subject that is written about in one language only.
fn across_languages<'o>(
    corpus: &'o Corpus,
    target: &'o Observation,
    dice: &mut Dice,
    language: Language,
) -> Asked<'o> {
    suits(target, language)?;
    let nouns = target.facts.nouns;
    let (other, words) = if language == Language::English {
        (Language::Korean, nouns.map(|noun| with_particle(korean(noun), dice)))
    } else {
        (Language::English, nouns.map(|noun| NOUNS[noun].english.to_owned()))
    };
    let of_project = corpus.observations.iter().filter(|it| it.project == target.project);
    let mut others = of_project.filter(|it| it.language == other);
    (!others.any(|it| has_nouns(&it.facts, nouns))).then_some(())?;
    Some((words.join(" "), answers_in(language, nouns)))
}

fn korean_file<'o>(_: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    let file = target.facts.korean_file?;
    let noun = *dice.pick(&target.facts.nouns);
    let name = KOREAN_FILES[file];
    let name = if dice.below(2) == 0 { decomposed(name) } else { name.to_owned() };
    let text = format!("{name} {}", with_particle(korean(noun), dice));
    let is_answer = move |other: &Observation| {
        other.facts.korean_file == Some(file) && other.facts.nouns.contains(&noun)
    };
    Some((text, Box::new(is_answer)))
}

fn english_words<'o>(_: &'o Corpus, target: &'o Observation, _: &mut Dice) -> Asked<'o> {
    suits(target, Language::English)?;
    let text = target.facts.nouns.map(|noun| NOUNS[noun].english).join(" ");
    Some((text, answers_in(Language::English, target.facts.nouns)))
}

fn english_inflected<'o>(_: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    suits(target, Language::English)?;
    let (noun, action) = (*dice.pick(&target.facts.nouns), target.facts.action);
    let text = format!("{} {}", dice.pick(&ACTIONS[action].english), plural(NOUNS[noun].english));
    let is_answer = move |other: &Observation| {
        other.language == Language::English
            && other.facts.action == action
            && other.facts.nouns.contains(&noun)
    };
    Some((text, Box::new(is_answer)))
}

fn plural(word: &str) -> String {
    match word.strip_suffix('y') {
        Some(base) if !base.ends_with(['a', 'e', 'o']) => format!("{base}ies"),
        _ if word.ends_with('x') => format!("{word}es"),
        _ => format!("{word}s"),
    }
}

fn english_question<'o>(_: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    suits(target, Language::English)?;
    let [one, other] = target.facts.nouns.map(|noun| NOUNS[noun].english);
    let text = match dice.below(4) {
        0 => format!("How did we fix the {one} / {other} thing last time?"),
        1 => format!("why does the {one} not work with {}", plural(other)),
        2 => format!("what was decided about {} and the {other}?", plural(one)),
        _ => format!("remind me which {other} broke our {one}"),
    };
    Some((text, answers_in(Language::English, target.facts.nouns)))
}

fn same_identifier(corpus: &Corpus, identifier: usize) -> Box<dyn Fn(&Observation) -> bool + '_> {
    Box::new(move |other| corpus.names(other, |it| it == identifier))
}

fn other_style(style: Style, dice: &mut Dice) -> Style {
    let others: Vec<Style> = STYLES.into_iter().filter(|it| *it != style).collect();
    *dice.pick(&others)
}

fn identifier_exact<'o>(corpus: &'o Corpus, target: &'o Observation, _: &mut Dice) -> Asked<'o> {
    let name = corpus.identifier(target.facts.identifier, target.facts.style);
    Some((name, same_identifier(corpus, target.facts.identifier)))
}

fn identifier_other_style<'o>(
    corpus: &'o Corpus,
    target: &'o Observation,
    dice: &mut Dice,
) -> Asked<'o> {
    let style = other_style(target.facts.style, dice);
    let name = corpus.identifier(target.facts.identifier, style);
    Some((name, same_identifier(corpus, target.facts.identifier)))
}

fn identifier_parts<'o>(corpus: &'o Corpus, target: &'o Observation, _: &mut Dice) -> Asked<'o> {
    let text = corpus.identifiers[target.facts.identifier].join(" ");
    Some((text, same_identifier(corpus, target.facts.identifier)))
}

fn identifier_prefix<'o>(
    corpus: &'o Corpus,
    target: &'o Observation,
    dice: &mut Dice,
) -> Asked<'o> {
    let parts = &corpus.identifiers[target.facts.identifier];
    (parts.len() == 3 && parts[2].len() > 4).then_some(())?;
    let name = corpus.identifier(target.facts.identifier, target.facts.style);
    let text = name[..name.len() - 2 - dice.below(2)].to_owned();
    let start: String = text.to_lowercase().chars().filter(|it| it.is_alphanumeric()).collect();
    let is_answer = move |other: &Observation| {
        corpus.names(other, |it| corpus.identifiers[it].concat().starts_with(&start))
    };
    Some((text, Box::new(is_answer)))
}

fn same_path<'o>(path: usize) -> Box<dyn Fn(&Observation) -> bool + 'o> {
    Box::new(move |other| other.facts.path == path)
}

fn path_end<'o>(corpus: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    let path = &corpus.paths[target.facts.path];
    let parts: Vec<&str> = path.split('/').collect();
    let text = parts[dice.below(parts.len() - 1)..].join("/");
    Some((text, same_path(target.facts.path)))
}

fn path_typo<'o>(corpus: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    let (folder, rest) = corpus.paths[target.facts.path].split_once('/')?;
    let mut letters: Vec<char> = folder.chars().collect();
    let at = dice.below(letters.len() - 1);
    letters.swap(at, at + 1);
    let folder: String = letters.into_iter().collect();
    Some((format!("{folder}/{rest}"), same_path(target.facts.path)))
}

fn base_and_code<'o>(corpus: &'o Corpus, target: &'o Observation, _: &mut Dice) -> Asked<'o> {
    let (path, code) = (target.facts.path, target.facts.code);
    let base = corpus.paths[path].rsplit('/').next()?;
    let text = format!("{base} {}", corpus.codes[code]);
    Some((text, Box::new(move |other| other.facts.path == path && other.facts.code == code)))
}

fn code_spelling<'o>(corpus: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    let code = target.facts.code;
    let written = &corpus.codes[code];
    let text = match dice.below(3) {
        0 => written.to_lowercase(),
        1 => written.replace('-', ""),
        _ => format!("{} error", written.to_lowercase().replace('-', "_")),
    };
    Some((text, Box::new(move |other| other.facts.code == code)))
}

fn code_korean_identifier<'o>(
    corpus: &'o Corpus,
    target: &'o Observation,
    dice: &mut Dice,
) -> Asked<'o> {
    suits(target, Language::Korean)?;
    let facts = &target.facts;
    let name = corpus.identifier(facts.identifier, other_style(facts.style, dice));
    let noun = with_particle(korean(facts.nouns[0]), dice);
    let text = format!("{}가 {noun} {name}에서 왜 나지", corpus.codes[facts.code]);
    let is_answer = move |other: &Observation| {
        corpus.names(other, |it| it == facts.identifier) && other.facts.code == facts.code
    };
    Some((text, Box::new(is_answer)))
}

fn pasted_line<'o>(corpus: &'o Corpus, target: &'o Observation, _: &mut Dice) -> Asked<'o> {
    let (path, code) = (target.facts.path, target.facts.code);
    let text = format!(
        "{}:57:3 - error {}: Argument of type 'string' is not assignable to parameter",
        corpus.paths[path], corpus.codes[code]
    );
    Some((text, Box::new(move |other| other.facts.path == path && other.facts.code == code)))
}

fn japanese<'o>(_: &'o Corpus, target: &'o Observation, _: &mut Dice) -> Asked<'o> {
    suits(target, Language::Japanese)?;
    let [one, other] = target.facts.nouns.map(|noun| NOUNS[noun].japanese);
    let text = format!("{one}が{other}で落ちる");
    Some((text, answers_in(Language::Japanese, target.facts.nouns)))
}

fn chinese<'o>(_: &'o Corpus, target: &'o Observation, dice: &mut Dice) -> Asked<'o> {
    suits(target, Language::Chinese)?;
    let [one, other] = target.facts.nouns.map(|noun| NOUNS[noun].chinese);
    let text = match dice.below(3) {
        0 => format!("{one}的{other}怎么办"),
        1 => format!("为什么{one} {other}"),
        _ => format!("{other}了{one}吗"),
    };
    Some((text, answers_in(Language::Chinese, target.facts.nouns)))
}

fn index_syntax<'o>(corpus: &'o Corpus, target: &'o Observation, _: &mut Dice) -> Asked<'o> {
    suits(target, Language::Korean)?;
    let facts = &target.facts;
    let noun = facts.nouns[0];
    let name = corpus.identifier(facts.identifier, facts.style);
    let text = format!("\"{}\" OR ({name}*) AND NOT ^{{words}}:-(", korean(noun));
    let is_answer = move |other: &Observation| {
        other.language == Language::Korean
            && corpus.names(other, |it| it == facts.identifier)
            && other.facts.nouns.contains(&noun)
    };
    Some((text, Box::new(is_answer)))
}
