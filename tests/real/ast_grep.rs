//! The scan has the same findings as the ast-grep program: the same rules over the same real code.

use std::fs;

use moai_scan::RuleSet;

use crate::sameness::program::Program;
use crate::sameness::{code, compare, plain};
use crate::support::Sandbox;

/// Code bases that are small enough; the bench also runs the large ones.
const SMALL: [&str; 3] = ["packaging 25.0", "RxJS 7.8.2", "crates"];

/// Compares over the small code bases; the number of findings, and of rules that have some.
fn check_same(rules: &[(String, String)]) -> (usize, usize) {
    let (sandbox, program) = (Sandbox::new(), Program::installed());
    let (mut findings, mut speaking) = (0, 0);
    for code in code::ALL.iter().filter(|code| SMALL.contains(&code.name)) {
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
        findings += same.findings;
        speaking += same.rules;
    }
    (findings, speaking)
}

#[test]
fn probes_of_every_kind_find_the_same_as_the_program() {
    let (findings, speaking) = check_same(&plain::probes());
    assert!(
        findings > 300 && speaking > 15,
        "{findings} findings of {speaking} rules prove little"
    );
}

#[test]
fn built_in_rules_find_the_same_as_the_program() {
    let (findings, _) = check_same(&plain::built_in());
    assert!(findings > 0, "no findings prove nothing");
}
