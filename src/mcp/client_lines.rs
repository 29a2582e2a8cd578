//! The client's lines, before rmcp reads them: it answers a request whose parameters are no object as if
//! it were no request, and without its id, so that the client waits.

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader, DuplexStream, duplex,
};

use moai_base::limits::MCP_PIPE_BYTES;

/// Takes the place of the method of such a request.
pub(super) const UNFIT_PARAMETERS: &str = "moai-ralph/unfit-parameters";

/// The lines of `input`, of which those are rewritten that rmcp would refuse without an id.
pub(super) fn checked_lines(input: impl AsyncRead + Send + Unpin + 'static) -> DuplexStream {
    let (passed, mut passing) = duplex(MCP_PIPE_BYTES);
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line).await.is_ok_and(|bytes| bytes > 0) {
            let rewritten = without_unfit_parameters(&line);
            if passing.write_all(rewritten.as_deref().unwrap_or(&line)).await.is_err() {
                return;
            }
            line.clear();
        }
    });
    passed
}

/// The line to pass on in place of a message whose parameters are no object: a request that rmcp knows
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
