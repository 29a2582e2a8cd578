//! The scan finds what the ast-grep program finds: the same rules over the same real code.

use std::fs;

use moai_ralph::scan::RuleSet;

use crate::sameness::program::Program;
use crate::sameness::{code, compare, plain};
use crate::support::Sandbox;

/// Findings that make a comparison worth something.
const FINDINGS_MIN: usize = 300;

fn check_same(rules: &[(String, String)]) -> usize {
    let (sandbox, program) = (Sandbox::new(), Program::installed());
    let mut findings = 0;
    for code in code::small() {
        let project = sandbox.base().join("projects").join(code.name);
        fs::create_dir_all(&project).expect("the sandbox is writable");
        let project = fs::canonicalize(project).expect("it is there");
        code.lay(&project);
        plain::lay(&project, rules);
        let own = RuleSet::load(rules.to_vec());
        assert_eq!(own.broken(), []);
        let same = compare(&program, &project, &own);
        assert_eq!((&same.missing, &same.added), (&vec![], &vec![]), "{}", code.name);
        assert!(same.files > 10 && same.refused * 20 < same.files, "{same:?}");
        println!(
            "{}: {} findings of {} rules in {} files, the same in both",
            code.name, same.findings, same.rules, same.files
        );
        findings += same.findings;
    }
    findings
}

#[test]
fn probes_of_every_kind_find_the_same_as_the_program() {
    assert!(check_same(&plain::probes()) > FINDINGS_MIN);
}

#[test]
fn built_in_rules_find_the_same_as_the_program() {
    check_same(&plain::built_in());
}
