//! The report of `check` for a terminal.

use std::fmt::Write as _;

use super::{count_noun, finding_line, sanitized_line, sanitized_name, severity_counts};
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::finding::{Finding, FindingState, Severity};
use moai_base::verdict::Verdict;

/// The style of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportStyle {
    /// True if colors are used; they never carry meaning of their own.
    pub has_color: bool,
    /// True if hints are listed; they are noise in a terminal.
    pub shows_hints: bool,
}

/// Colors texts, unless colors are off.
#[derive(Clone, Copy)]
pub(super) struct AnsiPaint(pub(super) bool);

impl AnsiPaint {
    /// The text in the color of an ANSI code.
    pub(super) fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// The ANSI code of a severity's color.
pub(super) fn color_of(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "31",
        Severity::Warning => "33",
        Severity::Info | Severity::Hint => "36",
    }
}

/// The report of a check as text.
#[must_use]
pub fn check_text(evidence: &Evidence, elapsed_ms: u64, style: ReportStyle) -> String {
    let paint = AnsiPaint(style.has_color);
    let mut text = String::new();
    for finding in evidence.findings.iter().filter(|finding| is_listed(evidence, finding, style)) {
        let line = finding_line(finding);
        let word = finding.severity.as_str();
        let rest = line.strip_prefix(word).unwrap_or(&line);
        let known = if is_known(evidence, finding) { " [in the baseline]" } else { "" };
        let _ = writeln!(text, "{}{rest}{known}", paint.with(color_of(finding.severity), word));
    }
    text + &after_findings(evidence, elapsed_ms, style)
}

pub(super) fn is_known(evidence: &Evidence, finding: &Finding) -> bool {
    evidence.baseline.is_some() && finding.state == FindingState::Existing
}

/// True if a finding is listed: hints and findings of the baseline are not.
pub(super) fn is_listed(evidence: &Evidence, finding: &Finding, style: ReportStyle) -> bool {
    style.shows_hints || finding.severity > Severity::Hint && !is_known(evidence, finding)
}

/// The part after the findings: skipped files, gaps and the verdict.
pub(super) fn after_findings(evidence: &Evidence, elapsed_ms: u64, style: ReportStyle) -> String {
    let paint = AnsiPaint(style.has_color);
    let mut text = String::new();
    for (word, list) in [("skipped:", &evidence.skipped), ("excluded:", &evidence.excluded)] {
        for one in list {
            let (word, path) = (paint.with("35", word), sanitized_name(&one.path));
            let _ = writeln!(text, "{word} {path} ({})", sanitized_line(&one.reason));
        }
    }
    for group in evidence.switched_off_groups() {
        let word = paint.with("35", "switched off:");
        let (files, first) = (sanitized_name(&group.file_names()), group.first);
        let _ = writeln!(text, "{word} {files} ({}: {})", sanitized_name(&first.sensor), first.gap);
    }
    for reading in evidence.readings.iter().filter(|reading| !reading.is_switched_off()) {
        if let Some(gap) = &reading.gap {
            let word = paint.with("35", "not measured:");
            let _ = writeln!(text, "{word} {} ({gap})", sanitized_name(&reading.sensor));
        }
    }
    let (code, word) = match evidence.verdict() {
        Verdict::Clean => ("32", "clean"),
        Verdict::Dirty => ("31", "dirty"),
        Verdict::Unmeasured(_) => ("35", "unmeasured"),
    };
    let _ = writeln!(text, "{}: {}", paint.with(code, word), summary(evidence, elapsed_ms));
    text
}

/// Number of findings and files, and each sensor's share.
pub(super) fn summary(evidence: &Evidence, elapsed_ms: u64) -> String {
    if evidence.files_total() == 0 {
        // A guard without a changed file has compared all there is.
        let has_compared = evidence.readings.iter().any(|it| it.kind == SensorKind::Guard);
        let nothing = if has_compared { "no file was changed" } else { "nothing to measure" };
        return nothing.to_owned();
    }
    let (known, new): (Vec<&Finding>, Vec<&Finding>) =
        evidence.findings.iter().partition(|finding| is_known(evidence, finding));
    let found = severity_counts(new.into_iter());
    let none = if evidence.baseline.is_some() { "nothing new" } else { "nothing found" };
    let mut found = if found.is_empty() { none.to_owned() } else { found };
    if let Some(baseline) = &evidence.baseline {
        let (known, fixed) = (known.len(), baseline.fixed);
        let _ = write!(found, " ({known} known from the baseline, {fixed} fixed)");
    }
    let sensors: Vec<String> = evidence.readings.iter().map(sensor).collect();
    let sensors =
        if sensors.is_empty() { String::new() } else { format!(" [{}]", sensors.join("; ")) };
    let (checked, total) = (evidence.files.len(), count_noun(evidence.files_total(), "file"));
    let off = match evidence.switched_off_total() {
        0 => String::new(),
        files => format!(", {files} switched off,"),
    };
    format!("{found}; {checked} of {total} checked{off} in {elapsed_ms} ms{sensors}")
}

