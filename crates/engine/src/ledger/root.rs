//! The memory of one root: verified findings and their proofs, the files on disk, the servers'
//! latencies. Pure bookkeeping.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::evidence::measuring_verdicts::MeasuringVerdicts;
use crate::evidence::overlay_gate::OverlayGate;
use crate::evidence::poll_gate::PollGate;
use crate::ledger::disk::DiskHistory;
use crate::ledger::host_calls::HostCalls;
use crate::ledger::tool_calls::ToolCalls;
use crate::ledger::{KnownRules, SelectedFile, VerifiedFindings};
use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::limits::ENVIRONMENTS_MAX;
use moai_base::path::RelPath;
use moai_host::servers::ServerIdentity;
use moai_host::store::ProjectKey;
use moai_lsp::latency::ServerLatency;

/// The memory of one root; see the module.
#[derive(Debug, Default)]
pub(crate) struct RootLedger {
    /// The files on disk.
    pub(crate) disk: DiskHistory,
    /// By sensor; the last result of each environment, the newest at the end.
    verified: HashMap<RelPath, BTreeMap<String, Vec<VerifiedFindings>>>,
    /// By server.
    latencies: HashMap<String, ServerLatency>,
    poll_gate: Arc<PollGate>,
    /// By server.
    overlay_gates: HashMap<String, Arc<OverlayGate>>,
    measuring_verdicts: Arc<MeasuringVerdicts>,
    /// Tool calls, where shell writes are undone.
    pub(crate) tool_calls: ToolCalls,
    /// The key of the store.
    pub(crate) key: Option<ProjectKey>,
    /// When each host last called a hook.
    pub(crate) host_calls: HostCalls,
    /// True if the root is a folder without bounds, such as the home folder; `None` until it was checked.
    pub(crate) is_unbounded: Option<bool>,
    /// The rules, as last read.
    pub(crate) rules: Option<Arc<KnownRules>>,
}

impl RootLedger {
    /// The gates that are held or awaited, if there are any: a root that is forgotten keeps them.
    pub(super) fn keep_only_gates_in_use(self) -> Option<Self> {
        let mut overlay_gates = self.overlay_gates;
        overlay_gates.retain(|_, gate| Arc::strong_count(gate) > 1);
        let Self { poll_gate, measuring_verdicts, .. } = self;
        let is_in_use = Arc::strong_count(&poll_gate) > 1
            || Arc::strong_count(&measuring_verdicts) > 1
            || !overlay_gates.is_empty();
        is_in_use.then(|| Self { poll_gate, overlay_gates, measuring_verdicts, ..Self::default() })
    }

    /// The last findings of a sensor in a file: of the server in the caller's selection, `None` for the scan.
    /// Those of another server are unknown to the caller.
    pub(crate) fn verified(
        &self,
        path: &RelPath,
        sensor: &str,
        server: Option<ServerIdentity>,
    ) -> Option<&VerifiedFindings> {
        let mut last = self.verified.get(path)?.get(sensor)?.iter();
        last.find(|last| last.server == server)
    }

    /// True if a sensor ever measured a file, for any caller.
    pub(crate) fn has_findings(&self, path: &RelPath, sensor: &str) -> bool {
        self.verified.get(path).is_some_and(|of_file| of_file.contains_key(sensor))
    }

    /// Replaces the last findings of a sensor in a file that were measured in the same environment. Beyond
    /// the limit of environments, the least recently used one is forgotten.
    pub(crate) fn set_verified(
        &mut self,
        path: &RelPath,
        sensor: &str,
        mut verified: VerifiedFindings,
    ) {
        let of_file = self.verified.entry(path.clone()).or_default();
        let last = of_file.entry(sensor.to_owned()).or_default();
        if let Some(at) = last.iter().position(|old| verified.replaces(old)) {
            let old = last.remove(at);
            // An unproven result does not refute the proof of the same findings in the same bytes.
            let is_same = old.hash == verified.hash && old.server == verified.server;
            if is_same && old.findings == verified.findings {
                verified.epoch = verified.epoch.or(old.epoch);
            }
        }
        last.push(verified);
        if last.len() > ENVIRONMENTS_MAX {
            last.remove(0);
        }
    }

    /// True if the last findings of all the file's servers are of these bytes; of the scan, in a file without
    /// a server.
    pub(crate) fn is_verified(&self, file: &SelectedFile, hash: ContentHash) -> bool {
        let known = self.verified.get(&file.path).into_iter().flat_map(BTreeMap::values).flatten();
        let measured: Vec<Option<ServerIdentity>> =
            known.filter(|last| last.hash == hash).map(|last| last.server).collect();
        match file.servers.as_slice() {
            [] => measured.contains(&None),
            servers => servers.iter().all(|server| measured.contains(&Some(*server))),
        }
    }

    /// True if a file was ever measured.
    pub(crate) fn is_known(&self, path: &RelPath) -> bool {
        self.verified.contains_key(path)
    }

    /// The last findings of the file's servers; `None` if none of them has measured it.
    pub(super) fn last_findings(&self, file: &SelectedFile) -> Option<Vec<Finding>> {
        let last = self.verified.get(&file.path)?.values().flatten();
        let own: Vec<&VerifiedFindings> =
            last.filter(|last| last.server.is_some_and(|it| file.servers.contains(&it))).collect();
        (!own.is_empty()).then(|| own.iter().flat_map(|last| &last.findings).cloned().collect())
    }

    /// True if the server's findings in these bytes still hold, as of the last poll.
    pub(crate) fn is_proven(
        &self,
        path: &RelPath,
        sensor: &str,
        hash: ContentHash,
        server: ServerIdentity,
    ) -> bool {
        let last = self.verified(path, sensor, Some(server)).filter(|last| last.hash == hash);
        let epoch = last.and_then(|last| last.epoch);
        epoch.is_some_and(|epoch| !self.disk.others_changed_since(path, epoch))
    }

    /// What is proven as of the last poll about these bytes of a file, by the id of each of its servers.
    pub(crate) fn proven_findings(
        &self,
        file: &SelectedFile,
        hash: ContentHash,
    ) -> BTreeMap<&str, &VerifiedFindings> {
        let is_proven = |last: &&VerifiedFindings| {
            last.hash == hash
                && last.server.is_some_and(|server| file.servers.contains(&server))
                && last
                    .epoch
                    .is_some_and(|epoch| !self.disk.others_changed_since(&file.path, epoch))
        };
        let sensors = self.verified.get(&file.path).into_iter().flatten();
        sensors
            .filter_map(|(sensor, last)| Some((sensor.as_str(), last.iter().find(is_proven)?)))
            .collect()
    }

    /// The observed latency of a server.
    pub(crate) fn latency(&mut self, server: &str) -> &mut ServerLatency {
        self.latencies.entry(server.to_owned()).or_default()
    }

    /// The gate for polls.
    pub(crate) fn poll_gate(&self) -> Arc<PollGate> {
        Arc::clone(&self.poll_gate)
    }

    /// The gate between live queries to a server and measurements of earlier texts.
    pub(crate) fn overlay_gate(&mut self, server: &str) -> Arc<OverlayGate> {
        Arc::clone(self.overlay_gates.entry(server.to_owned()).or_default())
    }

    /// The Stops and checks that are measuring this root.
    pub(crate) fn measuring_verdicts(&self) -> Arc<MeasuringVerdicts> {
        Arc::clone(&self.measuring_verdicts)
    }
}
