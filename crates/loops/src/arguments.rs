//! The arguments of a slash command as the user typed them. Options may precede or follow the task;
//! the task is kept byte for byte and is never passed to a shell.

use super::control::NewLimits;
use super::options::{LoopStartOptions, OptionValue, START_OPTIONS};
use super::start::LoopRequest;
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    OPTION_CHARS_MAX, OPTION_PART_CHARS_MIN, OPTION_TYPOS_MAX, PATH_EXTENSION_CHARS_MAX,
};

/// An option that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoopOptionError {
    /// The option does not exist; the known option with the most similar name.
    #[error(
        "unknown option {0}{hint}; write -- before the task to keep it as words; known: {known}",
        hint = .1.map(|name| format!(": did you mean {name}?")).unwrap_or_default(),
        known = known_options()
    )]
    Unknown(String, Option<&'static str>),
    /// The path does not exist.
    #[error(
        "{0} is not a file or folder of this project, so nothing can be fixed there: name one that \
         is there, or write -- before the task to keep it as words"
    )]
    PathNotFound(String),
    /// Its value is missing or invalid.
    #[error("{0} {1}; if it belongs to the task, write -- before the task")]
    InvalidValue(&'static str, String),
    /// Resuming a loop accepts new limits only.
    #[error("only --max-iterations N, --max-minutes N and --max-tokens N can change")]
    NotALimit,
}

fn known_options() -> String {
    let shown = START_OPTIONS
        .iter()
        .map(|option| format!("{} {}", option.flag, option.syntax()).trim_end().to_owned());
    shown.collect::<Vec<_>>().join(", ")
}

/// Parses the arguments. Text that merely mentions an option remains text: a trailing option counts
/// only if nothing but options follows it. Everything after a lone `--` is the task.
pub fn parse_start(typed: &str) -> Result<LoopRequest, LoopOptionError> {
    read_arguments(typed).map(|read| read.request)
}

/// Parses the arguments of a loop that fixes existing findings: paths before the task limit it,
/// also after `only`. `find_path` resolves a word to a path relative to the root.
pub fn parse_fix(
    typed: &str,
    find_path: &dyn Fn(&str) -> Option<String>,
) -> Result<LoopRequest, LoopOptionError> {
    let ParsedArguments { mut request, is_verbatim } = read_arguments(typed)?;
    if is_verbatim {
        return Ok(request);
    }
    let mut rest = request.prompt.as_str();
    let mut is_limited_to_word = false;
    if let Some(("only", after)) = rest.split_once(char::is_whitespace) {
        rest = after.trim_start();
        is_limited_to_word = !rest.trim_end().contains(char::is_whitespace);
    }
    let mut paths = Vec::new();
    while let Some((word, after)) = take_value(rest) {
        match find_path(word) {
            Some(path) => paths.push(path),
            None if is_like_path(word) || is_limited_to_word => {
                return Err(LoopOptionError::PathNotFound(one_line(word, OPTION_CHARS_MAX)));
            }
            None => break,
        }
        rest = after.trim_start();
    }
    if !paths.is_empty() && rest.is_empty() {
        request.prompt = String::new();
    }
    request.paths = paths;
    Ok(request)
}

/// True if a word must be a path, because it has a folder or an extension.
fn is_like_path(word: &str) -> bool {
    let extension = word.rsplit_once('.').map(|(stem, extension)| (!stem.is_empty(), extension));
    let has_extension = extension.is_some_and(|(has_stem, extension)| {
        let is_short = (1..=PATH_EXTENSION_CHARS_MAX).contains(&extension.len());
        has_stem && is_short && extension.chars().all(|it| it.is_ascii_alphanumeric())
    });
    let has_folder = word.contains('/') && !word.contains("://");
    word.is_ascii() && (has_folder || has_extension)
}

/// Arguments, and whether the task followed a lone `--`.
struct ParsedArguments {
    request: LoopRequest,
    is_verbatim: bool,
}

