//! The generated reference tables: made from the program's help, its options file, its catalogue
//! of language servers, its rules, its MCP tools and the snapshots of its JSON documents.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use moai_lsp::registry::{Catalogue, InstallSources, LanguageSpec};
use moai_protocol::hook::HookEvent;
use moai_protocol::hosts::registration::registered_events;
use moai_protocol::hosts::{ContextChannel, HostKind};
use moai_report::hosts::host_limits;
use serde_json::{Value, json};

use super::option_rows;
use crate::mcp_client::Client;
use crate::support::{CHECKOUT, Sandbox};

/// The commands that print a JSON document, by its schema without the number.
const PRINTED_BY: [(&str, &str); 43] = [
    ("baseline", "file written by `scan` and `check --write-baseline`"),
    ("checks", "`loop checks`"),
    ("config", "`config show`"),
    ("daemon", "`daemon status`, `daemon stop`"),
    ("doctor", "`doctor`"),
    ("forgotten", "`loop forget`"),
    ("gate", "file written by the gates of a pipeline"),
    ("hosts", "`doctor --hosts`"),
    ("hover", "`hover`"),
    ("install", "`server install`"),
    ("judge", "`judge`"),
    ("locations", "`references`, `definition`"),
    ("loop", "`loop start`, `status`, `cancel`, `pause`, `resume`, `adopt`"),
    ("loop-history", "`loop history`"),
    ("loop-report", "`loop report`"),
    ("loops", "`loop history --all`"),
    ("memory", "`memory search`"),
    ("memory-change", "`memory add`, `forget`, `import`, `backup`, `restore`"),
    ("memory-status", "`memory status`"),
    ("observations", "`memory get`"),
    ("pivot-check", "`spec pivot check`"),
    ("pivot-points", "`spec pivot list`, `add`, `confirm`"),
    ("pipeline", "`pipeline start`, `approve`, `answer`, `status`, `cancel`, `resume`"),
    ("pipeline-report", "`pipeline report`"),
    ("plan", "`pipeline plan`"),
    ("pull-request", "`pipeline pr`"),
    ("refreeze", "`loop refreeze`"),
    ("rename", "`rename`"),
    ("report", "`check`, `scan`, `guard`"),
    ("restore", "`loop restore`"),
    ("rewrite", "`rewrite`"),
    ("rule-tests", "`scan test`"),
    ("search", "`search`"),
    ("server-acts", "`server start`, `stop`, `restart`"),
    ("server-logs", "`server logs`"),
    ("servers", "`server list`"),
    ("spec", "`spec new`"),
    ("spec-check", "`spec check`"),
    ("specs", "`spec list`"),
    ("symbols", "`symbols`"),
    ("timeline", "`memory timeline`"),
    ("trust", "`trust`"),
    ("workers", "`loop start --workers`"),
];

/// Every table by the name in its marker.
pub(super) fn all() -> BTreeMap<&'static str, String> {
    let sandbox = Sandbox::new();
    let commands = commands(&sandbox);
    let rules = rules();
    BTreeMap::from([
        ("commands", command_table(&commands)),
        ("flags", flag_tables(&commands)),
        ("options", option_table()),
        ("languages", language_table(&rules)),
        ("languages-short", short_language_table(&rules)),
        ("languages-ko", korean_language_table(&rules)),
        ("servers", server_table()),
        ("rule-counts", rule_count_table(&rules)),
        ("rules", rule_tables(&rules)),
        ("schemas", schema_table()),
        ("mcp-tools", tool_table(&sandbox)),
        ("host-events", host_event_table()),
        ("host-limits", host_limit_list()),
    ])
}

/// The events that each host sends, and its use of the answer.
fn host_event_table() -> String {
    let titles = HostKind::ALL.map(|kind| kind.profile().title).join(" | ");
    let names = HostKind::ClaudeCode.profile().events.iter().map(|row| row.event);
    let rows = names.map(|event| {
        let mut row = vec![format!("`{}`", event.name())];
        row.extend(HostKind::ALL.map(|kind| host_event_cell(kind, event)));
        row
    });
    table(&format!("| event | {titles} |"), rows)
}

