//! LSP diagnostics as findings; responses to other requests are in [`responses`]. Parsed field by
//! field, because dropping an odd diagnostic could make a file look clean. Field names and
//! defaults: LSP 3.17, `Diagnostic`.

pub mod responses;

use std::path::Path;

use serde_json::Value;

use crate::session::outside::ConfigurationFault;
use moai_base::finding::{Finding, FindingPlace, Severity};
use moai_base::hash::ContentHash;
use moai_base::limits::LSP_COORDINATE_MAX;
use moai_base::path::RelPath;
use moai_base::text::{Position, TextRange};

/// Replaces a message that cannot be parsed.
const UNREADABLE_MESSAGE: &str = "a diagnostic that cannot be read";

/// The file that a list of diagnostics is about, and the server that sent it.
#[derive(Clone, Copy, Debug)]
pub struct DiagnosticContext<'a> {
    pub sensor: &'a str,
    pub path: &'a RelPath,
    pub hash: ContentHash,
}

impl DiagnosticContext<'_> {
    /// A range of this file as the place of a finding.
    #[must_use]
    pub fn place(&self, range: TextRange) -> FindingPlace {
        FindingPlace { path: self.path.clone(), range, content_hash: self.hash }
    }
}

/// The findings of a list of LSP diagnostics. `None` if it is not a list, because an unreadable
/// response is not an empty one. A diagnostic without a usable range is placed at the file's
/// beginning.
#[must_use]
pub fn parse_diagnostics(
    context: DiagnosticContext<'_>,
    diagnostics: &Value,
) -> Option<Vec<Finding>> {
    Some(diagnostics.as_array()?.iter().map(|item| parse_diagnostic(context, item)).collect())
}

fn parse_diagnostic(context: DiagnosticContext<'_>, item: &Value) -> Finding {
    let range = range(&item["range"]).unwrap_or_default();
    let message = match &item["message"] {
        Value::String(text) => text.as_str(),
        // LSP 3.18 allows MarkupContent.
        other => other["value"].as_str().unwrap_or(UNREADABLE_MESSAGE),
    };
    let severity = match item["severity"].as_u64() {
        Some(2) => Severity::Warning,
        Some(3) => Severity::Info,
        Some(4) => Severity::Hint,
        // The protocol leaves a missing severity to the client; error is the safe choice.
        _ => Severity::Error,
    };
    let (code, place) = (code(&item["code"]), context.place(range));
    let mut finding = Finding::new(context.sensor, &code, severity, place, message);
    finding.url = item["codeDescription"]["href"].as_str().map(str::to_owned);
    finding
}

/// The findings of tsserver's own diagnostic list (`semanticDiagnosticsSync` with
/// `includeLinePosition: false`): 1-based `line` and `offset`, `text`, `category`.
#[must_use]
pub fn parse_tsserver_diagnostics(
    context: DiagnosticContext<'_>,
    body: &Value,
) -> Option<Vec<Finding>> {
    Some(body.as_array()?.iter().map(|item| parse_tsserver_diagnostic(context, item)).collect())
}

fn parse_tsserver_diagnostic(context: DiagnosticContext<'_>, item: &Value) -> Finding {
    let range = tsserver_position(&item["start"]).zip(tsserver_position(&item["end"]));
    let range = range.map(|(start, end)| TextRange { start, end }).unwrap_or_default();
    let severity = match item["category"].as_str() {
        Some("warning") => Severity::Warning,
        Some("suggestion") => Severity::Hint,
        Some("message") => Severity::Info,
        _ => Severity::Error,
    };
    let text = item["text"].as_str().unwrap_or(UNREADABLE_MESSAGE);
    Finding::new(context.sensor, &code(&item["code"]), severity, context.place(range), text)
}

/// "Cannot write file … because it would overwrite input file" and "'allowImportingTsExtensions' can only be used when
/// one of 'noEmit' …": nothing is written here, and the compiler does not report them with `--noEmit`.
const EMIT_CODES: [u64; 3] = [5055, 5056, 5096];

