//! The texts of `doctor`: the server of each language, and the matrix of the conformance probes.

use std::fmt::Write as _;

use super::sanitized_name;
use moai_base::verdict::Gap;
use moai_lsp::probe::ProbeOutcome;
use moai_protocol::documents::servers::{DoctorDocument, LanguageEntry, ProbeActEntry, ProbeEntry};

/// One language of the project, or one requested server.
#[derive(Clone, Debug)]
pub struct LanguageSupport {
    pub language: String,
    /// Number of its files in the project.
    pub files: usize,
    /// Server id, or the sensor's name without a server.
    pub server: String,
    /// Program and version, or the gap.
    pub program: Result<(String, Option<String>), Gap>,
}

/// The result of one act of a probe.
#[derive(Clone, Debug)]
pub struct ProbeActResult {
    pub name: &'static str,
    pub outcome: ProbeOutcome,
    /// Time to the answer.
    pub elapsed_ms: u64,
}

/// One row of the matrix.
#[derive(Clone, Debug)]
pub struct ProbeRow {
    pub server: String,
    /// Its version, if it reports one.
    pub version: Option<String>,
    /// The language of the probe.
    pub language: String,
    /// The acts, in order.
    pub acts: Vec<ProbeActResult>,
}

impl ProbeRow {
    /// True if an act had a wrong result.
    #[must_use]
    pub fn has_false_result(&self) -> bool {
        self.acts
            .iter()
            .any(|act| matches!(act.outcome, ProbeOutcome::FalseClean | ProbeOutcome::Stale))
    }

    /// True if an act has no verdict.
    #[must_use]
    pub fn has_gap(&self) -> bool {
        self.acts.iter().any(|act| matches!(act.outcome, ProbeOutcome::Unmeasured(_)))
    }
}

/// Languages and their servers, one per line, with the command that closes each gap.
#[must_use]
pub fn language_support_text(rows: &[LanguageSupport]) -> String {
    let mut text = String::new();
    if rows.is_empty() {
        text.push_str("no file of a known language\n");
    }
    for row in rows {
        let files = super::count_noun(row.files, "file");
        let _ = match &row.program {
            Ok((program, version)) => {
                let version = version.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
                writeln!(
                    text,
                    "ok       {} ({files}): {}{version} {}",
                    row.language,
                    row.server,
                    sanitized_name(program)
                )
            }
            Err(gap) => {
                writeln!(text, "missing  {} ({files}): {} ({gap})", row.language, row.server)
            }
        };
    }
    text
}

/// Both matrices as one document, without the health of daemon and databases.
#[must_use]
pub fn doctor_document<'d>(
    served: &'d [LanguageSupport],
    probed: &'d [ProbeRow],
) -> DoctorDocument<'d> {
    DoctorDocument {
        languages: served.iter().map(language_entry).collect(),
        probes: probed.iter().map(probe_entry).collect(),
        daemon: None,
        stores: Vec::new(),
        team_memory: None,
    }
}

fn language_entry(row: &LanguageSupport) -> LanguageEntry<'_> {
    let program = row.program.as_ref().ok();
    LanguageEntry {
        language: &row.language,
        files: row.files,
        server: &row.server,
        program: program.map(|(program, _)| program.as_str()),
        version: program.and_then(|(_, version)| version.as_deref()),
        reason: row.program.as_ref().err().map(ToString::to_string),
    }
}

fn probe_entry(row: &ProbeRow) -> ProbeEntry<'_> {
    let acts = row.acts.iter().map(|act| {
        let (outcome, reason) = outcome_name(&act.outcome);
        ProbeActEntry { name: act.name, outcome, reason, elapsed_ms: act.elapsed_ms }
    });
    ProbeEntry {
        server: &row.server,
        version: row.version.as_deref(),
        language: &row.language,
        acts: acts.collect(),
    }
}

fn outcome_name(outcome: &ProbeOutcome) -> (&'static str, Option<String>) {
    match outcome {
        ProbeOutcome::Right => ("right", None),
        ProbeOutcome::FalseClean => ("false clean", None),
        ProbeOutcome::Stale => ("stale", None),
        ProbeOutcome::Unmeasured(gap) => ("unmeasured", Some(gap.to_string())),
    }
}

/// The acts in order; languages without modules have only the first ones, so that columns line up.
const ACTS: [&str; 7] = ["cold", "fix", "break", "burst", "again", "module", "back"];

/// The matrix as text: one row per server, one column per act, times in milliseconds; gaps below.
#[must_use]
pub fn matrix(rows: &[ProbeRow]) -> String {
    let mut text = format!("{:<28} {:<12} {:<10}", "server", "version", "language");
    for act in ACTS {
        let _ = write!(text, " {act:>12}");
    }
    text.push('\n');
    let mut gaps = String::new();
    for row in rows {
        let version = row.version.as_deref().unwrap_or("unknown");
        let _ = write!(text, "{:<28} {version:<12} {:<10}", row.server, row.language);
        for name in ACTS {
            let cell = match row.acts.iter().find(|act| act.name == name) {
                None => "-".to_owned(),
                Some(act) => match &act.outcome {
                    ProbeOutcome::Right => format!("{} ms", act.elapsed_ms),
                    ProbeOutcome::FalseClean => "FALSE CLEAN".to_owned(),
                    ProbeOutcome::Stale => "STALE".to_owned(),
                    ProbeOutcome::Unmeasured(gap) => {
                        let _ = writeln!(gaps, "not measured: {} {name} ({gap})", row.server);
                        "unmeasured".to_owned()
                    }
                },
            };
            let _ = write!(text, " {cell:>12}");
        }
        text.push('\n');
    }
    text + &gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::verdict::Cause;
    use moai_protocol::documents::json_value;

    #[test]
    fn a_lie_shouts_and_a_gap_is_named_below() {
        let act = |name, outcome| ProbeActResult { name, outcome, elapsed_ms: 40 };
        let gap = Gap::new(Cause::TimedOut, "no answer within 10 s");
        let row = ProbeRow {
            server: "pyright".into(),
            version: Some("1.1.414".into()),
            language: "python".into(),
            acts: vec![
                act("cold", ProbeOutcome::Right),
                act("fix", ProbeOutcome::Stale),
                act("break", ProbeOutcome::FalseClean),
                act("burst", ProbeOutcome::Unmeasured(gap)),
            ],
        };
        assert!(row.has_false_result() && row.has_gap());
        let text = matrix(std::slice::from_ref(&row));
        let words: Vec<&str> = text.lines().nth(1).expect("a row").split("  ").collect();
        let words: Vec<&str> =
            words.iter().map(|it| it.trim()).filter(|it| !it.is_empty()).collect();
        assert_eq!(words[3..7], ["40 ms", "STALE", "FALSE CLEAN", "unmeasured"]);
        assert!(text.contains("not measured: pyright burst (no answer within 10 s)"), "{text}");
        assert_eq!(
            json_value(&doctor_document(&[], &[row]))["probes"][0]["acts"][1]["outcome"],
            "stale"
        );
    }
}