fn host_event_cell(kind: HostKind, event: HookEvent) -> String {
    let Some(row) = kind.profile().event(event) else { return "–".to_owned() };
    let refuses = if event == HookEvent::PreToolUse { "can refuse the tool" } else { "" };
    let blocks = match (row.can_block, event) {
        (false, _) => "",
        (true, HookEvent::Stop | HookEvent::SubagentStop) => "can hold the turn",
        (true, _) => "can refuse the prompt",
    };
    let has_words = matches!(
        event,
        HookEvent::SessionStart
            | HookEvent::UserPromptSubmit
            | HookEvent::UserPromptExpansion
            | HookEvent::PostToolUse
            | HookEvent::PostToolBatch
    );
    let is_told = has_words && row.context != ContextChannel::None;
    let told = if is_told { "tells the agent" } else { "" };
    let registered = registered_events(kind).any(|it| it == event);
    let unused = if registered { "" } else { "not registered" };
    let words = [told, refuses, blocks, unused];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "only notes it".to_owned() } else { words.join(", ") }
}

/// Limits of a host, as its loops list them at their start.
fn host_limit_list() -> String {
    let limits = HostKind::ALL.into_iter().flat_map(|kind| host_limits(kind.profile()));
    limits.map(|limit| format!("* {limit}\n")).collect::<Vec<String>>().concat()
}

fn table(header: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let columns = header.matches('|').count() - 1;
    let mut text = format!("{header}\n{}|\n", "|---".repeat(columns));
    for row in rows {
        assert_eq!(row.len(), columns, "{row:?}");
        writeln!(text, "| {} |", row.join(" | ")).expect("a string takes any text");
    }
    text
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

/// Text for a cell.
fn cell(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace('|', "\\|").replace('<', "\\<")
}

// Commands and flags

/// One command that does something.
pub(super) struct CommandHelp {
    /// The words after the program's name; empty: the program itself.
    pub(super) words: Vec<String>,
    /// The first paragraph of the help.
    about: String,
    /// Arguments and options with their descriptions.
    parameters: Vec<(String, String)>,
}

impl CommandHelp {
    pub(super) fn flags(&self) -> impl Iterator<Item = &str> {
        let words = self.parameters.iter().flat_map(|(name, _)| name.split([' ', ',']));
        words.filter(|word| word.starts_with("--"))
    }
}

/// The program itself first, then every command, in the order of the help.
pub(super) fn commands(sandbox: &Sandbox) -> Vec<CommandHelp> {
    let mut found = Vec::new();
    add_commands(sandbox, &[], &mut found);
    found
}

fn add_commands(sandbox: &Sandbox, words: &[String], found: &mut Vec<CommandHelp>) {
    let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    arguments.push("-h");
    let output = sandbox.run(&arguments);
    assert_eq!(output.code, 0, "{words:?}: {output:#?}");
    let help = output.stdout;
    let usage = help.lines().find(|line| line.starts_with("Usage:")).expect("help has a usage");
    let is_group = usage.ends_with("<COMMAND>");
    if !is_group || words.is_empty() {
        let mut parameters = section(&help, "Arguments:");
        parameters.extend(section(&help, "Options:"));
        parameters.extend(section(&help, "Global options:"));
        let about: Vec<&str> = help.lines().take_while(|line| !line.is_empty()).collect();
        let about = about.join(" ");
        found.push(CommandHelp { words: words.to_vec(), about, parameters });
    }
    for (name, _) in section(&help, "Commands:") {
        if name != "help" {
            add_commands(sandbox, &[words, &[name]].concat(), found);
        }
    }
}

/// Names and descriptions of one part of a help text.
fn section(help: &str, title: &str) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = Vec::new();
    let lines = help.lines().skip_while(|line| *line != title).skip(1);
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        let text = line.trim_start();
        let is_continued = line.len() - text.len() > 8;
        match rows.last_mut() {
            Some((_, description)) if is_continued => {
                description.push(' ');
                description.push_str(text);
            }
            _ => {
                let (name, description) = text.split_once("  ").unwrap_or((text, ""));
                rows.push((name.to_owned(), description.trim().to_owned()));
            }
        }
    }
    rows
}

