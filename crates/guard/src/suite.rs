//! The tests before and after a change: deleted, skipped and weakened tests, and tests that no
//! longer assert anything.

mod assertions;
mod calls;
mod deletions;
mod expression;
pub(super) mod goal;
mod gone;
mod inventory;
mod kept_values;
mod mocks;
mod pairs;
mod skips;
mod surplus;
mod tautologies;
mod unlinked;
mod weaker;
mod words;

use std::collections::BTreeSet;

use self::goal::GoalWords;
use self::inventory::compiled::PackageFeatures;
use self::inventory::{AssertionHelpers, ProjectCode, TestCase};
use self::pairs::TestPairs;
use self::surplus::AssertionSurplus;
use super::facts::{ParsedFiles, SourceSide};
use super::{Detection, GuardInput};
use moai_base::finding::Severity;
use moai_scan::syntax::ScanLanguage;

/// The tests of all changed files.
struct SuiteChange<'t> {
    before: Vec<TestCase<'t>>,
    after: Vec<TestCase<'t>>,
    pairs: TestPairs,
    goal: GoalWords,
    /// Names of removed code.
    deleted: BTreeSet<String>,
    /// The current assertions of the helpers.
    helpers: AssertionHelpers,
    /// True if code outside tests behaves differently now.
    has_changed_code: bool,
    /// True if code outside tests warns less than before.
    warns_less: bool,
}

pub(super) fn inspect(input: &GuardInput<'_>, files: &ParsedFiles<'_>) -> Vec<Detection> {
    let (helpers_before, helpers) = (all_helpers(files.before()), all_helpers(files.after()));
    let code_before = ProjectCode::new(files.before(), manifests(input, true));
    let code = ProjectCode::new(files.after(), manifests(input, false));
    let tests_before =
        files.before().flat_map(|it| inventory::tests(it, &helpers_before, &code_before));
    let before: Vec<TestCase<'_>> = tests_before.collect();
    let after: Vec<TestCase<'_>> =
        files.after().flat_map(|it| inventory::tests(it, &helpers, &code)).collect();
    let pairs = TestPairs::find(&before, &after, input.changes);
    let suite = SuiteChange {
        pairs,
        goal: GoalWords::new(input.goal),
        deleted: gone::names(files),
        helpers,
        has_changed_code: has_changed_code(files),
        warns_less: warnings(files.before()) > warnings(files.after()),
        before,
        after,
    };
    let mut surplus = AssertionSurplus::new(&suite);
    let mut hits = deletions::inspect(&suite, files, &mut surplus);
    hits.extend(unlinked::inspect(files));
    hits.extend(skips::inspect(&suite));
    hits.extend(weaker::inspect(&suite, input, &mut surplus));
    hits.extend(weaker::snapshots(input, &suite));
    hits.extend(tautologies::inspect(&suite));
    hits.extend(mocks::inspect(files));
    hits
}

/// The manifests of one side.
fn manifests(input: &GuardInput<'_>, is_before: bool) -> PackageFeatures {
    PackageFeatures::new(input.changes.iter().filter_map(|change| {
        let (path, text) = if is_before {
            (change.path_before(), &change.before)
        } else {
            (&change.path, &change.after)
        };
        Some((path, text.as_deref()?))
    }))
}

fn all_helpers<'s, 't: 's>(sides: impl Iterator<Item = &'s SourceSide<'t>>) -> AssertionHelpers {
    sides.flat_map(inventory::helpers).collect()
}

/// True if a function outside tests is new, removed or has another body.
fn has_changed_code(files: &ParsedFiles<'_>) -> bool {
    let bodies = |side: Option<&SourceSide<'_>>| -> BTreeSet<(String, String)> {
        let functions = side.into_iter().flat_map(|side| {
            side.functions.iter().filter(|it| !side.is_test_at(it.node.bytes().start))
        });
        functions.map(|it| (it.name.clone(), it.normal_body())).collect()
    };
    files.files.iter().any(|file| bodies(file.before.as_ref()) != bodies(file.after.as_ref()))
}

/// Number of times that code outside tests mentions a class of warnings.
fn warnings<'s, 't: 's>(sides: impl Iterator<Item = &'s SourceSide<'t>>) -> usize {
    let code = sides.filter(|side| side.language == ScanLanguage::Python && !side.is_test);
    code.map(|side| side.root.text().matches("Warning").count()).sum()
}

/// A finding about an existing test.
fn hit(code: &'static str, severity: Severity, test: &TestCase<'_>, message: &str) -> Detection {
    Detection {
        code,
        severity,
        path: test.path.clone(),
        bytes: test.node.bytes(),
        message: message.to_owned(),
        anchor: test.name.clone(),
    }
}
