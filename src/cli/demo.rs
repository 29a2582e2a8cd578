//! `demo`: one whole loop in a temporary project, played by a scripted agent against the real
//! hooks of this program.

use super::args::DemoArgs;
use crate::wire::control::Reply;

pub(super) fn run(_args: &DemoArgs) -> Reply {
    Reply::default()
}
