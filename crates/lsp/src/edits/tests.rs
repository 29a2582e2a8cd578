//! Applies edits to texts and files, and compares the result with that of a naive implementation.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use moai_base::text::PositionEncoding;

fn rel(path: &str) -> RelPath {
    RelPath::parse(path).expect("relative")
}

/// A project below `/r` in which every path resolves to itself.
fn tree(edit: &WorkspaceEdit, files: &[(&str, &str)]) -> DiskTree {
    let mut tree = DiskTree::default();
    for path in edit.paths() {
        let resolved = RelPath::below(Path::new("/r"), path);
        tree.resolved_paths.insert(path.to_path_buf(), resolved);
    }
    for (path, text) in files {
        tree.files.insert(rel(path), Arc::from(text.as_bytes()));
    }
    tree
}

/// The planned text of each changed path; `-` for a deleted one.
fn outcome(files: &[(&str, &str)], edit: &Value) -> Result<Vec<(String, String)>, EditRefusal> {
    let edit = WorkspaceEdit::parse(edit)?;
    let plan = plan_edit(&edit, &tree(&edit, files), PositionEncoding::Utf16)?;
    let mut texts = Vec::new();
    for change in &plan.set.changes {
        let text = match &change.after {
            Some(after) => String::from_utf8(after.bytes.to_vec()).expect("texts stay texts"),
            None => "-".to_owned(),
        };
        texts.push((change.path.to_string(), text));
    }
    Ok(texts)
}

fn check(files: &[(&str, &str)], edit: &Value, expected: &[(&str, &str)]) {
    let expected: Vec<_> =
        expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    assert_eq!(outcome(files, edit).as_ref(), Ok(&expected), "{edit:#}");
}

fn refused(files: &[(&str, &str)], edit: &Value, line: &str) {
    let refusal = outcome(files, edit).expect_err("refused");
    assert_eq!(refusal.to_string(), line, "{edit:#}");
    assert!(!refusal.kind().is_empty());
}

fn text_edit(from: (u32, u32), to: (u32, u32), text: &str) -> Value {
    json!({
        "range": {
            "start": {"line": from.0, "character": from.1},
            "end": {"line": to.0, "character": to.1},
        },
        "newText": text,
    })
}

fn of_file(path: &str, version: &Value, edits: &[Value]) -> Value {
    json!({"textDocument": {"uri": format!("file:///r/{path}"), "version": version}, "edits": edits})
}

fn steps(steps: &[Value]) -> Value {
    json!({"documentChanges": steps})
}

fn edit_a(edits: &[Value]) -> Value {
    json!({"changes": {"file:///r/a.py": edits}})
}

#[test]
fn both_forms_are_read_and_document_changes_win() {
    let edit = [text_edit((0, 0), (0, 3), "new")];
    check(&[("a.py", "old = 1\n")], &edit_a(&edit), &[("a.py", "new = 1\n")]);
    let both = json!({
        "changes": {"file:///r/a.py": [text_edit((9, 9), (9, 9), "never")]},
        "documentChanges": [of_file("a.py", &Value::Null, &edit)],
    });
    check(&[("a.py", "old = 1\n")], &both, &[("a.py", "new = 1\n")]);
}

#[test]
fn inserts_at_one_place_keep_their_order_and_doubled_replacements_count_once() {
    let inserts = [
        text_edit((0, 1), (0, 1), "1"),
        text_edit((0, 1), (0, 1), "2"),
        text_edit((0, 1), (0, 1), "2"),
        text_edit((0, 1), (0, 2), "3"),
    ];
    check(&[("a.py", "abc")], &edit_a(&inserts), &[("a.py", "a1223c")]);
    let doubled = [text_edit((0, 4), (0, 5), "y"), text_edit((0, 0), (0, 1), "y")];
    let doubled = [doubled.clone(), doubled].concat();
    check(&[("a.py", "x = x")], &edit_a(&doubled), &[("a.py", "y = y")]);
}

#[test]
fn line_breaks_of_the_file_are_kept() {
    let whole = [text_edit((0, 0), (2, 0), "x\nz\n")];
    check(&[("a.py", "x\r\ny\r\n")], &edit_a(&whole), &[("a.py", "x\r\nz\r\n")]);
    check(&[("a.py", "x\ny")], &edit_a(&whole), &[("a.py", "x\nz\n")]);
    let windows = [text_edit((0, 0), (0, 1), "1\r\n2")];
    check(&[("a.py", "x\ny\n")], &edit_a(&windows), &[("a.py", "1\n2\ny\n")]);
}

