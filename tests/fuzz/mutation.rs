//! Changes of a sample: of its bytes, of its numbers, of its nesting and, where it is JSON, of its
//! values, so that most results pass the first checks of a parser.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

/// Size of a changed sample in bytes; the rest is cut off.
pub(crate) const SAMPLE_BYTES_MAX: usize = 128 * 1024;

const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1.5",
    "1e999",
    "-0",
    "255",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "99999999999999999999999999999999999999999",
    "0x7fffffffffffffff",
    "1e-400",
    "NaN",
];

const FRAGMENTS: &[&[u8]] = &[
    b"\0",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x80",
    b"\x1b[31m",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\t",
    b"\\",
    b"\"",
    b"'",
    b"`",
    b"```\n",
    b"---\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b"<",
    b"%",
    b"%zz",
    b"$",
    b"#",
    b"//",
    b"/*",
    b"*/",
    b"&a ",
    b"*a ",
    b"<<: ",
    b"!!binary ",
    b"\\u0000",
    b"\\ud800",
    b"\\",
    b"../",
    b"//",
    b"-- ",
    b"--",
    b"=",
    b": ",
    b"- ",
    b"? ",
    b"|\n",
    "\u{feff}".as_bytes(),
    "\u{202e}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{85}".as_bytes(),
    "\u{0130}".as_bytes(),
    "\u{fb03}".as_bytes(),
    "ß".as_bytes(),
    "İ".as_bytes(),
    "ǰ".as_bytes(),
    "🦀".as_bytes(),
    "👩‍👩‍👧‍👦".as_bytes(),
    "e\u{301}\u{301}\u{301}".as_bytes(),
    "한".as_bytes(),
    "\u{1100}\u{1161}".as_bytes(),
    "\u{e0041}".as_bytes(),
    "\u{10ffff}".as_bytes(),
];

const NESTS: &[(&str, &str)] = &[
    ("[", "]"),
    ("{\"a\":", "}"),
    ("{", "}"),
    ("(", ")"),
    ("<a>", "</a>"),
    ("{a: ", "}"),
    ("- ", ""),
    ("'", "'"),
    ("\"", "\""),
    ("`", "`"),
    ("/*", "*/"),
    ("!", ""),
    ("-", ""),
    ("  ", ""),
    ("> ", ""),
    ("a.", ""),
    ("a+", ""),
    ("not ", ""),
    ("${", "}"),
    ("if a:\n ", ""),
    ("a=>", ""),
    ("#", ""),
];

const TEXTS: &[&str] = &[
    "",
    "\u{0}",
    "\u{202e}evil",
    "../../etc/passwd",
    "/",
    "file:///",
    "file:///%ff%fe",
    "file:///r/%2e%2e/x",
    "-",
    "--",
    "\n",
    "a\nb\rc\u{2028}d",
    "𝒳𝒴",
    "e\u{301}",
    "🦀🦀",
    "$(x)",
    "{{x}}",
    "%s%n",
    "\u{feff}",
];

#[derive(Clone, Debug)]
pub(crate) enum Mutation {
    FlipBit {
        at: Index,
        bit: u32,
    },
    Insert {
        at: Index,
        fragment: &'static [u8],
    },
    InsertBytes {
        at: Index,
        bytes: Vec<u8>,
    },
    Cut {
        from: Index,
        length: usize,
    },
    End {
        at: Index,
    },
    Repeat {
        from: Index,
        length: usize,
        times: usize,
    },
    Nest {
        from: Index,
        length: usize,
        brackets: (&'static str, &'static str),
        depth: usize,
    },
    Number {
        which: Index,
        value: &'static str,
    },
    /// A part of another sample.
    Splice {
        at: Index,
        donor: Index,
        from: Index,
        length: usize,
    },
    DropLine {
        which: Index,
    },
    MoveLine {
        from: Index,
        to: Index,
    },
    Json {
        which: Index,
        change: JsonChange,
    },
}

