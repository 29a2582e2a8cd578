//! Answers of language servers about a place: locations, hover texts, symbols, and failures; as
//! text and as JSON documents.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use super::agent::truncate_text;
use super::{count_noun, sanitized_line, sanitized_name, sanitized_text};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    EXCERPT_CHARS_MAX, HOVER_CHARS_MAX, LOCATIONS_NAMED_MAX, TOOL_FINDINGS_MAX,
};
use moai_base::text::{Position, TextRange};
use moai_base::verdict::Gap;
use moai_protocol::documents::queries::{
    HoverResult, LocationEntry, LocationsResult, QueryDocument, QueryPosition, QueryResult,
    SymbolEntry, SymbolsResult,
};

/// Where to find the rest of a text that was cut for a tool.
pub(super) const CUT_FOR_TOOL: &str = "the rest is omitted";

/// Why a query has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryError {
    /// The request is invalid: no such file, line or column.
    Invalid(String),
    /// The request is valid but refused.
    Refused {
        /// The kind, for programs.
        kind: &'static str,
        /// The reason, one line.
        reason: String,
    },
    /// No server is available, or it did not answer in time.
    Unmeasured { server: String, gap: Gap },
}

#[derive(Clone, Debug)]
pub struct QueryContext {
    pub command: &'static str,
    pub root: PathBuf,
    /// True if an MCP tool asked: its text is shorter, without hints about the command line.
    pub is_tool: bool,
    /// The server that answered.
    pub server: Option<String>,
    /// The target: path and position; only a path for a whole document.
    pub position: Option<(String, Option<Position>)>,
    /// Time from request to answer.
    pub elapsed_ms: u64,
}

impl QueryContext {
    fn items_max(&self) -> usize {
        if self.is_tool { TOOL_FINDINGS_MAX } else { LOCATIONS_NAMED_MAX }
    }
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// Relative to the root, or absolute outside of it.
    pub path: String,
    pub range: TextRange,
    /// The source line at its start.
    pub line: Option<String>,
}

/// A symbol and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolLocation {
    pub name: String,
    /// `function`, `class` and so on.
    pub kind: &'static str,
    pub container: Option<String>,
    pub place: SourceLocation,
}

/// The line for stderr about a failed query.
#[must_use]
pub fn query_error_text(no: &QueryError) -> String {
    match no {
        QueryError::Invalid(reason) | QueryError::Refused { reason, .. } => {
            format!("moai-ralph: {}", sanitized_line(reason))
        }
        QueryError::Unmeasured { server, gap } => {
            format!("moai-ralph: not measured: {server} ({gap})")
        }
    }
}

/// The document of a failed query whose result would have the given schema.
#[must_use]
pub fn error_document(
    schema: &'static str,
    context: &QueryContext,
    error: &QueryError,
) -> QueryDocument<()> {
    let mut document = query_document_head(schema, context, "refused");
    match error {
        QueryError::Invalid(reason) => {
            document.status = "invalid";
            document.reason = Some(reason.clone());
        }
        QueryError::Refused { kind, reason } => {
            document.kind = Some(kind);
            document.reason = Some(reason.clone());
        }
        QueryError::Unmeasured { server, gap } => {
            document.status = "unmeasured";
            document.server = Some(server.clone());
            document.reason = Some(gap.to_string());
        }
    }
    document
}

/// The document of an answered query.
pub(super) fn query_document<T: QueryResult>(
    context: &QueryContext,
    status: &'static str,
    result: T,
) -> QueryDocument<T> {
    QueryDocument { result: Some(result), ..query_document_head(T::SCHEMA, context, status) }
}

/// The common fields of query documents.
fn query_document_head<T>(
    schema: &'static str,
    context: &QueryContext,
    status: &'static str,
) -> QueryDocument<T> {
    let at = context.position.clone();
    QueryDocument {
        schema,
        command: context.command,
        root: context.root.to_string_lossy().into_owned(),
        status,
        kind: None,
        reason: None,
        server: context.server.clone(),
        at: at.map(|(path, position)| QueryPosition { path, position }),
        elapsed_ms: context.elapsed_ms,
        result: None,
    }
}

