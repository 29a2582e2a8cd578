//! Parses texts within a bound on processor time, because some texts take a grammar minutes.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::time::Duration;

use ast_grep_core::AstGrep;
use ast_grep_core::tree_sitter::LanguageExt as _;
use rustix::time::{ClockId, clock_gettime};
use tree_sitter::{ParseOptions, Parser, Tree};

use super::EngineDocument;
use super::grammar::Grammar;
use crate::language::ScanLanguage;
use moai_base::hash::ContentHash;
use moai_base::limits::{
    MATCH_CPU_MS_MAX, PARSE_CPU_MS_MIN, PARSE_CPU_MS_PER_KIB, RULES_CPU_MS_MAX, SLOW_TEXTS_MAX,
};

/// The reason why there is no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParseFailure {
    /// The parser refused the grammar.
    NoTree,
    /// The text took more processor time than a text of its size may.
    TooSlow,
}

thread_local! {
    /// One parser for each language and thread, because a new one rebuilds its tables.
    static PARSERS: RefCell<HashMap<ScanLanguage, Parser>> = RefCell::new(HashMap::new());
    /// Texts that were too slow, the oldest first, so that each costs its bound only once.
    static SLOW_TEXTS: RefCell<VecDeque<SlowText>> = const { RefCell::new(VecDeque::new()) };
}

/// A text that was too slow for a language's parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlowText {
    language: ScanLanguage,
    hash: ContentHash,
}

/// Parses a text of a language.
pub(super) fn parse_bounded(
    language: ScanLanguage,
    text: &str,
) -> Result<AstGrep<EngineDocument>, ParseFailure> {
    if is_known_slow(language, text) {
        return Err(ParseFailure::TooSlow);
    }
    let grammar = Grammar::from(language);
    let tree = PARSERS.with_borrow_mut(|parsers| {
        let parser = parsers.entry(language).or_default();
        if parser.language().is_none() && parser.set_language(&grammar.get_ts_language()).is_err() {
            return Err(ParseFailure::NoTree);
        }
        parser.reset();
        parse_within(parser, text).ok_or(ParseFailure::TooSlow)
    });
    if matches!(tree, Err(ParseFailure::TooSlow)) {
        remember_slow(SlowText { language, hash: ContentHash::of_bytes(text.as_bytes()) });
    }
    let document = EngineDocument { src: text.to_owned(), lang: grammar, tree: tree? };
    Ok(AstGrep::doc(document))
}

fn parse_within(parser: &mut Parser, text: &str) -> Option<Tree> {
    let kib = u64::try_from(text.len() / 1_024).unwrap_or(u64::MAX);
    let bound_ms = PARSE_CPU_MS_MIN.saturating_add(kib.saturating_mul(PARSE_CPU_MS_PER_KIB));
    let bound = CpuBound::starting_now(Duration::from_millis(bound_ms));
    let mut stop_when_slow = |_: &tree_sitter::ParseState| {
        if bound.is_exceeded() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut stop_when_slow);
    let bytes = text.as_bytes();
    let mut read = |offset: usize, _| bytes.get(offset..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options))?;
    // The end of a parse cannot be cancelled; parsing the text again would take as long.
    (!bound.is_exceeded()).then_some(tree)
}

/// A bound on the processor time of the present thread, which other work on the machine does not
/// use up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuBound {
    started_at: Duration,
    cpu_at_start: Duration,
    bound: Duration,
}

impl CpuBound {
    fn starting_now(bound: Duration) -> Self {
        let (started_at, cpu_at_start) = (coarse_time(), thread_cpu_time());
        Self { started_at, cpu_at_start, bound }
    }

    /// The bound of matching all rules in one text.
    pub(crate) fn for_matching() -> Self {
        Self::starting_now(Duration::from_millis(MATCH_CPU_MS_MAX))
    }

    /// The bound of compiling all rules of a project.
    pub(crate) fn for_rules() -> Self {
        Self::starting_now(Duration::from_millis(RULES_CPU_MS_MAX))
    }

    /// The processor time is read only after as much wall time has passed, because reading it takes
    /// a system call.
    pub(crate) fn is_exceeded(&self) -> bool {
        coarse_time().saturating_sub(self.started_at) > self.bound
            && thread_cpu_time().saturating_sub(self.cpu_at_start) > self.bound
    }
}

/// The monotonic clock at the kernel's tick, the cheapest to read.
fn coarse_time() -> Duration {
    clock_time(ClockId::MonotonicCoarse)
}

fn thread_cpu_time() -> Duration {
    clock_time(ClockId::ThreadCPUTime)
}

fn clock_time(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or_default())
}

fn is_known_slow(language: ScanLanguage, text: &str) -> bool {
    SLOW_TEXTS.with_borrow(|slow| {
        let hash = || ContentHash::of_bytes(text.as_bytes());
        !slow.is_empty() && slow.contains(&SlowText { language, hash: hash() })
    })
}

fn remember_slow(text: SlowText) {
    SLOW_TEXTS.with_borrow_mut(|slow| {
        if slow.len() >= SLOW_TEXTS_MAX {
            slow.pop_front();
        }
        slow.push_back(text);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that take their grammars between ten seconds and several minutes.
    #[test]
    fn a_text_that_keeps_the_parser_busy_is_given_up_and_remembered() {
        let hostile = [
            (ScanLanguage::Python, "\\\n".repeat(40_000)),
            (ScanLanguage::Html, "<!--".repeat(62_500)),
            (ScanLanguage::Rust, "r#\"".repeat(83_000)),
            (ScanLanguage::Bash, "<<A\n".repeat(62_500)),
            (ScanLanguage::Swift, "/*".repeat(125_000)),
        ];
        for (language, text) in hostile {
            for _ in 0..2 {
                let failure = parse_bounded(language, &text).err();
                assert_eq!(failure, Some(ParseFailure::TooSlow), "{language:?}");
            }
            assert!(is_known_slow(language, &text), "{language:?}");
            assert!(parse_bounded(language, "").is_ok(), "{language:?}");
        }
    }

    #[test]
    fn an_ordinary_text_is_within_the_bound() {
        let text = "def half(number):\n    return number / 2\n\n".repeat(20_000);
        assert!(parse_bounded(ScanLanguage::Python, &text).is_ok());
    }
}
