//! Before a tool call: writes to files that decide about the agent's work are denied, all other writes are
//! allowed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{CHECKOUT, Output, SESSION, Sandbox, silent_daemon};

fn edit(sandbox: &Sandbox, path: &str) -> Output {
    let mut input = sandbox.payload("PreToolUse-Edit");
    input["tool_input"]["file_path"] = path.into();
    sandbox.hook("pre-tool-use", &input)
}

fn bash(sandbox: &Sandbox, command: &str) -> Output {
    let mut input = sandbox.payload("PreToolUse-Bash");
    input["tool_input"]["command"] = command.into();
    sandbox.hook("pre-tool-use", &input)
}

/// A call of a tool of an MCP server.
fn mcp(sandbox: &Sandbox, tool: &str, arguments: Value) -> Output {
    let mut input = sandbox.payload("PreToolUse-Edit");
    input["tool_name"] = format!("mcp__{tool}").into();
    input["tool_input"] = arguments;
    sandbox.hook("pre-tool-use", &input)
}

/// The reason of a denied call.
fn denied(output: &Output) -> String {
    assert_eq!(output.code, 0, "{output:#?}");
    let answer: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
    let decision = &answer["hookSpecificOutput"];
    assert_eq!(decision["hookEventName"], "PreToolUse", "not denied: {output:#?}");
    assert_eq!(decision["permissionDecision"], "deny", "{output:#?}");
    decision["permissionDecisionReason"].as_str().expect("a reason").to_owned()
}

fn free(output: &Output) {
    assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{output:#?}");
}

#[test]
fn state_settings_and_plugin_are_never_edited() {
    let mut sandbox = Sandbox::new();
    let plugin = sandbox.base().join("home/.claude/plugins/moai");
    std::fs::create_dir_all(plugin.join("hooks")).expect("ours");
    sandbox.set("CLAUDE_PLUGIN_ROOT", &plugin);
    let state = sandbox.base().join("state/projects/x/loops.db").display().to_string();
    let hooks = plugin.join("hooks/hooks.json").display().to_string();
    let settings = sandbox.path(".claude/settings.json").display().to_string();
    let options = sandbox.base().join("home/.config/moai-ralph/ralph.yaml").display().to_string();
    let record = sandbox.base().join("home/.claude.json").display().to_string();
    let marks = sandbox.path(".git/moai-ralph/loops/a").display().to_string();
    for path in [&state, &hooks, &settings, &options, &record, &marks] {
        let reason = denied(&edit(&sandbox, path));
        assert!(reason.contains("agents must not change"), "{reason}");
        denied(&bash(&sandbox, &format!("echo '{{}}' > {path}")));
        denied(&bash(&sandbox, &format!("python3 -c \"open('{path}', 'w')\"")));
        free(&bash(&sandbox, &format!("cat {path} | jq .")));
    }
    denied(&bash(&sandbox, "rm -rf ~/.claude"));
    denied(&bash(&sandbox, "cd .claude && rm settings.json"));
    free(&edit(&sandbox, &sandbox.path("app.py").display().to_string()));
    free(&edit(&sandbox, &sandbox.path(".claude/agents/a.md").display().to_string()));
    for command in ["npm test", "rm -rf build", "git commit -am 'settings.json: x'", ""] {
        free(&bash(&sandbox, command));
    }
}

#[test]
fn the_frozen_exam_is_denied_during_a_loop_and_free_without_one() {
    let sandbox = Sandbox::new();
    sandbox.write("RUBRIC.md", "# Rubric\n\n## Judge criteria\n- It is right.\n");
    sandbox.write(".moai/config/sections/ralph.yaml", "ralph: {}\n");
    sandbox.write("tests/test_a.py", "def test_a():\n    assert True\n");
    sandbox.commit();
    let path = |name: &str| sandbox.path(name).display().to_string();
    free(&edit(&sandbox, &path("RUBRIC.md")));
    free(&bash(&sandbox, "rm RUBRIC.md"));

    let started = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "go", "--json"]);
    let id = started.json()["id"].as_str().expect("an id").to_owned();
    for name in ["RUBRIC.md", ".claude/autochecks.sh", ".moai/config/sections/ralph.yaml"] {
        let reason = denied(&edit(&sandbox, &path(name)));
        assert!(reason.contains(&id) && reason.contains(name), "{reason}");
        denied(&bash(&sandbox, &format!("sed -i s/a/b/ {name}")));
        free(&bash(&sandbox, &format!("cat {name}; bash {name}")));
    }
    denied(&bash(&sandbox, "rm -rf .moai"));
    free(&edit(&sandbox, &path("tests/test_a.py")));
    free(&edit(&sandbox, &path("app.py")));
    // Another session's loop does not bind this one.
    let mut other = sandbox.payload("PreToolUse-Edit");
    other["session_id"] = "11111111-0000-4000-8000-000000000000".into();
    other["tool_input"]["file_path"] = path("RUBRIC.md").into();
    free(&sandbox.hook("pre-tool-use", &other));

    assert_eq!(sandbox.run(&["loop", "cancel", &id]).code, 0);
    free(&edit(&sandbox, &path("RUBRIC.md")));
}

