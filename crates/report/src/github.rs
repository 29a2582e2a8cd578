//! Workflow commands of GitHub Actions: one line per finding, which becomes an annotation of its
//! file, without hints and findings of a baseline.

use std::fmt::Write as _;

use super::human::{ReportStyle, is_listed, summary};
use moai_base::evidence::Evidence;
use moai_base::finding::{Finding, Severity};
use moai_base::foreign_text::{quoted, without_workflow_commands};
use moai_base::limits::FOREIGN_TEXT_CHARS_MAX;

/// The findings, the gaps, and a line with the verdict.
#[must_use]
pub fn commands(evidence: &Evidence, elapsed_ms: u64) -> String {
    let mut text = String::new();
    let findings = evidence.findings.iter();
    for finding in findings.filter(|finding| is_listed(evidence, finding, ReportStyle::default())) {
        write_finding(&mut text, finding);
    }
    for (command, title, list) in
        [("warning", "skipped", &evidence.skipped), ("notice", "excluded", &evidence.excluded)]
    {
        for one in list {
            let file = property(&one.path);
            let _ = writeln!(text, "::{command} file={file},title={title}::{}", data(&one.reason));
        }
    }
    for group in evidence.switched_off_groups() {
        let (file, first) = (property(group.first.path.as_str()), group.first);
        let what = data(&format!("{} ({}: {})", group.file_names(), first.sensor, first.gap));
        let _ = writeln!(text, "::notice file={file},title=switched off::{what}");
    }
    for reading in evidence.readings.iter().filter(|reading| !reading.is_switched_off()) {
        if let Some(gap) = &reading.gap {
            let what = data(&format!("{} ({gap})", reading.sensor));
            let _ = writeln!(text, "::warning title=not measured::{what}");
        }
    }
    let verdict = evidence.verdict().as_str();
    // As text, because a line that begins with `::` would be a command.
    let _ =
        writeln!(text, "{verdict}: {}", without_workflow_commands(&summary(evidence, elapsed_ms)));
    text
}

fn write_finding(text: &mut String, finding: &Finding) {
    let command = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info | Severity::Hint => "notice",
    };
    let (start, end) = (finding.range.start, finding.range.end);
    let mut place = format!(
        "file={},line={},endLine={},col={}",
        property(finding.path.as_str()),
        start.line + 1,
        end.line + 1,
        start.character + 1
    );
    // GitHub accepts an end column only on one line; the column is inclusive.
    if start.line == end.line && end.character > start.character {
        let _ = write!(place, ",endColumn={}", end.character);
    }
    let code = [finding.sensor.as_str(), &finding.code].join(" ");
    let title = [code.trim().to_owned(), finding.cwe.join(" ")].join(" ");
    let fix = finding.fix.as_ref().map(|fix| format!("\n{fix}")).unwrap_or_default();
    let message = data(&format!("{}{fix}", finding.message));
    let _ = writeln!(text, "::{command} {place},title={}::{message}", property(title.trim()));
}

/// Escapes a message for the runner's command parser. The runner also reads commands that begin with
/// `##[`, anywhere in a line.
fn data(text: &str) -> String {
    let text = quoted(text, FOREIGN_TEXT_CHARS_MAX).replace("##[", "## [");
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property value, which `:` and `,` would end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::evidence::{SensorKind, SensorReading, SkippedFile};
    use moai_base::samples::finding;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        let odd = Finding {
            message: "100% wrong\r\n::error::no".to_owned(),
            cwe: vec!["CWE-1".to_owned(), "CWE-2".to_owned()],
            ..finding("a:b,c.py", 2, "x")
        };
        let hint = Finding { severity: Severity::Hint, ..finding("a.py", 2, "unused") };
        let evidence = Evidence {
            files: vec![odd.path.clone()],
            skipped: vec![SkippedFile {
                path: "big.py".into(),
                reason: "larger than 1 MiB".into(),
            }],
            findings: vec![odd, hint],
            readings: vec![SensorReading {
                dirty: true,
                ..SensorReading::clean("scan", SensorKind::Scan, 1)
            }],
            ..Evidence::default()
        };
        insta::assert_snapshot!(commands(&evidence, 3), @r"
        ::error file=a%3Ab%2Cc.py,line=3,endLine=3,col=1,title=pyright x CWE-1 CWE-2::100%25 wrong%0A::error::no
        ::warning file=big.py,title=skipped::larger than 1 MiB
        dirty: 1 error, 1 note; 1 of 2 files checked in 3 ms [scan 1 file 0 ms]
        ");
    }
}
