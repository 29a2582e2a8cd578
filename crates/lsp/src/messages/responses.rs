//! Responses of language servers to requests about a position: locations, hover texts, symbols,
//! renamable ranges. Field names: LSP 3.17.

use std::path::PathBuf;

use serde_json::Value;

use super::range;
use moai_base::limits::SYMBOL_DEPTH_MAX;
use moai_base::path::from_uri;
use moai_base::text::TextRange;

/// A range in a file, in the server's position encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LspLocation {
    /// Absolute path.
    pub file: PathBuf,
    pub range: TextRange,
}

/// A symbol in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LspSymbol {
    pub name: String,
    /// `function`, `class` and so on.
    pub kind: &'static str,
    /// Name of the enclosing symbol.
    pub container: Option<String>,
    /// Its location; the file is empty in responses about one document.
    pub file: Option<PathBuf>,
    pub range: TextRange,
}

/// The response to `textDocument/prepareRename`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrepareRenameResult {
    /// The name at the position, or its range.
    Name(String),
    Range(TextRange),
    /// The identifier that the client finds there.
    Default,
}

/// `Location`, a list of them, or a list of `LocationLink` (then the range of the name). `None` for
/// any other response; null is an empty list.
#[must_use]
pub fn parse_locations(result: &Value) -> Option<Vec<LspLocation>> {
    match result {
        Value::Null => Some(Vec::new()),
        Value::Array(items) => items.iter().map(parse_location).collect(),
        item => Some(vec![parse_location(item)?]),
    }
}

fn parse_location(item: &Value) -> Option<LspLocation> {
    let (uri, place) = match item["targetUri"].as_str() {
        Some(uri) => (uri, &item["targetSelectionRange"]),
        None => (item["uri"].as_str()?, &item["range"]),
    };
    Some(LspLocation { file: from_uri(uri)?, range: range(place)? })
}

