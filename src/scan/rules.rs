//! Rule files: YAML text in, one [`RuleSpec`] per document out. Our own keys (`languages`,
//! `tests`, the parts of `metadata` that findings carry) are taken out here; what remains is a
//! document of the engine. It must not know what the engine makes of a document.

use serde_json::{Map, Value};

use super::language::Language;
use crate::base::limits::MESSAGE_CHARS_MAX;
use crate::base::text::one_line;

/// One rule as it was written, valid for several languages.
#[derive(Debug)]
pub(super) struct RuleSpec {
    /// The file it comes from.
    pub(super) source: String,
    /// Its public id, one for all languages.
    pub(super) id: String,
    /// The languages it is expanded to.
    pub(super) languages: Vec<Language>,
    /// What its findings carry besides message and severity.
    pub(super) info: RuleInfo,
    /// The document without our keys.
    pub(super) body: Map<String, Value>,
}

impl RuleSpec {
    /// Whether its author switched it off.
    pub(super) fn is_off(&self) -> bool {
        self.body.get("severity").and_then(Value::as_str) == Some("off")
    }
}

/// What every finding of one rule carries.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleInfo {
    pub(super) cwe: Vec<String>,
    pub(super) url: Option<String>,
    pub(super) fix: Option<String>,
}

/// A rule, or a whole file, that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The file.
    pub(super) source: String,
    /// The rule, when the text could be read that far.
    pub(super) id: Option<String>,
    /// What is wrong, on one line.
    pub(super) reason: String,
    /// The languages that lack the rule; all of them when nobody knows.
    pub(super) languages: Vec<Language>,
}

impl Fault {
    /// The reason with the rule's id in front of it, and the languages when not all are meant.
    pub(super) fn describe(&self) -> String {
        let Some(id) = &self.id else { return self.reason.clone() };
        if self.languages.len() == Language::ALL.len() {
            return format!("rule `{id}`: {}", self.reason);
        }
        let words: Vec<&str> = self.languages.iter().map(|language| language.as_str()).collect();
        format!("rule `{id}` ({}): {}", words.join(", "), self.reason)
    }
}

/// The rules of one file. A document that cannot be used is a fault and does not spoil the others.
pub(super) fn parse(source: &str, text: &str) -> (Vec<RuleSpec>, Vec<Fault>) {
    let (mut specs, mut faults) = (Vec::new(), Vec::new());
    let documents = documents(text);
    let only = documents.len() == 1;
    for (line, document) in documents {
        match parse_document(source, &document) {
            Ok(Some(spec)) => specs.push(spec),
            Ok(None) => {}
            Err(mut fault) => {
                if !only && !fault.reason.contains("line ") {
                    fault.reason = format!("document at line {line}: {}", fault.reason);
                }
                faults.push(fault);
            }
        }
    }
    (specs, faults)
}

/// Splits a stream at its `---` lines and says at which 1-based line each document starts. One
/// broken document would otherwise take the whole stream with it. The lines before a document are
/// kept as blank ones, so that the parser counts lines as the reader of the file does.
fn documents(text: &str) -> Vec<(usize, String)> {
    let mut documents = vec![(1, String::new())];
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let marker = line.strip_prefix("---");
        let content = match marker.filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t'])) {
            Some(rest) => {
                documents.push((index + 1, "\n".repeat(index)));
                format!("   {rest}")
            }
            None => line.to_owned(),
        };
        if let Some((_, document)) = documents.last_mut() {
            document.push_str(&content);
            document.push('\n');
        }
    }
    documents.retain(|(_, document)| !document.trim().is_empty());
    documents
}

fn parse_document(source: &str, text: &str) -> Result<Option<RuleSpec>, Fault> {
    let mut fault = Fault {
        source: source.to_owned(),
        id: None,
        reason: String::new(),
        languages: Language::ALL.to_vec(),
    };
    let mut body = match read_yaml(text) {
        Ok(Value::Object(body)) => body,
        Ok(Value::Null) => return Ok(None),
        Ok(_) => return Err(Fault { reason: "a rule must be a mapping".to_owned(), ..fault }),
        Err(reason) => return Err(Fault { reason, ..fault }),
    };
    let id = match take_id(&body) {
        Ok(id) => id,
        Err(reason) => return Err(Fault { reason, ..fault }),
    };
    fault.id = Some(id.clone());
    let languages = match take_languages(&mut body) {
        Ok(languages) => languages,
        Err(reason) => return Err(Fault { reason, ..fault }),
    };
    body.remove("tests");
    let info = rule_info(&body);
    Ok(Some(RuleSpec { source: source.to_owned(), id, languages, info, body }))
}

/// Reads YAML 1.2 (`on`, `off`, `yes` and `no` are words) into a value.
pub(super) fn read_yaml(text: &str) -> Result<Value, String> {
    let mut options = serde_saphyr::Options::default();
    options.strict_booleans = true;
    options.with_snippet = false;
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| one_line(&error.to_string(), MESSAGE_CHARS_MAX))
}

/// The rule's id. Only characters that a suppression comment can name are accepted.
fn take_id(body: &Map<String, Value>) -> Result<String, String> {
    let id = body.get("id").and_then(Value::as_str).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if id.is_empty() {
        Err("a rule needs an `id`".to_owned())
    } else if id.chars().all(is_plain) {
        Ok(id.to_owned())
    } else {
        Err(format!("the id `{id}` may hold only letters, digits, `-`, `_` and `.`"))
    }
}

/// Takes out `languages` (ours) or `language` (the engine's own key for a single one).
fn take_languages(body: &mut Map<String, Value>) -> Result<Vec<Language>, String> {
    let words = match (body.remove("languages"), body.remove("language")) {
        (Some(_), Some(_)) => return Err("give `languages` or `language`, not both".to_owned()),
        (Some(Value::Array(words)), None) => words,
        (Some(word), None) | (None, Some(word)) => vec![word],
        (None, None) => return Err("a rule needs `languages`".to_owned()),
    };
    let mut languages = Vec::new();
    for word in &words {
        let named = word.as_str().and_then(Language::named);
        let Some(language) = named else { return Err(format!("unknown language {word}")) };
        if !languages.contains(&language) {
            languages.push(language);
        }
    }
    if languages.is_empty() {
        return Err("`languages` is empty".to_owned());
    }
    Ok(languages)
}

fn rule_info(body: &Map<String, Value>) -> RuleInfo {
    let metadata = |key: &str| body.get("metadata").and_then(|metadata| metadata.get(key));
    let url = body.get("url").and_then(Value::as_str).map(str::to_owned);
    let reference = || strings(metadata("references")).into_iter().next();
    let note = body.get("note").and_then(Value::as_str);
    RuleInfo {
        cwe: strings(metadata("cwe")),
        url: url.or_else(reference),
        fix: note.map(|note| one_line(note, MESSAGE_CHARS_MAX)),
    }
}

/// The strings of a list; a single string counts as a list of one.
fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => {
            many.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}
