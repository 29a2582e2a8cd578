//! Files in another syntax than their extension promises: templates of YAML, scripts of other shells. A parser of
//! the language finds nothing but errors in them.

use super::{FaultFacts, NeededFacts, ProjectFault};
use moai_base::finding::{Finding, has_errors};
use moai_base::verdict::{Cause, Gap};

/// The folder of templates in a chart of Helm, in a collection of Ansible and in other generators.
const TEMPLATES_FOLDER: &str = "templates";
/// Shells that `shellcheck` does not support (its SC1071).
const OTHER_SHELLS: [&str; 4] = ["csh", "fish", "tcsh", "zsh"];

pub(super) const OTHER_SYNTAX_FACTS: NeededFacts = NeededFacts::NONE;

pub(super) fn yaml_fault(
    text: &str,
    facts: &FaultFacts,
    found: &[Finding],
) -> Option<ProjectFault> {
    let (folders, _) = facts.path.rsplit_once('/')?;
    // `${{ … }}` of GitHub Actions and Azure Pipelines is text in YAML.
    let has_template = text.match_indices("{{").any(|(at, _)| !text[..at].ends_with('$'));
    let is_template = folders.split('/').any(|it| it == TEMPLATES_FOLDER) && has_template;
    (is_template && has_errors(found)).then(|| excluded("it is a template, not YAML", found))
}

pub(super) fn shell_fault(text: &str, found: &[Finding]) -> Option<ProjectFault> {
    let line = text.lines().next()?.strip_prefix("#!")?;
    let shell = line
        .split_whitespace()
        .filter_map(|word| word.rsplit('/').next())
        .find(|word| OTHER_SHELLS.contains(word))?;
    Some(excluded(&format!("it is a script of {shell}, which ShellCheck does not support"), found))
}

/// All findings are consequences of the other syntax.
fn excluded(reason: &str, found: &[Finding]) -> ProjectFault {
    let gap = Gap::new(Cause::SwitchedOff, reason);
    ProjectFault { gap, explained: (0..found.len()).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::explain_findings;
    use super::*;

    #[test]
    fn templates_and_scripts_of_other_shells_are_not_measured() {
        let measured = |language: &str, path: &str, text: &str| {
            let facts = FaultFacts { path: path.to_owned(), ..FaultFacts::default() };
            let found = vec![moai_base::samples::finding(path, 1, "x")];
            let (found, gap) = explain_findings(language, text, &facts, found);
            (found.len(), gap.map(|gap| gap.cause))
        };
        let excluded = (0, Some(Cause::SwitchedOff));
        let template = "a: {{ .Values.a }}\n";
        assert_eq!(measured("yaml", "chart/templates/deploy.yaml", template), excluded);
        assert_eq!(measured("yaml", "chart/values.yaml", template), (1, None));
        assert_eq!(measured("yaml", "templates/job.yml", "a: ${{ parameters.a }}\n"), (1, None));
        assert_eq!(measured("yaml", "chart/templates/plain.yaml", "a: 1\n"), (1, None));
        assert_eq!(measured("shellscript", "a.sh", "#!/usr/bin/env zsh\n"), excluded);
        assert_eq!(measured("shellscript", "a.sh", "#!/bin/tcsh -f\n"), excluded);
        assert_eq!(measured("shellscript", "a.sh", "#!/bin/bash\nzsh -c x\n"), (1, None));
    }
}
