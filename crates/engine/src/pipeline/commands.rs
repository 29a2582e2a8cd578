//! The slash commands of pipelines, and the keyword in a prompt. Both come from the user: a hook reads the
//! text as it was typed.

use crate::hooks::hook_call::HookCall;
use crate::loops::loop_cancel;
use crate::pipeline::pipeline_call::PipelineCall;
use crate::pipeline::pipeline_start::PipelineStart;
use crate::pipeline::{
    person_answer, pipeline_approve, pipeline_report, pipeline_resume, pipeline_start, worktree_end,
};
use moai_host::store::loops::LoopQuery;
use moai_loops::framework::language_of;
use moai_pipeline::routing::{RoutedPipeline, routed_pipeline};
use moai_pipeline::state::PipelineKind;
use moai_protocol::control::CommandReply;
use moai_protocol::hook::HookOutput;
use moai_report::pipeline as words;
use moai_report::pipeline_end::ended;

/// Names of the commands, without a prefix; those of the second column are aliases.
const NAMES: [(&str, &str); 8] = [
    ("alfred", "uam"),
    ("moai-plan", "uam-plan"),
    ("moai-run", "uam-run"),
    ("moai-sync", "uam-compound"),
    ("pipeline-status", "uam-status"),
    ("pipeline-cancel", "uam-cancel"),
    ("pipeline-resume", "uam-resume"),
    ("pipeline-answer", "uam-answer"),
];
/// The commands for a small pipeline and for a fault.
const SMALL: &str = "uam-small";
const BUGFIX: &str = "uam-bugfix";

/// The answer to a slash command; `None` if it is not one of these.
pub(crate) async fn handle(call: &HookCall<'_>, name: &str) -> Option<HookOutput> {
    let known = NAMES.iter().find(|(own, alias)| name == *own || name == *alias);
    let own = match known {
        Some((own, _)) => *own,
        None if name == BUGFIX => BUGFIX,
        None if name == SMALL => SMALL,
        None => return None,
    };
    let pipeline = PipelineCall {
        engine: call.engine,
        caller: &call.caller,
        project: call.project.clone(),
        json: false,
    };
    let session = call.input.session_id.clone();
    if session.is_empty() {
        return Some(HookOutput::Block("[moai-ralph] the host named no session".to_owned()));
    }
    if matches!(own, "moai-run" | "pipeline-answer") && call.is_sent_by_agent() {
        let reason = "an agent cannot type a command of the user";
        return Some(HookOutput::Block(format!("[moai-ralph] {reason}")));
    }
    let typed = call.input.command_args.trim();
    let answered = match own {
        "alfred" | "moai-plan" => start(&pipeline, typed, PipelineKind::Full, session).await,
        SMALL => start(&pipeline, typed, PipelineKind::Small, session).await,
        BUGFIX => start(&pipeline, typed, PipelineKind::Bugfix, session).await,
        "moai-run" => Box::pin(pipeline_approve::approve_as_typed(&pipeline)).await,
        "pipeline-answer" => person_answer::answer_as_typed(&pipeline, typed).await,
        "pipeline-status" => pipeline_report::status(&pipeline, None).await,
        "moai-sync" => pipeline_report::report(&pipeline, None).await,
        "pipeline-cancel" => cancel(&pipeline).await,
        _ => {
            let is_by_agent = call.is_sent_by_agent();
            let resumed =
                pipeline_resume::resume(&pipeline, None, Some(session), None, is_by_agent);
            Box::pin(resumed).await
        }
    };
    Some(match answered {
        Ok(reply) => HookOutput::Context(with_mark(reply.stdout)),
        Err(reason) => HookOutput::Block(format!("[moai-ralph] {reason}")),
    })
}

/// A text for the agent begins with the mark of this program.
fn with_mark(text: String) -> String {
    if text.starts_with('[') { text } else { format!("[moai-ralph] {text}") }
}

async fn start(
    pipeline: &PipelineCall<'_>,
    typed: &str,
    kind: PipelineKind,
    session: String,
) -> Result<CommandReply, String> {
    let request = parse_start(typed, kind)?;
    let state =
        pipeline_start::begin(pipeline.engine, &pipeline.project, request, Some(&session)).await?;
    pipeline.reply(&state, words::instructions(&state)).await
}

