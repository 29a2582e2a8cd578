//! Parses `sgconfig.yml`, the project's ast-grep configuration: folders of rules and tests, which
//! callers read, and language globs and injections.

use serde_json::{Map, Value};

use super::engine::{LanguageInjector, NameGlobs};
use super::language::ScanLanguage;
use super::rules::{RuleFault, has_long_pattern, read_yaml, string_list};

/// Folders listed in one `sgconfig.yml`. Its patterns are not compiled for this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanFolders {
    /// Folders of rules, relative to the file.
    pub rule_dirs: Vec<String>,
    /// Folders of utility rules, relative to the file.
    pub util_dirs: Vec<String>,
    /// Folders of tests, relative to the file.
    pub test_dirs: Vec<TestDir>,
}

impl ScanFolders {
    /// Parses the file; a broken one has no folders.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let Ok(Value::Object(body)) = read_yaml(text) else { return Self::default() };
        let tests = body.get("testConfigs").and_then(Value::as_array).into_iter().flatten();
        let test_dir = |entry: &Value| {
            let snapshots = entry.get("snapshotDir").and_then(Value::as_str);
            let snapshots = snapshots.unwrap_or("__snapshots__").to_owned();
            Some(TestDir { tests: entry.get("testDir")?.as_str()?.to_owned(), snapshots })
        };
        Self {
            rule_dirs: string_list(body.get("ruleDirs")),
            util_dirs: string_list(body.get("utilDirs")),
            test_dirs: tests.filter_map(test_dir).collect(),
        }
    }
}

/// Settings of one `sgconfig.yml` that apply to texts. An invalid entry becomes a fault and does
/// not affect the rest.
#[derive(Default)]
pub(super) struct ScanConfig {
    pub(super) name_globs: Vec<(ScanLanguage, NameGlobs)>,
    pub(super) injector: LanguageInjector,
    /// Custom languages, whose grammar is native code that is not loaded, with their extensions.
    pub(super) unsupported: Vec<(String, Vec<String>)>,
    pub(super) faults: Vec<RuleFault>,
    pub(super) source: String,
}

/// A folder of rule tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestDir {
    /// The folder, relative to `sgconfig.yml`.
    pub tests: String,
    /// The folder of snapshots, relative to `tests`.
    pub snapshots: String,
}

impl ScanConfig {
    /// Parses the file and compiles its injection rules; `source` is its name in messages.
    pub(super) fn parse(source: &str, text: &str) -> Self {
        let mut config = Self { source: source.to_owned(), ..Self::default() };
        match read_yaml(text) {
            Ok(Value::Object(body)) => config.read(&body),
            Ok(Value::Null) => {}
            Ok(_) => config.fault("it must be a mapping", ScanLanguage::ALL.to_vec()),
            Err(reason) => config.fault(&reason, ScanLanguage::ALL.to_vec()),
        }
        config
    }

    fn read(&mut self, body: &Map<String, Value>) {
        for (word, globs) in entries(body.get("languageGlobs")) {
            self.read_globs(word, &string_list(Some(globs)));
        }
        let injections = body.get("languageInjections").and_then(Value::as_array);
        for injection in injections.into_iter().flatten() {
            self.read_injection(injection);
        }
        for (word, custom) in entries(body.get("customLanguages")) {
            let extensions = string_list(custom.get("extensions"));
            let extensions = extensions.iter().map(|it| it.to_ascii_lowercase()).collect();
            self.unsupported.push((word.clone(), extensions));
        }
    }

    fn read_globs(&mut self, word: &str, globs: &[String]) {
        let Some(language) = ScanLanguage::from_name(word) else {
            self.fault(&format!("`languageGlobs`: unknown language {word}"), Vec::new());
            return;
        };
        match NameGlobs::from_globs(globs) {
            Ok(globs) => self.name_globs.push((language, globs)),
            Err(reason) => self.fault(&format!("`languageGlobs`: {reason}"), vec![language]),
        }
    }

    fn read_injection(&mut self, entry: &Value) {
        let host = entry.get("hostLanguage").and_then(Value::as_str).unwrap_or_default();
        let Some(host) = ScanLanguage::from_name(host) else {
            let reason = format!("`languageInjections`: unknown hostLanguage `{host}`");
            self.fault(&reason, ScanLanguage::ALL.to_vec());
            return;
        };
        let words = string_list(entry.get("injected"));
        let injected: Vec<ScanLanguage> =
            words.iter().filter_map(|it| ScanLanguage::from_name(it)).collect();
        if injected.is_empty() || injected.len() < words.len() {
            let reason = format!("`languageInjections`: unknown language in {words:?}");
            self.fault(&reason, vec![host]);
            return;
        }
        let mut core = entry.as_object().cloned().unwrap_or_default();
        core.retain(|key, _| ["rule", "constraints", "utils", "transform"].contains(&key.as_str()));
        if has_long_pattern(&core) {
            let reason = "`languageInjections`: a pattern is too long";
            self.fault(reason, vec![host]);
            return;
        }
        let is_static = entry.get("injected").is_some_and(Value::is_string);
        if let Err(reason) = self.injector.add(host, &core, injected, is_static) {
            self.fault(&format!("`languageInjections`: {reason}"), vec![host]);
        }
    }

    fn fault(&mut self, reason: &str, languages: Vec<ScanLanguage>) {
        self.faults.push(RuleFault { languages, ..RuleFault::for_file(&self.source, reason) });
    }
}

fn entries(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}
