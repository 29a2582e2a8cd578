//! The schemas that a document names for itself. Servers read them with the document, register for no change of them,
//! and keep them. Sources: <https://json-schema.org/understanding-json-schema/reference/schema>,
//! <https://github.com/redhat-developer/yaml-language-server> ("inlined schema") and
//! <https://tombi-toml.github.io/tombi/docs/comment-directive/document-comment-directive>.

use std::path::{Path, PathBuf};

use moai_base::path::{from_uri, normalize};

/// The key of a schema in JSON and YAML.
const KEY: &str = "$schema";

/// The schema files that a document in `folder` names, without those on the net. A string that only looks like the
/// name of a schema may be among them.
pub(super) fn schema_files(language_id: &str, folder: &Path, text: &str) -> Vec<PathBuf> {
    let named = match language_id {
        "json" | "jsonc" => json_schemas(text),
        "yaml" => text.lines().filter_map(yaml_schema).map(str::to_owned).collect(),
        "toml" => text.lines().filter_map(toml_schema).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    named.iter().filter_map(|name| schema_file(folder, name)).collect()
}

fn schema_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let place = name.split('#').next().unwrap_or_default().trim();
    if place.is_empty() {
        return None;
    }
    match from_uri(place) {
        Some(file) => Some(file),
        None if place.contains("://") => None,
        None => Some(normalize(&folder.join(place))),
    }
}

/// The strings that are values of a key `$schema`, at any depth.
fn json_schemas(text: &str) -> Vec<String> {
    let after_keys = text.split("\"$schema\"").skip(1);
    let values = after_keys.filter_map(|rest| {
        let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        value.split('"').next()
    });
    values.map(|value| value.replace("\\/", "/")).collect()
}

/// The schema of a line `# yaml-language-server: $schema=NAME` or `$schema: NAME`.
fn yaml_schema(line: &str) -> Option<&str> {
    let line = line.trim_start_matches('\u{feff}');
    if let Some(value) = line.strip_prefix(KEY) {
        let value = value.trim_start().strip_prefix(':')?.split(" #").next()?;
        return Some(value.trim().trim_matches(['"', '\'']));
    }
    let comment = line.trim_start().strip_prefix('#')?.trim_start();
    let (_, value) = comment.strip_prefix("yaml-language-server")?.split_once(KEY)?;
    value.strip_prefix('=')?.split_whitespace().next()
}

/// The schema of a line `#:schema NAME`.
fn toml_schema(line: &str) -> Option<&str> {
    line.trim_start_matches('\u{feff}').trim_start().strip_prefix("#:schema ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_names_its_schema_as_its_language_does() {
        let files = |language: &str, text: &str| -> Vec<String> {
            let files = schema_files(language, Path::new("/r/data"), text);
            files.iter().map(|file| file.display().to_string()).collect()
        };
        let none: [&str; 0] = [];
        let json = "{ \"required\": [\"$schema\"], \"$schema\" : \"..\\/s.json#/x\", \"n\": 1 }";
        assert_eq!(files("json", json), ["/r/s.json"]);
        let uri = "{\"$schema\":\"file:///lib/a%20b.json\"}";
        assert_eq!(files("jsonc", uri), ["/lib/a b.json"]);
        let on_the_net = "{\"$schema\":\"https://json.schemastore.org/x.json\"}";
        assert_eq!(files("json", on_the_net), none);
        assert_eq!(files("json", "{\"$schema\": 1}"), none);
        let inline = "---\n# why\n# yaml-language-server: $schema=./s.json\nn: 1\n---\n\
                      #   yaml-language-server : $schema=t.json\n";
        assert_eq!(files("yaml", inline), ["/r/data/s.json", "/r/data/t.json"]);
        let key = "\u{feff}$schema: \"/lib/s.json\" # why\n";
        assert_eq!(files("yaml", key), ["/lib/s.json"]);
        assert_eq!(files("yaml", "n: 1\n# see $schema: /lib/s.json\n"), none);
        assert_eq!(files("toml", "\u{feff}#:schema s.json\nn = 1\n"), ["/r/data/s.json"]);
        assert_eq!(files("python", "#:schema s.json\n"), none);
    }
}
