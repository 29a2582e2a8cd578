//! One run of the judges over a change: collects it, asks, decides, keeps what was said. It is the
//! same for a Stop and for the command. It must not know what becomes of the judgement.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::engine::{Engine, now_ms, run_blocking};
use super::judged_change::{self, CollectedChange};
use super::model_calls::{ModelCall, ModelCallOutcome, random};
use super::project::Project;
use crate::base::hash::ContentHash;
use crate::base::limits::{
    JUDGE_CALLS_AT_ONCE_MAX, JUDGE_HISTORY_MAX, JUDGE_TRIES_MAX, SOURCE_BYTES_MAX,
};
use crate::base::verdict::{Cause, Gap};
use crate::config::judge::{BackendKind, JudgeChoice};
use crate::judge::change::{ReviewChange, TextView};
use crate::judge::decision::{CanaryApproved, JudgeOpinion, Judgement, ORDERS, check_answer};
use crate::judge::injection;
use crate::judge::judge_report::{JudgeReport, JudgeResult, ReviewCoverage};
use crate::judge::parts::{FileOrder, PromptParts};
use crate::judge::prompt::{self, JudgePrompt, JudgeQuestion};
use crate::judge::rubric::{Rubric, RubricCriterion};
use crate::judge::verdict::{JudgeAnswer, Suspicion};
use crate::models::{ApiStyle, ModelBackend, ModelResponse, PreparedBackend};
use crate::report::judging::{self as report, JudgementContext};
use crate::store::judgements::JudgementKey;
use crate::{files, git};

/// What is judged, and by what.
#[derive(Clone, Debug)]
pub(super) struct JudgeRequest {
    /// What the user wants.
    pub(super) rubric: Rubric,
    /// What the change is for, in the user's words; may be empty.
    pub(super) goal: String,
    /// Where the change begins, as git's owner names it; `None`: at the commit of HEAD.
    pub(super) base: Option<String>,
    /// The loop whose first checkpoint is where the change begins when there is no git.
    pub(super) loop_id: Option<String>,
    /// Checks that passed: name and output.
    pub(super) checks: Vec<(String, String)>,
    /// When all judges must have answered.
    pub(super) deadline: Instant,
}

/// Asks all judges. A run that could not be made is a judgement, too: nothing was measured.
pub(super) async fn run_judges(
    engine: &Arc<Engine>,
    project: &Project,
    asked: JudgeRequest,
) -> JudgeReport {
    let criteria = asked.rubric.criteria.clone();
    let unmeasured = |coverage, gap| JudgeReport::unmeasured(criteria.clone(), coverage, gap);
    if let Some(gap) = rubric_gap(&asked.rubric) {
        return unmeasured(ReviewCoverage::default(), gap);
    }
    let (owned, kept) = (project.clone(), Arc::clone(engine));
    let (base, loop_id) = (asked.base.clone(), asked.loop_id.clone());
    let collected = run_blocking(move || {
        judged_change::collect_judged_change(&kept, &owned, (base.as_deref(), loop_id.as_deref()))
    });
    let collected = collected.await;
    let change = match collected {
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
        None => return unmeasured(ReviewCoverage::default(), internal()),
    };
    let mut run = JudgeRun::new(engine, project, asked, change);
    if run.since.is_none() {
        let root = project.root.clone();
        run.since = run_blocking(move || git::base_commit(&root)).await.flatten();
    }
    if run.change.files.is_empty() {
        let what =
            if run.change.is_empty() { "nothing was changed" } else { "no text was changed" };
        return unmeasured(run.coverage, Gap::new(Cause::Nothing, what));
    }
    let mut judges = Vec::new();
    for choice in project.config.judge.judges() {
        judges.push(run.ask_judge(&choice).await);
    }
    JudgeReport::from_results(criteria, judges, run.suspicions, run.coverage)
}

