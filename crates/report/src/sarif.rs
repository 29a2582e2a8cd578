//! Findings as SARIF 2.1.0 (OASIS standard, 2020): one run per sensor, its rules with their
//! weaknesses, and every gap as a notification of the run that has it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use moai_base::evidence::{Evidence, SensorKind, SensorReading, SkippedFile, SwitchedOffFile};
use moai_base::finding::{Finding, FindingState, Severity};
use moai_base::foreign_text::{one_line_name, quoted};
use moai_base::limits::{FOREIGN_TEXT_CHARS_MAX, LINE_CHARS_MAX};
use moai_base::path::to_uri;
use moai_base::verdict::Gap;
use moai_scan::RuleFacts;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// The root, which all paths are relative to.
const ROOT: &str = "%SRCROOT%";
/// Name of the fingerprint; its number rises when the algorithm changes.
const FINGERPRINT: &str = "moaiRalph/v1";

/// The log of a check or scan; `facts` are the properties of the scan's rules.
#[must_use]
pub fn sarif_log(root: &Path, evidence: &Evidence, facts: &[RuleFacts]) -> Value {
    let empty_scan = [SensorReading::clean("scan", SensorKind::Scan, 0)];
    let readings =
        if evidence.readings.is_empty() { &empty_scan } else { evidence.readings.as_slice() };
    // Skipped files are reported by the scan's run, else by the first one.
    let skips_run =
        readings.iter().position(|reading| reading.kind == SensorKind::Scan).unwrap_or(0);
    let runs = readings.iter().enumerate().map(|(index, reading)| {
        let skips = (index == skips_run).then_some(evidence);
        run(root, evidence, facts, reading, skips)
    });
    json!({"$schema": SCHEMA, "version": "2.1.0", "runs": runs.collect::<Vec<_>>()})
}

fn run(
    root: &Path,
    evidence: &Evidence,
    facts: &[RuleFacts],
    reading: &SensorReading,
    skips: Option<&Evidence>,
) -> Value {
    let own = evidence.findings.iter().filter(|finding| finding.sensor == reading.sensor);
    let findings: Vec<&Finding> = own.collect();
    let rules = SarifRules::from_findings(&findings);
    let is_compared = evidence.baseline.is_some();
    let root = format!("{}/", to_uri(root).trim_end_matches('/'));
    let mut run = json!({
        "tool": {"driver": rules.driver(reading, facts)},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {ROOT: {"uri": root}},
        "invocations": [invocation(reading, skips)],
        "results": findings.iter().map(|finding| rules.result(finding, is_compared)).collect::<Vec<_>>(),
    });
    if !rules.weaknesses.is_empty() {
        run["taxonomies"] = json!([rules.taxonomy()]);
    }
    run
}

/// The rules of one run by id, and their weaknesses.
struct SarifRules<'f> {
    rules: BTreeMap<&'f str, &'f Finding>,
    weaknesses: Vec<&'f str>,
}

