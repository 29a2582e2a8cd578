//! The programs outside the project that its checks look up on PATH. The loop is left unverified if, since it
//! began, a different program of the same name replaced one or precedes it on PATH. Times are compared and
//! not paths, because a terminal and a host have different values of PATH.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::verdict::{Cause, Gap};
use moai_host::servers::resolve::program_on_path;

use super::change_times::change_time_ns;

/// Programs that run a script of a package file with the folders of installed programs on PATH.
const PACKAGE_RUNNERS: [&str; 6] = ["bun", "npm", "npx", "pnpm", "pnpx", "yarn"];
/// Those folders, in the project and above it.
const INSTALLED_PROGRAMS: &str = "node_modules/.bin";

/// The reading for the first of these programs that changed since a time in milliseconds since the epoch.
pub(super) fn changed_program(
    root: &Path,
    programs: &BTreeSet<String>,
    env: &BTreeMap<String, String>,
    since_ms: u64,
) -> Option<SensorReading> {
    let env = with_installed_programs(root, programs, env);
    let begun_ns = i128::from(since_ms) * 1_000_000;
    let is_new = |file: &Path| change_time_ns(file).is_some_and(|changed| changed >= begun_ns);
    let changed = |name: &String| -> Option<PathBuf> {
        let program = program_on_path(name, &env)?;
        // The programs of installed packages are compared with these.
        let is_changed =
            is_new(&program) || program.canonicalize().is_ok_and(|file| is_new(file.as_path()));
        (!program.starts_with(root) && is_changed).then_some(program)
    };
    programs.iter().find_map(changed).map(|program: PathBuf| {
        let detail = format!(
            "{} was changed since the loop started, and a check runs it",
            program.display()
        );
        reading(Gap::new(Cause::Skipped, detail))
    })
}

/// The environment with the folders above the project in which package managers look first.
fn with_installed_programs(
    root: &Path,
    programs: &BTreeSet<String>,
    env: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut env = env.clone();
    if programs.iter().any(|name| PACKAGE_RUNNERS.contains(&name.as_str())) {
        let above = root.ancestors().skip(1).map(|folder| folder.join(INSTALLED_PROGRAMS));
        let path = env.get("PATH").cloned().unwrap_or_default();
        let folders = above.filter(|folder| folder.is_dir()).chain(std::env::split_paths(&path));
        let joined = std::env::join_paths(folders).ok().and_then(|path| path.into_string().ok());
        env.extend(joined.map(|path| ("PATH".to_owned(), path)));
    }
    env
}

fn reading(gap: Gap) -> SensorReading {
    SensorReading::unmeasured("programs", SensorKind::Guard, gap)
}