#[test]
fn columns_use_the_servers_encoding() {
    let text = "s = '🦀한'; old\r\n";
    let columns = [
        (PositionEncoding::Utf8, 15),
        (PositionEncoding::Utf16, 11),
        (PositionEncoding::Utf32, 10),
    ];
    for (encoding, column) in columns {
        let edit = edit_a(&[text_edit((0, column), (0, column + 3), "new")]);
        let edit = WorkspaceEdit::parse(&edit).expect("an edit");
        let plan = plan_edit(&edit, &tree(&edit, &[("a.py", text)]), encoding).expect("a plan");
        let after = plan.set.changes[0].after.as_ref().expect("a text");
        assert_eq!(&*after.bytes, "s = '🦀한'; new\r\n".as_bytes(), "{encoding:?}");
    }
}

#[test]
fn edits_outside_the_text_are_refused() {
    let files = [("a.py", "🦀 = 1\n")];
    let overlap = [text_edit((0, 2), (0, 4), "x"), text_edit((0, 3), (0, 5), "y")];
    refused(&files, &edit_a(&overlap), "a.py:1:4: two edits overlap");
    let lines = [text_edit((5, 0), (5, 1), "x")];
    refused(&files, &edit_a(&lines), "a.py:6:1: no such position in the text");
    let columns = [text_edit((0, 0), (0, 40), "x")];
    refused(&files, &edit_a(&columns), "a.py:1:41: no such position in the text");
    let far = edit_a(&[text_edit((0, 0), (u32::MAX, u32::MAX), "x")]);
    refused(&files, &far, "a.py:2147483648:2147483648: no such position in the text");
    let half = [text_edit((0, 1), (0, 2), "x")];
    refused(&files, &edit_a(&half), "a.py:1:2: no such position in the text");
    let backwards = edit_a(&[text_edit((0, 2), (0, 0), "x")]);
    assert!(matches!(outcome(&files, &backwards), Err(EditRefusal::OutOfRange { .. })));
    refused(&[], &edit_a(&[text_edit((0, 0), (0, 0), "x")]), "a.py: does not exist");
}

#[test]
fn an_empty_result_is_not_a_rename() {
    let line = "the language server proposes no change here";
    refused(&[], &Value::Null, line);
    refused(&[], &json!({}), line);
    refused(&[], &steps(&[]), line);
    refused(&[("a.py", "x")], &edit_a(&[]), line);
    refused(&[("a.py", "x")], &edit_a(&[text_edit((0, 0), (0, 1), "x")]), line);
    assert!(matches!(outcome(&[], &json!([1])), Err(EditRefusal::Malformed(_))));
    assert!(matches!(outcome(&[], &json!({"changes": 3})), Err(EditRefusal::Malformed(_))));
    let elsewhere = json!({"changes": {"untitled:x": [text_edit((0, 0), (0, 0), "x")]}});
    assert!(matches!(outcome(&[], &elsewhere), Err(EditRefusal::Malformed(_))));
}

#[test]
fn files_are_made_moved_and_deleted_in_order() {
    let moved = steps(&[
        json!({"kind": "rename", "oldUri": "file:///r/a.py", "newUri": "file:///r/sub/b.py"}),
        of_file("sub/b.py", &Value::Null, &[text_edit((0, 0), (0, 1), "y")]),
        json!({"kind": "create", "uri": "file:///r/sub/__init__.py"}),
        json!({"kind": "delete", "uri": "file:///r/c.py"}),
    ]);
    let files = [("a.py", "x\n"), ("c.py", "c\n")];
    let expected = [("a.py", "-"), ("c.py", "-"), ("sub/__init__.py", ""), ("sub/b.py", "y\n")];
    check(&files, &moved, &expected);
    let edit = WorkspaceEdit::parse(&moved).expect("an edit");
    let plan = plan_edit(&edit, &tree(&edit, &files), PositionEncoding::Utf16).expect("a plan");
    let after = plan.set.changes[3].after.as_ref().expect("a file");
    assert_eq!(after.permissions_from, Some(rel("a.py")), "a moved file keeps its permissions");
}

