//! Parses rule files: YAML text in, one [`RuleSpec`] per document out. The program's own keys
//! (`languages`, `tests`, the parts of `metadata` that findings carry) are extracted here; the rest
//! is a document for the engine.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::language::{ScanLanguage, UnsupportedLanguage};
use moai_base::foreign_text::one_line;
use moai_base::limits::{MESSAGE_CHARS_MAX, PATTERN_BYTES_MAX};

/// One rule or utility rule as written, valid for one or several languages.
#[derive(Clone, Debug)]
pub(super) struct RuleSpec {
    /// Name of the rule file.
    pub(super) source: String,
    /// 1-based lines of the document's first content and of each of its keys.
    pub(super) lines: KeyLines,
    /// Public id, the same in all languages.
    pub(super) id: String,
    pub(super) languages: Vec<ScanLanguage>,
    /// Data of its findings in addition to message and severity.
    pub(super) info: RuleInfo,
    /// Qualified names that a capture must resolve to, by capture name: `H: [hashlib.md5]`.
    pub(super) resolves: BTreeMap<String, Vec<String>>,
    /// The document without the program's own keys.
    pub(super) body: Map<String, Value>,
}

/// Content of one file. A broken document becomes a fault and does not affect the others.
#[derive(Debug, Default)]
pub(super) struct RuleFile {
    pub(super) specs: Vec<Arc<RuleSpec>>,
    pub(super) faults: Vec<RuleFault>,
    /// Rules of languages without a parser.
    pub(super) unsupported: Vec<UnsupportedRule>,
}

/// A rule of a language without a parser.
#[derive(Clone, Debug)]
pub(super) struct UnsupportedRule {
    pub(super) source: String,
    pub(super) id: String,
    pub(super) language: &'static UnsupportedLanguage,
}

impl RuleSpec {
    pub(super) fn is_off(&self) -> bool {
        self.text("severity") == Some("off")
    }

    /// True if the rule is limited to some files of its languages.
    pub(super) fn has_globs(&self) -> bool {
        ["files", "ignores"].iter().any(|key| self.body.get(*key).is_some_and(|it| !it.is_null()))
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.body.get(key).and_then(Value::as_str)
    }

    /// A fault of this rule, at the line of the first key quoted in the reason.
    pub(super) fn fault(&self, reason: &str, languages: Vec<ScanLanguage>) -> RuleFault {
        RuleFault {
            source: self.source.clone(),
            line: Some(self.lines.line_for_reason(reason)),
            id: Some(self.id.clone()),
            reason: one_line(reason, MESSAGE_CHARS_MAX),
            languages,
        }
    }
}

/// 1-based lines of a document and of its top-level keys.
#[derive(Clone, Debug)]
pub(super) struct KeyLines {
    first: usize,
    keys: Vec<(String, usize)>,
}

impl KeyLines {
    fn from_document(document: &str) -> Self {
        let first = document
            .lines()
            .position(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
        let keys = document.lines().enumerate().filter_map(|(index, line)| {
            let key = line.split_once(':')?.0.trim_end();
            let is_top = key.starts_with(|c: char| c.is_ascii_alphabetic());
            is_top.then(|| (key.to_owned(), index + 1))
        });
        Self { first: first.unwrap_or_default() + 1, keys: keys.collect() }
    }

    fn line_for_reason(&self, reason: &str) -> usize {
        self.keys
            .iter()
            .filter_map(|(key, line)| Some((reason.find(&format!("`{key}`"))?, *line)))
            .min()
            .map_or(self.first, |(_, line)| line)
    }
}

/// Data that every finding of a rule carries.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleInfo {
    pub(super) cwe: Vec<String>,
    pub(super) url: Option<String>,
    /// The rule's `note`, on one line.
    pub(super) fix: Option<String>,
    /// True if the rule is marked `fix: safe`: the fix preserves the behavior of correct code.
    pub(super) is_fix_safe: bool,
}

/// A fault in a rule or in a whole rule file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RuleFault {
    pub(super) source: String,
    /// 1-based; `None` when the reason has the line.
    pub(super) line: Option<usize>,
    /// Id of the rule, if it could be parsed that far.
    pub(super) id: Option<String>,
    /// On one line.
    pub(super) reason: String,
    /// The languages that lack the rule; all of them if unknown.
    pub(super) languages: Vec<ScanLanguage>,
}

