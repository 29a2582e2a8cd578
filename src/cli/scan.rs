//! `scan`: reads stdin if requested, and shows a progress bar on a terminal.

use std::convert::Infallible;
use std::io::{IsTerminal as _, Read as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::CliArgs;
use super::args::scan::{ScanArgs, ScanCommand};
use super::{INVALID, client, has_color};
use moai_base::limits::{PROGRESS_REFRESH_MS, PROGRESS_SHOWN_MS_MIN, SOURCE_BYTES_MAX};
use moai_engine::engine::Engine;
use moai_protocol::control::{
    CommandReply, DaemonRequest, ScanRequest, ScanTestRequest, StdinText,
};

pub(super) fn run(args: &CliArgs, scan: &ScanArgs) -> CommandReply {
    if let Some(ScanCommand::Test { folders }) = &scan.command {
        let (folders, json, verbose) = (folders.clone(), args.json, args.verbose);
        return run_scan_in_process(
            args,
            DaemonRequest::ScanTest(ScanTestRequest { folders, json, verbose }),
        );
    }
    let stdin = match scan.stdin.then(|| read_stdin(scan)).transpose() {
        Ok(stdin) => stdin,
        Err(error) => {
            return CommandReply::failure(INVALID, &format!("moai-ralph: stdin: {error}"));
        }
    };
    let request = DaemonRequest::Scan(ScanRequest {
        paths: scan.paths.clone(),
        changed: scan.changed,
        stdin,
        rules: scan.rules.clone(),
        only_rules: scan.only_rules.clone(),
        include_sensitive: scan.include_sensitive,
        fix: scan.fix,
        apply: scan.apply,
        unsafe_fixes: scan.unsafe_fixes,
        format: args.format(scan.format.format()),
        color: has_color(args.color),
        verbose: args.verbose,
        fail_on: scan.fail_on.as_str().to_owned(),
        allow_unmeasured: scan.allow_unmeasured,
        baseline: scan.baseline.clone(),
        write_baseline: scan.write_baseline.clone(),
    });
    run_scan_in_process(args, request)
}

/// Scans in this process, with a progress bar on a terminal.
fn run_scan_in_process(args: &CliArgs, request: DaemonRequest) -> CommandReply {
    let is_shown = std::io::stderr().is_terminal() && !args.quiet;
    client::run_in_process_observed(args.root.as_deref(), request, async |engine| {
        if is_shown { show_progress(engine).await } else { std::future::pending().await }
    })
}

/// Reads stdin, up to one byte more than allowed, so that an oversized text is detected instead of
/// cut.
fn read_stdin(scan: &ScanArgs) -> std::io::Result<StdinText> {
    let mut bytes = Vec::new();
    std::io::stdin().take(SOURCE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(StdinText { bytes, language: scan.lang.clone(), path: scan.stdin_path.clone() })
}

/// Draws the progress after an initial delay, until the future is dropped.
async fn show_progress(engine: &Engine) -> Infallible {
    tokio::time::sleep(Duration::from_millis(PROGRESS_SHOWN_MS_MIN)).await;
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len}, {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let bar = TransientBar(bar);
    loop {
        let (done, total) = engine.progress();
        bar.0.set_length(total as u64);
        bar.0.set_position(done as u64);
        tokio::time::sleep(Duration::from_millis(PROGRESS_REFRESH_MS)).await;
    }
}

/// A progress bar that is cleared when dropped.
struct TransientBar(ProgressBar);

impl Drop for TransientBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
