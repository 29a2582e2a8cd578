//! A scripted model behind the Messages API: its answers are a list, its requests are kept.
//!
//! A request without tools is one of the host's own side questions (a title, a summary) and takes
//! no turn from the script.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use crate::http::{self, Request};

/// One answer of the model.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    /// Text; the turn ends here.
    Text(String),
    /// One tool call; the host runs it and asks again.
    Tool { name: &'static str, input: Value },
}

impl Turn {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// The host's Write tool.
    pub(crate) fn write(path: &std::path::Path, content: &str) -> Self {
        Self::Tool { name: "Write", input: json!({"file_path": path, "content": content}) }
    }

    /// The host's Agent tool.
    pub(crate) fn agent(kind: &str, prompt: &str) -> Self {
        let input = json!({"description": "work", "prompt": prompt, "subagent_type": kind});
        Self::Tool { name: "Agent", input }
    }

    /// The host's Bash tool.
    pub(crate) fn bash(command: &str) -> Self {
        Self::Tool { name: "Bash", input: json!({"command": command, "description": "work"}) }
    }

    fn block(&self, number: usize) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Tool { name, input } => {
                json!({"type": "tool_use", "id": format!("toolu_{number:024}"), "name": name, "input": input})
            }
        }
    }

    fn stop_reason(&self) -> &'static str {
        match self {
            Self::Text(_) => "end_turn",
            Self::Tool { .. } => "tool_use",
        }
    }
}

/// The answers to another agent of the host, which has its own conversation.
#[derive(Clone, Debug)]
pub(crate) struct SideScript {
    /// Words of the agent's own instructions.
    pub(crate) marker: &'static str,
    /// Its answers, over all its conversations.
    pub(crate) turns: Vec<Turn>,
}

/// The model's script and the requests it received.
struct Script {
    /// Number at which the ids of its messages begin.
    first_id: usize,
    turns: Vec<Turn>,
    side: Option<SideScript>,
    side_requests: Vec<Value>,
    requests: Vec<Value>,
    judged: Vec<Value>,
    other: Vec<String>,
}

/// Ids of another agent's messages begin here.
const SIDE_IDS: usize = 1_000_000;
/// Ids of the next model's messages begin so much later: in a continued session, the host drops calls whose
/// ids it has seen.
const MODEL_IDS: usize = 10_000;
/// Models of this process.
static MODELS: AtomicUsize = AtomicUsize::new(0);

/// A running scripted model.
#[derive(Clone)]
pub(crate) struct Model {
    script: Arc<Mutex<Script>>,
    address: SocketAddr,
}

