//! Rust source with comments, strings and characters blanked out, so that looking for a word finds
//! code and nothing else. Lines and columns stay where they were.

/// Blanks comments and literals with spaces; newlines stay.
pub(super) fn code_only(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => comment_end(bytes, at),
            b'"' => string_end(bytes, at),
            b'r' if !continues_word(bytes, at) => raw_string_end(bytes, at).unwrap_or(at),
            b'\'' => character_end(bytes, at).unwrap_or(at),
            _ => at,
        };
        if end == at {
            at += 1;
            continue;
        }
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

fn comment_end(bytes: &[u8], at: usize) -> usize {
    let mut depth = 0;
    let mut at = at;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// `br"…"` counts as well: its `b` ends no longer word.
fn continues_word(bytes: &[u8], at: usize) -> bool {
    let is_word = |index: usize| bytes[index].is_ascii_alphanumeric() || bytes[index] == b'_';
    match at {
        0 => false,
        1 => bytes[0] != b'b' && is_word(0),
        _ if bytes[at - 1] == b'b' || bytes[at - 1] == b'c' => is_word(at - 2),
        _ => is_word(at - 1),
    }
}

fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    let quote = at + 1 + hashes;
    if bytes.get(quote) != Some(&b'"') {
        return None;
    }
    let closing: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = &bytes[quote + 1..];
    let length = body.windows(closing.len()).position(|window| window == closing)?;
    Some(quote + 1 + length + closing.len())
}

/// A character literal; `None` for a lifetime or a label.
fn character_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at + 1) == Some(&b'\\') {
        let length = bytes[at + 3..].iter().position(|byte| *byte == b'\'')?;
        return Some(at + 3 + length + 1);
    }
    // One character takes at most four bytes.
    let window = bytes.get(at + 1..bytes.len().min(at + 6))?;
    let length = window.iter().position(|byte| *byte == b'\'')?;
    let one = std::str::from_utf8(&window[..length]).ok()?.chars().count() == 1;
    one.then_some(at + 1 + length + 1)
}

/// Byte offsets of a whole word.
pub(super) fn word_positions(code: &str, word: &str) -> Vec<usize> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(word)
        .filter(|(at, _)| {
            !code[..*at].chars().next_back().is_some_and(is_word)
                && !code[at + word.len()..].chars().next().is_some_and(is_word)
        })
        .map(|(at, _)| at)
        .collect()
}

/// 1-based line of an offset.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Lines of every function: where it starts, its name, how many lines it has.
pub(super) fn functions(code: &str) -> Vec<(usize, String, usize)> {
    word_positions(code, "fn")
        .into_iter()
        .filter_map(|at| {
            let rest = &code[at + 2..];
            let name: String = rest
                .trim_start()
                .chars()
                .take_while(|character| character.is_alphanumeric() || *character == '_')
                .collect();
            let open = rest.find(['{', ';'])?;
            if name.is_empty() || rest.as_bytes()[open] == b';' {
                return None;
            }
            let mut depth = 0_i32;
            let length = rest[open..].bytes().position(|byte| {
                depth += i32::from(byte == b'{') - i32::from(byte == b'}');
                depth == 0
            })?;
            let lines = rest[..open + length].matches('\n').count() + 1;
            Some((line_of(code, at), name, lines))
        })
        .collect()
}

#[test]
fn literals_and_comments_are_blank_and_code_stays() {
    let check = |source: &str, expected: &str| assert_eq!(code_only(source), expected, "{source}");
    check("a // b\nc", "a     \nc");
    check("a /* b /* c */ d */ e", "a                   e");
    check(r#"f("x \" y") + 1"#, "f(        ) + 1");
    check(r##"f(r#"x " y"#) + 1"##, "f(          ) + 1");
    check("let c: &'a str = '{';", "let c: &'a str =    ;");
    check(r"let c = '\'';", "let c =     ;");
    check("for r in x {}", "for r in x {}");
    check("'한' + b\"x\"", "      + b   ");
}

#[test]
fn functions_are_counted_in_lines() {
    let code = "fn a() {\n    if x {\n    }\n}\ntrait T { fn b(&self); }\nfn c() -> X { 1 }\n";
    let found: Vec<_> = functions(code).into_iter().map(|(_, name, lines)| (name, lines)).collect();
    assert_eq!(found, [("a".to_owned(), 4), ("c".to_owned(), 1)]);
}
