//! `Content-Length` framing over byte streams.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc::Sender;

use serde_json::Value;

/// Largest message accepted; the tests' own client never sends more.
const MESSAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Sends every message to the loop until the stream ends or the loop has ended.
pub(crate) fn read_all(input: impl Read, messages: &Sender<Value>) {
    let mut input = BufReader::new(input);
    loop {
        match read_message(&mut input) {
            Ok(Some(message)) => {
                if messages.send(message).is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                complain(&format!("unreadable message: {error}"));
                return;
            }
        }
    }
}

fn read_message(input: &mut impl BufRead) -> io::Result<Option<Value>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
    let length: usize = length.ok_or_else(|| io::Error::other("header without a length"))?;
    if length > MESSAGE_BYTES_MAX {
        return Err(io::Error::other("message too long"));
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

/// Writes one framed message, after a line of noise when the script wants one.
pub(crate) fn write_message(message: &Value, junk: bool) {
    let body = message.to_string();
    let noise = if junk { "[info] analysing, please wait\n" } else { "" };
    let mut out = io::stdout().lock();
    // A disconnected client is noticed at the next read, so a failed write can be ignored.
    let _ = write!(out, "{noise}Content-Length: {}\r\n\r\n{body}", body.len());
    let _ = out.flush();
}

/// One line on stderr.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "fake-language-server: {line}");
}
