//! One run of the judges over a change, for a Stop or the command: collects the change, asks the
//! judges, combines their answers and stores their opinions.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::branches::loop_branch::read_git;
use crate::code::change_journal;
use crate::engine::{Engine, now_ms, panic_gap, run_blocking};
use crate::judge::judged_change;
use crate::judge::judged_change::CollectedChange;
use crate::judge::model_calls::{ModelCall, ModelCallOutcome, random};
use crate::project::Project;
use moai_base::hash::ContentHash;
use moai_base::limits::{
    JUDGE_CALLS_AT_ONCE_MAX, JUDGE_HISTORY_MAX, JUDGE_TRIES_MAX, SOURCE_BYTES_MAX,
};
use moai_base::verdict::{Cause, Gap};
use moai_config::judge::{BackendKind, JudgeChoice};
use moai_host::files::{read_regular, transaction};
use moai_host::git;
use moai_host::models::{ApiStyle, ModelBackend, ModelResponse, PreparedBackend};
use moai_host::store::judgements::JudgementKey;
use moai_loops::judge::change::{ReviewChange, TextView};
use moai_loops::judge::decision::{CanaryApproved, JudgeOpinion, Judgement, ORDERS, check_answer};
use moai_loops::judge::injection;
use moai_loops::judge::judge_report::{JudgeReport, JudgeResult, ReviewCoverage};
use moai_loops::judge::parts::{FileOrder, PromptParts};
use moai_loops::judge::prompt::{self, JudgePrompt, JudgeQuestion};
use moai_loops::judge::rubric::{Rubric, RubricCriterion};
use moai_loops::judge::verdict::{JudgeAnswer, Suspicion};
use moai_report::judging::{self as report, JudgementContext};

/// A request to judge a change.
#[derive(Clone, Debug)]
pub(crate) struct JudgeRequest {
    pub(crate) rubric: Rubric,
    /// The purpose of the change, in the user's words; may be empty.
    pub(crate) goal: String,
    /// The revision where the change begins; `None` for the commit of HEAD.
    pub(crate) base: Option<String>,
    /// Without git, the change begins at the first checkpoint of this loop.
    pub(crate) loop_id: Option<String>,
    /// Checks that passed: name and output.
    pub(crate) checks: Vec<(String, String)>,
    /// When all judges must have answered.
    pub(crate) deadline: Instant,
}

/// Asks all judges. A run that is impossible yields an unmeasured report with the reason.
pub(crate) async fn run_judges(
    engine: &Arc<Engine>,
    project: &Project,
    request: JudgeRequest,
) -> JudgeReport {
    let criteria = request.rubric.criteria.clone();
    let unmeasured = |coverage, gap| JudgeReport::unmeasured(criteria.clone(), coverage, gap);
    if let Some(gap) = rubric_gap(&request.rubric) {
        return unmeasured(ReviewCoverage::default(), gap);
    }
    if let Some(gap) = project.trust.gap().filter(|_| project.config.withheld.has_judge) {
        return unmeasured(ReviewCoverage::default(), gap);
    }
    let (owned_engine, owned_project) = (Arc::clone(engine), project.clone());
    let (base, loop_id) = (request.base.clone(), request.loop_id.clone());
    let collected = run_blocking(move || {
        let (base, loop_id) = (base.as_deref(), loop_id.as_deref());
        judged_change::collect_judged_change(&owned_engine, &owned_project, base, loop_id)
    });
    let change = match collected.await {
        Some(Ok(CollectedChange::Change(change))) => change,
        Some(Ok(CollectedChange::NoGit)) => {
            let gap = Gap::new(
                Cause::NoTool,
                "the project has no git repository, so the change is unknown",
            );
            return unmeasured(ReviewCoverage::default(), gap);
        }
        Some(Err(detail)) => {
            return unmeasured(ReviewCoverage::default(), Gap::new(Cause::ProjectFault, detail));
        }
        None => return unmeasured(ReviewCoverage::default(), panic_gap()),
    };
    let mut run = JudgeRun::new(engine, project, request, change);
    if run.since.is_none() {
        let root = project.root.clone();
        match read_git(move || git::base_commit(&root)).await {
            Ok(commit) => run.since = commit,
            Err(error) => {
                let gap = Gap::new(Cause::ProjectFault, error.to_string());
                return unmeasured(run.coverage, gap);
            }
        }
    }
    if run.change.files.is_empty() {
        let detail =
            if run.change.is_empty() { "nothing was changed" } else { "no text was changed" };
        return unmeasured(run.coverage, Gap::new(Cause::Nothing, detail));
    }
    let mut judges = Vec::new();
    for choice in project.config.judge.judges() {
        judges.push(run.ask_judge(&choice).await);
    }
    JudgeReport::from_results(criteria, judges, run.suspicions, run.coverage)
}

