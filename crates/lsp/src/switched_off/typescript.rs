//! TypeScript: files without type errors. The server reports the project that covers the file
//! (`projectInfo` of tsserver, `custom/projectInfo` of TypeScript 7); the options are read from
//! that project's configuration. Rules of `canIncludeBindAndCheckDiagnostics` and
//! `skipTypeChecking`; observed with TypeScript 5.9.3 and 7.0.2.

use serde_json::Value;

use super::CheckedFile;
use crate::messages::DiagnosticContext;
use moai_base::finding::{Finding, Severity};
use moai_base::jsonc::parse_jsonc;
use moai_base::text::TextRange;
use moai_base::verdict::{Cause, Gap};

/// Code of the finding by which a completion protocol passes on the configuration that covers the
/// file; its message is the path, empty without one. `faults::explain_findings` removes it.
const PROJECT_MARKER: &str = "covering-project";

/// Code of the finding by which the session passes on an error of that configuration; its message names the file and
/// the error.
const CONFIGURATION_MARKER: &str = "configuration-fault";

/// The marker with the configuration reported by the server.
pub(crate) fn project_marker(about: DiagnosticContext<'_>, config: &str) -> Finding {
    // tsserver's name of an inferred project is `/dev/null/inferredProject1*`.
    let config = if config.starts_with("/dev/null/") { "" } else { config };
    let place = about.place(TextRange::default());
    let marker = Finding::new(about.sensor, PROJECT_MARKER, Severity::Info, place, "");
    // Set directly, because the constructor shortens messages.
    Finding { message: config.to_owned(), ..marker }
}

/// Adds the marker for an error of the configuration that covers the file.
pub(crate) fn mark_configuration_fault(findings: &mut Vec<Finding>, fault: &str) {
    let project = findings.iter().find(|finding| finding.code == PROJECT_MARKER).cloned();
    findings.extend(project.map(|project| Finding {
        code: CONFIGURATION_MARKER.to_owned(),
        message: fault.to_owned(),
        ..project
    }));
}

/// True for a finding that only passes on what the server reported about the covering project.
pub(crate) fn is_project_marker(finding: &Finding) -> bool {
    [PROJECT_MARKER, CONFIGURATION_MARKER].contains(&finding.code.as_str())
}

/// The configuration that the server reported with its findings; empty for a file outside every
/// project, `None` if it reported none.
#[must_use]
pub fn reported_project(findings: &[Finding]) -> Option<&str> {
    marker_message(findings, PROJECT_MARKER)
}

/// The error of that configuration, if the server reported one.
pub(crate) fn reported_configuration_fault(findings: &[Finding]) -> Option<&str> {
    marker_message(findings, CONFIGURATION_MARKER)
}

fn marker_message<'f>(findings: &'f [Finding], code: &str) -> Option<&'f str> {
    let marker = findings.iter().find(|finding| finding.code == code);
    marker.map(|marker| marker.message.as_str())
}

/// The project that covers a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoveringProject {
    /// File name of its configuration; `None` for a file outside every project.
    pub config: Option<String>,
    /// Texts of the configuration and its bases, the bases first.
    pub texts: Vec<String>,
    /// True if a folder of the file has a configuration.
    pub is_near_config: bool,
}

/// Explains why the compiler reports no type errors in this file, or reports them under guessed
/// options.
#[must_use]
pub fn typescript_gap(file: CheckedFile<'_>, project: &CoveringProject) -> Option<Gap> {
    let config = project.config.as_deref();
    let is_javascript = file.language_id.starts_with("javascript");
    let switched_off = match check_directive(file.text) {
        Some(false) => Some(("@ts-nocheck is at its top", "remove the comment".to_owned())),
        directive if is_javascript => {
            let is_checked = directive.or_else(|| option(project, "checkJs")).unwrap_or(false);
            let place = config.unwrap_or("a jsconfig.json that covers the file");
            let remedy =
                format!("set \"checkJs\": true in {place}, or begin the file with // @ts-check");
            (!is_checked).then_some(("checkJs is off", remedy))
        }
        _ => None,
    };
    let is_declaration =
        [".d.ts", ".d.mts", ".d.cts"].iter().any(|it| file.path.as_str().ends_with(it));
    let switched_off = switched_off.or_else(|| {
        let config = config?;
        if option(project, "noCheck") == Some(true) {
            return Some(("noCheck is on", format!("remove it from {config}")));
        }
        let is_skipped = is_declaration && option(project, "skipLibCheck") == Some(true);
        is_skipped.then(|| ("skipLibCheck is on", format!("set it to false in {config}")))
    });
    if let Some((reason, remedy)) = switched_off {
        let detail = format!("checked for syntax only: {reason}");
        return Some(Gap::new(Cause::SwitchedOff, detail).with_remedy(remedy));
    }
    (config.is_none() && project.is_near_config).then(|| {
        let detail = "excluded by the project's configuration: no tsconfig.json covers the file, \
                      so its options are guessed";
        Gap::new(Cause::SwitchedOff, detail).with_remedy("add it to \"include\"")
    })
}