/// Locations as text, one per line. `partial` is the reason why there may be more.
#[must_use]
pub fn locations_text(
    query_context: &QueryContext,
    places: &[SourceLocation],
    partial: Option<&Gap>,
) -> String {
    let mut text = String::new();
    for place in places.iter().take(query_context.items_max()) {
        let _ = writeln!(text, "{}", place_line(place));
    }
    push_more(&mut text, query_context, places.len());
    let files: BTreeSet<&str> = places.iter().map(|place| place.path.as_str()).collect();
    let word = query_context.command.trim_end_matches('s');
    let (number, files) = (count_noun(places.len(), word), count_noun(files.len(), "file"));
    push_tail(&mut text, query_context, &format!("{number} in {files}"), partial);
    text
}

/// Locations as a document. `partial` is the reason why there may be more.
#[must_use]
pub fn locations_document(
    context: &QueryContext,
    places: &[SourceLocation],
    partial: Option<&Gap>,
) -> QueryDocument<LocationsResult> {
    let locations = places.iter().map(location_entry).collect();
    let result = LocationsResult { complete: partial.is_none(), locations };
    let reason = partial.map(ToString::to_string);
    QueryDocument { reason, ..query_document(context, "done", result) }
}

/// A hover text: the server's Markdown without control characters.
#[must_use]
pub fn hover_text(query_context: &QueryContext, hover: &str) -> String {
    let where_all = if query_context.is_tool { CUT_FOR_TOOL } else { "see --json" };
    format!("{}\n", truncate_text(&sanitized_text(hover), HOVER_CHARS_MAX, where_all))
}

/// A hover text as a document.
#[must_use]
pub fn hover_document(context: &QueryContext, hover: &str) -> QueryDocument<HoverResult> {
    query_document(context, "done", HoverResult { text: hover.to_owned() })
}

/// Symbols as text, one line each.
#[must_use]
pub fn symbols_text(
    query_context: &QueryContext,
    symbols: &[SymbolLocation],
    partial: Option<&Gap>,
) -> String {
    let mut text = String::new();
    for symbol in symbols.iter().take(query_context.items_max()) {
        let container = symbol.container.as_ref().map(|it| format!(" (in {it})"));
        let start = symbol.place.range.start;
        let line = format!(
            "{}:{}:{}: {} {}{}",
            sanitized_name(&symbol.place.path),
            start.line + 1,
            start.character + 1,
            symbol.kind,
            symbol.name,
            container.unwrap_or_default(),
        );
        let _ = writeln!(text, "{}", sanitized_line(&line));
    }
    push_more(&mut text, query_context, symbols.len());
    push_tail(&mut text, query_context, &count_noun(symbols.len(), "symbol"), partial);
    text
}

/// Symbols as a document. `partial` is the reason why there may be more.
#[must_use]
pub fn symbols_document(
    context: &QueryContext,
    symbols: &[SymbolLocation],
    partial: Option<&Gap>,
) -> QueryDocument<SymbolsResult> {
    let symbols = symbols.iter().map(symbol_entry).collect();
    let result = SymbolsResult { complete: partial.is_none(), symbols };
    let reason = partial.map(ToString::to_string);
    QueryDocument { reason, ..query_document(context, "done", result) }
}

fn push_more(text: &mut String, query_context: &QueryContext, total: usize) {
    if let Some(more) = total.checked_sub(query_context.items_max()).filter(|more| *more > 0) {
        let where_all = if query_context.is_tool { "" } else { ": see --json" };
        let _ = writeln!(text, "… and {more} more{where_all}");
    }
}

fn push_tail(text: &mut String, query_context: &QueryContext, what: &str, partial: Option<&Gap>) {
    let server = query_context.server.as_deref().unwrap_or("language servers");
    let _ = writeln!(text, "{what} ({server}, {} ms)", query_context.elapsed_ms);
    if let Some(gap) = partial {
        let _ = writeln!(text, "incomplete: {gap}");
    }
}

fn place_line(place: &SourceLocation) -> String {
    let start = place.range.start;
    let excerpt = place.line.as_deref().unwrap_or_default();
    let at = format!("{}:{}:{}", sanitized_name(&place.path), start.line + 1, start.character + 1);
    match one_line(excerpt, EXCERPT_CHARS_MAX) {
        excerpt if excerpt.is_empty() => at,
        excerpt => format!("{at}: {excerpt}"),
    }
}

fn location_entry(place: &SourceLocation) -> LocationEntry {
    LocationEntry { path: place.path.clone(), range: place.range, text: place.line.clone() }
}

