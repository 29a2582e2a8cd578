//! What a person reads from `check`.

use std::fmt::Write as _;

use super::{counts, line};
use crate::base::evidence::{Evidence, SensorKind};
use crate::base::finding::Severity;
use crate::base::verdict::Verdict;

/// The report of a check as text; colours repeat what the words say and never carry meaning.
#[must_use]
pub fn check(evidence: &Evidence, elapsed_ms: u64, has_color: bool) -> String {
    let paint = |code: &str, text: &str| {
        if has_color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    };
    let mut text = String::new();
    for finding in &evidence.findings {
        let code = match finding.severity {
            Severity::Error => "31",
            Severity::Warning => "33",
            Severity::Info | Severity::Hint => "36",
        };
        let line = line(finding);
        let word = finding.severity.as_str();
        let rest = line.strip_prefix(word).unwrap_or(&line);
        let _ = writeln!(text, "{}{rest}", paint(code, word));
    }
    for skipped in &evidence.skipped {
        let _ = writeln!(text, "{} {} ({})", paint("35", "skipped:"), skipped.path, skipped.reason);
    }
    for reading in &evidence.readings {
        if let Some(gap) = &reading.gap {
            let _ = writeln!(text, "{} {} ({gap})", paint("35", "not measured:"), reading.sensor);
        }
    }
    let (code, word) = match evidence.verdict() {
        Verdict::Clean => ("32", "clean"),
        Verdict::Dirty => ("31", "dirty"),
        Verdict::Unmeasured(_) => ("35", "unmeasured"),
    };
    let found = counts(evidence.findings.iter());
    let found = if found.is_empty() { "nothing found".to_owned() } else { found };
    let sensors: Vec<String> = evidence
        .readings
        .iter()
        .map(|reading| {
            let version = reading.version.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
            let files = match reading.kind {
                SensorKind::Check => String::new(),
                _ => format!(" {} files", reading.files),
            };
            format!("{}{version}{files} {} ms", reading.sensor, reading.elapsed_ms)
        })
        .collect();
    let sensors =
        if sensors.is_empty() { String::new() } else { format!(" [{}]", sensors.join("; ")) };
    let _ = writeln!(
        text,
        "{}: {found}; {} of {} files checked in {elapsed_ms} ms{sensors}",
        paint(code, word),
        evidence.files.len(),
        evidence.files_total(),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::evidence::{Reading, Skipped};
    use crate::base::finding::tests::finding;
    use crate::base::verdict::{Cause, Gap};

    #[test]
    fn gaps_and_skips_stand_beside_the_findings() {
        let gap = Gap::new(Cause::NotInstalled, "not installed")
            .with_remedy("moai-ralph server install python");
        let evidence = Evidence {
            files: vec![finding("a.py", 0, "x").path],
            skipped: vec![Skipped { path: "big.py".into(), reason: "larger than 1 MiB".into() }],
            findings: vec![finding("a.py", 2, "x")],
            readings: vec![
                Reading { gap: Some(gap), ..Reading::clean("pyright", SensorKind::Lsp, 0) },
                Reading { dirty: true, ..Reading::clean("scan", SensorKind::Scan, 1) },
            ],
        };
        insta::assert_snapshot!(check(&evidence, 12, false), @r"
        error a.py:3:1 pyright(x): x is wrong
        skipped: big.py (larger than 1 MiB)
        not measured: pyright (not installed: moai-ralph server install python)
        dirty: 1 error; 1 of 2 files checked in 12 ms [pyright 0 files 0 ms; scan 1 files 0 ms]
        ");
        assert!(check(&evidence, 12, true).contains("\u{1b}[31merror\u{1b}[0m a.py"));
        assert!(check(&Evidence::default(), 1, false).starts_with("unmeasured: "));
    }
}
