//! The `claude` program as a judge: headless, one turn, without tools, hooks, plugins, MCP servers
//! and memory, in an empty folder, without a session file. The user's settings and environment
//! stay, because they contain the login: a key, a helper program or a subscription. Safe options
//! were tested with version 2.1.330; supported ones are read from its help.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::process::{ProgramQuestion, ask_program};
use super::{CallerEnv, ModelRequest, ModelResponse};
use moai_base::foreign_text::one_line;
use moai_base::limits::{JUDGE_FAULT_CHARS_MAX, JUDGE_HELP_MS_MAX};
use moai_base::verdict::{Cause, Gap};

/// Without these options a judge could act, be influenced, or leave traces.
const REQUIRED_OPTIONS: [&str; 5] =
    ["--no-session-persistence", "--output-format", "--print", "--settings", "--tools"];

/// The options that a version supports.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownOptions(BTreeSet<String>);

/// Options of one call.
pub(super) struct ClaudeOptions<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) budget_cents: u64,
}

/// Reads the program's options from its help.
pub(super) async fn read_known_options(
    program: &Path,
    env: &CallerEnv,
) -> Result<KnownOptions, Gap> {
    let help = ProgramQuestion {
        program: program.to_path_buf(),
        args: vec!["--help".to_owned()],
        input: String::new(),
        timeout: Duration::from_millis(JUDGE_HELP_MS_MAX),
    };
    let install = "npm install -g @anthropic-ai/claude-code";
    let ended = ask_program(help, env).await.map_err(|gap| match gap.cause {
        Cause::NotInstalled => gap.with_remedy(install),
        _ => gap,
    })?;
    let known = KnownOptions::read(&ended.stdout);
    match REQUIRED_OPTIONS.iter().find(|option| !known.has(option)) {
        None => Ok(known),
        Some(missing) => {
            let detail = format!("{} does not know the option {missing}", program.display());
            Err(Gap::new(Cause::NotInstalled, detail).with_remedy(install))
        }
    }
}

impl KnownOptions {
    fn read(help: &str) -> Self {
        let words =
            help.split(|it: char| it.is_whitespace() || matches!(it, ',' | '=' | '[' | '<'));
        Self(words.filter(|word| word.starts_with("--")).map(str::to_owned).collect())
    }

    fn has(&self, option: &str) -> bool {
        self.0.contains(option)
    }

    /// Arguments of one call; the question is passed on stdin.
    fn args(&self, system: &str, options: &ClaudeOptions<'_>) -> Vec<String> {
        let budget = format!("{}.{:02}", options.budget_cents / 100, options.budget_cents % 100);
        let mut args: Vec<String> = [
            "--print",
            "--output-format",
            "json",
            "--tools",
            "",
            "--no-session-persistence",
            "--settings",
            r#"{"disableAllHooks":true}"#,
            // The help does not list this one.
            "--max-turns",
            "1",
        ]
        .map(str::to_owned)
        .to_vec();
        let optional: [(&str, Option<&str>); 7] = [
            ("--safe-mode", None),
            ("--strict-mcp-config", None),
            ("--disable-slash-commands", None),
            ("--setting-sources", Some("user")),
            ("--max-budget-usd", Some(&budget)),
            ("--system-prompt", Some(system)),
            ("--model", options.model),
        ];
        for (option, value) in optional.into_iter().filter(|(option, _)| self.has(option)) {
            if option == "--model" && value.is_none() {
                continue;
            }
            args.push(option.to_owned());
            args.extend(value.map(str::to_owned));
        }
        args
    }
}

pub(super) async fn ask_claude(
    program: &Path,
    known: &KnownOptions,
    options: &ClaudeOptions<'_>,
    question: ModelRequest,
    env: &CallerEnv,
) -> Result<ModelResponse, Gap> {
    let args = known.args(&question.system, options);
    let input = if known.has("--system-prompt") {
        question.user
    } else {
        format!("{}\n\n{}", question.system, question.user)
    };
    let program = program.to_path_buf();
    let ended =
        ask_program(ProgramQuestion { program, args, input, timeout: question.timeout }, env)
            .await?;
    match serde_json::from_str(&ended.stdout) {
        Ok(document) => parse_response(&document),
        Err(_) => Err(Gap::new(Cause::Crashed, format!("the claude program: {}", ended.fault()))),
    }
}

/// Parses the result document of `--output-format json`.
fn parse_response(document: &Value) -> Result<ModelResponse, Gap> {
    let word = |key: &str| document[key].as_str().unwrap_or_default();
    let text = word("result");
    if document["is_error"] == true || word("subtype") != "success" {
        let what = if text.is_empty() { word("subtype") } else { text };
        let detail =
            format!("the claude program failed: {}", one_line(what, JUDGE_FAULT_CHARS_MAX));
        // Its message for a missing login, as of 2.1.330.
        return Err(if text.contains("/login") {
            Gap::new(Cause::Refused, detail)
        } else {
            Gap::new(Cause::Crashed, detail)
        });
    }
    if word("stop_reason") == "max_tokens" {
        return Err(Gap::new(Cause::Crashed, "the answer was cut off"));
    }
    let model = document["modelUsage"].as_object().and_then(|usage| usage.keys().next().cloned());
    Ok(ModelResponse {
        text: text.to_owned(),
        model,
        cost_usd: document["total_cost_usd"].as_f64(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HELP: &str = "Options:\n  --max-budget-usd <amount>  most\n  --model <model>\n\
        -p, --print\n  --no-session-persistence\n  --output-format <f>\n  --settings <s>\n\
        --tools <tools...>\n  --safe-mode\n  --system-prompt <p>\n";

    #[test]
    fn a_version_is_given_what_it_knows() {
        let known = KnownOptions::read(HELP);
        let options = ClaudeOptions { model: Some("m"), budget_cents: 105 };
        let args = known.args("be strict", &options).join(" ");
        let tools = args.split("--tools ").nth(1).expect("tools are named");
        assert!(tools.starts_with(" --no-session-persistence"), "none: {args}");
        assert!(
            args.contains("--safe-mode --max-budget-usd 1.05 --system-prompt be strict --model m")
        );
        assert!(!args.contains("--strict-mcp-config"));
        let args = known.args("s", &ClaudeOptions { model: None, budget_cents: 1 }).join(" ");
        assert!(args.contains("--max-budget-usd 0.01") && !args.contains("--model"), "{args}");
    }

    #[test]
    fn only_a_whole_and_successful_answer_is_one() {
        let good = json!({"subtype": "success", "is_error": false, "result": "{}", "stop_reason": "end_turn",
            "total_cost_usd": 0.5, "modelUsage": {"m-1": {}}});
        let said_ = parse_response(&good).expect("an answer");
        assert_eq!(
            (said_.text.as_str(), said_.model.as_deref(), said_.cost_usd),
            ("{}", Some("m-1"), Some(0.5))
        );
        let check = |key: &str, value: Value, cause: Cause| {
            let mut document = good.clone();
            document[key] = value;
            if cause == Cause::Refused {
                document["result"] = json!("Not logged in · Please run /login");
            }
            assert_eq!(
                parse_response(&document).map_err(|gap| gap.cause),
                Err(cause),
                "{document}"
            );
        };
        check("is_error", json!(true), Cause::Refused);
        check("subtype", json!("error_max_turns"), Cause::Crashed);
        check("stop_reason", json!("max_tokens"), Cause::Crashed);
        assert!(parse_response(&json!([])).is_err());
    }
}
