//! The memory of one root: verified findings and their proofs, the files on disk, the servers'
//! latencies. Pure bookkeeping.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::evidence::overlay_gate::OverlayGate;
use crate::evidence::poll_gate::PollGate;
use crate::ledger::disk::DiskHistory;
use crate::ledger::{KnownRules, VerdictProof, VerifiedFindings};
use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_host::store::ProjectKey;
use moai_lsp::latency::ServerLatency;

/// The memory of one root; see the module.
#[derive(Debug, Default)]
pub(crate) struct RootLedger {
    /// The files on disk.
    pub(crate) disk: DiskHistory,
    /// By sensor.
    verified: HashMap<RelPath, BTreeMap<String, VerifiedFindings>>,
    /// By language server.
    proofs: HashMap<RelPath, BTreeMap<String, VerdictProof>>,
    /// By server.
    latencies: HashMap<String, ServerLatency>,
    poll_gate: Arc<PollGate>,
    /// By server.
    overlay_gates: HashMap<String, Arc<OverlayGate>>,
    /// The key of the store.
    pub(crate) key: Option<ProjectKey>,
    /// The rules, as last read.
    pub(crate) rules: Option<Arc<KnownRules>>,
}

impl RootLedger {
    /// The gates that are held or awaited, if there are any: a root that is forgotten keeps them.
    pub(super) fn into_gates_in_use(self) -> Option<Self> {
        let mut overlay_gates = self.overlay_gates;
        overlay_gates.retain(|_, gate| Arc::strong_count(gate) > 1);
        let is_in_use = Arc::strong_count(&self.poll_gate) > 1 || !overlay_gates.is_empty();
        is_in_use.then(|| Self { poll_gate: self.poll_gate, overlay_gates, ..Self::default() })
    }

    /// The last findings of a sensor in a file, with the measured bytes.
    pub(crate) fn verified(&self, path: &RelPath, sensor: &str) -> Option<VerifiedFindings> {
        self.verified.get(path)?.get(sensor).cloned()
    }

    /// Replaces the last findings of a sensor in a file.
    pub(crate) fn set_verified(&mut self, path: &RelPath, sensor: &str, verdict: VerifiedFindings) {
        let of_file = self.verified.entry(path.clone()).or_default();
        of_file.insert(sensor.to_owned(), verdict);
    }

    /// Whether any sensor's last findings are of these bytes.
    pub(crate) fn is_verified(&self, path: &RelPath, hash: ContentHash) -> bool {
        let of_file = self.verified.get(path);
        of_file.is_some_and(|sets| sets.values().any(|(measured, _)| *measured == hash))
    }

    /// Whether a file was ever measured.
    pub(crate) fn is_known(&self, path: &RelPath) -> bool {
        self.verified.contains_key(path)
    }

    /// The last findings of all sensors in a file.
    pub(super) fn last_findings(&self, path: &RelPath) -> Option<Vec<Finding>> {
        let sets = self.verified.get(path)?;
        Some(sets.values().flat_map(|(_, findings)| findings).cloned().collect())
    }

    /// Records under which conditions a server's findings hold.
    pub(crate) fn prove(&mut self, path: &RelPath, sensor: &str, proof: VerdictProof) {
        self.proofs.entry(path.clone()).or_default().insert(sensor.to_owned(), proof);
    }

    /// Whether the server's findings in these bytes still hold, as of the last poll.
    pub(crate) fn is_proven(
        &self,
        path: &RelPath,
        sensor: &str,
        hash: ContentHash,
        server: ContentHash,
    ) -> bool {
        let proof = self.proofs.get(path).and_then(|of_file| of_file.get(sensor));
        proof.is_some_and(|proof| {
            let is_same = proof.hash == hash && proof.server == server;
            is_same && !self.disk.others_changed_since(path, proof.epoch)
        })
    }

    /// The epoch at which a server's findings in these bytes were proven.
    pub(crate) fn proven_at(&self, path: &RelPath, sensor: &str, hash: ContentHash) -> Option<u64> {
        let proof = self.proofs.get(path)?.get(sensor)?;
        (proof.hash == hash).then_some(proof.epoch)
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
}