/// Options before the goal, each at most once; the rest is the goal, byte for byte.
fn parse_start(typed: &str, kind: PipelineKind) -> Result<PipelineStart, String> {
    let mut request = PipelineStart::new(kind, String::new());
    let mut given: Vec<&str> = Vec::new();
    let mut rest = typed;
    loop {
        let (option, after) = next_word(rest);
        if option == "--" {
            rest = after;
            break;
        }
        if !option.starts_with("--") {
            break;
        }
        if given.contains(&option) {
            return Err(words::option_given_twice(option));
        }
        given.push(option);
        if option == "--solo" {
            request.solo = true;
            rest = after;
            continue;
        }
        let (value, after) = next_word(after);
        rest = after;
        match option {
            "--kind" => {
                let known = PipelineKind::from_name(value);
                request.kind = known.ok_or_else(|| "--kind is full, small or bugfix".to_owned())?;
            }
            "--workers" => {
                let number = value.parse().ok().filter(|workers| *workers > 0);
                request.workers = Some(number.ok_or_else(|| pipeline_start::workers_range(value))?);
            }
            "--max-tokens" => {
                let tokens = value.parse().ok().filter(|tokens| *tokens > 0);
                let tokens = tokens.ok_or_else(|| "--max-tokens is a number".to_owned())?;
                request.max_tokens = Some(tokens);
            }
            _ => {
                let known = "--kind full|small|bugfix, --solo, --workers N and --max-tokens N";
                return Err(format!("the options are {known}"));
            }
        }
    }
    rest.clone_into(&mut request.goal);
    Ok(request)
}

/// The first word of a text, and the rest.
fn next_word(text: &str) -> (&str, &str) {
    let (word, after) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, after.trim_start())
}

async fn cancel(pipeline: &PipelineCall<'_>) -> Result<CommandReply, String> {
    let state = pipeline.require(None).await?;
    if !state.is_active() {
        return pipeline.reply(&state, ended(&state)).await;
    }
    let which = LoopQuery::Id(state.loop_id.clone());
    let cancelled = loop_cancel::cancel_loop(pipeline.engine, &pipeline.project, which).await;
    cancelled.map_err(|error| error.to_string())?;
    let state = pipeline.require(Some(state.id)).await?;
    let text = worktree_end::cancelled_text(pipeline.engine, &pipeline.project, &state).await;
    pipeline.reply(&state, text).await
}

/// Starts the pipeline that the keyword of a prompt asks for; the text is for the agent.
pub(crate) async fn start_by_keyword(call: &HookCall<'_>) -> Option<String> {
    let prompt = &call.input.prompt;
    let kind = match routed_pipeline(prompt)? {
        RoutedPipeline::Full => PipelineKind::Full,
        RoutedPipeline::Small => PipelineKind::Small,
        RoutedPipeline::Bugfix => PipelineKind::Bugfix,
    };
    if call.input.agent_id.is_some() || call.input.session_id.is_empty() {
        return None;
    }
    let request = PipelineStart::new(kind, prompt.clone());
    let session = Some(call.input.session_id.as_str());
    Some(match pipeline_start::begin(call.engine, &call.project, request, session).await {
        Ok(state) => words::instructions(&state),
        Err(reason) => words::not_started(language_of(prompt), &reason),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_before_the_goal_and_the_goal_is_kept_as_typed() {
        let parsed = parse_start("--kind bugfix --solo fix  \"it\" --kind x", PipelineKind::Small);
        let parsed = parsed.expect("parsable");
        assert_eq!((parsed.kind, parsed.solo), (PipelineKind::Bugfix, true));
        assert_eq!(parsed.goal, "fix  \"it\" --kind x");
        let limited = parse_start("--max-tokens 5000 x", PipelineKind::Small).expect("parsable");
        assert_eq!((limited.max_tokens, limited.goal.as_str()), (Some(5_000), "x"));
        let parallel = parse_start("--workers 2 x", PipelineKind::Full).expect("parsable");
        assert_eq!((parallel.workers, parallel.goal.as_str()), (Some(2), "x"));
        let plain = parse_start("-- --help me", PipelineKind::Small).expect("parsable");
        assert_eq!(plain.goal, "--help me");
        let wrong = [
            ("--kind other x", "full, small or bugfix"),
            ("--unknown x", "the options are"),
            ("--max-tokens many x", "is a number"),
            ("--workers 0 x", "between 1 and 8, not \"0\""),
            ("--workers x", "not \"x\""),
            ("--workers 2 --workers 3 x", "--workers was given twice"),
            ("--solo --solo x", "--solo was given twice"),
        ];
        for (typed, reason) in wrong {
            let refused = parse_start(typed, PipelineKind::Small).err().unwrap_or_default();
            assert!(refused.contains(reason), "{typed}: {refused}");
        }
    }
}
