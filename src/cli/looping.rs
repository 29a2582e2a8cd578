//! `loop …`: converts arguments to requests.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use super::args::CliArgs;
use super::args::looping::{
    AdoptArgs, ForgetArgs, LoopCommand, LoopSelectArgs, LoopStartArgs, RefreezeArgs, RestoreArgs,
};
use super::{INVALID, REFUSED, client, trust};
use moai_base::limits::PROMPT_BYTES_MAX;
use moai_host::files;
use moai_protocol::control::{
    CommandReply, DaemonRequest, LoopAdoptRequest, LoopHistoryRequest, LoopRefreezeRequest,
    LoopRestoreRequest, LoopResumeRequest, LoopSelector, LoopStartRequest,
};

pub(super) fn run(args: &CliArgs, command: &LoopCommand) -> CommandReply {
    let select = |select: &LoopSelectArgs| LoopSelector {
        id: select.id.clone(),
        session: select.session.clone(),
        json: args.json,
    };
    let request = match command {
        LoopCommand::Start(start) => match start_request(start, args.json) {
            Ok(start) => {
                trust::ask_at_terminal(args, false);
                DaemonRequest::LoopStart(start)
            }
            Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
        },
        LoopCommand::Status(which) => DaemonRequest::LoopStatus(select(which)),
        LoopCommand::Cancel(which) => DaemonRequest::LoopCancel(select(which)),
        LoopCommand::Pause(which) => DaemonRequest::LoopPause(select(which)),
        LoopCommand::Resume(arguments) => DaemonRequest::LoopResume(LoopResumeRequest {
            select: select(&arguments.select),
            max_iterations: arguments.max_iterations,
            max_minutes: arguments.max_minutes,
            max_tokens: arguments.max_tokens,
        }),
        LoopCommand::History(arguments) => DaemonRequest::LoopHistory(LoopHistoryRequest {
            select: select(&arguments.select),
            all: arguments.all,
        }),
        LoopCommand::Report(which) => DaemonRequest::LoopReport(select(which)),
        LoopCommand::Restore(RestoreArgs { id, to, apply }) => {
            let (id, to, apply) = (id.clone(), to.clone(), *apply);
            DaemonRequest::LoopRestore(LoopRestoreRequest { id, to, apply, json: args.json })
        }
        LoopCommand::Checks(arguments) => {
            DaemonRequest::LoopChecks { select: select(&arguments.select), list: arguments.list }
        }
        LoopCommand::Adopt(AdoptArgs { id, session }) => {
            let (id, session) = (id.clone(), session.clone());
            let select = LoopSelector { id, session, json: args.json };
            DaemonRequest::LoopAdopt(LoopAdoptRequest { select })
        }
        LoopCommand::Forget(ForgetArgs { id }) => DaemonRequest::LoopForget(LoopSelector {
            id: Some(id.clone()),
            session: None,
            json: args.json,
        }),
        LoopCommand::Refreeze(_) if !std::io::stdin().is_terminal() => {
            let text = "moai-ralph: loop refreeze is for a person: stdin is not a terminal";
            return CommandReply::failure(REFUSED, text);
        }
        LoopCommand::Refreeze(arguments) => return refreeze(args, arguments),
    };
    client::send_request(args.root.as_deref(), request, false)
}

/// Asks twice: the daemon shows a code at the terminal, and the second call repeats it.
fn refreeze(args: &CliArgs, arguments: &RefreezeArgs) -> CommandReply {
    let LoopSelectArgs { id, session } = arguments.select.clone();
    let select = LoopSelector { id, session, json: args.json };
    let mut request = LoopRefreezeRequest { select, now: arguments.now, code: None };
    let call = DaemonRequest::LoopRefreeze(request.clone());
    let asked = client::send_request(args.root.as_deref(), call, false);
    if !asked.needs_code {
        return asked;
    }
    let mut typed = String::new();
    // If the terminal is closed, the input is empty, which is not a valid code.
    let _ = std::io::stdin().read_line(&mut typed);
    request.code = Some(typed.trim().to_owned());
    client::send_request(args.root.as_deref(), DaemonRequest::LoopRefreeze(request), false)
}

fn start_request(start: &LoopStartArgs, json: bool) -> Result<LoopStartRequest, String> {
    Ok(LoopStartRequest {
        session: start.session.clone(),
        prompt: read_prompt(start.prompt.as_deref(), start.prompt_file.as_deref())?,
        options: start.flags.options.clone(),
        json,
        call: String::new(),
    })
}

