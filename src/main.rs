//! The program: hands its arguments to `cli` and exits with its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(moai_ralph::cli::run(std::env::args_os().collect()))
}
