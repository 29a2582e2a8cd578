//! An edit of any plan changes one checkbox and nothing else.

use proptest::prelude::*;

use super::super::{PlanDocument, PlanEditError, TodoId, TodoStatus};
use super::{PLAN, id};

/// A piece of a plan, sound or not.
fn piece() -> impl Strategy<Value = String> {
    let mark = prop_oneof![Just(" "), Just(""), Just("x"), Just("X"), Just("FAILED"), Just("?")];
    let start = prop_oneof![Just("### "), Just("## "), Just("- "), Just("  ### "), Just("###")];
    let heading = (start, mark, 0..9_u8, "[a-z가-힣 :*]{0,8}")
        .prop_map(|(start, mark, number, title)| format!("{start}[{mark}] TODO {number}: {title}"));
    let line = prop_oneof![
        Just("- Dependencies: TODO-1, TODO 2".to_owned()),
        Just("  - [A] `cargo test` passes".to_owned()),
        Just("```".to_owned()),
        Just("<!-- [ ] TODO 1: x -->".to_owned()),
        Just("<!--".to_owned()),
        Just("\u{feff}".to_owned()),
        "\\PC{0,20}",
        any::<String>(),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\n\n"), Just("\r"), Just("")];
    (prop_oneof![heading, line], end).prop_map(|(text, end)| format!("{text}{end}"))
}

fn status() -> impl Strategy<Value = TodoStatus> {
    prop_oneof![Just(TodoStatus::Open), Just(TodoStatus::Done), Just(TodoStatus::Failed)]
}

proptest! {
    #[test]
    fn an_edit_preserves_every_other_byte(
        pieces in proptest::collection::vec(piece(), 0..12),
        number in 0..9_u8,
        to in status(),
    ) {
        let text = pieces.concat();
        let before = PlanDocument::parse(&text);
        let id = TodoId::parse(&number.to_string()).expect("a number");
        let result = PlanDocument::set_status(&text, &id, to);
        let count = before.todos.iter().filter(|todo| todo.id == id).count();
        let Ok(edited) = result else {
            let has_checkbox = before.todo(&id).is_some_and(|todo| todo.checkbox.is_some());
            prop_assert!(count != 1 || !has_checkbox);
            return Ok(());
        };
        prop_assert_eq!(count, 1);
        let checkbox = before.todo(&id).and_then(|todo| todo.checkbox.clone()).expect("a checkbox");
        prop_assert_eq!(&edited[..checkbox.start], &text[..checkbox.start]);
        prop_assert!(edited.ends_with(&text[checkbox.end..]));
        let length = edited.len() + checkbox.len() - text.len();
        prop_assert_eq!(&edited[checkbox.start..checkbox.start + length], to.mark());
        // The other TODOs and all other parsed parts are unchanged.
        let after = PlanDocument::parse(&edited);
        prop_assert_eq!(after.todo(&id).map(|todo| todo.status), Some(to));
        prop_assert_eq!(after.todos.len(), before.todos.len());
        for (old, new) in before.todos.iter().zip(&after.todos) {
            prop_assert_eq!((&old.id, old.line, &old.title), (&new.id, new.line, &new.title));
            prop_assert_eq!((&old.items, &old.dependencies), (&new.items, &new.dependencies));
            prop_assert!(old.status == new.status || old.id == id);
        }
    }

    #[test]
    fn any_text_is_parsed(text in any::<String>()) {
        let plan = PlanDocument::parse(&text);
        let lines = text.split('\n').count();
        prop_assert!(plan.faults.iter().all(|fault| (1..=lines).contains(&fault.line)));
    }
}

#[test]
fn only_a_todo_that_is_found_once_is_edited() {
    let edited = PlanDocument::set_status(PLAN, &id("2"), TodoStatus::Failed);
    assert_eq!(edited, Ok(PLAN.replace("[ ] TODO-2", "[FAILED] TODO-2")));
    let unknown = PlanDocument::set_status(PLAN, &id("9"), TodoStatus::Done);
    assert_eq!(unknown, Err(PlanEditError::UnknownTodo(id("9"))));
    let twice = "### [ ] TODO 1: a\n### [ ] TODO 1: b\n";
    let ambiguous = PlanDocument::set_status(twice, &id("1"), TodoStatus::Done);
    assert_eq!(ambiguous, Err(PlanEditError::AmbiguousTodo(id("1"))));
    let bare = PlanDocument::set_status("### TODO 1: a\n", &id("1"), TodoStatus::Done);
    assert_eq!(bare, Err(PlanEditError::NoCheckbox(id("1"))));
}

#[test]
fn several_states_are_set_at_once_and_what_cannot_be_is_left_out() {
    let boxes = [
        (id("2"), TodoStatus::Failed),
        (id("9"), TodoStatus::Done),
        (id("1"), TodoStatus::Done),
        (id("2"), TodoStatus::Done),
    ];
    let one_by_one = PlanDocument::set_status(PLAN, &id("1"), TodoStatus::Done)
        .and_then(|text| PlanDocument::set_status(&text, &id("2"), TodoStatus::Done));
    assert_eq!(Ok(PlanDocument::set_statuses(PLAN, &boxes)), one_by_one);
    assert_eq!(PlanDocument::set_statuses(PLAN, &[]), PLAN);
}
