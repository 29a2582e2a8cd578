//! `config`: shows the options with their origins, and sets one in the project's file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::engine::{Engine, run_blocking};
use crate::person;
use crate::project::trust::ProjectTrust;
use crate::project::{self, Project, project_root};
use crate::replies::{INVALID, REFUSED};
use moai_base::foreign_text::one_line;
use moai_base::limits::LINE_CHARS_MAX;
use moai_config::origins::{EffectiveOption, option_values};
use moai_config::set_option::with_option;
use moai_config::{Config, OptionFile, is_for_users_only, shown_team_url};
use moai_host::files::{link_out_of, transaction};
use moai_protocol::control::{CallerContext, CommandReply, ConfigAction, ConfigRequest};
use moai_protocol::documents::json_text;
use moai_protocol::documents::options::{OptionEntry, OptionsDocument};
use moai_report::options;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: ConfigRequest,
) -> CommandReply {
    let (engine, caller) = (Arc::clone(engine), caller.clone());
    let done = run_blocking(move || match &request.action {
        ConfigAction::Show { key } => show(&engine, &caller, key, request.json),
        ConfigAction::Set { key, value } => set(&engine, &caller, key, value),
    })
    .await;
    done.unwrap_or_else(|| CommandReply::failure(REFUSED, "moai-ralph: internal error"))
}

/// The options at or below a key, for a slash command. The error is one line.
pub(crate) fn shown_options(
    engine: &Engine,
    caller: &CallerContext,
    key: &str,
) -> Result<String, String> {
    Ok(options::option_list(&entries(engine, caller, key)?))
}

fn show(engine: &Engine, caller: &CallerContext, key: &str, as_json: bool) -> CommandReply {
    match entries(engine, caller, key) {
        Ok(entries) if as_json => {
            CommandReply::success(json_text(&OptionsDocument { options: &entries }))
        }
        Ok(entries) => CommandReply::success(options::option_list(&entries)),
        Err(error) => CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    }
}

fn entries(engine: &Engine, caller: &CallerContext, key: &str) -> Result<Vec<OptionEntry>, String> {
    let project = Project::load(engine, caller)?;
    let user_file = &engine.dirs.user_config;
    let is_trusted = project.trust.is_trusted();
    let files = project::option_files_of(user_file, &project.root, is_trusted)?;
    let entry = |it: EffectiveOption| OptionEntry {
        key: it.key,
        value: if it.key == "memory.url" { shown_team_url(&it.value) } else { it.value },
        origin: it.origin.to_string(),
    };
    let entries: Vec<OptionEntry> =
        option_values(&files, &caller.env, key).into_iter().map(entry).collect();
    if entries.is_empty() {
        return Err(format!("no option is named {key}: moai-ralph config show lists them all"));
    }
    Ok(entries)
}

/// Only for a person, because options decide how an agent's work is measured.
fn set(engine: &Engine, caller: &CallerContext, key: &str, value: &str) -> CommandReply {
    if person::is_agent(engine, caller) {
        let text = "moai-ralph: config set is for a person: an agent started this shell";
        return CommandReply::failure(REFUSED, text);
    }
    // A process that an agent detached has no ancestors that betray it.
    if !person::has_terminal(caller) {
        let text =
            "moai-ralph: config set is for a person at a terminal: edit the project's file instead";
        return CommandReply::failure(REFUSED, text);
    }
    match set_in_project(engine, caller, key, value) {
        Ok(text) => CommandReply::success(text),
        Err(error) => {
            let line = one_line(&error, LINE_CHARS_MAX);
            CommandReply::failure(INVALID, &format!("moai-ralph: {line}"))
        }
    }
}

fn set_in_project(
    engine: &Engine,
    caller: &CallerContext,
    key: &str,
    value: &str,
) -> Result<String, String> {
    if is_for_users_only(key) {
        let own = engine.dirs.user_config.display();
        return Err(format!("{key} has no effect in a project's file; set it in {own}"));
    }
    let root = project_root(caller);
    let trust_before = ProjectTrust::of_root(&engine.dirs.state, &root, &caller.env);
    let path = project::option_file(&root);
    if let Some(link) = link_out_of(&root, &path) {
        return Err(format!(
            "{} is a link out of the project, and is not followed",
            link.display()
        ));
    }
    let name = path.display().to_string();
    let text = project::option_files::read_option_file(&path)?.unwrap_or_default();
    let file = OptionFile { name: name.clone(), text, is_trusted: true, is_of_user: false };
    let text = with_option(&file, key, value).map_err(|error| error.to_string())?;
    let new = OptionFile { text: text.clone(), ..file };
    let catalogue = moai_lsp::registry::Catalogue::built_in();
    Config::load(&[new], &BTreeMap::new(), catalogue).map_err(|error| error.to_string())?;
    write(engine, caller, &path, &text)?;
    let has_ended_trust = trust_before == ProjectTrust::ByCommand
        && !ProjectTrust::of_root(&engine.dirs.state, &root, &caller.env).is_trusted();
    let note = if has_ended_trust {
        "\nthe project's programs run again after moai-ralph trust, because it is bound to this file"
    } else {
        ""
    };
    Ok(format!("{key} is {} in {name}{note}\n", value.trim()))
}

fn write(engine: &Engine, caller: &CallerContext, path: &Path, text: &str) -> Result<(), String> {
    let project = Project::load_or_default(engine, caller);
    let journal = project.key.folder(&engine.dirs.state);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    transaction::replace_file(path, &journal, text.as_bytes()).map_err(|error| error.to_string())
}