fn symbol_entry(symbol: &SymbolLocation) -> SymbolEntry {
    SymbolEntry {
        location: location_entry(&symbol.place),
        name: symbol.name.clone(),
        kind: symbol.kind,
        container: symbol.container.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use moai_base::verdict::Cause;
    use moai_protocol::documents::json_value;

    fn query_context() -> QueryContext {
        let at = ("src/a.py".to_owned(), Some(Position { line: 2, character: 4 }));
        QueryContext {
            command: "references",
            root: PathBuf::from("/r"),
            is_tool: false,
            server: Some("pyright".to_owned()),
            position: Some(at),
            elapsed_ms: 7,
        }
    }

    fn place(path: &str, line: u32, text: Option<&str>) -> SourceLocation {
        let at = |character| Position { line, character };
        let range = TextRange { start: at(4), end: at(9) };
        SourceLocation { path: path.to_owned(), range, line: text.map(str::to_owned) }
    }

    #[test]
    fn locations_are_one_line_each_and_counted() {
        let places = [
            place("src/a.py", 2, Some("def total(x):\u{1b}[31m")),
            place("src/a.py", 9, None),
            place("/lib/b.pyi", 0, Some("    total: int")),
        ];
        insta::assert_snapshot!(locations_text(&query_context(), &places, None), @r"
        src/a.py:3:5: def total(x):
        src/a.py:10:5
        /lib/b.pyi:1:5: total: int
        3 references in 2 files (pyright, 7 ms)
        ");
        let document = json_value(&locations_document(&query_context(), &places, None));
        assert_eq!(document["schema"], "moai-ralph/locations@1");
        assert_eq!(document["complete"], true);
        assert_eq!(document["at"]["position"], json!({"line": 2, "character": 4}));
        assert_eq!(document["locations"][0]["range"]["start"]["line"], 2);
    }

    #[test]
    fn what_may_be_missing_is_said() {
        let gap = Gap::new(Cause::ProjectFault, "there is no compile_commands.json");
        let text = locations_text(&query_context(), &[place("a.c", 0, None)], Some(&gap));
        assert!(text.ends_with("\nincomplete: there is no compile_commands.json\n"), "{text}");
        let document = json_value(&locations_document(&query_context(), &[], Some(&gap)));
        assert_eq!(document["complete"], false);
        let many = vec![place("a.py", 0, None); LOCATIONS_NAMED_MAX + 3];
        let text = locations_text(&query_context(), &many, None);
        assert!(text.contains("\n… and 3 more: see --json\n203 references"), "{text}");
    }

    #[test]
    fn no_answer_is_one_line_and_a_document() {
        let no =
            QueryError::Refused { kind: "ambiguous", reason: "a.py:3: x occurs at 1,\n9".into() };
        assert_eq!(query_error_text(&no), "moai-ralph: a.py:3: x occurs at 1, 9");
        let document = json_value(&error_document(HoverResult::SCHEMA, &query_context(), &no));
        assert_eq!(
            (&document["status"], &document["kind"]),
            (&json!("refused"), &json!("ambiguous"))
        );
        let gap = Gap::new(Cause::NotInstalled, "not installed").with_remedy("install it");
        let no = QueryError::Unmeasured { server: "pyright".into(), gap };
        assert_eq!(
            query_error_text(&no),
            "moai-ralph: not measured: pyright (not installed: install it)"
        );
        assert_eq!(error_document(HoverResult::SCHEMA, &query_context(), &no).status, "unmeasured");
    }

    #[test]
    fn symbols_name_kind_and_holder() {
        let symbol = SymbolLocation {
            name: "add".into(),
            kind: "method",
            container: Some("Cart".into()),
            place: place("src/cart.py", 3, None),
        };
        let text = symbols_text(&query_context(), std::slice::from_ref(&symbol), None);
        assert_eq!(text, "src/cart.py:4:5: method add (in Cart)\n1 symbol (pyright, 7 ms)\n");
        let document = json_value(&symbols_document(&query_context(), &[symbol], None));
        assert_eq!(document["symbols"][0]["container"], "Cart");
    }

    #[test]
    fn a_hover_text_keeps_its_lines_and_nothing_that_steers_a_terminal() {
        assert_eq!(
            hover_text(&query_context(), "(function) f\n\u{1b}[31mred"),
            "(function) f\nred\n"
        );
    }
}
