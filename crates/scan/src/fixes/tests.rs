//! Rules whose fixes overlap, chain, undo each other or introduce errors.

use super::*;

fn rules(documents: &[&str]) -> RuleSet {
    let text = documents.join("\n---\n");
    let rules = RuleSet::load([("own/x.yml".to_owned(), text)]);
    assert_eq!(rules.broken(), []);
    rules
}

fn rule(id: &str, pattern: &str, fix: &str) -> String {
    format!(
        "id: {id}\nlanguage: python\nseverity: warning\nmessage: x\nmetadata: {{fix: safe}}\n\
         rule: {{pattern: '{pattern}'}}\nfix: '{fix}'\n"
    )
}

fn fixed(documents: &[&str], text: &str) -> Result<AppliedFixes, RewriteError> {
    let path = RelPath::parse("a.py").expect("a path");
    apply_fixes(&rules(documents), &path, text, FixTrust::Safe)
}

fn text_of(fixed: Result<AppliedFixes, RewriteError>) -> String {
    fixed.expect("fixable").edited.expect("something changes").text
}

#[test]
fn overlapping_fixes_are_applied_one_after_the_other() {
    let (outer, inner) = (rule("outer", "f($A)", "g($A)"), rule("inner", "b()", "c()"));
    assert_eq!(
        text_of(fixed(&[&outer, &inner], "f(b()) + b()\r\nb()\r\n")),
        "g(c()) + c()\r\nc()\r\n"
    );
    let again = rule("again", "g($A)", "h($A)");
    assert_eq!(text_of(fixed(&[&outer, &again], "f(1)\n")), "h(1)\n");
    assert_eq!(fixed(&[&outer], "g(1)\n").expect("fixable"), AppliedFixes::default());
}

#[test]
fn a_fix_may_expand_and_the_first_of_several_is_applied() {
    let expanding = "id: x\nlanguage: python\nseverity: warning\nmessage: x\n\
        metadata: {fix: safe}\nrule: {kind: keyword_argument, regex: '^debug='}\n\
        fix: {template: '', expandStart: {regex: ','}}\n";
    assert_eq!(text_of(fixed(&[expanding], "f(1, debug=True)\n")), "f(1)\n");
    let several = "id: x\nlanguage: python\nseverity: warning\nmessage: x\n\
        metadata: {fix: safe}\nrule: {pattern: f($A)}\n\
        fix: [{template: g($A), title: first}, {template: h($A), title: second}]\n";
    assert_eq!(text_of(fixed(&[several], "f(1)\n")), "g(1)\n");
}

#[test]
fn endless_fixes_are_refused() {
    let (there, back) = (rule("there", "f($A)", "g($A)"), rule("back", "g($A)", "f($A)"));
    let error = fixed(&[&there, &back], "f(1)\n").expect_err("endless");
    assert_eq!(error.to_string(), "the fixes undo each other");
    let error = fixed(&[&rule("more", "f($A)", "f(f($A))")], "f(1)\n").expect_err("endless");
    assert_eq!(error.to_string(), "still not stable after 10 rounds");
}

#[test]
fn a_fix_that_breaks_the_syntax_or_adds_an_error_is_refused() {
    let error = fixed(&[&rule("bad", "f($A)", "g($A")], "x = 1\nf(1)\n").expect_err("broken");
    assert_eq!(error, RewriteError::SyntaxError { line: 2 });
    let bad =
        "id: no-evil\nlanguage: python\nseverity: error\nmessage: x\nrule: {pattern: evil($A)}\n";
    let evil = rule("evil", "f($A)", "evil($A)");
    let error = fixed(&[&evil, bad], "f(1)\n").expect_err("a new error");
    assert_eq!(error.to_string(), "line 1 would have a new error: no-evil");
    // An error that encloses a fixed range is not new.
    let inner = rule("inner", "b()", "c()");
    assert_eq!(text_of(fixed(&[&inner, bad], "evil(b())\n")), "evil(c())\n");
}

#[test]
fn an_unsafe_fix_is_held_back_unless_requested() {
    let unsafe_rule = rule("x", "f($A)", "g($A)").replace("metadata: {fix: safe}\n", "");
    let held = fixed(&[&unsafe_rule], "f(1)\nf(2)\n").expect("fixable");
    assert_eq!(held, AppliedFixes { edited: None, skipped_unsafe: 2 });
    let path = RelPath::parse("a.py").expect("a path");
    let all = apply_fixes(&rules(&[&unsafe_rule]), &path, "f(1)\n", FixTrust::Any);
    assert_eq!(text_of(all), "g(1)\n");
}

#[test]
fn a_suppressed_finding_is_not_fixed() {
    let rule = rule("x", "f($A)", "g($A)");
    let text = "f(1)  # ast-grep-ignore: x\nf(2)\n";
    assert_eq!(text_of(fixed(&[&rule], text)), "f(1)  # ast-grep-ignore: x\ng(2)\n");
}
