//! Parses JSON with comments and trailing commas, the format of configurations of TypeScript tools.

pub mod edit;

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

/// JSON5 is not accepted, because the tools do not read it either.
const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The value of a text; `None` when it has only comments, or is `null`. The error is one line.
pub fn parse_jsonc(text: &str) -> Result<Option<Value>, String> {
    let text = text.trim_start_matches('\u{feff}');
    parse_to_serde_value(text, &JSONC).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_the_only_additions_to_json() {
        let cases = [
            (
                "{ // why\n \"a\": [1, 2,], /* b, */ \"c\": 1.5e2, \n}",
                json!({"a": [1, 2], "c": 150.0}),
            ),
            (
                "\u{feff}{\"u\": \"http://x/*y*/\\\"\", \"\\u00e9\": -1}",
                json!({"u": "http://x/*y*/\"", "é": -1}),
            ),
            ("{\"b\": 1, \"a\": 18446744073709551615, \"b\": 2}", json!({"b": 2, "a": u64::MAX})),
            ("[true, false, null]", json!([true, false, null])),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_jsonc(text), Ok(Some(expected)), "{text}");
        }
        for nothing in ["", " \n", "\u{feff}", "// x", "/* x */", "null"] {
            assert_eq!(parse_jsonc(nothing), Ok(None), "{nothing}");
        }
    }

    #[test]
    fn other_dialects_are_errors() {
        for text in [
            "{",
            "{} {}",
            "{} /* open",
            "/* open",
            "[1,,2]",
            "[,]",
            "{a: 1}",
            "{'a': 1}",
            "{\"a\": 1 \"b\": 2}",
            "[1 2]",
            "0x1f",
            "+1",
            ".5",
            "5.",
            "01",
            "NaN",
            "Infinity",
            "1e999",
            "\"\\x41\"",
            "\"open",
        ] {
            let error = parse_jsonc(text).expect_err(text);
            assert!(!error.contains('\n'), "{error}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(
            parse_jsonc(&deep),
            Err("Maximum nesting depth exceeded on line 1 column 513".to_owned())
        );
    }
}
