//! Duplicate texts: exact ones by a hash of the text without its layout, near ones by hashes that
//! differ in few bits.

use moai_base::hash::ContentHash;
use moai_base::limits::{NEAR_DUPLICATE_BITS_MAX, SHINGLES_MIN};
use unicode_normalization::UnicodeNormalization;

const SHINGLE_WORDS: usize = 2;

/// Hash of a text regardless of case, white space and the composition of its characters. Two
/// observations of one project and kind with the same hash count as one.
#[must_use]
pub fn normalized_hash(text: &str) -> ContentHash {
    let lower = text.nfc().collect::<String>().to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    ContentHash::of_bytes(words.join(" ").as_bytes())
}

/// A hash that differs in few bits between similar texts; numbers do not count. `None` for texts too
/// short to compare.
#[must_use]
pub fn simhash(text: &str) -> Option<u64> {
    let lower = text.nfc().collect::<String>().to_lowercase();
    let words: Vec<&str> = lower
        .split(|it: char| !it.is_alphanumeric() && it != '_')
        .filter(|word| !word.is_empty() && !word.bytes().all(|it| it.is_ascii_digit()))
        .collect();
    let shingles = words.windows(SHINGLE_WORDS);
    if shingles.len() < SHINGLES_MIN {
        return None;
    }
    let mut balance = [0_i64; 64];
    for shingle in shingles {
        let bits = hash_bits(&shingle.join(" "));
        for (at, sum) in balance.iter_mut().enumerate() {
            *sum += if bits >> at & 1 == 1 { 1 } else { -1 };
        }
    }
    let set = balance.iter().enumerate().filter(|(_, sum)| **sum > 0);
    Some(set.fold(0, |bits, (at, _)| bits | 1 << at))
}

/// True if the texts with these hashes are near duplicates.
#[must_use]
pub fn are_near_duplicates(one: u64, other: u64) -> bool {
    (one ^ other).count_ones() <= NEAR_DUPLICATE_BITS_MAX
}

fn hash_bits(text: &str) -> u64 {
    let hash = ContentHash::of_bytes(text.as_bytes());
    hash.as_bytes()[..8].iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "cargo test failed after 12 seconds in crates/store: the test \
        reopens_after_crash waited for the lock of the database and gave up, see the log of thread 7";

    #[test]
    fn layout_case_and_composition_do_not_count() {
        let decomposed: String = "결제 모듈".nfd().collect();
        assert_eq!(normalized_hash("결제 모듈"), normalized_hash(&decomposed));
        assert_eq!(normalized_hash("Fixed  the\n cache "), normalized_hash("fixed the cache"));
        assert_ne!(normalized_hash("TS2345"), normalized_hash("TS2322"));
    }

    #[test]
    fn texts_that_differ_in_numbers_are_near_duplicates() {
        let again = LOG.replace("12 seconds", "47 seconds").replace("thread 7", "thread 31");
        let (one, other) = (simhash(LOG).expect("long"), simhash(&again).expect("long"));
        assert!(are_near_duplicates(one, other));
    }

    #[test]
    fn other_texts_and_short_ones_are_not() {
        let other = "npm run build failed after 12 seconds in packages/web: the bundler could not \
            resolve the alias of the shared components folder and stopped, see the log of thread 7";
        let (one, other) = (simhash(LOG).expect("long"), simhash(other).expect("long"));
        assert!(!are_near_duplicates(one, other));
        assert_eq!(simhash("fixed TS2345 in src/a.ts"), None);
        assert_eq!(simhash(""), None);
    }
}
