//! Enums with one name per variant, as used in JSON, options and the store.

/// Defines `NAMES`, `as_str` and `from_word`. A variant without a name does not compile.
macro_rules! words {
    ($name:ident { $($variant:ident: $word:literal),+ $(,)? }) => {
        impl $name {
            /// All variants with their names.
            pub const NAMES: [(Self, &'static str); [$($word),+].len()] =
                [$((Self::$variant, $word)),+];

            /// The name in JSON, options and the store.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// The variant with this name.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use words;
