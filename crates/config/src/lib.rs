//! Options: defaults < user file < project file < environment. Pure: takes texts and returns a
//! validated configuration, or one error with file, line and key.

mod checks;
pub mod judge;
mod loops;
pub mod origins;
pub mod pipeline;
pub mod prices;
pub mod set_option;
mod users_only;
mod withheld;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use self::judge::JudgeOptions;
use self::pipeline::PipelineOptions;
use self::users_only::MEMORY_SIZE_KEY;
pub use self::users_only::{is_for_users_only, shown_team_url};
pub use self::withheld::WithheldOptions;
use moai_loops::criteria::{CheckCommand, CheckCriterion};
use moai_loops::options::{BaselineMode, LoopStartOptions, MAX_ITERATIONS_DEFAULT};
use moai_lsp::registry::{Catalogue, CatalogueOverrides, ServerOverride};
use moai_memory::glossary::Glossary;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// True if hooks are active.
    pub is_enabled: bool,
    /// True if language servers are used.
    pub lsp_enabled: bool,
    /// Time a hook waits for results after an edit.
    pub inline_budget: Duration,
    /// Languages with a language server; `None` for all.
    pub languages: Option<Vec<String>>,
    /// Server selection by language id, instead of the language's own.
    pub server_choices: BTreeMap<String, Vec<String>>,
    /// Overridden fields of servers, by server id.
    pub servers: BTreeMap<String, ServerOverride>,
    /// True if a missing language server pauses a loop.
    pub lsp_required: bool,
    /// Idle time of a language server.
    pub server_idle: Duration,
    /// Memory above which an idle language server is restarted, in bytes.
    pub memory_soft_bytes: u64,
    /// Memory above which a language server is killed at once, in bytes.
    pub memory_hard_bytes: u64,
    /// True if the structural scan runs.
    pub scan_enabled: bool,
    /// Additional rule folders, relative to the root.
    pub rule_dirs: Vec<String>,
    /// Ids of disabled rules.
    pub disabled_rules: Vec<String>,
    /// Overridden severities by rule id, as named in rule files, or `off`.
    pub rule_severities: BTreeMap<String, String>,
    /// Time limit of a Stop.
    pub stop_timeout: Duration,
    /// Time a Stop waits for language servers.
    pub stop_budget: Duration,
    /// Time limit of the project's checks.
    pub check_timeout: Duration,
    /// Criteria that a loop checks with the project's commands.
    pub success_criteria: Vec<CheckCriterion>,
    /// Commands that run at every Stop.
    pub checks: Vec<CheckCommand>,
    /// True if a criterion without a command uses the one suggested by the project's files.
    pub propose_checks: bool,
    /// True if a merged loop is pushed to the remote of its base branch.
    pub push: bool,
    /// Defaults for loop options that the start does not set.
    pub loop_defaults: LoopStartOptions,
    /// Delay of a Stop that continues the loop.
    pub cooldown: Duration,
    /// Thousandths of the model's context window that a session may fill; 0: no limit.
    pub context_permille: u64,
    /// Size of that window in tokens; `None`: from the price table.
    pub context_window: Option<u64>,
    pub judge: JudgeOptions,
    pub pipeline: PipelineOptions,
    /// True if hooks record observations and show those of earlier sessions.
    pub memory_enabled: bool,
    /// URL of the memory that a team shares; `None` for the local memory.
    pub memory_url: Option<String>,
    /// Maximum bytes of titles and bodies in the memory of one project.
    pub memory_text_bytes: u64,
    /// Korean and English words that mean the same; `None` for the built-in ones alone.
    pub memory_glossary: Option<Arc<Glossary>>,
    /// Idle time of the daemon.
    pub daemon_idle: Duration,
    /// Tools offered to agents; `None` means all.
    pub tools: Option<Vec<String>>,
    /// Options of untrusted files that have no effect.
    pub withheld: WithheldOptions,
}

