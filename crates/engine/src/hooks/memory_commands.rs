//! The slash commands of the memory: `mem-search`, `mem-inject`, `mem-forget` and `mem-status`. They
//! take the options of the commands with the same work, and answer with their text.

use crate::hooks::hook_call::HookCall;
use crate::memory;
use moai_base::limits::MEMORY_TOOL_HITS_MAX;
use moai_memory::ranking::ObservationKind;
use moai_protocol::control::{MemoryAddition, MemoryOperation, MemoryRequest, MemoryScope};
use moai_protocol::hook::HookOutput;
use moai_report::agent;

/// Prefix of the ids that the memory gives; imported observations have ids of their own.
const ID_PREFIX: &str = "obs-";

/// The answer to a slash command of the memory.
pub(crate) async fn handle(call: &HookCall<'_>, command: &str) -> HookOutput {
    let typed = call.input.command_args.trim();
    let action = match command {
        "mem-search" => search(typed),
        "mem-inject" => addition(typed),
        "mem-forget" => forget(typed),
        _ => TypedOptions::parse(typed).map(|it| MemoryOperation::Status { scope: it.scope }),
    };
    let action = match action {
        Ok(action) => action,
        Err(reason) => return HookOutput::Block(format!("[moai-ralph] {reason}")),
    };
    let request = MemoryRequest { action, json: false };
    let reply = memory::handle(call.engine, &call.caller, request).await;
    if reply.code != 0 && reply.stdout.is_empty() {
        let reason = reply.stderr.trim().trim_start_matches("moai-ralph: ");
        return HookOutput::Block(format!("[moai-ralph] {reason}"));
    }
    let notice = Some(reply.stderr.trim().to_owned()).filter(|notice| !notice.is_empty());
    HookOutput::Context(agent::join_contexts(&[format!("[moai-ralph] {}", reply.stdout.trim())]))
        .with_notice(notice)
}

fn search(typed: &str) -> Result<MemoryOperation, String> {
    let options = TypedOptions::parse(typed)?;
    if options.words.is_empty() {
        return Err("/mem-search takes what to look for: words, names, paths or codes".to_owned());
    }
    Ok(MemoryOperation::Search {
        query: options.words.join(" "),
        layer: 1,
        scope: options.scope,
        hits_max: MEMORY_TOOL_HITS_MAX,
        explain: false,
    })
}

/// The text is everything after a leading `--type TYPE`: it may contain words that look like options.
fn addition(typed: &str) -> Result<MemoryOperation, String> {
    let (kind, text) = match typed.strip_prefix("--type") {
        Some(rest) if rest.starts_with(['=', ' ']) => {
            let rest = rest[1..].trim_start();
            let (word, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            (known_kind(word)?, text.trim_start())
        }
        _ => (ObservationKind::Note, typed),
    };
    if text.is_empty() {
        return Err("/mem-inject takes the text to remember".to_owned());
    }
    Ok(MemoryOperation::Add(MemoryAddition {
        text: text.to_owned(),
        kind: kind.name().to_owned(),
        ..MemoryAddition::default()
    }))
}

fn known_kind(word: &str) -> Result<ObservationKind, String> {
    ObservationKind::from_name(word).ok_or_else(|| {
        let names = ObservationKind::ALL.map(ObservationKind::name);
        format!("unknown type; one of {}", names.join(", "))
    })
}

/// Ids are forgotten at once. Observations that a query or a filter selects are shown first, and forgotten
/// with `--apply`.
fn forget(typed: &str) -> Result<MemoryOperation, String> {
    let TypedOptions { words, scope, is_confirmed } = TypedOptions::parse(typed)?;
    let are_ids = !words.is_empty() && words.iter().all(|word| word.starts_with(ID_PREFIX));
    let query = (!are_ids && !words.is_empty()).then(|| words.join(" "));
    Ok(MemoryOperation::Forget {
        ids: if are_ids { words } else { Vec::new() },
        query,
        scope,
        apply: are_ids || is_confirmed,
    })
}

/// The arguments and options of a command, as typed by a person.
#[derive(Debug, Default, PartialEq, Eq)]
struct TypedOptions {
    words: Vec<String>,
    scope: MemoryScope,
    is_confirmed: bool,
}

impl TypedOptions {
    fn parse(typed: &str) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = typed.split_whitespace();
        while let Some(word) = words.next() {
            if !word.starts_with("--") {
                options.words.push(word.to_owned());
                continue;
            }
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            match name {
                "--all-projects" => options.scope.all_projects = true,
                "--apply" => options.is_confirmed = true,
                "--type" | "--since" | "--until" | "--path" | "--code" | "--worktree"
                | "--project" => {
                    let value = attached.or_else(|| words.next());
                    let value = value.ok_or_else(|| format!("{name} needs a value"))?;
                    set_condition(&mut options.scope, name, value);
                }
                _ => {
                    return Err(format!(
                        "unknown option {name}; known: --type, --since, --until, --path, --code, \
                     --worktree, --project, --all-projects, --apply"
                    ));
                }
            }
        }
        Ok(options)
    }
}