#[test]
fn options_of_file_operations_are_obeyed() {
    let create = |options: Value| {
        steps(&[json!({"kind": "create", "uri": "file:///r/a.py", "options": options})])
    };
    let files = [("a.py", "x\n"), ("b.py", "y\n")];
    check(&files, &create(json!({"overwrite": true, "ignoreIfExists": true})), &[("a.py", "")]);
    refused(&files, &create(Value::Null), "a.py: already exists");
    assert_eq!(outcome(&files, &create(json!({"ignoreIfExists": true}))), Err(EditRefusal::Empty));
    let rename = |options: Value| {
        let (old, new) = ("file:///r/a.py", "file:///r/b.py");
        steps(&[json!({"kind": "rename", "oldUri": old, "newUri": new, "options": options})])
    };
    refused(&files, &rename(Value::Null), "b.py: already exists");
    check(&files, &rename(json!({"overwrite": true})), &[("a.py", "-"), ("b.py", "x\n")]);
    assert_eq!(outcome(&files, &rename(json!({"ignoreIfExists": true}))), Err(EditRefusal::Empty));
    let delete = |path: &str, options: Value| {
        steps(&[json!({"kind": "delete", "uri": format!("file:///r/{path}"), "options": options})])
    };
    refused(&files, &delete("none.py", Value::Null), "none.py: does not exist");
    let may_miss = delete("none.py", json!({"ignoreIfNotExists": true}));
    assert_eq!(outcome(&files, &may_miss), Err(EditRefusal::Empty));
}

#[test]
fn a_folder_moves_with_its_files_and_is_deleted_only_on_demand() {
    let files = [("p/a.py", "a\n"), ("p/q/b.py", "b\n"), ("pq.py", "c\n")];
    let rename = steps(&[
        json!({"kind": "rename", "oldUri": "file:///r/p", "newUri": "file:///r/n"}),
        of_file("n/q/b.py", &Value::Null, &[text_edit((0, 0), (0, 1), "z")]),
    ]);
    let expected = [("n/a.py", "a\n"), ("n/q/b.py", "z\n"), ("p/a.py", "-"), ("p/q/b.py", "-")];
    check(&files, &rename, &expected);
    let edit = WorkspaceEdit::parse(&rename).expect("an edit");
    let planned = plan_edit(&edit, &tree(&edit, &files), PositionEncoding::Utf16).expect("a plan");
    assert_eq!(planned.set.emptied_folders, [rel("p")]);
    let delete = |options: Value| {
        steps(&[json!({"kind": "delete", "uri": "file:///r/p", "options": options})])
    };
    refused(&files, &delete(Value::Null), "p: the folder is not empty");
    check(&files, &delete(json!({"recursive": true})), &[("p/a.py", "-"), ("p/q/b.py", "-")]);
    let inside =
        steps(&[json!({"kind": "rename", "oldUri": "file:///r/p", "newUri": "file:///r/p/n"})]);
    assert!(matches!(outcome(&files, &inside), Err(EditRefusal::Malformed(_))));
}

#[test]
fn a_document_named_twice_is_edited_in_the_version_the_server_saw() {
    let twice = steps(&[
        of_file("a.py", &Value::Null, &[text_edit((0, 0), (0, 1), "long")]),
        of_file("a.py", &Value::Null, &[text_edit((0, 4), (0, 5), "long")]),
    ]);
    check(&[("a.py", "x = x\n")], &twice, &[("a.py", "long = long\n")]);
}

#[test]
fn edits_that_need_consent_or_have_placeholders_are_refused() {
    let annotated = |needs: bool| {
        let mut edit = text_edit((0, 0), (0, 1), "y");
        edit["annotationId"] = json!("one");
        json!({
            "documentChanges": [of_file("a.py", &Value::Null, &[edit])],
            "changeAnnotations": {"one": {"label": "In comments", "needsConfirmation": needs}},
        })
    };
    let files = [("a.py", "x\n")];
    check(&files, &annotated(false), &[("a.py", "y\n")]);
    refused(&files, &annotated(true), "the language server asks for confirmation: In comments");
    let mut unknown = annotated(false);
    unknown["changeAnnotations"] = Value::Null;
    assert!(matches!(outcome(&files, &unknown), Err(EditRefusal::Malformed(_))));
    let operation = json!({
        "documentChanges": [
            {"kind": "delete", "uri": "file:///r/a.py", "annotationId": "one"},
        ],
        "changeAnnotations": {"one": {"label": "Delete", "needsConfirmation": true}},
    });
    assert!(matches!(outcome(&files, &operation), Err(EditRefusal::NeedsConfirmation(_))));
    let mut snippet = text_edit((0, 0), (0, 1), "${1:y}");
    snippet["insertTextFormat"] = json!(2);
    refused(&files, &edit_a(&[snippet]), "/r/a.py: the edit is a snippet with placeholders");
    let standard =
        json!({"range": text_edit((0, 0), (0, 1), "")["range"], "snippet": {"value": "$1"}});
    assert!(matches!(outcome(&files, &edit_a(&[standard])), Err(EditRefusal::Snippet(_))));
}

