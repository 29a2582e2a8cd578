//! The arguments of a slash command, as the user typed them. Options stand before or behind the
//! task; the task in between is kept byte for byte and never goes near a shell.

use super::start::Wish;
use super::state::Until;
use crate::base::limits::OPTION_CHARS_MAX;
use crate::base::text::one_line;

/// An option that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadOption {
    /// No such option.
    #[error(
        "unknown option {0}; write -- before the task to keep it as words; known: --max-iterations N, --completion-promise TEXT, --until diagnostics|checks|promise"
    )]
    Unknown(String),
    /// Its value is missing or no good.
    #[error("{0} {1}; to use the words as the task, write -- before the task")]
    Value(&'static str, &'static str),
}

const OPTIONS: [(&str, &str); 3] = [
    ("--max-iterations", "needs a number of at least 1"),
    ("--completion-promise", "needs a text, quoted when it has blanks"),
    ("--until", "needs diagnostics, checks or promise"),
];

/// Reads the arguments. Text that merely mentions an option stays text: a trailing option counts
/// only when nothing but options follow it. Everything behind a lone `--` is task.
pub fn parse(typed: &str) -> Result<Wish, BadOption> {
    let mut wish = Wish::default();
    let mut rest = typed.trim_start();
    while rest.starts_with("--") && !rest.starts_with("---") {
        let behind = &rest[2..];
        if behind.is_empty() || behind.starts_with(char::is_whitespace) {
            behind.trim_start().clone_into(&mut wish.prompt);
            return Ok(wish);
        }
        rest = take_option(rest, &mut wish)?.trim_start();
    }
    let (task, options) = split_trailing_options(rest);
    let mut options = options;
    while !options.is_empty() {
        options = take_option(options, &mut wish)?.trim_start();
    }
    task.trim_end().clone_into(&mut wish.prompt);
    Ok(wish)
}

/// Cuts where the last run of known options begins.
fn split_trailing_options(text: &str) -> (&str, &str) {
    let is_known = |at: usize| OPTIONS.iter().any(|(name, _)| is_option(&text[at..], name));
    let starts = text.match_indices("--").map(|(at, _)| at).filter(|at| {
        let stands_alone = *at == 0 || text[..*at].ends_with(char::is_whitespace);
        stands_alone && is_known(*at)
    });
    for at in starts {
        let mut probe = &text[at..];
        loop {
            match take_option(probe, &mut Wish::default()) {
                Ok(rest) if rest.trim_start().is_empty() => return text.split_at(at),
                // At the end, a bad value is an error to be told; before more text it is text.
                Err(BadOption::Value(..)) if probe.split_whitespace().count() <= 2 => {
                    return text.split_at(at);
                }
                Err(BadOption::Value(..)) if probe.contains(['"', '\'']) => {
                    return text.split_at(at);
                }
                Ok(rest) if rest.trim_start().starts_with("--") => probe = rest.trim_start(),
                Ok(_) | Err(_) => break,
            }
        }
    }
    (text, "")
}

fn is_option(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| {
        rest.is_empty() || rest.starts_with('=') || rest.starts_with(char::is_whitespace)
    })
}

/// Takes the option at the beginning of `text`; returns what follows it.
fn take_option<'t>(text: &'t str, wish: &mut Wish) -> Result<&'t str, BadOption> {
    let Some((name, need)) = OPTIONS.iter().find(|(name, _)| is_option(text, name)) else {
        let word = text.split_whitespace().next().unwrap_or_default();
        return Err(BadOption::Unknown(one_line(word, OPTION_CHARS_MAX)));
    };
    let bad = || BadOption::Value(name, need);
    let value = text[name.len()..].trim_start_matches('=').trim_start();
    let (value, rest) = take_value(value).ok_or_else(bad)?;
    match *name {
        "--max-iterations" => wish.max_iterations = Some(value.parse().map_err(|_| bad())?),
        "--completion-promise" => wish.promise = Some(value.to_owned()),
        _ => wish.until = Some(Until::from_word(value).ok_or_else(bad)?),
    }
    Ok(rest)
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

    fn check(typed: &str, prompt: &str, max: Option<u32>, promise: Option<&str>) {
        let wish = parse(typed).expect("good options");
        assert_eq!((wish.prompt.as_str(), wish.max_iterations), (prompt, max), "{typed:?}");
        assert_eq!(wish.promise.as_deref(), promise, "{typed:?}");
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
        check("document --no-daemon", "document --no-daemon", None, None);
        let task = "why does --max-iterations not work";
        check(task, task, None, None);
        check("-- --max-iterations 5", "--max-iterations 5", None, None);
        let wish = parse("--until checks go").expect("good");
        assert_eq!((wish.until, wish.prompt.as_str()), (Some(Until::Checks), "go"));
    }

    #[test]
    fn bad_options_are_told() {
        let bad = |typed: &str| parse(typed).expect_err("bad").to_string();
        assert!(bad("--frobnicate fix it").contains("--frobnicate"));
        assert!(bad("fix --max-iterations many").contains("--max-iterations needs"));
        assert!(bad("fix --max-iterations").contains("--max-iterations needs"));
        assert!(bad("fix --until never").contains("--until needs"));
        assert!(bad("fix --completion-promise \"open").contains("--completion-promise needs"));
    }
}
