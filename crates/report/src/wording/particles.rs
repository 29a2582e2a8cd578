//! Korean particles, whose form depends on the sound that ends the word before them.

/// Forms of each particle: after a consonant, after a vowel, and where the sound is unknown.
const PARTICLES: [(&str, &str, &str); 5] = [
    ("을", "를", "을(를)"),
    ("은", "는", "은(는)"),
    ("이", "가", "이(가)"),
    ("과", "와", "과(와)"),
    ("으로", "로", "(으)로"),
];

/// The last sound of a word, as it is read in Korean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FinalSound {
    Vowel,
    /// ㄹ, after which 으로 becomes 로.
    Rieul,
    Consonant,
}

/// The form of a particle, given by its form after a consonant, that follows a word.
pub(super) fn particle_after(word: &str, particle: &str) -> &'static str {
    let row = PARTICLES.iter().find(|(after_consonant, _, _)| *after_consonant == particle);
    let Some((after_consonant, after_vowel, unknown)) = row else { return "" };
    match final_sound(word) {
        Some(FinalSound::Vowel) => after_vowel,
        Some(FinalSound::Rieul) if particle == "으로" => after_vowel,
        Some(FinalSound::Rieul | FinalSound::Consonant) => after_consonant,
        None => unknown,
    }
}

#[cfg(test)]
pub(super) fn is_known(particle: &str) -> bool {
    PARTICLES.iter().any(|(after_consonant, _, _)| *after_consonant == particle)
}

/// Closing quotes and brackets are silent; `None` for letters of other scripts.
fn final_sound(word: &str) -> Option<FinalSound> {
    let mut letters = word.chars().rev().skip_while(|letter| !letter.is_alphanumeric());
    let last = letters.next()?.to_ascii_lowercase();
    let before: Vec<char> = letters.take(2).map(|letter| letter.to_ascii_lowercase()).collect();
    let sound = match last {
        '가'..='힣' => match (u32::from(last) - u32::from('가')) % 28 {
            0 => FinalSound::Vowel,
            8 => FinalSound::Rieul,
            _ => FinalSound::Consonant,
        },
        // 영, 삼, 육; 일, 칠, 팔.
        '0' | '3' | '6' | 'm' | 'n' => FinalSound::Consonant,
        '1' | '7' | '8' | 'l' => FinalSound::Rieul,
        'g' if before.first() == Some(&'n') => FinalSound::Consonant,
        // 커밋 and 맵, but 테스트 and 루트.
        'k' | 'p' | 't' if ends_in_short_vowel(&before) => FinalSound::Consonant,
        'a'..='z' | '2' | '4' | '5' | '9' => FinalSound::Vowel,
        _ => return None,
    };
    Some(sound)
}

/// Whether one vowel precedes, and not two; the letters are in reverse order.
fn ends_in_short_vowel(before: &[char]) -> bool {
    let is_vowel = |letter: &char| "aeiou".contains(*letter);
    before.first().is_some_and(is_vowel) && !before.get(1).is_some_and(is_vowel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_particle_fits_the_last_letter_or_digit() {
        let words = [
            ("loop-482e63e1", "을", "loop-482e63e1을"),
            ("loop-482e63e4", "을", "loop-482e63e4를"),
            ("loop-482e630f", "은", "loop-482e630f는"),
            ("TODO-2", "이", "TODO-2가"),
            ("TODO-1, TODO-3", "은", "TODO-1, TODO-3은"),
            ("SPEC-AUTH-001", "으로", "SPEC-AUTH-001로"),
            ("AC-6", "으로", "AC-6으로"),
            (".moai/specs/SPEC-AUTH-001/plan.md", "이", ".moai/specs/SPEC-AUTH-001/plan.md가"),
            ("src/app.ts", "을", "src/app.ts를"),
            ("main", "이", "main이"),
            ("main", "으로", "main으로"),
            ("feature/pricing", "과", "feature/pricing과"),
            ("npm test", "이", "npm test가"),
            ("cargo build --workspace", "이", "cargo build --workspace가"),
            ("git commit", "이", "git commit이"),
            ("haiku", "을", "haiku를"),
            ("opus", "을", "opus를"),
            ("sonnet", "을", "sonnet을"),
            ("tool", "으로", "tool로"),
            ("계획", "을", "계획을"),
            ("파일 3개", "이", "파일 3개가"),
            ("결제 모듈", "으로", "결제 모듈로"),
            ("사용자(관리자)", "은", "사용자(관리자)는"),
            ("`make check`", "이", "`make check`가"),
            ("日本", "을", "日本을(를)"),
            ("…", "이", "…이(가)"),
        ];
        for (word, particle, expected) in words {
            assert_eq!(format!("{word}{}", particle_after(word, particle)), expected);
        }
    }
}