/// Sets a condition by the name of its option.
fn set_condition(scope: &mut MemoryScope, name: &str, value: &str) {
    let value = value.to_owned();
    match name {
        "--type" => scope.kinds.extend(value.split(',').map(str::to_owned)),
        "--since" => scope.since = Some(value),
        "--until" => scope.until = Some(value),
        "--path" => scope.path = Some(value),
        "--code" => scope.code = Some(value),
        "--worktree" => scope.worktree = Some(value),
        _ => scope.project = Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_options_are_told_apart() {
        let options =
            TypedOptions::parse("토큰 만료 --type fix,decision --path=src --all-projects");
        let expected = TypedOptions {
            words: vec!["토큰".to_owned(), "만료".to_owned()],
            scope: MemoryScope {
                kinds: vec!["fix".to_owned(), "decision".to_owned()],
                path: Some("src".to_owned()),
                all_projects: true,
                ..MemoryScope::default()
            },
            is_confirmed: false,
        };
        assert_eq!(options, Ok(expected));
        assert!(TypedOptions::parse("--since").is_err_and(|it| it.contains("needs a value")));
        assert!(TypedOptions::parse("--tpye fix").is_err_and(|it| it.contains("--type")));
    }

    #[test]
    fn a_note_may_begin_with_its_type_and_holds_anything_else() {
        let added = |typed: &str| match addition(typed) {
            Ok(MemoryOperation::Add(added)) => Ok((added.kind, added.text)),
            Ok(other) => panic!("{other:?}"),
            Err(reason) => Err(reason),
        };
        let of = |kind: &str, text: &str| Ok((kind.to_owned(), text.to_owned()));
        assert_eq!(
            added("--type decision 캐시는 쓰지 않는다"),
            of("decision", "캐시는 쓰지 않는다")
        );
        assert_eq!(added("--type=fix  run it\ntwice"), of("fix", "run it\ntwice"));
        assert_eq!(added("use --type decision"), of("note", "use --type decision"));
        assert_eq!(added("--types are odd"), of("note", "--types are odd"));
        assert!(added("--type whim x").is_err_and(|reason| reason.contains("decision")));
        assert!(added("--type note").is_err_and(|reason| reason.contains("the text")));
    }

    #[test]
    fn only_ids_are_forgotten_without_a_preview() {
        let applies = |typed: &str| match forget(typed) {
            Ok(MemoryOperation::Forget { apply, .. }) => apply,
            other => panic!("{other:?}"),
        };
        assert!(applies("obs-1 obs-2"));
        assert!(!applies("obs-1 and more"));
        assert!(!applies("the old token"));
        assert!(applies("the old token --apply"));
    }
}
