//! `scan`: what is on stdin, and a bar on a terminal while a long scan runs in this process.

use std::convert::Infallible;
use std::io::{IsTerminal as _, Read as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::Args;
use super::args::scan::{ScanArgs, ScanCommand};
use super::{INVALID, door, has_color};
use crate::base::limits::{PROGRESS_LOOK_MS, PROGRESS_SHOWN_MS_MIN, SOURCE_BYTES_MAX};
use crate::daemon::engine::Engine;
use crate::wire::control::{GivenText, Reply, Request, Scan, ScanTest};

pub(super) fn run(args: &Args, scan: &ScanArgs) -> Reply {
    if let Some(ScanCommand::Test { folders }) = &scan.command {
        let (folders, json, verbose) = (folders.clone(), args.json, args.verbose);
        return here(args, Request::ScanTest(ScanTest { folders, json, verbose }));
    }
    let stdin = match scan.stdin.then(|| given(scan)).transpose() {
        Ok(stdin) => stdin,
        Err(error) => return Reply::failed(INVALID, &format!("moai-ralph: stdin: {error}")),
    };
    let request = Request::Scan(Scan {
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
        fail_on: scan.fail_on.word().to_owned(),
        allow_unmeasured: scan.allow_unmeasured,
        baseline: scan.baseline.clone(),
        write_baseline: scan.write_baseline.clone(),
    });
    here(args, request)
}

/// Works in this process, with a bar on a terminal.
fn here(args: &Args, request: Request) -> Reply {
    let is_shown = std::io::stderr().is_terminal() && !args.quiet;
    door::ask_here(args.root.as_deref(), request, async |engine| {
        if is_shown { show_progress(engine).await } else { std::future::pending().await }
    })
}

/// The text on stdin, with one byte more than allowed, so that too much is noticed and not cut.
fn given(scan: &ScanArgs) -> std::io::Result<GivenText> {
    let mut bytes = Vec::new();
    std::io::stdin().take(SOURCE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(GivenText { bytes, language: scan.lang.clone(), path: scan.stdin_path.clone() })
}

/// Draws how far the work is, once it has taken a while, until the future is dropped.
async fn show_progress(engine: &Engine) -> Infallible {
    tokio::time::sleep(Duration::from_millis(PROGRESS_SHOWN_MS_MIN)).await;
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len}, {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let bar = Cleared(bar);
    loop {
        let (done, total) = engine.progress();
        bar.0.set_length(total as u64);
        bar.0.set_position(done as u64);
        tokio::time::sleep(Duration::from_millis(PROGRESS_LOOK_MS)).await;
    }
}

/// A bar that leaves nothing behind.
struct Cleared(ProgressBar);

impl Drop for Cleared {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