#[test]
fn an_edit_of_another_version_or_other_bytes_is_refused() {
    let edit = |version: Value| {
        let edits = [text_edit((0, 0), (0, 1), "y")];
        WorkspaceEdit::parse(&steps(&[of_file("a.py", &version, &edits)])).expect("an edit")
    };
    let planned = |version: Value, disk: &str| {
        let edit = edit(version);
        let mut tree = tree(&edit, &[("a.py", disk)]);
        tree.open.insert(rel("a.py"), (4, ContentHash::of_bytes(b"x\n")));
        plan_edit(&edit, &tree, PositionEncoding::Utf16).map(|plan| plan.edits)
    };
    for version in [json!(4), json!(0), Value::Null] {
        assert_eq!(planned(version, "x\n"), Ok(1));
    }
    let line = "a.py: the edit is for document version 3, but the server has version 4";
    assert_eq!(planned(json!(3), "x\n").expect_err("refused").to_string(), line);
    assert_eq!(planned(json!(4), "z\n"), Err(EditRefusal::HashMismatch("a.py".to_owned())));
}

#[test]
fn protected_and_outside_files_are_not_edited() {
    let edit =
        |path: &str| steps(&[of_file(path, &Value::Null, &[text_edit((0, 0), (0, 1), "y")])]);
    let line = "in node_modules/, so a change would be overwritten";
    let path = "web/node_modules/x/a.js";
    refused(&[(path, "x\n")], &edit(path), &format!("{path}: {line}"));
    for path in [".git/config", "vendor/x/a.go", "target/a.rs", "dist/a.js", ".venv/lib/a.py"] {
        let refusal = outcome(&[(path, "x\n")], &edit(path)).expect_err("refused");
        assert_eq!(refusal.kind(), "protected", "{path}");
    }
    check(&[("src/vendor.py", "x\n")], &edit("src/vendor.py"), &[("src/vendor.py", "y\n")]);
    let generated = "// Code generated by protoc-gen-go. DO NOT EDIT.\npackage a\n";
    let line = "a.pb.go: marked as generated, so a change would be overwritten";
    refused(&[("a.pb.go", generated)], &edit("a.pb.go"), line);
    let late = format!("{}// generated: do not edit\n", "x = 1\n".repeat(500));
    assert!(outcome(&[("a.py", &late)], &edit("a.py")).is_ok(), "only the head counts");

    let parsed = WorkspaceEdit::parse(&edit("a.py")).expect("an edit");
    let mut ignored = tree(&parsed, &[("a.py", "x\n")]);
    ignored.ignored.insert(rel("a.py"));
    let refusal = plan_edit(&parsed, &ignored, PositionEncoding::Utf16).expect_err("refused");
    assert_eq!(refusal.to_string(), "a.py: ignored by git, so a change would be overwritten");
    let mut outside = tree(&parsed, &[("a.py", "x\n")]);
    outside.resolved_paths.insert(PathBuf::from("/r/a.py"), None);
    let refusal = plan_edit(&parsed, &outside, PositionEncoding::Utf16).expect_err("refused");
    assert_eq!(refusal, EditRefusal::OutsideRoot("/r/a.py".to_owned()));
    let above = json!({"changes": {"file:///r/../etc/x": [text_edit((0, 0), (0, 0), "x")]}});
    assert!(matches!(outcome(&[], &above), Err(EditRefusal::OutsideRoot(_))));
}

