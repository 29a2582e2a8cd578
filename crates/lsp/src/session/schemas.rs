//! The schema that a document names for itself. Servers read it with the document, register for no change of it, and
//! keep it. Sources: <https://json-schema.org/understanding-json-schema/reference/schema>,
//! <https://github.com/redhat-developer/yaml-language-server> ("inlined schema") and
//! <https://tombi-toml.github.io/tombi/docs/comment-directive/document-comment-directive>.

use std::path::{Path, PathBuf};

use moai_base::path::{from_uri, normalize};

/// The schema file of a document in `folder`; `None` without one, and for a schema on the net.
pub(super) fn schema_file(language_id: &str, folder: &Path, text: &str) -> Option<PathBuf> {
    let named = match language_id {
        "json" | "jsonc" => json_schema(text),
        "yaml" => comments(text).find_map(yaml_schema),
        "toml" => comments(text).find_map(|comment| comment.strip_prefix(":schema ")),
        _ => None,
    }?;
    let place = named.split('#').next().unwrap_or_default().trim();
    if place.is_empty() {
        return None;
    }
    match from_uri(place) {
        Some(file) => Some(file),
        None if place.contains("://") => None,
        None => Some(normalize(&folder.join(place))),
    }
}

/// The value of the first member `$schema`.
fn json_schema(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("\"$schema\"")?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    value.split('"').next()
}

/// The comments at the beginning of a text, without their first character.
fn comments(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map_while(|line| line.strip_prefix('#'))
}

fn yaml_schema(comment: &str) -> Option<&str> {
    let (_, value) = comment.split_once("$schema=").or_else(|| comment.split_once("$schema:"))?;
    value.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_names_its_schema_as_its_language_does() {
        let file = |language: &str, text: &str| {
            schema_file(language, Path::new("/r/data"), text)
                .map(|file| file.display().to_string())
                .unwrap_or_default()
        };
        assert_eq!(file("json", "{ \"$schema\" : \"../s.json#/x\", \"n\": 1 }"), "/r/s.json");
        assert_eq!(file("jsonc", "{\"$schema\":\"file:///lib/a%20b.json\"}"), "/lib/a b.json");
        assert_eq!(file("json", "{\"$schema\":\"https://json.schemastore.org/x.json\"}"), "");
        assert_eq!(file("json", "{\"$schema\": 1}"), "");
        let inline = "\n# why\n# yaml-language-server: $schema=./s.json\nn: 1\n";
        assert_eq!(file("yaml", inline), "/r/data/s.json");
        assert_eq!(file("yaml", "# $schema: /lib/s.json\nn: 1\n"), "/lib/s.json");
        assert_eq!(file("yaml", "n: 1\n# $schema: /lib/s.json\n"), "");
        assert_eq!(file("toml", "#:schema s.json\nn = 1\n"), "/r/data/s.json");
        assert_eq!(file("python", "#:schema s.json\n"), "");
    }
}
