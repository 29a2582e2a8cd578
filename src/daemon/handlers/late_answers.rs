//! Answers of language servers that come after their hook has gone: kept for the session's next one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::answers::{delta_of, is_partial};
use super::earlier_findings::EarlierFindings;
use super::hook_call::{edit_text, language};
use crate::base::delta::Delta;
use crate::base::finding::Finding;
use crate::base::hash::ContentHash;
use crate::base::limits::EARLIER_LATE_MS_MAX;
use crate::base::verdict::{Cause, Gap};
use crate::daemon::engine::Engine;
use crate::daemon::gather::{self, Word};
use crate::daemon::ledger::{Late, Reader};
use crate::daemon::project::Project;
use crate::daemon::untold::Topic;
use crate::files::Snapshot;
use crate::report::agent::{self, EditFeedback, EditText};
use crate::servers::resolve::Choice;

/// What is needed to word a late verdict.
pub(super) struct Pending {
    pub(super) engine: Arc<Engine>,
    pub(super) project: Project,
    pub(super) choice: Option<Choice>,
    pub(super) reader: Reader,
    pub(super) topic: Topic,
    pub(super) number: u64,
}

impl Pending {
    /// Waits for the answer and keeps it for the reader, without holding up anybody.
    pub(super) fn follow(self, answer: JoinHandle<(Snapshot, Word)>, asked: ContentHash) {
        let job = self.engine.job();
        let patience =
            self.engine.ledger().latency(&self.topic.root, &self.topic.sensor).patience();
        tokio::spawn(async move {
            let _job = job;
            match timeout(patience, answer).await {
                Ok(Ok((snapshot, word))) => self.keep(&snapshot, word).await,
                Ok(Err(_)) => self.keep_gap(asked, gather::lost()),
                Err(_) => {
                    let detail = format!("no answer within {} s", patience.as_secs());
                    self.keep_gap(asked, Gap::new(Cause::TimedOut, detail));
                }
            }
        });
    }

    async fn keep(self, snapshot: &Snapshot, word: Word) {
        let gap = word.gap.clone();
        if let Some(gap) = gap.clone().filter(|_| !is_partial(&word)) {
            return self.keep_gap(snapshot.hash, gap);
        }
        let session = &self.reader.session;
        let told = self.engine.ledger().untold(session).tell(&self.topic, self.number);
        // A newer edit of the file is measured in its own right.
        let Some(baseline) = told else { return };
        let findings = EarlierFindings {
            engine: Arc::clone(&self.engine),
            project: self.project.clone(),
            choice: self.choice.clone(),
            reader: self.reader.clone(),
            topic: self.topic.clone(),
        };
        let deadline = Instant::now() + Duration::from_millis(EARLIER_LATE_MS_MAX);
        let baseline = findings.complete(baseline, &word, snapshot, deadline).await;
        let earlier = if is_partial(&word) { &baseline.partial } else { &baseline.whole };
        let earlier = earlier.clone();
        let delta = delta_of(&self.engine, &self.topic.root, baseline, word, &snapshot.text);
        self.deliver(snapshot.hash, delta, gap, earlier);
    }

    /// Without a verdict what the session knew stays what the next answer is compared with.
    fn keep_gap(self, hash: ContentHash, gap: Gap) {
        let session = &self.reader.session;
        if self.engine.ledger().untold(session).is_newest(&self.topic, self.number) {
            self.deliver(hash, Delta::default(), Some(gap), None);
        }
    }

    fn deliver(
        self,
        hash: ContentHash,
        delta: Delta,
        gap: Option<Gap>,
        baseline: Option<Vec<Finding>>,
    ) {
        let Topic { root, path, sensor, .. } = self.topic;
        let gaps = gap.map(|gap| (sensor.clone(), gap)).into_iter().collect();
        let (about, late) = (path.clone(), Some(sensor.clone()));
        let elsewhere = Vec::new();
        let feedback = EditFeedback {
            path: about,
            delta,
            gaps,
            gaps_are_news: true,
            counts_are_news: false,
            late,
            elsewhere,
        };
        let session = &self.reader.session;
        let language = language(&self.engine, session);
        // The hook has said that an answer follows, so even a clean one does.
        let text = edit_text(&self.engine, session, &feedback)
            .unwrap_or_else(|| EditText::of_agent(agent::nothing_new(&feedback, language)));
        let because = Vec::new();
        let late = Late { root, path, sensor, hash, text, baseline, because };
        self.engine.ledger().deliver_later(&self.reader, late);
    }
}