#[test]
fn calls_are_denied_without_a_daemon_that_answers() {
    let sandbox = Sandbox::new();
    sandbox.write("RUBRIC.md", "# Rubric\n\n## Judge criteria\n- It is right.\n");
    sandbox.commit();
    let started = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "go"]);
    assert_eq!(started.code, 0, "{started:#?}");
    let _silent = silent_daemon(&sandbox);
    let began = Instant::now();
    let (rubric, settings) = (sandbox.path("RUBRIC.md"), sandbox.path(".claude/settings.json"));
    denied(&edit(&sandbox, &rubric.display().to_string()));
    assert!(began.elapsed() < Duration::from_secs(5), "the host waits no longer");
    denied(&edit(&sandbox, &settings.display().to_string()));
    denied(&bash(&sandbox, "rm RUBRIC.md"));
    free(&bash(&sandbox, "cat RUBRIC.md"));
}

#[test]
fn hooks_in_front_matter_are_frozen_during_a_loop_and_the_documents_are_not() {
    const WITH: &str = "---\nname: a\nhooks:\n  Stop: [x]\n---\nText\n";
    const WITHOUT: &str = "---\nname: a\n---\nText about hooks\n";
    let sandbox = Sandbox::new();
    let (hooked, plain) = (".claude/skills/a/SKILL.md", ".claude/agents/b.md");
    sandbox.write(hooked, WITH);
    sandbox.write(plain, WITHOUT);
    let path = |name: &str| sandbox.path(name).display().to_string();
    let write = |name: &str, content: &str| {
        let mut input = sandbox.payload("PreToolUse-Edit");
        input["tool_name"] = "Write".into();
        input["tool_input"] = json!({"file_path": path(name), "content": content});
        sandbox.hook("pre-tool-use", &input)
    };
    let replace = |name: &str, old: &str, new: &str| {
        let mut input = sandbox.payload("PreToolUse-Edit");
        let edit = json!({"file_path": path(name), "old_string": old, "new_string": new});
        input["tool_input"] = edit;
        sandbox.hook("pre-tool-use", &input)
    };
    free(&write(hooked, WITHOUT));
    let started = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "go"]);
    assert_eq!(started.code, 0, "{started:#?}");
    let own = sandbox.base().join("home/.claude/commands/c.md").display().to_string();
    for output in [
        write(hooked, WITHOUT),
        write(plain, WITH),
        write(".claude/commands/new/c.md", WITH),
        write(&own, WITH),
        replace(hooked, "[x]", "[y]"),
        replace(plain, "name: a", "name: a\nhooks: {Stop: [x]}"),
        bash(&sandbox, "sed -i s/x/y/ .claude/skills/a/SKILL.md"),
        bash(&sandbox, "rm -r .claude/skills"),
        bash(&sandbox, "cat > .claude/agents/c.md <<'EOF'\n---\nhooks: {Stop: [x]}\n---\nEOF"),
        mcp(&sandbox, "fs__write_file", json!({"path": path(plain), "content": WITH})),
    ] {
        let reason = denied(&output);
        assert!(reason.contains("registration of hooks"), "{reason}");
    }
    for output in [
        write(plain, "---\nname: c\n---\nText\n"),
        write(hooked, &WITH.replace("Text", "Another text")),
        write(".claude/commands/new/c.md", WITHOUT),
        replace(hooked, "name: a", "name: b"),
        replace(plain, "Text", "More text about hooks"),
        bash(&sandbox, "sed -i s/a/b/ .claude/agents/b.md; cat .claude/skills/a/SKILL.md"),
        bash(&sandbox, "rm .claude/agents/b.md"),
        edit(&sandbox, &path(".claude/skills/a/scripts/run.sh")),
    ] {
        free(&output);
    }
}