/// Writes a loop's files in the tree: the feedback after a rejection, and the list of decisions.
/// Returns a notice for each file that could not be written.
pub(crate) async fn record_judgement(
    engine: &Engine,
    project: &Project,
    judged: &JudgeReport,
    moment: JudgementContext,
) -> Vec<String> {
    type RecordText = fn(&str, &JudgeReport, JudgementContext) -> Option<String>;
    let texts: [(&'static str, RecordText); 2] = [
        (judged_change::FEEDBACK_FILE, report::feedback_file),
        (judged_change::EVOLUTION_FILE, report::evolution_file),
    ];
    let mut notices = Vec::new();
    for (name, record_text) in texts {
        let (path, judged) = (project.root.join(name), judged.clone());
        let journal = change_journal::journal_folder(engine, project);
        let written = run_blocking(move || {
            rewrite_file(&path, &journal, |old| record_text(old, &judged, moment))
        })
        .await;
        if let Err(reason) = written.unwrap_or_else(|| Err("internal error".to_owned())) {
            tracing::warn!(reason, name, "the judgement could not be written");
            notices.push(report::feedback_not_written(name, &reason));
        }
    }
    notices
}

/// Rewrites a file with `new_text`, which gets the old text; `None` leaves the file unchanged, and it is not
/// even read if `new_text` adds nothing to an empty text. An unreadable file stays unchanged, because it is
/// the user's.
fn rewrite_file(
    path: &Path,
    journal: &Path,
    new_text: impl Fn(&str) -> Option<String>,
) -> Result<(), String> {
    if new_text("").is_none() {
        return Ok(());
    }
    // Links are refused: through one, a model's text could end up in any file of the user.
    let before = match path.symlink_metadata() {
        Ok(meta) if meta.len() > SOURCE_BYTES_MAX => {
            return Err("it is larger than 1 MiB".to_owned());
        }
        Ok(meta) if meta.is_file() => {
            let bytes = read_regular(path, SOURCE_BYTES_MAX).map_err(|error| error.to_string())?;
            String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?
        }
        Ok(_) => return Err("it is not a regular file".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.to_string()),
    };
    let Some(text) = new_text(&before) else { return Ok(()) };
    transaction::replace_file(path, journal, text.as_bytes()).map_err(|error| error.to_string())
}

fn rubric_gap(rubric: &Rubric) -> Option<Gap> {
    if let Some(gap) = &rubric.gap {
        return Some(gap.clone());
    }
    let detail = match rubric {
        rubric if rubric.is_empty() => "RUBRIC.md is missing or has no criteria",
        rubric if rubric.criteria.is_empty() => "RUBRIC.md has no judge criteria",
        _ => return None,
    };
    Some(Gap::new(Cause::Nothing, detail))
}

/// A view of the change, and the criteria that are judged on it.
struct JudgeView {
    criteria: Vec<RubricCriterion>,
    parts: PromptParts,
}

/// The state that all judges of one run share.
struct JudgeRun<'a> {
    engine: &'a Engine,
    project: &'a Project,
    request: JudgeRequest,
    change: ReviewChange,
    views: Vec<JudgeView>,
    suspicions: Vec<Suspicion>,
    coverage: ReviewCoverage,
    criteria_hash: ContentHash,
    /// Where the change begins: a commit, or without git a loop.
    since: Option<String>,
}

/// The calls to one judge.
#[derive(Default)]
struct JudgeTally {
    calls: usize,
    model: Option<String>,
    cost_usd: Option<f64>,
    /// True if the judge approved a planted defect.
    approved_canary: bool,
}