fn read_arguments(typed: &str) -> Result<ParsedArguments, LoopOptionError> {
    let mut request = LoopRequest::default();
    let mut rest = typed.trim_start();
    while rest.starts_with("--") && !rest.starts_with("---") {
        let after = &rest[2..];
        if after.is_empty() || after.starts_with(char::is_whitespace) {
            after.trim_start().clone_into(&mut request.prompt);
            return Ok(ParsedArguments { request, is_verbatim: true });
        }
        rest = take_option(rest, &mut request.options)?.trim_start();
    }
    let (task, options) = split_trailing_options(rest);
    let mut options = options;
    while !options.is_empty() {
        options = take_option(options, &mut request.options)?.trim_start();
    }
    if let Some(unknown) = unknown_option(task) {
        return Err(unknown);
    }
    task.trim_end().clone_into(&mut request.prompt);
    Ok(ParsedArguments { request, is_verbatim: false })
}

/// A word of the task that was probably meant as an option: one similar to a known option, or any
/// option-like word at the end of the task. Code between backticks is ignored.
fn unknown_option(task: &str) -> Option<LoopOptionError> {
    let words: Vec<&str> = task.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        let Some(name) = option_name(word) else { continue };
        if START_OPTIONS.iter().any(|option| option.flag == name) {
            continue;
        }
        let near = nearest(name);
        let after = &words[at + 1..];
        let is_last = after.is_empty()
            || after.len() == 1
                && after.iter().all(|word| word.bytes().all(|it| it.is_ascii_digit()));
        if near.is_some() || is_last {
            return Some(LoopOptionError::Unknown(one_line(word, OPTION_CHARS_MAX), near));
        }
    }
    None
}

/// The name in a word shaped like an option: `--max-iteration=3`.
fn option_name(word: &str) -> Option<&str> {
    let name = word.split('=').next().unwrap_or(word);
    let letters = name.strip_prefix("--")?;
    let is_name = letters.starts_with(|it: char| it.is_ascii_lowercase())
        && letters.chars().all(|it| it.is_ascii_alphanumeric() || it == '-');
    is_name.then_some(name)
}

/// The known option that differs in one or two letters, or contains this name.
fn nearest(name: &str) -> Option<&'static str> {
    let letters = name.trim_start_matches('-');
    let is_part = |known: &str| letters.len() >= OPTION_PART_CHARS_MIN && known.contains(letters);
    let known = START_OPTIONS.map(|option| option.flag);
    let similar =
        known.into_iter().filter(|known| known.len().abs_diff(name.len()) <= OPTION_TYPOS_MAX);
    let distances = similar.map(|known| (edit_distance(name, known), known));
    if let Some((distance, best)) = distances.min_by_key(|(distance, _)| *distance)
        && distance <= OPTION_TYPOS_MAX
    {
        return Some(best);
    }
    known.into_iter().find(|known| is_part(known))
}

/// Edit distance: letters to add, remove or replace.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, letter) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (at, known) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *known);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[right.len()]
}

/// Parses the arguments of a resumed loop, which are new limits.
pub fn parse_raise(typed: &str) -> Result<NewLimits, LoopOptionError> {
    let request = parse_start(typed)?;
    let LoopStartOptions { max_iterations, max_minutes, max_tokens, .. } = request.options;
    let options =
        LoopStartOptions { max_iterations, max_minutes, max_tokens, ..LoopStartOptions::default() };
    let only = LoopRequest { options, ..LoopRequest::default() };
    if request != only {
        return Err(LoopOptionError::NotALimit);
    }
    Ok(NewLimits { max_iterations, max_minutes, max_tokens })
}

/// Splits the text before the final run of known options.
fn split_trailing_options(text: &str) -> (&str, &str) {
    let is_known =
        |at: usize| START_OPTIONS.iter().any(|option| is_option(&text[at..], option.flag));
    let starts = text.match_indices("--").map(|(at, _)| at).filter(|at| {
        let stands_alone = *at == 0 || text[..*at].ends_with(char::is_whitespace);
        stands_alone && is_known(*at)
    });
    let last_quote = text.rfind(['"', '\'']).unwrap_or(0);
    // Options that were tried are not tried again, or a long text full of them takes minutes.
    let mut tried_to = 0;
    for at in starts {
        if at < tried_to {
            continue;
        }
        let mut probe = &text[at..];
        loop {
            match take_option(probe, &mut LoopStartOptions::default()) {
                Ok(rest) if rest.trim_start().is_empty() => return text.split_at(at),
                // At the end, an invalid value is an error; before more text it is part of the
                // task.
                Err(LoopOptionError::InvalidValue(..))
                    if probe.split_whitespace().nth(2).is_none() =>
                {
                    return text.split_at(at);
                }
                Err(LoopOptionError::InvalidValue(..))
                    if text.len() - probe.len() <= last_quote && last_quote > 0 =>
                {
                    return text.split_at(at);
                }
                Ok(rest) if rest.trim_start().starts_with("--") => probe = rest.trim_start(),
                Ok(_) | Err(_) => break,
            }
        }
        tried_to = text.len() - probe.len() + 1;
    }
    (text, "")
}

