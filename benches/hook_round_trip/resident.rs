//! Resident memory of a process, from Linux' `/proc`.

use std::fmt::Display;

/// In MB (10⁶ bytes).
pub(crate) fn megabytes(pid: impl Display) -> Result<f64, String> {
    let file = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.map(|kib| kib * 1024.0 / 1e6).ok_or_else(|| format!("{file} names no VmRSS"))
}
