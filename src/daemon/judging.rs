//! One run of the judges over a change: collects it, asks, decides, keeps what was said. It is the
//! same for a Stop and for the command. It must not know what becomes of the judgement.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::engine::{Engine, blocking, now_ms};
use super::judge_calls::{Call, Made, random};
use super::judged_change::{self, Collected};
use super::project::Project;
use crate::base::hash::ContentHash;
use crate::base::limits::{
    JUDGE_CALLS_AT_ONCE_MAX, JUDGE_HISTORY_MAX, JUDGE_TRIES_MAX, SOURCE_BYTES_MAX,
};
use crate::base::verdict::{Cause, Gap};
use crate::config::judge::{BackendKind, JudgeChoice};
use crate::judge::change::{Change, View};
use crate::judge::decision::{Believes, Judgement, ORDERS, Opinion, checked};
use crate::judge::injection;
use crate::judge::judged::{Coverage, JudgeSaid, Judged};
use crate::judge::parts::{Order, Parts};
use crate::judge::prompt::{self, Prompt, Question};
use crate::judge::rubric::{Criterion, Rubric};
use crate::judge::verdict::{Answer, Suspicion};
use crate::models::{Backend, Ready, Said, Style};
use crate::report::judging::{self as report, Moment};
use crate::store::judgements::About;
use crate::{files, git};

