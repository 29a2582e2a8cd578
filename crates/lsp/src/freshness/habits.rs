//! Learns how a running server publishes: with or without versions, and with how long a pause
//! between the steps of one analysis. Learned habits make a wait longer or a proof stricter; they
//! never make an empty list a proof.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::registry::PublishTraits;
use moai_base::limits::{
    OPEN_DOCUMENTS_MAX, PUSH_GAP_MS_MAX, PUSH_GAPS_MAX, PUSH_GAPS_MIN, PUSH_QUIET_MS,
    PUSH_QUIET_MS_MAX, PUSH_QUIET_MS_MIN,
};
use moai_base::path::RelPath;

/// The habits of one server's process.
#[derive(Debug, Default)]
pub(crate) struct PublishHabits {
    sends_versions: bool,
    /// One text may be published once for each view of the project.
    has_views: bool,
    gaps_ms: VecDeque<u64>,
    /// The last publish about each text, until a newer text is sent.
    last_publish: HashMap<RelPath, Instant>,
}

impl PublishHabits {
    /// Reads the server's capabilities. gopls has supported several views of a folder since it has
    /// this command.
    pub(crate) fn offered(&mut self, capabilities: &Value) {
        let commands = capabilities["executeCommandProvider"]["commands"].as_array();
        self.has_views = commands.is_some_and(|all| all.iter().any(|it| it == "gopls.views"));
    }

    /// A text was sent: the next publish about it is the first one.
    pub(crate) fn on_text_sent(&mut self, path: &RelPath) {
        self.last_publish.remove(path);
    }

    /// Records a publish.
    pub(crate) fn on_publish(&mut self, path: &RelPath, has_version: bool, now: Instant) {
        self.sends_versions |= has_version;
        if self.last_publish.len() > OPEN_DOCUMENTS_MAX {
            self.last_publish.clear();
        }
        let Some(before) = self.last_publish.insert(path.clone(), now) else { return };
        let gap_ms = u64::try_from((now - before).as_millis()).unwrap_or(u64::MAX);
        if gap_ms <= PUSH_GAP_MS_MAX {
            self.gaps_ms.push_back(gap_ms);
            if self.gaps_ms.len() > PUSH_GAPS_MAX {
                self.gaps_ms.pop_front();
            }
        }
    }

    /// True if a publish without a version never concerns our text.
    pub(super) fn sends_versions(&self, known: PublishTraits) -> bool {
        known.version || self.sends_versions
    }

    /// True if several publishes may belong to one analysis of a project.
    pub(super) fn has_views(&self) -> bool {
        self.has_views
    }

    /// The required quiet time after a publish.
    pub(super) fn quiet(&self, known: PublishTraits) -> Duration {
        let mut gaps: Vec<u64> = self.gaps_ms.iter().copied().collect();
        gaps.sort_unstable();
        let median = (gaps.len() >= PUSH_GAPS_MIN).then(|| gaps[gaps.len() / 2]);
        let learned_ms = median.map(|gap| (gap + gap / 2).max(PUSH_QUIET_MS_MIN));
        let ms = learned_ms.max(known.quiet_ms).unwrap_or(PUSH_QUIET_MS);
        let least_ms = if known.version { 0 } else { PUSH_QUIET_MS_MIN };
        Duration::from_millis(ms.clamp(least_ms, PUSH_QUIET_MS_MAX))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn quiet_after(pauses_ms: &[u64], known: PublishTraits) -> u128 {
        let path = RelPath::below(Path::new("/r"), Path::new("/r/a")).expect("relative");
        let (mut habits, mut now) = (PublishHabits::default(), Instant::now());
        for pause_ms in pauses_ms {
            habits.on_text_sent(&path);
            habits.on_publish(&path, false, now);
            now += Duration::from_millis(*pause_ms);
            habits.on_publish(&path, false, now);
        }
        habits.quiet(known).as_millis()
    }

    #[test]
    fn the_quiet_time_follows_the_pauses_within_bounds() {
        let unknown = PublishTraits::default();
        assert_eq!(quiet_after(&[], unknown), 250);
        assert_eq!(quiet_after(&[600, 600], unknown), 250, "too few to be a habit");
        assert_eq!(quiet_after(&[400, 600, 800], unknown), 900);
        assert_eq!(quiet_after(&[2, 3, 4], unknown), 150);
        assert_eq!(quiet_after(&[2_500, 2_500, 2_500], unknown), 1_500);
        assert_eq!(quiet_after(&[9_000, 9_000, 9_000], unknown), 250, "another analysis");
        let known = PublishTraits { quiet_ms: Some(500), ..unknown };
        assert_eq!(quiet_after(&[2, 3, 4], known), 500);
        let at_once = PublishTraits { quiet_ms: Some(0), ..unknown };
        assert_eq!(quiet_after(&[], at_once), 150);
        let at_once = PublishTraits { version: true, ..at_once };
        assert_eq!(quiet_after(&[], at_once), 0);
        assert_eq!(quiet_after(&[600, 600, 600], at_once), 900);
    }

    #[test]
    fn a_new_text_begins_a_new_series() {
        let path = RelPath::below(Path::new("/r"), Path::new("/r/a")).expect("relative");
        let (mut habits, start) = (PublishHabits::default(), Instant::now());
        for number in 0..9 {
            habits.on_text_sent(&path);
            habits.on_publish(&path, true, start + Duration::from_millis(number * 700));
        }
        assert_eq!(habits.quiet(PublishTraits::default()).as_millis(), 250);
        assert!(habits.sends_versions(PublishTraits::default()));
    }
}
