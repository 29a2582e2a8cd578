//! Freezes a loop's exam into the store when the loop starts, and later compares it with the disk.
//! `loops::exam` decides what counts as a difference.

mod change_times;
mod check_files;
pub(crate) mod check_plan;
mod check_readings;
pub(crate) mod check_runner;
pub(crate) mod check_runs;
mod earlier_exam;
mod exam_file;
pub(crate) mod frozen_commands;
mod included_makefiles;
mod linked_code;
mod packages;
pub(crate) mod proposals;
pub(crate) mod restored_files;
pub(crate) mod rubrics;
mod shadowed_modules;
mod startup_files;
pub(crate) mod unfrozen_scripts;
mod used_programs;
mod variables;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::engine::{Engine, measure_blocking, now_ms, run_blocking};
use crate::evidence::authorship;
use crate::project::Project;
use crate::project::option_files::read_option_file;
pub(crate) use change_times::change_time_ns;
use check_files::CheckFiles;
use check_plan::{check_names, check_plan};
pub(crate) use exam_file::exam_file_hash;
use exam_file::{hash_as, read_exam_file, stamp};
use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::limits::{
    EXAM_FILES_MAX, EXAM_TESTS_MAX, EXAM_TEXT_BYTES_MAX, EXAM_TEXTS_BYTES_MAX,
};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::{self, HiddenFolders};
use moai_host::git;
use moai_host::store::StoreError;
use moai_host::store::exams::ExamTexts;
use moai_host::store::loops::{LoopQuery, SaveOutcome};
use moai_loops::charter::Charter;
use moai_loops::control;
use moai_loops::criteria::{CheckCommand, CheckPlan, CheckScope};
use moai_loops::exam::front_matter::{DOCUMENT_FOLDERS, HOST_FOLDER};
use moai_loops::exam::roles::{
    FOLDERS, TREES, UNSEEN, is_irrelevant_settings, is_registration_of_host,
};
use moai_loops::exam::runners;
use moai_loops::exam::{
    self, AttributedDifferences, Exam, ExamDifference, ExamRole, FrozenFile, SessionWrites, role,
};
use moai_loops::state::{LoopState, Mode};
pub(crate) use variables::is_of_sensors;

/// Freezes the exam of a loop from the current files; it replaces an earlier exam.
pub(crate) async fn freeze_exam(
    engine: &Engine,
    project: &Project,
    charter: &Charter,
) -> Result<(), StoreError> {
    let before = engine.store.find_exam(&project.key, &charter.id, ExamRole::STRICT).await?;
    let commands = before.into_iter().flat_map(|exam| exam.plan.commands);
    let acceptance = commands.filter(CheckCommand::is_acceptance).collect();
    freeze_exam_with(engine, project, charter, acceptance, None).await.map(drop)
}

/// Freezes the exam of a loop with the acceptance commands of its plan. With an `earlier` loop, that loop's
/// frozen files decide instead of those on disk. Returns the names of all checks.
pub(crate) async fn freeze_exam_with(
    engine: &Engine,
    project: &Project,
    charter: &Charter,
    acceptance: Vec<CheckCommand>,
    earlier: Option<&str>,
) -> Result<Vec<String>, StoreError> {
    let scope = charter.until.check_scope();
    let (mut exam, mut texts) = take_exam(engine, project, scope, charter.mode, acceptance).await?;
    if let Some(earlier) = earlier {
        earlier_exam::keep_files(engine, project, earlier, &mut exam, &mut texts).await?;
    }
    let names = check_names(project, &exam.plan);
    engine.store.freeze_exam(&project.key, &charter.id, exam, texts).await?;
    Ok(names)
}

/// Content of anything that is not a file, or cannot be read.
const NOT_READABLE: &[u8] = b"not readable";
/// The name of the user's own options in an exam. They count like the project's options, and the
/// agent can write them too.
const USER_OPTIONS: &str = "~/.config/moai-ralph/ralph.yaml";

fn user_options() -> Option<RelPath> {
    RelPath::parse(USER_OPTIONS)
}

/// A missing file has the hash of an empty one.
fn hash_of_user_options(engine: &Engine) -> ContentHash {
    match read_option_file(&engine.dirs.user_config) {
        Ok(text) => ContentHash::of_bytes(text.unwrap_or_default().as_bytes()),
        Err(error) => ContentHash::of_bytes(error.as_bytes()),
    }
}

