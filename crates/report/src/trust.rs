//! `trust` as text.

use std::fmt::Write as _;

use super::sanitized_name;
use moai_protocol::documents::trust::{ProjectProgram, TrustDocument};

/// The programs that a trusted project runs, and whether this project is trusted.
#[must_use]
pub fn trust_text(document: &TrustDocument<'_>) -> String {
    let mut text = String::new();
    let root = sanitized_name(&document.root.to_string_lossy());
    if document.programs.is_empty() {
        let _ = writeln!(text, "{root} names and contains no program that would run");
    } else {
        let _ = writeln!(text, "programs that {root} names or contains:");
    }
    for program in document.programs {
        let _ = writeln!(text, "  {}", program_line(program));
    }
    let status = match (document.by, document.changed) {
        (Some("command"), _) if document.files.is_empty() => "trusted".to_owned(),
        (Some("command"), _) => {
            format!("trusted until one of these files changes: {}", document.files.join(", "))
        }
        (Some("host"), _) => "trusted by the host's trust dialog".to_owned(),
        (Some(_), _) => "trusted for this call by MOAI_RALPH_TRUST=1".to_owned(),
        (None, Some(file)) => {
            format!("not trusted since {file} changed: moai-ralph trust accepts it")
        }
        (None, None) if document.programs.is_empty() => "not trusted".to_owned(),
        (None, None) => "not trusted: these programs do not run".to_owned(),
    };
    let _ = writeln!(text, "{status}");
    text
}

fn program_line(program: &ProjectProgram) -> String {
    let command = sanitized_name(&program.command.join(" "));
    let name = sanitized_name(&program.name);
    let line = match program.kind {
        "build" => return format!("build: {name} runs the project's build ({})", program.source),
        kind if program.command.first() == Some(&program.name) || name == command => {
            format!("{kind}: {command}")
        }
        kind => format!("{kind} {name}: {command}"),
    };
    match program.source.as_str() {
        source if source.is_empty() || source == program.name => line,
        source => format!("{line} ({})", sanitized_name(source)),
    }
}