/// A change of one value of a JSON document.
#[derive(Clone, Debug)]
pub(crate) enum JsonChange {
    Become(Value),
    Nest(usize),
    Drop,
    Double,
    Rename(&'static str),
}

fn json_change() -> impl Strategy<Value = JsonChange> {
    let numbers = [0, 1, -1, i64::MAX, i64::MIN, 1 << 32, (1 << 31) - 1];
    let value = prop_oneof![
        select(TEXTS).prop_map(Value::from),
        select(numbers.to_vec()).prop_map(Value::from),
        select(vec![u64::MAX, u64::MAX - 1, 4_294_967_295]).prop_map(Value::from),
        select(vec![0.5, -0.0, 1e300, f64::MIN_POSITIVE]).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        Just(Value::Array(Vec::new())),
        Just(Value::Object(serde_json::Map::new())),
    ];
    prop_oneof![
        6 => value.prop_map(JsonChange::Become),
        1 => (1usize..120).prop_map(JsonChange::Nest),
        1 => Just(JsonChange::Drop),
        1 => Just(JsonChange::Double),
        1 => select(TEXTS).prop_map(JsonChange::Rename),
    ]
}

/// One change of any kind.
pub(crate) fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    let depth = prop_oneof![6 => 1usize..40, 2 => Just(200usize), 1 => Just(3_000usize), 1 => Just(30_000usize)];
    prop_oneof![
        2 => (at(), 0u32..8).prop_map(|(at, bit)| Mutation::FlipBit { at, bit }),
        4 => (at(), select(FRAGMENTS)).prop_map(|(at, fragment)| Mutation::Insert { at, fragment }),
        1 => (at(), prop::collection::vec(any::<u8>(), 1..9))
            .prop_map(|(at, bytes)| Mutation::InsertBytes { at, bytes }),
        2 => (at(), 1usize..200).prop_map(|(from, length)| Mutation::Cut { from, length }),
        1 => at().prop_map(|at| Mutation::End { at }),
        2 => (at(), 1usize..300, prop_oneof![4 => 2usize..9, 1 => Just(2_000usize)])
            .prop_map(|(from, length, times)| Mutation::Repeat { from, length, times }),
        2 => (at(), 0usize..40, select(NESTS), depth).prop_map(|(from, length, brackets, depth)| {
            Mutation::Nest { from, length, brackets, depth }
        }),
        3 => (at(), select(NUMBERS)).prop_map(|(which, value)| Mutation::Number { which, value }),
        2 => (at(), at(), at(), 1usize..400).prop_map(|(at, donor, from, length)| {
            Mutation::Splice { at, donor, from, length }
        }),
        1 => at().prop_map(|which| Mutation::DropLine { which }),
        1 => (at(), at()).prop_map(|(from, to)| Mutation::MoveLine { from, to }),
        6 => (at(), json_change()).prop_map(|(which, change)| Mutation::Json { which, change }),
    ]
}

impl Mutation {
    /// Changes a sample. A change that does not fit it (of a number where the sample has none) does nothing.
    pub(crate) fn apply(&self, sample: &mut Vec<u8>, donors: &[Vec<u8>]) {
        match self {
            Self::FlipBit { at, bit } if !sample.is_empty() => {
                let at = at.index(sample.len());
                sample[at] ^= 1 << bit;
            }
            Self::FlipBit { .. } => {}
            Self::Insert { at, fragment } => insert(sample, *at, fragment),
            Self::InsertBytes { at, bytes } => insert(sample, *at, bytes),
            Self::Cut { from, length } => {
                let from = from.index(sample.len() + 1);
                let end = sample.len().min(from + length);
                sample.drain(from..end);
            }
            Self::End { at } => sample.truncate(at.index(sample.len() + 1)),
            Self::Repeat { from, length, times } => {
                let from = from.index(sample.len() + 1);
                let end = sample.len().min(from + length);
                let part = sample[from..end].repeat(*times);
                sample.splice(end..end, part);
            }
            Self::Nest { from, length, brackets: (open, close), depth } => {
                let from = from.index(sample.len() + 1);
                let end = sample.len().min(from + length);
                sample.splice(end..end, close.repeat(*depth).into_bytes());
                sample.splice(from..from, open.repeat(*depth).into_bytes());
            }
            Self::Number { which, value } => replace_number(sample, *which, value),
            Self::Splice { at, donor, from, length } => {
                let donor = donor.get(donors);
                let from = from.index(donor.len() + 1);
                insert(sample, *at, &donor[from..donor.len().min(from + length)]);
            }
            Self::DropLine { which } => change_lines(sample, |lines| {
                lines.remove(which.index(lines.len()));
            }),
            Self::MoveLine { from, to } => change_lines(sample, |lines| {
                let line = lines.remove(from.index(lines.len()));
                lines.insert(to.index(lines.len() + 1), line);
            }),
            Self::Json { which, change } => change_json(sample, *which, change),
        }
        sample.truncate(SAMPLE_BYTES_MAX);
    }
}