/// Stores a new loop together with its exam; the loop then lists its checks.
pub(crate) async fn store_new_loop(
    engine: &Engine,
    project: &Project,
    state: &mut LoopState,
) -> Result<(), StoreError> {
    let scope = state.until.check_scope();
    let (mut exam, mut texts) = take_exam(engine, project, scope, state.mode, Vec::new()).await?;
    if let Some(earlier) = &state.continues {
        earlier_exam::keep_files(engine, project, earlier, &mut exam, &mut texts).await?;
    }
    state.checks = check_names(project, &exam.plan);
    engine.store.begin_loop(&project.key, &project.root, state.clone(), exam, texts).await
}

/// Reads the exam of a loop that starts now.
async fn take_exam(
    engine: &Engine,
    project: &Project,
    scope: CheckScope,
    mode: Mode,
    acceptance: Vec<CheckCommand>,
) -> Result<(Exam, ExamTexts), StoreError> {
    let taken = {
        let project = project.clone();
        run_blocking(move || {
            let plan = check_plan(&project, scope).preceded_by(acceptance);
            let env = &project.workspace.env;
            let used = check_files::check_files(&project.root, &plan);
            let (mut files, texts, is_cut) =
                collect_exam_files(&project.root, &plan, &used, &judge_words(&project));
            let loaded = startup_files::hashes(&project.root, &plan, used.has_login_shell, env);
            let loaded = loaded.into_iter().map(|file| (ExamRole::Runner, file));
            let used = used.recipes.into_iter().map(|file| (ExamRole::Used, file));
            files.extend(
                loaded
                    .chain(used)
                    .map(|(role, (path, hash))| (path, FrozenFile { role, hash, stamp: (0, 0) })),
            );
            // Only whether these folders exist is compared here.
            for path in packages::known_packages(&project.root, &plan) {
                let hash = ContentHash::of_bytes(NOT_READABLE);
                files.insert(path, FrozenFile { role: ExamRole::Config, hash, stamp: (0, 0) });
            }
            let catalogue = &project.workspace.catalogue;
            let code_links = linked_code::links_to_code(&project.root, catalogue);
            let exam = Exam {
                frozen_ms: now_ms(),
                plan,
                files,
                is_truncated: is_cut,
                counts: BTreeMap::new(),
                code_links,
            };
            (exam, texts)
        })
    };
    let (mut exam, texts) = taken.await.ok_or_else(files_unreadable)?;
    if let Some(path) = user_options() {
        let hash = hash_of_user_options(engine);
        exam.files.insert(path, FrozenFile { role: ExamRole::Engine, hash, stamp: (0, 0) });
    }
    for (path, hash) in variables::hashes(project, mode != Mode::Basic) {
        exam.files.insert(path, FrozenFile { role: ExamRole::Engine, hash, stamp: (0, 0) });
    }
    Ok((exam, texts))
}

/// The words of the judge commands: a project file among them belongs to the exam as well.
fn judge_words(project: &Project) -> Vec<String> {
    project.config.judge.judges().into_iter().flat_map(|judge| judge.command).collect()
}

fn files_unreadable() -> StoreError {
    StoreError::Unavailable("the files could not be read".to_owned())
}

/// The exam of a loop, restricted to files of these roles, and its differences from the disk;
/// `None` for a loop without an exam.
pub(crate) async fn exam_differences(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
    roles: &'static [ExamRole],
) -> Result<Option<(Exam, Vec<ExamDifference>)>, StoreError> {
    let Some(exam) = engine.store.find_exam(&project.key, loop_id, roles).await? else {
        return Ok(None);
    };
    let (root, env) = (project.root.clone(), project.workspace.env.clone());
    let options = user_options().map(|path| (path, hash_of_user_options(engine)));
    let variables = variables::hashes(project, true).into_iter();
    let frozen = variables.filter(|(path, _)| exam.files.contains_key(path));
    let variables: Vec<(RelPath, ContentHash)> = frozen.collect();
    let compared = run_blocking(move || {
        let mut now = current_hashes(&root, &exam, roles);
        if roles.contains(&ExamRole::Runner) {
            let used = check_files::check_files(&root, &exam.plan);
            let login = used.has_login_shell;
            now.extend(startup_files::hashes(&root, &exam.plan, login, &env));
            now.extend(used.recipes.into_iter().filter(|(path, _)| exam.files.contains_key(path)));
        }
        now.extend(options);
        now.extend(variables);
        let mut differences = exam::exam_differences(&exam, &now);
        variables::drop_explained_judges(&mut differences);
        mark_ignored(&root, &mut differences)?;
        Ok((exam, differences))
    });
    compared.await.unwrap_or_else(|| Err(files_unreadable())).map(Some)
}