impl<'a> JudgeRun<'a> {
    fn new(
        engine: &'a Engine,
        project: &'a Project,
        request: JudgeRequest,
        change: ReviewChange,
    ) -> Self {
        let suspicions = injection::suspicions(&change);
        let suspected = injection::suspected_paths(&suspicions);
        let (text_criteria, code_criteria): (Vec<RubricCriterion>, Vec<RubricCriterion>) =
            request.rubric.criteria.iter().cloned().partition(RubricCriterion::is_about_words);
        let views = [(TextView::Code, code_criteria), (TextView::Full, text_criteria)];
        let views: Vec<JudgeView> = views
            .into_iter()
            .filter(|(_, criteria)| !criteria.is_empty())
            .map(|(view, criteria)| JudgeView {
                criteria,
                parts: PromptParts::from_change(&change, view, &suspected),
            })
            .collect();
        let coverage = coverage(&change, &views);
        let texts: Vec<&str> =
            request.rubric.criteria.iter().map(|criterion| criterion.text.as_str()).collect();
        let criteria_hash = ContentHash::of_bytes(texts.join("\n").as_bytes());
        let since = request.base.clone().or_else(|| request.loop_id.clone());
        Self { engine, project, request, change, views, suspicions, coverage, criteria_hash, since }
    }

    /// The result of one judge.
    async fn ask_judge(&self, choice: &JudgeChoice) -> JudgeResult {
        let mut tally = JudgeTally::default();
        let canary_key = self.canary_key(choice);
        let (opinion, is_cached) = match self.find_opinion(&canary_key).await {
            Some(_) => (Err(CanaryApproved.into()), false),
            None => self.opinion_for(choice, &mut tally).await,
        };
        if tally.approved_canary {
            self.store_opinion(
                &canary_key,
                &JudgeOpinion { has_unread: true, ..JudgeOpinion::default() },
            )
            .await;
        }
        let judgement = match &opinion {
            Ok(opinion) => opinion.judgement(self.unread()),
            Err(gap) => Judgement::Unmeasured(gap.clone()),
        };
        JudgeResult {
            name: choice.name.clone(),
            backend: choice.backend.as_str(),
            model: tally.model,
            judgement,
            opinion: opinion.ok(),
            calls: tally.calls,
            cost_usd: tally.cost_usd,
            is_cached,
        }
    }

    /// The stored opinion on the same question, else a new one, which is stored.
    async fn opinion_for(
        &self,
        choice: &JudgeChoice,
        tally: &mut JudgeTally,
    ) -> (Result<JudgeOpinion, Gap>, bool) {
        let key = self.question_key(choice);
        if let Some(opinion) = self.find_opinion(&key).await {
            return (Ok(opinion), true);
        }
        let opinion = self.new_opinion(choice, &key, tally).await;
        if let Ok(opinion) = &opinion {
            self.store_opinion(&key, opinion).await;
        }
        (opinion, false)
    }

    async fn find_opinion(&self, key: &JudgementKey) -> Option<JudgeOpinion> {
        let stored = self.engine.store.find_judgement(&self.project.key, key).await;
        stored.unwrap_or_else(|error| {
            tracing::warn!(%error, "earlier judgements cannot be read");
            None
        })
    }

    async fn store_opinion(&self, key: &JudgementKey, opinion: &JudgeOpinion) {
        let (store, project) = (&self.engine.store, self.project);
        let saved = store.save_judgement(&project.key, &project.root, key, opinion, now_ms()).await;
        if let Err(error) = saved {
            tracing::warn!(%error, "a judgement could not be kept");
        }
    }

    /// The key of the record that a judge approved a planted defect. It holds for all changes since
    /// one commit, because an edit does not make a judge reliable.
    fn canary_key(&self, choice: &JudgeChoice) -> JudgementKey {
        let (version, model, root) = (prompt::VERSION, self.model(choice), &self.project.root);
        let (since, goal) = (&self.since, &self.request.goal);
        let judge = format!("{version} {choice:?} {model:?} {} {since:?} {goal}", root.display());
        let criteria = ContentHash::of_bytes(b"caught believing");
        JudgementKey { key: ContentHash::of_bytes(judge.as_bytes()), criteria }
    }

