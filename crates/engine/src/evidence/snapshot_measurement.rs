//! Measures one snapshot of a file with one language server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::ledger::SelectedFile;
use crate::project::Project;
use moai_base::evidence::SensorKind;
use moai_base::finding::{Finding, assign_fingerprints};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::verdict::Gap;
use moai_host::files::Snapshot;
use moai_host::servers::{MeasureInput, ServerIdentity, ServerSelection};
use moai_lsp::session::MeasureLane;

/// One sensor's result for one file.
#[derive(Clone, Debug)]
pub(crate) struct SensorResult {
    pub(crate) sensor: String,
    pub(crate) kind: SensorKind,
    pub(crate) version: Option<String>,
    /// The identity of the selected language server; `None` for the scan, or without a usable
    /// server.
    pub(crate) server: Option<ServerIdentity>,
    pub(crate) path: RelPath,
    pub(crate) hash: ContentHash,
    pub(crate) findings: Vec<Finding>,
    /// Why the file is not fully measured; a result with a gap is not stored as verified.
    pub(crate) gap: Option<Gap>,
    pub(crate) elapsed: Duration,
    pub(crate) ended_at: Instant,
}

/// The language servers for a file; none when its language is unknown or disabled.
pub(crate) fn select_servers(
    engine: &Engine,
    project: &Project,
    path: &RelPath,
) -> Vec<ServerSelection> {
    match project.workspace.catalogue.language_of(path) {
        Some(language) if project.config.is_language_enabled(language.id) => {
            engine.servers.select(&project.workspace, path)
        }
        _ => Vec::new(),
    }
}

/// The sensor name of a server selection, whether or not the server is available.
pub(crate) fn sensor_id(selection: &ServerSelection) -> &str {
    match selection {
        Ok(choice) => &choice.id,
        Err((sensor, _)) => sensor,
    }
}

/// A file with the servers that measure it.
pub(crate) fn selected_file(engine: &Engine, project: &Project, path: &RelPath) -> SelectedFile {
    let servers = select_servers(engine, project, path).into_iter().flatten();
    let servers = servers.map(|choice| choice.identity).collect();
    SelectedFile { path: path.clone(), servers }
}

/// One language server's result for a current file; it waits while the server is shown overlays.
pub(crate) async fn measure_snapshot(
    engine: &Arc<Engine>,
    project: &Project,
    snapshot: &Snapshot,
    chosen: ServerSelection,
    lane: MeasureLane,
) -> SensorResult {
    let Ok(choice) = &chosen else {
        return measure_without_gate(engine, project, snapshot, chosen, lane).await;
    };
    let gate = engine.ledger().root(&project.root).overlay_gate(&choice.id);
    let _pass = gate.live().await;
    measure_without_gate(engine, project, snapshot, chosen, lane).await
}

/// Like [`measure_snapshot`], whatever overlays the server is shown; for the owner of the overlay.
pub(crate) async fn measure_without_gate(
    engine: &Arc<Engine>,
    project: &Project,
    snapshot: &Snapshot,
    chosen: ServerSelection,
    lane: MeasureLane,
) -> SensorResult {
    let server = chosen.as_ref().ok().map(|choice| choice.identity);
    let result = |sensor: String, version, outcome: Result<Vec<Finding>, Gap>, elapsed| {
        let (path, hash) = (snapshot.path.clone(), snapshot.hash);
        let (findings, gap) = match outcome {
            Ok(findings) => (findings, None),
            Err(gap) => (Vec::new(), Some(gap)),
        };
        SensorResult {
            sensor,
            kind: SensorKind::Lsp,
            version,
            server,
            path,
            hash,
            findings,
            gap,
            elapsed,
            ended_at: Instant::now(),
        }
    };
    let choice = match (chosen, &engine.lsp_gap) {
        (Err((sensor, gap)), _) => return result(sensor, None, Err(gap), Duration::ZERO),
        (Ok(choice), Some(gap)) => {
            return result(choice.id, None, Err(gap.clone()), Duration::ZERO);
        }
        (Ok(choice), None) => choice,
    };
    let pinned = choice.version.clone();
    let subject = MeasureInput {
        path: snapshot.path.clone(),
        text: Arc::clone(&snapshot.text),
        hash: snapshot.hash,
        lane,
    };
    let measured = engine.servers.measure(&project.workspace, choice, subject).await;
    let outcome = measured.outcome.map(|mut findings| {
        assign_fingerprints(&mut findings);
        findings
    });
    let result = result(measured.sensor, measured.version.or(pinned), outcome, measured.elapsed);
    // A fault or a choice of the project is a gap next to the remaining findings.
    SensorResult { gap: result.gap.or(measured.fault), ..result }
}

/// A result without findings, with its gap.
pub(crate) fn unmeasured(
    snapshot: &Snapshot,
    chosen: &ServerSelection,
    gap: Gap,
    elapsed: Duration,
) -> SensorResult {
    SensorResult {
        sensor: sensor_id(chosen).to_owned(),
        kind: SensorKind::Lsp,
        version: chosen.as_ref().ok().and_then(|choice| choice.version.clone()),
        server: None,
        path: snapshot.path.clone(),
        hash: snapshot.hash,
        findings: Vec::new(),
        gap: Some(gap),
        elapsed,
        ended_at: Instant::now(),
    }
}