/// The frozen scripts that the checks of a loop run.
pub(crate) async fn frozen_scripts(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
) -> BTreeSet<RelPath> {
    let exam = engine.store.find_exam(&project.key, loop_id, &[ExamRole::Checks]).await;
    exam.ok().flatten().map(|exam| exam.files.into_keys().collect()).unwrap_or_default()
}

/// The exam's contribution to the evidence of a Stop.
#[derive(Default)]
pub(crate) struct ExamReport {
    pub(crate) readings: Vec<SensorReading>,
    pub(crate) findings: Vec<Finding>,
    /// Changes made outside the session, one line each: the user is asked about them.
    pub(crate) foreign_changes: Vec<String>,
}

impl ExamReport {
    pub(crate) fn unmeasured(gap: Gap) -> Self {
        let clean = SensorReading::clean(exam::READING, SensorKind::Guard, 0);
        Self { readings: vec![SensorReading { gap: Some(gap), ..clean }], ..Self::default() }
    }
}

/// Compares the exam for a Stop. Run it after the checks, because they may write files.
pub(crate) async fn stop_exam_report(
    engine: &Engine,
    project: &Project,
    charter: &Charter,
) -> ExamReport {
    match attributed_differences(engine, project, charter).await {
        Ok((exam, AttributedDifferences { own, foreign })) => {
            let (mut reading, findings) = exam::exam_reading(&exam, &own);
            let started = own
                .iter()
                .filter(|one| one.role == ExamRole::Used || runners::is_startup_file(&one.path));
            let (changed, foreign): (Vec<_>, Vec<_>) = foreign.into_iter().partition(is_of_sensors);
            reading.dirty |= !foreign.is_empty();
            let mut readings = vec![reading];
            readings.extend(changed.iter().map(variables::unmeasured));
            readings.extend(started.map(startup_files::unmeasured));
            let (outside, packages) = tokio::join!(
                Box::pin(outside_readings(project, &exam)),
                package_reading(engine, project, charter, &exam),
            );
            readings.extend(outside.into_iter().chain(packages));
            let foreign = foreign.iter().map(ExamDifference::line).collect();
            ExamReport { readings, findings, foreign_changes: foreign }
        }
        Err(gap) => ExamReport::unmeasured(gap),
    }
}

/// The readings for changed code and programs outside of the project.
async fn outside_readings(project: &Project, exam: &Exam) -> Vec<SensorReading> {
    let (project, exam) = (project.clone(), exam.clone());
    let examined = measure_blocking(move || {
        let (root, workspace) = (&project.root, &project.workspace);
        let (plan, since_ms) = (&exam.plan, exam.frozen_ms);
        let linked = linked_code::changed_linked_code(root, &workspace.catalogue, &exam);
        let programs = check_files::check_files(root, plan).programs;
        let changed = used_programs::changed_program(root, &programs, &workspace.env, since_ms);
        let shadowing = shadowed_modules::shadowing_module(root, since_ms);
        linked.into_iter().chain(changed).chain(shadowing).collect()
    });
    examined.await.unwrap_or_else(|gap| vec![linked_code::reading(gap)])
}

/// The reading for packages that changed during the loop. Those that were installed for the work are reported
/// to the user.
async fn package_reading(
    engine: &Engine,
    project: &Project,
    charter: &Charter,
    exam: &Exam,
) -> Option<SensorReading> {
    let (root, exam, base) = (project.root.clone(), exam.clone(), charter.base.clone());
    let examined =
        measure_blocking(move || packages::package_report(&root, &exam, base.as_deref()));
    let report = examined.await.unwrap_or_else(|gap| packages::PackageReport {
        reading: Some(packages::reading(gap)),
        notice: None,
    });
    if let (Some(notice), Some(session)) = (report.notice, &charter.session) {
        let mut ledger = engine.ledger();
        let session = ledger.session(session);
        if session.report_once(&notice) {
            session.user_notices.push(notice);
        }
    }
    report.reading
}

