//! One word for each variant of an enum, as JSON, options and the store have it. It must not know
//! any of them.

/// The words of an enum: the table `NAMES`, `as_str` and `from_word`. A variant without a word does
/// not compile.
macro_rules! words {
    ($name:ident { $($variant:ident: $word:literal),+ $(,)? }) => {
        impl $name {
            /// All, with their words.
            pub const NAMES: [(Self, &'static str); [$($word),+].len()] =
                [$((Self::$variant, $word)),+];

            /// Its word, as JSON, options and the store have it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// The one of a word.
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
