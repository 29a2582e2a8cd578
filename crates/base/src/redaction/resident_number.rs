//! Resident registration numbers of Korea: six digits of the birth date, a hyphen, and seven digits.

/// First month of birth, as `YYYYMM`, whose numbers end in random digits instead of a check digit.
const FIRST_MONTH_WITHOUT_CHECK: u32 = 202_010;

/// Weights of the first twelve digits in the sum that the last digit checks.
const WEIGHTS: [u32; 12] = [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5];

/// Whether a text of 13 digits, with anything between them, is such a number: a possible date of
/// birth, and the right check digit where there is one.
pub(super) fn is_resident_number(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|it| it.to_digit(10)).collect();
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
    month_of_birth >= FIRST_MONTH_WITHOUT_CHECK || digits[12] == check_digit(&digits)
}

/// The last digit, from the other twelve. The seventh digit is 5 to 8 for foreigners.
fn check_digit(digits: &[u32]) -> u32 {
    let sum: u32 = digits.iter().zip(WEIGHTS).map(|(digit, weight)| digit * weight).sum();
    let start = if (5..=8).contains(&digits[6]) { 13 } else { 11 };
    (start - sum % 11) % 10
}