fn insert(sample: &mut Vec<u8>, at: Index, bytes: &[u8]) {
    let at = at.index(sample.len() + 1);
    sample.splice(at..at, bytes.iter().copied());
}

fn replace_number(sample: &mut Vec<u8>, which: Index, value: &str) {
    let starts: Vec<usize> = (0..sample.len())
        .filter(|at| sample[*at].is_ascii_digit())
        .filter(|at| *at == 0 || !sample[at - 1].is_ascii_digit())
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = *which.get(&starts);
    let length = sample[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    sample.splice(start..start + length, value.bytes());
}

fn change_lines(sample: &mut Vec<u8>, change: impl FnOnce(&mut Vec<Vec<u8>>)) {
    let mut lines: Vec<Vec<u8>> = sample.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    change(&mut lines);
    *sample = lines.join(&b'\n');
}

/// Changes a value of the document, or of one line if every line is a document.
fn change_json(sample: &mut Vec<u8>, which: Index, change: &JsonChange) {
    if let Ok(mut document) = serde_json::from_slice::<Value>(sample) {
        change_value(&mut document, which, change);
        *sample = document.to_string().into_bytes();
        return;
    }
    change_lines(sample, |lines| {
        let at = which.index(lines.len());
        let line = &mut lines[at];
        if let Ok(mut document) = serde_json::from_slice::<Value>(line) {
            change_value(&mut document, which, change);
            *line = document.to_string().into_bytes();
        }
    });
}

fn change_value(document: &mut Value, which: Index, change: &JsonChange) {
    let mut left = which.index(count_values(document));
    change_nth(document, &mut left, change);
}

fn count_values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count_values).sum(),
        Value::Object(entries) => entries.values().map(count_values).sum::<usize>(),
        _ => 0,
    }
}

/// Changes the value when `left` values were passed; true when that is done.
fn change_nth(value: &mut Value, left: &mut usize, change: &JsonChange) -> bool {
    if *left == 0 {
        change_one(value, change);
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| change_nth(item, left, change)),
        Value::Object(entries) => entries.values_mut().any(|item| change_nth(item, left, change)),
        _ => false,
    }
}

fn change_one(value: &mut Value, change: &JsonChange) {
    match (change, value) {
        (JsonChange::Become(new), value) => *value = new.clone(),
        (JsonChange::Nest(depth), value) => {
            for _ in 0..*depth {
                *value = Value::Array(vec![value.take()]);
            }
        }
        (JsonChange::Drop, Value::Array(items)) => {
            items.pop();
        }
        (JsonChange::Drop, Value::Object(entries)) => {
            let first = entries.keys().next().cloned().unwrap_or_default();
            entries.remove(&first);
        }
        (JsonChange::Double, Value::Array(items)) => items.extend_from_within(..),
        (JsonChange::Rename(name), Value::Object(entries)) => {
            let first = entries.keys().next().cloned().unwrap_or_default();
            let inner = entries.remove(&first).unwrap_or_default();
            entries.insert((*name).to_owned(), inner);
        }
        (JsonChange::Drop | JsonChange::Double | JsonChange::Rename(_), value) => {
            *value = Value::Null;
        }
    }
}
