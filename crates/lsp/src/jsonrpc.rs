//! JSON-RPC 2.0 messages in the form that language servers use.

use serde_json::{Value, json};

/// A request id; servers use numbers and strings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RpcId {
    /// A number; the ids of our own requests always are.
    Number(i64),
    Text(String),
}

impl RpcId {
    fn to_json(&self) -> Value {
        match self {
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
        }
    }
}

/// An error response.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// JSON-RPC or LSP error code.
    pub code: i64,
    pub message: String,
    /// Extra data, such as `retriggerRequest`.
    pub data: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RpcMessage {
    /// Expects a response.
    Request {
        /// Id chosen by the sender.
        id: RpcId,
        method: String,
        /// The parameters; `Null` is omitted on the wire, because some servers refuse `"params":
        /// null` on `shutdown`.
        params: Value,
    },
    /// Expects no response.
    Notification {
        method: String,
        /// The parameters; `Null` is omitted.
        params: Value,
    },
    Response {
        /// The id of the request.
        id: RpcId,
        result: Result<Value, RpcError>,
    },
}

impl RpcMessage {
    /// Parses one message. A message with a method is a request or a notification even if its id
    /// equals one of our pending ids. `None`: not a JSON-RPC message.
    #[must_use]
    pub fn parse(content: &[u8]) -> Option<Self> {
        let mut value: Value = serde_json::from_slice(content).ok()?;
        let object = value.as_object_mut()?;
        let id = match object.get("id") {
            Some(Value::Number(number)) => number.as_i64().map(RpcId::Number),
            Some(Value::String(text)) => Some(RpcId::Text(text.clone())),
            _ => None,
        };
        if let Some(Value::String(method)) = object.remove("method") {
            let params = object.remove("params").unwrap_or(Value::Null);
            return Some(match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notification { method, params },
            });
        }
        let id = id?;
        let result = match object.remove("error") {
            Some(Value::Null) | None => Ok(object.remove("result").unwrap_or(Value::Null)),
            Some(error) => Err(RpcError {
                code: error["code"].as_i64().unwrap_or_default(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
                data: error["data"].clone(),
            }),
        };
        Some(Self::Response { id, result })
    }

    /// The wire form, without a frame header.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let value = match self {
            Self::Request { id, method, params } => {
                with_params(json!({"jsonrpc": "2.0", "id": id.to_json(), "method": method}), params)
            }
            Self::Notification { method, params } => {
                with_params(json!({"jsonrpc": "2.0", "method": method}), params)
            }
            Self::Response { id, result: Ok(result) } => {
                json!({"jsonrpc": "2.0", "id": id.to_json(), "result": result})
            }
            Self::Response { id, result: Err(error) } => json!({
                "jsonrpc": "2.0", "id": id.to_json(),
                "error": {"code": error.code, "message": error.message},
            }),
        };
        value.to_string().into_bytes()
    }
}

fn with_params(mut message: Value, params: &Value) -> Value {
    if !params.is_null() {
        message["params"] = params.clone();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_request_with_our_id_is_not_a_response() {
        let message =
            RpcMessage::parse(br#"{"id":7,"method":"workspace/configuration","result":1}"#);
        assert!(matches!(message, Some(RpcMessage::Request { id: RpcId::Number(7), .. })));
    }

    #[test]
    fn answers_keep_errors_and_their_data() {
        let content =
            br#"{"id":"a","error":{"code":-32802,"message":"x","data":{"retriggerRequest":true}}}"#;
        let Some(RpcMessage::Response { id, result: Err(error) }) = RpcMessage::parse(content)
        else {
            panic!("an error answer");
        };
        assert_eq!((id, error.code), (RpcId::Text("a".into()), -32802));
        assert_eq!(error.data["retriggerRequest"], json!(true));
    }

    #[test]
    fn absent_params_stay_absent_and_junk_is_no_message() {
        let shutdown = RpcMessage::Request {
            id: RpcId::Number(1),
            method: "shutdown".into(),
            params: Value::Null,
        };
        let text = String::from_utf8(shutdown.to_bytes()).expect("JSON is UTF-8");
        assert!(!text.contains("params"), "{text}");
        assert_eq!(RpcMessage::parse(b"[1]"), None);
        assert_eq!(RpcMessage::parse(b"{\"result\":1}"), None);
    }
}