impl RuleFault {
    pub(super) fn for_file(source: &str, reason: &str) -> Self {
        Self {
            source: source.to_owned(),
            line: None,
            id: None,
            reason: one_line(reason, MESSAGE_CHARS_MAX),
            languages: ScanLanguage::ALL.to_vec(),
        }
    }

    /// The file, with the line if known and not part of the reason.
    pub(super) fn location(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.source),
            None => self.source.clone(),
        }
    }

    /// The reason, prefixed with the rule's id, and with the languages unless all are affected.
    pub(super) fn describe(&self) -> String {
        let Some(id) = &self.id else { return self.reason.clone() };
        if self.languages.len() == ScanLanguage::ALL.len() {
            return format!("rule `{id}`: {}", self.reason);
        }
        let words: Vec<&str> = self.languages.iter().map(|language| language.as_str()).collect();
        format!("rule `{id}` ({}): {}", words.join(", "), self.reason)
    }
}

pub(super) fn parse_rule_file(source: &str, text: &str) -> RuleFile {
    let mut parsed = RuleFile::default();
    let documents = split_documents(text);
    let is_only = documents.len() == 1;
    for (index, document) in documents.into_iter().enumerate() {
        let stem = source.rsplit('/').next().unwrap_or(source);
        let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
        let name = if is_only { stem.to_owned() } else { format!("{stem}-{index}") };
        match parse_document(source, &name, &document) {
            Ok(RuleDocument::Rule(spec)) => parsed.specs.push(spec),
            Ok(RuleDocument::Unsupported(rule)) => parsed.unsupported.push(rule),
            Ok(RuleDocument::Empty) => {}
            Err(fault) => parsed.faults.push(fault),
        }
    }
    parsed
}

enum RuleDocument {
    Rule(Arc<RuleSpec>),
    Unsupported(UnsupportedRule),
    Empty,
}

/// Splits a stream at its `---` lines, because one broken document would otherwise make the whole
/// stream unreadable. Lines above a document are kept as blank lines, so that the parser's line
/// numbers are those of the file.
pub(super) fn split_documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let marker = line.strip_prefix("---");
        let content = match marker.filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t'])) {
            Some(rest) => {
                documents.push("\n".repeat(index));
                format!("   {rest}")
            }
            None => line.to_owned(),
        };
        if let Some(document) = documents.last_mut() {
            document.push_str(&content);
            document.push('\n');
        }
    }
    documents.retain(|document| !document.trim().is_empty());
    documents
}

/// Parses one document; `name` is its id if it has none.
fn parse_document(source: &str, name: &str, text: &str) -> Result<RuleDocument, RuleFault> {
    let lines = KeyLines::from_document(text);
    let mut fault = RuleFault { line: Some(lines.first), ..RuleFault::for_file(source, "") };
    let mut body = match read_yaml(text) {
        Ok(Value::Object(body)) => body,
        Ok(Value::Null) => return Ok(RuleDocument::Empty),
        Ok(_) => return Err(RuleFault { reason: "a rule must be a mapping".to_owned(), ..fault }),
        // The parser's message contains the line.
        Err(reason) => return Err(RuleFault { line: None, reason, ..fault }),
    };
    let id = match take_id(&mut body, name) {
        Ok(id) => id,
        Err(reason) => return Err(RuleFault { reason, ..fault }),
    };
    fault.id = Some(id.clone());
    if has_long_pattern(&body) {
        let reason = format!("a pattern is longer than {PATTERN_BYTES_MAX} bytes");
        return Err(RuleFault { reason, ..fault });
    }
    let languages = match take_languages(&mut body) {
        Ok(RuleLanguages::Known(languages)) => languages,
        Ok(RuleLanguages::Unsupported(language)) => {
            let source = source.to_owned();
            return Ok(RuleDocument::Unsupported(UnsupportedRule { source, id, language }));
        }
        Err(reason) => return Err(RuleFault { reason, ..fault }),
    };
    body.remove("tests");
    let resolves = match take_resolves(&mut body) {
        Ok(resolves) => resolves,
        Err(reason) => return Err(RuleFault { reason, ..fault }),
    };
    let (source, info) = (source.to_owned(), rule_info(&body));
    let spec = RuleSpec { source, lines, id, languages, info, resolves, body };
    Ok(RuleDocument::Rule(Arc::new(spec)))
}

