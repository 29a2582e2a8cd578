//! Korean words without their particles and endings. A word keeps every form from the written one
//! to its stem, so that removing too much never hides it.

use std::ops::RangeInclusive;

const SYLLABLES: RangeInclusive<char> = '\u{ac00}'..='\u{d7a3}';
/// Final consonants per syllable block, counting none.
const FINALS: u32 = 28;
/// Number of the final consonant ㄹ.
const FINAL_RIEUL: u32 = 8;
/// Particles that follow each other in one word: 서버에서까지는.
const SUFFIXES_MAX: usize = 3;
/// Syllables that a stem keeps, unless the suffix is unmistakable.
const STEM_SYLLABLES_MIN: usize = 2;

/// Syllables up to which a form of 하다 may actually be a noun.
const AMBIGUOUS_VERB_SYLLABLES_MAX: usize = 2;

/// The sound that a suffix follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    Any,
    Consonant,
    Vowel,
    /// A vowel or ㄹ.
    Open,
}

use Follows::{Any, Consonant, Open, Vowel};

/// Particles of nouns and forms of 이다, each with the sound that it follows.
const SUFFIXES: &[(&str, Follows)] = &[
    ("이었는데", Consonant),
    ("이었던", Consonant),
    ("이었다", Consonant),
    ("였는데", Vowel),
    ("이라도", Consonant),
    ("이라서", Consonant),
    ("이라고", Consonant),
    ("이라는", Consonant),
    ("으로서", Consonant),
    ("으로써", Consonant),
    ("입니다", Any),
    ("입니까", Any),
    ("이에요", Consonant),
    ("에서", Any),
    ("에게", Any),
    ("한테", Any),
    ("까지", Any),
    ("부터", Any),
    ("마저", Any),
    ("조차", Any),
    ("밖에", Any),
    ("보다", Any),
    ("처럼", Any),
    ("마다", Any),
    ("대로", Any),
    ("으로", Consonant),
    ("로서", Open),
    ("로써", Open),
    ("라도", Vowel),
    ("라서", Vowel),
    ("라고", Vowel),
    ("라는", Vowel),
    ("이나", Consonant),
    ("이랑", Consonant),
    ("이며", Consonant),
    ("이고", Consonant),
    ("이면", Consonant),
    ("이네", Consonant),
    ("이다", Any),
    ("였다", Vowel),
    ("였던", Vowel),
    ("예요", Vowel),
    ("인데", Any),
    ("인지", Any),
    ("인가", Any),
    ("일까", Any),
    ("적인", Any),
    ("을", Consonant),
    ("를", Vowel),
    ("이", Consonant),
    ("가", Vowel),
    ("은", Consonant),
    ("는", Vowel),
    ("과", Consonant),
    ("와", Vowel),
    ("로", Open),
    ("랑", Vowel),
    ("의", Any),
    ("에", Any),
    ("께", Any),
    ("도", Any),
    ("만", Any),
    ("뿐", Any),
    ("들", Any),
    ("적", Any),
];

/// Suffixes that no noun of one syllable ends in by chance.
const UNMISTAKABLE: &[&str] = &["을", "를", "에서", "에게", "까지", "부터", "으로", "입니다"];

/// First syllables of the forms of 하다, 되다 and 시키다 after a noun.
const VERB_STARTS: &[&str] = &[
    "시키", "시켜", "시켰", "시킨", "시킬", "시킴", "당하", "당한", "당해", "당했", "하", "해",
    "했", "한", "할", "함", "합", "되", "돼", "됐", "된", "될", "됨", "됩",
];

/// The endings that may follow them.
const VERB_TAILS: &[&str] = &[
    "",
    "거나",
    "거든",
    "게",
    "겠다",
    "고",
    "고서",
    "기",
    "기가",
    "기는",
    "기도",
    "기로",
    "기를",
    "기에",
    "긴",
    "길",
    "까",
    "나",
    "나요",
    "네",
    "네요",
    "느라",
    "는",
    "는가",
    "는걸",
    "는데",
    "는지",
    "니",
    "니까",
    "니다",
    "다",
    "다가",
    "다고",
    "다는",
    "다면",
    "더니",
    "던",
    "던데",
    "도",
    "도록",
    "때",
    "라",
    "려고",
    "려면",
    "며",
    "면",
    "면서",
    "므로",
    "서",
    "세요",
    "야",
    "어",
    "어도",
    "어서",
    "어야",
    "었고",
    "었나",
    "었나요",
    "었는데",
    "었더라",
    "었다",
    "었던",
    "었어",
    "었을",
    "었지",
    "였고",
    "였는데",
    "였다",
    "였던",
    "였어",
    "였을",
    "요",
    "은",
    "은데",
    "은지",
    "을",
    "을까",
    "을때",
    "을지",
    "음",
    "습니까",
    "습니다",
    "여",
    "여서",
    "여야",
    "자",
    "자고",
    "잖아",
    "죠",
    "지",
    "지가",
    "지는",
    "지도",
    "지를",
    "지만",
    "진",
    "으니",
    "으며",
    "으면",
];

/// True if a character is a complete syllable.
pub(crate) fn is_syllable(character: char) -> bool {
    SYLLABLES.contains(&character)
}

/// A word of syllables as written, then without one suffix after another; the last form is its
/// stem. At least one form, at most four.
pub(crate) fn forms(word: &str) -> Vec<&str> {
    let mut forms = vec![word];
    if let Some(noun) = noun_of_verb(word) {
        forms.push(noun);
        return forms;
    }
    for _ in 0..SUFFIXES_MAX {
        let last = forms[forms.len() - 1];
        match without_suffix(last).or_else(|| noun_of_verb(last)) {
            Some(shorter) => forms.push(shorter),
            None => break,
        }
    }
    forms
}

