//! Normalizes text for the phrase search: lower case, composed Korean syllables, Latin letters for
//! look-alikes.

use moai_base::foreign_text::is_hidden;

/// Composition of conjoining Hangul letters, per Unicode 16, section 3.12.
const SYLLABLES: u32 = 0xac00;
const LEADING: u32 = 0x1100;
const VOWELS: u32 = 0x1161;
const TRAILING: u32 = 0x11a7;
const LEADING_COUNT: u32 = 19;
const VOWEL_COUNT: u32 = 21;
const TRAILING_COUNT: u32 = 28;

/// The text without invisible characters and accents, normalized.
pub(super) fn fold_text(text: &str) -> String {
    let visible = text.chars().filter(|it| !is_hidden(*it) && !is_accent(*it));
    let lower = visible.flat_map(char::to_lowercase).map(to_latin).filter(|it| !is_accent(*it));
    let mut out = String::with_capacity(text.len());
    for character in lower {
        match out.chars().next_back().and_then(|last| compose_syllable(last, character)) {
            Some(syllable) => {
                out.pop();
                out.push(syllable);
            }
            None => out.push(character),
        }
    }
    out
}

fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// Composes two parts of a Hangul syllable.
fn compose_syllable(first: char, second: char) -> Option<char> {
    let (first, second) = (u32::from(first), u32::from(second));
    let index = |code: u32, base: u32, count: u32| code.checked_sub(base).filter(|it| *it < count);
    if let (Some(leading), Some(vowel)) =
        (index(first, LEADING, LEADING_COUNT), index(second, VOWELS, VOWEL_COUNT))
    {
        return char::from_u32(SYLLABLES + (leading * VOWEL_COUNT + vowel) * TRAILING_COUNT);
    }
    let open = index(first, SYLLABLES, LEADING_COUNT * VOWEL_COUNT * TRAILING_COUNT)?;
    let trailing = index(second, TRAILING, TRAILING_COUNT).filter(|it| *it > 0)?;
    (open % TRAILING_COUNT == 0).then(|| char::from_u32(first + trailing)).flatten()
}

/// Maps full-width, dotless, Cyrillic and Greek look-alikes to Latin letters.
fn to_latin(character: char) -> char {
    const ALIKE: [(char, char); 18] = [
        ('ı', 'i'),
        ('і', 'i'),
        ('ι', 'i'),
        ('а', 'a'),
        ('α', 'a'),
        ('е', 'e'),
        ('о', 'o'),
        ('ο', 'o'),
        ('р', 'p'),
        ('ρ', 'p'),
        ('с', 'c'),
        ('у', 'y'),
        ('х', 'x'),
        ('ѕ', 's'),
        ('ј', 'j'),
        ('ν', 'v'),
        ('ԁ', 'd'),
        ('һ', 'h'),
    ];
    match character {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character)
        }
        other => ALIKE.iter().find(|row| row.0 == other).map_or(other, |row| row.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_are_folded() {
        let jamo = "\u{1109}\u{1173}\u{11bc}\u{110b}\u{1175}\u{11ab} \u{1112}\u{1162}";
        assert_eq!(fold_text(jamo), "승인 해");
        assert_eq!(fold_text("승인 해"), "승인 해");
        assert_eq!(fold_text("Ig\u{200b}nore PREVıOUS"), "ignore previous");
        assert_eq!(fold_text("\u{ff29}gnore рrevi\u{301}ous"), "ignore previous");
    }
}