fn sensor(reading: &SensorReading) -> String {
    let version = reading.version.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
    let files = match reading.kind {
        SensorKind::Check => String::new(),
        _ => format!(" {}", count_noun(reading.files, "file")),
    };
    let what = sanitized_line(&format!("{}{version}", reading.sensor));
    format!("{what}{files} {} ms", reading.elapsed_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::evidence::{SkippedFile, SwitchedOffFile};
    use moai_base::samples::finding;
    use moai_base::verdict::{Cause, Gap};

    #[test]
    fn gaps_and_skips_stand_beside_the_findings() {
        let gap = Gap::new(Cause::NotInstalled, "not installed")
            .with_remedy("moai-ralph server install python");
        let evidence = Evidence {
            files: vec![finding("a.py", 0, "x").path],
            skipped: vec![SkippedFile {
                path: "big.py".into(),
                reason: "larger than 1 MiB".into(),
            }],
            findings: vec![finding("a.py", 2, "x")],
            readings: vec![
                SensorReading {
                    gap: Some(gap),
                    ..SensorReading::clean("pyright", SensorKind::Lsp, 0)
                },
                SensorReading { dirty: true, ..SensorReading::clean("scan", SensorKind::Scan, 1) },
            ],
            ..Evidence::default()
        };
        insta::assert_snapshot!(check_text(&evidence, 12, ReportStyle::default()), @r"
        error a.py:3:1 pyright(x): x is wrong
        skipped: big.py (larger than 1 MiB)
        not measured: pyright (not installed: moai-ralph server install python)
        dirty: 1 error; 1 of 2 files checked in 12 ms [pyright 0 files 0 ms; scan 1 file 0 ms]
        ");
        let colored = ReportStyle { has_color: true, ..ReportStyle::default() };
        assert!(check_text(&evidence, 12, colored).contains("\u{1b}[31merror\u{1b}[0m a.py"));
    }

    #[test]
    fn switched_off_files_are_named_and_counted() {
        let gap = Gap::new(Cause::SwitchedOff, "checked for syntax only: checkJs is off")
            .with_remedy("set \"checkJs\": true");
        let paths = ["a.js", "b.js"].map(|name| finding(name, 0, "x").path);
        let switched_off = paths.iter().map(|path| SwitchedOffFile {
            path: path.clone(),
            sensor: "tsserver".into(),
            gap: gap.clone(),
        });
        let server = SensorReading {
            gap: Some(gap.clone()),
            ..SensorReading::clean("tsserver", SensorKind::Lsp, 0)
        };
        let evidence = Evidence {
            switched_off: switched_off.collect(),
            is_switched_off: true,
            files: paths.into(),
            readings: vec![server, SensorReading::clean("scan", SensorKind::Scan, 2)],
            ..Evidence::default()
        };
        insta::assert_snapshot!(check_text(&evidence, 12, ReportStyle::default()), @r#"
        switched off: a.js and 1 more file (tsserver: checked for syntax only: checkJs is off: set "checkJs": true)
        unmeasured: nothing found; 2 of 2 files checked, 2 switched off, in 12 ms [tsserver 0 files 0 ms; scan 2 files 0 ms]
        "#);
    }

    #[test]
    fn nothing_to_measure_is_not_nothing_found() {
        let text = check_text(&Evidence::default(), 1, ReportStyle::default());
        assert_eq!(text, "unmeasured: nothing to measure\n");
        let readings = vec![SensorReading::clean("guard", SensorKind::Guard, 0)];
        let text =
            check_text(&Evidence { readings, ..Evidence::default() }, 1, ReportStyle::default());
        assert_eq!(text, "clean: no file was changed\n");
    }

    #[test]
    fn hints_are_counted_and_shown_only_on_demand() {
        let hint = Finding { severity: Severity::Hint, ..finding("a.py", 1, "unused") };
        let evidence = Evidence {
            files: vec![hint.path.clone()],
            findings: vec![hint],
            readings: vec![SensorReading::clean("pyright", SensorKind::Lsp, 1)],
            ..Evidence::default()
        };
        assert!(check_text(&evidence, 1, ReportStyle::default()).starts_with("clean: 1 note"));
        let shown =
            check_text(&evidence, 1, ReportStyle { shows_hints: true, ..ReportStyle::default() });
        assert!(shown.starts_with("hint a.py:2:1 pyright(unused)"), "{shown}");
    }
}
