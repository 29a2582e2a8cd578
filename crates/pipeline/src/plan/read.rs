//! Reads a plan line by line.

use super::fields::{
    TodoField, acceptance_item, acceptance_kind, dependency_ids, field_of_name, file_patterns,
    is_none_word, risk_of, similar_field, size_of,
};
use super::todo_heading::{TodoHeading, todo_heading};
use super::{PlanDocument, RiskLevel, Todo, dependencies};
use crate::document::{
    DocumentLine, FaultList, document_lines, is_placeholder, named_value, quoted_words,
};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    PLAN_TEXT_CHARS_MAX, PLAN_TITLE_CHARS_MAX, PLAN_TODOS_MAX, TODO_ITEMS_MAX,
};

/// Parses a plan with all its faults.
pub(super) fn read_plan(text: &str) -> PlanDocument {
    let mut faults = FaultList::default();
    let lines = document_lines(text, &mut faults);
    let mut reader = PlanReader { plan: PlanDocument::default(), faults, position: None };
    for line in lines.iter().filter(|line| !line.is_code) {
        reader.read_line(line);
    }
    reader.finish()
}

/// Position of the reader in the TODOs.
#[derive(Clone, Copy)]
struct TodoPosition {
    /// Level of the TODO's heading; a heading of this level or above ends it.
    level: usize,
    /// The field that the next lines belong to.
    field: TodoField,
    /// Indentation of the line that begins the field.
    indent: usize,
    /// True if the line above is blank.
    is_below_blank: bool,
    /// True if the TODO can be read at all; lines of one without a number are skipped.
    is_known: bool,
}

struct PlanReader {
    plan: PlanDocument,
    faults: FaultList,
    position: Option<TodoPosition>,
}

impl PlanReader {
    fn read_line(&mut self, line: &DocumentLine<'_>) {
        if let Some(heading) = todo_heading(line) {
            return self.begin_todo(line, heading);
        }
        if let Some((level, text)) = line.heading() {
            return self.read_heading(level, text);
        }
        match self.position {
            Some(position) if position.is_known => self.read_todo_line(line, position),
            Some(_) => {}
            None => self.read_overall_risk(line),
        }
    }

    fn begin_todo(&mut self, line: &DocumentLine<'_>, heading: TodoHeading<'_>) {
        let mut position = TodoPosition {
            level: heading.level,
            field: TodoField::Description,
            indent: 0,
            is_below_blank: false,
            is_known: heading.id.is_some(),
        };
        if let Some(fault) = heading.fault {
            self.faults.add(line.number, fault);
        }
        if self.plan.todos.len() == PLAN_TODOS_MAX {
            self.faults.add(line.number, format!("the plan has more than {PLAN_TODOS_MAX} TODOs"));
            position.is_known = false;
        }
        if let Some(id) = heading.id.filter(|_| position.is_known) {
            let title = one_line(heading.title, PLAN_TITLE_CHARS_MAX);
            if title.is_empty() {
                self.faults.add(line.number, format!("{id} has no title"));
            } else if is_placeholder(&title) {
                self.faults.add(line.number, format!("the title of {id} is not filled in"));
            }
            self.plan.todos.push(Todo {
                id,
                line: line.number,
                title,
                status: heading.status,
                description: String::new(),
                dependencies: Vec::new(),
                requirements: Vec::new(),
                files: Vec::new(),
                risk: None,
                size: None,
                items: Vec::new(),
                checkbox: heading.checkbox,
            });
        }
        self.position = Some(position);
    }

    fn read_heading(&mut self, level: usize, text: &str) {
        if let Some(position) = &mut self.position {
            if level > position.level {
                position.field =
                    field_of_name(text.trim_end_matches(':')).unwrap_or(TodoField::Other);
                return;
            }
            self.position = None;
        }
        if level == 1 && self.plan.title.is_none() {
            let title = match named_value(text) {
                Some((name, title)) if ["plan", "계획"].contains(&name.as_str()) => title,
                _ => text,
            };
            self.plan.title = Some(one_line(title, PLAN_TITLE_CHARS_MAX));
        }
    }

    /// A line outside the TODOs may set the risk of the whole change.
    fn read_overall_risk(&mut self, line: &DocumentLine<'_>) {
        let Some((name, value)) = line.list_item().and_then(named_value) else { return };
        if ["overall", "overall risk", "전체", "전체 위험도"].contains(&name.as_str()) {
            self.plan.overall_risk = self.risk(line, value);
        }
    }

    fn risk(&mut self, line: &DocumentLine<'_>, value: &str) -> Option<RiskLevel> {
        let risk = risk_of(value);
        if risk.is_none() {
            let reason = format!("{} is not a risk: write LOW, MED or HIGH", quoted_words(value));
            self.faults.add(line.number, reason);
        }
        risk
    }

