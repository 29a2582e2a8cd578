//! Any command as a model: the question is its stdin, the answer its stdout.

use std::path::Path;

use super::process::{ProgramQuestion, ask_program};
use super::{CallerEnv, ModelRequest, ModelResponse};
use moai_base::verdict::{Cause, Gap};

pub(super) async fn ask_command(
    program: &Path,
    args: &[String],
    question: ModelRequest,
    env: &CallerEnv,
) -> Result<ModelResponse, Gap> {
    let asked = ProgramQuestion {
        program: program.to_path_buf(),
        args: args.to_vec(),
        input: format!("{}\n\n{}", question.system, question.user),
        timeout: question.timeout,
    };
    let ended = ask_program(asked, env).await?;
    if ended.code != Some(0) {
        return Err(Gap::new(Cause::Crashed, format!("{}: {}", program.display(), ended.fault())));
    }
    Ok(ModelResponse { text: ended.stdout, model: None, cost_usd: None })
}
