//! G02: skipped tests.

use std::collections::BTreeSet;

use super::SuiteChange;
use super::deletions::may_go;
use super::inventory::{TestCase, TestMarker, TestMarkerKind};
use crate::Detection;
use moai_base::finding::Severity;

pub(super) fn inspect(suite: &SuiteChange<'_>) -> Vec<Detection> {
    let mut seen = BTreeSet::new();
    let mut hits = Vec::new();
    for (before, after) in &suite.pairs.both {
        let (before, after) = (&suite.before[*before], &suite.after[*after]);
        if !before.has_body || after.is_helper || may_go(suite, before) {
            continue;
        }
        let worst = before
            .marks
            .iter()
            .filter(|it| it.kind != TestMarkerKind::Only)
            .map(|it| it.kind)
            .max();
        // A skip that was there under another condition, and still has one, is not new.
        let was_there = |mark: &TestMarker| {
            !mark.is_skip() && before.marks.iter().any(|other| other.text == mark.text)
        };
        let is_new = |mark: &&TestMarker| {
            let is_worse = worst.is_none_or(|worst| mark.kind > worst);
            mark.kind != TestMarkerKind::Only && is_worse && !was_there(mark)
        };
        hits.extend(after.marks.iter().filter(is_new).map(|mark| told(after, mark)));
    }
    let focused_before: BTreeSet<&str> =
        suite.before.iter().filter(|it| is_focused(it)).map(|it| it.name.as_str()).collect();
    for test in
        suite.after.iter().filter(|it| is_focused(it) && !focused_before.contains(it.name.as_str()))
    {
        let only = test.marks.iter().filter(|mark| mark.kind == TestMarkerKind::Only);
        hits.extend(only.map(|mark| told(test, mark)));
    }
    hits.retain(|hit| seen.insert((hit.path.clone(), hit.bytes.start)));
    hits
}

fn is_focused(test: &TestCase<'_>) -> bool {
    test.marks.iter().any(|mark| mark.kind == TestMarkerKind::Only)
}

fn told(test: &TestCase<'_>, mark: &TestMarker) -> Detection {
    let message = match mark.kind {
        TestMarkerKind::Only => {
            format!("`{}` keeps every other test from running; take it back", mark.text)
        }
        TestMarkerKind::Machine => {
            format!("test `{}` does not run on every machine any more (`{}`)", test.name, mark.text)
        }
        TestMarkerKind::Conditional => {
            format!(
                "test `{}` is now skipped in some cases (`{}`); run it always",
                test.name, mark.text
            )
        }
        TestMarkerKind::Skip => {
            format!(
                "test `{}` counts without being run or passed (`{}`); let it run",
                test.name, mark.text
            )
        }
    };
    // A condition about the machine is not the author's choice.
    let severity =
        if mark.kind == TestMarkerKind::Machine { Severity::Warning } else { Severity::Error };
    Detection {
        code: "G02",
        severity,
        path: test.path.clone(),
        bytes: mark.bytes.clone(),
        message,
        anchor: mark.text.clone(),
    }
}
