//! Any command as a model: the question is its stdin, the answer its stdout.

use std::path::Path;

use super::process::{Program, run};
use super::{Environment, Question, Said};
use crate::base::verdict::{Cause, Gap};

pub(super) async fn ask(
    program: &Path,
    args: &[String],
    question: Question,
    env: &Environment,
) -> Result<Said, Gap> {
    let asked = Program {
        path: program.to_path_buf(),
        args: args.to_vec(),
        input: format!("{}\n\n{}", question.system, question.user),
        timeout: question.timeout,
    };
    let ended = run(asked, env).await?;
    if ended.code != Some(0) {
        return Err(Gap::new(Cause::Crashed, format!("{}: {}", program.display(), ended.fault())));
    }
    Ok(Said { text: ended.stdout, model: None, cost_usd: None })
}