/// Like [`stop_exam_report`], for a user's request: every difference is a finding, whoever made it.
pub(crate) async fn all_exam_findings(
    engine: &Engine,
    project: &Project,
    charter: &Charter,
) -> (SensorReading, Vec<Finding>) {
    match attributed_differences(engine, project, charter).await {
        Ok((exam, AttributedDifferences { own, foreign })) => {
            exam::exam_reading(&exam, &[own, foreign].concat())
        }
        Err(gap) => {
            let clean = SensorReading::clean(exam::READING, SensorKind::Guard, 0);
            (SensorReading { gap: Some(gap), ..clean }, Vec::new())
        }
    }
}

/// The exam of a loop and its differences, attributed to the session or to other programs.
pub(crate) async fn attributed_differences(
    engine: &Engine,
    project: &Project,
    charter: &Charter,
) -> Result<(Exam, AttributedDifferences), Gap> {
    let compared = exam_differences(engine, project, &charter.id, ExamRole::AT_STOP)
        .await
        .map_err(|error| store_gap(&error))?;
    let Some((exam, differences)) = compared else {
        // A loop without an exam was not examined, which is not the same as having passed.
        let gap = Gap::new(Cause::Skipped, "the checks were not frozen when the loop started");
        return Err(gap.with_remedy("moai-ralph loop refreeze"));
    };
    let writes = engine
        .store
        .exam_writes(&project.key, &charter.id)
        .await
        .map_err(|error| store_gap(&error))?;
    Ok((exam, exam::attribute_differences(differences, &writes)))
}

fn store_gap(error: &StoreError) -> Gap {
    Gap::new(Cause::Crashed, error.to_string())
}

/// The files that a tool call of a session wrote.
#[derive(Clone, Debug)]
pub(crate) enum ToolWrite {
    File(PathBuf),
    /// Unknown files; the call began at this time, in nanoseconds since the epoch.
    Since(i128),
}

/// Records the changes that a tool call of this session made to the exam of its loop, so that a
/// Stop can tell them from the user's. Unrecorded changes count as the user's, with one notice.
pub(crate) async fn note_writes(
    engine: &Engine,
    project: &Project,
    session: &str,
    write: ToolWrite,
) {
    if session.is_empty() || !project.key.database(&engine.dirs.state).exists() {
        return;
    }
    if let Err(error) = try_note_writes(engine, project, session, write).await {
        tracing::warn!(%error, "the writes of a tool call were not recorded");
        let notice = moai_report::notice::unrecorded_writes(&error.to_string());
        let mut ledger = engine.ledger();
        let session = ledger.session(session);
        if session.report_once(&notice) {
            session.user_notices.push(notice);
        }
    }
}

async fn try_note_writes(
    engine: &Engine,
    project: &Project,
    session: &str,
    write: ToolWrite,
) -> Result<(), StoreError> {
    let (store, key, root) = (&engine.store, &project.key, &project.root);
    let active = store.find_loop(key, root, LoopQuery::ActiveOf(session.to_owned())).await?;
    let Some(state) = active else { return Ok(()) };
    if let ToolWrite::Since(since_ns) = write {
        unconfirm_overrides(engine, project, &state, since_ns).await?;
    }
    authorship::note_session_writes(engine, project, &state.charter(), write.clone()).await?;
    // Most files that an agent writes are not part of an exam, and an edit must not wait.
    if let ToolWrite::File(file) = &write
        && !examines(engine, project, &state.id, file).await?
    {
        return Ok(());
    }
    let Some((_, differences)) =
        exam_differences(engine, project, &state.id, ExamRole::AT_STOP).await?
    else {
        return Ok(());
    };
    let (root, options) = (root.clone(), engine.dirs.user_config.clone());
    let compared = differences.clone();
    let own_writes = measure_blocking(move || {
        compared
            .into_iter()
            .filter(|difference| {
                let is_options = difference.path.as_str() == USER_OPTIONS;
                let file = if is_options { options.clone() } else { difference.path.under(&root) };
                is_written_by(&write, &file)
            })
            .collect()
    });
    let own_writes = own_writes_or_all(own_writes.await, differences);
    if own_writes.is_empty() {
        return Ok(());
    }
    store.note_exam_writes(key, &state.id, own_writes).await
}

/// True if a tool call may have written this file.
fn is_written_by(write: &ToolWrite, file: &Path) -> bool {
    match write {
        ToolWrite::File(written) => is_same_file(file, written),
        ToolWrite::Since(since_ns) => {
            change_time_ns(file).is_some_and(|changed_ns| changed_ns >= *since_ns)
        }
    }
}

