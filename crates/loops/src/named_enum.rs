//! Enums with one name per variant, as used in JSON, options and the store.

use moai_base::foreign_text::one_line;
use moai_base::limits::OPTION_CHARS_MAX;

/// The error for a name that no variant has.
#[must_use]
pub fn unknown_name(name: &str, known: &[&str]) -> String {
    format!("{:?} is not one of {}", one_line(name, OPTION_CHARS_MAX), known.join(", "))
}

/// Defines `NAMES`, `as_str` and `from_name`. A variant without a name does not compile.
#[macro_export]
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

/// Serializes such an enum as its name.
#[macro_export]
macro_rules! serialize_by_name {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let name = <String as serde::Deserialize>::deserialize(from)?;
                Self::from_name(&name).ok_or_else(|| {
                    let known = Self::NAMES.map(|(_, name)| name);
                    serde::de::Error::custom($crate::named_enum::unknown_name(&name, &known))
                })
            }
        }
    };
}

pub use {named_variants, serialize_by_name};
