//! English words without their most common endings. The stem need not be a word: it is only
//! compared with other stems.

/// Letters that a stem keeps.
const STEM_LETTERS_MIN: usize = 3;
/// The same before `ion`, which is part of many short nouns.
const STEM_LETTERS_BEFORE_ION_MIN: usize = 5;

/// The stem of a word in lower case: `caching`, `caches` and `cached` have the one of `cache`. A
/// word with other characters than ASCII letters is its own stem.
pub(crate) fn stem(word: &str) -> &str {
    if word.len() <= STEM_LETTERS_MIN || !word.bytes().all(|it| it.is_ascii_lowercase()) {
        return word;
    }
    let singular = without_plural(word);
    let base = without_verb_ending(singular);
    let is_cut = base.len() < singular.len();
    let base = base
        .strip_suffix("ion")
        .filter(|base| base.ends_with('t') && base.len() >= STEM_LETTERS_BEFORE_ION_MIN)
        .unwrap_or(base);
    let base = if is_cut || is_long_with_ll(base) { with_single_consonant(base) } else { base };
    let plain = base.strip_suffix('e').or_else(|| base.strip_suffix('y'));
    let plain = plain.or_else(|| base.strip_suffix('i').filter(|_| is_cut || singular != word));
    plain.filter(|plain| plain.len() >= STEM_LETTERS_MIN).unwrap_or(base)
}

fn without_plural(word: &str) -> &str {
    if let Some(base) = word.strip_suffix("ies").filter(|base| base.len() >= STEM_LETTERS_MIN) {
        return &word[..=base.len()];
    }
    if let Some(base) = word.strip_suffix("es") {
        let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| base.ends_with(end));
        return if hisses { base } else { &word[..word.len() - 1] };
    }
    match word.strip_suffix('s') {
        Some(base) if !base.ends_with(['s', 'u', 'i']) => base,
        _ => word,
    }
}

fn without_verb_ending(word: &str) -> &str {
    let base = word.strip_suffix("ing").or_else(|| word.strip_suffix("ed"));
    base.filter(|base| {
        base.len() >= STEM_LETTERS_MIN && base.contains(is_vowel) && !word.ends_with("eed")
    })
    .unwrap_or(word)
}

fn is_vowel(letter: char) -> bool {
    matches!(letter, 'a' | 'e' | 'i' | 'o' | 'u' | 'y')
}

/// `install` and `cancell` (from `cancelled`) lose a letter in every form; `call` keeps both.
fn is_long_with_ll(base: &str) -> bool {
    base.ends_with("ll") && base.len() > STEM_LETTERS_MIN + 1
}

/// `stopp` from `stopped` becomes `stop`; `pass` and `call` keep both letters.
fn with_single_consonant(base: &str) -> &str {
    let bytes = base.as_bytes();
    let [.., one, two] = bytes else { return base };
    let is_kept = matches!(two, b's' | b'z') || *two == b'l' && !is_long_with_ll(base);
    let is_doubled = one == two && !is_kept && !is_vowel(char::from(*two));
    if is_doubled { &base[..base.len() - 1] } else { base }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_a_word_have_one_stem() {
        for family in [
            &["cache", "caches", "cached", "caching"][..],
            &["validate", "validates", "validated", "validating", "validation"],
            &["migrate", "migration", "migrations", "migrating"],
            &["connect", "connects", "connected", "connection", "connections"],
            &["retry", "retries", "retried", "retrying"],
            &["stop", "stops", "stopped", "stopping"],
            &["cancel", "cancels", "cancelled", "canceling", "cancelling"],
            &["install", "installs", "installed", "installing"],
            &["call", "calls", "called", "calling"],
            &["token", "tokens"],
            &["class", "classes"],
            &["index", "indexes", "indexed", "indexing"],
            &["policy", "policies"],
            &["patch", "patches", "patched"],
            &["configure", "configured", "configuring"],
            &["merge", "merged", "merges", "merging"],
        ] {
            let stems: Vec<&str> = family.iter().map(|word| stem(word)).collect();
            assert!(stems.windows(2).all(|pair| pair[0] == pair[1]), "{family:?}: {stems:?}");
        }
    }

    #[test]
    fn words_that_only_look_inflected_stay() {
        for word in ["string", "status", "bus", "need", "speed", "option", "action", "api", "css"] {
            assert_eq!(stem(word), word);
        }
    }
}