    fn read_todo_line(&mut self, line: &DocumentLine<'_>, position: TodoPosition) {
        let bare = line.text.trim();
        if let Some(position) = &mut self.position {
            position.is_below_blank = bare.is_empty();
        }
        if bare.is_empty() || bare.chars().all(|it| "-=*_".contains(it)) {
            return;
        }
        let item = line.list_item();
        if let Some((kind, text)) = item.and_then(acceptance_kind) {
            if position.field != TodoField::Acceptance {
                self.begin_field(line, TodoField::Acceptance);
            }
            self.add_item(line, |number| acceptance_item(kind, text, number, line.number));
            return;
        }
        let text = item.unwrap_or(bare);
        if let Some((name, value)) = named_value(text) {
            if let Some(field) = field_of_name(&name) {
                self.begin_field(line, field);
                self.read_value(line, field, value);
                return;
            }
            let is_nested = line.indent() > position.indent;
            if item.is_some() && !(is_nested && position.field == TodoField::Acceptance) {
                if let Some(known) = similar_field(&name) {
                    let name = quoted_words(&name);
                    let reason = format!("{name} is no field: did you mean {known}?");
                    self.faults.add(line.number, reason);
                }
                // An unknown field may have several lines.
                self.begin_field(line, TodoField::Other);
                return;
            }
        }
        match (position.field, item) {
            (TodoField::Acceptance, Some(text)) => {
                let reason = format!("{} has no [A], [S] or [H]", quoted_words(text));
                self.faults.add(line.number, reason);
            }
            // A paragraph at the margin ends a list.
            (TodoField::Acceptance, None) if position.is_below_blank && line.indent() == 0 => {
                self.begin_field(line, TodoField::Other);
            }
            (TodoField::Acceptance, None) => self.continue_item(bare),
            (field, _) => self.read_value(line, field, text),
        }
    }

    fn begin_field(&mut self, line: &DocumentLine<'_>, field: TodoField) {
        if let Some(position) = &mut self.position {
            position.field = field;
            position.indent = line.indent();
        }
    }

    fn add_item(
        &mut self,
        line: &DocumentLine<'_>,
        read: impl FnOnce(usize) -> (super::AcceptanceItem, Option<String>),
    ) {
        let Some(todo) = self.plan.todos.last_mut() else { return };
        if todo.items.len() == TODO_ITEMS_MAX {
            let reason = format!("{} has more than {TODO_ITEMS_MAX} acceptance items", todo.id);
            self.faults.add(line.number, reason);
            return;
        }
        let (item, fault) = read(todo.items.len() + 1);
        let is_taken = todo.items.iter().any(|other| other.id == item.id);
        let taken = is_taken.then(|| format!("{} has {} twice", todo.id, item.id));
        todo.items.push(item);
        for reason in [fault, taken].into_iter().flatten() {
            self.faults.add(line.number, reason);
        }
    }

    /// A line below an acceptance item belongs to it.
    fn continue_item(&mut self, more: &str) {
        if let Some(item) = self.plan.todos.last_mut().and_then(|todo| todo.items.last_mut()) {
            item.text = one_line(&format!("{} {more}", item.text), PLAN_TEXT_CHARS_MAX);
        }
    }

    fn read_value(&mut self, line: &DocumentLine<'_>, field: TodoField, value: &str) {
        if field == TodoField::Risk || field == TodoField::Size {
            return self.read_estimate(line, field, value);
        }
        let Some(todo) = self.plan.todos.last_mut() else { return };
        match field {
            TodoField::Description => {
                let joined = format!("{} {value}", todo.description);
                todo.description = one_line(joined.trim(), PLAN_TEXT_CHARS_MAX);
            }
            TodoField::Dependencies => match dependency_ids(value) {
                Ok(ids) => todo.dependencies.extend(ids),
                Err(reason) => self.faults.add(line.number, reason),
            },
            TodoField::Files => match file_patterns(value) {
                Ok(patterns) => todo.files.extend(patterns),
                Err(reason) => self.faults.add(line.number, reason),
            },
            TodoField::Requirements if is_none_word(value) => {}
            TodoField::Requirements => {
                let parts = value.split([',', ';', ' ']).map(|it| it.trim_matches(['`', '*', '.']));
                todo.requirements.extend(parts.filter(|it| !it.is_empty()).map(str::to_owned));
            }
            TodoField::Risk | TodoField::Size | TodoField::Acceptance | TodoField::Other => {}
        }
    }

    fn read_estimate(&mut self, line: &DocumentLine<'_>, field: TodoField, value: &str) {
        if value.is_empty() {
            return;
        }
        if field == TodoField::Risk {
            let risk = self.risk(line, value);
            self.begin_field(line, TodoField::Other);
            if let Some(todo) = self.plan.todos.last_mut() {
                todo.risk = risk;
            }
            return;
        }
        let size = size_of(value);
        self.begin_field(line, TodoField::Other);
        match self.plan.todos.last_mut() {
            Some(todo) if size.is_some() => todo.size = size,
            _ => {
                let value = quoted_words(value);
                self.faults
                    .add(line.number, format!("{value} is not a complexity: write S, M or L"));
            }
        }
    }

    fn finish(mut self) -> PlanDocument {
        if self.plan.todos.is_empty() {
            self.faults.add(1, "the plan has no TODO: write `### [ ] TODO 1: title`");
        }
        dependencies::check_todos(&self.plan.todos, &mut self.faults);
        self.plan.faults = self.faults.into_sorted();
        self.plan
    }
}
