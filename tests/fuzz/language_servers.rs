//! Input from language servers: frames, messages, diagnostics, answers to queries, edits; and whole sessions
//! with a server that sends anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::text::{LineIndex, PositionEncoding};
use moai_lsp::edits::{DiskTree, WorkspaceEdit, plan_edit};
use moai_lsp::framing::{FrameDecoder, encode_frame};
use moai_lsp::jsonrpc::RpcMessage;
use moai_lsp::messages::responses::{
    parse_hover, parse_locations, parse_prepare_rename, parse_symbols,
};
use moai_lsp::messages::{DiagnosticContext, parse_diagnostics, parse_tsserver_diagnostics, range};
use moai_lsp::registry::Catalogue;
use moai_lsp::session::{DocumentRequest, LspSession, MeasureLane, ServerFolders, SessionEffect};

use crate::corpus::texts;
use crate::runner::{fuzz, fuzz_costly, shown, text};

/// The document that edits and sessions are about.
const DOCUMENT: &str = "def f(a):\r\n    🦀 = \"한글\"\n    return a\n";

const STREAM: &str = "starting…\r\nContent-Length: 2\r\n\r\n{}Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length: 17\r\n\r\n{\"id\":1,\"x\":null}log\nContent-Length: 0\r\n\r\n";

const MESSAGES: [&str; 4] = [
    r#"{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"textDocumentSync":2}}}"#,
    r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32802,"message":"m","data":{"retriggerRequest":true}}}"#,
    r#"{"jsonrpc":"2.0","method":"$/progress","params":{"token":"t","value":{"kind":"begin","title":"x"}}}"#,
    r#"{"jsonrpc":"2.0","id":9223372036854775807,"method":"client/registerCapability","params":{}}"#,
];

const RESULTS: [&str; 6] = [
    r#"[{"range":{"start":{"line":0,"character":1},"end":{"line":1,"character":3}},"severity":2,"code":{"value":"E1","target":"x"},"codeDescription":{"href":"https://x"},"source":"s","message":"m","tags":[1]},{"message":{"kind":"markdown","value":"v"},"range":{}}]"#,
    r#"[{"start":{"line":1,"offset":1},"end":{"line":1,"offset":2},"text":"t","code":2304,"category":"error"}]"#,
    r#"[{"uri":"file:///r/a.py","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}},{"targetUri":"file:///r/b","targetRange":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"targetSelectionRange":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}}]"#,
    r#"{"contents":[{"language":"python","value":"x"},"y",{"kind":"plaintext","value":"z"}],"range":null}"#,
    r#"[{"name":"a","kind":5,"range":{"start":{"line":0,"character":0},"end":{"line":2,"character":1}},"selectionRange":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"children":[{"name":"b","kind":6,"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":1}},"selectionRange":{"start":{"line":1,"character":0},"end":{"line":1,"character":1}}}]},{"name":"c","kind":12,"location":{"uri":"file:///r/a.py","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}},"containerName":"d"}]"#,
    r#"{"range":{"start":{"line":0,"character":4},"end":{"line":0,"character":5}},"placeholder":"f","defaultBehavior":true}"#,
];

const EDITS: [&str; 3] = [
    r#"{"changes":{"file:///r/a.py":[{"range":{"start":{"line":0,"character":4},"end":{"line":0,"character":5}},"newText":"gg"},{"range":{"start":{"line":1,"character":4},"end":{"line":1,"character":6}},"newText":"한"},{"range":{"start":{"line":2,"character":11},"end":{"line":2,"character":12}},"newText":"b\nc"}]}}"#,
    r#"{"documentChanges":[{"textDocument":{"uri":"file:///r/a.py","version":3},"edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":3,"character":0}},"newText":"x"}]},{"kind":"create","uri":"file:///r/n.py","options":{"overwrite":true}},{"kind":"rename","oldUri":"file:///r/b.py","newUri":"file:///r/c.py","options":{"ignoreIfExists":true}},{"kind":"delete","uri":"file:///r/d","options":{"recursive":true,"ignoreIfNotExists":true}}]}"#,
    r#"{"changes":{"file:///r/a.py":[{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":0}},"newText":"1","annotationId":"k"},{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":0}},"newText":"2"}]},"changeAnnotations":{"k":{"label":"l","needsConfirmation":false}}}"#,
];

