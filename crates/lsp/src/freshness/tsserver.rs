//! typescript-language-server pushes late and without versions, but forwards tsserver's synchronous
//! commands through `typescript.tsserverRequest`. tsserver processes its queue in order, so the
//! answer is for the text sent before the request. Observed with typescript-language-server 6.0.2.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{METHOD_NOT_FOUND, MeasurementContext, ProtocolStep};
use crate::jsonrpc::RpcError;
use crate::messages::{first_configuration_fault, parse_tsserver_diagnostics};
use crate::session::outside::ListedProject;
use crate::switched_off::project_marker;
use moai_base::finding::Finding;
use moai_base::limits::CONFIG_BASES_MAX;
use moai_base::verdict::{Cause, Gap};

/// State of one measurement.
#[derive(Debug, Default)]
pub(crate) struct TsserverProtocol {
    stage: TsserverStage,
    /// This measurement has requested the project's files.
    has_asked_files: bool,
    listed: Option<ListedProject>,
    /// The bases of the project's configuration, then itself, until their errors are known; the last one is requested.
    unread_configurations: Vec<PathBuf>,
    /// Begins with a marker for the covering project.
    findings: Vec<Finding>,
    /// Of the project lists, when the files of the project were requested.
    change_count: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TsserverStage {
    #[default]
    Project,
    /// tsserver rereads the files on disk.
    Reload,
    /// Errors in the project's configuration, then in its bases.
    Configuration,
    /// Errors of its options that have no place.
    Options,
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
        self.project_request(subject)
    }

    /// Requests the file's project, and its files only on demand, because the list of a large
    /// project is long.
    fn project_request(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        self.stage = TsserverStage::Project;
        self.has_asked_files |= subject.project_lists.are_outdated();
        self.change_count = subject.project_lists.change_count();
        execute_request("projectInfo", subject.file, self.has_asked_files)
    }

    /// Requests the errors of the listed project's configuration. The list ends with it and its bases.
    fn configuration_request(&mut self, config: &str, files: &[Value]) -> ProtocolStep {
        let own = files.iter().rposition(|file| file == config);
        let bases = own.map_or(&[][..], |at| &files[at + 1..]).iter().take(CONFIG_BASES_MAX);
        let bases = bases.filter_map(Value::as_str).map(PathBuf::from);
        self.unread_configurations = bases.chain([PathBuf::from(config)]).collect();
        self.stage = TsserverStage::Configuration;
        configuration_step("semanticDiagnosticsSync", Path::new(config), config)
    }

    /// The answer about a configuration, or about the options without a place.
    fn on_configuration(
        &mut self,
        subject: &MeasurementContext<'_>,
        diagnostics: &[Value],
    ) -> ProtocolStep {
        let project = self.listed.as_ref().map_or("", |listed| &listed.name).to_owned();
        let file = self.unread_configurations.pop().unwrap_or_else(|| PathBuf::from(&project));
        let fault = first_configuration_fault(&file, diagnostics);
        if fault.is_none() && self.stage == TsserverStage::Configuration {
            if let Some(base) = self.unread_configurations.last() {
                return configuration_step("semanticDiagnosticsSync", base, &project);
            }
            self.stage = TsserverStage::Options;
            return configuration_step("compilerOptionsDiagnostics-full", &file, &project);
        }
        if let Some(listed) = &mut self.listed {
            listed.fault = fault;
        }
        self.syntactic_request(subject)
    }

    fn refused_step(&self, message: &str) -> ProtocolStep {
        let is_about_options =
            matches!(self.stage, TsserverStage::Configuration | TsserverStage::Options);
        let first = message.lines().next().unwrap_or_default();
        let gap = if is_about_options {
            let detail = format!("tsserver does not check the project's configuration: {first}");
            Gap::new(Cause::Crashed, detail)
        } else if message.contains("No Project") {
            Gap::new(Cause::ProjectFault, "the file belongs to no TypeScript project")
        } else {
            Gap::new(Cause::Crashed, format!("tsserver refused: {first}"))
        };
        ProtocolStep::Done(Err(gap))
    }

    fn syntactic_request(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        self.stage = TsserverStage::Syntactic;
        tsserver_request("syntacticDiagnosticsSync", subject.file)
    }

    /// The listed project, once the errors of its configuration are known.
    pub(super) fn take_listed_project(&mut self) -> Option<ListedProject> {
        self.listed.take_if(|_| self.stage == TsserverStage::Syntactic)
    }

