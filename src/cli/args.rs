//! The arguments, as clap reads them. The doc comments are the help texts.

pub(super) mod guard;
pub(super) mod looping;
pub(super) mod memory;
pub(super) mod pipeline;
pub(super) mod scan;
pub(super) mod specs;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use moai_base::limits::SEARCH_MATCHES_MAX;
use moai_protocol::control::ReportFormat;
use moai_protocol::hosts::HostKind;

/// Verifies a coding agent's work as it goes: fresh diagnostics, a structural scan, and turns
/// that end only when the work is done.
///
/// Exit codes: 0 success (for check: clean and fully measured); 1 findings, or refused; 3 usage
/// error or invalid input; 4 something could not be measured; 130 interrupted. Never 2.
#[derive(Debug, Parser)]
#[command(name = "moai-ralph", version)]
pub(super) struct CliArgs {
    /// Root of the project [default: nearest folder with .moai/ inside the git work tree, else the work tree, else here]
    #[arg(long, global = true, help_heading = "Global options", value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    /// Print one JSON document on stdout instead of text
    #[arg(long, global = true, help_heading = "Global options")]
    pub(super) json: bool,
    /// Print no text; requested JSON and the exit code are unaffected
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(super) quiet: bool,
    /// Show hints as well
    #[arg(short, long, global = true, help_heading = "Global options", conflicts_with = "quiet")]
    pub(super) verbose: bool,
    /// When to color text
    #[arg(long, global = true, help_heading = "Global options", value_enum, default_value_t = ColorMode::Auto, value_name = "WHEN")]
    pub(super) color: ColorMode,
    #[command(subcommand)]
    pub(super) command: CliCommand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorMode {
    Auto,
    Always,
    Never,
}

impl CliArgs {
    /// The format of a report; `--json` selects JSON unless another format was requested.
    pub(super) fn format(&self, asked: ReportFormat) -> ReportFormat {
        if self.json && asked == ReportFormat::Text { ReportFormat::Json } else { asked }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum CliCommand {
    /// Check files with language servers and the structural scan
    Check(CheckArgs),
    /// Run only the structural scan
    Scan(scan::ScanArgs),
    /// Detect changes that weaken tests, checks or types
    Guard(guard::GuardArgs),
    /// Find all references to the symbol at a position
    References(LocationArgs),
    /// Find the definition of the symbol at a position
    Definition(LocationArgs),
    /// Show the type and documentation of the symbol at a position
    Hover(LocationArgs),
    /// List the symbols of a file, or search the project's symbols by name
    Symbols(SymbolsArgs),
    /// Rename a symbol in all files; shows a preview without --apply
    Rename(RenameArgs),
    /// Structural search with ast-grep patterns such as 'f($A, $$$REST)'
    Search(SearchArgs),
    /// Structural search and replace in all files; shows a preview without --apply
    Rewrite(RewriteArgs),
    /// Ask the judges whether the current change meets RUBRIC.md
    Judge(JudgeArgs),
    /// Manage loops, which hold the agent's Stop until the evidence is clean
    #[command(subcommand)]
    Loop(looping::LoopCommand),
    /// Work through an approved plan, each TODO accepted by a run of its commands
    #[command(subcommand)]
    Pipeline(pipeline::PipelineCommand),
    /// Find, keep and forget what earlier sessions learned
    #[command(subcommand)]
    Memory(memory::MemoryCommand),
    /// Create and check specifications, and the constraints of the work
    #[command(subcommand)]
    Spec(specs::SpecCommand),
    /// Hook of an agent client: JSON on stdin, JSON or nothing on stdout, always exits with 0
    Hook {
        /// session-start, user-prompt-submit, user-prompt-expansion, pre-tool-use, post-tool-use,
        /// post-tool-batch, stop, subagent-stop, pre-compact or session-end [default: the event in
        /// the input]
        event: Option<String>,
        /// The calling client: claude-code, codex, copilot or opencode [default: detected from the input]
        #[arg(long)]
        host: Option<String>,
    },
    /// Manage language servers
    #[command(subcommand)]
    Server(ServerCommand),
    /// Manage the background process that keeps language servers running; it starts on demand
    #[command(subcommand)]
    Daemon(DaemonCommand),
    /// Show each language's server, what is missing, and whether daemon and databases are healthy
    Doctor(DoctorArgs),
    /// Register the hooks with an agent client, or remove them; only for a person
    Init(InitArgs),
    /// Show or set options
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Trust a project: allow its own programs to run
    Trust(TrustArgs),
    /// Serve the engine's tools to an agent over MCP on stdio
    Mcp,
    /// Run a complete loop in a temporary project with a scripted agent
    Demo(DemoArgs),
}

impl CliCommand {
    /// The name of a command that is for people or another protocol and prints no JSON document.
    pub(super) fn name_without_document(&self) -> Option<&'static str> {
        match self {
            Self::Init(_) => Some("init"),
            Self::Config(ConfigCommand::Set { .. }) => Some("config set"),
            Self::Mcp => Some("mcp"),
            Self::Daemon(DaemonCommand::Run { .. }) => Some("daemon run"),
            Self::Demo(_) => Some("demo"),
            _ => None,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Show options with their values and where these are set
    Show {
        /// An option, such as `loop.max_iterations`, or a section, such as loop [default: all]
        key: Option<String>,
    },
    /// Set an option in the project's file; only for a person
    Set {
        /// The option, such as `loop.max_iterations`
        key: String,
        /// A YAML value on one line
        value: String,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct InitArgs {
    /// The client; Claude Code with the plugin does not need this
    #[arg(long, value_enum)]
    pub(super) host: HostArg,
    /// Register for all your projects instead of this one
    #[arg(long)]
    pub(super) user: bool,
    /// Remove moai-ralph's entries; keep everything else
    #[arg(long)]
    pub(super) remove: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum HostArg {
    ClaudeCode,
    Codex,
    Copilot,
    #[value(name = "opencode")]
    OpenCode,
}

impl HostArg {
    pub(super) fn kind(self) -> HostKind {
        match self {
            Self::ClaudeCode => HostKind::ClaudeCode,
            Self::Codex => HostKind::Codex,
            Self::Copilot => HostKind::Copilot,
            Self::OpenCode => HostKind::OpenCode,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct TrustArgs {
    /// Stop trusting the project
    #[arg(long, conflicts_with = "show")]
    pub(super) revoke: bool,
    /// Show what the project would run, without changing anything
    #[arg(long)]
    pub(super) show: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct CheckArgs {
    /// Files and folders [default: files changed against HEAD]
    pub(super) paths: Vec<PathBuf>,
    /// Check the whole project
    #[arg(long, conflicts_with = "paths")]
    pub(super) all: bool,
    /// Check what was changed since REV, committed or not; findings that REV has do not count
    #[arg(long, value_name = "REV", conflicts_with_all = ["paths", "all", "write_baseline"])]
    pub(super) base: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(super) format: OutputFormat,
    /// Lowest severity that fails the command; with `never`, findings do not fail it
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    pub(super) fail_on: FailOn,
    /// Exit with 0 instead of 4 when something could not be measured
    #[arg(long)]
    pub(super) allow_unmeasured: bool,
    /// File of known findings, which do not make the verdict dirty
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Write the current findings to FILE as known findings
    #[arg(long, value_name = "FILE")]
    pub(super) write_baseline: Option<PathBuf>,
    /// Skip language servers
    #[arg(long)]
    pub(super) no_lsp: bool,
    /// Skip the structural scan
    #[arg(long, conflicts_with = "no_lsp")]
    pub(super) no_scan: bool,
    /// Seconds to wait for language servers
    #[arg(long, default_value_t = 120, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(super) timeout: u64,
    /// Run in this process, without the background daemon
    #[arg(long)]
    pub(super) no_daemon: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct LocationArgs {
    /// Position, counted from 1; omit the column with --symbol
    #[arg(value_name = "FILE:LINE:COL", value_parser = FilePosition::parse)]
    pub(super) at: FilePosition,
    /// A name that occurs once on the line, instead of a column
    #[arg(long, value_name = "NAME")]
    pub(super) symbol: Option<String>,
    /// Seconds to wait for the language server
    #[arg(long, default_value_t = 120, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(super) timeout: u64,
}

#[derive(Debug, clap::Args)]
pub(super) struct SymbolsArgs {
    /// A file, or part of a name
    #[arg(value_name = "FILE|QUERY")]
    pub(super) subject: String,
    /// Seconds to wait for language servers
    #[arg(long, default_value_t = 120, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(super) timeout: u64,
}

#[derive(Debug, clap::Args)]
pub(super) struct RenameArgs {
    #[command(flatten)]
    pub(super) location: LocationArgs,
    /// The new name
    #[arg(value_name = "NEW_NAME", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(super) new_name: String,
    /// Write the changes: all files or none
    #[arg(long)]
    pub(super) apply: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct PatternScopeArgs {
    /// Language of the pattern and of the files to search; several: ts,tsx
    #[arg(long, required = true, value_name = "LANG", value_delimiter = ',')]
    pub(super) lang: Vec<String>,
    /// Files and folders [default: the whole project]
    pub(super) paths: Vec<PathBuf>,
    /// Seconds after which the remaining files are reported as not searched
    #[arg(long, default_value_t = 120, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(super) timeout: u64,
}

#[derive(Debug, clap::Args)]
pub(super) struct SearchArgs {
    /// Code pattern: $NAME matches one node, $$$NAME any number
    pub(super) pattern: String,
    #[command(flatten)]
    pub(super) scope: PatternScopeArgs,
    /// Maximum number of matches to show; the rest are only counted
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=SEARCH_MATCHES_MAX as u64))]
    pub(super) max_results: u64,
}

#[derive(Debug, clap::Args)]
pub(super) struct RewriteArgs {
    /// Code pattern: $NAME matches one node, $$$NAME any number
    pub(super) pattern: String,
    /// Replacement code; it can use the metavariables of the pattern
    pub(super) replacement: String,
    #[command(flatten)]
    pub(super) scope: PatternScopeArgs,
    /// Write the changes: all files or none
    #[arg(long)]
    pub(super) apply: bool,
}

/// `FILE:LINE` or `FILE:LINE:COL`; a file name may hold colons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilePosition {
    pub(super) file: PathBuf,
    pub(super) line: u32,
    pub(super) column: Option<u32>,
}

impl FilePosition {
    fn parse(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let split = |text: &str| {
            let (rest, last) = text.rsplit_once(':')?;
            Some((rest.to_owned(), number(last)?))
        };
        let Some((rest, last)) = split(text).filter(|(rest, _)| !rest.is_empty()) else {
            return Err("expected FILE:LINE:COL, counted from 1".to_owned());
        };
        // An impossible line number would otherwise be parsed as part of the file name.
        let is_number = |part: &str| part.bytes().all(|it| it.is_ascii_digit()) && !part.is_empty();
        if rest.rsplit_once(':').is_some_and(|(_, line)| is_number(line) && number(line).is_none())
        {
            return Err("expected FILE:LINE:COL, counted from 1".to_owned());
        }
        let spot = |file: String, line, column| Self { file: file.into(), line, column };
        Ok(match split(&rest).filter(|(file, _)| !file.is_empty()) {
            Some((file, line)) => spot(file, line, Some(last)),
            None => spot(rest, last, None),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    Text,
    Json,
    Sarif,
    Github,
}

impl OutputFormat {
    pub(super) fn format(self) -> ReportFormat {
        match self {
            Self::Text => ReportFormat::Text,
            Self::Json => ReportFormat::Json,
            Self::Sarif => ReportFormat::Sarif,
            Self::Github => ReportFormat::Github,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum FailOn {
    Error,
    Warning,
    Never,
}

impl FailOn {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Never => "never",
        }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum ServerCommand {
    /// Install pinned language servers into your data folder
    Install {
        /// Languages, or single servers: python, java, ruff
        #[arg(required = true, value_name = "LANG")]
        names: Vec<String>,
    },
    /// List running and failed servers of all projects
    List,
    /// Start a server for this project ahead of time
    Start {
        /// A language or a server: python, pyright
        #[arg(value_name = "LANG|ID")]
        what: String,
    },
    /// Stop servers; the next request starts them again
    Stop(ServerIdsArgs),
    /// Restart servers
    Restart(ServerIdsArgs),
    /// Show the recent stderr and log messages of a server
    Logs {
        /// Server id
        id: String,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct ServerIdsArgs {
    /// Server ids [default: all; with --root, those of that root]
    #[arg(value_name = "ID")]
    pub(super) ids: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum DaemonCommand {
    /// Run in the foreground; prints one line when it is listening
    Run {
        /// Leave the terminal and its session
        #[arg(long, hide = true)]
        detach: bool,
    },
    /// Show whether the daemon is running, and its language servers
    Status,
    /// Stop the daemon and its language servers
    Stop,
}

#[derive(Debug, clap::Args)]
pub(super) struct DoctorArgs {
    /// Run the conformance probes against the installed servers, or only those of the given
    /// languages
    #[arg(long, value_name = "LANG", num_args = 0.., value_delimiter = ',')]
    pub(super) servers: Option<Vec<String>>,
    /// Show which agent clients have the hooks, whether the user approved them, and when each last ran
    #[arg(long, conflicts_with = "servers")]
    pub(super) hosts: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct JudgeArgs {
    /// The rubric [default: RUBRIC.md of the project]
    #[arg(long, value_name = "FILE")]
    pub(super) rubric: Option<PathBuf>,
    /// Commit to compare with [default: HEAD]
    #[arg(long, value_name = "REV")]
    pub(super) base: Option<String>,
    /// Record the judgement in the same files a loop uses
    #[arg(long)]
    pub(super) record: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct DemoArgs {
    /// Install missing language servers without asking
    #[arg(long, conflicts_with = "no_lsp")]
    pub(super) install: bool,
    /// Use only the structural scan
    #[arg(long)]
    pub(super) no_lsp: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn a_place_is_read_from_its_end() {
        let check = |text: &str, expected: Option<(&str, u32, Option<u32>)>| {
            let spot = FilePosition::parse(text).ok();
            let expected = expected.map(|(file, line, column)| FilePosition {
                file: PathBuf::from(file),
                line,
                column,
            });
            assert_eq!(spot, expected, "{text}");
        };
        check("src/a.py:3:5", Some(("src/a.py", 3, Some(5))));
        check("src/a.py:3", Some(("src/a.py", 3, None)));
        check("odd:name.py:3:5", Some(("odd:name.py", 3, Some(5))));
        for text in
            ["src/a.py", "src/a.py:0", "a.py:0:3", "a.py:4294967296:5", "a.py:x:1x", ":3", "3", ""]
        {
            check(text, None);
        }
    }

    #[test]
    fn the_arguments_are_consistent() {
        CliArgs::command().debug_assert();
    }
}
