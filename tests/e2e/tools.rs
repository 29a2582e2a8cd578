//! The plugin's MCP server in the host: it is connected, the model calls its tools, and receives their
//! results.

use serde_json::{Value, json};

use crate::host::{Run, checkout, run};
use crate::model::Turn;
use crate::support::Sandbox;

/// The host's name for a tool of the plugin's server.
const DIAGNOSTICS: &str = "mcp__plugin_moai-ralph_moai-ralph__diagnostics";
const HOVER: &str = "mcp__plugin_moai-ralph_moai-ralph__hover";
const RENAME: &str = "mcp__plugin_moai-ralph_moai-ralph__rename";

/// The plugin's server as the host's stream reports it.
fn server(run: &Run) -> Value {
    let servers = run.stream.iter().find_map(|line| line["mcp_servers"].as_array());
    let ours = |server: &&Value| server["name"] == "plugin:moai-ralph:moai-ralph";
    let server = servers.into_iter().flatten().find(ours);
    server.unwrap_or_else(|| run.fail("the host knows no server of the plugin")).clone()
}

#[test]
fn the_model_calls_tools_of_the_plugin() {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "def run(text):\n    return eval(text)\n");
    let place = json!({"path": "app.py", "line": 1, "symbol": "text", "new_name": "source"});
    let turns = vec![
        Turn::Tool { name: DIAGNOSTICS, input: json!({"paths": ["app.py"]}) },
        Turn::Tool { name: RENAME, input: place },
        Turn::Tool { name: HOVER, input: json!({"path": "app.py", "line": 9, "column": 1}) },
        Turn::text("told"),
    ];
    let run = run(&sandbox, checkout(), "what is wrong in app.py?", turns);
    run.assert_finished();
    assert_eq!(server(&run)["status"], "connected");
    run.assert_first_told_in(2, "\"code\":\"py-eval\"");
    // No server can rename here, and the answer reports that.
    run.assert_first_told_in(3, "\"status\":\"unmeasured\"");
    run.assert_first_told_in(4, "there is no line 9");
}
