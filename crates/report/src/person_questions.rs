//! The questions that only a person answers, as an agent asks them with the host's `AskUserQuestion`,
//! and the texts about their answers. An answer counts only if the host showed exactly this question.

use crate::pipeline::language;
use crate::wording;
use crate::wording::BilingualPhrase;
use crate::wording::approvals;
use crate::wording::pipelines as course;
use moai_base::foreign_text::{one_line, visible};
use moai_base::limits::{LINE_CHARS_MAX, QUESTION_TEXT_CHARS_MAX, REASON_LINE_CHARS_MAX};
use moai_loops::framework::MessageLanguage;
use moai_pipeline::person_question::PersonQuestion;
use moai_pipeline::state::PipelineState;
use serde_json::json;

/// A question with two answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedQuestion {
    /// A short label above the question.
    pub header: String,
    /// The question, on one line.
    pub question: String,
    /// The answer that agrees.
    pub yes: QuestionChoice,
    /// The answer that does not.
    pub no: QuestionChoice,
}

/// One answer to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionChoice {
    /// Its name, which the host reports.
    pub label: String,
    pub description: String,
}

/// The phrases of one kind of question.
struct QuestionPhrases {
    header: BilingualPhrase,
    yes: BilingualPhrase,
    yes_means: BilingualPhrase,
    no: BilingualPhrase,
    no_means: BilingualPhrase,
}

const ABOUT_PLAN: QuestionPhrases = QuestionPhrases {
    header: wording::ASK_PLAN_HEADER,
    yes: wording::ASK_PLAN_YES,
    yes_means: wording::ASK_PLAN_YES_MEANS,
    no: wording::ASK_PLAN_NO,
    no_means: wording::ASK_PLAN_NO_MEANS,
};
const ABOUT_ITEM: QuestionPhrases = QuestionPhrases {
    header: wording::ASK_ITEM_HEADER,
    yes: wording::ASK_ITEM_YES,
    yes_means: wording::ASK_ITEM_YES_MEANS,
    no: wording::ASK_ITEM_NO,
    no_means: wording::ASK_ITEM_NO_MEANS,
};
const ABOUT_PROPOSAL: QuestionPhrases = QuestionPhrases {
    header: wording::ASK_PROPOSAL_HEADER,
    yes: wording::ASK_PROPOSAL_YES,
    yes_means: wording::ASK_PROPOSAL_YES_MEANS,
    no: wording::ASK_PROPOSAL_NO,
    no_means: wording::ASK_PROPOSAL_NO_MEANS,
};

/// A question of a pipeline with the exact words in which it must be asked.
#[must_use]
pub fn asked_question(state: &PipelineState, question: &PersonQuestion) -> AskedQuestion {
    let language = language(state);
    let name = question.name();
    let short = |text: &str| one_line(text, QUESTION_TEXT_CHARS_MAX);
    let (phrases, text) = match question {
        PersonQuestion::Plan { version } => {
            (ABOUT_PLAN, wording::ASK_PLAN.with(language, &[&state.plan_path(), version]))
        }
        PersonQuestion::Item { text, .. } => {
            (ABOUT_ITEM, wording::ASK_ITEM.with(language, &[&name, &short(text)]))
        }
        PersonQuestion::Discovery { discovery, .. } => {
            let conflicts = one_line(&discovery.conflicts.join(", "), REASON_LINE_CHARS_MAX);
            let parts = [name.as_str(), &discovery.todo, &short(&discovery.summary), &conflicts];
            (ABOUT_PROPOSAL, wording::ASK_PROPOSAL.with(language, &parts))
        }
    };
    let word = |phrase: &BilingualPhrase| phrase.text_in(language).to_owned();
    AskedQuestion {
        header: word(&phrases.header),
        question: visible(&text),
        yes: QuestionChoice { label: word(&phrases.yes), description: word(&phrases.yes_means) },
        no: QuestionChoice { label: word(&phrases.no), description: word(&phrases.no_means) },
    }
}

impl AskedQuestion {
    /// The arguments of `AskUserQuestion`.
    #[must_use]
    pub fn arguments(&self) -> String {
        let option = |choice: &QuestionChoice| json!({"label": choice.label, "description": choice.description});
        let question = json!({
            "question": self.question,
            "header": self.header,
            "options": [option(&self.yes), option(&self.no)],
            "multiSelect": false,
        });
        json!({"questions": [question]}).to_string()
    }
}

/// The question alone, on one line.
#[must_use]
pub fn question_text(state: &PipelineState, question: &PersonQuestion) -> String {
    asked_question(state, question).question.trim_start_matches(START).to_owned()
}

/// For the agent: the question it must ask the user.
#[must_use]
pub fn question_to_ask(state: &PipelineState, question: &PersonQuestion) -> String {
    let (language, name) = (language(state), question.name());
    let asked = asked_question(state, question).arguments();
    match question {
        PersonQuestion::Item { text, .. } if state.human_answers.contains_key(&name) => {
            let text = one_line(text, QUESTION_TEXT_CHARS_MAX);
            course::QUESTION_DECLINED.with(language, &[&name, &text, &asked])
        }
        _ => wording::QUESTION_TO_ASK.with(language, &[&name, &asked]),
    }
}

