//! Earlier fixes of the findings that an edit introduced, in any project of the user. The look-up is bounded:
//! the feedback does not wait for the memory.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::engine::{Engine, memory_now_ms};
use crate::project::Project;
use moai_base::finding::{Finding, FindingState};
use moai_base::limits::{
    FIX_LOOKUP_MS_MAX, FIX_REPORTS_MAX, FIX_SHAPES_ASKED_MAX, FIXES_COMPARED_MAX,
};
use moai_host::store::StoreError;
use moai_loops::framework::MessageLanguage;
use moai_memory::database::MemoryDatabase;
use moai_memory::observation::StoredObservation;
use moai_memory::observe::edits::{is_remembered, shape_of};
use moai_memory::observe::fixes::{FixReader, told_fixes};
use moai_report::agent::EditFeedback;
use moai_report::recall::earlier_fix;

/// One line for each earlier fix that is worth it.
pub(crate) async fn earlier_fix_lines(
    engine: &Engine,
    project: &Project,
    session: &str,
    feedback: &EditFeedback,
    language: MessageLanguage,
) -> Vec<String> {
    let shapes = introduced_shapes(feedback);
    if shapes.is_empty() || !engine.memory.exists() {
        return Vec::new();
    }
    let read = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
        let mut found = Vec::new();
        for shape in shapes {
            found.push(database.fixes_of_shape(&shape, FIXES_COMPARED_MAX)?);
        }
        Ok(found)
    };
    let bound = Duration::from_millis(FIX_LOOKUP_MS_MAX);
    let found = match tokio::time::timeout(bound, engine.memory.read(read)).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            tracing::warn!(%error, "earlier fixes could not be read");
            return Vec::new();
        }
        Err(_) => {
            tracing::info!("earlier fixes were not found in time");
            return Vec::new();
        }
    };
    let key = project.memory_key();
    let reader = FixReader { project: &key, session, path: feedback.path.as_str() };
    let told: Vec<StoredObservation> =
        found.into_iter().flat_map(|fixes| told_fixes(fixes, &reader)).collect();
    let now_ms = memory_now_ms();
    let mut lines: Vec<String> =
        told.iter().filter_map(|fix| earlier_fix(fix, now_ms, language)).collect();
    lines.dedup();
    lines.truncate(FIX_REPORTS_MAX);
    lines
}

/// The shapes of introduced errors and warnings, here and in other files, each once.
fn introduced_shapes(feedback: &EditFeedback) -> Vec<String> {
    let here = feedback.delta.in_state(FindingState::Introduced);
    let elsewhere = feedback.other_files.iter().flat_map(|effect| &effect.broken);
    let introduced = here.chain(elsewhere).filter(|finding| is_remembered(finding));
    let mut known = BTreeSet::new();
    introduced
        .map(|finding: &Finding| shape_of(finding).id())
        .filter(|shape| known.insert(shape.clone()))
        .take(FIX_SHAPES_ASKED_MAX)
        .collect()
}
