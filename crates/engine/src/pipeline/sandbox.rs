//! Runs acceptance commands in a Docker container without network. If no engine answers, or the image is
//! missing, the runs on the host count alone, and the report says so.

use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::engine::run_blocking;
use crate::hooks::hook_call::HookCall;
use moai_base::failure_lines::failure_summary;
use moai_base::foreign_text::one_line;
use moai_base::hash::ContentHash;
use moai_base::limits::{
    ACCEPTANCE_OUTPUT_CHARS_MAX, COMMAND_KILL_GRACE_MS, GAP_CHARS_MAX, SANDBOX_ANSWER_MS_MAX,
    SANDBOX_REMOVE_MS_MAX,
};
use moai_base::redaction::redact;
use moai_base::verdict::Cause;
use moai_host::programs::{self, CommandFailure, CommandOutcome, CommandRun, ProgramCall};
use moai_loops::criteria::CheckCommand;
use moai_pipeline::step::{SandboxFailure, SandboxReading};

const DOCKER: &str = "docker";
/// Exit status of docker when it failed itself, and not the command: docker-run(1).
const OWN_FAILURE: CommandFailure = CommandFailure::Status(125);

/// Runs the commands one after the other, each in a separate container.
pub(super) async fn run_in_container(
    call: &HookCall<'_>,
    commands: Vec<CheckCommand>,
    deadline: Instant,
) -> SandboxReading {
    let container = match Container::find(call, deadline).await {
        Ok(container) => container,
        Err(reason) => return SandboxReading::OnHost(reason),
    };
    let (mut failed, mut gaps) = (Vec::new(), Vec::new());
    for command in commands {
        let run = container.run(&command).await;
        match run.outcome {
            CommandOutcome::Passed => {}
            CommandOutcome::Failed(how) if how == OWN_FAILURE => {
                let output = one_line(&redact(run.output), GAP_CHARS_MAX);
                if failed.is_empty() && gaps.is_empty() {
                    return SandboxReading::OnHost(format!("docker failed: {output}"));
                }
                // The results before it still count.
                gaps.push(format!("`{}` docker failed: {output}", command.name));
            }
            CommandOutcome::Failed(how) => {
                let output = format!("{} ({how})", run.output.trim_end());
                let output = failure_summary(&redact(output), ACCEPTANCE_OUTPUT_CHARS_MAX);
                failed.push(SandboxFailure { command: command.name, output });
            }
            CommandOutcome::Unmeasured(gap) => gaps.push(format!("`{}` {gap}", command.name)),
        }
    }
    let gap = (!gaps.is_empty()).then(|| one_line(&gaps.join("; "), GAP_CHARS_MAX));
    SandboxReading::InContainer { image: container.image, failed, gap }
}

/// A container engine that answers, and everything its runs need.
struct Container<'c> {
    call: &'c HookCall<'c>,
    image: String,
    /// Owner of the root, so that files made in the container are the user's.
    user: String,
    deadline: Instant,
}

impl<'c> Container<'c> {
    /// The error is the reason why no sandbox is available, as a fragment.
    async fn find(call: &'c HookCall<'c>, deadline: Instant) -> Result<Self, String> {
        let image = call.project.config.pipeline.image.clone();
        if image.is_empty() {
            return Err("pipeline.image is not set".to_owned());
        }
        if let Some(gap) = call.project.trust.gap() {
            return Err(gap.to_string());
        }
        let root = call.project.root.clone();
        let owner = run_blocking(move || root.metadata().ok()).await.flatten();
        let user = owner.map(|owner| format!("{}:{}", owner.uid(), owner.gid()));
        let user = user.ok_or("the owner of the project is unknown")?;
        let container = Self { call, image, user, deadline };
        let arguments = ["version", "--format", "{{.Server.Version}}"].map(str::to_owned).to_vec();
        let asked = container.docker(arguments, Duration::from_millis(SANDBOX_ANSWER_MS_MAX));
        match asked.await {
            CommandRun { outcome: CommandOutcome::Passed, .. } => Ok(container),
            CommandRun { outcome: CommandOutcome::Unmeasured(gap), .. }
                if gap.cause == Cause::NotInstalled =>
            {
                Err("docker is not installed".to_owned())
            }
            CommandRun { outcome: CommandOutcome::Unmeasured(gap), .. } => {
                Err(format!("docker did not answer: {gap}"))
            }
            CommandRun { output, .. } => {
                Err(format!("docker did not answer: {}", one_line(&output, GAP_CHARS_MAX)))
            }
        }
    }

    async fn run(&self, command: &CheckCommand) -> CommandRun {
        let root = self.call.project.root.to_string_lossy().into_owned();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = ContentHash::of_bytes(format!("{now} {root} {}", command.name).as_bytes());
        let name = format!("moai-ralph-{}", name.short_hex());
        let mounted = format!("type=bind,source={root},target={root}");
        let mut arguments: Vec<String> = [
            "run",
            "--rm",
            "--init",
            "--network",
            "none",
            "--pull",
            "never",
            "--name",
            &name,
            "--user",
            &self.user,
            "--mount",
            &mounted,
            "--workdir",
            &root,
            &self.image,
        ]
        .map(str::to_owned)
        .to_vec();
        arguments.extend(command.argv.iter().cloned());
        let run = self.docker(arguments, self.call.project.config.check_timeout).await;
        if matches!(run.outcome, CommandOutcome::Unmeasured(_)) {
            // The client has ended, but its container may still run.
            let remove = ["rm", "--force", &name].map(str::to_owned).to_vec();
            let limit = Duration::from_millis(SANDBOX_REMOVE_MS_MAX);
            let call = self.process(remove, limit);
            let _ = programs::run_command(call).await;
        }
        run
    }

    /// Runs docker within the time of the Stop.
    async fn docker(&self, arguments: Vec<String>, limit: Duration) -> CommandRun {
        let left = self.deadline.saturating_duration_since(Instant::now());
        programs::run_command(self.process(arguments, limit.min(left))).await
    }

    fn process(&self, args: Vec<String>, timeout: Duration) -> ProgramCall {
        ProgramCall {
            program: DOCKER.into(),
            args,
            cwd: self.call.project.root.clone(),
            env: self.call.caller.env.clone().into_iter().collect(),
            timeout,
            kill_grace: Duration::from_millis(COMMAND_KILL_GRACE_MS),
            parent: programs::this_program().ok(),
        }
    }
}