#[test]
fn more_files_than_one_step_may_change_are_refused() {
    use moai_base::limits::CHANGED_FILES_MAX;
    let names: Vec<String> = (0..=CHANGED_FILES_MAX).map(|at| format!("f{at}.py")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x\n")).collect();
    let all = |names: &[String]| {
        let edit = [text_edit((0, 0), (0, 1), "y")];
        let one = |name: &String| of_file(name, &Value::Null, &edit);
        steps(&names.iter().map(one).collect::<Vec<_>>())
    };
    assert_eq!(outcome(&files, &all(&names)), Err(EditRefusal::TooManyFiles));
    assert!(outcome(&files, &all(&names[1..])).is_ok());
}

#[test]
fn an_alias_is_not_a_rename() {
    let alias = |edits: &[Value]| {
        WorkspaceEdit::parse(&edit_a(edits)).expect("an edit").is_alias_only("total")
    };
    let import = text_edit((0, 9), (0, 12), "sum as total");
    assert!(alias(&[import.clone(), text_edit((2, 0), (2, 3), "total")]));
    assert!(alias(&[text_edit((0, 9), (0, 12), "total as sum")]));
    assert!(!alias(&[text_edit((0, 9), (0, 12), "total")]));
    assert!(!alias(&[text_edit((0, 9), (0, 12), "other as thing")]));
    let two = steps(&[
        of_file("a.ts", &Value::Null, &[import]),
        of_file("b.ts", &Value::Null, &[text_edit((0, 0), (0, 3), "total")]),
    ]);
    assert!(!WorkspaceEdit::parse(&two).expect("an edit").is_alias_only("total"));
}

/// Parts of a text that no edit may split: characters, and `\r
/// ` as one.
fn units(text: &str) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    for character in text.chars() {
        match units.last_mut() {
            Some(last) if last == "\r" && character == '\n' => last.push('\n'),
            _ => units.push(character.to_string()),
        }
    }
    units
}

/// Line and column before the unit at `at`, counted by walking.
fn position(units: &[String], at: usize, encoding: PositionEncoding) -> (u32, u32) {
    let (mut line, mut column) = (0, 0);
    for unit in &units[..at] {
        if unit.contains(['\r', '\n']) {
            (line, column) = (line + 1, 0);
        } else {
            column += match encoding {
                PositionEncoding::Utf8 => unit.len(),
                PositionEncoding::Utf16 => unit.encode_utf16().count(),
                PositionEncoding::Utf32 => 1,
            };
        }
    }
    (line, u32::try_from(column).expect("small"))
}

proptest! {
    #[test]
    fn disjoint_edits_equal_splicing(
        text in "[a-c한🦀é \r\n]{0,40}",
        cuts in proptest::collection::vec((0usize..=40, "[x🦀]{0,3}"), 0..12),
        encoding in prop_oneof![Just(PositionEncoding::Utf8), Just(PositionEncoding::Utf16), Just(PositionEncoding::Utf32)],
        seed in any::<u64>(),
    ) {
        let units = units(&text);
        let mut places: Vec<(usize, String)> =
            cuts.into_iter().map(|(at, new)| (at.min(units.len()), new)).collect();
        places.sort_by_key(|(at, _)| *at);
        // Every two neighbours are one range: ranges may touch and be empty, never overlap.
        let ranges: Vec<(usize, usize, String)> = places
            .chunks_exact(2)
            .map(|pair| (pair[0].0, pair[1].0, pair[0].1.clone()))
            .collect();
        let mut expected = units.clone();
        for (start, end, new) in ranges.iter().rev() {
            expected.splice(*start..*end, [new.clone()]);
        }
        let mut edits: Vec<(usize, Value)> = ranges
            .iter()
            .map(|(start, end, new)| {
                let (from, to) =
                    (position(&units, *start, encoding), position(&units, *end, encoding));
                (*start, text_edit(from, to, new))
            })
            .collect();
        // Shuffled, except that edits at one place keep their order.
        edits.sort_by_key(|(start, _)| (*start as u64 ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let edits: Vec<Value> = edits.into_iter().map(|(_, edit)| edit).collect();
        let expected = expected.concat();
        let edit = edit_a(&edits);
        let planned = WorkspaceEdit::parse(&edit)
            .and_then(|edit| plan_edit(&edit, &tree(&edit, &[("a.py", &text)]), encoding));
        match planned {
            Ok(plan) => {
                let after = plan.set.changes[0].after.as_ref().expect("a text");
                prop_assert_eq!(&*after.bytes, expected.as_bytes());
            }
            Err(refusal) => {
                prop_assert_eq!(refusal, EditRefusal::Empty);
                prop_assert_eq!(&expected, &text);
            }
        }
    }

    #[test]
    fn any_server_edit_is_planned_or_refused(
        lines in proptest::collection::vec((0u32..4, 0u32..6, 0u32..4, 0u32..6), 0..6),
        text in "[a🦀\r\n]{0,12}",
    ) {
        let edits: Vec<Value> =
            lines.iter().map(|(a, b, c, d)| text_edit((*a, *b), (*c, *d), "n")).collect();
        // Neither panics nor changes another file.
        if let Ok(changed) = outcome(&[("a.py", &text), ("b.py", "b")], &edit_a(&edits)) {
            prop_assert!(changed.iter().all(|(path, _)| path == "a.py"));
        }
    }
}
