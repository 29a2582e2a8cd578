//! Derives the text requirements of a rule from its document.
//!
//! Every key of a rule object must hold, so each adds its requirement; a key that implies no text
//! (most of `kind`; `not`, `nthChild`, `range`) adds nothing.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::pattern::PatternLeaves;
use super::{TextNeed, keywords, regex};
use crate::engine::grammar::Grammar;

/// The text content that the rule requires to match.
pub(in crate::engine) fn need_of_rule(rule: &Map<String, Value>, grammar: Grammar) -> TextNeed {
    let utils = rule.get("utils").and_then(Value::as_object);
    let mut reader =
        NeedReader { grammar, utils, open_utils: Vec::new(), known_utils: HashMap::new() };
    let Some(matcher) = rule.get("rule").and_then(Value::as_object) else {
        return TextNeed::Nothing;
    };
    let mut needs = vec![reader.need(matcher)];
    let mut bound = HashSet::new();
    reader.collect_bound(matcher, &mut bound);
    let constraints = rule.get("constraints").and_then(Value::as_object);
    for (variable, constraint) in constraints.into_iter().flatten() {
        // A constraint on an unbound variable has no effect.
        if let Some(constraint) = constraint.as_object().filter(|_| bound.contains(variable)) {
            needs.push(reader.need(constraint));
        }
    }
    TextNeed::all(needs)
}

struct NeedReader<'r> {
    grammar: Grammar,
    utils: Option<&'r Map<String, Value>>,
    /// Utilities being read; one that refers to itself adds nothing.
    open_utils: Vec<&'r str>,
    /// Requirements of utilities read before, because rules use them many times.
    known_utils: HashMap<&'r str, TextNeed>,
}

impl<'r> NeedReader<'r> {
    fn need(&mut self, rule: &'r Map<String, Value>) -> TextNeed {
        let needs: Vec<TextNeed> =
            rule.iter().map(|(key, value)| self.need_of_key(key, value)).collect();
        TextNeed::all(needs)
    }

    fn need_of_key(&mut self, key: &str, value: &'r Value) -> TextNeed {
        match key {
            // Keywords are case-insensitive in some languages.
            "kind" => value
                .as_str()
                .and_then(keywords::keyword_of_kind)
                .map_or(TextNeed::Nothing, |keyword| TextNeed::text(keyword.as_bytes(), true)),
            "pattern" => PatternLeaves::from_pattern(value, self.grammar).need(),
            "regex" => value.as_str().map_or(TextNeed::Nothing, regex::need_of_regex),
            "all" => TextNeed::all(self.each(value)),
            "any" => TextNeed::any(self.each(value)),
            "has" => self.need_of_one(value),
            // These match outside the node.
            "inside" | "precedes" | "follows" => self.need_of_one(value).anywhere(),
            "matches" => self.need_of_util(value),
            _ => TextNeed::Nothing,
        }
    }

    fn need_of_one(&mut self, value: &'r Value) -> TextNeed {
        value.as_object().map_or(TextNeed::Nothing, |rule| self.need(rule))
    }

    fn each(&mut self, value: &'r Value) -> Vec<TextNeed> {
        let rules = value.as_array().map_or(&[][..], Vec::as_slice);
        rules.iter().map(|rule| self.need_of_one(rule)).collect()
    }

    /// A utility defined in the rule. A project's utilities, and calls with arguments, add nothing.
    fn need_of_util(&mut self, value: &'r Value) -> TextNeed {
        let Some(name) = value.as_str().filter(|name| !self.open_utils.contains(name)) else {
            return TextNeed::Nothing;
        };
        if let Some(need) = self.known_utils.get(name) {
            return need.clone();
        }
        let Some(util) = self.utils.and_then(|utils| utils.get(name)) else {
            return TextNeed::Nothing;
        };
        self.open_utils.push(name);
        let need = self.need_of_one(util);
        self.open_utils.pop();
        self.known_utils.insert(name, need.clone());
        need
    }

    /// Meta-variables that the rule always binds to parts of the node.
    fn collect_bound(&self, rule: &Map<String, Value>, bound: &mut HashSet<String>) {
        if let Some(pattern) = rule.get("pattern") {
            bound.extend(PatternLeaves::from_pattern(pattern, self.grammar).bound);
        }
        let all = rule.get("all").and_then(Value::as_array);
        for rule in all.into_iter().flatten().filter_map(Value::as_object) {
            self.collect_bound(rule, bound);
        }
    }
}
