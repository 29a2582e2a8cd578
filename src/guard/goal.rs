//! What the user's words allow. It must not know what is asked about.

use crate::base::text::has_name;

/// Words by which something is to go, in English and Korean.
const REMOVAL: &[&str] = &[
    "delete",
    "deprecate",
    "disable",
    "drop",
    "get rid of",
    "no longer",
    "remove",
    "removal",
    "retire",
    "stop ",
    "strip",
    "turn off",
    "비활성",
    "삭제",
    "없애",
    "제거",
    "지우",
    "지워",
    "폐기",
    "중단",
];

/// Whether the goal says that a thing with this name is to go: with or without what its name stands
/// in.
pub(super) fn removes(goal: &str, name: &str) -> bool {
    let lower = goal.to_lowercase();
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    let is_named = [name, last].iter().any(|it| has_name(goal, it)) || {
        let words = words_of(last);
        words.len() > 1 && lower.contains(&words.join(" "))
    };
    is_named && REMOVAL.iter().any(|word| lower.contains(word))
}

/// The words of a name, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for character in name.chars() {
        let is_new = !character.is_alphanumeric() || character.is_uppercase();
        if is_new && words.last().is_some_and(|it| !it.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphanumeric()) {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|it| !it.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_may_go() {
        assert!(removes("Remove the legacy export (export_csv) and its tests", "export_csv"));
        assert!(removes("drop Cart.applyCoupon", "Cart.applyCoupon"));
        assert!(removes("export csv 기능을 삭제해 줘", "export_csv"));
        assert!(!removes("Remove the legacy export", "import_csv"));
        assert!(!removes("Fix export_csv", "export_csv"));
        assert!(!removes("", "f"));
    }
}