impl<'f> SarifRules<'f> {
    fn from_findings(findings: &[&'f Finding]) -> Self {
        let mut rules = BTreeMap::new();
        for finding in findings {
            // A rule has the highest severity of its findings.
            let first = rules.entry(rule_id(finding)).or_insert(*finding);
            if finding.severity > first.severity {
                *first = *finding;
            }
        }
        let cwe = rules.values().flat_map(|finding| &finding.cwe);
        let mut weaknesses: Vec<&str> = cwe.filter_map(|id| id.strip_prefix("CWE-")).collect();
        weaknesses.sort_unstable();
        weaknesses.dedup();
        Self { rules, weaknesses }
    }

    fn driver(&self, reading: &SensorReading, facts: &[RuleFacts]) -> Value {
        let name = match reading.kind {
            SensorKind::Scan => "moai-ralph",
            _ => &reading.sensor,
        };
        let rules = self.rules.iter().map(|(id, finding)| match reading.kind {
            SensorKind::Scan => rule(id, finding, facts.iter().find(|facts| facts.id == **id)),
            _ => rule(id, finding, None),
        });
        let mut driver = json!({"name": name, "rules": rules.collect::<Vec<_>>()});
        if let Some(version) = &reading.version {
            driver["version"] = json!(version);
        }
        if !self.weaknesses.is_empty() {
            driver["supportedTaxonomies"] = json!([{"name": "CWE", "index": 0}]);
        }
        driver
    }

    fn taxonomy(&self) -> Value {
        let taxa = self.weaknesses.iter().map(|id| {
            json!({"id": id, "helpUri": format!("https://cwe.mitre.org/data/definitions/{id}.html")})
        });
        json!({
            "name": "CWE",
            "organization": "MITRE",
            "informationUri": "https://cwe.mitre.org/",
            "shortDescription": {"text": "The MITRE Common Weakness Enumeration"},
            "isComprehensive": false,
            "taxa": taxa.collect::<Vec<_>>(),
        })
    }

    fn result(&self, finding: &Finding, is_compared: bool) -> Value {
        let id = rule_id(finding);
        let (start, end) = (finding.range.start, finding.range.end);
        let mut result = json!({
            "ruleId": shown_id(id),
            "ruleIndex": self.rules.keys().position(|rule| *rule == id),
            "level": level(finding.severity),
            "message": message(&finding.message),
            "locations": [{"physicalLocation": {
                "artifactLocation": {"uri": relative(finding.path.as_str()), "uriBaseId": ROOT},
                "region": {
                    "startLine": start.line + 1,
                    "startColumn": start.character + 1,
                    "endLine": end.line + 1,
                    "endColumn": end.character + 1,
                },
            }}],
            "partialFingerprints": {FINGERPRINT: finding.id},
        });
        if is_compared {
            let is_known = finding.state == FindingState::Existing;
            result["baselineState"] = json!(if is_known { "unchanged" } else { "new" });
        }
        if !finding.cwe.is_empty() {
            result["taxa"] =
                json!(finding.cwe.iter().filter_map(|id| taxon(id)).collect::<Vec<_>>());
        }
        result
    }
}

fn rule(id: &str, finding: &Finding, facts: Option<&RuleFacts>) -> Value {
    // A rule of the scan has one message; a code of a language server has many.
    let code = || format!("{} {}", finding.sensor, finding.code);
    let short = facts.map_or_else(code, |facts| facts.message.clone());
    let full = finding.fix.as_ref().map(|fix| format!("{short} ({fix})"));
    let mut rule = json!({
        "id": shown_id(id),
        "shortDescription": message(&short),
        "fullDescription": message(full.as_deref().unwrap_or(&short)),
        "defaultConfiguration": {"level": level(finding.severity)},
    });
    if let Some(fix) = &finding.fix {
        rule["help"] = message(fix);
    }
    if let Some(url) = finding.url.as_ref().filter(|url| url.starts_with("http")) {
        rule["helpUri"] = json!(url);
    }
    let mut tags: Vec<String> = facts.map(own_tags).unwrap_or_default();
    if !finding.cwe.is_empty() {
        if !tags.iter().any(|tag| tag == "security") {
            tags.push("security".to_owned());
        }
        tags.extend(weakness_tags(finding));
        let taxa = finding.cwe.iter().filter_map(|id| taxon(id));
        let relations = taxa.map(|taxon| json!({"target": taxon, "kinds": ["superset"]}));
        rule["relationships"] = json!(relations.collect::<Vec<_>>());
        rule["properties"]["security-severity"] = json!(score(finding.severity));
    }
    if let Some(confidence) = facts.and_then(|facts| facts.confidence.as_ref()) {
        rule["properties"]["precision"] = json!(confidence);
    }
    if !tags.is_empty() {
        rule["properties"]["tags"] = json!(tags);
    }
    rule
}

/// The tags of a rule's weaknesses.
fn weakness_tags(finding: &Finding) -> impl Iterator<Item = String> {
    finding.cwe.iter().flat_map(|id| {
        let number = id.strip_prefix("CWE-").unwrap_or(id);
        // GitHub recognizes a weakness by a tag with at least three digits.
        [id.clone(), format!("external/cwe/cwe-{number:0>3}")]
    })
}

/// The tags of a rule: `security` or `quality`, and its places in the OWASP Top Ten.
fn own_tags(facts: &RuleFacts) -> Vec<String> {
    let owasp = facts.owasp.iter().map(|place| format!("OWASP-{place}"));
    facts.category.clone().into_iter().chain(owasp).collect()
}

/// A weakness, as a reference into the taxonomy of the run.
fn taxon(cwe: &str) -> Option<Value> {
    let id = cwe.strip_prefix("CWE-")?;
    Some(json!({"id": id, "toolComponent": {"name": "CWE", "index": 0}}))
}

/// If a code is empty, the sensor's name is the rule's id.
fn rule_id(finding: &Finding) -> &str {
    if finding.code.is_empty() { &finding.sensor } else { &finding.code }
}

/// A displayable id of a rule, which a project may have chosen.
fn shown_id(id: &str) -> String {
    one_line_name(id, LINE_CHARS_MAX)
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info | Severity::Hint => "note",
    }
}

/// Severity as GitHub sorts weaknesses: above 7 is high, above 4 medium.
fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "8.0",
        Severity::Warning => "5.0",
        Severity::Info | Severity::Hint => "3.0",
    }
}

