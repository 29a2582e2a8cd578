//! Enums with one name per variant, as used in JSON, options and the store.

/// Defines `NAMES`, `as_str` and `from_name`. A variant without a name does not compile.
macro_rules! named_variants {
    ($name:ident { $($variant:ident: $text:literal),+ $(,)? }) => {
        impl $name {
            /// All variants with their names.
            pub const NAMES: [(Self, &'static str); [$($text),+].len()] =
                [$((Self::$variant, $text)),+];

            /// The name in JSON, options and the store.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }

            /// The variant with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use named_variants;
