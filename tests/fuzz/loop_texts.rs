//! Texts of people, agents, models and test runners that a loop reads.

use moai_base::foreign_text::is_hidden;
use moai_base::path::RelPath;
use moai_guard::run_files::{files_of_program, files_of_shell_text};
use moai_loops::align::{blocking_questions, parse_alignment, render};
use moai_loops::arguments::{parse_fix, parse_raise, parse_start};
use moai_loops::criteria::command_line::split_command_line;
use moai_loops::criteria::counts::TestCounter;
use moai_loops::criteria::error_lines::is_error_line;
use moai_loops::exam::makefiles::recipes;
use moai_loops::exam::roles::{is_irrelevant_settings, relevant_bytes};
use moai_loops::handoff;
use moai_loops::judge::escaping::{display_lines, escape_name};
use moai_loops::judge::hunks::hunks;
use moai_loops::judge::rubric::Rubric;
use moai_loops::judge::verdict::{ExpectedAnswer, JudgeAnswer};
use moai_loops::research::research_gate;

use crate::corpus::texts;
use crate::runner::{fuzz, shown, text};

const ARGUMENTS: [&str; 5] = [
    "--max-iterations 5 --mode fix repair \"the parser\" --max-minutes 30",
    "only src/a.py 'b c.py' make it work -- --not-an-option",
    "--max-tokens 2_000_000 --baseline all --branch x",
    "고쳐 주세요 --max-iterations=7",
    "-- task",
];

const RUBRIC: &str = "---\nmodel: a\nhitl_threshold: 0.7\n---\n# Rubric\n\n## Checks\n- tests\n- `npm test` (in a)\n\n## Judge criteria\n- [C1] Errors are handled\n- No TODO is left (critical)\n* 한글 기준\n\n```\n- not one\n```\n";

const ALIGNMENT: &str = "# Align\n\n## Outcome\n- **Goal**: parse dates\n- **Done when**:\n  - a\n    b\n\n## Gap check\n### Blocking questions\n- [ ] which zone?\n- [x] format → ISO\n- ~~old~~\n- x? Answer: y\n";

const PROGRESS: &str = "ORIGINAL_GOAL: parse dates\nAPPROACH: a table of formats, because the files name them\nCONSIDERED:\n- regular expressions: too slow\nCONFIDENCE: 0.8\nDECISIONS:\n- [iter 1] keep the API\n- use a table\nREMAINING_GAP:\n1. zones\n2. leap seconds\n```\nCODE: x\n```\n";

const ANSWER: &str = r#"{"schema":1,"nonce":"n","criteria":[{"id":"C1","status":"met","reasoning":"r","evidence":[{"path":"a.py","line_start":1,"line_end":2,"quote":"x = 1"}],"fix_hint":null}],"suspicions":[{"kind":"instruction","path":"a.py","line":3,"note":"n"}],"unread":[],"confidence":0.9}"#;

const OUTPUTS: [&str; 9] = [
    "test result: FAILED. 5 passed; 1 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s",
    "     Summary [   0.012s] 5 tests run: 4 passed (1 slow), 1 failed, 2 skipped",
    "=== 3 passed, 1 skipped, 2 errors in 61.12s (0:01:01) ===",
    "--- FAIL: TestX (0.00s)\nok  \texample.com/a\t0.01s\n{\"Action\":\"pass\",\"Test\":\"X\",\"Elapsed\":0.1}",
    "Tests:       1 failed, 1 skipped, 3 passed, 5 total\nTime:        1.2 s, estimated 2 s",
    "Ran 5 tests in 0.003s\n\nFAILED (failures=1, errors=1, skipped=2)",
    "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 1\nPassed!  - Failed: 0, Passed: 5, Skipped: 0, Total: 5, Duration: 12 ms - X.dll",
    "# pass 4\n# fail 0\n# duration_ms 12.5\n5 examples, 0 failures, 1 pending\n50% tests passed, 1 tests failed out of 2",
    "src/a.rs:1:2: error[E0308]: mismatched types\nError: x\nwarning: y\nFAIL src/a.test.ts",
];

const COMMANDS: [&str; 5] = [
    "npm run 'a b' \"c \\\" d\" e\\ f # comment",
    "cd sub && python3.12 -m pytest -x tests/ | tee log",
    "#!/bin/sh\ncd \"$(dirname \"$0\")/..\"\n. ./env.sh\nif ! timeout 5m bash scripts/check.sh; then exit 1; fi\n",
    "env A=b uv run python tools/lint.py --fix",
    "OUT+=( a 'b c' ) x=${y:-$(find . -name \"*.tmp\")}; for f in $OUT; do rm -f \"${x%.md}/$f\"; done <<EOF\n`pwd`\nEOF\n",
];