/// The invocation of a run, with its gaps.
fn invocation(reading: &SensorReading, skips: Option<&Evidence>) -> Value {
    let missing = reading.gap.as_ref().filter(|_| !reading.is_switched_off());
    let mut notes: Vec<Value> = missing.into_iter().map(gap).collect();
    let mut is_whole = missing.is_none();
    if let Some(evidence) = skips {
        is_whole &= evidence.skipped.is_empty() && !evidence.readings.is_empty();
        notes.extend(evidence.skipped.iter().map(|one| skip("warning", one)));
        notes.extend(evidence.excluded.iter().map(|one| skip("note", one)));
        notes.extend(evidence.switched_off.iter().map(switched_off));
    }
    json!({"executionSuccessful": is_whole, "toolExecutionNotifications": notes})
}

fn gap(gap: &Gap) -> Value {
    json!({"level": "error", "message": message(&format!("not measured: {gap}"))})
}

fn switched_off(file: &SwitchedOffFile) -> Value {
    let location = json!({"uri": relative(file.path.as_str()), "uriBaseId": ROOT});
    json!({
        "level": "note",
        "message": message(&format!("switched off: {}: {}: {}", file.path, file.sensor, file.gap)),
        "locations": [{"physicalLocation": {"artifactLocation": location}}],
    })
}

fn skip(level: &str, one: &SkippedFile) -> Value {
    let location = json!({"uri": relative(&one.path), "uriBaseId": ROOT});
    json!({
        "level": level,
        "message": message(&format!("skipped: {}: {}", one.path, one.reason)),
        "locations": [{"physicalLocation": {"artifactLocation": location}}],
    })
}

/// A text that a viewer shows, as SARIF wraps it.
fn message(text: &str) -> Value {
    json!({"text": quoted(text.trim(), FOREIGN_TEXT_CHARS_MAX)})
}

/// A path as a percent-encoded URI relative to the root.
fn relative(path: &str) -> String {
    let uri = to_uri(&Path::new("/").join(path));
    uri.trim_start_matches("file:///").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::samples::finding;
    use moai_base::verdict::Cause;
    use moai_scan::RuleSet;

    fn evidence() -> Evidence {
        let found = Finding {
            sensor: "scan".to_owned(),
            cwe: vec!["CWE-95".to_owned()],
            url: Some("https://example.org/eval".to_owned()),
            fix: Some("use a table".to_owned()),
            ..finding("한 글/a.py", 2, "py-eval")
        };
        let gap = Gap::new(Cause::NotInstalled, "not installed");
        Evidence {
            files: vec![found.path.clone()],
            skipped: vec![SkippedFile {
                path: "big.py".into(),
                reason: "larger than 1 MiB".into(),
            }],
            findings: vec![found, finding("b.py", 0, "")],
            readings: vec![
                SensorReading {
                    gap: Some(gap),
                    ..SensorReading::clean("pyright", SensorKind::Lsp, 0)
                },
                SensorReading { dirty: true, ..SensorReading::clean("scan", SensorKind::Scan, 1) },
            ],
            ..Evidence::default()
        }
    }

    #[test]
    fn each_sensor_has_a_run_with_its_rules_and_gaps() {
        let facts = RuleSet::built_in().rules().into_iter().find(|facts| facts.id == "py-eval");
        let facts = facts.expect("a built-in rule");
        let log = sarif_log(Path::new("/r"), &evidence(), std::slice::from_ref(&facts));
        let [pyright, scan] = log["runs"].as_array().expect("runs").as_slice() else {
            panic!("two runs: {log:#}");
        };
        assert_eq!(pyright["tool"]["driver"]["name"], "pyright");
        assert_eq!(pyright["results"][0]["ruleId"], "pyright", "a code may be empty");
        assert_eq!(pyright["invocations"][0]["executionSuccessful"], false);
        let driver = &scan["tool"]["driver"];
        assert_eq!(driver["name"], "moai-ralph");
        let rule = &driver["rules"][0];
        assert_eq!(rule["shortDescription"]["text"], facts.message);
        assert_eq!(rule["properties"]["precision"], "high");
        let tags = rule["properties"]["tags"].as_array().expect("tags");
        for tag in ["security", "CWE-95", "external/cwe/cwe-095"] {
            assert!(tags.contains(&json!(tag)), "{tag}: {rule:#}");
        }
        assert_eq!(scan["taxonomies"][0]["taxa"][0]["id"], "95");
        let place = &scan["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "%ED%95%9C%20%EA%B8%80/a.py");
        assert_eq!(place["region"]["startLine"], 3);
        let notes = scan["invocations"][0]["toolExecutionNotifications"].as_array();
        assert_eq!(notes.map(Vec::len), Some(1), "{scan:#}");
        assert_eq!(scan["invocations"][0]["executionSuccessful"], false, "a file was skipped");
    }

    #[test]
    fn nothing_measured_is_no_successful_run() {
        let log = sarif_log(Path::new("/r"), &Evidence::default(), &[]);
        assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
        assert_eq!(log["runs"][0]["results"], json!([]));
    }
}