/// One message of a server in each line.
const PLAY: &str = r#"{"id":0,"result":{"capabilities":{"positionEncoding":"utf-16","textDocumentSync":{"openClose":true,"change":2,"save":{"includeText":true}},"diagnosticProvider":{"identifier":"p","interFileDependencies":true,"workspaceDiagnostics":false},"executeCommandProvider":{"commands":["typescript.tsserverRequest"]},"referencesProvider":true},"serverInfo":{"name":"s","version":"1.2.3"}}}
{"id":7,"method":"client/registerCapability","params":{"registrations":[{"id":"w","method":"workspace/didChangeWatchedFiles","registerOptions":{"watchers":[{"globPattern":"**/*.py","kind":7},{"globPattern":{"baseUri":"file:///x","pattern":"{a,b}/**"}}]}}]}}
{"id":8,"method":"workspace/configuration","params":{"items":[{"section":"python.analysis"},{"scopeUri":"file:///r","section":""}]}}
{"method":"$/progress","params":{"token":1,"value":{"kind":"begin","title":"Indexing","percentage":0}}}
{"method":"textDocument/publishDiagnostics","params":{"uri":"file:///r/a.py","version":1,"diagnostics":[{"range":{"start":{"line":1,"character":4},"end":{"line":1,"character":6}},"severity":1,"code":"E","message":"m"}]}}
{"method":"$/progress","params":{"token":1,"value":{"kind":"end"}}}
{"id":2,"result":{"kind":"full","resultId":"r","items":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"message":"m"}],"relatedDocuments":{"file:///r/b.py":{"kind":"full","items":[]}}}}
{"id":3,"error":{"code":-32802,"message":"cancelled","data":{"retriggerRequest":true}}}
{"id":9,"method":"workspace/diagnostic/refresh"}
{"method":"experimental/serverStatus","params":{"health":"ok","quiescent":true,"message":null}}
{"method":"language/status","params":{"type":"ServiceReady","message":"Ready"}}
{"id":10,"method":"workspace/applyEdit","params":{"edit":{"changes":{}}}}
{"id":4,"result":{"success":true,"body":[{"start":{"line":1,"offset":1},"end":{"line":1,"offset":2},"text":"t","code":1,"category":"error"}]}}
"#;

const METHODS: [&str; 7] =
    ["pull", "tsserver", "push", "gopls", "rust-analyzer", "clangd", "jdtls"];

/// Messages that a session may send for one that it receives.
const SENT_PER_MESSAGE_MAX: usize = 64;

fn path(name: &str) -> RelPath {
    RelPath::parse(name).expect("a relative path")
}

#[test]
fn frames() {
    let many = "log\nContent-Length: 2\r\n\r\n{}".repeat(4_000);
    fuzz("frames", &texts(&[STREAM, &many]), |input| {
        let (whole, junk) = decode(input, input.len().max(1));
        for piece in [1, 7, 4_096] {
            // A stream of many tiny pieces is slow to copy, not to parse.
            if input.len() / piece > 1_024 {
                continue;
            }
            let (frames, _) = decode(input, piece);
            assert_eq!(frames, whole, "in pieces of {piece}");
        }
        assert!(junk <= input.len());
        for frame in whole.iter().flatten() {
            let (again, _) = decode(&encode_frame(frame), 4_096);
            assert_eq!(again, [Some(frame.clone())]);
        }
        whole.iter().flatten().map(Vec::len).sum()
    });
}

/// The frames of a stream that arrives in pieces, and `None` where it cannot be followed further.
fn decode(stream: &[u8], piece: usize) -> (Vec<Option<Vec<u8>>>, usize) {
    let mut decoder = FrameDecoder::default();
    let mut frames = Vec::new();
    for piece in stream.chunks(piece) {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(Some(frame)),
                Ok(None) => break,
                Err(_) => {
                    frames.push(None);
                    return (frames, decoder.junk_bytes());
                }
            }
        }
    }
    (frames, decoder.junk_bytes())
}

#[test]
fn messages() {
    fuzz("messages", &texts(&MESSAGES), |input| {
        let Some(message) = RpcMessage::parse(input) else { return 0 };
        let bytes = message.to_bytes();
        let again = RpcMessage::parse(&bytes).expect("our own message");
        assert_eq!(again.to_bytes(), bytes);
        bytes.len()
    });
}

#[test]
fn results_of_requests() {
    fuzz("results", &texts(&RESULTS), |input| {
        let Ok(value) = serde_json::from_slice::<Value>(input) else { return 0 };
        let file = path("a.py");
        let hash = ContentHash::of_bytes(b"");
        let context = DiagnosticContext { sensor: "s", path: &file, hash };
        let (found, of_tsserver) =
            (parse_diagnostics(context, &value), parse_tsserver_diagnostics(context, &value));
        for findings in [&found, &of_tsserver].into_iter().flatten() {
            assert_eq!(Some(findings.len()), value.as_array().map(Vec::len), "none is dropped");
        }
        shown(&found) / 16
            + shown(&parse_locations(&value))
            + shown(&parse_hover(&value))
            + shown(&parse_symbols(&value))
            + shown(&parse_prepare_rename(&value))
    });
}

#[test]
fn workspace_edits() {
    fuzz("edits", &texts(&EDITS), |input| {
        let Ok(value) = serde_json::from_slice::<Value>(input) else { return 0 };
        let edit = match WorkspaceEdit::parse(&value) {
            Ok(edit) => edit,
            Err(refusal) => return refusal.to_string().len(),
        };
        let mut size = shown(&edit.is_alias_only("gg"));
        for encoding in [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32] {
            match plan_edit(&edit, &tree(&edit), encoding) {
                Ok(plan) => {
                    assert_plan_is_server_view(&value, &plan.set, encoding);
                    size += plan.set.changes.len();
                }
                Err(refusal) => size += refusal.to_string().len(),
            }
        }
        size
    });
}