    pub(super) fn on_response(
        &mut self,
        subject: &MeasurementContext<'_>,
        answer: Result<&Value, &RpcError>,
    ) -> ProtocolStep {
        let body = match answer {
            Ok(result) if result["success"] == json!(true) => &result["body"],
            Ok(result) => {
                let message = result["message"].as_str().unwrap_or("no reason given");
                return self.refused_step(message);
            }
            Err(error) if error.code == METHOD_NOT_FOUND => return ProtocolStep::FallBack,
            Err(error) => return self.refused_step(&error.message),
        };
        match self.stage {
            TsserverStage::Reload => self.project_request(subject),
            TsserverStage::Project => {
                let config = body["configFileName"].as_str().unwrap_or_default();
                // The name of an inferred project is `/dev/null/inferredProject1*`. It also changes
                // when a document is opened or closed.
                let is_inferred = config.is_empty() || config.starts_with("/dev/null/");
                let is_known = !is_inferred && subject.project_lists.is_current(config);
                if !is_known && !self.has_asked_files {
                    self.has_asked_files = true;
                    return self.project_request(subject);
                }
                let files = body["fileNames"].as_array();
                self.listed = files.map(|files| listed_project(config, files, self.change_count));
                self.findings = vec![project_marker(subject.about, config)];
                let Some(files) = files.filter(|_| !is_inferred) else {
                    return self.syntactic_request(subject);
                };
                self.configuration_request(config, files)
            }
            TsserverStage::Configuration | TsserverStage::Options => {
                let Some(diagnostics) = body.as_array() else {
                    return self.refused_step("its answer could not be read");
                };
                self.on_configuration(subject, diagnostics)
            }
            TsserverStage::Syntactic | TsserverStage::Semantic => {
                let Some(found) = parse_tsserver_diagnostics(subject.about, body) else {
                    return self.refused_step("its answer could not be read");
                };
                self.findings.extend(found);
                if self.stage == TsserverStage::Syntactic {
                    self.stage = TsserverStage::Semantic;
                    return tsserver_request("semanticDiagnosticsSync", subject.file);
                }
                ProtocolStep::Done(Ok(std::mem::take(&mut self.findings)))
            }
        }
    }
}

fn listed_project(config: &str, files: &[Value], change_count: u64) -> ListedProject {
    let files = files.iter().filter_map(Value::as_str).map(PathBuf::from).collect();
    ListedProject { name: config.to_owned(), files, fault: None, change_count }
}

fn tsserver_request(command: &str, file: &Path) -> ProtocolStep {
    execute_request(command, file, false)
}

fn execute_request(command: &str, file: &Path, with_files: bool) -> ProtocolStep {
    let arguments = json!({
        "file": file.to_string_lossy(), "includeLinePosition": false,
        "needFileNameList": with_files,
    });
    command_step(command, &arguments)
}

/// A request about a configuration of a project.
fn configuration_step(command: &str, file: &Path, project: &str) -> ProtocolStep {
    let arguments = json!({"file": file.to_string_lossy(), "projectFileName": project});
    command_step(command, &arguments)
}

