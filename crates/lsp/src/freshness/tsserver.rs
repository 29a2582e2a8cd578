//! typescript-language-server pushes late and without versions, but forwards tsserver's synchronous
//! commands through `typescript.tsserverRequest`. tsserver processes its queue in order, so the
//! answer is for the text sent before the request. Observed with typescript-language-server 6.0.2.

use std::path::Path;

use serde_json::{Value, json};

use super::{METHOD_NOT_FOUND, MeasurementContext, ProtocolStep};
use crate::faults::INFERRED_PROJECT;
use crate::jsonrpc::RpcError;
use crate::messages::parse_tsserver_diagnostics;
use moai_base::finding::{Finding, Severity};
use moai_base::text::TextRange;
use moai_base::verdict::{Cause, Gap};

/// State of one measurement.
#[derive(Debug, Default)]
pub(crate) struct TsserverProtocol {
    stage: TsserverStage,
    is_inferred: bool,
    findings: Vec<Finding>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TsserverStage {
    #[default]
    Project,
    /// tsserver rereads the files on disk.
    Reload,
    Syntactic,
    Semantic,
}

impl TsserverProtocol {
    /// vtsls watches the disk itself, and its results lag behind created and removed files.
    pub(super) fn disk_changed(&mut self) {
        self.stage = TsserverStage::Reload;
    }

    pub(super) fn begin(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        if self.stage == TsserverStage::Reload {
            return tsserver_request("reloadProjects", subject.file);
        }
        self.stage = TsserverStage::Project;
        tsserver_request("projectInfo", subject.file)
    }

    pub(super) fn on_response(
        &mut self,
        subject: &MeasurementContext<'_>,
        answer: Result<&Value, &RpcError>,
    ) -> ProtocolStep {
        let body = match answer {
            Ok(result) if result["success"] == json!(true) => &result["body"],
            Ok(result) => {
                return refused_step(result["message"].as_str().unwrap_or("no reason given"));
            }
            Err(error) if error.code == METHOD_NOT_FOUND => return ProtocolStep::FallBack,
            Err(error) => return refused_step(&error.message),
        };
        match self.stage {
            TsserverStage::Reload => {
                self.stage = TsserverStage::Project;
                tsserver_request("projectInfo", subject.file)
            }
            TsserverStage::Project => {
                let config = body["configFileName"].as_str().unwrap_or_default();
                // An inferred project is named `/dev/null/inferredProject1*`.
                self.is_inferred = config.is_empty() || config.starts_with("/dev/null/");
                self.stage = TsserverStage::Syntactic;
                tsserver_request("syntacticDiagnosticsSync", subject.file)
            }
            TsserverStage::Syntactic | TsserverStage::Semantic => {
                let Some(found) = parse_tsserver_diagnostics(subject.about, body) else {
                    return refused_step("its answer could not be read");
                };
                self.findings.extend(found);
                if self.stage == TsserverStage::Syntactic {
                    self.stage = TsserverStage::Semantic;
                    return tsserver_request("semanticDiagnosticsSync", subject.file);
                }
                ProtocolStep::Done(Ok(self.finish(subject)))
            }
        }
    }

    /// Without a tsconfig.json tsserver guesses how modules resolve. `lsp::faults` decides which
    /// findings that explains; the fact is added to the findings here.
    fn finish(&mut self, subject: &MeasurementContext<'_>) -> Vec<Finding> {
        let mut found = std::mem::take(&mut self.findings);
        if self.is_inferred && !found.is_empty() {
            let place = subject.about.place(TextRange::default());
            let text = "the file belongs to no tsconfig.json";
            found.push(Finding::new(
                subject.about.sensor,
                INFERRED_PROJECT,
                Severity::Info,
                place,
                text,
            ));
        }
        found
    }
}

fn tsserver_request(command: &str, file: &Path) -> ProtocolStep {
    let arguments = json!([command, {
        "file": file.to_string_lossy(), "includeLinePosition": false, "needFileNameList": false,
    }]);
    let params = json!({"command": "typescript.tsserverRequest", "arguments": arguments});
    ProtocolStep::SendRequest("workspace/executeCommand", params)
}

fn refused_step(message: &str) -> ProtocolStep {
    let gap = if message.contains("No Project") {
        Gap::new(Cause::ProjectFault, "the file belongs to no TypeScript project")
    } else {
        let first = message.lines().next().unwrap_or_default();
        Gap::new(Cause::Crashed, format!("tsserver refused: {first}"))
    };
    ProtocolStep::Done(Err(gap))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::tests::{with_subject, word};
    use super::*;

    fn check(config: &str, semantic: &Value, expected: &str) {
        let mut state = TsserverProtocol::default();
        let answers = [json!({"configFileName": config}), json!([]), semantic.clone()];
        let last = with_subject(Instant::now(), 0, false, |subject| {
            state.begin(subject);
            answers
                .map(|body| state.on_response(subject, Ok(&json!({"success": true, "body": body}))))
        });
        assert_eq!(word(&last[2]), expected);
    }

    fn diagnostic(code: u32) -> Value {
        let place = json!({"line": 1, "offset": 1});
        json!({"start": place, "end": place, "text": "x", "code": code, "category": "error"})
    }

    #[test]
    fn both_stages_make_the_verdict() {
        check("/r/tsconfig.json", &json!([]), "clean");
        check("/r/tsconfig.json", &json!([diagnostic(2307)]), "1 found");
        check("/r/tsconfig.json", &json!(null), "Crashed");
    }

    #[test]
    fn a_server_without_disk_notifications_reads_the_disk_first() {
        let mut state = TsserverProtocol::default();
        state.disk_changed();
        let steps = with_subject(Instant::now(), 0, false, |subject| {
            let first = state.begin(subject);
            [first, state.on_response(subject, Ok(&json!({"success": true})))]
        });
        let command = |step: &ProtocolStep| match step {
            ProtocolStep::SendRequest(_, params) => params["arguments"][0].clone(),
            _ => Value::Null,
        };
        assert_eq!(steps.each_ref().map(command), ["reloadProjects", "projectInfo"]);
    }

    #[test]
    fn without_a_project_a_marker_is_added_to_the_findings() {
        check("/dev/null/inferredProject1*", &json!([diagnostic(2307)]), "2 found");
        check("/dev/null/inferredProject1*", &json!([]), "clean");
    }

    #[test]
    fn a_file_outside_every_project_is_not_clean() {
        let error = RpcError {
            code: 1,
            message: "TypeScript Server Error (5.9.3)\nNo Project.".into(),
            data: Value::Null,
        };
        let step = with_subject(Instant::now(), 0, false, |subject| {
            TsserverProtocol::default().on_response(subject, Err(&error))
        });
        assert_eq!(word(&step), "ProjectFault");
    }
}