#[test]
fn tools_of_servers_do_not_write_what_the_hosts_own_tools_may_not() {
    let sandbox = Sandbox::new();
    sandbox.write("RUBRIC.md", "# Rubric\n\n## Judge criteria\n- It is right.\n");
    sandbox.commit();
    let settings = sandbox.path(".claude/settings.json").display().to_string();
    let writes = |named: &str| {
        [
            ("filesystem__write_file", json!({"path": named, "content": "{}"})),
            ("filesystem__edit_file", json!({"path": named, "edits": [{"oldText": "a"}]})),
            ("filesystem__move_file", json!({"source": "a.json", "destination": named})),
            ("filesystem__move_file", json!({"source": named, "destination": "a.json"})),
            ("fs__saveFiles", json!({"files": [{"file_path": named, "text": "x"}]})),
            ("editor__apply_patch", json!({"uri": format!("file://{named}")})),
            ("any__do", json!({"target-path": named})),
        ]
    };
    for (tool, arguments) in writes(&settings) {
        let reason = denied(&mcp(&sandbox, tool, arguments));
        assert!(reason.contains("agents must not change"), "{tool}: {reason}");
    }
    denied(&mcp(
        &sandbox,
        "filesystem__move_file",
        json!({"source": ".claude", "destination": "x"}),
    ));
    denied(&mcp(&sandbox, "shell__run", json!({"command": format!("rm {settings}")})));
    let rubric = sandbox.path("RUBRIC.md").display().to_string();
    free(&mcp(&sandbox, "filesystem__write_file", json!({"path": rubric, "content": ""})));
    let started = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "go", "--json"]);
    assert_eq!(started.code, 0, "{started:#?}");
    for (tool, arguments) in writes(&rubric) {
        let reason = denied(&mcp(&sandbox, tool, arguments));
        assert!(reason.contains("RUBRIC.md"), "{tool}: {reason}");
    }
    for (tool, arguments) in [
        ("filesystem__read_text_file", json!({"path": rubric})),
        ("filesystem__list_directory", json!({"path": ".claude"})),
        ("filesystem__write_file", json!({"path": "notes.md", "content": rubric})),
        ("browser__navigate", json!({"url": "https://example.invalid/RUBRIC.md"})),
    ] {
        free(&mcp(&sandbox, tool, arguments));
    }
}

/// The calls in a file of `tests/data/tool_calls`.
fn recorded_calls(name: &str) -> Vec<String> {
    let file = format!("{CHECKOUT}/tests/data/tool_calls/{name}");
    let text = std::fs::read_to_string(file).expect("it is there");
    text.lines().map(str::to_owned).collect()
}

/// A project with protected files, and a loop.
fn with_frozen_files() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("RUBRIC.md", "# Rubric\n\n## Judge criteria\n- It is right.\n");
    sandbox.write(".moai/config/sections/ralph.yaml", "ralph: {}\n");
    sandbox.write(".claude/settings.json", "{}");
    sandbox.write(".claude/autochecks.sh", "#!/bin/sh\n");
    sandbox.write("src/app.py", "x = 1\n");
    for (name, file) in [("rubric.patch", "RUBRIC.md"), ("source.patch", "src/app.py")] {
        let text = format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-a\n+b\n");
        sandbox.write(name, &text);
    }
    sandbox.write("evil/RUBRIC.md", "# Rubric\n");
    sandbox.write("evil/.claude/settings.json", "{}");
    sandbox.write("template/src/app.py", "x = 1\n");
    sandbox.commit();
    let started = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "go"]);
    assert_eq!(started.code, 0, "{started:#?}");
    sandbox.hook("session-start", &sandbox.payload("SessionStart-startup"));
    sandbox
}

fn is_denied(output: &Output) -> bool {
    assert_eq!(output.code, 0, "{output:#?}");
    !output.stdout.is_empty()
}