/// The task text from the command line, a file, or stdin (`-`).
fn read_prompt(text: Option<&str>, file: Option<&Path>) -> Result<String, String> {
    let Some(file) = file else { return Ok(text.unwrap_or_default().to_owned()) };
    let mut bytes = Vec::new();
    // One byte more than allowed, so that an oversized task is detected instead of cut.
    let bound = PROMPT_BYTES_MAX as u64 + 1;
    let read = if file == Path::new("-") {
        std::io::stdin().take(bound).read_to_end(&mut bytes)
    } else {
        files::open_input(file).and_then(|open| open.take(bound).read_to_end(&mut bytes))
    };
    read.map_err(|error| format!("--prompt-file {}: {error}", file.display()))?;
    String::from_utf8(bytes)
        .map_err(|_| format!("--prompt-file {}: the task is not UTF-8", file.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use clap::Parser as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::args::CliCommand;
    use crate::mcp::tools;
    use moai_config::Config;
    use moai_loops::arguments::parse_start;
    use moai_loops::options::{LoopStartOptions, OptionValue, START_OPTIONS, StartOption};
    use moai_lsp::registry::Catalogue;

    /// A valid value, as the user types it.
    fn sample(option: &StartOption) -> &'static str {
        match option.value {
            OptionValue::Flag => "",
            OptionValue::Count | OptionValue::LargeCount => "7",
            OptionValue::Text { .. } => "DONE",
            OptionValue::Choice { choices, .. } => choices.last().expect("a choice").0,
        }
    }

    fn from_command_line(typed: &[&str]) -> LoopStartOptions {
        let start = ["moai-ralph", "loop", "start", "--prompt", "fix it"];
        let arguments = CliArgs::try_parse_from(start.iter().chain(typed)).expect("parsable");
        match arguments.command {
            CliCommand::Loop(LoopCommand::Start(start)) => {
                start_request(&start, false).expect("a request").options
            }
            other => panic!("{other:?}"),
        }
    }

    fn from_tool(arguments: &Value) -> Result<LoopStartOptions, String> {
        let tool = tools::all().iter().find(|tool| tool.name == "loop_start").expect("listed");
        match (tool.request)(arguments.clone())? {
            DaemonRequest::LoopStart(start) => Ok(start.options),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_option_of_a_loop_reaches_all_front_doors() {
        let unset = serde_json::to_value(LoopStartOptions::default()).expect("serializable");
        let fields: BTreeSet<&str> =
            unset.as_object().expect("an object").keys().map(String::as_str).collect();
        let listed: BTreeSet<&str> = START_OPTIONS.iter().map(|option| option.field).collect();
        assert_eq!(fields, listed, "each field needs a row in START_OPTIONS");

        for option in &START_OPTIONS {
            let text = sample(option);
            let mut expected = LoopStartOptions::default();
            assert!((option.assign)(&mut expected, text), "{} {text}", option.flag);
            let value = serde_json::to_value(&expected).expect("serializable");
            for (field, value) in value.as_object().expect("an object") {
                assert_eq!(!value.is_null(), field == option.field, "{} sets {field}", option.flag);
            }

            let flag = [option.flag, text];
            let typed = if text.is_empty() { &flag[..1] } else { &flag[..] };
            assert_eq!(from_command_line(typed), expected, "{}", option.flag);
            let slash = parse_start(&format!("fix it {}", typed.join(" "))).expect("parsable");
            assert_eq!(slash.options, expected, "{}", option.flag);

            let argument = json!({"prompt": "fix it", option.field: value[option.field].clone()});
            if option.tool_help.is_some() {
                assert_eq!(from_tool(&argument), Ok(expected.clone()), "{argument}");
            } else {
                let refused = from_tool(&argument).expect_err("not for agents");
                assert!(refused.contains(option.field), "{refused}");
            }
            if let Some(key) = option.config_key {
                let variable = format!("MOAI_RALPH_{}", key.replace('.', "_").to_uppercase());
                let environment = BTreeMap::from([(variable, text.to_owned())]);
                let config = Config::load(&[], &environment, Catalogue::built_in()).expect(key);
                let expected = expected.or(&Config::default().loop_defaults);
                assert_eq!(config.loop_defaults, expected, "{key}");
            }
        }
    }

    #[test]
    fn every_choice_of_a_loop_option_is_accepted() {
        for option in &START_OPTIONS {
            let OptionValue::Choice { choices, .. } = option.value else { continue };
            for (name, _) in choices {
                let mut options = LoopStartOptions::default();
                assert!((option.assign)(&mut options, name), "{} {name}", option.flag);
            }
            let mut options = LoopStartOptions::default();
            assert!(!(option.assign)(&mut options, "other"), "{}", option.flag);
        }
    }
}