    /// The key of a question: change, criteria, prompt and judge.
    fn question_key(&self, choice: &JudgeChoice) -> JudgementKey {
        let version = prompt::VERSION;
        let model = self.model(choice);
        let judge = format!("{version} {choice:?} {model:?} {}", self.request.goal);
        let parts =
            [self.change.hash(), self.criteria_hash, ContentHash::of_bytes(judge.as_bytes())];
        let all: Vec<u8> = parts.iter().flat_map(|hash| *hash.as_bytes()).collect();
        JudgementKey { key: ContentHash::of_bytes(&all), criteria: self.criteria_hash }
    }

    fn model(&self, choice: &JudgeChoice) -> Option<String> {
        let own = Some(choice.model.clone()).filter(|model| !model.is_empty());
        own.or_else(|| self.request.rubric.model.clone())
    }

    /// The parts of the change that were not shown, as one gap.
    fn unread(&self) -> Option<Gap> {
        let unread = &self.coverage.unread;
        let first = unread.first()?;
        let detail = match unread.len() {
            1 => format!("{} was not shown to the judge ({})", first.path, first.reason),
            many => format!("{many} changed files were not shown to the judge"),
        };
        Some(Gap::new(Cause::Skipped, detail))
    }

    /// Asks for an opinion, and for a second one if the first does not suffice alone.
    async fn new_opinion(
        &self,
        choice: &JudgeChoice,
        key: &JudgementKey,
        tally: &mut JudgeTally,
    ) -> Result<JudgeOpinion, Gap> {
        let workspace = &self.project.workspace;
        // A project that is not trusted may have a program `claude` on PATH.
        let env = match self.project.trust.gap() {
            None => (*workspace.env).clone(),
            Some(_) => workspace.server_env(),
        };
        let env: Arc<Vec<(String, String)>> = Arc::new(env.into_iter().collect());
        let backend = self.backend(choice)?;
        let ready = Arc::new(backend.prepare(&env).await?);
        let earlier = self.earlier_rulings(key).await;
        let mut first: Option<JudgeOpinion> = None;
        for order in ORDERS {
            let prompts = self.prompts(order, &earlier)?;
            let answers = self.answers(&ready, &env, prompts, tally).await?;
            let opinion = JudgeOpinion::from_answers(answers);
            first = match first {
                None if opinion.needs_second() => Some(opinion),
                None => return Ok(opinion),
                Some(first) => return Ok(first.merge_second(opinion)),
            };
        }
        first.ok_or_else(panic_gap)
    }

    fn backend(&self, choice: &JudgeChoice) -> Result<ModelBackend, Gap> {
        let style = match choice.backend {
            BackendKind::None => {
                return Err(Gap::new(Cause::SwitchedOff, "judge.backend is none"));
            }
            BackendKind::Claude => {
                let budget_cents = self.project.config.judge.budget_cents;
                return Ok(ModelBackend::Claude {
                    program: "claude".into(),
                    model: self.model(choice),
                    budget_cents,
                });
            }
            BackendKind::Command => {
                let mut words = choice.command.iter();
                let program = words.next().cloned().unwrap_or_default();
                let is_path = program.contains('/');
                let program =
                    if is_path { self.project.root.join(program) } else { program.into() };
                return Ok(ModelBackend::Command { program, args: words.cloned().collect() });
            }
            BackendKind::Openai => ApiStyle::Openai,
            BackendKind::Anthropic => ApiStyle::Anthropic,
        };
        let api_key_env = Some(choice.api_key_env.clone()).filter(|name| !name.is_empty());
        let model = self.model(choice).unwrap_or_default();
        Ok(ModelBackend::Http { style, url: choice.url.clone(), model, api_key_env })
    }

    /// The rulings on earlier states, without any text that a model or the user wrote.
    async fn earlier_rulings(&self, judgement: &JudgementKey) -> Vec<String> {
        let (key, root) = (&self.project.key, &self.project.root);
        let last = self.engine.store.last_judgements(key, root, judgement, JUDGE_HISTORY_MAX).await;
        let last = last.unwrap_or_default();
        let lines = last.iter().flat_map(|opinion| &opinion.rulings).map(|ruled| {
            let quoted: String = ruled.quotes.iter().map(|quote| quote.text.as_str()).collect();
            let hash = ContentHash::of_bytes(quoted.as_bytes()).short_hex();
            format!("{} {} (evidence {hash})", ruled.id, ruled.ruling.as_str())
        });
        lines.take(JUDGE_HISTORY_MAX).collect()
    }