/// For an agent that approves a plan: the question it must ask the user.
#[must_use]
pub fn approval_is_asked(state: &PipelineState, question: &PersonQuestion) -> String {
    let asked = asked_question(state, question).arguments();
    let parts = [state.plan_path(), state.id.clone(), asked];
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    wording::APPROVAL_IS_ASKED.with(language(state), &parts)
}

/// For the user: the questions that wait for an answer, one line each.
#[must_use]
pub fn question_lines(state: &PipelineState, questions: &[PersonQuestion]) -> Vec<String> {
    let language = language(state);
    let line = |question: &PersonQuestion| {
        let name = question.name();
        let asked = match question {
            PersonQuestion::Item { text, .. } => {
                wording::ITEM_TO_ANSWER.with(language, &[&name, text])
            }
            _ => question_text(state, question),
        };
        one_line(&wording::ANSWER_WITH.with(language, &[&asked, &name]), LINE_CHARS_MAX)
    };
    questions.iter().map(line).collect()
}

/// For the agent: the user's answer.
#[must_use]
pub fn answered(state: &PipelineState, name: &str, is_yes: bool) -> String {
    let phrase = if is_yes { wording::ANSWERED_YES } else { wording::ANSWERED_NO };
    phrase.with(language(state), &[&state.id, name])
}

/// For the user: the answer that was given at a terminal.
#[must_use]
pub fn answer_recorded(state: &PipelineState, name: &str, is_yes: bool) -> String {
    let phrase = if is_yes { course::RECORDED_YES } else { course::RECORDED_NO };
    phrase.with(language(state), &[&state.id, name])
}

/// The question for the code that a terminal shows.
#[must_use]
pub fn code_question(language: MessageLanguage, code: &str) -> String {
    approvals::CODE_QUESTION.with(language, &[code])
}

/// Why a command for a person is refused: an agent gives it.
#[must_use]
pub fn shell_of_agent(language: MessageLanguage, subject: &str) -> String {
    approvals::SHELL_OF_AGENT.with(language, &[subject])
}

/// The same: its process has no terminal.
#[must_use]
pub fn without_terminal(language: MessageLanguage, subject: &str) -> String {
    approvals::WITHOUT_TERMINAL.with(language, &[subject])
}

/// The same: its input is not a terminal.
#[must_use]
pub fn stdin_is_no_terminal(language: MessageLanguage, subject: &str) -> String {
    approvals::STDIN_IS_NO_TERMINAL.with(language, &[subject])
}

/// Why a typed code accepts nothing.
#[must_use]
pub fn code_is_wrong(language: MessageLanguage) -> &'static str {
    approvals::CODE_IS_WRONG.text_in(language)
}

/// Why a command for a person asks nothing now.
#[must_use]
pub fn too_many_questions(language: MessageLanguage) -> &'static str {
    approvals::TOO_MANY_QUESTIONS.text_in(language)
}

/// `loop refreeze` at a terminal, for its question.
#[must_use]
pub fn refreeze_subject(language: MessageLanguage, loop_id: &str) -> String {
    approvals::REFREEZE_SUBJECT.with(language, &[loop_id])
}

/// The command at a terminal that approves a plan, for its question.
#[must_use]
pub fn approval_subject(state: &PipelineState, version: &str) -> String {
    approvals::APPROVAL_SUBJECT.with(language(state), &[&state.plan_path(), version])
}

/// The command at a terminal that answers a question, for its own question.
#[must_use]
pub fn answer_subject(state: &PipelineState, name: &str, is_yes: bool) -> String {
    let word = if is_yes { "yes" } else { "no" };
    approvals::ANSWER_SUBJECT.with(language(state), &[name, word])
}

/// Why a typed answer is refused: it is not a name with yes or no.
#[must_use]
pub fn answer_form(state: &PipelineState, open: &[PersonQuestion]) -> String {
    let names: Vec<String> = open.iter().map(PersonQuestion::name).collect();
    let none = course::NO_QUESTIONS.text_in(language(state)).to_owned();
    let names = if names.is_empty() { none } else { names.join(", ") };
    course::ANSWER_FORM.with(language(state), &[&names])
}

/// Why an answer is refused: no such question is open.
#[must_use]
pub fn no_such_question(state: &PipelineState, name: &str, open: &[PersonQuestion]) -> String {
    let names: Vec<String> = open.iter().map(PersonQuestion::name).collect();
    let name = one_line(name, REASON_LINE_CHARS_MAX);
    if names.is_empty() {
        return wording::NO_OPEN_QUESTION.with(language(state), &[&name]);
    }
    wording::NO_SUCH_QUESTION.with(language(state), &[&name, &names.join(", ")])
}

/// Why an agent's answer is refused.
#[must_use]
pub fn answer_is_for_a_person(state: &PipelineState, question: &PersonQuestion) -> String {
    wording::ANSWER_IS_FOR_A_PERSON.with(language(state), &[&question_to_ask(state, question)])
}

/// Prefix of this program's questions.
const START: &str = "moai-ralph: ";

#[must_use]
pub fn looks_like_ours(question: &str) -> bool {
    question.trim_start().starts_with(START.trim_end())
}

/// For the agent: the user answered another question than one of these.
#[must_use]
pub fn question_is_none(state: &PipelineState) -> String {
    wording::QUESTION_IS_NONE.with(language(state), &[&state.id])
}
