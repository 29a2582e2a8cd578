//! Findings as one JSON object a line, for programs that read line by line. Lines and columns are
//! 1-based.

use serde_json::json;

use moai_base::finding::Finding;

/// The findings, each on a line that ends with a line break.
#[must_use]
pub fn findings(findings: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let (start, end) = (finding.range.start, finding.range.end);
        let value = json!({
            "file": finding.path.as_str(),
            "line": start.line + 1,
            "column": start.character + 1,
            "end_line": end.line + 1,
            "end_column": end.character + 1,
            "rule_id": finding.code,
            "severity": finding.severity.as_str(),
            "cwe": finding.cwe,
            "message": finding.message,
            "fix": finding.fix,
            "fingerprint": finding.id,
        });
        format!("{value}\n")
    };
    findings.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::samples::finding;

    #[test]
    fn a_finding_is_one_line_with_positions_from_1() {
        let text = findings(&[finding("a.py", 2, "x"), finding("b.py", 0, "y")]);
        let first: serde_json::Value =
            serde_json::from_str(text.lines().next().unwrap()).expect("JSON");
        assert_eq!((&first["file"], &first["line"]), (&json!("a.py"), &json!(3)));
        assert_eq!((&first["column"], &first["rule_id"]), (&json!(1), &json!("x")));
        assert_eq!(text.lines().count(), 2);
        assert_eq!(findings(&[]), "");
    }
}