/// Every path in an edit, all below `/r` where three files are.
fn tree(edit: &WorkspaceEdit) -> DiskTree {
    let root = Path::new("/r");
    let mut tree = DiskTree::default();
    for file in ["a.py", "b.py", "d/e.py"] {
        tree.files.insert(path(file), Arc::from(DOCUMENT.as_bytes()));
    }
    tree.folders.insert(path("d"));
    for named in edit.paths() {
        tree.resolved_paths.insert(named.to_path_buf(), RelPath::below(root, named));
    }
    tree
}

/// Compares a plan for one edited document with splicing the edits from the last to the first.
fn assert_plan_is_server_view(
    edit: &Value,
    set: &moai_base::change::ChangeSet,
    encoding: PositionEncoding,
) {
    let Some(files) = edit["changes"].as_object().filter(|files| files.len() == 1) else { return };
    if edit.get("documentChanges").is_some() {
        return;
    }
    let index = LineIndex::new(DOCUMENT);
    let mut splices: Vec<(usize, usize, usize, &str)> = Vec::new();
    for one in files.values().filter_map(Value::as_array).flatten() {
        let range = range(&one["range"]).expect("it was planned");
        let ends = [range.start, range.end].map(|at| index.offset(at, encoding));
        // A server may name a place after the end of a line or of the text.
        let [Some(start), Some(end)] = ends else { return };
        splices.push((start, end, splices.len(), one["newText"].as_str().expect("it was planned")));
    }
    splices.sort_unstable();
    // Two projects of one server may name the same replacement.
    splices
        .dedup_by(|next, one| one.0 < one.1 && (next.0, next.1, next.3) == (one.0, one.1, one.3));
    let mut expected = DOCUMENT.to_owned();
    for (start, end, _, new) in splices.into_iter().rev() {
        expected.replace_range(start..end, new);
    }
    let planned = set.changes.first().and_then(|change| change.after.as_ref());
    let planned = planned.map_or(DOCUMENT.as_bytes(), |content| &content.bytes);
    assert_eq!(String::from_utf8_lossy(planned), expected, "{edit}");
}

#[test]
fn sessions() {
    fuzz_costly("sessions", &texts(&[PLAY]), |input| {
        let script = text(input);
        METHODS.into_iter().map(|method| play(method, &script)).sum::<usize>() / METHODS.len()
    });
}

/// Plays a server's messages to a session that measures a document; returns the size of everything
/// that it sends.
fn play(method: &str, script: &str) -> usize {
    let spec = format!(r#"{{"servers": {{"s": {{"command": "s", "diagnostics": "{method}"}}}}}}"#);
    let catalogue = Catalogue::parse(&spec).expect("a valid catalogue");
    let spec = catalogue.server("s").expect("it was just described");
    let root = PathBuf::from("/r");
    let place = ServerFolders { workspace: root.clone(), root, ..ServerFolders::default() };
    let settings = json!({"python": {"analysis": {"a": 1}}});
    let mut session = LspSession::start("s", spec, settings, place, 1);
    let start = Instant::now();
    let mut answers: BTreeMap<u64, usize> = BTreeMap::new();
    let (mut size, mut asked) = (0, 0);
    for (at, line) in script.lines().enumerate().take(400) {
        let now = start + Duration::from_millis(at as u64 * 40);
        if at % 3 == 1 {
            asked += 1;
            session.measure(request(asked, at), now);
        }
        if let Some(message) = RpcMessage::parse(line.as_bytes()) {
            session.on_message(message, now);
        }
        session.tick(now);
        let effects = session.take_effects();
        assert!(effects.len() <= SENT_PER_MESSAGE_MAX, "{} effects: {line}", effects.len());
        size += take(effects, &mut answers);
    }
    session.fail(&moai_base::verdict::Gap::new(moai_base::verdict::Cause::Crashed, "over"));
    size += take(session.take_effects(), &mut answers);
    assert_eq!(answers.len() as u64, asked, "{method}: every request is answered");
    assert!(answers.values().all(|count| *count == 1), "{method}: and once: {answers:?}");
    size
}

fn request(ticket: u64, at: usize) -> DocumentRequest {
    let text = format!("{DOCUMENT}# {}\n", at / 6);
    DocumentRequest {
        ticket,
        path: path(if at.is_multiple_of(2) { "a.py" } else { "b.py" }),
        language_id: "python".to_owned(),
        hash: ContentHash::of_bytes(text.as_bytes()),
        text: text.into(),
        lane: if at.is_multiple_of(2) { MeasureLane::Interactive } else { MeasureLane::Batch },
    }
}

fn take(effects: Vec<SessionEffect>, answers: &mut BTreeMap<u64, usize>) -> usize {
    let mut size = 0;
    for effect in effects {
        match effect {
            SessionEffect::Send(message) => size += message.to_bytes().len(),
            SessionEffect::DiagnosticsReady(ticket, _) => *answers.entry(ticket).or_default() += 1,
            _ => {}
        }
    }
    size
}