#[test]
fn recorded_commands_are_denied_if_they_write_and_free_if_they_do_not() {
    let sandbox = with_frozen_files();
    let check = |name: &str, expected: bool| {
        let calls = recorded_calls(name);
        let state = sandbox.base().join("state").display().to_string();
        let command = |line: &str| {
            let line = line.replace("\\\\", "\0").replace("\\n", "\n").replace('\0', "\\");
            line.replace("{{STATE}}", &state)
        };
        let is_wrong = |line: &&String| is_denied(&bash(&sandbox, &command(line))) != expected;
        let wrong: Vec<&String> = calls.iter().filter(is_wrong).collect();
        assert!(wrong.is_empty(), "{name}: {} of {}: {wrong:#?}", wrong.len(), calls.len());
    };
    check("harmless_commands.txt", false);
    check("writing_commands.txt", true);
}

/// The name that a host gives to the tool `mcp__server__tool` of an MCP server.
fn server_tool(host: &str, name: &str) -> String {
    let Some((server, tool)) = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"))
    else {
        return name.to_owned();
    };
    match host {
        "copilot" => format!("{server}-{tool}"),
        "opencode" => format!("{server}_{tool}"),
        _ => name.to_owned(),
    }
}

#[test]
fn recorded_calls_of_servers_are_denied_if_they_write_and_free_if_they_do_not() {
    let sandbox = with_frozen_files();
    let (project, home) = (sandbox.root(), sandbox.base().join("home"));
    let check = |name: &str, expected: bool| {
        let calls = recorded_calls(name);
        let is_wrong = |line: &String, host: &str| {
            let line = line.replace("{{PROJECT}}", &project.display().to_string());
            let line = line.replace("{{HOME}}", &home.display().to_string());
            let call: Value = serde_json::from_str(&line).expect("JSON");
            let mut input = sandbox.payload("PreToolUse-Edit");
            input["tool_name"] = server_tool(host, call["tool"].as_str().expect("a name")).into();
            input["tool_input"] = call["input"].clone();
            let arguments = ["hook", "pre-tool-use", "--host", host];
            is_denied(&sandbox.run_with(&arguments, &input.to_string())) != expected
        };
        for host in ["claude-code", "codex", "copilot", "opencode"] {
            let wrong: Vec<&String> = calls.iter().filter(|line| is_wrong(line, host)).collect();
            assert!(
                wrong.is_empty(),
                "{name}, {host}: {} of {}: {wrong:#?}",
                wrong.len(),
                calls.len()
            );
        }
    };
    check("harmless_server_calls.jsonl", false);
    check("writing_server_calls.jsonl", true);
}

#[test]
fn what_git_does_to_all_files_is_denied_if_a_frozen_one_is_among_them() {
    let sandbox = Sandbox::new();
    sandbox.write("RUBRIC.md", "# Rubric\n");
    sandbox.write("app.py", "x = 1\n");
    sandbox.commit();
    // The user has not committed these.
    sandbox.write("RUBRIC.md", "# Rubric\n\n## Judge criteria\n- It is right.\n");
    sandbox.write(".moai/config/sections/ralph.yaml", "ralph: {}\n");
    sandbox.write(".gitignore", ".moai\n");
    let reverts = [
        "git checkout -- .",
        "git checkout .",
        "cd src; git checkout -- :/",
        "git checkout HEAD -- .",
        "git checkout -f",
        "git restore .",
        "git restore -s HEAD -SW .",
        "git restore --source=HEAD .",
        "git reset --hard",
        "git reset --hard HEAD",
        "git stash",
        "git stash push -m x",
        "git stash -u",
        "bash -c 'git stash'",
    ];
    let cleans = ["git clean -fdx", "git clean -xdff .", "git clean -f -d -x", "git stash -a"];
    for command in reverts.iter().chain(&cleans) {
        free(&bash(&sandbox, command));
    }
    let started = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "go"]);
    assert_eq!(started.code, 0, "{started:#?}");
    for command in reverts {
        assert!(denied(&bash(&sandbox, command)).contains("RUBRIC.md"), "{command}");
    }
    // A pattern of `-e` is a whole name or path, as in an ignore file.
    let excepting_others = ["git clean -fdx -e .mo", "git clean -fdx -e / -e ralph"];
    for command in cleans[..3].iter().chain(&excepting_others) {
        assert!(denied(&bash(&sandbox, command)).contains("ralph.yaml"), "{command}");
    }
    for command in [
        "git restore --staged .",
        "git stash list; git stash show; git stash pop",
        "git stash push app.py",
        "git checkout -- app.py",
        "git reset; git reset --soft HEAD",
        "git clean -fd; git clean -ndx; git clean -fdx build; git clean -fdx -e .moai",
        "git status; git diff; git checkout -b topic",
    ] {
        free(&bash(&sandbox, command));
    }
}