#[derive(Clone, Debug)]
pub struct OptionFile {
    pub name: String,
    pub text: String,
    /// True if its options may set programs and services.
    pub is_trusted: bool,
    /// True if it is the user's own file, not a project's.
    pub is_of_user: bool,
}

/// An invalid configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// File name, or environment variable.
    pub source_name: String,
    /// 1-based line; `None` for the environment.
    pub line: Option<u64>,
    /// Dotted path of the key; empty if the text is not a YAML mapping.
    pub key: String,
    pub reason: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.source_name)?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(out, ": key {}", self.key)?;
        }
        write!(out, ": {}", self.reason)
    }
}

/// The options of one layer; missing ones keep the value of the layer below.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ConfigDocument {
    #[serde(deserialize_with = "empty_as_default")]
    ralph: ConfigLayer,
}

/// A section whose options are all commented out sets nothing.
fn empty_as_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    input: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(input)?.unwrap_or_default())
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ConfigLayer {
    enabled: Option<bool>,
    #[serde(deserialize_with = "empty_as_default")]
    lsp: LspLayer,
    #[serde(deserialize_with = "empty_as_default")]
    scan: ScanLayer,
    #[serde(rename = "loop", deserialize_with = "empty_as_default")]
    looping: loops::LoopLayer,
    #[serde(deserialize_with = "empty_as_default")]
    judge: judge::JudgeLayer,
    #[serde(deserialize_with = "empty_as_default")]
    pipeline: pipeline::PipelineLayer,
    #[serde(deserialize_with = "empty_as_default")]
    sync: pipeline::SyncLayer,
    #[serde(deserialize_with = "empty_as_default")]
    memory: MemoryLayer,
    #[serde(deserialize_with = "empty_as_default")]
    daemon: DaemonLayer,
    #[serde(deserialize_with = "empty_as_default")]
    mcp: McpLayer,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct MemoryLayer {
    enabled: Option<bool>,
    url: Option<String>,
    max_mb: Option<u64>,
    glossary: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LspLayer {
    enabled: Option<bool>,
    inline_budget_ms: Option<u64>,
    languages: Option<LanguagesOption>,
    choose: BTreeMap<String, Vec<String>>,
    servers: BTreeMap<String, ServerOverride>,
    required: Option<bool>,
    idle_secs: Option<u64>,
    memory_soft_mb: Option<u64>,
    memory_hard_mb: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected \"all\" or a list of language ids")]
enum LanguagesOption {
    Word(AllKeyword),
    List(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AllKeyword {
    All,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ScanLayer {
    enabled: Option<bool>,
    rule_dirs: Option<Vec<String>>,
    disable: Option<Vec<String>>,
    severity: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DaemonLayer {
    idle_secs: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct McpLayer {
    tools: Option<ToolsOption>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected \"all\" or a list of tools")]
enum ToolsOption {
    Word(AllKeyword),
    List(Vec<String>),
}

/// Tools that can be offered to agents.
const TOOLS: [&str; 13] = [
    "diagnostics",
    "references",
    "definition",
    "hover",
    "rename",
    "scan",
    "search_code",
    "rewrite",
    "loop_start",
    "loop_status",
    "loop_cancel",
    "memory_search",
    "memory_get",
];

/// Allowed severities of rules.
const SEVERITIES: [&str; 5] = ["error", "warning", "info", "hint", "off"];

/// All keys; each has an environment variable.
const KEYS: [&str; 49] = [
    "enabled",
    "lsp.enabled",
    "lsp.inline_budget_ms",
    "lsp.languages",
    "lsp.choose",
    "lsp.servers",
    "lsp.required",
    "lsp.idle_secs",
    "lsp.memory_soft_mb",
    "lsp.memory_hard_mb",
    "scan.enabled",
    "scan.rule_dirs",
    "scan.disable",
    "scan.severity",
    "loop.max_iterations",
    "loop.stop_timeout",
    "loop.stop_budget_ms",
    "loop.check_timeout_secs",
    "loop.success_criteria",
    "loop.checks",
    "loop.propose_checks",
    "loop.push",
    "loop.baseline",
    "loop.cooldown_ms",
    "loop.context_budget",
    "loop.context_window",
    "judge.backend",
    "judge.model",
    "judge.command",
    "judge.url",
    "judge.api_key_env",
    "judge.timeout_secs",
    "judge.max_budget_usd",
    "judge.judges",
    "pipeline.sandbox",
    "pipeline.image",
    "pipeline.shell_writes",
    "pipeline.escalate_after",
    "pipeline.escalate_sizes",
    "pipeline.escalate_model",
    "sync.commits",
    "sync.verify_each",
    "sync.branch",
    "memory.enabled",
    "memory.url",
    "memory.max_mb",
    "memory.glossary",
    "daemon.idle_secs",
    "mcp.tools",
];

const MIB: u64 = 1024 * 1024;

impl Default for Config {
    fn default() -> Self {
        Self {
            is_enabled: true,
            lsp_enabled: true,
            inline_budget: Duration::from_millis(2_500),
            languages: None,
            server_choices: BTreeMap::new(),
            servers: BTreeMap::new(),
            lsp_required: false,
            server_idle: Duration::from_mins(10),
            memory_soft_bytes: 3_072 * MIB,
            memory_hard_bytes: 6_144 * MIB,
            scan_enabled: true,
            rule_dirs: Vec::new(),
            disabled_rules: Vec::new(),
            rule_severities: BTreeMap::new(),
            stop_timeout: Duration::from_mins(5),
            stop_budget: Duration::from_mins(1),
            check_timeout: Duration::from_mins(5),
            success_criteria: Vec::new(),
            checks: Vec::new(),
            propose_checks: true,
            push: false,
            loop_defaults: LoopStartOptions {
                max_iterations: Some(MAX_ITERATIONS_DEFAULT),
                baseline: Some(BaselineMode::Base),
                ..LoopStartOptions::default()
            },
            cooldown: Duration::ZERO,
            context_permille: 0,
            context_window: None,
            judge: JudgeOptions::default(),
            pipeline: PipelineOptions::default(),
            memory_enabled: true,
            memory_url: None,
            memory_text_bytes: 100 * MIB,
            memory_glossary: None,
            daemon_idle: Duration::from_mins(30),
            tools: None,
            withheld: WithheldOptions::default(),
        }
    }
}

impl Config {
    /// Applies the files (lowest first) and then the environment to the defaults. `catalogue` has
    /// the ids that options may refer to.
    pub fn load(
        files: &[OptionFile],
        env: &BTreeMap<String, String>,
        catalogue: &Catalogue,
    ) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        for OptionFile { name, text, is_trusted, is_of_user } in files {
            let mut layer = parse(name, text)?;
            if !is_trusted {
                layer.withhold_programs(&mut config.withheld);
            }
            if !is_of_user {
                layer.memory.url = None;
                layer.memory.max_mb = None;
            }
            let url = layer.memory.url.as_deref();
            let refused = url.and_then(|url| users_only::refusal(url, true));
            let applied = match refused {
                Some(reason) => Err((users_only::TEAM_URL_KEY.to_owned(), reason.to_owned())),
                None => config.apply_layer(layer, catalogue),
            };
            applied.map_err(|(key, reason)| ConfigError {
                source_name: name.clone(),
                line: line_of(text, &key),
                key: format!("ralph.{key}"),
                reason,
            })?;
        }
        for key in KEYS {
            let variable = variable_of(key);
            let Some(value) = env.get(&variable) else { continue };
            config.apply_variable(&variable, key, value, catalogue)?;
        }
        Ok(config)
    }

    /// Parses a variable's value as the YAML value of its key.
    fn apply_variable(
        &mut self,
        variable: &str,
        key: &str,
        value: &str,
        catalogue: &Catalogue,
    ) -> Result<(), ConfigError> {
        let error = |reason| ConfigError {
            source_name: format!("environment variable {variable}"),
            line: None,
            key: format!("ralph.{key}"),
            reason,
        };
        let nested = key
            .split('.')
            .rev()
            .fold(value.to_owned(), |inner, part| format!("{{{part}: {inner}}}"));
        let layer =
            parse(variable, &format!("ralph: {nested}")).map_err(|inner| error(inner.reason))?;
        self.apply_layer(layer, catalogue).map_err(|(_, reason)| error(reason))
    }

    fn apply_layer(
        &mut self,
        layer: ConfigLayer,
        catalogue: &Catalogue,
    ) -> Result<(), OptionRefusal> {
        let ConfigLayer { enabled, lsp, scan, looping, judge, pipeline, sync, memory, daemon, mcp } =
            layer;
        set(&mut self.is_enabled, enabled);
        self.apply_scan(scan)?;
        self.apply_lsp(lsp, catalogue)?;
        self.apply_tools(mcp.tools)?;
        self.apply_loop(looping)?;
        self.judge.apply_layer(judge)?;
        self.pipeline.apply_layer(pipeline, &sync)?;
        set(&mut self.memory_enabled, memory.enabled);
        if let Some(url) = memory.url {
            if let Some(reason) = users_only::refusal(&url, false) {
                return Err((users_only::TEAM_URL_KEY.to_owned(), reason.to_owned()));
            }
            self.memory_url = Some(url).filter(|url| !url.is_empty());
        }
        let mib = |mib| mib * MIB;
        bounded(&mut self.memory_text_bytes, MEMORY_SIZE_KEY, memory.max_mb, 1..=1_048_576, mib)?;
        self.add_to_glossary(memory.glossary)?;
        let secs = Duration::from_secs;
        bounded(&mut self.daemon_idle, "daemon.idle_secs", daemon.idle_secs, 1..=86_400, secs)
    }

    fn add_to_glossary(&mut self, words: BTreeMap<String, String>) -> Result<(), OptionRefusal> {
        if words.is_empty() {
            return Ok(());
        }
        let known = self.memory_glossary.as_deref().unwrap_or_else(|| Glossary::built_in());
        let mut glossary = known.clone();
        for (korean, english) in words {
            let added = glossary.extend(&format!("{}\t{}", korean.trim(), english.trim()));
            added
                .map_err(|fault| (format!("memory.glossary.{korean}"), fault.reason.to_owned()))?;
        }
        self.memory_glossary = Some(Arc::new(glossary));
        Ok(())
    }

    fn apply_scan(&mut self, scan: ScanLayer) -> Result<(), OptionRefusal> {
        set(&mut self.scan_enabled, scan.enabled);
        set(&mut self.rule_dirs, scan.rule_dirs);
        set(&mut self.disabled_rules, scan.disable);
        for (id, severity) in scan.severity {
            if !SEVERITIES.contains(&severity.as_str()) {
                let reason = format!("{severity} is not one of {}", SEVERITIES.join(", "));
                return Err((format!("scan.severity.{id}"), reason));
            }
            self.rule_severities.insert(id, severity);
        }
        Ok(())
    }

    fn apply_lsp(&mut self, lsp: LspLayer, catalogue: &Catalogue) -> Result<(), OptionRefusal> {
        set(&mut self.lsp_enabled, lsp.enabled);
        set(&mut self.lsp_required, lsp.required);
        match lsp.languages {
            None => {}
            Some(LanguagesOption::Word(AllKeyword::All)) => self.languages = None,
            Some(LanguagesOption::List(ids)) => {
                let unknown = ids.iter().find(|id| catalogue.language(id).is_none());
                if let Some(id) = unknown {
                    return Err(("lsp.languages".to_owned(), unknown_language(id, catalogue)));
                }
                self.languages = Some(ids);
            }
        }
        self.apply_servers(lsp.choose, lsp.servers, catalogue)?;
        bounded(
            &mut self.inline_budget,
            "lsp.inline_budget_ms",
            lsp.inline_budget_ms,
            0..=10_000,
            Duration::from_millis,
        )?;
        bounded(
            &mut self.server_idle,
            "lsp.idle_secs",
            lsp.idle_secs,
            1..=86_400,
            Duration::from_secs,
        )?;
        let memory = [
            (&mut self.memory_soft_bytes, "lsp.memory_soft_mb", lsp.memory_soft_mb),
            (&mut self.memory_hard_bytes, "lsp.memory_hard_mb", lsp.memory_hard_mb),
        ];
        for (place, key, value) in memory {
            bounded(place, key, value, 64..=1_048_576, |mib| mib * MIB)?;
        }
        Ok(())
    }

    fn apply_tools(&mut self, tools: Option<ToolsOption>) -> Result<(), OptionRefusal> {
        match tools {
            None => {}
            Some(ToolsOption::Word(AllKeyword::All)) => self.tools = None,
            Some(ToolsOption::List(names)) => {
                if let Some(name) = names.iter().find(|name| !TOOLS.contains(&name.as_str())) {
                    let known = TOOLS.join(", ");
                    let reason = format!("unknown tool {name}; known: {known}");
                    return Err(("mcp.tools".to_owned(), reason));
                }
                self.tools = Some(names);
            }
        }
        Ok(())
    }

    /// Tools offered to agents.
    #[must_use]
    pub fn mcp_tools(&self) -> Vec<&str> {
        TOOLS
            .into_iter()
            .filter(|name| match &self.tools {
                None => true,
                Some(names) => names.iter().any(|one| one == name),
            })
            .collect()
    }

    fn apply_servers(
        &mut self,
        choose: BTreeMap<String, Vec<String>>,
        servers: BTreeMap<String, ServerOverride>,
        catalogue: &Catalogue,
    ) -> Result<(), OptionRefusal> {
        let unknown_server = |id: &str| {
            let known: Vec<&str> = catalogue.server_ids().collect();
            format!("unknown language server {id}; known: {}", known.join(", "))
        };
        for (language, ids) in choose {
            let key = format!("lsp.choose.{language}");
            if catalogue.language(&language).is_none() {
                return Err((key, unknown_language(&language, catalogue)));
            }
            if let Some(id) = ids.iter().find(|id| catalogue.server(id).is_none()) {
                return Err((key, unknown_server(id)));
            }
            if ids.is_empty() {
                return Err((key, "name at least one language server".to_owned()));
            }
            if let Some(id) = ids.iter().find(|id| !catalogue.serves_language(id, &language)) {
                return Err((key, format!("{id} is a language server of other languages")));
            }
            self.server_choices.insert(language, ids);
        }
        for (id, over) in servers {
            if catalogue.server(&id).is_none() {
                return Err((format!("lsp.servers.{id}"), unknown_server(&id)));
            }
            self.servers.entry(id).or_default().override_with(over);
        }
        Ok(())
    }

    #[must_use]
    pub fn overrides(&self) -> CatalogueOverrides {
        CatalogueOverrides {
            servers: self.servers.clone(),
            choose: self.server_choices.clone(),
            languages: self.languages.clone().unwrap_or_default(),
        }
    }

    /// True if language servers are used for this language.
    #[must_use]
    pub fn is_language_enabled(&self, language: &str) -> bool {
        self.lsp_enabled
            && self.languages.as_ref().is_none_or(|ids| ids.iter().any(|id| id == language))
    }
}

/// Key and reason.
type OptionRefusal = (String, String);

fn unknown_language(id: &str, catalogue: &Catalogue) -> String {
    let known: Vec<&str> = catalogue.language_ids().collect();
    format!("unknown language {id}; known: {}", known.join(", "))
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn bounded<T>(
    place: &mut T,
    key: &'static str,
    value: Option<u64>,
    range: std::ops::RangeInclusive<u64>,
    convert: impl Fn(u64) -> T,
) -> Result<(), OptionRefusal> {
    let Some(value) = value else { return Ok(()) };
    if !range.contains(&value) {
        let (low, high) = range.into_inner();
        return Err((key.to_owned(), format!("{value} is not between {low} and {high}")));
    }
    *place = convert(value);
    Ok(())
}

/// The environment variable of a key.
fn variable_of(key: &str) -> String {
    format!("MOAI_RALPH_{}", key.replace('.', "_").to_uppercase())
}

fn parse(name: &str, text: &str) -> Result<ConfigLayer, ConfigError> {
    // A file that is empty or contains only comments sets nothing.
    let is_empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if text.lines().all(is_empty) {
        return Ok(ConfigLayer::default());
    }
    let mut key = String::new();
    let parsed = serde_saphyr::with_deserializer_from_str(text, |input| {
        serde_path_to_error::deserialize::<_, ConfigDocument>(input).map_err(|error| {
            key = error.path().to_string();
            error.into_inner()
        })
    });
    parsed.map(|document| document.ralph).map_err(|error| {
        let reason = error.without_snippet().to_string();
        let reason = plain_reason(reason.lines().next().unwrap_or_default());
        let key = if key == "." { String::new() } else { key };
        ConfigError {
            source_name: name.to_owned(),
            line: error.location().map(|at| at.line()),
            key,
            reason,
        }
    })
}

/// A reason of the YAML parser without names of its interface, which mean nothing to the user.
fn plain_reason(reason: &str) -> String {
    const PLAIN: [(&str, &str); 3] = [
        ("invalid u64", "expected a whole number, 0 or more"),
        ("duplicate mapping key", "duplicate key"),
        ("from_str_multiple", "expected a single YAML document"),
    ];
    let plain = PLAIN.iter().find(|(part, _)| reason.contains(part));
    plain.map_or(reason, |(_, plain)| plain).to_owned()
}

/// The line of a key whose value is out of range. The parser accepted it without recording its
/// position, so the last part of the key is searched.
fn line_of(text: &str, key: &str) -> Option<u64> {
    // In flow style, the key may be on the line of an outer one.
    let line = key.rsplit('.').find_map(|part| {
        let name = format!("{part}:");
        text.lines().position(|line| line.trim_start().starts_with(&name))
    })?;
    u64::try_from(line + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(files: &[&str], env: &[(&str, &str)]) -> Result<Config, String> {
        let files = files.iter().map(|text| (*text).to_owned());
        let files: Vec<_> = files
            .map(|text| OptionFile {
                name: "ralph.yaml".to_owned(),
                text,
                is_trusted: true,
                is_of_user: true,
            })
            .collect();
        let env =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Config::load(&files, &env, Catalogue::built_in()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_documented_file_states_the_defaults_and_every_key() {
        let documented = include_str!("../../../config/ralph.yaml");
        assert_eq!(load(&[documented], &[]), Ok(Config::default()));
        for key in KEYS {
            let name = format!("{}:", key.rsplit('.').next().expect("a name"));
            assert!(documented.contains(&name), "{key} is not documented");
        }
    }

    #[test]
    fn sections_whose_options_are_commented_out_set_nothing() {
        for text in ["ralph:\n", "ralph:\n  loop:\n    # max_iterations: 3\n  lsp:\n"] {
            assert_eq!(load(&[text], &[]), Ok(Config::default()), "{text}");
        }
    }

    #[test]
    fn errors_of_the_parser_are_in_plain_words() {
        for (text, expected) in [
            ("ralph:\n  loop:\n    max_iterations: -1\n", "expected a whole number"),
            ("ralph:\n  enabled: true\n  enabled: false\n", "duplicate key"),
            ("ralph:\n  enabled: true\n---\nralph: {}\n", "expected a single YAML document"),
        ] {
            let error = load(&[text], &[]).expect_err(text);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn each_layer_overrides_only_the_keys_it_sets() {
        let user = "ralph:\n  loop:\n    max_iterations: 3\n  lsp: {inline_budget_ms: 100}\n";
        let project = "ralph:\n  loop:\n    max_iterations: 4\n";
        let config = load(&[user, project], &[]).expect("valid");
        assert_eq!(
            (config.loop_defaults.max_iterations, config.inline_budget.as_millis()),
            (Some(4), 100)
        );
        let env = [("MOAI_RALPH_LOOP_MAX_ITERATIONS", "5"), ("MOAI_RALPH_LSP_LANGUAGES", "[go]")];
        let config = load(&[user, project], &env).expect("valid");
        assert_eq!(config.loop_defaults.max_iterations, Some(5));
        assert!(config.is_language_enabled("go") && !config.is_language_enabled("python"));
        assert_eq!(load(&["# nothing\n", ""], &[]), Ok(Config::default()));
    }

    #[test]
    fn rules_are_added_switched_off_and_weighed_layer_by_layer() {
        let user = "ralph: {scan: {disable: [a], severity: {b: off, c: error}}}";
        let project = "ralph: {scan: {rule_dirs: [lint], disable: [d], severity: {c: hint}}}";
        let config = load(&[user, project], &[]).expect("valid");
        assert_eq!(
            (config.rule_dirs, config.disabled_rules),
            (vec!["lint".into()], vec!["d".into()])
        );
        let severities: Vec<_> = config.rule_severities.into_iter().collect();
        assert_eq!(severities, [("b".into(), "off".into()), ("c".into(), "hint".into())]);
        let env =
            [("MOAI_RALPH_SCAN_SEVERITY", "{b: info}"), ("MOAI_RALPH_SCAN_DISABLE", "[x, y]")];
        let config = load(&[user], &env).expect("valid");
        assert_eq!(
            (config.rule_severities["b"].as_str(), config.disabled_rules.len()),
            ("info", 2)
        );
    }

    #[test]
    fn every_configured_judge_has_a_name() {
        let names = |text: &str| {
            let judges = load(&[text], &[]).expect("valid").judge.judges();
            judges.into_iter().map(|one| format!("{} {}", one.name, one.model)).collect::<Vec<_>>()
        };
        assert_eq!(names(""), ["claude "]);
        assert_eq!(names("ralph: {judge: {backend: openai, model: m}}"), ["openai m"]);
        let two = "{name: a, model: x}, {backend: command, command: [judge.sh]}";
        assert_eq!(names(&format!("ralph: {{judge: {{judges: [{two}]}}}}")), ["a x", "command "]);
        let options = load(&["ralph: {judge: {max_budget_usd: 0.29}}"], &[]).expect("valid").judge;
        assert_eq!(options.budget_cents, 29);
        check_error(&["ralph:\n  judge:\n    url: ftp://x\n"], &[], &["ralph.yaml:3", "judge.url"]);
        check_error(&["ralph: {judge: {max_budget_usd: 0}}"], &[], &["max_budget_usd", "0.01"]);
        check_error(&["ralph: {judge: {backend: oracle}}"], &[], &["judge.backend"]);
    }

    #[test]
    fn the_share_of_the_context_is_kept_in_thousandths_and_only_zero_is_off() {
        let share = |text: &str| {
            let text = format!("ralph: {{loop: {{context_budget: {text}}}}}");
            load(&[&text], &[]).expect("valid").context_permille
        };
        for (text, permille) in [("0.6", 600), ("0", 0), ("1", 1_000), ("0.07", 70), ("1e-9", 1)] {
            assert_eq!(share(text), permille, "{text}");
        }
        for wrong in ["60", "-0.1", ".nan"] {
            let text = format!("ralph:\n  loop:\n    context_budget: {wrong}\n");
            check_error(&[&text], &[], &["ralph.yaml:3", "loop.context_budget", "0 and 1"]);
        }
        let window = |tokens: u64| format!("ralph: {{loop: {{context_window: {tokens}}}}}");
        let load = |tokens| load(&[&window(tokens)], &[]).map(|config| config.context_window);
        assert_eq!((load(0), load(1_000)), (Ok(None), Ok(Some(1_000))));
        check_error(&[&window(999)], &[], &["loop.context_window", "0, or from 1000 to 10000000"]);
        let long = "ralph: {loop: {cooldown_ms: 60001}}";
        check_error(&[long], &[], &["loop.cooldown_ms", "0 and 60000"]);
        let baseline = "ralph: {loop: {baseline: HEAD}}";
        check_error(&[baseline], &[], &["loop.baseline", "HEAD is not one of base, none"]);
    }

    #[test]
    fn words_of_all_layers_extend_the_glossary() {
        let user = "ralph:\n  memory:\n    glossary: {정산: 'settlement, payout batch'}\n";
        let project = "ralph:\n  memory:\n    glossary: {원장: ledger}\n";
        let config = load(&[user, project], &[]).expect("valid");
        let mut expected = Glossary::built_in().clone();
        expected.extend("정산\tsettlement, payout batch\n원장\tledger").unwrap();
        assert_eq!(config.memory_glossary.as_deref(), Some(&expected));
        let wrong = "ralph:\n  memory:\n    glossary: {ledger: 원장}\n";
        check_error(&[wrong], &[], &["ralph.yaml:3", "memory.glossary.ledger", "not Korean"]);
    }

    #[test]
    fn memory_limits_are_read_in_mib_within_their_range() {
        let text = "ralph:\n  lsp:\n    memory_soft_mb: 64\n    memory_hard_mb: 1048576\n";
        let config = load(&[text], &[]).expect("both bounds are allowed");
        assert_eq!((config.memory_soft_bytes, config.memory_hard_bytes), (64 * MIB, 1 << 40));
        let small = "ralph:\n  lsp:\n    memory_hard_mb: 63\n";
        check_error(&[small], &[], &["ralph.yaml:3", "ralph.lsp.memory_hard_mb", "64 and 1048576"]);
    }

    fn check_error(files: &[&str], env: &[(&str, &str)], expected: &[&str]) {
        let error = load(files, env).expect_err("invalid");
        for part in expected {
            assert!(error.contains(part), "{part:?} is not in {error:?}");
        }
    }

    #[test]
    fn errors_name_file_line_and_key() {
        let wrong_type = "ralph:\n  lsp:\n    inline_budget_ms: soon\n";
        check_error(&[wrong_type], &[], &["ralph.yaml:3", "ralph.lsp.inline_budget_ms"]);
        let unknown = "ralph:\n  lsp:\n    inline_budget: 5\n";
        check_error(&[unknown], &[], &["ralph.yaml:3", "inline_budget"]);
        let range = "ralph:\n  loop:\n    max_iterations: 0\n";
        check_error(&[range], &[], &["ralph.yaml:3", "ralph.loop.max_iterations", "1 and 1000"]);
        let language = "ralph: {lsp: {languages: [pyhton]}}";
        check_error(&[language], &[], &["pyhton", "php, python, r"]);
        check_error(&["ralph: {mcp: {tools: [renam]}}"], &[], &["renam", "diagnostics"]);
        let foreign = "ralph: {lsp: {choose: {python: [gopls]}}}";
        check_error(&[foreign], &[], &["gopls", "other languages"]);
        let severity = "ralph:\n  scan:\n    severity:\n      py-eval: fatal\n";
        check_error(&[severity], &[], &["ralph.yaml:4", "scan.severity.py-eval", "warning"]);
        check_error(&["ralph: [\n"], &[], &["ralph.yaml"]);
        check_error(&[], &[("MOAI_RALPH_SCAN_ENABLED", "maybe")], &["MOAI_RALPH_SCAN_ENABLED"]);
    }
}
