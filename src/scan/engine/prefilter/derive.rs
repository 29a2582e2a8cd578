//! What a rule needs, from the rule as it was written.
//!
//! Every key of a rule object must hold, so that each adds to the need; a key that says nothing
//! about the text (most of `kind`; `not`, `nthChild`, `range`) adds nothing.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::pattern::Leaves;
use super::{Need, keywords, regex};
use crate::scan::engine::grammar::Grammar;

/// What a rule needs.
pub(in crate::scan::engine) fn need_of(rule: &Map<String, Value>, grammar: Grammar) -> Need {
    let utils = rule.get("utils").and_then(Value::as_object);
    let mut reading = Reading { grammar, utils, open: Vec::new(), known: HashMap::new() };
    let Some(matcher) = rule.get("rule").and_then(Value::as_object) else { return Need::Nothing };
    let mut needs = vec![reading.need(matcher)];
    let mut bound = HashSet::new();
    reading.bound(matcher, &mut bound);
    let constraints = rule.get("constraints").and_then(Value::as_object);
    for (variable, constraint) in constraints.into_iter().flatten() {
        // A variable that is not bound is not constrained.
        if let Some(constraint) = constraint.as_object().filter(|_| bound.contains(variable)) {
            needs.push(reading.need(constraint));
        }
    }
    Need::all(needs)
}

struct Reading<'r> {
    grammar: Grammar,
    utils: Option<&'r Map<String, Value>>,
    /// The utilities that are being read: one that leads to itself adds nothing.
    open: Vec<&'r str>,
    /// What the utilities need that have been read: rules use them many times over.
    known: HashMap<&'r str, Need>,
}

impl<'r> Reading<'r> {
    fn need(&mut self, rule: &'r Map<String, Value>) -> Need {
        let needs: Vec<Need> =
            rule.iter().map(|(key, value)| self.need_of_key(key, value)).collect();
        Need::all(needs)
    }

    fn need_of_key(&mut self, key: &str, value: &'r Value) -> Need {
        match key {
            // Some languages do not care for the case of keywords.
            "kind" => value
                .as_str()
                .and_then(keywords::of)
                .map_or(Need::Nothing, |keyword| Need::text(keyword.as_bytes(), true)),
            "pattern" => Leaves::of(value, self.grammar).need(),
            "regex" => value.as_str().map_or(Need::Nothing, regex::need_of),
            "all" => Need::all(self.each(value)),
            "any" => Need::any(self.each(value)),
            "has" => self.need_of_one(value),
            // These are outside of the node.
            "inside" | "precedes" | "follows" => self.need_of_one(value).elsewhere(),
            "matches" => self.need_of_util(value),
            _ => Need::Nothing,
        }
    }

    fn need_of_one(&mut self, value: &'r Value) -> Need {
        value.as_object().map_or(Need::Nothing, |rule| self.need(rule))
    }

    fn each(&mut self, value: &'r Value) -> Vec<Need> {
        let rules = value.as_array().map_or(&[][..], Vec::as_slice);
        rules.iter().map(|rule| self.need_of_one(rule)).collect()
    }

    /// A utility of the rule itself. Those of a project, and calls with arguments, add nothing.
    fn need_of_util(&mut self, value: &'r Value) -> Need {
        let Some(name) = value.as_str().filter(|name| !self.open.contains(name)) else {
            return Need::Nothing;
        };
        if let Some(need) = self.known.get(name) {
            return need.clone();
        }
        let Some(util) = self.utils.and_then(|utils| utils.get(name)) else { return Need::Nothing };
        self.open.push(name);
        let need = self.need_of_one(util);
        self.open.pop();
        self.known.insert(name, need.clone());
        need
    }

    /// The meta-variables that the rule binds to parts of the node wherever it matches.
    fn bound(&self, rule: &Map<String, Value>, bound: &mut HashSet<String>) {
        if let Some(pattern) = rule.get("pattern") {
            bound.extend(Leaves::of(pattern, self.grammar).bound);
        }
        let all = rule.get("all").and_then(Value::as_array);
        for rule in all.into_iter().flatten().filter_map(Value::as_object) {
            self.bound(rule, bound);
        }
    }
}