/// What is judged, and by what.
#[derive(Clone, Debug)]
pub(super) struct Asked {
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
pub(super) async fn judge(engine: &Arc<Engine>, project: &Project, asked: Asked) -> Judged {
    let criteria = asked.rubric.criteria.clone();
    let unmeasured = |coverage, gap| Judged::unmeasured(criteria.clone(), coverage, gap);
    if let Some(gap) = nothing_asked(&asked.rubric) {
        return unmeasured(Coverage::default(), gap);
    }
    let (owned, kept) = (project.clone(), Arc::clone(engine));
    let (base, loop_id) = (asked.base.clone(), asked.loop_id.clone());
    let collected = blocking(move || {
        judged_change::collect(&kept, &owned, (base.as_deref(), loop_id.as_deref()))
    });
    let collected = collected.await;
    let change = match collected {
        Some(Ok(Collected::Change(change))) => change,
        Some(Ok(Collected::NoGit)) => {
            let gap = Gap::new(Cause::NoTool, "without git nobody knows what was changed");
            return unmeasured(Coverage::default(), gap);
        }
        Some(Err(detail)) => {
            return unmeasured(Coverage::default(), Gap::new(Cause::ProjectFault, detail));
        }
        None => return unmeasured(Coverage::default(), internal()),
    };
    let mut run = Run::new(engine, project, asked, change);
    if run.since.is_none() {
        let root = project.root.clone();
        run.since = blocking(move || git::base(&root)).await.flatten();
    }
    if run.change.files.is_empty() {
        let what =
            if run.change.is_empty() { "nothing was changed" } else { "no text was changed" };
        return unmeasured(run.coverage, Gap::new(Cause::Nothing, what));
    }
    let mut judges = Vec::new();
    for choice in project.config.judge.judges() {
        judges.push(run.ask(&choice).await);
    }
    Judged::of(criteria, judges, run.suspicions, run.coverage)
}

/// Writes what a loop keeps in the tree: the feedback after a rejection, and the list of decisions.
/// Returns what the user must know: a file that was not written.
pub(super) async fn record(project: &Project, judged: &Judged, moment: Moment) -> Vec<String> {
    type Words = fn(&str, &Judged, Moment) -> Option<String>;
    let texts: [(&'static str, Words); 2] = [
        (judged_change::FEEDBACK, report::feedback),
        (judged_change::EVOLUTION, report::evolution),
    ];
    let mut notices = Vec::new();
    for (name, words) in texts {
        let (path, judged) = (project.root.join(name), judged.clone());
        let written = blocking(move || add(&path, |before| words(before, &judged, moment))).await;
        if let Err(reason) = written.unwrap_or_else(|| Err("internal error".to_owned())) {
            tracing::warn!(reason, name, "the judgement could not be written");
            notices.push(report::not_written(name, &reason));
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
    files::replace(path, text.as_bytes()).map_err(|error| error.to_string())
}

fn nothing_asked(rubric: &Rubric) -> Option<Gap> {
    let nothing = |what: &str| Some(Gap::new(Cause::Nothing, what));
    match &rubric.gap {
        Some(gap) => Some(gap.clone()),
        None if rubric.is_empty() => nothing("RUBRIC.md asks for nothing"),
        None if rubric.criteria.is_empty() => nothing("RUBRIC.md has no judge criteria"),
        None => None,
    }
}

fn internal() -> Gap {
    Gap::new(Cause::Crashed, "internal error; the daemon's log says more")
}

/// A view of the change and the criteria that are judged by it.
struct Look {
    criteria: Vec<Criterion>,
    parts: Parts,
}

/// What all judges of one run share.
struct Run<'a> {
    engine: &'a Engine,
    project: &'a Project,
    asked: Asked,
    change: Change,
    looks: Vec<Look>,
    suspicions: Vec<Suspicion>,
    coverage: Coverage,
    criteria_hash: ContentHash,
    /// What the change begins at: a commit, or a loop where there is no git.
    since: Option<String>,
}

/// What one judge was asked with.
#[derive(Default)]
struct Tally {
    calls: usize,
    model: Option<String>,
    cost_usd: Option<f64>,
    /// Whether it approved what was planted.
    believes: bool,
}

impl<'a> Run<'a> {
    fn new(engine: &'a Engine, project: &'a Project, asked: Asked, change: Change) -> Self {
        let suspicions = injection::suspicions(&change);
        let suspected = injection::suspected(&suspicions);
        let (words, code): (Vec<Criterion>, Vec<Criterion>) =
            asked.rubric.criteria.iter().cloned().partition(Criterion::is_about_words);
        let looks = [(View::Code, code), (View::Full, words)];
        let looks: Vec<Look> = looks
            .into_iter()
            .filter(|(_, criteria)| !criteria.is_empty())
            .map(|(view, criteria)| Look { criteria, parts: Parts::of(&change, view, &suspected) })
            .collect();
        let coverage = coverage(&change, &looks);
        let texts: Vec<&str> = asked.rubric.criteria.iter().map(|one| one.text.as_str()).collect();
        let criteria_hash = ContentHash::of(texts.join("\n").as_bytes());
        let since = asked.base.clone().or_else(|| asked.loop_id.clone());
        Self { engine, project, asked, change, looks, suspicions, coverage, criteria_hash, since }
    }

    /// What one judge says.
    async fn ask(&self, choice: &JudgeChoice) -> JudgeSaid {
        let mut tally = Tally::default();
        let caught = self.caught(choice);
        let (opinion, is_known) = match self.known(&caught).await {
            Some(_) => (Err(Believes.into()), false),
            None => self.known_or_new(choice, &mut tally).await,
        };
        if tally.believes {
            self.keep(&caught, &Opinion { has_unread: true, ..Opinion::default() }).await;
        }
        let judgement = match &opinion {
            Ok(opinion) => opinion.judgement(self.unread()),
            Err(gap) => Judgement::Unmeasured(gap.clone()),
        };
        JudgeSaid {
            name: choice.name.clone(),
            backend: choice.backend.as_str(),
            model: tally.model,
            judgement,
            opinion: opinion.ok(),
            calls: tally.calls,
            cost_usd: tally.cost_usd,
            is_known,
        }
    }

    /// An opinion from the store where the same was asked before, else a new one, which is kept.
    async fn known_or_new(
        &self,
        choice: &JudgeChoice,
        tally: &mut Tally,
    ) -> (Result<Opinion, Gap>, bool) {
        let about = self.about(choice);
        if let Some(opinion) = self.known(&about).await {
            return (Ok(opinion), true);
        }
        let opinion = self.opinion(choice, &about, tally).await;
        if let Ok(opinion) = &opinion {
            self.keep(&about, opinion).await;
        }
        (opinion, false)
    }

    async fn known(&self, about: &About) -> Option<Opinion> {
        let known = self.engine.store.find_judgement(&self.project.key, about).await;
        known.unwrap_or_else(|error| {
            tracing::warn!(%error, "earlier judgements cannot be read");
            None
        })
    }

    async fn keep(&self, about: &About, opinion: &Opinion) {
        let (key, root) = (&self.project.key, &self.project.root);
        let kept = self.engine.store.keep_judgement(key, root, about, opinion, now_ms()).await;
        if let Err(error) = kept {
            tracing::warn!(%error, "a judgement could not be kept");
        }
    }

    /// Under what it is kept that a judge was caught believing: it holds for all that is changed
    /// since one commit, because an edit does not make a judge reliable.
    fn caught(&self, choice: &JudgeChoice) -> About {
        let (version, model, root) = (prompt::VERSION, self.model(choice), &self.project.root);
        let (since, goal) = (&self.since, &self.asked.goal);
        let judge = format!("{version} {choice:?} {model:?} {} {since:?} {goal}", root.display());
        let criteria = ContentHash::of(b"caught believing");
        About { key: ContentHash::of(judge.as_bytes()), criteria }
    }

    /// Identity of the question: the same change, criteria, words and judge.
    fn about(&self, choice: &JudgeChoice) -> About {
        let version = prompt::VERSION;
        let model = self.model(choice);
        let judge = format!("{version} {choice:?} {model:?} {}", self.asked.goal);
        let parts = [self.change.hash(), self.criteria_hash, ContentHash::of(judge.as_bytes())];
        let all: Vec<u8> = parts.iter().flat_map(|hash| *hash.as_bytes()).collect();
        About { key: ContentHash::of(&all), criteria: self.criteria_hash }
    }

    fn model(&self, choice: &JudgeChoice) -> Option<String> {
        let own = Some(choice.model.clone()).filter(|model| !model.is_empty());
        own.or_else(|| self.asked.rubric.model.clone())
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
        about: &About,
        tally: &mut Tally,
    ) -> Result<Opinion, Gap> {
        let env: Arc<Vec<(String, String)>> = Arc::new(
            self.project
                .around
                .env
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        );
        let backend = self.backend(choice)?;
        let ready = Arc::new(backend.prepare(&env).await?);
        let ledger = self.ledger(about).await;
        let mut first: Option<Opinion> = None;
        for order in ORDERS {
            let asked = (Arc::clone(&ready), Arc::clone(&env));
            let opinion = Opinion::of_parts(self.answers(asked, order, &ledger, tally).await?);
            first = match first {
                None if opinion.needs_second() => Some(opinion),
                None => return Ok(opinion),
                Some(first) => return Ok(first.agreed(opinion)),
            };
        }
        first.ok_or_else(internal)
    }

    fn backend(&self, choice: &JudgeChoice) -> Result<Backend, Gap> {
        let style = match choice.backend {
            BackendKind::None => {
                return Err(Gap::new(Cause::SwitchedOff, "judge.backend is none"));
            }
            BackendKind::Claude => {
                let budget_cents = self.project.config.judge.budget_cents;
                return Ok(Backend::Claude {
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
                return Ok(Backend::Command { program, args: words.cloned().collect() });
            }
            BackendKind::Openai => Style::Openai,
            BackendKind::Anthropic => Style::Anthropic,
        };
        let api_key_env = Some(choice.api_key_env.clone()).filter(|name| !name.is_empty());
        let model = self.model(choice).unwrap_or_default();
        Ok(Backend::Http { style, url: choice.url.clone(), model, api_key_env })
    }

    /// The rulings about earlier states, as words that nobody but this program has written.
    async fn ledger(&self, about: &About) -> Vec<String> {
        let (key, root) = (&self.project.key, &self.project.root);
        let last = self.engine.store.last_judgements(key, root, about, JUDGE_HISTORY_MAX).await;
        let last = last.unwrap_or_default();
        let lines = last.iter().flat_map(|opinion| &opinion.ruled).map(|one| {
            let quoted: String = one.evidence.iter().map(|quote| quote.text.as_str()).collect();
            let hash = ContentHash::of(quoted.as_bytes()).short();
            format!("{} {} (evidence {hash})", one.id, one.ruling.as_str())
        });
        lines.take(JUDGE_HISTORY_MAX).collect()
    }

    /// The answers about all parts of all looks, some of them asked for at the same time.
    async fn answers(
        &self,
        (ready, env): (Arc<Ready>, Arc<Vec<(String, String)>>),
        order: Order,
        ledger: &[String],
        tally: &mut Tally,
    ) -> Result<Vec<Answer>, Gap> {
        let places = Arc::new(Semaphore::new(JUDGE_CALLS_AT_ONCE_MAX));
        let mut calls = JoinSet::new();
        for (number, prompts) in self.prompts(order, ledger)?.into_iter().enumerate() {
            let call = Call {
                prompts,
                ready: Arc::clone(&ready),
                env: Arc::clone(&env),
                timeout: self.project.config.judge.timeout,
                deadline: self.asked.deadline,
            };
            let places = Arc::clone(&places);
            calls.spawn(async move {
                let _place = places.acquire().await;
                (number, call.make().await)
            });
        }
        let mut answers = Vec::new();
        while let Some(made) = calls.join_next().await {
            let (number, Made { answer, said, count }) = made.map_err(|_| internal())?;
            tally.calls += count;
            tally.add(said);
            let (answer, prompt) = answer?;
            let answer = checked(answer, prompt.canary.as_deref(), &self.change);
            tally.believes |= answer.is_err();
            answers.push((number, answer?));
        }
        answers.sort_by_key(|(number, _)| *number);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    /// For each call its words, once for each try: a new try has a new secret.
    fn prompts(&self, order: Order, ledger: &[String]) -> Result<Vec<Vec<Prompt>>, Gap> {
        let listed: Vec<String> =
            self.change.listed.iter().map(|one| format!("{} ({})", one.path, one.reason)).collect();
        let mut all = Vec::new();
        for look in &self.looks {
            let parts = look.parts.clone().ordered(order).parts;
            for (number, part) in parts.iter().enumerate() {
                let elsewhere = parts.iter().enumerate().filter(|(other, _)| *other != number);
                let elsewhere: Vec<String> = elsewhere
                    .flat_map(|(_, part)| part.files.iter().map(|(path, _)| path.to_string()))
                    .collect();
                let question = Question {
                    criteria: &look.criteria,
                    goal: &self.asked.goal,
                    part,
                    of: (number + 1, parts.len()),
                    elsewhere: &elsewhere,
                    listed: &listed,
                    checks: &self.asked.checks,
                    ledger,
                    order,
                };
                let worded = (0..JUDGE_TRIES_MAX).map(|_| Prompt::new(&question, random()?));
                all.push(worded.collect::<Result<Vec<_>, Gap>>()?);
            }
        }
        Ok(all)
    }
}

impl Tally {
    fn add(&mut self, said: Vec<Said>) {
        for one in said {
            self.model = one.model.or(self.model.take());
            self.cost_usd = match (self.cost_usd, one.cost_usd) {
                (Some(sum), Some(cost)) => Some(sum + cost),
                (sum, cost) => sum.or(cost),
            };
        }
    }
}

fn coverage(change: &Change, looks: &[Look]) -> Coverage {
    let mut unread = change.unread.clone();
    for missed in looks.iter().flat_map(|look| &look.parts.unread) {
        if !unread.iter().any(|one| one.path == missed.path) {
            unread.push(missed.clone());
        }
    }
    let cut = unread.len() - change.unread.len();
    Coverage {
        files: change.files.len() + change.listed.len() + change.unread.len(),
        shown: change.files.len() - cut,
        parts: looks.iter().map(|look| look.parts.parts.len()).sum(),
        listed: change.listed.clone(),
        unread,
    }
}