/// True if a rule, a constraint or a utility contains a pattern that is too long to be parsed.
pub(super) fn has_long_pattern(body: &Map<String, Value>) -> bool {
    body.iter().any(|(key, value)| match value {
        Value::String(text) => {
            ["context", "pattern"].contains(&key.as_str()) && text.len() > PATTERN_BYTES_MAX
        }
        Value::Object(inner) => has_long_pattern(inner),
        Value::Array(items) => items.iter().filter_map(Value::as_object).any(has_long_pattern),
        _ => false,
    })
}

/// Parses YAML 1.2 (`on`, `off`, `yes` and `no` are strings) into a value.
pub(super) fn read_yaml(text: &str) -> Result<Value, String> {
    let mut options = serde_saphyr::Options::default();
    options.strict_booleans = true;
    options.merge_keys = serde_saphyr::MergeKeyPolicy::AsOrdinary;
    options.reject_unsupported_tags = true;
    options.with_snippet = false;
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| one_line(&error.to_string(), MESSAGE_CHARS_MAX))
}

/// The rule's id, else its file's name; any text on one line is valid.
fn take_id(body: &mut Map<String, Value>, name: &str) -> Result<String, String> {
    let id = match body.get("id") {
        None | Some(Value::Null) => name.to_owned(),
        Some(Value::String(id)) if id.is_empty() => name.to_owned(),
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        Some(_) => return Err("the `id` must be text".to_owned()),
    };
    if id.trim().is_empty() || id.chars().any(char::is_control) {
        return Err("the `id` must be words on one line".to_owned());
    }
    body.insert("id".to_owned(), Value::String(id.clone()));
    Ok(id)
}

/// Removes and parses `resolves`.
fn take_resolves(body: &mut Map<String, Value>) -> Result<BTreeMap<String, Vec<String>>, String> {
    let Some(resolves) = body.remove("resolves") else { return Ok(BTreeMap::new()) };
    let resolves: BTreeMap<String, Vec<String>> = serde_json::from_value(resolves)
        .map_err(|_| "`resolves` must map captures to lists of qualified names".to_owned())?;
    match resolves.iter().find(|(_, names)| names.is_empty()) {
        Some((capture, _)) => Err(format!("`resolves` has no names for {capture}")),
        None => Ok(resolves),
    }
}

/// The languages that a rule declares.
enum RuleLanguages {
    Known(Vec<ScanLanguage>),
    /// A single language without a parser.
    Unsupported(&'static UnsupportedLanguage),
}

/// Removes and parses `languages` (our key) or `language` (the engine's key for a single one).
fn take_languages(body: &mut Map<String, Value>) -> Result<RuleLanguages, String> {
    let words = match (body.remove("languages"), body.remove("language")) {
        (Some(_), Some(_)) => return Err("give `languages` or `language`, not both".to_owned()),
        (Some(Value::Array(words)), None) => words,
        (Some(word), None) | (None, Some(word)) => vec![word],
        (None, None) => return Err("a rule needs `languages`".to_owned()),
    };
    let mut languages = Vec::new();
    for word in &words {
        let text = word.as_str().unwrap_or_default();
        match (ScanLanguage::from_name(text), UnsupportedLanguage::from_name(text)) {
            (Some(language), _) if languages.contains(&language) => {}
            (Some(language), _) => languages.push(language),
            (None, Some(unsupported)) if words.len() == 1 => {
                return Ok(RuleLanguages::Unsupported(unsupported));
            }
            (None, _) => return Err(format!("unknown language {word}")),
        }
    }
    if languages.is_empty() {
        return Err("`languages` is empty".to_owned());
    }
    Ok(RuleLanguages::Known(languages))
}

fn rule_info(body: &Map<String, Value>) -> RuleInfo {
    let metadata = |key: &str| body.get("metadata").and_then(|metadata| metadata.get(key));
    let url = body.get("url").and_then(Value::as_str).map(str::to_owned);
    let note = body.get("note").and_then(Value::as_str);
    RuleInfo {
        cwe: string_list(metadata("cwe")),
        url: url.or_else(|| string_list(metadata("references")).into_iter().next()),
        is_fix_safe: metadata("fix").and_then(Value::as_str) == Some("safe"),
        fix: note.map(|note| one_line(note, MESSAGE_CHARS_MAX)),
    }
}

/// The strings of a list; a single string counts as a list of one.
pub(super) fn string_list(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => {
            many.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}
