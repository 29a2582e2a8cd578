//! Baseline files: read before the measurement, applied to the findings, written as a whole.

use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use moai_base::baseline::Baseline;
use moai_base::evidence::Evidence;
use moai_base::finding::Severity;
use moai_base::limits::BASELINE_BYTES_MAX;
use moai_host::files::{self, transaction};
use moai_protocol::baseline;

/// The baselines of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct BaselineFiles {
    /// The baseline that findings are compared with.
    reference: Option<Baseline>,
    /// The file to write, with its present baseline.
    output: Option<BaselineOutput>,
}

/// A baseline to write.
#[derive(Clone, Debug)]
struct BaselineOutput {
    path: PathBuf,
    present: Baseline,
    /// The folder where its change is recorded.
    journal: PathBuf,
}

impl BaselineFiles {
    /// Reads the baseline to compare with and the one to overwrite, both relative to `folder`. The
    /// error is one line: a file is missing or not a baseline. The file to write is read so that no
    /// other file is overwritten by mistake. Its change is recorded in `journal`.
    pub(crate) fn read(
        folder: &Path,
        known: Option<&Path>,
        write: Option<&Path>,
        journal: PathBuf,
    ) -> Result<Self, String> {
        let mut baselines = Self::default();
        if let Some(path) = known.map(|path| folder.join(path)) {
            let Some(reference) = load(&path)? else {
                let path = path.display();
                return Err(format!("{path}: does not exist; --write-baseline makes one"));
            };
            baselines.reference = Some(reference);
        }
        if let Some(path) = write.map(|path| folder.join(path)) {
            let present = load(&path)?.unwrap_or_default();
            baselines.output = Some(BaselineOutput { path, present, journal });
        }
        Ok(baselines)
    }

    /// Compares the findings, and writes the new baseline, whose findings count as known. Returns a
    /// note for the user; the error is a file that could not be written.
    pub(crate) fn apply(
        &self,
        root: &Path,
        evidence: &mut Evidence,
        threshold: Severity,
    ) -> Result<String, String> {
        let is_there = |path: &str| root.join(path).symlink_metadata().is_ok();
        let Some(BaselineOutput { path, present, journal }) = &self.output else {
            if let Some(known) = &self.reference {
                known.apply(evidence, threshold, &is_there);
            }
            return Ok(String::new());
        };
        let mut new = Baseline::from_findings(&evidence.findings);
        new.retain_unmeasured(present, evidence, &is_there);
        let count: usize = new.entries().map(|(_, count)| count).sum();
        transaction::replace_file(path, journal, baseline::format_baseline(&new).as_bytes())
            .map_err(|error| format!("{}: not written: {error}", path.display()))?;
        let fixed = self.reference.as_ref().map(|known| {
            known.apply(evidence, threshold, &is_there);
            evidence.baseline.map_or(0, |compared| compared.fixed)
        });
        new.apply(evidence, threshold, &is_there);
        if let (Some(compared), Some(fixed)) = (&mut evidence.baseline, fixed) {
            compared.fixed = fixed;
        }
        Ok(format!("moai-ralph: {}: {count} findings written\n", path.display()))
    }
}

/// The baseline in a file; `None` if the file is missing.
fn load(path: &Path) -> Result<Option<Baseline>, String> {
    let parsed =
        bounded(path).and_then(|text| text.map(|text| baseline::parse_baseline(&text)).transpose());
    parsed.map_err(|error| format!("{}: {error}", path.display()))
}

/// A file's text; `None` if it is missing.
fn bounded(path: &Path) -> Result<Option<String>, String> {
    let file = match files::open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !file.metadata().is_ok_and(|meta| meta.len() <= BASELINE_BYTES_MAX) {
        return Err(format!("larger than {BASELINE_BYTES_MAX} bytes"));
    }
    let mut text = String::new();
    let read = file.take(BASELINE_BYTES_MAX).read_to_string(&mut text);
    read.map(|_| Some(text)).map_err(|error| error.to_string())
}