fn command_table(commands: &[CommandHelp]) -> String {
    let rows = commands.iter().filter(|command| !command.words.is_empty()).map(|command| {
        vec![code(&format!("moai-ralph {}", command.words.join(" "))), cell(&command.about)]
    });
    table("| command | effect |", rows)
}

fn flag_tables(commands: &[CommandHelp]) -> String {
    let (program, commands) = commands.split_first().expect("the program itself is the first");
    let shared: BTreeSet<&str> =
        program.parameters.iter().map(|(name, _)| name.as_str()).chain(["-h, --help"]).collect();
    let rows = |parameters: &[(String, String)]| -> Vec<Vec<String>> {
        parameters.iter().map(|(name, text)| vec![code(name), cell(text)]).collect()
    };
    let mut text = String::from("### Every command\n\n");
    text += &table("| flag | effect |", rows(&program.parameters));
    for command in commands {
        let is_own = |(name, _): &&(String, String)| !shared.contains(name.as_str());
        let own: Vec<_> = command.parameters.iter().filter(is_own).cloned().collect();
        if !own.is_empty() {
            write!(text, "\n### moai-ralph {}\n\n", command.words.join(" "))
                .expect("a string takes any text");
            text += &table("| argument or flag | effect |", rows(&own));
        }
    }
    text
}

// Options

pub(super) fn environment_variable(key: &str) -> String {
    format!("MOAI_RALPH_{}", key.replace('.', "_").to_uppercase())
}

fn option_table() -> String {
    let rows = option_rows().into_iter().map(|option| {
        let variable = environment_variable(&option.key);
        vec![code(&option.key), code(&option.default), cell(&option.comment), code(&variable)]
    });
    table("| key | default | effect | environment variable |", rows)
}

// Languages, servers and rules

struct Rule {
    id: String,
    severity: String,
    weaknesses: String,
    message: String,
    /// Languages of the catalogue.
    languages: BTreeSet<&'static str>,
}

fn rules() -> Vec<Rule> {
    let mut rules = Vec::new();
    for file in files_below(&Path::new(CHECKOUT).join("crates/scan/rules"), "yml") {
        let text = fs::read_to_string(&file).expect("a rule can be read");
        let name = file.display();
        let rule: Value =
            serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let text_of = |key: &str| rule[key].as_str().unwrap_or_default().to_owned();
        let weaknesses = rule["metadata"]["cwe"].as_array().into_iter().flatten();
        let weaknesses: Vec<&str> = weaknesses.filter_map(Value::as_str).collect();
        let languages = rule["languages"].as_array().unwrap_or_else(|| panic!("{name}"));
        let languages = languages.iter().filter_map(Value::as_str).map(catalogue_language);
        rules.push(Rule {
            id: text_of("id"),
            severity: text_of("severity"),
            weaknesses: weaknesses.join(", "),
            message: text_of("message"),
            languages: languages.collect(),
        });
    }
    rules.sort_by(|one, other| one.id.cmp(&other.id));
    rules
}

/// The language of the catalogue that a rule's language belongs to.
fn catalogue_language(word: &str) -> &'static str {
    let id = match word {
        "c" => "cpp",
        "javascript" | "tsx" => "typescript",
        other => other,
    };
    let mut ids = Catalogue::built_in().language_ids();
    ids.find(|known| *known == id).unwrap_or_else(|| panic!("no language {word}"))
}

fn rules_of<'a>(rules: &'a [Rule], language: &str) -> Vec<&'a Rule> {
    rules.iter().filter(|rule| rule.languages.contains(language)).collect()
}

/// Languages by name: programming languages first.
fn languages() -> Vec<(&'static str, &'static LanguageSpec)> {
    let mut languages: Vec<_> = Catalogue::built_in().languages().collect();
    languages.sort_by_key(|(_, language)| (language.auxiliary, language.name.to_lowercase()));
    languages
}

