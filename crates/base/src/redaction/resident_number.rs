//! Resident registration numbers of Korea: six digits of the birth date, a hyphen, and seven digits.

use super::passwords::SecretPlace;

/// Words, in lower case, of a line that labels such a number.
const NAMES: [&str; 6] = ["주민", "외국인등록", "jumin", "resident", "rrn", "ssn"];
/// The first two digits of times in milliseconds since the epoch in these years, and of dates.
const TIMES: std::ops::RangeInclusive<u32> = 15..=20;

/// First month of birth, as `YYYYMM`, whose numbers end in random digits instead of a check digit.
const FIRST_MONTH_WITHOUT_CHECK: u32 = 202_010;

/// Weights of the first twelve digits in the sum that the last digit checks.
const WEIGHTS: [u32; 12] = [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5];

/// True if 13 digits, with anything between them, are such a number: a possible date of birth, and
/// the right check digit where there is one. Numbers issued since October 2020, to people of any
/// age, have no check digit, so a label in the line is enough.
pub(super) fn is_resident_number(place: SecretPlace<'_>) -> bool {
    let digits = digits_of(place.value);
    let [y1, y2, m1, m2, d1, d2, kind, ..] = digits[..] else { return false };
    let (month, day) = (m1 * 10 + m2, d1 * 10 + d2);
    if digits.len() != 13 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return false;
    }
    let century = match kind {
        1 | 2 | 5 | 6 => 1900,
        3 | 4 | 7 | 8 => 2000,
        _ => 1800,
    };
    let month_of_birth = (century + y1 * 10 + y2) * 100 + month;
    month_of_birth >= FIRST_MONTH_WITHOUT_CHECK
        || digits[12] == check_digit(&digits)
        || is_named(place)
}

fn digits_of(text: &str) -> Vec<u32> {
    text.chars().filter_map(|it| it.to_digit(10)).collect()
}

fn is_named(place: SecretPlace<'_>) -> bool {
    let before = place.before.to_lowercase();
    NAMES.iter().any(|name| before.contains(name))
}

/// True if 13 digits without a hyphen are such a number. Without a label in the line, they may be a
/// time or a bar code.
pub(super) fn is_plain_resident_number(place: SecretPlace<'_>) -> bool {
    if !is_resident_number(place) {
        return false;
    }
    let digits = digits_of(place.value);
    let is_time = TIMES.contains(&(digits[0] * 10 + digits[1]));
    is_named(place) || (1..=8).contains(&digits[6]) && !is_time && !is_bar_code(&digits)
}

/// True if the last of 13 digits is the check digit of a bar code (EAN-13).
fn is_bar_code(digits: &[u32]) -> bool {
    let weights = [1, 3].into_iter().cycle();
    digits.iter().zip(weights).map(|(digit, weight)| digit * weight).sum::<u32>() % 10 == 0
}

/// The last digit, from the other twelve. The seventh digit is 5 to 8 for foreigners.
fn check_digit(digits: &[u32]) -> u32 {
    let sum: u32 = digits.iter().zip(WEIGHTS).map(|(digit, weight)| digit * weight).sum();
    let start = if (5..=8).contains(&digits[6]) { 13 } else { 11 };
    (start - sum % 11) % 10
}
