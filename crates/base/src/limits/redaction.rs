//! Bounds for recognizing random values.

/// Least entropy of a secret value, in bits for each character: random text of 12 characters has
/// about 3.4, random hexadecimal digits have 3.6, a repeated word has less than 3.
pub const SECRET_ENTROPY_BITS_MIN: f64 = 3.0;
/// Longest word in a name, in characters.
pub const SECRET_WORD_CHARS_MAX: usize = 20;
