//! Confirms that a person answers: acceptances that an agent must not give itself are asked for at the
//! caller's terminal, with a code that the daemon shows there.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Instant;

use crate::agent_session;
use crate::engine::Engine;
use moai_host::callers::{self, CallerTerminal};
use moai_loops::framework::MessageLanguage;
use moai_protocol::control::{CallerContext, CommandReply};
use moai_report::person_questions as words;

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

/// What a person at a terminal is asked to accept.
#[derive(Debug)]
pub(crate) struct Acceptance<'a> {
    pub(crate) language: MessageLanguage,
    /// Describes the command.
    pub(crate) subject: &'a str,
    /// What it accepts, line by line.
    pub(crate) accepted: &'a [String],
}

/// Refuses agents, and asks a person at a terminal for a code below what is accepted; `Err` is the reply in
/// place of the command's own.
pub(crate) fn confirm(
    engine: &Engine,
    caller: &CallerContext,
    acceptance: &Acceptance<'_>,
    code: Option<&str>,
) -> Result<(), CommandReply> {
    let Acceptance { language, subject, accepted } = *acceptance;
    let refused = |text: &str| Err(CommandReply::failure(REFUSED, &format!("moai-ralph: {text}")));
    if is_agent(engine, caller) {
        return refused(&words::shell_of_agent(language, subject));
    }
    let terminal = match callers::terminal_of(caller.process.unwrap_or_default()) {
        CallerTerminal::At(terminal) => terminal,
        // Other systems: the front door has checked that a terminal is its input.
        CallerTerminal::Unknown => return Ok(()),
        CallerTerminal::None => {
            return refused(&words::without_terminal(language, subject));
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
        return refused(words::code_is_wrong(language));
    }
    let code = new_code();
    let asked = format!("{question}{}", words::code_question(language, &code));
    if !engine.ledger().code_questions.ask(&question, &terminal, code) {
        return refused(words::too_many_questions(language));
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
