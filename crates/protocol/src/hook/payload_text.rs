//! The text of a hook's input: in UTF-8 or UTF-16, with or without a byte order mark; and the short
//! fields of an input that is too large to keep.

use moai_base::limits::HOOK_FIELD_BYTES_MAX;

/// The text of an input. JSON has no NUL, so that a NUL among the first two bytes is half of a unit.
#[must_use]
pub fn payload_text(bytes: &[u8]) -> String {
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        [0xff, 0xfe, rest @ ..] => utf16_text(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16_text(rest, u16::from_be_bytes),
        [_, 0, ..] => utf16_text(bytes, u16::from_le_bytes),
        [0, _, ..] => utf16_text(bytes, u16::from_be_bytes),
        // A host may quote arbitrary bytes of a tool's output.
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn utf16_text(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Keeps the fields of a JSON object that are not longer than [`HOOK_FIELD_BYTES_MAX`], while its bytes
/// in UTF-8 are read.
#[derive(Debug, Default)]
pub struct ShortFields {
    kept: Vec<u8>,
    field: Vec<u8>,
    /// Open objects and lists.
    depth: usize,
    is_in_text: bool,
    is_escaped: bool,
}

impl ShortFields {
    /// Reads the next bytes.
    pub fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.read_byte(*byte);
        }
    }

    /// The object with the short fields that were read completely.
    #[must_use]
    pub fn into_object(self) -> Vec<u8> {
        [b"{".as_slice(), &self.kept, b"}"].concat()
    }

    fn read_byte(&mut self, byte: u8) {
        let is_in_object = self.depth > 0;
        if self.is_in_text {
            self.is_in_text = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
        } else {
            match byte {
                b'"' => self.is_in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            let is_end = byte == b',' && self.depth == 1 || is_in_object && self.depth == 0;
            if is_end {
                return self.end_field();
            }
        }
        if is_in_object && self.field.len() <= HOOK_FIELD_BYTES_MAX {
            self.field.push(byte);
        }
    }

    fn end_field(&mut self) {
        let field = std::mem::take(&mut self.field);
        if field.len() > HOOK_FIELD_BYTES_MAX {
            return;
        }
        if !self.kept.is_empty() {
            self.kept.push(b',');
        }
        self.kept.extend(field);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_encoding_of_json_is_read() {
        let text = "{\"prompt\": \"한글 😀\"}";
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for (mark, bytes) in [
            (&[][..], text.as_bytes()),
            (&[0xef, 0xbb, 0xbf], text.as_bytes()),
            (&[], little.as_slice()),
            (&[0xff, 0xfe], little.as_slice()),
            (&[], big.as_slice()),
            (&[0xfe, 0xff], big.as_slice()),
        ] {
            assert_eq!(payload_text(&[mark, bytes].concat()), text, "{mark:?}");
        }
        assert_eq!(payload_text(b"{\"a\": \"\xff\"}"), "{\"a\": \"\u{fffd}\"}");
        assert_eq!(payload_text(b""), "");
        // Half of a unit at the end.
        assert_eq!(payload_text(b"{\0}\0x"), "{}");
    }

    fn reduced(text: &str) -> Value {
        let mut fields = ShortFields::default();
        // The bytes arrive in parts.
        for part in text.as_bytes().chunks(7) {
            fields.read(part);
        }
        serde_json::from_slice(&fields.into_object()).expect("JSON")
    }

    #[test]
    fn long_fields_are_left_out_wherever_they_are() {
        let long = "x\\\"},{".repeat(HOOK_FIELD_BYTES_MAX);
        let short = json!({"session_id": "s \" \\", "cwd": "/p", "nested": {"a": [1, {"b": ","}]}});
        let mut all = short.clone();
        all["tool_response"] = json!({"stdout": long});
        all["last"] = json!(true);
        let mut expected = short.clone();
        expected["last"] = json!(true);
        assert_eq!(reduced(&all.to_string()), expected);
        assert_eq!(reduced(&short.to_string()), short);
        assert_eq!(reduced("{}"), json!({}));
    }

    #[test]
    fn a_field_at_the_bound_is_kept_and_what_is_cut_off_is_not() {
        let field = |length: usize| format!("{{\"a\":\"{}\",\"b\":1}}", "x".repeat(length - 6));
        assert!(reduced(&field(HOOK_FIELD_BYTES_MAX))["a"].is_string());
        assert_eq!(reduced(&field(HOOK_FIELD_BYTES_MAX + 1)), json!({"b": 1}));
        assert_eq!(reduced("{\"a\": 1, \"b\": \"cut o"), json!({"a": 1}));
    }
}
