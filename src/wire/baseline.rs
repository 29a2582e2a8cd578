//! The file of a baseline, `moai-ralph/baseline@1`: one entry a line, sorted, so that a change of
//! it reads well in a diff. It must not know where the file lies.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::json;

use crate::base::baseline::{Baseline, Known};

const SCHEMA: &str = "moai-ralph/baseline@1";

#[derive(Deserialize)]
struct Document {
    schema: String,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: String,
    sensor: String,
    code: String,
    anchor: String,
    count: usize,
}

/// Reads a baseline. The error is one line that says what is wrong where.
pub fn parse(text: &str) -> Result<Baseline, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let document: Document = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| format!("not a baseline: {}: {}", error.path(), error.inner()))?;
    reader.end().map_err(|error| format!("not a baseline: {error}"))?;
    if document.schema != SCHEMA {
        return Err(format!("not a baseline: schema is {:?}, not {SCHEMA:?}", document.schema));
    }
    let mut baseline = Baseline::default();
    for Entry { path, sensor, code, anchor, count } in document.entries {
        if count > 0 {
            baseline.add(Known { path, sensor, code, anchor }, count);
        }
    }
    Ok(baseline)
}

/// The text of a baseline.
#[must_use]
pub fn text(baseline: &Baseline) -> String {
    let mut text = format!("{{\"schema\":\"{SCHEMA}\",\"entries\":[");
    for (index, (known, count)) in baseline.entries().enumerate() {
        let Known { path, sensor, code, anchor } = known;
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
    use crate::base::finding::tests::finding;

    #[test]
    fn a_baseline_survives_its_file_and_has_an_entry_a_line() {
        let found = [finding("b.py", 3, "x"), finding("한글.py", 9, "x"), finding("b.py", 5, "x")];
        let baseline = Baseline::of(&found);
        let written = text(&baseline);
        assert_eq!(parse(&written).as_ref(), Ok(&baseline));
        assert_eq!(written.lines().count(), 4, "{written}");
        assert!(written.contains("\"count\":2"), "{written}");
        assert_eq!(parse(&text(&Baseline::default())), Ok(Baseline::default()));
    }

    #[test]
    fn what_is_no_baseline_is_refused_with_its_place() {
        let check = |text: &str, expected: &str| {
            let error = parse(text).expect_err(text);
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