fn command_step(command: &str, arguments: &Value) -> ProtocolStep {
    let arguments = json!([command, arguments]);
    let params = json!({"command": "typescript.tsserverRequest", "arguments": arguments});
    ProtocolStep::SendRequest("workspace/executeCommand", params)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::tests::{with_subject, word};
    use super::*;
    use crate::session::outside::ProjectLists;
    use crate::switched_off::reported_project;

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
        check("/r/tsconfig.json", &json!([]), "1 found");
        check("/r/tsconfig.json", &json!([diagnostic(2307)]), "2 found");
        check("/r/tsconfig.json", &json!(null), "Crashed");
    }

    /// The commands of a measurement whose project is listed with these answers about a base of its configuration and
    /// about its options, and the fault of the listed project.
    fn configuration_steps(base: &Value, options: &Value) -> (Vec<Value>, Option<String>) {
        let mut state = TsserverProtocol::default();
        let files = ["/r/a.ts", "/r/tsconfig.json", "/r/base.json"];
        let project = json!({"configFileName": "/r/tsconfig.json", "fileNames": files});
        let mut commands = Vec::new();
        let mut fault = None;
        with_subject(Instant::now(), 0, false, |subject| {
            let mut step = state.begin(subject);
            while let ProtocolStep::SendRequest(_, params) = &step {
                let (command, arguments) = (&params["arguments"][0], &params["arguments"][1]);
                let body = match command.as_str() {
                    Some("projectInfo") => project.clone(),
                    Some("compilerOptionsDiagnostics-full") => options.clone(),
                    _ if arguments["file"] == "/r/base.json" => base.clone(),
                    _ => json!([]),
                };
                commands.push(command.clone());
                step = state.on_response(subject, Ok(&json!({"success": true, "body": body})));
                if let Some(listed) = state.take_listed_project() {
                    fault = listed.fault.map(|fault| fault.describe(Path::new("/r")));
                }
            }
        });
        (commands, fault)
    }

    #[test]
    fn the_errors_of_a_listed_configuration_are_requested() {
        let none = json!([]);
        let place = json!({"line": 1, "offset": 1});
        let unknown =
            json!([{"start": place, "category": "error", "code": 5023, "text": "Unknown."}]);
        let emit = json!([{"category": "error", "code": 5055, "message": "Cannot write file"}]);
        let missing = json!([
            {"category": "warning", "code": 1, "message": "x"},
            {"category": "error", "code": 2688, "message": "Cannot find\nmore"},
        ]);
        let all = [
            "projectInfo",
            "semanticDiagnosticsSync",
            "semanticDiagnosticsSync",
            "compilerOptionsDiagnostics-full",
            "syntacticDiagnosticsSync",
            "semanticDiagnosticsSync",
        ];
        let (commands, fault) = configuration_steps(&none, &emit);
        assert_eq!((commands, fault), (all.map(Value::from).to_vec(), None));
        let (_, fault) = configuration_steps(&none, &missing);
        assert_eq!(fault.as_deref(), Some("tsconfig.json has an error: Cannot find"));
        let (commands, fault) = configuration_steps(&unknown, &missing);
        assert_eq!(
            (commands.len(), fault.as_deref()),
            (5, Some("base.json has an error: Unknown"))
        );
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

    /// The arguments of `projectInfo` while the list of this project is current.
    fn asked_files(current: Option<&str>, body: &Value) -> (Vec<bool>, Option<ListedProject>) {
        let mut lists = ProjectLists::default();
        let files = Vec::new();
        let current = current.map(|name| ListedProject {
            name: name.to_owned(),
            files,
            fault: None,
            change_count: 0,
        });
        if let Some(project) = current {
            lists.store(Path::new("/r"), project);
        }
        let mut state = TsserverProtocol::default();
        let mut asked = Vec::new();
        let mut listed = None;
        with_subject(Instant::now(), 0, false, |subject| {
            let subject = MeasurementContext { project_lists: &lists, ..*subject };
            let mut step = state.begin(&subject);
            while let ProtocolStep::SendRequest(_, params) = &step {
                let is_about_project = params["arguments"][0] == "projectInfo";
                if is_about_project {
                    asked.push(params["arguments"][1]["needFileNameList"] == true);
                }
                let body = if is_about_project { body.clone() } else { json!([]) };
                step = state.on_response(&subject, Ok(&json!({"success": true, "body": body})));
                listed = listed.take().or_else(|| state.take_listed_project());
            }
        });
        (asked, listed)
    }

    #[test]
    fn a_projects_files_are_listed_once_per_change_on_disk() {
        let (config, files) = ("/r/tsconfig.json", ["/r/a.ts", "/q/b.ts"]);
        let listing = json!({"configFileName": config, "fileNames": files});
        let listed = ListedProject {
            name: config.to_owned(),
            files: files.map(PathBuf::from).to_vec(),
            fault: None,
            change_count: 0,
        };
        assert_eq!(asked_files(None, &listing), (vec![true], Some(listed.clone())));
        assert_eq!(
            asked_files(Some("/r/b/tsconfig.json"), &listing),
            (vec![false, true], Some(listed))
        );
        let plain = json!({"configFileName": config});
        assert_eq!(asked_files(Some(config), &plain), (vec![false], None));
        assert_eq!(asked_files(None, &plain), (vec![true], None), "a server without lists");
        let inferred = "/dev/null/inferredProject1*";
        let listing = json!({"configFileName": inferred, "fileNames": []});
        assert_eq!(asked_files(Some(inferred), &listing).0, [false, true]);
    }

    #[test]
    fn the_covering_project_is_handed_on() {
        let covering = |config: &str| {
            let mut state = TsserverProtocol::default();
            let body = json!({"success": true, "body": {"configFileName": config}});
            with_subject(Instant::now(), 0, false, |subject| {
                state.begin(subject);
                state.on_response(subject, Ok(&body));
            });
            reported_project(&state.findings).map(str::to_owned)
        };
        assert_eq!(covering("/r/tsconfig.json").as_deref(), Some("/r/tsconfig.json"));
        assert_eq!(covering("/dev/null/inferredProject1*").as_deref(), Some(""));
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
