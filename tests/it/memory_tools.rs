//! The memory as agents and other programs use it: tools over MCP, slash commands, and the databases
//! of other memories.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::support::{Output, Sandbox};

const DECISION: &str = "결제 토큰은 Redis에 저장하기로 결정했다";

/// The answer to a slash command.
fn expand(sandbox: &Sandbox, name: &str, typed: &str) -> Output {
    let mut input = sandbox.payload("UserPromptExpansion");
    input["command_name"] = format!("moai-ralph:{name}").into();
    input["command_args"] = typed.into();
    sandbox.hook("user-prompt-expansion", &input)
}

/// The structured answer of a tool.
fn answer(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    client.tool(tool, arguments)["result"]["structuredContent"].clone()
}

#[test]
fn an_agent_searches_the_memory_and_reads_what_it_found() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["memory", "add", DECISION, "--type", "decision"]).code, 0);
    let mut client = Client::start(&sandbox);
    let found =
        answer(&mut client, "memory_search", &json!({"query": "결제 토큰을 어디에 저장했지?"}));
    assert_eq!(
        (&found["status"], &found["hits"][0]["type"]),
        (&json!("answered"), &json!("decision"))
    );
    assert_eq!(found["hits"][0]["title"], DECISION);
    let id = found["hits"][0]["id"].clone();
    let read = answer(&mut client, "memory_get", &json!({"ids": [id, "obs-404"]}));
    assert_eq!(read["observations"][0]["title"], DECISION);
    assert_eq!(
        (&read["observations"][0]["provenance"], &read["unknown"]),
        (&json!("user"), &json!(["obs-404"]))
    );
    let none = answer(&mut client, "memory_search", &json!({"query": "쿠버네티스"}));
    assert_eq!(none["hits"], json!([]));
    assert!(none["why_empty"].as_str().is_some_and(|why| !why.is_empty()), "{none}");
    let many = client.tool("memory_search", &json!({"query": "토큰", "limit": 1000}));
    assert_eq!(many["result"]["isError"], true, "{many}");
    client.end();
}

#[test]
fn slash_commands_remember_find_and_forget() {
    let sandbox = Sandbox::new();
    let stored = expand(&sandbox, "mem-inject", "the build needs --release and node 20").context();
    assert!(stored.starts_with("[moai-ralph]"), "{stored}");
    let found = expand(&sandbox, "mem-search", "which node for the build? --type note").context();
    assert!(found.contains("node 20"), "{found}");
    assert!(expand(&sandbox, "mem-status", "").context().contains('1'));
    let preview = expand(&sandbox, "mem-forget", "node 20").context();
    assert!(preview.contains("would"), "{preview}");
    assert!(expand(&sandbox, "mem-search", "node 20").context().contains("obs-1"));
    expand(&sandbox, "mem-forget", "obs-1");
    let gone = expand(&sandbox, "mem-search", "node 20").context();
    assert!(!gone.contains("obs-1"), "{gone}");
    for (command, typed) in
        [("mem-search", ""), ("mem-inject", " "), ("mem-forget", ""), ("mem-search", "x --tpye y")]
    {
        let refused = expand(&sandbox, command, typed).json();
        assert_eq!(refused["decision"], "block", "{command} {typed}: {refused}");
    }
}

/// A database of claude-mem with one observation and one prompt.
fn claude_mem(sandbox: &Sandbox) {
    let connection = Connection::open(sandbox.path("claude-mem.db")).expect("a new database");
    connection
        .execute_batch(
            "CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT, memory_session_id TEXT, project TEXT);
            CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, type TEXT, title TEXT,
                narrative TEXT, files_modified TEXT, created_at_epoch INTEGER);
            CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_text TEXT, created_at_epoch INTEGER);
            INSERT INTO sdk_sessions VALUES (1, 'host-1', 'mem-1', 'shop');
            INSERT INTO observations VALUES (17, 'mem-1', 'shop', 'bugfix', '토큰 만료를 고쳤다', 'The guard compared seconds.',
                '[\"src/auth.ts\"]', 1772359200000);
            INSERT INTO user_prompts VALUES (5, 'host-1', '<private>my diary</private>', 1772359200000);",
        )
        .expect("valid statements");
}

#[test]
fn the_database_of_another_memory_is_imported_once() {
    let sandbox = Sandbox::new();
    claude_mem(&sandbox);
    let import = || sandbox.run(&["memory", "import", "claude-mem.db", "--json"]).json();
    let first = import();
    assert_eq!((&first["observations"], &first["repeated"]), (&json!(1), &json!(0)), "{first}");
    // The prompt is private as a whole.
    assert_eq!(first["rejected_total"], 1, "{first}");
    assert_eq!(import()["repeated"], 1);
    let search = ["memory", "search", "토큰이 만료된 문제", "--project", "shop", "--json"];
    let hit = sandbox.run(&search).json()["hits"][0].clone();
    assert_eq!((&hit["id"], &hit["type"]), (&json!("claude-mem:observation:17"), &json!("fix")));
    assert_eq!(hit["path"], "src/auth.ts");
}

#[test]
fn a_database_that_is_no_memory_is_refused() {
    let sandbox = Sandbox::new();
    let connection = Connection::open(sandbox.path("other.db")).expect("a new database");
    connection.execute_batch("CREATE TABLE notes (id INTEGER)").expect("a valid statement");
    drop(connection);
    let refused = sandbox.run(&["memory", "import", "other.db"]);
    assert_eq!(refused.code, 3, "{refused:#?}");
    assert!(refused.stderr.contains("claude-mem or ralph-mem"), "{refused:#?}");
}

#[test]
fn a_note_keeps_no_name_of_its_private_passages() {
    let sandbox = Sandbox::new();
    let note = "<private>plan src/merger/plan77.rs TS7777</private>\nthe build needs node 20";
    assert_eq!(sandbox.run(&["memory", "add", note]).code, 0);
    let exported = sandbox.run(&["memory", "export"]).stdout;
    assert!(exported.contains("\"title\":\"the build needs node 20\""), "{exported}");
    assert!(!exported.contains("plan77") && !exported.contains("TS7777"), "{exported}");
}
