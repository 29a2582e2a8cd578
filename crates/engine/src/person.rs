//! Confirms that a person answers: acceptances that an agent must not give itself are asked for at the
//! caller's terminal, with a code that the daemon shows there.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Instant;

use crate::agent_session;
use crate::engine::Engine;
use moai_host::callers::{self, CallerTerminal};
use moai_protocol::control::{CallerContext, CommandReply};

use crate::replies::REFUSED;

/// Characters of codes, without those that look alike.
const CODE_CHARACTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// Characters of one code.
const CODE_LENGTH: usize = 6;

pub(crate) fn is_agent(engine: &Engine, caller: &CallerContext) -> bool {
    callers::is_agent(caller.process.unwrap_or_default(), &caller.env)
        || agent_session::is_below_host(engine, caller)
}

/// True if the caller is at a terminal, as far as the system reports it.
pub(crate) fn has_terminal(caller: &CallerContext) -> bool {
    callers::terminal_of(caller.process.unwrap_or_default()) != CallerTerminal::None
}

/// Refuses agents, and asks a person at a terminal for a code; `Err` is the reply in place of the command's
/// own. `subject` describes the command, `accepted` line by line what it accepts, which is shown before the code.
pub(crate) fn confirm(
    engine: &Engine,
    caller: &CallerContext,
    subject: &str,
    accepted: &[String],
    code: Option<&str>,
) -> Result<(), CommandReply> {
    let refused = |text: &str| Err(CommandReply::failure(REFUSED, &format!("moai-ralph: {text}")));
    if is_agent(engine, caller) {
        return refused(&format!("{subject} is for a person: an agent started this shell"));
    }
    let terminal = match callers::terminal_of(caller.process.unwrap_or_default()) {
        CallerTerminal::At(terminal) => terminal,
        // Other systems: the front door has checked that a terminal is its input.
        CallerTerminal::Unknown => return Ok(()),
        CallerTerminal::None => {
            return refused(&format!("{subject} is for a person: this process has no terminal"));
        }
    };
    // A code accepts what was shown with it.
    let mut question = format!("moai-ralph: {subject}\r\n");
    for line in accepted {
        question.extend(["  ", line, "\r\n"]);
    }
    if let Some(code) = code {
        if engine.ledger().code_questions.answer(&question, &terminal, code) {
            return Ok(());
        }
        return refused(
            "this is not the code that was shown, or what it accepts has changed since; nothing is accepted",
        );
    }
    let code = new_code();
    let asked = format!("{question}Type {code} to accept: ");
    if !engine.ledger().code_questions.ask(&question, &terminal, code) {
        return refused("too many questions are open at terminals; try again in a few minutes");
    }
    match callers::write_to_terminal(&terminal, &asked) {
        Ok(()) => Err(CommandReply { needs_code: true, code: REFUSED, ..CommandReply::default() }),
        Err(error) => refused(&format!("{}: {error}", terminal.display())),
    }
}

fn new_code() -> String {
    // The system gives each thread random keys, so no other process can predict the hash.
    let mut random = RandomState::new().hash_one(Instant::now());
    let mut code = String::new();
    for _ in 0..CODE_LENGTH {
        code.push(char::from(CODE_CHARACTERS[(random % 32) as usize]));
        random /= 32;
    }
    code
}
