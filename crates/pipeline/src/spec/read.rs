//! Reads a `spec.md` line by line.

use std::collections::HashMap;

use super::ears::{EarsPattern, begins_with_keyword, read_statement};
use super::ids::{RequirementId, SpecId, leading_id_word};
use super::{Requirement, SpecDocument, SpecIdLine, TestTrace};
use crate::document::{
    DocumentLine, FaultList, document_lines, first_code_span, is_placeholder, named_value,
    quoted_words,
};
use moai_base::foreign_text::one_line;
use moai_base::limits::{PLAN_TEXT_CHARS_MAX, PLAN_TITLE_CHARS_MAX, SPEC_REQUIREMENTS_MAX};

/// Parses a specification with all its faults.
pub(super) fn read_spec(text: &str) -> SpecDocument {
    let mut faults = FaultList::default();
    let lines = document_lines(text, &mut faults);
    let mut reader = SpecReader { spec: SpecDocument::default(), faults, level: None };
    for line in &lines {
        if line.is_code {
            // The id may be in a block of YAML.
            reader.read_spec_id(line);
        } else {
            reader.read_line(line);
        }
    }
    reader.finish()
}

struct SpecReader {
    spec: SpecDocument,
    faults: FaultList,
    /// Level of the heading of the requirement that the next lines belong to.
    level: Option<usize>,
}

impl SpecReader {
    fn read_line(&mut self, line: &DocumentLine<'_>) {
        self.read_spec_id(line);
        if let Some((level, text)) = line.heading() {
            return self.read_heading(line, level, text);
        }
        if line.text.trim_start().starts_with('|') {
            return self.read_row(line);
        }
        if let Some(item) = line.list_item()
            && let Some((word, rest)) = leading_id_word(item, "REQ")
            && self.level.is_none()
        {
            let statement = rest.trim_start_matches([':', '：', ' ', '-', '—', '.']);
            self.add_requirement(line, word, "");
            return self.add_statement(line, statement);
        }
        if self.level.is_some() {
            self.read_requirement_line(line);
        }
    }

    /// A line that gives the document its id: `SPEC-ID: …` or `id: …`.
    fn read_spec_id(&mut self, line: &DocumentLine<'_>) {
        if !self.spec.requirements.is_empty() {
            return;
        }
        let text = line.list_item().unwrap_or_else(|| line.text.trim());
        let Some((name, value)) = named_value(text) else { return };
        if name != "spec id" && name != "id" {
            return;
        }
        match SpecId::parse(value.trim_matches(['`', '"', '\'', '*', ' '])) {
            Some(id) => self.spec.ids.push(SpecIdLine { id, line: line.number }),
            None if name == "spec id" => {
                let value = quoted_words(value);
                self.faults.add(line.number, format!("{value} is not an id such as SPEC-AUTH-001"));
            }
            None => {}
        }
    }

    fn read_heading(&mut self, line: &DocumentLine<'_>, level: usize, text: &str) {
        if let Some((word, rest)) = leading_id_word(text, "REQ") {
            let title = rest.trim_start_matches([':', '：', ' ', '-', '—', '.', '|']);
            self.level = Some(level);
            return self.add_requirement(line, word, title);
        }
        if self.level.is_some_and(|of_requirement| level <= of_requirement) {
            self.level = None;
        }
        if level != 1 || self.spec.title.is_some() {
            return;
        }
        let (id, title) = match leading_id_word(text, "SPEC") {
            Some((word, rest)) => (SpecId::parse(word), rest),
            None => (None, text),
        };
        self.spec.ids.extend(id.map(|id| SpecIdLine { id, line: line.number }));
        let title = title.trim_start_matches([':', '：', ' ', '-', '—']);
        self.spec.title = Some(one_line(title, PLAN_TITLE_CHARS_MAX));
    }

    fn add_requirement(&mut self, line: &DocumentLine<'_>, word: &str, title: &str) {
        let Some(id) = RequirementId::parse(word) else {
            let word = quoted_words(word);
            self.faults.add(line.number, format!("{word} is not an id such as REQ-AUTH-001"));
            self.level = None;
            return;
        };
        if self.spec.requirements.len() == SPEC_REQUIREMENTS_MAX {
            let reason = format!("the document has more than {SPEC_REQUIREMENTS_MAX} requirements");
            self.faults.add(line.number, reason);
            self.level = None;
            return;
        }
        let title = one_line(title, PLAN_TITLE_CHARS_MAX);
        if is_placeholder(&title) {
            self.faults.add(line.number, format!("the title of {id} is not filled in"));
        }
        let (line, statements) = (line.number, Vec::new());
        self.spec.requirements.push(Requirement { id, line, title, pattern: None, statements });
    }

