//! Manifests of Kubernetes of the kind Secret: every value below `data` and `stringData` is one, whatever
//! its name.

use std::borrow::Cow;

use super::is_placeholder;

/// The line that identifies a manifest of a Secret.
const KIND: &str = "kind: Secret";
const REPLACEMENT: &str = "[redacted: value of a Secret]";

/// The text with the values of its manifests replaced.
pub(super) fn without_secret_values(text: &str) -> Cow<'_, str> {
    if !text.contains(KIND) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut clean = String::with_capacity(text.len());
    for document in lines.split_inclusive(|line| line.trim_end() == "---") {
        if document.iter().any(|line| line.trim().trim_start_matches("- ") == KIND) {
            push_clean(document, &mut clean);
        } else {
            clean.extend(document.iter().copied());
        }
    }
    if clean == text { Cow::Borrowed(text) } else { Cow::Owned(clean) }
}

fn push_clean(document: &[&str], clean: &mut String) {
    // Indentations of the mapping whose values are secrets, and of a value on the next lines.
    let (mut mapping, mut block): (Option<usize>, Option<usize>) = (None, None);
    for line in document {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        if text.is_empty() || text.starts_with('#') {
            clean.push_str(line);
            continue;
        }
        if block.is_some_and(|of_key| indent > of_key) {
            push_replaced(line, indent, clean);
            continue;
        }
        block = None;
        mapping = mapping.filter(|of_mapping| indent > *of_mapping);
        let value_at = line.find(':').map(|colon| colon + 1).filter(|_| mapping.is_some());
        let Some(value_at) = value_at else {
            if matches!(text, "data:" | "stringData:") {
                mapping = Some(indent);
            }
            clean.push_str(line);
            continue;
        };
        let value = line[value_at..].trim();
        if value.is_empty() || value.starts_with(['|', '>']) {
            block = Some(indent);
            clean.push_str(line);
        } else {
            let spaces = line[value_at..].len() - line[value_at..].trim_start().len();
            push_replaced(line, value_at + spaces, clean);
        }
    }
}

/// A line whose value begins at a byte, with the value replaced unless it is a placeholder.
fn push_replaced(line: &str, value_at: usize, clean: &mut String) {
    if is_placeholder(line[value_at..].trim()) {
        clean.push_str(line);
        return;
    }
    clean.push_str(&line[..value_at]);
    clean.push_str(REPLACEMENT);
    clean.push_str(&line[line.trim_end().len()..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_are_replaced_and_everything_else_stays() {
        let manifest = "apiVersion: v1\ndata:\n  user: YW5u\n  # a comment\n  pem: |\n    LINE1\n    LINE2\n\
            kind: Secret\nmetadata:\n  name: x\n---\nkind: ConfigMap\ndata:\n  k: stays\n";
        let clean = without_secret_values(manifest);
        assert_eq!(
            clean,
            "apiVersion: v1\ndata:\n  user: [redacted: value of a Secret]\n  # a comment\n  pem: |\n    \
             [redacted: value of a Secret]\n    [redacted: value of a Secret]\nkind: Secret\nmetadata:\n  \
             name: x\n---\nkind: ConfigMap\ndata:\n  k: stays\n"
        );
        assert!(matches!(without_secret_values(&clean), Cow::Borrowed(_)));
        for other in ["kind: SecretStore\ndata:\n  k: v\n", "it has kind: Secret\ndata:\n k: v"] {
            assert!(matches!(without_secret_values(other), Cow::Borrowed(_)), "{other}");
        }
    }
}
