//! The client's lines, before rmcp reads them. rmcp answers a request whose parameters are not an object as
//! if it were not a request, and without its id, so that the client waits.

use std::io::Write as _;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _,
    BufReader, DuplexStream, duplex,
};

use moai_base::limits::{MCP_LINE_BYTES_MAX, MCP_PIPE_BYTES};

/// Takes the place of the method of such a request.
pub(super) const UNFIT_PARAMETERS: &str = "moai-ralph/unfit-parameters";

/// Input of rmcp in place of a line above [`MCP_LINE_BYTES_MAX`]: it answers with a parse error.
const TOO_LONG: &[u8] = b"a line of the client is too long\n";

/// The lines of `input`, of which those are rewritten that rmcp would refuse without an id.
pub(super) fn checked_lines(input: impl AsyncRead + Send + Unpin + 'static) -> DuplexStream {
    let (passed, mut passing) = duplex(MCP_PIPE_BYTES);
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut input).take(MCP_LINE_BYTES_MAX).read_until(b'\n', &mut line).await {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => {
                    report(&error.to_string());
                    return;
                }
            }
            let is_too_long =
                line.len() as u64 == MCP_LINE_BYTES_MAX && line.last() != Some(&b'\n');
            let passed_on = if is_too_long {
                report(&format!("a line has more than {MCP_LINE_BYTES_MAX} bytes"));
                if skip_line(&mut input).await.is_err() {
                    return;
                }
                Some(TOO_LONG.to_vec())
            } else {
                without_unfit_parameters(&line)
            };
            if passing.write_all(passed_on.as_deref().unwrap_or(&line)).await.is_err() {
                return;
            }
        }
    });
    passed
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
/// and the server refuses, or nothing for a notification. `None` for every other line.
fn without_unfit_parameters(line: &[u8]) -> Option<Vec<u8>> {
    let message: Value = serde_json::from_slice(line).ok()?;
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
    async fn a_line_that_is_too_long_is_refused_and_the_next_one_is_read() {
        let mut input = vec![b'x'; usize::try_from(MCP_LINE_BYTES_MAX).expect("64 bits") + 10];
        let next = b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        input.extend_from_slice(next);
        let mut passed = Vec::new();
        checked_lines(std::io::Cursor::new(input)).read_to_end(&mut passed).await.expect("a pipe");
        assert_eq!(passed, [TOO_LONG, &next[1..]].concat());
    }

    #[test]
    fn only_requests_whose_parameters_are_no_object_are_rewritten() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":[]}"#,
            r#"[{"id":1,"method":"ping","params":5}]"#,
            "no JSON",
        ] {
            assert_eq!(without_unfit_parameters(line.as_bytes()), None, "{line}");
        }
        let list = br#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":["x"]}"#;
        let rewritten = without_unfit_parameters(list).expect("rewritten");
        let request: Value = serde_json::from_slice(&rewritten).expect("JSON");
        assert_eq!(
            (&request["id"], &request["params"]["method"]),
            (&json!("a"), &json!("tools/call"))
        );
        let notification = br#"{"jsonrpc":"2.0","method":"notifications/x","params":5}"#;
        assert_eq!(without_unfit_parameters(notification), Some(Vec::new()));
    }
}