/// Writes what a loop keeps in the tree: the feedback after a rejection, and the list of decisions.
/// Returns what the user must know: a file that was not written.
pub(super) async fn record_judgement(
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
    for (name, words) in texts {
        let (path, judged) = (project.root.join(name), judged.clone());
        let written =
            run_blocking(move || add(&path, |before| words(before, &judged, moment))).await;
        if let Err(reason) = written.unwrap_or_else(|| Err("internal error".to_owned())) {
            tracing::warn!(reason, name, "the judgement could not be written");
            notices.push(report::feedback_not_written(name, &reason));
        }
    }
    notices
}

/// Replaces the text of a file by what becomes of it; where there is nothing to add, the file is
/// not looked at. One that cannot be read stays as it is: it is the user's.
fn add(path: &Path, words: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    if words("").is_none() {
        return Ok(());
    }
    // A link would lead the words of a model to any file of the user.
    let before = match path.symlink_metadata() {
        Ok(meta) if meta.len() > SOURCE_BYTES_MAX => {
            return Err("it is larger than 1 MiB".to_owned());
        }
        Ok(meta) if meta.is_file() => {
            let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
            String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?
        }
        Ok(_) => return Err("it is no regular file".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.to_string()),
    };
    let Some(text) = words(&before) else { return Ok(()) };
    files::replace_file(path, text.as_bytes()).map_err(|error| error.to_string())
}

fn rubric_gap(rubric: &Rubric) -> Option<Gap> {
    let nothing = |what: &str| Some(Gap::new(Cause::Nothing, what));
    match &rubric.gap {
        Some(gap) => Some(gap.clone()),
        None if rubric.is_empty() => nothing("RUBRIC.md has no criteria"),
        None if rubric.criteria.is_empty() => nothing("RUBRIC.md has no judge criteria"),
        None => None,
    }
}

fn internal() -> Gap {
    Gap::new(Cause::Crashed, "internal error; see the daemon's log")
}

/// A view of the change and the criteria that are judged by it.
struct JudgeView {
    criteria: Vec<RubricCriterion>,
    parts: PromptParts,
}

/// What all judges of one run share.
struct JudgeRun<'a> {
    engine: &'a Engine,
    project: &'a Project,
    request: JudgeRequest,
    change: ReviewChange,
    views: Vec<JudgeView>,
    suspicions: Vec<Suspicion>,
    coverage: ReviewCoverage,
    criteria_hash: ContentHash,
    /// What the change begins at: a commit, or a loop where there is no git.
    since: Option<String>,
}

/// What one judge was asked with.
#[derive(Default)]
struct JudgeTally {
    calls: usize,
    model: Option<String>,
    cost_usd: Option<f64>,
    /// Whether it approved what was planted.
    approved_canary: bool,
}

impl<'a> JudgeRun<'a> {
    fn new(
        engine: &'a Engine,
        project: &'a Project,
        asked: JudgeRequest,
        change: ReviewChange,
    ) -> Self {
        let suspicions = injection::suspicions(&change);
        let suspected = injection::suspected_paths(&suspicions);
        let (words, code): (Vec<RubricCriterion>, Vec<RubricCriterion>) =
            asked.rubric.criteria.iter().cloned().partition(RubricCriterion::is_about_words);
        let looks = [(TextView::Code, code), (TextView::Full, words)];
        let looks: Vec<JudgeView> = looks
            .into_iter()
            .filter(|(_, criteria)| !criteria.is_empty())
            .map(|(view, criteria)| JudgeView {
                criteria,
                parts: PromptParts::from_change(&change, view, &suspected),
            })
            .collect();
        let coverage = coverage(&change, &looks);
        let texts: Vec<&str> = asked.rubric.criteria.iter().map(|one| one.text.as_str()).collect();
        let criteria_hash = ContentHash::of_bytes(texts.join("\n").as_bytes());
        let since = asked.base.clone().or_else(|| asked.loop_id.clone());
        Self {
            engine,
            project,
            request: asked,
            change,
            views: looks,
            suspicions,
            coverage,
            criteria_hash,
            since,
        }
    }

