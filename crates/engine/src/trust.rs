//! `trust`: shows the programs that a project configures or contains, and records that the user allows them
//! to run.

use std::path::Path;
use std::sync::Arc;

use crate::engine::{Engine, run_blocking};
use crate::exam::check_plan::check_plan;
use crate::person;
use crate::project::Project;
use crate::project::project_root;
use crate::project::trust::ProjectTrust;
use crate::replies::{INVALID, REFUSED};
use moai_host::trust::{ProgramFiles, TrustRecord, TrustRecords};
use moai_loops::criteria::{AUTOCHECKS, CheckScope};
use moai_lsp::registry::ServerSpec;
use moai_protocol::control::{CallerContext, CommandReply, TrustAction, TrustRequest};
use moai_protocol::documents::json_text;
use moai_protocol::documents::trust::{ProjectProgram, TrustDocument};
use moai_report::trust::trust_text;

/// Usual places of interpreters that a project contains, relative to the root.
const INTERPRETERS: [&str; 2] = [".venv/bin/python", "venv/bin/python"];
/// The folder of the programs of npm packages, relative to the root.
const NPM_PROGRAMS: &str = "node_modules/.bin";

/// A process that an agent detached from itself has no terminal.
const NO_TERMINAL: &str = "moai-ralph: trust is for a person: this process has no terminal; \
                           MOAI_RALPH_TRUST=1 trusts the project for one call";

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: TrustRequest,
) -> CommandReply {
    let (engine, caller) = (Arc::clone(engine), caller.clone());
    let done = run_blocking(move || answer(&engine, &caller, request)).await;
    done.unwrap_or_else(|| CommandReply::failure(REFUSED, "moai-ralph: internal error"))
}

fn answer(engine: &Engine, caller: &CallerContext, request: TrustRequest) -> CommandReply {
    // Instructions that a repository gives to an agent must not decide which of its programs run.
    if request.action != TrustAction::Show && person::is_agent(engine, caller) {
        let text = "moai-ralph: trust is for a person: an agent started this shell";
        return CommandReply::failure(REFUSED, text);
    }
    if request.action == TrustAction::Grant && !person::has_terminal(caller) {
        return CommandReply::failure(REFUSED, NO_TERMINAL);
    }
    let root = project_root(caller);
    let records = TrustRecords::new(&engine.dirs.state);
    let unwritten = |error: std::io::Error| {
        let message = format!("moai-ralph: the record of trusted projects: {error}");
        CommandReply::failure(REFUSED, &message)
    };
    // Before the files are read, because broken ones must not prevent it.
    if request.action == TrustAction::Revoke
        && let Err(error) = records.remove(&root)
    {
        return unwritten(error);
    }
    // Read before the programs are listed: a file that changes in between ends the trust.
    let files = ProgramFiles::read(&root);
    let programs = match project_programs(engine, caller, &root) {
        Ok(programs) => programs,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    let is_trusted = request.action == TrustAction::Grant;
    let decision = TrustRecord { root: root.clone(), files: files.clone(), is_trusted };
    if matches!(request.action, TrustAction::Grant | TrustAction::Decline)
        && let Err(error) = records.add(&decision)
    {
        return unwritten(error);
    }
    let has_declined = records.find(&root).is_some_and(|record| {
        !record.is_trusted && files.first_difference(&record.files).is_none()
    });
    let trust = ProjectTrust::of_root(&engine.dirs.state, &root, &caller.env);
    let document = TrustDocument {
        root: &root,
        trusted: trust.is_trusted(),
        by: trust.source(),
        changed: match trust {
            ProjectTrust::Changed(file) => Some(file),
            _ => None,
        },
        declined: has_declined,
        programs: &programs,
        files: files.names().collect(),
    };
    let text = if request.json { json_text(&document) } else { trust_text(&document) };
    let mut reply = CommandReply::success(text);
    if let Some(source) = trust.source().filter(|_| request.action == TrustAction::Revoke) {
        reply.code = REFUSED;
        reply.stderr = format!("moai-ralph: still trusted by the {source}\n");
    }
    reply
}

/// The programs that run in this project once it is trusted, in a fixed order.
fn project_programs(
    engine: &Engine,
    caller: &CallerContext,
    root: &Path,
) -> Result<Vec<ProjectProgram>, String> {
    let load = |trust| Project::load_with_trust(engine, caller, root, trust);
    let (trusted, untrusted) = (load(ProjectTrust::ByCommand)?, load(ProjectTrust::Unknown)?);
    let mut programs = Vec::new();
    for (id, spec) in trusted.workspace.catalogue.servers() {
        if let Some(file) = trusted.described_servers.get(id) {
            programs.push(server_program(id, spec, file));
        } else if untrusted.config.withheld.servers.contains(id) {
            programs.push(server_program(id, spec, "ralph.yaml"));
        } else if spec.restricted().is_none() {
            let mut markers = spec.root_markers.iter();
            if let Some(marker) = markers.find(|marker| root.join(marker).is_file()) {
                programs.push(ProjectProgram { kind: "build", ..server_program(id, spec, marker) });
            }
        } else if spec.when.is_some() && root.join(NPM_PROGRAMS).join(&spec.command).exists() {
            let own = format!("{NPM_PROGRAMS}/{}", spec.command);
            programs.push(ProjectProgram { command: vec![own], ..server_program(id, spec, "") });
        }
    }
    for place in INTERPRETERS.into_iter().filter(|place| root.join(place).exists()) {
        let (name, command) = ("python".to_owned(), vec![place.to_owned()]);
        let source = String::new();
        programs.push(ProjectProgram { kind: "interpreter", name, command, source });
    }
    if root.join(AUTOCHECKS).symlink_metadata().is_ok() {
        let (name, source) = (AUTOCHECKS.to_owned(), AUTOCHECKS.to_owned());
        let command = vec![AUTOCHECKS.to_owned()];
        programs.push(ProjectProgram { kind: "check", name, command, source });
    }
    for check in check_plan(&trusted, CheckScope::Proposed).commands {
        let (name, command, source) = (check.name, check.argv, check.source);
        programs.push(ProjectProgram { kind: "check", name, command, source });
    }
    if untrusted.config.withheld.has_judge {
        for judge in trusted.config.judge.judges() {
            let command = if judge.url.is_empty() { judge.command } else { vec![judge.url] };
            let (name, source) = (judge.name, "ralph.yaml".to_owned());
            programs.push(ProjectProgram { kind: "judge", name, command, source });
        }
    }
    Ok(programs)
}

fn server_program(id: &str, spec: &ServerSpec, source: &str) -> ProjectProgram {
    let command = std::iter::once(&spec.command).chain(&spec.args).cloned().collect();
    ProjectProgram { kind: "server", name: id.to_owned(), command, source: source.to_owned() }
}