/// The session's writes to record. If they are unknown after an internal error, every difference is
/// recorded, because an unrecorded one would count as the user's.
fn own_writes_or_all(
    own_writes: Result<Vec<ExamDifference>, Gap>,
    all: Vec<ExamDifference>,
) -> SessionWrites {
    let own_writes = own_writes.unwrap_or_else(|gap| {
        tracing::error!(%gap, "who changed the exam is unknown; it counts as the session's change");
        all
    });
    own_writes.into_iter().map(|difference| (difference.path, difference.now)).collect()
}

/// Marks overrides made during a shell command of the agent as unconfirmed, because the command may
/// have made them.
async fn unconfirm_overrides(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
    since_ns: i128,
) -> Result<(), StoreError> {
    let start_ms = u64::try_from(since_ns / 1_000_000).unwrap_or_default();
    let doubted = control::with_doubt(state, start_ms);
    if doubted == *state {
        return Ok(());
    }
    if engine.store.advance_loop(&project.key, state, doubted).await? == SaveOutcome::Overtaken {
        tracing::warn!(id = state.id, "a loop was changed while its overrides were checked");
    }
    Ok(())
}

/// True if a file is part of the exam of a loop, or would be.
async fn examines(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
    file: &Path,
) -> Result<bool, StoreError> {
    let Some(path) = RelPath::below(&project.root, file) else {
        return Ok(is_same_file(file, &engine.dirs.user_config));
    };
    if role(&path).is_some_and(|role| role != ExamRole::Test) {
        return Ok(true);
    }
    let exam = engine.store.find_exam(&project.key, loop_id, ExamRole::STRICT).await?;
    Ok(exam.is_some_and(|exam| exam.files.contains_key(&path)))
}

/// True if two paths lead to the same file, symbolic links resolved.
fn is_same_file(file: &Path, written: &Path) -> bool {
    canonical_or_same(file) == canonical_or_same(written)
}