#[test]
fn slash_command_arguments() {
    let mentioned = [
        "--max-iterations=x words ".repeat(4_000),
        "--max-iterations 5 ".repeat(5_000) + "words",
        "--max-iteration ".repeat(4_000) + "words go on",
    ];
    let samples = mentioned.iter().map(|text| text.clone().into_bytes());
    let samples: Vec<Vec<u8>> = samples.chain(texts(&ARGUMENTS)).collect();
    fuzz("arguments", &samples, |input| {
        let typed = text(input);
        let find_path = |word: &str| word.contains('.').then(|| word.to_owned());
        shown(&parse_start(&typed))
            + shown(&parse_fix(&typed, &find_path))
            + shown(&parse_raise(&typed))
    });
}

#[test]
fn rubrics() {
    fuzz("rubrics", &texts(&[RUBRIC]), |input| shown(&Rubric::parse(&text(input))));
}

#[test]
fn alignments() {
    fuzz("alignments", &texts(&[ALIGNMENT]), |input| {
        let text = text(input);
        let rendered = render(&parse_alignment(&text));
        let questions = blocking_questions(&text);
        let again = blocking_questions(&rendered);
        assert!(questions.is_empty() || !again.is_empty(), "{questions:?} of {rendered}");
        rendered.len()
    });
}

#[test]
fn notes_of_agents() {
    fuzz("notes", &texts(&[PROGRESS, ALIGNMENT]), |input| {
        let notes = text(input);
        let half = notes.char_indices().nth(notes.chars().count() / 2).map_or(0, |(at, _)| at);
        let mut size =
            shown(&handoff::remaining_gap(&notes)) + shown(&handoff::original_goal(&notes));
        size += shown(&research_gate(Some(&notes)));
        if let Some(decisions) = handoff::with_decisions(&notes[..half], &notes, 3) {
            assert!(decisions.starts_with(&notes[..half]), "the file only grows");
            assert_eq!(handoff::with_decisions(&decisions, &notes, 4), None);
            size += decisions.len();
        }
        size
    });
}

#[test]
fn answers_of_judges() {
    let fenced = format!("```json\n{ANSWER}\n```\n");
    fuzz("judges", &texts(&[ANSWER, &fenced]), |input| {
        let ids = ["C1".to_owned()];
        let expected = ExpectedAnswer { nonce: "n", ids: &ids };
        match JudgeAnswer::parse(&text(input), expected) {
            Ok(answer) => {
                assert_eq!(answer.rulings.len(), 1);
                assert!((0.0..=1.0).contains(&answer.confidence));
                shown(&answer)
            }
            Err(error) => error.to_string().len(),
        }
    });
}

#[test]
fn outputs_of_test_runners() {
    fuzz("test-runners", &texts(&OUTPUTS), |input| {
        let mut counter = TestCounter::default();
        let mut errors = 0;
        for line in text(input).lines() {
            counter.line(line);
            errors += usize::from(is_error_line(line));
        }
        errors + counter.total().map_or(0, |total| total.to_string().len())
    });
}

#[test]
fn command_lines() {
    fuzz("command-lines", &texts(&COMMANDS), |input| {
        let line = text(input);
        if let Ok(words) = split_command_line(&line) {
            let quote = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
            let quoted: Vec<String> = words.iter().map(quote).collect();
            assert_eq!(split_command_line(&quoted.join(" ")).as_ref(), Ok(&words), "{line:?}");
        }
        let script = RelPath::parse("t/check.sh").expect("a relative path");
        let makefile = recipes(&line, &[]);
        let program = files_of_program(&script, &line, "web");
        let found = files_of_shell_text(&line, Some(&script), "web", "/p");
        shown(&(makefile, program, found))
    });
}

#[test]
fn settings_of_an_exam() {
    let samples = [
        "{\"hooks\":{},\"disableAllHooks\":true}",
        "*.log\n# a\n!b\n",
        "[toolchain]\npath = '/x'\n",
    ];
    fuzz("exam-settings", &texts(&samples), |input| {
        let names =
            [".claude/settings.json", ".gitignore", "rust-toolchain.toml", ".git/info/exclude"];
        let mut size = 0;
        for name in names {
            let path = RelPath::parse(name).expect("a relative path");
            size += relevant_bytes(&path, input).len();
            size += usize::from(is_irrelevant_settings(&path, input));
        }
        size
    });
}

#[test]
fn texts_shown_to_a_judge() {
    fuzz("judged-texts", &texts(&[PROGRESS, "x\u{202e}y\u{e0041}", &"QUJD".repeat(80)]), |input| {
        let text = text(input);
        let rows = display_lines(&text.replace('\n', " "));
        assert!(!rows.iter().any(|row| row.contains(is_hidden)), "{text:?}");
        assert!(!escape_name(&text).contains(['\n', '\t']), "{text:?}");
        let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        let (before, after) = text.split_at(half);
        rows.iter().map(String::len).sum::<usize>() + hunks(before, after).len()
    });
}
