//! The files in the arguments of a tool. MCP servers choose the keys of their arguments; a table
//! lists the common ones.

use moai_base::limits::{FILE_ARGUMENT_DEPTH_MAX, FILE_ARGUMENTS_MAX};
use moai_base::path::percent_decoded;
use serde_json::Value;

/// Keys of arguments with files or folders, in lower case without `_` and `-`.
const NAMES: &[&str] = &[
    "absolutepath",
    "dest",
    "destination",
    "destinationpath",
    "destpath",
    "dir",
    "directory",
    "dst",
    "file",
    "filename",
    "filepath",
    "files",
    "folder",
    "from",
    "fromfile",
    "frompath",
    "input",
    "inputpath",
    "location",
    "newfile",
    "newname",
    "newpath",
    "notebookpath",
    "oldfile",
    "oldname",
    "oldpath",
    "out",
    "outfile",
    "output",
    "outputfile",
    "outputpath",
    "path",
    "pathname",
    "paths",
    "relativepath",
    "resource",
    "source",
    "sourcefile",
    "sourcepath",
    "sources",
    "src",
    "target",
    "targetfile",
    "targetpath",
    "to",
    "tofile",
    "topath",
    "uri",
    "uris",
    "url",
];
/// Prefix of the URI of a file.
const FILE_SCHEME: &str = "file://";

/// The files and folders in these arguments, including nested lists and objects, as the agent wrote
/// them.
pub(super) fn named_files(arguments: &Value) -> Vec<String> {
    let mut files = Vec::new();
    add_named_files(arguments, false, FILE_ARGUMENT_DEPTH_MAX, &mut files);
    files
}

fn add_named_files(value: &Value, is_file: bool, depth_left: usize, files: &mut Vec<String>) {
    if depth_left == 0 || files.len() >= FILE_ARGUMENTS_MAX {
        return;
    }
    match value {
        Value::String(text) if is_file => files.extend(path_of(text)),
        Value::Array(items) => {
            for item in items {
                add_named_files(item, is_file, depth_left - 1, files);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                add_named_files(value, is_file_name(name), depth_left - 1, files);
            }
        }
        _ => {}
    }
}

fn is_file_name(argument: &str) -> bool {
    let plain: String = argument.chars().filter(|it| !matches!(it, '_' | '-')).collect();
    NAMES.contains(&plain.to_ascii_lowercase().as_str())
}

/// The path of a text or a `file:` URI; `None` for other URIs.
fn path_of(text: &str) -> Option<String> {
    let Some(encoded) = text.strip_prefix(FILE_SCHEME) else {
        return Some(text.to_owned()).filter(|text| !text.is_empty() && !text.contains("://"));
    };
    Some(percent_decoded(encoded.strip_prefix("localhost").unwrap_or(encoded)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_are_found_under_every_name_and_texts_are_not_taken_for_them() {
        for (arguments, expected) in [
            (json!({"path": "a", "content": "b"}), vec!["a"]),
            (json!({"source": "a", "destination": "b/c"}), vec!["a", "b/c"]),
            (json!({"filePath": "a", "old_string": "x", "New-Path": "b"}), vec!["a", "b"]),
            (json!({"files": [{"path": "a", "text": "x"}, "b"]}), vec!["a", "b"]),
            (json!({"edits": [{"target_file": "a", "edits": [{"to": 5}]}]}), vec!["a"]),
            (json!({"uri": "file:///p/%2Egit/%E2%9C%93%zz"}), vec!["/p/.git/✓%zz"]),
            (json!({"text": "path", "command": "rm x", "path": "", "url": "https://a/b"}), vec![]),
            (json!("path"), vec![]),
        ] {
            assert_eq!(named_files(&arguments), expected, "{arguments}");
        }
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let mut deep = json!({"path": "a"});
        for _ in 0..FILE_ARGUMENT_DEPTH_MAX {
            deep = json!([deep]);
        }
        assert_eq!(named_files(&deep), [""; 0]);
        let many = json!({"paths": vec!["a"; FILE_ARGUMENTS_MAX + 1]});
        assert_eq!(named_files(&many).len(), FILE_ARGUMENTS_MAX);
    }
}