#[test]
fn a_link_to_a_protected_place_is_followed() {
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink(sandbox.base().join("state"), sandbox.path("notes")).expect("ours");
    denied(&edit(&sandbox, &sandbox.path("notes/trust/a.json").display().to_string()));
    denied(&bash(&sandbox, "echo > notes/trust/a.json"));
}

#[test]
fn commands_for_a_person_are_denied() {
    let sandbox = Sandbox::new();
    for command in [
        "moai-ralph trust",
        "env -u CLAUDECODE setsid -f moai-ralph trust",
        "cd x && /usr/bin/moai-ralph loop refreeze --now",
        "echo y | moai-ralph guard allow abc --reason x",
        "moai-ralph --root . -q trust",
        "bash -c 'setsid moai-ralph loop refreeze'",
        "claude plugin uninstall moai-ralph",
        "claude plugins uninstall moai-ralph",
        "codex plugin remove moai-ralph@moai-ralph",
        "copilot plugin disable moai-ralph",
        "codex features disable hooks",
        "moai-ralph config set enabled false",
        "cat stop.json | moai-ralph hook stop",
    ] {
        let reason = denied(&bash(&sandbox, command));
        assert!(reason.contains("is not for agents"), "{reason}");
    }
    for arguments in
        [json!({"cmd": "moai-ralph trust"}), json!({"argv": ["sh"], "text": "moai-ralph trust"})]
    {
        let reason = denied(&mcp(&sandbox, "shell__run", arguments));
        assert!(reason.contains("is not for agents"), "{reason}");
    }
    for command in [
        "moai-ralph check; moai-ralph loop status; echo moai-ralph trust",
        "moai-ralph trust --show; moai-ralph search 'trust($A)' --lang js",
        "moai-ralph trust --help; moai-ralph init -h",
        "codex features list; copilot plugin list",
        "claude plugin list | grep moai-ralph",
    ] {
        free(&bash(&sandbox, command));
    }
}

#[test]
fn a_pattern_stands_for_the_files_that_it_matches() {
    let mut sandbox = Sandbox::new();
    sandbox.write(".claude/settings.json", "{}");
    sandbox.write(".claude/agents/a.md", "");
    for command in [
        "rm -rf .claude/*",
        "sed -i s/a/b/ .claude/settings*.json",
        "rm .cl*/settings.json",
        "find .claude -name '*.json' -delete",
        "find .claude -type f | xargs rm",
    ] {
        denied(&bash(&sandbox, command));
    }
    for command in [
        "rm -rf ../other-* /tmp/no-such-file-*",
        "rm -rf *",
        "rm .claude/agents/*",
        "find .claude -name '*.md' -delete",
        "ls | xargs -I{} mv {} ..",
    ] {
        free(&bash(&sandbox, command));
    }
    for command in [
        "cp x.json .claude/settings{,.local}.json",
        "mv .claude/settings.json{,.bak}",
        "find . -name x.json -exec cp {} .claude/settings.json \\;",
    ] {
        denied(&bash(&sandbox, command));
    }
    free(&bash(&sandbox, "chmod 700 ~"));
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    let state = sandbox.base().join("home/.local/state/moai-ralph");
    sandbox.set("MOAI_RALPH_HOME", &state);
    denied(&bash(&sandbox, "rm -rf ${XDG_STATE_HOME:-$HOME/.local/state}/moai-ralph"));
    denied(&bash(&sandbox, "rm -rf $XDG_STATE_HOME/moai-ralph"));
    sandbox.write("RUBRIC.md", "# Rubric\n\n## Judge criteria\n- It is right.\n");
    sandbox.commit();
    free(&bash(&sandbox, "sed -i s/a/b/ *.md"));
    let started = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "go"]);
    assert_eq!(started.code, 0, "{started:#?}");
    denied(&bash(&sandbox, "sed -i s/a/b/ *.md"));
    free(&bash(&sandbox, "sed -i s/a/b/ docs/*.md"));
}

