//! The baseline file, `moai-ralph/baseline@1`: sorted, one entry per line, so that it diffs well.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::json;

use moai_base::baseline::{Baseline, BaselineKey};

const SCHEMA: &str = "moai-ralph/baseline@1";

#[derive(Deserialize)]
struct BaselineDocument {
    schema: String,
    entries: Vec<BaselineEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineEntry {
    path: String,
    sensor: String,
    code: String,
    anchor: String,
    count: usize,
}

/// Parses a baseline file. The error is one line with the path of the faulty field.
pub fn parse_baseline(text: &str) -> Result<Baseline, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let document: BaselineDocument = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| format!("not a baseline: {}: {}", error.path(), error.inner()))?;
    reader.end().map_err(|error| format!("not a baseline: {error}"))?;
    if document.schema != SCHEMA {
        return Err(format!("not a baseline: schema is {:?}, not {SCHEMA:?}", document.schema));
    }
    let mut baseline = Baseline::default();
    for BaselineEntry { path, sensor, code, anchor, count } in document.entries {
        if count > 0 {
            baseline.add(BaselineKey { path, sensor, code, anchor }, count);
        }
    }
    Ok(baseline)
}

/// Formats a baseline file.
#[must_use]
pub fn format_baseline(baseline: &Baseline) -> String {
    let mut text = format!("{{\"schema\":\"{SCHEMA}\",\"entries\":[");
    for (index, (known, count)) in baseline.entries().enumerate() {
        let BaselineKey { path, sensor, code, anchor } = known;
        let entry = json!({
            "path": path, "sensor": sensor, "code": code, "anchor": anchor, "count": count,
        });
        let _ = write!(text, "{}\n{entry}", if index == 0 { "" } else { "," });
    }
    text.push_str("\n]}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::samples::finding;

    #[test]
    fn counts_of_an_entry_that_is_there_twice_are_bounded() {
        let entry =
            format!(r#"{{"path":"a","sensor":"s","code":"c","anchor":"","count":{}}}"#, usize::MAX);
        let text = format!(r#"{{"schema":"{SCHEMA}","entries":[{entry},{entry}]}}"#);
        let baseline = parse_baseline(&text).expect("a baseline");
        assert_eq!(baseline.entries().map(|(_, count)| count).collect::<Vec<_>>(), [usize::MAX]);
    }

    #[test]
    fn a_baseline_survives_its_file_and_has_an_entry_a_line() {
        let findings =
            [finding("b.py", 3, "x"), finding("한글.py", 9, "x"), finding("b.py", 5, "x")];
        let baseline = Baseline::from_findings(&findings);
        let written = format_baseline(&baseline);
        assert_eq!(parse_baseline(&written).as_ref(), Ok(&baseline));
        assert_eq!(written.lines().count(), 4, "{written}");
        assert!(written.contains("\"count\":2"), "{written}");
        assert_eq!(parse_baseline(&format_baseline(&Baseline::default())), Ok(Baseline::default()));
    }

    #[test]
    fn an_invalid_baseline_is_refused_with_the_place_of_the_error() {
        let check = |text: &str, expected: &str| {
            let error = parse_baseline(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("", "EOF");
        check("{\"schema\":\"moai-ralph/report@1\",\"entries\":[]}", "schema is");
        check(
            "{\"schema\":\"moai-ralph/baseline@1\",\"entries\":[{\"path\":1}]}",
            "entries[0].path",
        );
        check("{\"schema\":\"moai-ralph/baseline@1\",\"entries\":[]} x", "trailing");
    }
}
