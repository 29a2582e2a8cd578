//! typescript-language-server pushes late and without versions, but passes tsserver's synchronous
//! commands through `typescript.tsserverRequest`. tsserver works its queue in order, so the answer
//! is for the text sent before the question. Observed with typescript-language-server 6.0.2.

use std::path::Path;

use serde_json::{Value, json};

use super::{METHOD_NOT_FOUND, Step, Subject};
use crate::base::finding::{Finding, Severity};
use crate::base::text::Range;
use crate::base::verdict::{Cause, Gap};
use crate::lsp::faults::INFERRED;
use crate::wire::jsonrpc::RpcError;
use crate::wire::lsp::tsserver_findings;

/// State of one question.
#[derive(Debug, Default)]
pub struct Tsserver {
    stage: Stage,
    is_inferred: bool,
    found: Vec<Finding>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Project,
    /// The files on disk are read anew.
    Reload,
    Syntactic,
    Semantic,
}

impl Tsserver {
    /// vtsls watches the disk itself, and its word lags behind what is created and removed.
    pub(super) fn disk_changed(&mut self) {
        self.stage = Stage::Reload;
    }

    pub(super) fn begin(&mut self, subject: &Subject<'_>) -> Step {
        if self.stage == Stage::Reload {
            return ask("reloadProjects", subject.file);
        }
        self.stage = Stage::Project;
        ask("projectInfo", subject.file)
    }

    pub(super) fn answered(
        &mut self,
        subject: &Subject<'_>,
        answer: Result<&Value, &RpcError>,
    ) -> Step {
        let body = match answer {
            Ok(result) if result["success"] == json!(true) => &result["body"],
            Ok(result) => return refused(result["message"].as_str().unwrap_or("no reason given")),
            Err(error) if error.code == METHOD_NOT_FOUND => return Step::FallBack,
            Err(error) => return refused(&error.message),
        };
        match self.stage {
            Stage::Reload => {
                self.stage = Stage::Project;
                ask("projectInfo", subject.file)
            }
            Stage::Project => {
                let config = body["configFileName"].as_str().unwrap_or_default();
                // An inferred project is named `/dev/null/inferredProject1*`.
                self.is_inferred = config.is_empty() || config.starts_with("/dev/null/");
                self.stage = Stage::Syntactic;
                ask("syntacticDiagnosticsSync", subject.file)
            }
            Stage::Syntactic | Stage::Semantic => {
                let Some(found) = tsserver_findings(subject.about, body) else {
                    return refused("its answer could not be read");
                };
                self.found.extend(found);
                if self.stage == Stage::Syntactic {
                    self.stage = Stage::Semantic;
                    return ask("semanticDiagnosticsSync", subject.file);
                }
                Step::Done(Ok(self.finish(subject)))
            }
        }
    }

    /// Without a tsconfig.json tsserver guesses how modules resolve. Which findings that explains is
    /// for `lsp::faults` to say; here the fact is put beside them.
    fn finish(&mut self, subject: &Subject<'_>) -> Vec<Finding> {
        let mut found = std::mem::take(&mut self.found);
        if self.is_inferred && !found.is_empty() {
            let place = (subject.about.path.clone(), Range::default(), subject.about.hash);
            let text = "the file belongs to no tsconfig.json";
            found.push(Finding::new(subject.about.sensor, INFERRED, Severity::Info, place, text));
        }
        found
    }
}

fn ask(command: &str, file: &Path) -> Step {
    let arguments = json!([command, {
        "file": file.to_string_lossy(), "includeLinePosition": false, "needFileNameList": false,
    }]);
    let params = json!({"command": "typescript.tsserverRequest", "arguments": arguments});
    Step::Ask("workspace/executeCommand", params)
}

fn refused(message: &str) -> Step {
    let gap = if message.contains("No Project") {
        Gap::new(Cause::ProjectFault, "the file belongs to no TypeScript project")
    } else {
        let first = message.lines().next().unwrap_or_default();
        Gap::new(Cause::Crashed, format!("tsserver refused: {first}"))
    };
    Step::Done(Err(gap))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::tests::{with_subject, word};
    use super::*;

    fn check(config: &str, semantic: &Value, expected: &str) {
        let mut state = Tsserver::default();
        let answers = [json!({"configFileName": config}), json!([]), semantic.clone()];
        let last = with_subject(Instant::now(), 0, false, |subject| {
            state.begin(subject);
            answers.map(|body| state.answered(subject, Ok(&json!({"success": true, "body": body}))))
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
    fn a_server_that_did_not_hear_of_the_disk_reads_it_first() {
        let mut state = Tsserver::default();
        state.disk_changed();
        let steps = with_subject(Instant::now(), 0, false, |subject| {
            let first = state.begin(subject);
            [first, state.answered(subject, Ok(&json!({"success": true})))]
        });
        let command = |step: &Step| match step {
            Step::Ask(_, params) => params["arguments"][0].clone(),
            _ => Value::Null,
        };
        assert_eq!(steps.each_ref().map(command), ["reloadProjects", "projectInfo"]);
    }

    #[test]
    fn without_a_project_the_fact_stands_beside_the_findings() {
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
            Tsserver::default().answered(subject, Err(&error))
        });
        assert_eq!(word(&step), "ProjectFault");
    }
}