/// The edit tools of the hosts, with the arguments that name a file and its new text.
fn edit_calls(named: &str) -> Vec<(&'static str, &'static str, Value)> {
    let patch = format!("*** Begin Patch\n*** Update File: {named}\n@@\n-a\n+b\n*** End Patch\n");
    let (old, new) = ("a", "b");
    vec![
        ("claude-code", "Write", json!({"file_path": named, "content": new})),
        ("claude-code", "Edit", json!({"file_path": named, "old_string": old, "new_string": new})),
        ("claude-code", "MultiEdit", json!({"file_path": named, "edits": [{"old_string": old}]})),
        ("claude-code", "NotebookEdit", json!({"notebook_path": named, "new_source": new})),
        ("codex", "apply_patch", json!({"command": patch})),
        ("codex", "apply_patch", json!({"input": patch})),
        ("copilot", "Edit", json!({"path": named, "old_str": old, "new_str": new})),
        ("copilot", "Edit", json!(patch)),
        ("copilot", "Write", json!({"path": named, "file_text": new})),
        ("copilot", "create", json!({"path": named, "file_text": new})),
        ("copilot", "edit", json!({"path": named, "old_str": old, "new_str": new})),
        (
            "copilot",
            "str_replace_editor",
            json!({"command": "create", "path": named, "file_text": new}),
        ),
        ("opencode", "edit", json!({"filePath": named, "oldString": old, "newString": new})),
        ("opencode", "write", json!({"filePath": named, "content": new})),
        ("opencode", "patch", json!({"patchText": patch})),
        ("opencode", "apply_patch", json!({"patchText": patch})),
        ("opencode", "multiedit", json!({"filePath": named, "edits": [{"oldString": old}]})),
    ]
}

fn call(sandbox: &Sandbox, host: &str, tool: &str, arguments: Value, cwd: &str) -> Output {
    let mut input = sandbox.payload("PreToolUse-Edit");
    input["tool_name"] = tool.into();
    input["tool_input"] = arguments;
    input["cwd"] = sandbox.path(cwd).display().to_string().into();
    sandbox.run_with(&["hook", "pre-tool-use", "--host", host], &input.to_string())
}

#[test]
fn every_edit_tool_is_denied_a_protected_file_under_every_name() {
    let sandbox = with_frozen_files();
    std::os::unix::fs::symlink(".claude", sandbox.path("linked")).expect("ours");
    std::os::unix::fs::symlink("RUBRIC.md", sandbox.path("alias")).expect("ours");
    let root = sandbox.root().display().to_string();
    let encoded = root.replace('/', "%2F");
    let settings = format!("{root}/.claude/settings.json");
    let protected = [
        ("RUBRIC.md".to_owned(), ""),
        (format!("{root}/RUBRIC.md"), ""),
        ("./src/../RUBRIC.md".to_owned(), ""),
        ("../RUBRIC.md".to_owned(), "src"),
        (format!("{root}//src/..//RUBRIC.md"), ""),
        ("RUBRIC.md/".to_owned(), ""),
        (" RUBRIC.md ".to_owned(), ""),
        ("alias".to_owned(), ""),
        ("linked/settings.json".to_owned(), ""),
        ("autochecks.sh".to_owned(), ".claude"),
        (format!("file://{settings}"), ""),
        (format!("file://localhost{settings}"), ""),
        (format!("file:{settings}"), ""),
        (format!("file://{root}/.claude/settings%2Ejson"), ""),
        (format!("file://{encoded}%2FRUBRIC.md"), ""),
        ("~/.claude/settings.json".to_owned(), ""),
        ("$HOME/.claude/settings.json".to_owned(), ""),
        ("/proc/self/cwd/RUBRIC.md".to_owned(), ""),
        ("/proc/thread-self/cwd/RUBRIC.md".to_owned(), ""),
        (format!("/proc/1/root{settings}"), ""),
        (".moai/rules/new.yml".to_owned(), ""),
        (".opencode/plugin/a.ts".to_owned(), ""),
        ("opencode.json".to_owned(), ""),
        ("web/.claude/settings.local.json".to_owned(), ""),
    ];
    let free = [
        ("src/app.py", ""),
        ("docs/RUBRIC.md", ""),
        ("RUBRIC.md", "src"),
        ("src/settings.json", ""),
        (".claude/agents/a.md", ""),
        ("file:///elsewhere/app.py", ""),
        ("/proc/self/cwd/src/app.py", ""),
        ("opencode.jsonl", ""),
    ];
    let free = free.map(|(named, cwd)| (named.to_owned(), cwd));
    let mut wrong = Vec::new();
    for (names, expected) in [(&protected[..], true), (&free[..], false)] {
        for (named, cwd) in names {
            for (host, tool, arguments) in edit_calls(named) {
                let output = call(&sandbox, host, tool, arguments, cwd);
                if is_denied(&output) != expected {
                    wrong.push(format!("{host} {tool} {named:?} in {cwd:?}"));
                }
            }
        }
    }
    // Hosts end a path at a zero byte or refuse it; patches are texts and have none.
    for (host, tool, arguments) in edit_calls("RUBRIC.md\0.txt") {
        let is_patch = arguments.to_string().contains("Begin Patch");
        if !is_patch && !is_denied(&call(&sandbox, host, tool, arguments, "")) {
            wrong.push(format!("{host} {tool} with a zero byte"));
        }
    }
    assert!(wrong.is_empty(), "{}: {wrong:#?}", wrong.len());
}