/// The text of a `Hover`: markup, or the older marked strings. `None` if there is none.
#[must_use]
pub fn parse_hover(result: &Value) -> Option<String> {
    let text = match &result["contents"] {
        Value::Array(items) => {
            items.iter().filter_map(marked_text).collect::<Vec<_>>().join("\n\n")
        }
        item => marked_text(item)?.to_owned(),
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The text of `MarkupContent` or of a `MarkedString`.
fn marked_text(item: &Value) -> Option<&str> {
    item.as_str().or_else(|| item["value"].as_str())
}

/// `DocumentSymbol` (nested), `SymbolInformation` or `WorkspaceSymbol`, flattened in the order of
/// the response. `None` if the response is not a list; null is an empty list. An unreadable symbol
/// costs only itself.
#[must_use]
pub fn parse_symbols(result: &Value) -> Option<Vec<LspSymbol>> {
    let mut symbols = Vec::new();
    match result {
        Value::Null => {}
        Value::Array(items) => {
            for item in items {
                push_symbol(&mut symbols, item, None, SYMBOL_DEPTH_MAX);
            }
        }
        _ => return None,
    }
    Some(symbols)
}

fn push_symbol(symbols: &mut Vec<LspSymbol>, item: &Value, container: Option<&str>, depth: usize) {
    let Some(name) = item["name"].as_str() else { return };
    let location = &item["location"];
    let place = if location.is_object() { &location["range"] } else { &item["selectionRange"] };
    // A WorkspaceSymbol may contain only the file.
    let place = range(place).unwrap_or_default();
    let holder = item["containerName"].as_str().filter(|it| !it.is_empty()).or(container);
    symbols.push(LspSymbol {
        name: name.to_owned(),
        kind: kind(item["kind"].as_u64().unwrap_or(0)),
        container: holder.map(str::to_owned),
        file: location["uri"].as_str().and_then(from_uri),
        range: place,
    });
    let children = item["children"].as_array().filter(|_| depth > 0);
    for child in children.into_iter().flatten() {
        push_symbol(symbols, child, Some(name), depth - 1);
    }
}

/// LSP's `SymbolKind`.
fn kind(number: u64) -> &'static str {
    const KINDS: [&str; 26] = [
        "file",
        "module",
        "namespace",
        "package",
        "class",
        "method",
        "property",
        "field",
        "constructor",
        "enum",
        "interface",
        "function",
        "variable",
        "constant",
        "string",
        "number",
        "boolean",
        "array",
        "object",
        "key",
        "null",
        "enum member",
        "struct",
        "event",
        "operator",
        "type parameter",
    ];
    let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    at.and_then(|at| KINDS.get(at)).unwrap_or(&"symbol")
}

/// The response to `textDocument/prepareRename`; `None` if nothing there can be renamed.
#[must_use]
pub fn parse_prepare_rename(result: &Value) -> Option<PrepareRenameResult> {
    match result {
        Value::Object(it) if it.contains_key("defaultBehavior") => {
            it["defaultBehavior"].as_bool().unwrap_or(false).then_some(PrepareRenameResult::Default)
        }
        Value::Object(it) if it.contains_key("placeholder") => {
            Some(PrepareRenameResult::Name(it["placeholder"].as_str()?.to_owned()))
        }
        Value::Object(it) if it.contains_key("range") => {
            Some(PrepareRenameResult::Range(range(&it["range"])?))
        }
        result => Some(PrepareRenameResult::Range(range(result)?)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn place(line: u32) -> Value {
        json!({"start": {"line": line, "character": 1}, "end": {"line": line, "character": 2}})
    }

    #[test]
    fn plain_locations_and_links_are_read() {
        let uri = "file:///r/a.py";
        let plain = json!({"uri": uri, "range": place(3)});
        let link =
            json!({"targetUri": uri, "targetRange": place(0), "targetSelectionRange": place(3)});
        for answer in [plain.clone(), json!([plain]), json!([link])] {
            let found = parse_locations(&answer).expect("locations");
            assert_eq!((found.len(), found[0].file.as_path()), (1, Path::new("/r/a.py")));
            assert_eq!(found[0].range.start.line, 3);
        }
        assert_eq!(parse_locations(&Value::Null), Some(Vec::new()));
        assert_eq!(parse_locations(&json!([{"uri": uri}])), None, "half a list is not a list");
    }

    #[test]
    fn hover_texts_of_every_age_are_read() {
        let check = |contents: Value, text: Option<&str>| {
            assert_eq!(parse_hover(&json!({"contents": contents})).as_deref(), text);
        };
        check(json!({"kind": "markdown", "value": " x \n"}), Some("x"));
        check(json!("x"), Some("x"));
        check(json!([{"language": "go", "value": "f()"}, "doc"]), Some("f()\n\ndoc"));
        check(json!([]), None);
        assert_eq!(parse_hover(&Value::Null), None);
    }

    #[test]
    fn symbols_are_flattened_with_their_containers() {
        let nested = json!([{"name": "A", "kind": 5, "range": place(0), "selectionRange": place(1),
            "children": [{"name": "m", "kind": 6, "range": place(2), "selectionRange": place(3)}]}]);
        let found = parse_symbols(&nested).expect("symbols");
        let line = |it: &LspSymbol| format!("{} {} {:?}", it.kind, it.name, it.container);
        let lines: Vec<String> = found.iter().map(line).collect();
        assert_eq!(lines, ["class A None", "method m Some(\"A\")"]);
        let flat = json!([{"name": "f", "kind": 12, "containerName": "",
            "location": {"uri": "file:///r/a.py", "range": place(4)}}, {"kind": 1}]);
        let found = parse_symbols(&flat).expect("symbols");
        assert_eq!((found.len(), found[0].range.start.line), (1, 4));
        assert_eq!(found[0].container, None);
        assert_eq!(parse_symbols(&json!({})), None);
    }

    #[test]
    fn all_forms_of_a_prepare_rename_result_are_parsed() {
        let named = json!({"range": place(1), "placeholder": "old"});
        assert_eq!(parse_prepare_rename(&named), Some(PrepareRenameResult::Name("old".to_owned())));
        assert!(matches!(parse_prepare_rename(&place(1)), Some(PrepareRenameResult::Range(_))));
        assert_eq!(
            parse_prepare_rename(&json!({"defaultBehavior": true})),
            Some(PrepareRenameResult::Default)
        );
        assert_eq!(parse_prepare_rename(&json!({"defaultBehavior": false})), None);
        assert_eq!(parse_prepare_rename(&Value::Null), None);
    }
}
