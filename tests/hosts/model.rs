//! A scripted model behind two interfaces: the Responses API for Codex, the Messages API for the others. Its
//! answers are a list, and it keeps the requests.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::http::{self, Request};

/// Maximum wait of one model for another.
const GATE_LIMIT: Duration = Duration::from_mins(1);

/// A point that several runs reach before any of them continues.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<(Mutex<usize>, Condvar)>);

impl Gate {
    pub(crate) fn new(expected: usize) -> Self {
        Self(Arc::new((Mutex::new(expected), Condvar::new())))
    }

    pub(crate) fn arrive(&self) {
        let mut missing = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        *missing = missing.saturating_sub(1);
        self.0.1.notify_all();
    }

    /// Waits for the other runs; the test fails later if they do not arrive.
    fn pass(&self) {
        self.arrive();
        let missing = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _waited = self.0.1.wait_timeout_while(missing, GATE_LIMIT, |missing| *missing > 0);
    }
}

/// The model's answer.
#[derive(Clone, Debug)]
enum ModelAnswer {
    /// Text; the turn ends here.
    Text(String),
    /// A tool call; the host runs it and asks again.
    Tool { name: &'static str, input: Value },
}

/// One answer of the model.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedTurn {
    answer: ModelAnswer,
    /// The gate it waits at.
    gate: Option<Gate>,
}

impl ScriptedTurn {
    pub(crate) fn text(text: &str) -> Self {
        Self { answer: ModelAnswer::Text(text.to_owned()), gate: None }
    }

    pub(crate) fn tool(name: &'static str, input: Value) -> Self {
        Self { answer: ModelAnswer::Tool { name, input }, gate: None }
    }

    /// The same answer, once everyone has come to the gate.
    pub(crate) fn after(self, gate: &Gate) -> Self {
        Self { gate: Some(gate.clone()), ..self }
    }
}

#[derive(Default)]
struct ModelScript {
    turns: Vec<ScriptedTurn>,
    requests: Vec<Value>,
    others: Vec<String>,
}

/// A running scripted model.
#[derive(Clone)]
pub(crate) struct ScriptedModel {
    script: Arc<Mutex<ModelScript>>,
    address: SocketAddr,
}

impl ScriptedModel {
    /// Listens on loopback until the test's process ends. After the last turn it says "DONE".
    pub(crate) fn start(turns: Vec<ScriptedTurn>) -> Self {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let script = ModelScript { turns, ..ModelScript::default() };
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

    /// The requests it received, as text, oldest first.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.with(|script| script.requests.iter().map(request_texts).collect())
    }

    /// Everything it was asked, for people.
    pub(crate) fn transcript(&self) -> String {
        let mut out = String::new();
        for (number, request) in self.requests().iter().enumerate() {
            let _ = writeln!(out, "--- request {}\n{request}", number + 1);
        }
        let _ = writeln!(out, "--- other requests: {:?}", self.with(|it| it.others.clone()));
        out
    }

    fn with<T>(&self, ask: impl FnOnce(&mut ModelScript) -> T) -> T {
        ask(&mut self.script.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn serve(&self, stream: &TcpStream) {
        if let Ok(Some(request)) = http::read_request(stream) {
            // The client may have disconnected.
            let _ = self.answer(stream, &request);
        }
    }

    fn answer(&self, stream: &TcpStream, request: &Request) -> std::io::Result<()> {
        let is_responses = request.path.ends_with("/responses");
        let is_messages = request.path.ends_with("/messages");
        if request.method != "POST" || !(is_responses || is_messages) {
            let line = format!("{} {}", request.method, request.path);
            self.with(|script| script.others.push(line));
            return write_other(stream, &request.path);
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let (turn, number) = self.next_turn(body.clone());
        if let Some(gate) = &turn.gate {
            gate.pass();
        }
        let events = if is_responses {
            response_events(&turn.answer, number)
        } else {
            message_events(&body["model"], &turn.answer, number)
        };
        let mut text = String::new();
        for event in events {
            let name = event["type"].as_str().unwrap_or_default();
            let _ = write!(text, "event: {name}\ndata: {event}\n\n");
        }
        http::write_response(stream, "text/event-stream", text.as_bytes())
    }

    /// A request without tools is a side question of the host, such as a title.
    fn next_turn(&self, body: Value) -> (ScriptedTurn, usize) {
        if body["tools"].as_array().is_none_or(Vec::is_empty) {
            self.with(|script| script.others.push("side question".to_owned()));
            return (ScriptedTurn::text("a title"), 0);
        }
        self.with(|script| {
            let number = script.requests.len();
            script.requests.push(body);
            let turn = script.turns.get(number).cloned();
            (turn.unwrap_or_else(|| ScriptedTurn::text("DONE")), number + 1)
        })
    }
}

/// Lists are empty, and packages do not exist.
fn write_other(mut stream: &TcpStream, path: &str) -> std::io::Result<()> {
    if path.starts_with("/npm/") {
        let head = "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
        return stream.write_all(head.as_bytes());
    }
    let list = json!({"data": [], "models": [], "has_more": false, "input_tokens": 10});
    http::write_response(stream, "application/json", list.to_string().as_bytes())
}

/// The texts of a request, one after the other.
fn request_texts(request: &Value) -> String {
    let mut out = String::new();
    for list in ["input", "messages"] {
        for item in request[list].as_array().into_iter().flatten() {
            push_texts(item, &mut out);
        }
    }
    out
}

fn push_texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| push_texts(item, out)),
        Value::Object(fields) => fields.values().for_each(|field| push_texts(field, out)),
        _ => {}
    }
}

fn response_events(answer: &ModelAnswer, number: usize) -> Vec<Value> {
    let item = match answer {
        ModelAnswer::Text(text) => json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        }),
        ModelAnswer::Tool { name, input: Value::String(input) } => json!({
            "type": "custom_tool_call", "id": format!("ctc_{number}"), "name": name,
            "call_id": format!("call_{number}"), "input": input,
        }),
        ModelAnswer::Tool { name, input } => json!({
            "type": "function_call", "id": format!("fc_{number}"), "name": name,
            "call_id": format!("call_{number}"), "arguments": input.to_string(),
        }),
    };
    let id = format!("resp_{number}");
    let usage = json!({
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120,
    });
    vec![
        json!({"type": "response.created", "response": {"id": id}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": id, "usage": usage}}),
    ]
}

fn message_events(model: &Value, answer: &ModelAnswer, number: usize) -> Vec<Value> {
    let (start, delta, reason) = match answer {
        ModelAnswer::Text(text) => (
            json!({"type": "text", "text": ""}),
            json!({"type": "text_delta", "text": text}),
            "end_turn",
        ),
        ModelAnswer::Tool { name, input } => (
            json!({"type": "tool_use", "id": format!("toolu_{number:024}"), "name": name, "input": {}}),
            json!({"type": "input_json_delta", "partial_json": input.to_string()}),
            "tool_use",
        ),
    };
    let message = json!({
        "id": format!("msg_{number:024}"), "type": "message", "role": "assistant", "model": model,
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 100, "output_tokens": 1},
    });
    vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": start}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ]
}