#[test]
fn a_name_with_composed_and_decomposed_characters_is_one() {
    let sandbox = Sandbox::new();
    sandbox.write("h\u{e9}/.moai/config/sections/ralph.yaml", "ralph: {}\n");
    sandbox.write("h\u{e9}/RUBRIC.md", "# Rubric\n\n## Judge criteria\n- It is right.\n");
    let root = sandbox.path("h\u{e9}").display().to_string();
    let begun = ["--root", &root, "loop", "start", "--session", SESSION, "--prompt", "go"];
    assert_eq!(sandbox.run(&begun).code, 0);
    for folder in ["h\u{e9}", "he\u{301}"] {
        let named = sandbox.path(folder).join("RUBRIC.md").display().to_string();
        for (host, tool, arguments) in edit_calls(&named).into_iter().take(4) {
            let mut input = sandbox.payload("PreToolUse-Edit");
            input["tool_name"] = tool.into();
            input["tool_input"] = arguments;
            input["cwd"] = root.clone().into();
            let denied =
                sandbox.run_with(&["hook", "pre-tool-use", "--host", host], &input.to_string());
            assert!(is_denied(&denied), "{tool} {named}");
        }
    }
}

#[test]
fn a_tool_with_modes_reads_if_its_arguments_say_so() {
    let sandbox = with_frozen_files();
    for (tool, arguments, expected) in [
        ("str_replace_editor", json!({"command": "view", "path": "RUBRIC.md"}), false),
        ("files", json!({"operation": "read", "path": "RUBRIC.md"}), false),
        ("files", json!({"operation": "delete", "path": "RUBRIC.md"}), true),
        ("files", json!({"operation": "read", "path": "RUBRIC.md", "content": "x"}), true),
        ("str_replace_editor", json!({"command": "undo_edit", "path": "RUBRIC.md"}), true),
        ("bash", json!({"command": "rm autochecks.sh", "workdir": ".claude"}), true),
        ("bash", json!({"command": "rm app.py", "workdir": "src"}), false),
        ("write_stdin", json!({"session_id": 1, "chars": "rm RUBRIC.md\n"}), true),
        ("view_image", json!({"path": "RUBRIC.md"}), false),
        ("todowrite", json!({"todos": [{"content": "read RUBRIC.md", "status": "open"}]}), false),
    ] {
        let output = call(&sandbox, "opencode", tool, arguments.clone(), "");
        assert_eq!(is_denied(&output), expected, "{tool} {arguments}");
    }
}

#[test]
fn odd_calls_are_free() {
    let sandbox = Sandbox::new();
    for input in ["{", "[]", "{\"tool_input\": 7}", "{\"tool_input\": {\"command\": [\"rm\"]}}"] {
        free(&sandbox.run_with(&["hook", "pre-tool-use"], input));
    }
}
