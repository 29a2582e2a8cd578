//! The program's answers, read from the texts of its hooks and the reports of its checks.

use serde_json::Value;

use super::stage::Stage;
use super::truth::{Truth, line_in};
use crate::support::Output;

/// One error that the program reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportedError {
    pub(crate) path: String,
    /// 0-based.
    pub(crate) line: u32,
    pub(crate) code: String,
}

impl ReportedError {
    /// True if a batch result has this error.
    pub(crate) fn is_in(&self, truth: &Truth) -> bool {
        truth.has(&self.path, self.line, &self.code)
    }
}

/// The answer of one hook or one check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// Errors of the language server.
    pub(crate) errors: Vec<ReportedError>,
    pub(crate) clean: Vec<String>,
    /// Why something was not measured.
    pub(crate) gaps: Vec<String>,
    /// True if the text leaves findings out.
    pub(crate) is_cut: bool,
    /// True if a Stop completed its loop.
    pub(crate) is_complete: bool,
    pub(crate) text: String,
}

impl Answer {
    /// True if the Stop reports that it did not measure the files that a configuration concerns.
    pub(crate) fn leaves_out_other_sources(&self) -> bool {
        self.text.contains("other source files (their configuration changed")
    }

    /// A hook's context for the agent, the reason of a blocked Stop, or its message for the user.
    pub(crate) fn of_hook(output: &Output, sensor: &str) -> Self {
        if output.stdout.trim().is_empty() {
            return Self::default();
        }
        let json = output.json();
        let words = [
            &json["hookSpecificOutput"]["additionalContext"],
            &json["reason"],
            &json["systemMessage"],
        ];
        let words: Vec<&str> = words.iter().filter_map(|it| it.as_str()).collect();
        let mut answer = Self { text: words.join("\n"), ..Self::default() };
        for line in answer.text.clone().lines() {
            answer.read(line, sensor);
        }
        answer
    }

    /// The report of `check --json`.
    pub(crate) fn of_check(output: &Output, sensor: &str) -> Self {
        let report = output.json();
        let list = |name: &str| report[name].as_array().cloned().unwrap_or_default();
        let is_error = |it: &Value| it["sensor"] == sensor && it["severity"] == "error";
        let findings = list("findings").into_iter().filter(is_error);
        let errors = findings.map(|it| ReportedError {
            path: it["path"].as_str().unwrap_or_default().to_owned(),
            line: line_in(&it["range"]["start"]["line"]),
            code: it["code"].as_str().unwrap_or_default().to_owned(),
        });
        let of_sensor = list("sensors").into_iter().filter(|it| it["name"] == sensor);
        let mut gaps: Vec<String> =
            of_sensor.filter_map(|it| it["reason"].as_str().map(str::to_owned)).collect();
        gaps.extend(list("files_skipped").iter().map(|it| format!("skipped: {}", it["reason"])));
        Self { errors: errors.collect(), gaps, text: report.to_string(), ..Self::default() }
    }

    /// The same with paths as the project has them.
    pub(crate) fn in_project(mut self, stage: &Stage<'_>) -> Self {
        for error in &mut self.errors {
            error.path = stage.project_path(&error.path).to_owned();
        }
        for path in &mut self.clean {
            *path = stage.project_path(path).to_owned();
        }
        self
    }

    /// True if an error at this place is reported.
    pub(crate) fn names(&self, path: &str, line: u32) -> bool {
        self.errors.iter().any(|error| error.path == path && error.line == line)
    }

    fn read(&mut self, line: &str, sensor: &str) {
        let trimmed = line.trim_start();
        if let Some(rest) = line.strip_prefix("[moai-ralph] ") {
            let header = rest.split_once(": ").filter(|(_, what)| what.starts_with("clean"));
            let name = |path: &str| path.split(" (").next().unwrap_or(path).to_owned();
            self.clean.extend(header.map(|(path, _)| name(path)));
            self.is_complete |= rest.contains("completed after");
        } else if let Some(gap) = trimmed.strip_prefix("not measured: ") {
            self.gaps.push(gap.to_owned());
        } else if let Some(gap) = trimmed.strip_prefix("Not measured: ") {
            self.gaps.push(gap.to_owned());
        } else if trimmed.starts_with('…') {
            self.is_cut = true;
        } else if let Some(finding) = trimmed.strip_prefix("error ").filter(|_| trimmed != line) {
            self.errors.extend(finding_of(finding, sensor));
        }
    }
}

/// `path:line:column sensor(code): message`.
pub(crate) fn finding_of(finding: &str, sensor: &str) -> Option<ReportedError> {
    let (place, words) = finding.split_once(&format!(" {sensor}"))?;
    let mut parts = place.rsplitn(3, ':');
    let (_, line, path) = (parts.next()?, parts.next()?, parts.next()?);
    let line = line.parse::<u32>().ok()?.checked_sub(1)?;
    let code = words.strip_prefix('(').and_then(|rest| rest.split([')', ',']).next());
    Some(ReportedError { path: path.to_owned(), line, code: code.unwrap_or_default().to_owned() })
}
