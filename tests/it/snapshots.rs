//! The texts that users and agents see, word for word: help, hook outputs and MCP tools.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::support::{CHECKOUT, Output, Sandbox};

const CLEAN: &str = "word = 'good'\n";
const DIRTY: &str = "word = 'BAD'\n";
/// Clean, but different from the committed text: a Stop has something to measure.
const FIXED: &str = "word = 'better'\n";

/// A committed clean file and a scripted server that reports `BAD`.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let errors = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", json!({"errors": errors}));
    sandbox.write("app.py", CLEAN);
    sandbox.commit();
    sandbox
}

fn stop(sandbox: &Sandbox) -> Output {
    sandbox.hook("stop", &sandbox.payload("Stop"))
}

/// A slash command of the session.
fn slash(sandbox: &Sandbox, name: &str, arguments: &str) -> Output {
    let mut input = sandbox.payload("UserPromptExpansion");
    input["command_name"] = format!("moai-ralph:{name}").into();
    input["command_args"] = arguments.into();
    sandbox.hook("user-prompt-expansion", &input)
}

/// Starts a loop as the user does, with a task in English.
fn start(sandbox: &Sandbox) -> Output {
    slash(sandbox, "moai-loop", "fix it --max-iterations 9")
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

/// A snapshot's name and the steps that lead to its text.
type HookCase = (&'static str, fn(&Sandbox) -> Output);

fn assert_hook_texts(folder: &str, cases: &[HookCase]) {
    let text_of = |(name, steps): &HookCase| {
        let sandbox = project();
        let output = steps(&sandbox);
        assert_eq!(output.code, 0, "{name}: {output:#?}");
        let mut text = String::new();
        append_leaves(&mut text, "", &output.json());
        ((*name).to_owned(), redacted(&text, &sandbox))
    };
    assert_snapshots(folder, cases.iter().map(text_of).collect());
}

/// One paragraph for each value of a document, below its path; unlike in JSON, lines stay lines.
fn append_leaves(text: &mut String, path: &str, value: &Value) {
    if let Some(object) = value.as_object() {
        for (key, part) in object {
            append_leaves(text, &format!("{path}.{key}"), part);
        }
        return;
    }
    let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.extend([path, ":\n", shown.trim_end(), "\n\n"]);
}

#[test]
fn hook_texts_of_edits() {
    assert_hook_texts(
        "hooks_edits",
        &[
            ("introduced", |sandbox| sandbox.tool_write("app.py", DIRTY)),
            ("fixed", |sandbox| {
                sandbox.tool_write("app.py", DIRTY);
                sandbox.tool_write("app.py", CLEAN)
            }),
        ],
    );
}

#[test]
fn hook_texts_of_loops() {
    assert_hook_texts(
        "hooks_loops",
        &[
            ("start_english", start),
            ("stop_held", |sandbox| {
                start(sandbox);
                sandbox.write("app.py", DIRTY);
                stop(sandbox)
            }),
            ("end_completed", |sandbox| {
                start(sandbox);
                sandbox.write("app.py", FIXED);
                stop(sandbox)
            }),
        ],
    );
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
        names.insert(format!("{name}.snap"));
    }
    let files = fs::read_dir(&folder).expect("the folder has snapshots").flatten();
    let files = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let stale: Vec<String> = files.filter(|name| !names.contains(name)).collect();
    assert!(stale.is_empty(), "no test makes these: {stale:?} in {}", folder.display());
}

/// The text without what differs between two runs: folders, ids, hashes and times.
fn redacted(text: &str, sandbox: &Sandbox) -> String {
    let text = text.replace(&*sandbox.base().to_string_lossy(), "[sandbox]");
    let is_boundary =
        |character: char| !(character.is_ascii_alphanumeric() || "-:.".contains(character));
    text.split_inclusive(is_boundary).map(redacted_word).collect()
}

/// A word with the separator after it.
fn redacted_word(word: &str) -> String {
    let end = word.trim_end_matches(|character: char| !character.is_ascii_alphanumeric()).len();
    let (core, rest) = word.split_at(end);
    let is_hex = |text: &str| text.len() >= 8 && text.chars().all(|it| it.is_ascii_hexdigit());
    let is_time = core.get(4..5) == Some("-") && core.get(10..11) == Some("T");
    match core.strip_prefix("loop-") {
        Some(id) if is_hex(id) => format!("loop-[id]{rest}"),
        _ if is_hex(core) => format!("[hash]{rest}"),
        _ if is_time => format!("[time]{rest}"),
        _ => word.to_owned(),
    }
}
