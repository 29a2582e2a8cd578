//! The exact texts that users and agents see: help, JSON documents, hook outputs and MCP tools.

mod documents;
mod hooks;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::support::{CHECKOUT, Output, SESSION, Sandbox, write_file};

const CLEAN: &str = "word = 'good'\n";
const DIRTY: &str = "word = 'BAD'\n";
/// Clean, but different from the committed text: a Stop has something to measure.
const FIXED: &str = "word = 'better'\n";
const PRICES: &str = "def half(number):\n    return number\n";
const TESTS: &str =
    "def test_sum():\n    assert 1 + 2 == 3\n\n\ndef test_empty():\n    assert 0 == 0\n";
const FEWER: &str = "def test_sum():\n    assert 1 + 2 == 3\n";

/// A snapshot's name and the steps that lead to its text.
type Case = (&'static str, fn(&Sandbox) -> Output);

/// Four characters of a line, both counted from zero.
fn place(line: u32, from: u32) -> Value {
    let end = json!({"line": line, "character": from + 4});
    json!({"start": {"line": line, "character": from}, "end": end})
}

/// Three committed files and a scripted server that reports `BAD`, and a call of `half` that does
/// not fit its definition.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let root = sandbox.root().to_string_lossy().into_owned();
    let uri = |path: &str| format!("file://{root}/{path}");
    let places = json!([
        {"uri": uri("prices.py"), "range": place(0, 4)},
        {"uri": uri("cart.py"), "range": place(0, 19)},
    ]);
    let edit = |line: u32, from: u32| json!({"range": place(line, from), "newText": "halved"});
    sandbox.fake_server("pyright-langserver", json!({
        "errors": [
            {"needle": "BAD", "message": "bad word", "code": "badWord"},
            {"needle": "half(1)", "message": "argument missing", "code": "args",
                "unless": {"file": "prices.py", "has": "def half(number):"}},
        ],
        "log_message": "Found 3 source files",
        "capabilities": {
            "referencesProvider": true, "definitionProvider": {}, "hoverProvider": true,
            "documentSymbolProvider": true, "workspaceSymbolProvider": true, "renameProvider": true,
        },
        "answers": {
            "textDocument/references": places,
            "textDocument/definition": [places[0]],
            "textDocument/hover": {"contents": {"kind": "plaintext", "value": "(function) half"}},
            "textDocument/documentSymbol": [{"name": "half", "kind": 12, "range": place(0, 0),
                "selectionRange": place(0, 4)}],
            "textDocument/rename": {"changes": {
                uri("prices.py"): [edit(0, 4)],
                uri("cart.py"): [edit(0, 19), edit(1, 8)],
            }},
        },
    }));
    sandbox.write("app.py", CLEAN);
    sandbox.write("prices.py", PRICES);
    sandbox.write("cart.py", "from prices import half\ntotal = half(1)\n");
    sandbox.commit();
    let transcript = sandbox.payload("Stop")["transcript_path"].as_str().map(PathBuf::from);
    write_file(&transcript.expect("the payload names it"), "");
    sandbox
}

fn stop(sandbox: &Sandbox) -> Output {
    sandbox.hook("stop", &sandbox.payload("Stop"))
}

#[test]
fn help_of_every_command() {
    let mut sandbox = Sandbox::new();
    sandbox.set("COLUMNS", "100");
    let mut texts = Vec::new();
    let mut commands = vec![Vec::new()];
    while let Some(command) = commands.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let help = sandbox.run(&[&words[..], &["--help"]].concat()).stdout;
        for name in subcommand_names(&help) {
            commands.push([&command[..], &[name]].concat());
        }
        texts.push(([&["moai-ralph"], &words[..]].concat().join("_"), help));
    }
    assert_snapshots("help", texts);
}

/// The first words of the section `Commands:`.
fn subcommand_names(help: &str) -> Vec<String> {
    let Some((_, section)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let rows = section.lines().take_while(|line| !line.is_empty());
    let names = rows.filter_map(|row| row.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn tools_of_the_mcp_server() {
    let sandbox = Sandbox::new();
    let mut client = Client::start(&sandbox);
    let list = client.call("tools/list", &json!({}));
    client.end();
    assert_snapshots("mcp", vec![("tools".to_owned(), format!("{:#}", list["result"]))]);
}

/// Compares every text with its file, and the folder's files with the names.
fn assert_snapshots(folder: &str, texts: Vec<(String, String)>) {
    let folder = Path::new(CHECKOUT).join("tests/it/snapshots").join(folder);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(&folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut names = BTreeSet::new();
    for (name, text) in texts {
        settings.bind(|| insta::assert_snapshot!(name.as_str(), text));
        names.insert(name);
    }
    let files = fs::read_dir(&folder).expect("the folder has snapshots").flatten();
    let files = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let stale: Vec<String> = files
        .filter(|file| file.strip_suffix(".snap").is_some_and(|name| !names.contains(name)))
        .collect();
    assert!(stale.is_empty(), "no test makes these: {stale:?} in {}", folder.display());
}

/// The text without parts that differ between two runs or versions.
fn redacted(text: &str, sandbox: &Sandbox) -> String {
    let text = text
        .replace(&*sandbox.base().to_string_lossy(), "[sandbox]")
        .replace(SESSION, "[session]")
        .replace(env!("CARGO_PKG_VERSION"), "[version]");
    let is_boundary = |it: char| !(it.is_ascii_alphanumeric() || "-:.".contains(it));
    text.split_inclusive(is_boundary).map(redacted_word).collect()
}

/// A word and the separator after it, without a time, ids and hashes.
fn redacted_word(word: &str) -> String {
    if word.get(4..5) == Some("-") && word.get(10..11) == Some("T") {
        let rest =
            word.trim_start_matches(|it: char| it.is_ascii_alphanumeric() || "-:.".contains(it));
        return format!("[time]{rest}");
    }
    let is_separator = |it: char| !it.is_ascii_alphanumeric();
    let redacted_part = |part: &str| {
        let core = part.trim_end_matches(is_separator);
        let is_id = core.len() >= 8 && core.chars().all(|it| it.is_ascii_hexdigit());
        if is_id { part.replacen(core, "[id]", 1) } else { part.to_owned() }
    };
    word.split_inclusive(is_separator).map(redacted_part).collect()
}
