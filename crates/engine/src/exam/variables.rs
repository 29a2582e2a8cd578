//! Variables in the environment of a hook that decide about a loop, as files of its exam. Files of
//! options are compared themselves.

use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_loops::criteria::OPTIONS;
use moai_loops::exam::ExamDifference;

use super::USER_OPTIONS;
use crate::project::Project;

/// The name of the judges in the exam of a loop that asks them.
const JUDGES: &str = "MOAI_RALPH_JUDGE_*";
/// The names of the variables that affect measurements.
const SENSORS: [&str; 2] = ["MOAI_RALPH_LSP_*", "MOAI_RALPH_SCAN_*"];

/// Hashes that the exam compares, by name.
pub(super) fn hashes(project: &Project, has_judges: bool) -> Vec<(RelPath, ContentHash)> {
    let judges = RelPath::parse(JUDGES).filter(|_| has_judges);
    let mut hashes: Vec<(RelPath, ContentHash)> =
        judges.into_iter().map(|path| (path, hash_of_judges(project))).collect();
    for name in SENSORS {
        hashes.extend(RelPath::parse(name).map(|path| (path, hash_of_group(project, name))));
    }
    hashes
}

/// The judges that answer, without the limits of their time and cost.
fn hash_of_judges(project: &Project) -> ContentHash {
    let mut words: Vec<String> = Vec::new();
    for judge in project.config.judge.judges() {
        let backend = judge.backend.as_str().to_owned();
        words.extend([judge.name, backend, judge.model, judge.url, judge.api_key_env]);
        words.extend(judge.command);
        words.push("\n".to_owned());
    }
    ContentHash::of_bytes(words.join("\0").as_bytes())
}

/// The values of the variables with the beginning of this name.
fn hash_of_group(project: &Project, name: &str) -> ContentHash {
    let start = name.trim_end_matches('*');
    let variables = project.workspace.env.iter().filter(|(name, _)| name.starts_with(start));
    let words: Vec<String> = variables.map(|(name, value)| format!("{name}={value}")).collect();
    ContentHash::of_bytes(words.join("\0").as_bytes())
}

/// Leaves out a difference of the judges that a difference of the options explains.
pub(super) fn drop_explained_judges(differences: &mut Vec<ExamDifference>) {
    let is_options = |path: &RelPath| [OPTIONS, USER_OPTIONS].contains(&path.as_str());
    if differences.iter().any(|difference| is_options(&difference.path)) {
        differences.retain(|difference| difference.path.as_str() != JUDGES);
    }
}

/// True if a difference affects measurements.
pub(crate) fn is_of_sensors(difference: &ExamDifference) -> bool {
    SENSORS.contains(&difference.path.as_str())
}

/// The reading for such a difference. The user is not asked to accept it, because a terminal has
/// other variables than a hook; the loop ends as unverified instead.
pub(super) fn unmeasured(difference: &ExamDifference) -> SensorReading {
    let name = &difference.path;
    let detail = format!("{name} in the hook's environment has changed since the loop started");
    let gap = Gap::new(Cause::Skipped, detail);
    SensorReading::unmeasured("environment", SensorKind::Guard, gap)
}