fn is_option(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with('=') || rest.starts_with(char::is_whitespace)
    })
}

/// Parses the option at the beginning of `text`; returns the rest.
fn take_option<'t>(
    text: &'t str,
    options: &mut LoopStartOptions,
) -> Result<&'t str, LoopOptionError> {
    let Some(option) = START_OPTIONS.iter().find(|option| is_option(text, option.flag)) else {
        let word = text.split_whitespace().next().unwrap_or_default();
        let near = option_name(word).and_then(nearest);
        return Err(LoopOptionError::Unknown(one_line(word, OPTION_CHARS_MAX), near));
    };
    let after = &text[option.flag.len()..];
    let taken = match option.value {
        OptionValue::Flag if after.starts_with('=') => None,
        OptionValue::Flag => Some(("", after)),
        _ => take_value(after.trim_start_matches('=').trim_start()),
    };
    match taken {
        Some((value, rest)) if (option.assign)(options, value) => Ok(rest),
        _ => Err(LoopOptionError::InvalidValue(option.flag, option.need())),
    }
}

/// A quoted text without its quotes, or everything up to the next blank.
fn take_value(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
    if let Some(quote) = quote {
        return text[1..].split_once(quote);
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0 && !text.starts_with("--")).then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::BaselineMode;
    use crate::state::{Mode, UntilCondition};

    fn check(typed: &str, prompt: &str, max: Option<u32>, promise: Option<&str>) {
        let request = parse_start(typed).expect("good options");
        assert_eq!(
            (request.prompt.as_str(), request.options.max_iterations),
            (prompt, max),
            "{typed:?}"
        );
        assert_eq!(request.options.completion_promise.as_deref(), promise, "{typed:?}");
    }

    #[test]
    fn the_task_between_the_options_survives_byte_for_byte() {
        let task = "fix \"all\" $(touch x) `id` 한글\n---\r\n  두 번째 'line'; rm -rf /";
        check(task, task, None, None);
        check(&format!("{task} --max-iterations 5"), task, Some(5), None);
        check(&format!("--max-iterations=5 {task}"), task, Some(5), None);
        check(
            &format!("--completion-promise \"ALL DONE\" {task} --max-iterations 3"),
            task,
            Some(3),
            Some("ALL DONE"),
        );
        check("fix --completion-promise '다 됨' --max-iterations 2", "fix", Some(2), Some("다 됨"));
    }

    #[test]
    fn an_option_that_is_only_spoken_of_stays_text() {
        let task = "explain what --max-iterations 5 does in loops";
        check(task, task, None, None);
        check("-- document --no-daemon", "document --no-daemon", None, None);
        let task = "say what --verbose does in cargo";
        check(task, task, None, None);
        let task = "why does --max-iterations not work";
        check(task, task, None, None);
        check("-- --max-iterations 5", "--max-iterations 5", None, None);
        let request = parse_start("--until checks go").expect("good");
        assert_eq!(
            (request.options.until, request.prompt.as_str()),
            (Some(UntilCondition::Checks), "go")
        );
    }

    #[test]
    fn options_are_parsed_before_and_after_the_task() {
        let all = "--mode autonomous --milestone-every 2 --hitl-threshold=3 --max-minutes 60 \
                   --max-tokens 100000 --force-max --no-research --structured-memory \
                   --base-branch dev --workers 2 --baseline none";
        let expected = LoopRequest {
            prompt: "port it".into(),
            options: LoopStartOptions {
                mode: Some(Mode::Autonomous),
                milestone_every: Some(2),
                hitl_threshold: Some(3),
                max_minutes: Some(60),
                max_tokens: Some(100_000),
                force_max: Some(true),
                research: Some(false),
                structured_memory: Some(true),
                base_branch: Some("dev".into()),
                workers: Some(2),
                baseline: Some(BaselineMode::None),
                ..LoopStartOptions::default()
            },
            ..LoopRequest::default()
        };
        assert_eq!(parse_start(&format!("{all} port it")), Ok(expected.clone()));
        assert_eq!(parse_start(&format!("port it {all}")), Ok(expected));
        assert_eq!(
            parse_start("--research go").map(|request| request.options.research),
            Ok(Some(true))
        );
        let task = "say why --force-max and --mode judge do not mix";
        check(task, task, None, None);
    }

    #[test]
    fn resume_accepts_limits_only() {
        let raise =
            NewLimits { max_iterations: Some(9), max_tokens: Some(5), ..NewLimits::default() };
        assert_eq!(parse_raise("--max-iterations 9 --max-tokens 5"), Ok(raise));
        assert_eq!(parse_raise(" "), Ok(NewLimits::default()));
        assert_eq!(parse_raise("go on"), Err(LoopOptionError::NotALimit));
        assert_eq!(parse_raise("--mode judge"), Err(LoopOptionError::NotALimit));
    }

    #[test]
    fn an_unknown_option_is_never_part_of_the_task() {
        let near = |typed: &str| match parse_start(typed) {
            Err(LoopOptionError::Unknown(_, near)) => near,
            other => panic!("{typed}: {other:?}"),
        };
        assert_eq!(near("--max-iteration 3 fix it"), Some("--max-iterations"));
        assert_eq!(near("fix it --max-iteration 3"), Some("--max-iterations"));
        assert_eq!(near("fix it --max-iteration=3"), Some("--max-iterations"));
        assert_eq!(near("fix --max-iteration 3 it"), Some("--max-iterations"));
        assert_eq!(near("fix it --iterations 3"), Some("--max-iterations"));
        assert_eq!(near("fix it --promise DONE"), Some("--completion-promise"));
        assert_eq!(near("fix it --untill checks --mode judge"), Some("--until"));
        assert_eq!(near("fix it --frobnicate"), None);
        check("-- fix it --max-iteration 3", "fix it --max-iteration 3", None, None);
        let task = "explain `--max-iteration` -- and ---, too";
        check(task, task, None, None);
    }

    #[test]
    fn paths_before_the_task_limit_a_fix_loop() {
        let there =
            |word: &str| ["src/api", "a.py", "only"].contains(&word).then(|| word.to_owned());
        let fix =
            |typed: &str| parse_fix(typed, &there).map(|request| (request.paths, request.prompt));
        let read = |paths: &[&str], prompt: &str| {
            Ok((paths.iter().map(|path| (*path).to_owned()).collect(), prompt.to_owned()))
        };
        assert_eq!(fix("src/api"), read(&["src/api"], ""));
        assert_eq!(fix("only src/api"), read(&["src/api"], ""));
        assert_eq!(fix("'a.py' src/api --max-iterations 3"), read(&["a.py", "src/api"], ""));
        let words = "a.py the type errors alone";
        assert_eq!(fix(words), read(&["a.py"], words));
        let words = "only the type errors";
        assert_eq!(fix(words), read(&[], words));
        assert_eq!(fix("-- src/gone"), read(&[], "src/gone"));
        assert_eq!(fix("src/gone"), Err(LoopOptionError::PathNotFound("src/gone".into())));
        assert_eq!(fix("b.py"), Err(LoopOptionError::PathNotFound("b.py".into())));
        assert_eq!(fix("only srcc"), Err(LoopOptionError::PathNotFound("srcc".into())));
        assert_eq!(fix(""), read(&[], ""));
    }

    #[test]
    fn invalid_options_are_reported() {
        let bad = |typed: &str| parse_start(typed).expect_err("bad").to_string();
        assert!(bad("--frobnicate fix it").contains("--frobnicate"));
        assert!(bad("fix --max-iterations many").contains("--max-iterations needs"));
        assert!(bad("fix --max-iterations").contains("--max-iterations needs"));
        assert!(bad("fix --mode wild").contains("--mode needs"));
        assert!(bad("--force-max=2 fix").contains("--force-max takes no value"));
        assert!(bad("--frobnicate fix it").contains("--structured-memory"));
        assert!(bad("fix --until never").contains("--until needs clean"));
        assert!(bad("--baseline HEAD fix").contains("--baseline needs base or none"));
        assert!(bad("fix --completion-promise \"open").contains("--completion-promise needs"));
    }
}