    /// The answers to all calls, in their order; some calls run at the same time.
    async fn answers(
        &self,
        ready: &Arc<PreparedBackend>,
        env: &Arc<Vec<(String, String)>>,
        prompts: Vec<Vec<JudgePrompt>>,
        tally: &mut JudgeTally,
    ) -> Result<Vec<JudgeAnswer>, Gap> {
        let permits = Arc::new(Semaphore::new(JUDGE_CALLS_AT_ONCE_MAX));
        let mut calls = JoinSet::new();
        for (number, prompts) in prompts.into_iter().enumerate() {
            let call = ModelCall {
                prompts,
                ready: Arc::clone(ready),
                env: Arc::clone(env),
                timeout: self.project.config.judge.timeout,
                deadline: self.request.deadline,
            };
            let permits = Arc::clone(&permits);
            calls.spawn(async move {
                let _permit = permits.acquire().await;
                (number, call.make().await)
            });
        }
        let mut answers = Vec::new();
        while let Some(made) = calls.join_next().await {
            let (number, ModelCallOutcome { answer, replies, tries }) =
                made.map_err(|_| panic_gap())?;
            tally.calls += tries;
            tally.add(replies);
            let (answer, prompt) = answer?;
            let answer = check_answer(answer, prompt.canary.as_deref(), &self.change);
            tally.approved_canary |= answer.is_err();
            answers.push((number, answer?));
        }
        answers.sort_by_key(|(number, _)| *number);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    /// The prompts of all calls, one per part of each view; each call has a prompt per try, because
    /// every try needs a new secret.
    fn prompts(&self, order: FileOrder, earlier: &[String]) -> Result<Vec<Vec<JudgePrompt>>, Gap> {
        let omitted: Vec<String> = self
            .change
            .omitted
            .iter()
            .map(|file| format!("{} ({})", file.path, file.reason))
            .collect();
        let mut all = Vec::new();
        for view in &self.views {
            let parts = view.parts.clone().ordered(order).parts;
            for (number, part) in parts.iter().enumerate() {
                let other_parts = parts.iter().enumerate().filter(|(other, _)| *other != number);
                let other_files: Vec<String> = other_parts
                    .flat_map(|(_, part)| part.files.iter().map(|(path, _)| path.to_string()))
                    .collect();
                let question = JudgeQuestion {
                    criteria: &view.criteria,
                    goal: &self.request.goal,
                    part,
                    part_number: (number + 1, parts.len()),
                    other_files: &other_files,
                    omitted: &omitted,
                    checks: &self.request.checks,
                    earlier_rulings: earlier,
                    order,
                };
                let tries = (0..JUDGE_TRIES_MAX).map(|_| JudgePrompt::new(&question, random()?));
                all.push(tries.collect::<Result<Vec<_>, Gap>>()?);
            }
        }
        Ok(all)
    }
}

impl JudgeTally {
    fn add(&mut self, replies: Vec<ModelResponse>) {
        for reply in replies {
            self.model = reply.model.or(self.model.take());
            self.cost_usd = match (self.cost_usd, reply.cost_usd) {
                (Some(sum), Some(cost)) => Some(sum + cost),
                (sum, cost) => sum.or(cost),
            };
        }
    }
}

fn coverage(change: &ReviewChange, views: &[JudgeView]) -> ReviewCoverage {
    let mut unread = change.unread.clone();
    for missed in views.iter().flat_map(|view| &view.parts.unread) {
        if !unread.iter().any(|file| file.path == missed.path) {
            unread.push(missed.clone());
        }
    }
    let cut = unread.len() - change.unread.len();
    ReviewCoverage {
        files: change.files.len() + change.omitted.len() + change.unread.len(),
        shown: change.files.len() - cut,
        parts: views.iter().map(|view| view.parts.parts.len()).sum(),
        omitted: change.omitted.clone(),
        unread,
    }
}