fn canonical_or_same(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

type FrozenFiles = BTreeMap<RelPath, FrozenFile>;

/// All files of an exam, the texts to keep, and whether the limit on files cut the list.
fn collect_exam_files(
    root: &Path,
    plan: &CheckPlan,
    used: &CheckFiles,
    judge: &[String],
) -> (FrozenFiles, ExamTexts, bool) {
    let mut found: Vec<(ExamRole, RelPath)> = exam_names(root, &|path| role(path).is_some())
        .into_iter()
        .chain(shallow(root, plan.commands.iter().map(|command| command.folder.as_str())))
        .filter_map(|path| Some((role(&path)?, path)))
        .collect();
    let with = |role| move |path: &RelPath| (role, path.clone());
    found.extend(used.scripts.iter().map(with(ExamRole::Checks)));
    found.retain(|(_, path)| !used.compared.contains(path));
    found.extend(used.compared.iter().map(with(ExamRole::Used)));
    let included = included_makefiles::included_makefiles(root, plan).into_iter();
    found.extend(included.map(|path| (ExamRole::Runner, path)));
    let judges = judge.iter().filter_map(|word| RelPath::below(root, &root.join(word)));
    let judges = judges.filter(|path| role(path).is_none() && stamp(root, path).is_some());
    found.extend(judges.map(|path| (ExamRole::Checks, path)));
    found.sort();
    found.dedup();
    // Tests come last in this order.
    let mut last = found.split_off(found.partition_point(|(role, _)| *role < ExamRole::Test));
    let is_cut = found.len() > EXAM_FILES_MAX;
    found.truncate(EXAM_FILES_MAX);
    last.truncate(EXAM_TESTS_MAX);
    found.append(&mut last);
    let (mut files, mut texts, mut kept_bytes) = (FrozenFiles::new(), ExamTexts::new(), 0);
    for (role, path) in found {
        let Some(read) = read_exam_file(root, &path) else { continue };
        if is_irrelevant_settings(&path, &read.bytes) {
            continue;
        }
        let hash = read.hash(&path, Some(role));
        files.insert(path.clone(), FrozenFile { role, hash, stamp: read.stamp });
        let is_small = read.bytes.len() <= EXAM_TEXT_BYTES_MAX;
        if is_small && kept_bytes + read.bytes.len() <= EXAM_TEXTS_BYTES_MAX {
            kept_bytes += read.bytes.len();
            texts.insert(path, read.bytes);
        }
    }
    (files, texts, is_cut)
}

/// Hashes of the existing files of an exam, and of new files that would belong to it and are
/// in a place that is searched for new ones.
fn current_hashes(root: &Path, exam: &Exam, roles: &[ExamRole]) -> BTreeMap<RelPath, ContentHash> {
    let mut hashes = BTreeMap::new();
    for (path, frozen) in &exam.files {
        let is_read = !matches!(frozen.role, ExamRole::Config | ExamRole::Test);
        let is_same = !is_read && stamp(root, path) == Some(frozen.stamp);
        let hash = if is_same { Some(frozen.hash) } else { hash_as(root, path, Some(frozen.role)) };
        hashes.extend(hash.map(|hash| (path.clone(), hash)));
    }
    let unseen =
        exam_names(root, &|path| runners::is_loaded_unseen(path) || is_registration_of_host(path));
    let folders = exam.plan.commands.iter().map(|command| command.folder.as_str());
    for path in shallow(root, folders).into_iter().chain(unseen) {
        let is_wanted =
            role(&path).is_some_and(|role| role != ExamRole::Test && roles.contains(&role));
        let is_new = is_wanted && !exam.files.contains_key(&path);
        if let Some(read) = is_new.then(|| read_exam_file(root, &path)).flatten()
            && !is_irrelevant_settings(&path, &read.bytes)
        {
            let hash = read.hash(&path, role(&path));
            hashes.insert(path, hash);
        }
    }
    if roles.contains(&ExamRole::Runner) {
        for path in included_makefiles::included_makefiles(root, &exam.plan) {
            let hash = hash_as(root, &path, Some(ExamRole::Runner));
            hashes.extend(hash.map(|hash| (path, hash)));
        }
    }
    hashes
}

/// The names of files below the root, including those in folders of the host at any depth: it reads its
/// skills there when it works on files next to them, and the rest in a session that starts there.
fn exam_names(root: &Path, wanted: &(dyn Fn(&RelPath) -> bool + Sync)) -> Vec<RelPath> {
    let hidden = HiddenFolders { name: HOST_FOLDER, inner: &DOCUMENT_FOLDERS };
    files::walk_names_and_hidden(root, hidden, wanted)
}

/// Gives changed configuration that git ignores the role of a runner, because runners load it and no diff
/// shows it, and ignored makefiles the role of a file that a check uses, because a build makes them.
///
/// # Errors
///
/// Git's data cannot be used: which of the files a diff shows is unknown then.
fn mark_ignored(root: &Path, differences: &mut [ExamDifference]) -> Result<(), StoreError> {
    let role_if_ignored = |one: &ExamDifference| match one.role {
        ExamRole::Config if runners::is_loaded_unseen(&one.path) => Some(ExamRole::Runner),
        ExamRole::Runner if one.is_included_makefile() => Some(ExamRole::Used),
        _ => None,
    };
    let candidates = differences.iter().filter(|one| role_if_ignored(one).is_some());
    let paths: Vec<RelPath> = candidates.map(|one| one.path.clone()).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let ignored = git::ignored_paths(root, &paths).map_err(|error| {
        StoreError::Unavailable(format!("ignored files cannot be listed: {error}"))
    })?;
    for difference in differences.iter_mut().filter(|one| ignored.contains(&one.path)) {
        difference.role = role_if_ignored(difference).unwrap_or(difference.role);
    }
    Ok(())
}

/// Exam files directly in the root, in a few known folders, in the folders where checks run and below
/// this program's own folders, and git's local ignore rules.
fn shallow<'f>(root: &Path, folders: impl Iterator<Item = &'f str>) -> Vec<RelPath> {
    let mut found: Vec<RelPath> = UNSEEN.into_iter().filter_map(RelPath::parse).collect();
    let mut open: Vec<(PathBuf, bool)> = vec![(root.to_path_buf(), false)];
    open.extend(FOLDERS.map(|folder| (root.join(folder), false)));
    let folders: BTreeSet<&str> = folders.filter(|folder| !folder.is_empty()).collect();
    open.extend(folders.into_iter().map(|folder| (root.join(folder), false)));
    open.extend(TREES.map(|folder| (root.join(folder), true)));
    // Linked folders are followed once, because they could form a cycle.
    let mut followed = BTreeSet::new();
    while let Some((folder, is_tree)) = open.pop() {
        for entry in folder.read_dir().into_iter().flatten().flatten().take(EXAM_FILES_MAX) {
            let path = entry.path();
            let is_folder = match entry.file_type() {
                Ok(kind) if kind.is_symlink() && is_tree => {
                    path.is_dir() && path.canonicalize().is_ok_and(|real| followed.insert(real))
                }
                kind => kind.is_ok_and(|kind| kind.is_dir()),
            };
            let is_package = entry.file_name().to_str().is_some_and(runners::is_package);
            if is_folder && (is_tree || is_package) {
                open.push((path, is_tree));
            } else if let Some(path) = RelPath::below(root, &path) {
                found.extend(Some(path).filter(|path| role(path).is_some()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::engine::panic_gap;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).expect("a relative path")
    }

    /// A project with these files, and its exam.
    fn frozen(files: &[(&str, &str)]) -> (tempfile::TempDir, Exam, ExamTexts) {
        let temp = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            write(temp.path(), name, text);
        }
        let plan = CheckPlan::default();
        let used = check_files::check_files(temp.path(), &plan);
        let (files, texts, is_cut) = collect_exam_files(temp.path(), &plan, &used, &[]);
        let exam = Exam { files, is_truncated: is_cut, ..Exam::default() };
        (temp, exam, texts)
    }

    fn write(root: &Path, name: &str, text: &str) {
        let file = root.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(file, text).expect("written");
    }

    fn check(root: &Path, exam: &Exam, expected: &[&str]) {
        let found = exam::exam_differences(exam, &current_hashes(root, exam, ExamRole::ALL));
        let found: Vec<String> =
            found.iter().map(|one| format!("{} {}", one.change.as_str(), one.path)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_exam_holds_hidden_and_deep_files_but_no_dependencies_or_sources() {
        let (_temp, exam, texts) = frozen(&[
            ("RUBRIC.md", "strict"),
            (".claude/settings.json", "{\"hooks\": {}}"),
            (".claude/settings.local.json", "{\"permissions\": {}}"),
            (".github/workflows/ci.yml", "on: push"),
            (".moai/config/sections/ralph.yaml", "ralph: {}"),
            (".moai/rules/py/own.yml", "id: own"),
            ("packages/a/.eslintrc.json", "{}"),
            ("packages/a/tests/a.test.ts", "test()"),
            ("node_modules/x/package.json", "{}"),
            ("src/a.ts", "code"),
        ]);
        let names: Vec<&str> = exam.files.keys().map(RelPath::as_str).collect();
        assert_eq!(
            names,
            [
                ".claude/settings.json",
                ".github/workflows/ci.yml",
                ".moai/config/sections/ralph.yaml",
                ".moai/rules/py/own.yml",
                "RUBRIC.md",
                "packages/a/.eslintrc.json",
                "packages/a/tests/a.test.ts",
            ]
        );
        assert_eq!(texts.len(), names.len());
        assert_eq!(texts[&path("RUBRIC.md")], b"strict");
    }

    #[test]
    fn an_edit_of_the_same_length_and_an_old_mtime_is_a_difference_but_a_touch_is_not() {
        let (temp, exam, _) = frozen(&[("tsconfig.json", "{1}"), ("tests/test_a.py", "abc")]);
        let root = temp.path();
        check(root, &exam, &[]);
        let past = std::time::SystemTime::UNIX_EPOCH;
        for (name, text) in [("tsconfig.json", "{2}"), ("tests/test_a.py", "abc")] {
            write(root, name, text);
            let file = std::fs::File::options().write(true).open(root.join(name)).expect("there");
            file.set_modified(past).expect("ours");
        }
        check(root, &exam, &["edited tsconfig.json"]);
    }

    #[test]
    fn scripts_of_checks_and_their_executable_bit_are_part_of_the_exam() {
        let script = "#!/bin/sh\npython3 .claude/run.py && mypy a.py\n";
        let files = [
            (".claude/autochecks.sh", script),
            (".claude/run.py", "print()\n"),
            ("a.py", "x = 1\n"),
            ("tests/test_a.py", "def test_a(): pass\n"),
        ];
        let (temp, exam, _) = frozen(&files);
        let root = temp.path();
        let roles: Vec<(&str, ExamRole)> =
            exam.files.iter().map(|(path, frozen)| (path.as_str(), frozen.role)).collect();
        assert_eq!(
            roles,
            [
                (".claude/autochecks.sh", ExamRole::Checks),
                (".claude/run.py", ExamRole::Checks),
                ("tests/test_a.py", ExamRole::Test)
            ]
        );
        check(root, &exam, &[]);
        write(root, ".claude/run.py", "exit()\n");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(root.join(".claude/autochecks.sh"), mode).expect("ours");
        write(root, "a.py", "x = 2\n");
        check(root, &exam, &["edited .claude/autochecks.sh", "edited .claude/run.py"]);
    }

    #[test]
    fn local_ignore_rules_of_git_are_part_of_the_exam() {
        let (temp, _, _) = frozen(&[("a.py", "x = 1\n")]);
        let root = temp.path();
        let made = std::process::Command::new("git").args(["init", "-q"]).arg(root).status();
        assert!(made.expect("git runs").success());
        let freeze = || {
            let (files, _, is_cut) =
                collect_exam_files(root, &CheckPlan::default(), &CheckFiles::default(), &[]);
            Exam { files, is_truncated: is_cut, ..Exam::default() }
        };
        let exam = freeze();
        write(root, ".git/info/exclude", "# nothing\n");
        check(root, &exam, &[]);
        write(root, ".git/info/exclude", "/conftest.py\n");
        check(root, &exam, &["added .git/info/exclude"]);
        let exam = freeze();
        check(root, &exam, &[]);
        write(root, ".git/info/exclude", "/conftest.py\n/tests/\n");
        write(root, ".git/info/sparse-checkout", "/*\n!/tests/\n");
        let both = ["edited .git/info/exclude", "added .git/info/sparse-checkout"];
        check(root, &exam, &both);
    }

    #[test]
    fn a_changed_configuration_is_an_error_while_git_is_unreadable() {
        let (temp, exam, _) = frozen(&[("tox.ini", "a")]);
        let root = temp.path();
        let made = std::process::Command::new("git").args(["init", "-q"]).arg(root).status();
        assert!(made.expect("git runs").success());
        write(root, ".git/index", "no index");
        mark_ignored(root, &mut []).expect("nothing to mark");
        write(root, "tox.ini", "b");
        let now = current_hashes(root, &exam, ExamRole::ALL);
        let mut differences = exam::exam_differences(&exam, &now);
        let error = mark_ignored(root, &mut differences).expect_err("a damaged index");
        assert!(error.to_string().contains("ignored files cannot be listed"), "{error}");
    }

    #[test]
    fn after_an_internal_error_every_difference_counts_as_the_sessions() {
        let (temp, exam, _) = frozen(&[("RUBRIC.md", "a"), ("ruff.toml", "b")]);
        let root = temp.path();
        write(root, "RUBRIC.md", "b");
        std::fs::remove_file(root.join("ruff.toml")).expect("there");
        let now = current_hashes(root, &exam, ExamRole::ALL);
        let all = exam::exam_differences(&exam, &now);
        let own = vec![all[0].clone()];
        assert_eq!(own_writes_or_all(Ok(own), all.clone()).len(), 1);
        let writes = own_writes_or_all(Err(panic_gap()), all.clone());
        let attributed = exam::attribute_differences(all, &writes);
        assert_eq!(attributed.own.len(), 2);
        assert_eq!(attributed.foreign, []);
    }

    #[test]
    fn a_frozen_file_that_became_a_folder_or_a_pipe_or_is_missing_is_a_difference() {
        let (temp, exam, _) = frozen(&[("RUBRIC.md", "a"), ("ruff.toml", "b"), ("tox.ini", "c")]);
        let root = temp.path();
        for name in ["RUBRIC.md", "ruff.toml", "tox.ini"] {
            std::fs::remove_file(root.join(name)).expect("there");
        }
        std::fs::create_dir(root.join("RUBRIC.md")).expect("made");
        let fifo = std::process::Command::new("mkfifo").arg(root.join("ruff.toml")).status();
        assert!(fifo.expect("it runs").success());
        check(root, &exam, &["edited RUBRIC.md", "edited ruff.toml", "removed tox.ini"]);
    }

    #[test]
    fn a_large_file_is_frozen_without_its_text_and_a_change_of_length_is_a_difference() {
        let large = "x".repeat(EXAM_TEXT_BYTES_MAX + 1);
        let (temp, exam, texts) = frozen(&[("RUBRIC.md", &large), ("tox.ini", &large[1..])]);
        assert_eq!(texts.keys().collect::<Vec<_>>(), [&path("tox.ini")]);
        check(temp.path(), &exam, &[]);
        write(temp.path(), "RUBRIC.md", &large[1..]);
        check(temp.path(), &exam, &["edited RUBRIC.md"]);
    }
}