/// The value of a compiler option; a configuration takes precedence over its bases.
fn option(project: &CoveringProject, name: &str) -> Option<bool> {
    project.texts.iter().rev().find_map(|text| {
        let config = parse_jsonc(text).ok().flatten()?;
        config.get("compilerOptions").and_then(|options| options.get(name)).and_then(Value::as_bool)
    })
}

/// The last `// @ts-check` (true) or `// @ts-nocheck` (false) among the comments before the code.
fn check_directive(text: &str) -> Option<bool> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    if rest.starts_with("#!") {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    }
    let mut directive = None;
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("/*") {
            let Some((_, after)) = comment.split_once("*/") else { return directive };
            rest = after;
        } else if let Some(comment) = rest.strip_prefix("//") {
            let (line, after) = comment.split_once('\n').unwrap_or((comment, ""));
            directive = line_directive(line).or(directive);
            rest = after;
        } else {
            return directive;
        }
    }
}

/// The directive in a line comment, after its first two slashes; a third one is allowed.
fn line_directive(line: &str) -> Option<bool> {
    let pragma = line.strip_prefix('/').unwrap_or(line).trim_start().strip_prefix('@')?;
    let end = pragma.find(|it: char| it.is_whitespace() || it == ':').unwrap_or(pragma.len());
    match pragma[..end].to_ascii_lowercase().as_str() {
        "ts-check" => Some(true),
        "ts-nocheck" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::path::RelPath;

    fn gap(path: &str, text: &str, project: &CoveringProject) -> String {
        let language_id = if path.ends_with("js") { "javascript" } else { "typescript" };
        let path = RelPath::parse(path).expect("relative");
        let gap = typescript_gap(CheckedFile { path: &path, language_id, text }, project);
        gap.map(|gap| gap.to_string()).unwrap_or_default()
    }

    fn covered(texts: &[&str]) -> CoveringProject {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        CoveringProject { config: Some("tsconfig.json".into()), texts, is_near_config: true }
    }

    const ON: &str = r#"{"compilerOptions": {"checkJs": true,}} // on"#;
    const OFF: &str = r#"{"compilerOptions": {"checkJs": false}}"#;
    const OTHER: &str = r#"{"compilerOptions": {"allowJs": true}}"#;

    #[test]
    fn javascript_is_checked_where_check_js_or_the_file_says_so() {
        let off = "checked for syntax only: checkJs is off: set \"checkJs\": true in ";
        let cases: [(&str, &[&str], bool); 9] = [
            ("let a", &[ON], true),
            ("let a", &[OTHER], false),
            ("let a", &[ON, OTHER], true),
            ("let a", &[ON, OFF], false),
            ("let a", &[OFF, ON], true),
            ("let a", &[], false),
            ("// @ts-check\nlet a", &[OTHER], true),
            ("#!/usr/bin/node\n/* why */\n\n/// @TS-Check: yes\nlet a", &[], true),
            ("let a // @ts-check", &[], false),
        ];
        for (text, texts, is_checked) in cases {
            let gap = gap("a.js", text, &covered(texts));
            assert_eq!(gap.is_empty(), is_checked, "{text} {texts:?}: {gap}");
            assert!(is_checked || gap.starts_with(&format!("{off}tsconfig.json, or ")), "{gap}");
        }
        let outside = gap("a.js", "", &CoveringProject::default());
        assert!(outside.starts_with(&format!("{off}a jsconfig.json")), "{outside}");
    }

    #[test]
    fn typescript_is_checked_unless_a_comment_or_an_option_switches_it_off() {
        let covering = covered(&[OTHER]);
        assert_eq!(gap("a.ts", "let a", &covering), "");
        let unchecked = "checked for syntax only: @ts-nocheck is at its top: remove the comment";
        assert_eq!(gap("a.ts", "\u{feff}// @ts-nocheck\n", &covering), unchecked);
        assert_eq!(gap("a.js", "// @ts-nocheck\n", &covered(&[ON])), unchecked);
        assert_eq!(gap("a.ts", "// @ts-nocheck\n// @ts-check\n", &covering), "");
        let skips = covered(&[r#"{"compilerOptions": {"skipLibCheck": true}}"#]);
        let skipped =
            "checked for syntax only: skipLibCheck is on: set it to false in tsconfig.json";
        assert_eq!(gap("a.d.ts", "", &skips), skipped);
        assert_eq!(gap("a.ts", "", &skips), "");
        let never = covered(&[r#"{"compilerOptions": {"noCheck": true}}"#]);
        assert!(gap("a.ts", "", &never).starts_with("checked for syntax only: noCheck is on"));
    }

    #[test]
    fn a_file_outside_every_include_is_checked_under_guessed_options() {
        let outside = CoveringProject { is_near_config: true, ..CoveringProject::default() };
        let excluded = "excluded by the project's configuration: no tsconfig.json covers the file";
        assert!(gap("a.ts", "", &outside).starts_with(excluded));
        assert!(gap("a.js", "// @ts-check", &outside).starts_with(excluded));
        assert_eq!(gap("a.ts", "", &CoveringProject::default()), "", "there is no configuration");
    }
}