/// The part of a word that may be a compound: without its first particle or a long verb ending. Two
/// syllables such as those of 사용한도 may be a noun although they look like a verb.
pub(crate) fn compound(word: &str) -> &str {
    match noun_of_verb(word) {
        Some(noun) if word[noun.len()..].chars().count() > AMBIGUOUS_VERB_SYLLABLES_MAX => noun,
        Some(_) => word,
        None => without_suffix(word).unwrap_or(word),
    }
}

/// True if a whole word is certainly a form of 하다, 되다 or 시키다, not a noun like 한도 or 해지.
pub(crate) fn is_mere_verb(word: &str) -> bool {
    word.chars().count() > AMBIGUOUS_VERB_SYLLABLES_MAX && is_light_verb(word)
}

/// The noun of one syllable before a particle: 락 of 락의 and 락보다, but also 회 of 회의, which [`forms`]
/// does not split.
pub(crate) fn short_noun(word: &str) -> Option<&str> {
    SUFFIXES.iter().find_map(|(suffix, follows)| {
        let noun = word.strip_suffix(suffix)?;
        let syllable = noun.chars().next()?;
        let is_single = noun.len() == syllable.len_utf8();
        (is_single && can_follow(syllable, *follows)).then_some(noun)
    })
}

/// True if a whole word is a particle, as in `API를` after the name.
pub(crate) fn is_particle(word: &str) -> bool {
    SUFFIXES.iter().any(|(suffix, _)| *suffix == word)
        || SUFFIXES.iter().any(|(suffix, _)| {
            word.strip_suffix(suffix).is_some_and(|rest| SUFFIXES.iter().any(|it| it.0 == rest))
        })
}

fn without_suffix(word: &str) -> Option<&str> {
    SUFFIXES.iter().find_map(|(suffix, follows)| {
        let stem = word.strip_suffix(suffix)?;
        let last = stem.chars().next_back()?;
        let is_long = stem.chars().count() >= STEM_SYLLABLES_MIN;
        ((is_long || UNMISTAKABLE.contains(suffix)) && can_follow(last, *follows)).then_some(stem)
    })
}

fn can_follow(last: char, follows: Follows) -> bool {
    let consonant = final_consonant(last);
    match follows {
        Any => true,
        Consonant => consonant != 0,
        Vowel => consonant == 0,
        Open => consonant == 0 || consonant == FINAL_RIEUL,
    }
}

/// Number of the syllable's final consonant; 0 if it has none.
fn final_consonant(syllable: char) -> u32 {
    (u32::from(syllable) - u32::from(*SYLLABLES.start())) % FINALS
}

/// The noun before a form of 하다, 되다 or 시키다.
fn noun_of_verb(word: &str) -> Option<&str> {
    let ends = word.char_indices().map(|(at, _)| at).skip(STEM_SYLLABLES_MIN);
    ends.map(|end| word.split_at(end)).find(|(_, verb)| is_light_verb(verb)).map(|(noun, _)| noun)
}

pub(crate) fn is_light_verb(verb: &str) -> bool {
    VERB_STARTS
        .iter()
        .any(|start| verb.strip_prefix(start).is_some_and(|tail| VERB_TAILS.contains(&tail)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particles_and_endings_come_off() {
        let check = |word: &str, stem: &str| {
            assert_eq!(forms(word).last(), Some(&stem), "{word}: {:?}", forms(word));
        };
        check("인증을", "인증");
        check("인증이", "인증");
        check("서버에서까지는", "서버");
        check("캐시로부터", "캐시");
        check("파일로", "파일");
        check("키를", "키");
        check("값으로", "값");
        check("배포했는데", "배포");
        check("배포하도록", "배포");
        check("검증됐습니다", "검증");
        check("초기화시켰다", "초기화");
        check("거부당했다", "거부");
        check("토큰들의", "토큰");
        check("오류입니다", "오류");
        check("비동기적으로", "비동기");
        check("설정하기로", "설정");
    }

    #[test]
    fn a_final_syllable_that_is_no_particle_stays() {
        for word in
            ["결과", "경로", "회의", "나이", "가을", "권한", "제한", "전문가", "재평가", "제로"]
        {
            assert_eq!(forms(word), [word]);
        }
    }

    #[test]
    fn every_form_on_the_way_is_kept() {
        assert_eq!(forms("테스트결과를"), ["테스트결과를", "테스트결과", "테스트결"]);
        assert_eq!(forms("접근권한"), ["접근권한", "접근권"]);
    }

    #[test]
    fn a_noun_that_looks_like_a_verb_stays_in_its_compound() {
        assert_eq!(compound("사용한도"), "사용한도");
        assert_eq!(compound("배포했는데"), "배포");
        assert_eq!(compound("결제모듈에서"), "결제모듈");
        assert!(is_mere_verb("했었나요") && !is_mere_verb("한도") && !is_mere_verb("해지"));
    }

    #[test]
    fn a_noun_of_one_syllable_is_known() {
        assert_eq!(short_noun("락의"), Some("락"));
        assert_eq!(short_noun("키가"), Some("키"));
        assert_eq!(short_noun("락보다"), Some("락"));
        assert_eq!(short_noun("락가"), None);
        assert_eq!(short_noun("토큰이"), None);
    }

    #[test]
    fn a_word_can_be_nothing_but_particles() {
        assert!(is_particle("를") && is_particle("에서는") && is_particle("까지"));
        assert!(!is_particle("토큰") && !is_particle(""));
    }
}
