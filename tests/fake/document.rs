//! Open documents and the errors in their texts.

use serde_json::{Value, json};

use crate::script::Needle;

/// A document as the client last described it.
#[derive(Clone)]
pub(crate) struct Document {
    pub(crate) version: i64,
    pub(crate) text: String,
}

/// Unit in which `character` is counted.
#[derive(Clone, Copy)]
pub(crate) enum Encoding {
    Utf8,
    Utf16,
    Utf32,
}

impl Encoding {
    pub(crate) fn parse(name: &str) -> Self {
        match name {
            "utf-8" => Self::Utf8,
            "utf-32" => Self::Utf32,
            _ => Self::Utf16,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16 => "utf-16",
            Self::Utf32 => "utf-32",
        }
    }

    fn length(self, text: &str) -> usize {
        match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
            Self::Utf32 => text.chars().count(),
        }
    }
}

/// One diagnostic for every occurrence of every needle, in the order of the text.
pub(crate) fn diagnostics(text: &str, needles: &[Needle], encoding: Encoding) -> Vec<Value> {
    let mut found: Vec<(usize, &Needle)> = needles
        .iter()
        .flat_map(|entry| text.match_indices(&entry.text).map(move |(at, _)| (at, entry)))
        .collect();
    found.sort_by_key(|(at, _)| *at);
    found
        .into_iter()
        .map(|(at, entry)| {
            json!({
                "range": {
                    "start": position(text, at, encoding),
                    "end": position(text, at + entry.text.len(), encoding),
                },
                "severity": entry.severity,
                "code": entry.code,
                "source": "fake",
                "message": entry.message,
            })
        })
        .collect()
}

fn position(text: &str, at: usize, encoding: Encoding) -> Value {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    json!({
        "line": before.matches('\n').count(),
        "character": encoding.length(&before[line_start..]),
    })
}

/// The text after a ranged change. Like gopls and clangd it ends lines at `\n` alone; `None` when a
/// position does not lie in the text.
pub(crate) fn changed(text: &str, change: &Value, encoding: Encoding) -> Option<String> {
    let start = offset(text, &change["range"]["start"], encoding)?;
    let end = offset(text, &change["range"]["end"], encoding)?;
    let new = change["text"].as_str()?;
    Some(format!("{}{new}{}", text.get(..start)?, text.get(end..)?))
}

fn offset(text: &str, position: &Value, encoding: Encoding) -> Option<usize> {
    let mut line_start = 0;
    for _ in 0..position["line"].as_u64()? {
        line_start += text[line_start..].find('\n')? + 1;
    }
    let line = text[line_start..].split('\n').next()?;
    let column = usize::try_from(position["character"].as_u64()?).ok()?;
    let mut ends = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    let at = ends.find(|at| encoding.length(&line[..*at]) == column)?;
    Some(line_start + at)
}

/// FNV-1a, 64 bits: enough for a log line to say which text was sent.
pub(crate) fn text_hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The same URI in another percent-encoding: the first letter of the file name written as `%XX`.
pub(crate) fn other_encoding(uri: &str) -> String {
    let name_start = uri.rfind('/').map_or(0, |slash| slash + 1);
    let (folder, name) = uri.split_at(name_start);
    match name.chars().next() {
        Some(letter) if letter.is_ascii_alphanumeric() => {
            format!("{folder}%{:02X}{}", letter as u32, &name[1..])
        }
        _ => uri.to_owned(),
    }
}
