//! Finds the JSON object in an agent's answer, in any surrounding text.

use serde_json::{Deserializer, Value};

/// Braces of an answer that are tried as the start of an object.
const OBJECT_STARTS_MAX: usize = 200;

/// The last object with this key, else the first object: examples may precede an answer.
pub(crate) fn object_with(answer: &str, key: &str) -> Option<Value> {
    let mut objects = objects(answer);
    let at = objects.iter().rposition(|object| object.get(key).is_some()).unwrap_or(0);
    (at < objects.len()).then(|| objects.swap_remove(at))
}

/// The outermost objects of an answer.
fn objects(answer: &str) -> Vec<Value> {
    let mut objects = Vec::new();
    let mut from = 0;
    for _ in 0..OBJECT_STARTS_MAX {
        let Some(start) = answer[from..].find('{').map(|at| from + at) else { break };
        let mut values = Deserializer::from_str(&answer[start..]).into_iter();
        match values.next() {
            Some(Ok(value @ Value::Object(_))) => {
                from = start + values.byte_offset();
                objects.push(value);
            }
            _ => from = start + 1,
        }
    }
    objects
}

pub(crate) fn last_object_with(answer: &str, key: &str) -> Option<Value> {
    object_with(answer, key).filter(|object| object.get(key).is_some())
}