    /// A line below the heading of a requirement: a field or a sentence.
    fn read_requirement_line(&mut self, line: &DocumentLine<'_>) {
        let bare = line.text.trim();
        let item = line.list_item();
        let text = item.unwrap_or(bare);
        if text.is_empty() || text.chars().all(|it| "-=*_".contains(it)) {
            return;
        }
        if let Some((name, value)) = named_value(text).filter(|_| !begins_with_keyword(text)) {
            if name == "ears pattern" || name == "ears" || name == "pattern" || name == "패턴" {
                return self.set_pattern(line, value);
            }
            // Other fields, such as the priority, are not checked.
            let words = name.split(' ').count();
            let is_field = words == 1
                || words <= FIELD_WORDS_MAX && !read_statement(text, line.number).has_obligation;
            if is_field {
                return;
            }
        }
        match (item, line.indent(), self.spec.requirements.last_mut()) {
            // An indented line continues the sentence above.
            (None, 1.., Some(Requirement { statements, .. })) if !statements.is_empty() => {
                if let Some(last) = statements.pop() {
                    let joined = format!("{} {bare}", last.text);
                    let joined = one_line(&joined, PLAN_TEXT_CHARS_MAX);
                    statements.push(read_statement(&joined, last.line));
                }
            }
            _ => self.add_statement(line, text),
        }
    }

    fn set_pattern(&mut self, line: &DocumentLine<'_>, value: &str) {
        let value = value.trim_matches(['*', '`', ' ']);
        let pattern = EarsPattern::parse(value);
        if pattern.is_none() {
            let known = EarsPattern::NAMES.map(|(_, name)| name).join(", ");
            let value = quoted_words(value);
            self.faults.add(line.number, format!("{value} is no EARS pattern: {known}"));
        }
        if let Some(requirement) = self.spec.requirements.last_mut() {
            requirement.pattern = pattern;
        }
    }

    fn add_statement(&mut self, line: &DocumentLine<'_>, text: &str) {
        let text = one_line(text, PLAN_TEXT_CHARS_MAX);
        if let Some(requirement) = self.spec.requirements.last_mut()
            && !text.is_empty()
        {
            requirement.statements.push(read_statement(&text, line.number));
        }
    }

    /// A row of a table of requirements, files and tests: its last cell lists tests.
    fn read_row(&mut self, line: &DocumentLine<'_>) {
        let row = line.text.trim().trim_matches('|');
        let mut cells = row.split('|').map(str::trim);
        let id = cells.next().and_then(|cell| leading_id_word(cell, "REQ"));
        let Some(requirement) = id.and_then(|(word, _)| RequirementId::parse(word)) else { return };
        let Some(mut tests) = cells.next_back() else { return };
        while let Some((test, rest)) = first_code_span(tests) {
            let (line, test) = (line.number, test.to_owned());
            self.spec.traces.push(TestTrace { line, requirement: requirement.clone(), test });
            tests = rest;
        }
    }

    fn finish(mut self) -> SpecDocument {
        if self.spec.requirements.is_empty() {
            self.faults.add(1, "the document has no requirement: write `### REQ-AUTH-001: title`");
        }
        let mut lines: HashMap<&RequirementId, usize> = HashMap::new();
        for requirement in &self.spec.requirements {
            let id = &requirement.id;
            if let Some(first) = lines.get(id) {
                self.faults.add(requirement.line, format!("{id} is also on line {first}"));
            } else {
                lines.insert(id, requirement.line);
            }
            check_statements(requirement, &mut self.faults);
        }
        self.spec.faults = self.faults.into_sorted();
        self.spec
    }
}

/// Longest name of a field, in words; a longer text before a colon begins a sentence.
const FIELD_WORDS_MAX: usize = 3;

fn check_statements(requirement: &Requirement, faults: &mut FaultList) {
    let Requirement { id, line, pattern, statements, .. } = requirement;
    if statements.is_empty() {
        faults.add(*line, format!("{id} does not say what the system shall do"));
    }
    for statement in statements {
        if is_placeholder(&statement.text) {
            faults.add(statement.line, format!("{id} is not filled in"));
        } else if !statement.has_obligation {
            let words = quoted_words(&statement.text);
            let reason =
                format!("{id}: {words} states no obligation: write shall or must (…해야 한다)");
            faults.add(statement.line, reason);
        }
    }
    let Some(pattern) = pattern else { return };
    if !statements.is_empty() && !statements.iter().any(|statement| pattern.fits(statement)) {
        let reason = format!("{id} is not {}: {}", pattern.as_str(), pattern.form());
        faults.add(*line, reason);
    }
}
