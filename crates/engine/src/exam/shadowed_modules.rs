//! Compiled modules and packages that Python loads in place of a source file of the project. Git often
//! ignores them, so that no diff shows them, and the guard cannot read them: a loop in which one is new is
//! not measured completely.

use std::path::Path;

use super::change_times::change_time_ns;
use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files;
use moai_loops::exam::runners::shadowed_source;

/// The reading for the first of them that is new.
pub(super) fn shadowing_module(root: &Path, since_ms: u64) -> Option<SensorReading> {
    let is_shadowing =
        |path: &RelPath| shadowed_source(path).is_some_and(|source| source.under(root).is_file());
    let start = i128::from(since_ms) * 1_000_000;
    let is_new = |file: &Path| change_time_ns(file).is_none_or(|changed| changed >= start);
    let mut shadowing = files::walk_names(root, &is_shadowing).into_iter();
    let found = shadowing.find(|path| is_new(&path.under(root)))?;
    let source = shadowed_source(&found)?;
    let detail = format!("Python loads {found}, which is new, and not {source}");
    let gap = Gap::new(Cause::Skipped, detail);
    Some(SensorReading::unmeasured("modules", SensorKind::Guard, gap))
}