impl Model {
    /// Listens on loopback until the test's process ends. After the last turn it says "DONE".
    pub(crate) fn start(turns: Vec<Turn>, side: Option<SideScript>) -> Self {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let script = Script {
            first_id: MODELS.fetch_add(MODEL_IDS, Ordering::Relaxed),
            turns,
            side,
            side_requests: Vec::new(),
            requests: Vec::new(),
            judged: Vec::new(),
            other: Vec::new(),
        };
        let model = Self { script: Arc::new(Mutex::new(script)), address };
        let accepting = model.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let model = accepting.clone();
                thread::spawn(move || model.serve(&stream));
            }
        });
        model
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port that only this model listens on.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Main requests so far, oldest first.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.with(|script| script.requests.clone())
    }

    /// Requests of the other agent so far, oldest first.
    pub(crate) fn side_requests(&self) -> Vec<Value> {
        self.with(|script| script.side_requests.clone())
    }

    /// Questions that were put to it as a judge.
    pub(crate) fn judged(&self) -> Vec<Value> {
        self.with(|script| script.judged.clone())
    }

    /// Turns that the script did not expect.
    pub(crate) fn turns_left(&self) -> usize {
        self.with(|script| script.turns.len().saturating_sub(script.requests.len()))
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Script) -> T) -> T {
        ask(&mut self.script.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn serve(&self, stream: &TcpStream) {
        let answered = http::read_request(stream).and_then(|request| match request {
            Some(request) => self.answer(stream, &request),
            None => Ok(()),
        });
        if let Err(error) = answered {
            self.with(|script| script.other.push(format!("connection failed: {error}")));
        }
    }

    fn answer(&self, stream: &TcpStream, request: &Request) -> std::io::Result<()> {
        let plain = |value: Value| {
            http::write_response(stream, "application/json", value.to_string().as_bytes())
        };
        let line = format!("{} {}", request.method, request.path);
        if line != "POST /v1/messages" {
            self.with(|script| script.other.push(line.clone()));
        }
        match line.as_str() {
            "POST /v1/messages" => {
                let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
                let (turn, number) = self.next_turn(&body);
                let message = message(&body["model"], &turn, number);
                if body["stream"] == true {
                    http::write_response(stream, "text/event-stream", events(&message).as_bytes())
                } else {
                    plain(message)
                }
            }
            "POST /v1/messages/count_tokens" => {
                plain(json!({"input_tokens": request.body.len() / 4 + 1}))
            }
            _ if request.method == "HEAD" => http::write_response(stream, "text/plain", b""),
            _ => plain(json!({"data": [], "has_more": false})),
        }
    }

    fn next_turn(&self, body: &Value) -> (Turn, usize) {
        if body["tools"].as_array().is_none_or(Vec::is_empty) {
            if let Some(verdict) = crate::judge::verdict(body) {
                self.with(|script| script.judged.push(body.clone()));
                return (Turn::Text(verdict), 0);
            }
            self.with(|script| script.other.push("side question".to_owned()));
            return (Turn::text("ok"), 0);
        }
        self.with(|script| {
            let is_side = |side: &SideScript| body["system"].to_string().contains(side.marker);
            if let Some(side) = script.side.clone().filter(is_side) {
                let number = script.side_requests.len();
                script.side_requests.push(body.clone());
                let turn = side.turns.get(number).cloned();
                let id = script.first_id + SIDE_IDS + number;
                return (turn.unwrap_or_else(|| Turn::text("DONE")), id);
            }
            let number = script.requests.len();
            script.requests.push(body.clone());
            let turn = script.turns.get(number).cloned();
            (turn.unwrap_or_else(|| Turn::text("DONE")), script.first_id + number)
        })
    }

    /// The new texts of each request, and the answers.
    pub(crate) fn transcript(&self) -> String {
        self.with(|script| {
            let mut out = String::new();
            let mut told = 0;
            for (number, request) in script.requests.iter().enumerate() {
                let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
                let _ = writeln!(out, "--- request {} ({} messages)", number + 1, messages.len());
                for message in messages.iter().skip(told) {
                    let role = message["role"].as_str().unwrap_or("?");
                    for text in texts(&message["content"]) {
                        let _ = writeln!(out, "  [{role}] {}", shortened(&text));
                    }
                }
                told = messages.len();
                let answer = script.turns.get(number).map(|turn| turn.block(number));
                let answer = answer.as_ref().map(block_texts).unwrap_or_default().join("\n");
                let _ = writeln!(out, "  => {}", shortened(&answer));
            }
            let _ = writeln!(out, "--- other requests: {:?}", script.other);
            out
        })
    }
}

/// Every text in a message's content: text, tool calls, tool results.
pub(crate) fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks.iter().flat_map(block_texts).collect(),
        _ => Vec::new(),
    }
}

fn block_texts(block: &Value) -> Vec<String> {
    match block["type"].as_str() {
        Some("text") => vec![block["text"].as_str().unwrap_or_default().to_owned()],
        Some("tool_result") => texts(&block["content"]),
        Some("tool_use") => vec![format!("{} {}", block["name"], block["input"])],
        _ => vec![block.to_string()],
    }
}

/// The beginning of a text, for people.
pub(crate) fn shortened(text: &str) -> String {
    const SHOWN: usize = 600;
    match text.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}… ({} bytes)", &text[..cut], text.len()),
        None => text.to_owned(),
    }
}

fn message(model: &Value, turn: &Turn, number: usize) -> Value {
    json!({
        "id": format!("msg_{number:024}"), "type": "message", "role": "assistant", "model": model,
        "content": [turn.block(number)],
        "stop_reason": turn.stop_reason(), "stop_sequence": null,
        "usage": {
            "input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "output_tokens": 20,
        },
    })
}

/// The same message as server-sent events.
fn events(message: &Value) -> String {
    let block = &message["content"][0];
    let (start, delta) = if block["type"] == "text" {
        let delta = json!({"type": "text_delta", "text": block["text"]});
        (json!({"type": "text", "text": ""}), delta)
    } else {
        let input = block["input"].to_string();
        let delta = json!({"type": "input_json_delta", "partial_json": input});
        let mut start = block.clone();
        start["input"] = json!({});
        (start, delta)
    };
    let mut opening = message.clone();
    opening["content"] = json!([]);
    opening["stop_reason"] = Value::Null;
    let closing = json!({"stop_reason": message["stop_reason"], "stop_sequence": null});
    [
        json!({"type": "message_start", "message": opening}),
        json!({"type": "content_block_start", "index": 0, "content_block": start}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": closing, "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ]
    .iter()
    .fold(String::new(), |mut out, event| {
        let name = event["type"].as_str().unwrap_or_default();
        let _ = write!(out, "event: {name}\ndata: {event}\n\n");
        out
    })
}