    /// What one judge says.
    async fn ask_judge(&self, choice: &JudgeChoice) -> JudgeResult {
        let mut tally = JudgeTally::default();
        let caught = self.caught_key(choice);
        let (opinion, is_known) = match self.find_opinion(&caught).await {
            Some(_) => (Err(CanaryApproved.into()), false),
            None => self.opinion_for(choice, &mut tally).await,
        };
        if tally.approved_canary {
            self.store_opinion(
                &caught,
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
            is_cached: is_known,
        }
    }

    /// An opinion from the store where the same was asked before, else a new one, which is kept.
    async fn opinion_for(
        &self,
        choice: &JudgeChoice,
        tally: &mut JudgeTally,
    ) -> (Result<JudgeOpinion, Gap>, bool) {
        let about = self.question_key(choice);
        if let Some(opinion) = self.find_opinion(&about).await {
            return (Ok(opinion), true);
        }
        let opinion = self.opinion(choice, &about, tally).await;
        if let Ok(opinion) = &opinion {
            self.store_opinion(&about, opinion).await;
        }
        (opinion, false)
    }

    async fn find_opinion(&self, about: &JudgementKey) -> Option<JudgeOpinion> {
        let known = self.engine.store.find_judgement(&self.project.key, about).await;
        known.unwrap_or_else(|error| {
            tracing::warn!(%error, "earlier judgements cannot be read");
            None
        })
    }

    async fn store_opinion(&self, about: &JudgementKey, opinion: &JudgeOpinion) {
        let (key, root) = (&self.project.key, &self.project.root);
        let kept = self.engine.store.save_judgement(key, root, about, opinion, now_ms()).await;
        if let Err(error) = kept {
            tracing::warn!(%error, "a judgement could not be kept");
        }
    }

    /// Under what it is kept that a judge was caught believing: it holds for all that is changed
    /// since one commit, because an edit does not make a judge reliable.
    fn caught_key(&self, choice: &JudgeChoice) -> JudgementKey {
        let (version, model, root) = (prompt::VERSION, self.model(choice), &self.project.root);
        let (since, goal) = (&self.since, &self.request.goal);
        let judge = format!("{version} {choice:?} {model:?} {} {since:?} {goal}", root.display());
        let criteria = ContentHash::of_bytes(b"caught believing");
        JudgementKey { key: ContentHash::of_bytes(judge.as_bytes()), criteria }
    }

    /// Identity of the question: the same change, criteria, words and judge.
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

    /// What of the change was not shown, as one gap.
    fn unread(&self) -> Option<Gap> {
        let unread = &self.coverage.unread;
        let first = unread.first()?;
        let detail = match unread.len() {
            1 => format!("{} was not shown to the judge ({})", first.path, first.reason),
            many => format!("{many} changed files were not shown to the judge"),
        };
        Some(Gap::new(Cause::Skipped, detail))
    }

    /// One opinion, and a second one where the first would not do alone.
    async fn opinion(
        &self,
        choice: &JudgeChoice,
        about: &JudgementKey,
        tally: &mut JudgeTally,
    ) -> Result<JudgeOpinion, Gap> {
        let env: Arc<Vec<(String, String)>> = Arc::new(
            self.project
                .workspace
                .env
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        );
        let backend = self.backend(choice)?;
        let ready = Arc::new(backend.prepare(&env).await?);
        let ledger = self.earlier_rulings(about).await;
        let mut first: Option<JudgeOpinion> = None;
        for order in ORDERS {
            let asked = (Arc::clone(&ready), Arc::clone(&env));
            let opinion =
                JudgeOpinion::from_answers(self.answers(asked, order, &ledger, tally).await?);
            first = match first {
                None if opinion.needs_second() => Some(opinion),
                None => return Ok(opinion),
                Some(first) => return Ok(first.merge_second(opinion)),
            };
        }
        first.ok_or_else(internal)
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

    /// The rulings about earlier states, as words that nobody but this program has written.
    async fn earlier_rulings(&self, about: &JudgementKey) -> Vec<String> {
        let (key, root) = (&self.project.key, &self.project.root);
        let last = self.engine.store.last_judgements(key, root, about, JUDGE_HISTORY_MAX).await;
        let last = last.unwrap_or_default();
        let lines = last.iter().flat_map(|opinion| &opinion.rulings).map(|one| {
            let quoted: String = one.quotes.iter().map(|quote| quote.text.as_str()).collect();
            let hash = ContentHash::of_bytes(quoted.as_bytes()).short_hex();
            format!("{} {} (evidence {hash})", one.id, one.ruling.as_str())
        });
        lines.take(JUDGE_HISTORY_MAX).collect()
    }

    /// The answers about all parts of all looks, some of them asked for at the same time.
    async fn answers(
        &self,
        (ready, env): (Arc<PreparedBackend>, Arc<Vec<(String, String)>>),
        order: FileOrder,
        ledger: &[String],
        tally: &mut JudgeTally,
    ) -> Result<Vec<JudgeAnswer>, Gap> {
        let places = Arc::new(Semaphore::new(JUDGE_CALLS_AT_ONCE_MAX));
        let mut calls = JoinSet::new();
        for (number, prompts) in self.prompts(order, ledger)?.into_iter().enumerate() {
            let call = ModelCall {
                prompts,
                ready: Arc::clone(&ready),
                env: Arc::clone(&env),
                timeout: self.project.config.judge.timeout,
                deadline: self.request.deadline,
            };
            let places = Arc::clone(&places);
            calls.spawn(async move {
                let _place = places.acquire().await;
                (number, call.make().await)
            });
        }
        let mut answers = Vec::new();
        while let Some(made) = calls.join_next().await {
            let (number, ModelCallOutcome { answer, replies: said, tries: count }) =
                made.map_err(|_| internal())?;
            tally.calls += count;
            tally.add(said);
            let (answer, prompt) = answer?;
            let answer = check_answer(answer, prompt.canary.as_deref(), &self.change);
            tally.approved_canary |= answer.is_err();
            answers.push((number, answer?));
        }
        answers.sort_by_key(|(number, _)| *number);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    /// For each call its words, once for each try: a new try has a new secret.
    fn prompts(&self, order: FileOrder, ledger: &[String]) -> Result<Vec<Vec<JudgePrompt>>, Gap> {
        let listed: Vec<String> = self
            .change
            .omitted
            .iter()
            .map(|one| format!("{} ({})", one.path, one.reason))
            .collect();
        let mut all = Vec::new();
        for look in &self.views {
            let parts = look.parts.clone().ordered(order).parts;
            for (number, part) in parts.iter().enumerate() {
                let elsewhere = parts.iter().enumerate().filter(|(other, _)| *other != number);
                let elsewhere: Vec<String> = elsewhere
                    .flat_map(|(_, part)| part.files.iter().map(|(path, _)| path.to_string()))
                    .collect();
                let question = JudgeQuestion {
                    criteria: &look.criteria,
                    goal: &self.request.goal,
                    part,
                    part_number: (number + 1, parts.len()),
                    other_files: &elsewhere,
                    omitted: &listed,
                    checks: &self.request.checks,
                    earlier_rulings: ledger,
                    order,
                };
                let worded = (0..JUDGE_TRIES_MAX).map(|_| JudgePrompt::new(&question, random()?));
                all.push(worded.collect::<Result<Vec<_>, Gap>>()?);
            }
        }
        Ok(all)
    }
}

impl JudgeTally {
    fn add(&mut self, said: Vec<ModelResponse>) {
        for one in said {
            self.model = one.model.or(self.model.take());
            self.cost_usd = match (self.cost_usd, one.cost_usd) {
                (Some(sum), Some(cost)) => Some(sum + cost),
                (sum, cost) => sum.or(cost),
            };
        }
    }
}

fn coverage(change: &ReviewChange, looks: &[JudgeView]) -> ReviewCoverage {
    let mut unread = change.unread.clone();
    for missed in looks.iter().flat_map(|look| &look.parts.unread) {
        if !unread.iter().any(|one| one.path == missed.path) {
            unread.push(missed.clone());
        }
    }
    let cut = unread.len() - change.unread.len();
    ReviewCoverage {
        files: change.files.len() + change.omitted.len() + change.unread.len(),
        shown: change.files.len() - cut,
        parts: looks.iter().map(|look| look.parts.parts.len()).sum(),
        omitted: change.omitted.clone(),
        unread,
    }
}
