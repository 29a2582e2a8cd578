//! The client's lines, before rmcp reads them, and the answers to them. rmcp drops lines that are not JSON or
//! too long, and answers a request whose parameters are not an object as if it were not a request, without
//! its id, so that the client waits.

use std::io::Write as _;

use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite,
    AsyncWriteExt as _, BufReader, DuplexStream, duplex,
};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

use moai_base::limits::{MCP_LINE_BYTES_MAX, MCP_PIPE_BYTES};

/// Takes the place of the method of such a request.
pub(super) const UNFIT_PARAMETERS: &str = "moai-ralph/unfit-parameters";

/// The start of rmcp's answer to a message whose id it could not read. JSON-RPC requires `id: null` there.
const WITHOUT_ID: &[u8] = br#"{"jsonrpc":"2.0","error":"#;
const WITH_NULL_ID: &[u8] = br#"{"jsonrpc":"2.0","id":null,"error":"#;

/// A client whose lines are checked: the ends for rmcp.
pub(super) struct CheckedClient {
    pub(super) input: DuplexStream,
    pub(super) output: DuplexStream,
    /// Ends when all answers are written.
    pub(super) writer: JoinHandle<()>,
}

/// Passes on the lines of `input` of which rmcp can answer each, and answers the others on `output`.
pub(super) fn checked_client(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> CheckedClient {
    let (passed, passing) = duplex(MCP_PIPE_BYTES);
    let (answering, answers) = duplex(MCP_PIPE_BYTES);
    let (refusing, refusals) = channel(1);
    tokio::spawn(pass_lines(input, passing, refusing));
    let writer = tokio::spawn(write_answers(answers, refusals, output));
    CheckedClient { input: passed, output: answering, writer }
}

async fn pass_lines(
    input: impl AsyncRead + Unpin,
    mut passing: DuplexStream,
    refusing: Sender<Vec<u8>>,
) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        // The newline is not part of the message.
        match (&mut input).take(MCP_LINE_BYTES_MAX + 1).read_until(b'\n', &mut line).await {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => {
                report(&error.to_string());
                return;
            }
        }
        let is_ended = line.last() == Some(&b'\n');
        let is_too_long = !is_ended && line.len() as u64 > MCP_LINE_BYTES_MAX;
        if is_too_long && skip_line(&mut input).await.is_err() {
            return;
        }
        let checked = if is_too_long {
            let message = format!("a message has at most {MCP_LINE_BYTES_MAX} bytes");
            Err(refusal(ErrorCode::INVALID_REQUEST, &message))
        } else {
            if !is_ended {
                // rmcp drops what the end of the input ends.
                line.push(b'\n');
            }
            checked_line(&line)
        };
        let is_passed = match checked {
            Ok(rewritten) => passing.write_all(rewritten.as_deref().unwrap_or(&line)).await.is_ok(),
            Err(refusal) => refusing.send(refusal).await.is_ok(),
        };
        if !is_passed {
            return;
        }
    }
}

/// Writes whole lines only, so that answers of both kinds do not mix.
async fn write_answers(
    answers: DuplexStream,
    mut refusals: Receiver<Vec<u8>>,
    mut output: impl AsyncWrite + Unpin,
) {
    let mut answers = BufReader::new(answers);
    let mut line = Vec::new();
    loop {
        let answer = tokio::select! {
            // What was read of a line stays in it when a refusal comes first.
            read = answers.read_until(b'\n', &mut line) => match read {
                Ok(count) if count > 0 => with_id(std::mem::take(&mut line)),
                _ => break,
            },
            Some(refusal) = refusals.recv() => refusal,
        };
        if write(&mut output, &answer).await.is_err() {
            return;
        }
    }
    while let Ok(refusal) = refusals.try_recv() {
        if write(&mut output, &refusal).await.is_err() {
            return;
        }
    }
}

async fn write(output: &mut (impl AsyncWrite + Unpin), line: &[u8]) -> std::io::Result<()> {
    output.write_all(line).await?;
    output.flush().await
}

fn with_id(answer: Vec<u8>) -> Vec<u8> {
    match answer.strip_prefix(WITHOUT_ID) {
        Some(rest) => [WITH_NULL_ID, rest].concat(),
        None => answer,
    }
}

/// The answer to a line whose id is not known.
fn refusal(code: ErrorCode, message: &str) -> Vec<u8> {
    report(message);
    let error = json!({"code": code.0, "message": message});
    let answer = json!({"jsonrpc": "2.0", "id": null, "error": error});
    format!("{answer}\n").into_bytes()
}

