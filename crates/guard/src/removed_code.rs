//! G15: code that was commented out, or deleted together with its finding, instead of being fixed.

use std::collections::HashSet;

use super::facts::{FunctionNode, ParsedFile, ParsedFiles, SourceSide, tokens};
use super::suite::goal::removes;
use super::{Detection, GuardInput};
use moai_base::finding::{Finding, Severity};
use moai_base::limits::COMMENTED_CODE_CHARS_MIN;
use moai_scan::syntax::SyntaxNode;

const CODE: &str = "G15";

/// Distinctive words in a body, by which moved code is recognized.
const BODY_TOKENS_MIN: usize = 4;

pub(super) fn abandoned_hits(input: &GuardInput<'_>, files: &ParsedFiles<'_>) -> Vec<Detection> {
    let mut hits: Vec<Detection> = files.files.iter().flat_map(commented).collect();
    let gone = input.base_findings.iter().filter_map(|finding| deleted(finding, input.goal, files));
    hits.extend(gone);
    hits
}

/// Comments with a line of code that was removed; the first of consecutive lines.
fn commented(file: &ParsedFile<'_>) -> Vec<Detection> {
    let (Some(before), Some(after)) = (&file.before, &file.after) else { return Vec::new() };
    let known: HashSet<String> = code_comments(before).map(|(_, line, _)| line).collect();
    let new: Vec<_> = code_comments(after).filter(|(_, line, _)| !known.contains(line)).collect();
    if new.is_empty() {
        return Vec::new();
    }
    let (was, is) = (code_lines(before), code_lines(after));
    let mut hits: Vec<Detection> = Vec::new();
    let mut last = None;
    for (comment, line, number) in new {
        // Other detectors report tests that are commented out.
        let is_test = after.is_test_at(comment.bytes().start);
        if is_test || !was.contains(&line) || is.contains(&line) {
            continue;
        }
        let goes_on = last.is_some_and(|it| it + 1 == number);
        last = Some(number);
        if !goes_on {
            hits.push(Detection {
                code: CODE,
                severity: Severity::Warning,
                path: file.change.path.clone(),
                bytes: comment.bytes(),
                message: "code is commented out: fix it or delete it".to_owned(),
                anchor: line,
            });
        }
    }
    hits
}

/// The lines of comments that may be code, with their numbers.
fn code_comments<'s, 't>(
    side: &'s SourceSide<'t>,
) -> impl Iterator<Item = (SyntaxNode<'t>, String, usize)> + use<'s, 't> {
    side.comments
        .iter()
        .flat_map(|comment| {
            let comment = *comment;
            comment_lines(comment).into_iter().map(move |(line, number)| (comment, line, number))
        })
        .filter(|(_, line, _)| looks_like_code(line))
}

fn looks_like_code(line: &str) -> bool {
    line.chars().count() >= COMMENTED_CODE_CHARS_MIN
        && line.contains(['(', '=', ';', '[', '{', ':'])
}

/// The lines of a text that contain code, with single blanks.
fn code_lines(side: &SourceSide<'_>) -> HashSet<String> {
    let alone = side
        .comments
        .iter()
        .filter(|it| it.previous_sibling().is_none_or(|before| before.end_line() < it.line()));
    let commented: HashSet<usize> = alone.flat_map(|it| it.line()..=it.end_line()).collect();
    // A text's tree starts at its first token.
    let lines = side.root.text().lines().zip(side.root.line()..);
    let code = lines.filter(|(_, number)| !commented.contains(number));
    code.map(|(line, _)| normalized_line(line)).filter(|it| !it.is_empty()).collect()
}

fn normalized_line(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The lines of a comment without comment markers, with their numbers.
fn comment_lines(comment: SyntaxNode<'_>) -> Vec<(String, usize)> {
    let strip = |line: &str| {
        let line = line.trim().trim_start_matches("/*").trim_end_matches("*/").trim_start();
        normalized_line(line.trim_start_matches(['/', '#', '!']).trim_start_matches("* "))
    };
    let first = comment.line();
    comment.text().lines().enumerate().map(|(at, line)| (strip(line), first + at)).collect()
}

/// A function with a finding that no longer exists anywhere.
fn deleted(finding: &Finding, goal: &str, files: &ParsedFiles<'_>) -> Option<Detection> {
    let file = files.files.iter().find(|file| *file.change.path_before() == finding.path)?;
    let before = file.before.as_ref()?;
    let line = finding.range.start.line as usize;
    let around = before
        .functions
        .iter()
        .rev()
        .find(|it| (it.node.line()..=it.node.end_line()).contains(&line))?;
    let is_gone = file.after.as_ref().is_none_or(|after| after.function(&around.name).is_none());
    if !is_gone || is_elsewhere(around, files) || removes(goal, &around.name) {
        return None;
    }
    let message = format!(
        "`{}`, in which {} found {}, was deleted: fix such code instead of deleting it",
        around.name, finding.sensor, finding.code
    );
    Some(Detection {
        code: CODE,
        severity: Severity::Warning,
        path: file.change.path.clone(),
        bytes: 0..0,
        anchor: format!("{} {}", around.name, finding.code),
        message,
    })
}

/// True if a function was moved or renamed.
fn is_elsewhere(old: &FunctionNode<'_>, files: &ParsedFiles<'_>) -> bool {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let mut own: Vec<&str> = tokens(old.body);
    own.retain(|it| it.len() > 1);
    let functions =
        files.files.iter().filter_map(|file| file.after.as_ref()).flat_map(|side| &side.functions);
    functions.into_iter().any(|other| {
        let others = tokens(other.body);
        let shared = own.iter().filter(|it| others.contains(it)).count();
        last(&other.name) == last(&old.name)
            || own.len() >= BODY_TOKENS_MIN && shared * 10 >= own.len() * 7
    })
}