fn server_names(ids: &[String]) -> String {
    let name = |id: &String| {
        let spec = Catalogue::built_in().server(id).expect("the catalogue has no dangling server");
        if spec.verified { id.clone() } else { format!("{id} (not verified)") }
    };
    ids.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn language_table(rules: &[Rule]) -> String {
    let rows = languages().into_iter().map(|(id, language)| {
        let extensions: Vec<&str> = language.extensions.keys().map(String::as_str).collect();
        vec![
            language.name.clone(),
            code(id),
            extensions.join(" "),
            server_names(&language.servers),
            server_names(&language.companions),
            rules_of(rules, id).len().to_string(),
        ]
    });
    table("| language | id | extensions | servers, preferred first | companions | rules |", rows)
}

/// A dash where the scan has no rules for a language.
fn rule_count(rules: &[Rule], language: &str) -> String {
    match rules_of(rules, language).len() {
        0 => "–".to_owned(),
        count => count.to_string(),
    }
}

fn short_language_table(rules: &[Rule]) -> String {
    let rows = languages().into_iter().map(|(id, language)| {
        let mut servers = server_names(&language.servers);
        if !language.companions.is_empty() {
            servers = format!("{servers} + {}", server_names(&language.companions));
        }
        vec![language.name.clone(), servers, rule_count(rules, id)]
    });
    table("| language | language servers | structural rules |", rows)
}

/// Languages with the number of their rules, by whether one of their servers was verified.
fn korean_language_table(rules: &[Rule]) -> String {
    let names = |is_verified: bool| -> String {
        let is_server_verified =
            |id: &String| Catalogue::built_in().server(id).is_some_and(|spec| spec.verified);
        let selected = languages()
            .into_iter()
            .filter(|(_, language)| language.servers.iter().any(is_server_verified) == is_verified);
        let names: Vec<String> = selected
            .map(|(id, language)| format!("{} {}", language.name, rule_count(rules, id)))
            .collect();
        names.join(", ")
    };
    let rows = [("실제 프로젝트로 확인함", true), ("아직 확인하지 않음", false)];
    let rows = rows.map(|(title, is_verified)| vec![title.to_owned(), names(is_verified)]);
    table("| 언어 서버 | 언어와 내장 구조 규칙 수 |", rows)
}

fn server_table() -> String {
    let catalogue = Catalogue::built_in();
    let rows = catalogue.servers().map(|(id, spec)| {
        let speaks =
            |(language, _): &(&str, &LanguageSpec)| catalogue.serves_language(id, language);
        let names = catalogue.languages().filter(speaks).map(|(_, language)| language.name.clone());
        let names: Vec<String> = names.collect();
        assert!(!names.is_empty(), "{id} is a server of no language");
        let verified = if spec.verified { "yes" } else { "no" };
        let packages = spec.install.as_ref().map(packages).unwrap_or_default();
        vec![id.to_owned(), names.join(", "), packages, verified.to_owned()]
    });
    table("| server | languages | installed from | verified |", rows)
}

fn packages(install: &InstallSources) -> String {
    let sources = [
        ("npm", &install.npm),
        ("PyPI", &install.pip),
        ("rustup", &install.rustup),
        ("apt", &install.apt),
    ];
    let sources = sources.iter().filter(|(_, packages)| !packages.is_empty());
    let sources: Vec<String> =
        sources.map(|(source, packages)| format!("{source}: {}", packages.join(", "))).collect();
    match &install.hint {
        Some(hint) if sources.is_empty() => format!("by you: {hint}"),
        _ => sources.join("; "),
    }
}

fn rule_count_table(rules: &[Rule]) -> String {
    let rows = languages().into_iter().filter_map(|(id, language)| {
        let own = rules_of(rules, id);
        let count = |severity: &str| own.iter().filter(|rule| rule.severity == severity).count();
        let severities = ["error", "warning", "info", "hint"].map(count);
        assert_eq!(severities.iter().sum::<usize>(), own.len(), "{id}");
        let counts = [&[own.len()], &severities[..]].concat();
        let counts = counts.iter().map(ToString::to_string);
        (!own.is_empty()).then(|| std::iter::once(language.name.clone()).chain(counts).collect())
    });
    let header = "| language | rules | errors | warnings | infos | hints |";
    format!(
        "{}\n{} rules in all; one that applies to several languages counts in each.\n",
        table(header, rows),
        rules.len()
    )
}

fn rule_tables(rules: &[Rule]) -> String {
    let mut text = String::new();
    for (id, language) in languages() {
        let own = rules_of(rules, id);
        if own.is_empty() {
            continue;
        }
        let rows = own.iter().map(|rule| {
            vec![
                code(&rule.id),
                rule.severity.clone(),
                rule.weaknesses.clone(),
                cell(&rule.message),
            ]
        });
        let table = table("| rule | severity | weakness | message |", rows);
        write!(text, "## {}\n\n{table}\n", language.name).expect("a string takes any text");
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

// JSON documents and MCP tools

pub(super) fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("an entry can be read").path()) {
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Every schema that the sources name.
fn schemas() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut sources = files_below(&Path::new(CHECKOUT).join("src"), "rs");
    sources.extend(files_below(&Path::new(CHECKOUT).join("crates"), "rs"));
    for file in sources {
        let text = fs::read_to_string(&file).expect("a source can be read");
        for rest in text.split("moai-ralph/").skip(1) {
            let is_part =
                |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "-@".contains(it);
            let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
            let is_numbered = |(_, number): (&str, &str)| number.parse::<u32>().is_ok();
            if rest[..end].split_once('@').is_some_and(is_numbered) {
                found.insert(rest[..end].to_owned());
            }
        }
    }
    found
}

/// Fields of the documents in the snapshots, by schema.
fn snapshot_fields() -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files_below(&Path::new(CHECKOUT).join("tests/it/snapshots"), "snap") {
        let text = fs::read_to_string(&file).expect("a snapshot can be read");
        let body = text.splitn(3, "---\n").nth(2).unwrap_or_default();
        let Ok(Value::Object(document)) = serde_json::from_str(body) else { continue };
        let Some(schema) = document.get("schema").and_then(Value::as_str) else { continue };
        let schema = schema.trim_start_matches("moai-ralph/").to_owned();
        let fields = document.keys().filter(|key| *key != "schema").cloned();
        found.entry(schema).or_default().extend(fields);
    }
    found
}

fn schema_table() -> String {
    let printed: BTreeMap<&str, &str> = PRINTED_BY.into();
    let mut fields = snapshot_fields();
    let schemas = schemas();
    let names: BTreeSet<&str> =
        schemas.iter().filter_map(|schema| schema.split('@').next()).collect();
    assert_eq!(names, printed.keys().copied().collect(), "documents and PRINTED_BY differ");
    let rows = schemas.iter().map(|schema| {
        let name = schema.split('@').next().unwrap_or_default();
        let fields: Vec<String> =
            fields.remove(schema).unwrap_or_default().iter().map(|field| code(field)).collect();
        vec![code(&format!("moai-ralph/{schema}")), printed[name].to_owned(), fields.join(" ")]
    });
    table("| schema | printed by | fields |", rows)
}

fn tool_table(sandbox: &Sandbox) -> String {
    let mut client = Client::start(sandbox);
    let list = client.call("tools/list", &json!({}));
    client.end();
    let tools = list["result"]["tools"].as_array().expect("a list of tools").clone();
    let rows = tools.iter().map(|tool| {
        let text = |key: &str| tool[key].as_str().unwrap_or_default();
        let parameters = tool["inputSchema"]["properties"].as_object();
        let required: Vec<&str> = tool["inputSchema"]["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let parameter = |name: &String| {
            if required.contains(&name.as_str()) { format!("**`{name}`**") } else { code(name) }
        };
        let parameters: Vec<String> =
            parameters.into_iter().flat_map(|it| it.keys()).map(parameter).collect();
        vec![code(text("name")), cell(text("description")), parameters.join(" ")]
    });
    let header = "| tool | effect | parameters (required ones in bold) |";
    table(header, rows)
}

/// Every code of a guard detector that the sources name.
pub(super) fn detectors() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files_below(&Path::new(CHECKOUT).join("crates"), "rs") {
        let text = fs::read_to_string(&file).expect("a source can be read");
        for rest in text.split("\"G").skip(1) {
            let is_code = rest.len() > 2 && rest.as_bytes()[2] == b'"';
            let number = rest.get(..2).filter(|number| is_code && number.parse::<u8>().is_ok());
            found.extend(number.map(|number| format!("G{number}")));
        }
    }
    found
}
