//! Numbers of payment cards: 15 or 16 digits, the last of which checks the others.

use super::passwords::SecretPlace;

/// Characters next to digits that belong to a longer number, id or path.
const PARTS: [char; 7] = ['.', '-', '_', '/', '#', '%', '+'];

/// True if digits, perhaps in groups, are the number of a card: with a known first digit and a
/// correct check digit, and not part of a longer token.
pub(super) fn is_payment_card(place: SecretPlace<'_>) -> bool {
    let is_part = |it: char| it.is_alphanumeric() && it.is_ascii() || PARTS.contains(&it);
    if place.before.ends_with(is_part) || place.after.starts_with(is_part) {
        // A full stop at the end of a sentence is not part of a longer token.
        let is_sentence = place.after.trim_start_matches(['.', ' ']).is_empty();
        if place.before.ends_with(is_part) || !is_sentence {
            return false;
        }
    }
    let digits: Vec<u32> = place.value.chars().filter_map(|it| it.to_digit(10)).collect();
    has_known_start(&digits) && has_check_digit(&digits)
}

/// American Express has 15 digits, the others 16.
fn has_known_start(digits: &[u32]) -> bool {
    let [d1, d2, d3, d4, ..] = digits else { return false };
    let start = ((d1 * 10 + d2) * 10 + d3) * 10 + d4;
    match digits.len() {
        15 => matches!(start / 100, 34 | 37),
        16 => {
            matches!(start, 4000..=5599 | 2221..=2720 | 3528..=3589 | 6011 | 6221..=6229)
                || matches!(start / 10, 644..=659)
        }
        _ => false,
    }
}

/// Luhn's check: every second digit from the right counts twice, as the sum of its digits.
fn has_check_digit(digits: &[u32]) -> bool {
    let weighted = digits.iter().rev().zip([1, 2].into_iter().cycle());
    let sum: u32 = weighted.map(|(digit, weight)| digit * weight).map(|it| it / 10 + it % 10).sum();
    sum.is_multiple_of(10)
}