/// The first error among the diagnostics of a TypeScript configuration or of a base of it, as tsserver (`category`
/// "error") and the API of TypeScript 7 (`category` 1, and the name of the file) write them.
pub(crate) fn first_configuration_fault(
    file: &Path,
    diagnostics: &[Value],
) -> Option<ConfigurationFault> {
    let mut errors = diagnostics.iter().filter(|one| {
        (one["category"] == "error" || one["category"] == 1)
            && one["code"].as_u64().is_none_or(|code| !EMIT_CODES.contains(&code))
    });
    let error = errors.next()?;
    let text = error["text"].as_str().or_else(|| error["message"].as_str());
    let line = text.and_then(|text| text.lines().next()).unwrap_or(UNREADABLE_MESSAGE);
    let file = error["fileName"].as_str().map_or(file, Path::new);
    Some(ConfigurationFault {
        file: file.to_path_buf(),
        message: line.trim_end_matches('.').to_owned(),
    })
}

fn tsserver_position(position: &Value) -> Option<Position> {
    Some(Position {
        line: to_coordinate(position["line"].as_u64()?.checked_sub(1)?),
        character: to_coordinate(position["offset"].as_u64()?.checked_sub(1)?),
    })
}

fn code(code: &Value) -> String {
    match code {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        // LSP 3.16 draft servers send `{value, target}`.
        other => match &other["value"] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        },
    }
}

/// An LSP `Range` in the server's position encoding.
#[must_use]
pub fn range(range: &Value) -> Option<TextRange> {
    Some(TextRange { start: position(&range["start"])?, end: position(&range["end"])? })
}

fn position(position: &Value) -> Option<Position> {
    Some(Position {
        line: to_coordinate(position["line"].as_u64()?),
        character: to_coordinate(position["character"].as_u64()?),
    })
}

/// Texts count from 1, which must not overflow.
fn to_coordinate(number: u64) -> u32 {
    u32::try_from(number).map_or(LSP_COORDINATE_MAX, |number| number.min(LSP_COORDINATE_MAX))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn check(
        parse: fn(DiagnosticContext<'_>, &Value) -> Option<Vec<Finding>>,
        list: &Value,
    ) -> Option<Vec<String>> {
        let path = RelPath::below(Path::new("/r"), Path::new("/r/a.py")).expect("relative");
        let context =
            DiagnosticContext { sensor: "s", path: &path, hash: ContentHash::of_bytes(b"") };
        let line = |f: &Finding| {
            let start = f.range.start;
            format!(
                "{} {}:{} {}: {}",
                f.severity.as_str(),
                start.line,
                start.character,
                f.code,
                f.message
            )
        };
        Some(parse(context, list)?.iter().map(line).collect())
    }

    #[test]
    fn an_invalid_diagnostic_keeps_its_valid_fields() {
        let range =
            json!({"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 3}});
        let list = json!([
            {"range": range, "message": "a\n b", "severity": 1, "code": "x"},
            {"message": "no range"},
            {"range": {"start": {"line": -1, "character": 0}, "end": {}}, "message": "whole file"},
            {"range": range, "message": {"text": "no string"}, "severity": 3},
            null,
            {"range": range, "message": {"kind": "markdown", "value": "m"}, "code": 7},
            {"range": range, "message": "w", "severity": 2, "code": {"value": "v"}},
        ]);
        let expected = [
            "error 1:2 x: a b",
            "error 0:0 : no range",
            "error 0:0 : whole file",
            "info 1:2 : a diagnostic that cannot be read",
            "error 0:0 : a diagnostic that cannot be read",
            "error 1:2 7: m",
            "warning 1:2 v: w",
        ];
        assert_eq!(
            check(parse_diagnostics, &list).as_deref(),
            Some(&expected.map(str::to_owned)[..])
        );
        let list = json!([{"code": 6053, "category": "error"}]);
        let expected = ["error 0:0 6053: a diagnostic that cannot be read".to_owned()];
        assert_eq!(check(parse_tsserver_diagnostics, &list).as_deref(), Some(&expected[..]));
    }

    #[test]
    fn a_value_that_is_not_a_list_is_not_an_empty_list() {
        assert_eq!(check(parse_diagnostics, &json!(null)), None);
        assert_eq!(check(parse_diagnostics, &json!({})), None);
        assert_eq!(check(parse_tsserver_diagnostics, &json!(null)), None);
    }

    #[test]
    fn tsserver_counts_from_one() {
        let list = json!([{"start": {"line": 2, "offset": 7}, "end": {"line": 2, "offset": 8},
            "text": "Type 'string'", "code": 2322, "category": "error"}]);
        let expected = ["error 1:6 2322: Type 'string'".to_owned()];
        assert_eq!(check(parse_tsserver_diagnostics, &list).as_deref(), Some(&expected[..]));
    }
}