/// Hosts keep an MCP server's stderr as its log.
fn report(error: &str) {
    let _ = writeln!(std::io::stderr(), "moai-ralph: stdin: {error}");
}

/// Reads to the end of the line without keeping it.
async fn skip_line(input: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<()> {
    loop {
        let part = input.fill_buf().await?;
        let newline = part.iter().position(|byte| *byte == b'\n');
        let (count, is_end) = (newline.map_or(part.len(), |at| at + 1), part.is_empty());
        input.consume(count);
        if newline.is_some() || is_end {
            return Ok(());
        }
    }
}

/// The line to pass on in place of a message whose parameters are not an object: a request that rmcp knows
/// and the server refuses, or nothing for a notification. `Ok(None)` for every other message; the error is the
/// answer to a line that is not JSON.
fn checked_line(line: &[u8]) -> Result<Option<Vec<u8>>, Vec<u8>> {
    let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if text.trim_ascii().is_empty() {
        return Ok(None);
    }
    let message: Value = serde_json::from_slice(text).map_err(|error| {
        refusal(ErrorCode::PARSE_ERROR, &format!("a line is not JSON: {error}"))
    })?;
    Ok(without_unfit_parameters(&message))
}

fn without_unfit_parameters(message: &Value) -> Option<Vec<u8>> {
    let method = message.get("method")?.as_str()?;
    if matches!(message.get("params"), None | Some(Value::Null | Value::Object(_))) {
        return None;
    }
    let Some(id) = message.get("id").filter(|id| id.is_string() || id.is_number()) else {
        return Some(Vec::new());
    };
    let request = json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": UNFIT_PARAMETERS,
        "params": {"method": method},
    });
    Some(format!("{request}\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_cannot_be_read_is_refused_and_the_next_one_is_passed_on() {
        let mut input = vec![b'x'; usize::try_from(MCP_LINE_BYTES_MAX).expect("64 bits") + 10];
        let next = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        input.extend_from_slice(format!("\n{{\"id\": 1\n\n{next}").as_bytes());
        let (answering, mut answers) = duplex(MCP_PIPE_BYTES);
        let mut client = checked_client(std::io::Cursor::new(input), answering);
        let mut passed = String::new();
        client.input.read_to_string(&mut passed).await.expect("a pipe");
        assert_eq!(passed, format!("\n{next}"));
        drop(client.output);
        let mut answered = String::new();
        answers.read_to_string(&mut answered).await.expect("a pipe");
        let codes: Vec<Value> = answered
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            .inspect(|answer| assert_eq!(answer.get("id"), Some(&Value::Null), "{answer}"))
            .map(|answer| answer["error"]["code"].clone())
            .collect();
        assert_eq!(codes, [-32600, -32700]);
    }

    #[tokio::test]
    async fn the_longest_message_and_one_that_the_end_of_the_input_ends_are_passed_on() {
        let longest = "7".repeat(usize::try_from(MCP_LINE_BYTES_MAX).expect("64 bits"));
        let last = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
        for input in [format!("\"{}\"\n{last}", &longest[2..]), format!("\"{}\"", &longest[2..])] {
            let (answering, _answers) = duplex(MCP_PIPE_BYTES);
            let mut client = checked_client(std::io::Cursor::new(input.clone()), answering);
            let mut passed = String::new();
            client.input.read_to_string(&mut passed).await.expect("a pipe");
            assert!(passed == format!("{input}\n"), "{} bytes are passed on", passed.len());
        }
    }

    #[test]
    fn only_requests_whose_parameters_are_no_object_are_rewritten() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":[]}"#,
            r#"[{"id":1,"method":"ping","params":5}]"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n",
        ] {
            assert_eq!(checked_line(line.as_bytes()), Ok(None), "{line}");
        }
        let list = br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":["x"]}"#;
        let rewritten = checked_line(list).expect("JSON").expect("rewritten");
        let request: Value = serde_json::from_slice(&rewritten).expect("JSON");
        assert_eq!(
            (&request["id"], &request["params"]["method"]),
            (&json!("a"), &json!("tools/call"))
        );
        let notification = br#"{"jsonrpc":"2.0","method":"notifications/x","params":5}"#;
        assert_eq!(checked_line(notification), Ok(Some(Vec::new())));
    }
}
