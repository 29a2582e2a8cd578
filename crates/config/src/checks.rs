//! Options of the project's checks in a loop.

use serde::Deserialize;

use super::{Config, OptionRefusal, set};
use moai_base::limits::CHECKS_MAX;
use moai_base::path::RelPath;
use moai_loops::criteria::{CheckCommand, CheckCriterion, OPTIONS, command_line};

/// One entry of `loop.checks`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckEntry {
    name: Option<String>,
    command: CommandEntry,
    kind: Option<String>,
    timeout_secs: Option<u64>,
    folder: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a command as one line, or a list of program and arguments")]
enum CommandEntry {
    Text(String),
    List(Vec<String>),
}

impl Config {
    pub(super) fn apply_checks(
        &mut self,
        criteria: Option<Vec<String>>,
        checks: Option<Vec<CheckEntry>>,
        proposes: Option<bool>,
    ) -> Result<(), OptionRefusal> {
        set(&mut self.propose_checks, proposes);
        if let Some(words) = criteria {
            let parsed = words.iter().map(|word| criterion(word, "loop.success_criteria"));
            self.success_criteria = parsed.collect::<Result<_, _>>()?;
        }
        if let Some(checks) = checks {
            if checks.len() > CHECKS_MAX {
                let reason = format!("{} checks; at most {CHECKS_MAX}", checks.len());
                return Err(("loop.checks".to_owned(), reason));
            }
            self.checks = checks.into_iter().map(command).collect::<Result<_, _>>()?;
        }
        Ok(())
    }
}

fn criterion(word: &str, key: &str) -> Result<CheckCriterion, OptionRefusal> {
    CheckCriterion::from_name(word).ok_or_else(|| {
        (key.to_owned(), format!("{word} is not one of {}", CheckCriterion::words()))
    })
}

fn command(check: CheckEntry) -> Result<CheckCommand, OptionRefusal> {
    let refuse = |part: &str, reason: String| (format!("loop.checks.{part}"), reason);
    let argv = match check.command {
        CommandEntry::List(argv) => argv,
        CommandEntry::Text(line) => command_line::split_command_line(&line)
            .map_err(|error| refuse("command", format!("{line:?}: {error}")))?,
    };
    if argv.first().is_none_or(String::is_empty) {
        return Err(refuse("command", "the command is empty".to_owned()));
    }
    let kind = check.kind.as_deref().unwrap_or(CheckCriterion::Custom.as_str());
    let criterion = criterion(kind, "loop.checks.kind")?;
    if criterion == CheckCriterion::Marker {
        return Err(refuse(
            "kind",
            "marker is the agent's own claim, which no command answers".into(),
        ));
    }
    if let Some(secs) = check.timeout_secs.filter(|secs| !(1..=400).contains(secs)) {
        return Err(refuse("timeout_secs", format!("{secs} is not between 1 and 400")));
    }
    let folder = check.folder.unwrap_or_default();
    let folder = folder.trim_end_matches('/');
    if !folder.is_empty() && RelPath::parse(folder).is_none() {
        return Err(refuse("folder", format!("{folder:?} is not a folder below the root")));
    }
    Ok(CheckCommand {
        name: check.name.unwrap_or_else(|| argv.join(" ")),
        criterion,
        argv,
        folder: folder.to_owned(),
        timeout_secs: check.timeout_secs,
        source: OPTIONS.to_owned(),
        why: "named under loop.checks".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::OptionFile;
    use moai_lsp::registry::Catalogue;

    fn load(text: &str) -> Result<Config, String> {
        let (name, text) = ("ralph.yaml".to_owned(), text.to_owned());
        let file = OptionFile { name, text, is_trusted: true, is_of_user: true };
        Config::load(&[file], &BTreeMap::new(), Catalogue::built_in())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn commands_are_lines_or_lists_and_keep_their_attributes() {
        let text = "ralph:\n  loop:\n    success_criteria: [test_pass, marker]\n    \
                    propose_checks: false\n    checks:\n      - command: npm run 'a b'\n      - \
                    {name: unit, command: [sh, -c, 'a && b'], kind: test_pass, timeout_secs: 9, \
                    folder: web/}\n";
        let config = load(text).expect("valid");
        assert_eq!(config.success_criteria, [CheckCriterion::TestPass, CheckCriterion::Marker]);
        assert!(!config.propose_checks);
        let [line, list] = config.checks.as_slice() else { panic!("{:?}", config.checks) };
        assert_eq!((line.name.as_str(), line.criterion), ("npm run a b", CheckCriterion::Custom));
        assert_eq!(line.argv, ["npm", "run", "a b"]);
        assert_eq!((list.name.as_str(), list.folder.as_str()), ("unit", "web"));
        assert_eq!((list.criterion, list.timeout_secs), (CheckCriterion::TestPass, Some(9)));
        assert_eq!(list.argv, ["sh", "-c", "a && b"]);
    }

    #[test]
    fn commands_that_cannot_run_are_refused_with_their_key() {
        let check = |entry: &str, expected: &[&str]| {
            let error = load(&format!("ralph:\n  loop:\n    checks: [{entry}]\n"));
            let error = error.expect_err(entry);
            for part in expected {
                assert!(error.contains(part), "{part:?} is not in {error:?}");
            }
        };
        check("{command: a && b}", &["loop.checks.command", "only a shell understands"]);
        check("{command: []}", &["loop.checks.command", "empty"]);
        check("{command: a, kind: tests}", &["loop.checks.kind", "tests is not one of test_pass"]);
        check("{command: a, kind: marker}", &["loop.checks.kind", "the agent's own claim"]);
        check("{command: a, timeout_secs: 401}", &["loop.checks.timeout_secs", "1 and 400"]);
        check("{command: a, folder: ../b}", &["loop.checks.folder", "below the root"]);
        check("{comand: a}", &["comand"]);
        let many = vec!["{command: a}"; CHECKS_MAX + 1].join(", ");
        check(&many, &["loop.checks", "at most"]);
        let error = load("ralph: {loop: {success_criteria: [green]}}").expect_err("unknown");
        assert!(error.contains("green is not one of test_pass, build_success"), "{error}");
    }
}
