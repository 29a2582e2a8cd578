//! Options of pipelines: the sandbox of gate 1, the escalation to a stronger model, and the commits
//! that a pipeline needs before it ends.

use serde::Deserialize;

use super::{OptionRefusal, bounded, set};
use moai_base::limits::{MODEL_NAME_CHARS_MAX, TODO_ATTEMPTS_MAX};

/// The place where a gate runs the acceptance commands in addition to a Stop's own runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxKind {
    /// No additional run.
    #[default]
    Host,
    /// In a container.
    Docker,
}

/// The reaction to a shell command that changes source files its agent may not write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellWriteRule {
    /// They are reported.
    #[default]
    Name,
    /// They are reported and restored to their contents before the command.
    TakeBack,
}

/// Estimated complexity of a TODO, as written in plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum EscalatedSize {
    /// One file.
    S,
    /// Several files.
    M,
    /// Architecture.
    L,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineOptions {
    pub sandbox: SandboxKind,
    /// Image of the container; empty if unset.
    pub image: String,
    pub shell_writes: ShellWriteRule,
    /// Failed attempts at a TODO, or rounds of fixes, after which a stronger model is proposed; 0:
    /// never.
    pub escalate_after: u32,
    /// Sizes of TODOs that get the stronger model from the start.
    pub escalate_sizes: Vec<EscalatedSize>,
    /// The host's name for the stronger model.
    pub escalate_model: String,
    /// True if the work must be committed before a pipeline ends.
    pub has_commits: bool,
    /// True if each of its commits is checked; implies that it must be committed.
    pub verifies_each: bool,
    /// True if the commits must be on a separate branch.
    pub has_branch: bool,
}

impl Default for PipelineOptions {
    fn default() -> Self {
        Self {
            sandbox: SandboxKind::Host,
            image: String::new(),
            shell_writes: ShellWriteRule::Name,
            escalate_after: 2,
            escalate_sizes: vec![EscalatedSize::L],
            escalate_model: "opus".to_owned(),
            has_commits: false,
            verifies_each: false,
            has_branch: false,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PipelineLayer {
    sandbox: Option<SandboxKind>,
    image: Option<String>,
    shell_writes: Option<ShellWriteRule>,
    escalate_after: Option<u64>,
    escalate_sizes: Option<Vec<EscalatedSize>>,
    escalate_model: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SyncLayer {
    commits: Option<bool>,
    verify_each: Option<bool>,
    branch: Option<bool>,
}

impl PipelineOptions {
    /// True if the work must be committed.
    #[must_use]
    pub fn wants_commits(&self) -> bool {
        self.has_commits || self.verifies_each || self.has_branch
    }

    pub(super) fn apply_layer(
        &mut self,
        layer: PipelineLayer,
        sync: &SyncLayer,
    ) -> Result<(), OptionRefusal> {
        set(&mut self.sandbox, layer.sandbox);
        if let Some(image) = layer.image {
            if !image.is_empty() && !is_plain_name(&image) {
                let reason = format!("{image:?} is no name of an image");
                return Err(("pipeline.image".to_owned(), reason));
            }
            self.image = image;
        }
        set(&mut self.shell_writes, layer.shell_writes);
        let most = u64::from(TODO_ATTEMPTS_MAX);
        let after = layer.escalate_after;
        bounded(&mut self.escalate_after, "pipeline.escalate_after", after, 0..=most, |count| {
            u32::try_from(count).unwrap_or_default()
        })?;
        set(&mut self.escalate_sizes, layer.escalate_sizes);
        if let Some(model) = layer.escalate_model {
            if !is_plain_name(&model) {
                let reason = format!("{model:?} is no name of a model");
                return Err(("pipeline.escalate_model".to_owned(), reason));
            }
            self.escalate_model = model;
        }
        set(&mut self.has_commits, sync.commits);
        set(&mut self.verifies_each, sync.verify_each);
        set(&mut self.has_branch, sync.branch);
        Ok(())
    }
}

/// True if the name of an image or a model is a single argument and not an option.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "._-:/@[]".contains(it);
    name.starts_with(|it: char| it.is_ascii_alphanumeric())
        && name.chars().all(is_plain)
        && name.chars().count() <= MODEL_NAME_CHARS_MAX
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Config, OptionFile};
    use moai_lsp::registry::Catalogue;

    fn load(text: &str) -> Result<PipelineOptions, String> {
        let (name, text) = ("ralph.yaml".to_owned(), text.to_owned());
        let file = OptionFile { name, text, is_trusted: true, is_of_user: true };
        let config = Config::load(&[file], &BTreeMap::new(), Catalogue::built_in());
        config.map(|config| config.pipeline).map_err(|error| error.to_string())
    }

    #[test]
    fn options_of_pipelines_are_read_and_bounded() {
        let text = "ralph:\n  pipeline: {sandbox: docker, image: 'python:3.12', shell_writes: take_back, \
                    escalate_after: 0, \
                    escalate_sizes: [M, L], escalate_model: 'opus[1m]'}\n  sync: {verify_each: true}\n";
        let options = load(text).expect("valid");
        assert_eq!((options.sandbox, options.image.as_str()), (SandboxKind::Docker, "python:3.12"));
        assert_eq!(options.shell_writes, ShellWriteRule::TakeBack);
        assert_eq!(options.escalate_sizes, [EscalatedSize::M, EscalatedSize::L]);
        assert_eq!((options.escalate_after, options.escalate_model.as_str()), (0, "opus[1m]"));
        assert!(options.wants_commits() && !options.has_commits);
        assert!(!PipelineOptions::default().wants_commits());
        for wrong in [
            "pipeline: {sandbox: podman}",
            "pipeline: {image: --privileged}",
            "pipeline: {image: 'a b'}",
            "pipeline: {shell_writes: refuse}",
            "pipeline: {escalate_after: 4}",
            "pipeline: {escalate_sizes: [XL]}",
            "pipeline: {escalate_model: ''}",
            "sync: {push: true}",
        ] {
            assert!(load(&format!("ralph:\n  {wrong}\n")).is_err(), "{wrong}");
        }
    }
}
