//! Edits of JSON files that other programs wrote: everything outside the edit keeps its bytes.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

/// The text with another value: members and elements that are equal keep their bytes and their
/// order. `None` if the text is not a JSON object.
#[must_use]
pub fn edited_json(text: &str, value: &Value) -> Option<String> {
    let root = CstRootNode::parse(text, &ParseOptions::default()).ok()?;
    let object = root.object_value()?;
    set_members(&object, value);
    let edited = root.to_string();
    // A duplicate name cannot be edited in place.
    let is_exact = serde_json::from_str::<Value>(&edited).is_ok_and(|now| now == *value);
    is_exact.then_some(edited)
}

fn set_members(object: &CstObject, value: &Value) {
    let Some(members) = value.as_object() else { return };
    for property in object.properties() {
        if property.decoded_name().is_none_or(|name| !members.contains_key(&name)) {
            property.remove();
        }
    }
    for (name, wanted) in members {
        match object.get(name) {
            None => drop(object.append(name, input_value(wanted))),
            Some(property) => {
                let is_set = property.value().is_some_and(|node| set_node(&node, wanted));
                if !is_set {
                    property.set_value(input_value(wanted));
                }
            }
        }
    }
}

/// Changes a node's value, if part of its bytes can be kept.
fn set_node(node: &CstNode, wanted: &Value) -> bool {
    if value_of(node).as_ref() == Some(wanted) {
        return true;
    }
    match (node.as_object(), node.as_array(), wanted) {
        (Some(object), _, Value::Object(_)) => set_members(&object, wanted),
        (_, Some(array), Value::Array(elements)) => set_elements(&array, elements),
        _ => return false,
    }
    true
}

fn value_of(node: &CstNode) -> Option<Value> {
    serde_json::from_str(&node.to_string()).ok()
}

fn set_elements(array: &CstArray, wanted: &[Value]) {
    let present: Vec<Value> = array.elements().iter().filter_map(value_of).collect();
    // The position in the list as it is edited.
    let mut at = 0;
    for step in alignment(&present, wanted) {
        let elements = array.elements();
        match step {
            ElementStep::Keep => at += 1,
            ElementStep::Remove => {
                if let Some(element) = elements.into_iter().nth(at) {
                    element.remove();
                }
            }
            ElementStep::Insert(value) => {
                array.insert(at, input_value(value));
                at += 1;
            }
            ElementStep::Change(value) => {
                let is_set = elements.get(at).is_some_and(|element| set_node(element, value));
                if !is_set {
                    array.insert(at, input_value(value));
                    if let Some(old) = array.elements().into_iter().nth(at + 1) {
                        old.remove();
                    }
                }
                at += 1;
            }
        }
    }
}

/// An edit of the next element of a list.
enum ElementStep<'w> {
    Keep,
    Remove,
    Insert(&'w Value),
    Change(&'w Value),
}

/// The steps from one list to another: the longest common elements are kept, and those between two of
/// them are changed in pairs.
fn alignment<'w>(present: &[Value], wanted: &'w [Value]) -> Vec<ElementStep<'w>> {
    let width = wanted.len() + 1;
    let mut common = vec![0_usize; (present.len() + 1) * width];
    for old in (0..present.len()).rev() {
        for new in (0..wanted.len()).rev() {
            common[old * width + new] = if present[old] == wanted[new] {
                common[(old + 1) * width + new + 1] + 1
            } else {
                common[(old + 1) * width + new].max(common[old * width + new + 1])
            };
        }
    }
    let (mut steps, mut old, mut new) = (Vec::new(), 0, 0);
    while old < present.len() || new < wanted.len() {
        let is_same = old < present.len() && new < wanted.len();
        if is_same && present[old] == wanted[new] {
            steps.push(ElementStep::Keep);
            (old, new) = (old + 1, new + 1);
        } else if is_same && common[old * width + new] == common[(old + 1) * width + new + 1] {
            steps.push(ElementStep::Change(&wanted[new]));
            (old, new) = (old + 1, new + 1);
        } else if new == wanted.len()
            || old < present.len()
                && common[(old + 1) * width + new] >= common[old * width + new + 1]
        {
            steps.push(ElementStep::Remove);
            old += 1;
        } else {
            steps.push(ElementStep::Insert(&wanted[new]));
            new += 1;
        }
    }
    steps
}

fn input_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is) => CstInputValue::Bool(*is),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(elements) => CstInputValue::Array(elements.iter().map(input_value).collect()),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), input_value(value)));
            CstInputValue::Object(members.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str =
        "{ \"a\" : [1,2 , 3],\n   \"keep\": {\"x\":1,  \"y\": [ ]}, \"u\": \"\\u00e9\" }\n";

    #[test]
    fn the_same_value_is_the_same_text() {
        let value: Value = serde_json::from_str(TEXT).expect("JSON");
        assert_eq!(edited_json(TEXT, &value).as_deref(), Some(TEXT));
    }

    #[test]
    fn only_what_changes_is_written_anew() {
        let value = json!({"a": [1, 3], "keep": {"x": 1, "y": []}, "u": "é"});
        let edited = edited_json(TEXT, &value).expect("an object");
        assert!(
            edited.contains("\"keep\": {\"x\":1,  \"y\": [ ]}, \"u\": \"\\u00e9\""),
            "{edited}"
        );
        let with_more = json!({"a": [1, 2, 3], "keep": {"x": 1, "y": []}, "u": "é", "n": [{}]});
        let edited = edited_json(TEXT, &with_more).expect("an object");
        assert!(edited.contains("\"a\" : [1,2 , 3]"), "{edited}");
    }

    #[test]
    fn elements_are_changed_in_their_place() {
        let group = |names: &[&str]| json!({"hooks": names});
        let before = json!({"h": [group(&["a", "ours"]), group(&["ours"]), group(&["b"])]});
        let text =
            "{\"h\": [{\"hooks\":[\"a\",\"ours\"]}, {\"hooks\":[\"ours\"]}, {\"hooks\":[\"b\"]}]}";
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), before);
        let after = json!({"h": [group(&["a"]), group(&["b"])]});
        let edited = edited_json(text, &after).expect("an object");
        assert!(
            edited.contains("{\"hooks\":[\"a\"]}") && edited.contains("{\"hooks\":[\"b\"]}"),
            "{edited}"
        );
        let scalars = json!({"h": [0, {"hooks": ["b"]}, true]});
        assert!(edited_json(text, &scalars).is_some());
    }

    #[test]
    fn what_is_no_object_is_not_edited() {
        for text in ["", "[]", "{", "{\"a\": 1, \"a\": 2}"] {
            assert_eq!(edited_json(text, &json!({"a": 3, "b": 1})), None, "{text}");
        }
    }
}
