//! The tests before and after: what was deleted, skipped, weakened or made to say nothing. It must
//! not know the other families.

mod assertions;
mod calls;
mod deletions;
mod expression;
pub(super) mod goal;
mod gone;
mod inventory;
mod mocks;
mod pairs;
mod skips;
mod surplus;
mod tautologies;
mod unlinked;
mod weaker;
mod words;

use std::collections::BTreeSet;

use self::goal::Goal;
use self::inventory::compiled::Manifests;
use self::inventory::{Helpers, Test};
use self::pairs::Pairs;
use self::surplus::Surplus;
use super::facts::{Files, Side};
use super::{Hit, Input};
use crate::base::finding::Severity;
use crate::scan::syntax::Language;

/// The tests of all changed files.
struct Suite<'t> {
    before: Vec<Test<'t>>,
    after: Vec<Test<'t>>,
    pairs: Pairs,
    goal: Goal,
    /// Names of code that is gone.
    deleted: BTreeSet<String>,
    /// What the functions that assert assert now.
    helpers: Helpers,
    /// Whether code outside tests does something else now.
    has_changed_code: bool,
    /// Whether code outside tests warns less than it did.
    warns_less: bool,
}

pub(super) fn inspect(input: &Input<'_>, files: &Files<'_>) -> Vec<Hit> {
    let (helpers_before, helpers) = (all_helpers(files.before()), all_helpers(files.after()));
    let (known_before, known) = (manifests(input, true), manifests(input, false));
    let tests_before =
        files.before().flat_map(|it| inventory::tests(it, &helpers_before, &known_before));
    let before: Vec<Test<'_>> = tests_before.collect();
    let after: Vec<Test<'_>> =
        files.after().flat_map(|it| inventory::tests(it, &helpers, &known)).collect();
    let pairs = Pairs::find(&before, &after, input.changes);
    let suite = Suite {
        pairs,
        goal: Goal::new(input.goal),
        deleted: gone::names(files),
        helpers,
        has_changed_code: has_changed_code(files),
        warns_less: warnings(files.before()) > warnings(files.after()),
        before,
        after,
    };
    let mut surplus = Surplus::new(&suite);
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
fn manifests(input: &Input<'_>, is_before: bool) -> Manifests {
    Manifests::new(input.changes.iter().filter_map(|change| {
        let (path, text) = if is_before {
            (change.path_before(), &change.before)
        } else {
            (&change.path, &change.after)
        };
        Some((path, text.as_deref()?))
    }))
}

fn all_helpers<'s, 't: 's>(sides: impl Iterator<Item = &'s Side<'t>>) -> Helpers {
    sides.flat_map(inventory::helpers).collect()
}

/// Whether a function outside tests is new, gone or has another body.
fn has_changed_code(files: &Files<'_>) -> bool {
    let bodies = |side: Option<&Side<'_>>| -> BTreeSet<(String, String)> {
        let functions = side.into_iter().flat_map(|side| {
            side.functions.iter().filter(|it| !side.is_test_at(it.node.bytes().start))
        });
        functions.map(|it| (it.name.clone(), it.normal_body())).collect()
    };
    files.files.iter().any(|file| bodies(file.before.as_ref()) != bodies(file.after.as_ref()))
}

/// How often code outside tests names a class of warnings.
fn warnings<'s, 't: 's>(sides: impl Iterator<Item = &'s Side<'t>>) -> usize {
    let code = sides.filter(|side| side.language == Language::Python && !side.is_test);
    code.map(|side| side.root.text().matches("Warning").count()).sum()
}

/// A finding about a test that is there now.
fn hit(code: &'static str, severity: Severity, test: &Test<'_>, message: &str) -> Hit {
    Hit {
        code,
        severity,
        path: test.path.clone(),
        bytes: test.node.bytes(),
        message: message.to_owned(),
        anchor: test.name.clone(),
    }
}
