//! Structured answers for tools of an agent: short, lines and columns 1-based.

use serde_json::{Value, json};

use super::json::word;
use crate::base::evidence::Evidence;
use crate::base::finding::{Finding, Severity};
use crate::base::limits::TOOL_FINDINGS_MAX;

/// What a check found, without hints. The worst come first; of too many the rest is counted.
#[must_use]
pub fn diagnostics(evidence: &Evidence) -> Value {
    let mut findings: Vec<&Finding> =
        evidence.findings.iter().filter(|one| one.severity > Severity::Hint).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let omitted = findings.len().saturating_sub(TOOL_FINDINGS_MAX);
    let gaps = evidence.readings.iter().filter_map(|reading| {
        let gap = reading.gap.as_ref()?;
        Some(json!({"what": reading.sensor, "reason": gap.to_string()}))
    });
    let skipped = evidence.skipped.iter().take(TOOL_FINDINGS_MAX);
    let skipped = skipped.map(|one| json!({"what": one.path, "reason": one.reason}));
    json!({
        "verdict": word(&evidence.verdict()),
        "files_total": evidence.files_total(),
        "files_checked": evidence.files.len(),
        "findings": findings.iter().take(TOOL_FINDINGS_MAX).map(|it| finding(it)).collect::<Vec<_>>(),
        "findings_omitted": omitted,
        "not_measured": gaps.chain(skipped).collect::<Vec<_>>(),
    })
}

fn finding(finding: &Finding) -> Value {
    json!({
        "severity": finding.severity.as_str(),
        "path": finding.path.as_str(),
        "line": finding.range.start.line + 1,
        "column": finding.range.start.character + 1,
        "sensor": finding.sensor,
        "code": finding.code,
        "message": finding.message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::finding::tests::finding;

    #[test]
    fn the_worst_come_first_and_the_rest_is_counted() {
        let mut findings: Vec<Finding> = (0..TOOL_FINDINGS_MAX)
            .map(|line| Finding {
                severity: Severity::Warning,
                ..finding("a.py", u32::try_from(line).expect("few"), "w")
            })
            .collect();
        findings.push(finding("b.py", 4, "e"));
        findings.push(Finding { severity: Severity::Hint, ..finding("b.py", 5, "h") });
        let answer = diagnostics(&Evidence { findings, ..Evidence::default() });
        let first = &answer["findings"][0];
        assert_eq!((first["path"].as_str(), first["line"].as_u64()), (Some("b.py"), Some(5)));
        assert_eq!(answer["findings_omitted"], 1);
        assert_eq!(answer["verdict"], "unmeasured");
    }
}
