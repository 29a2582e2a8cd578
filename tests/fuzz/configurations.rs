//! Files of a project that configure this program or others.

use std::collections::{BTreeMap, BTreeSet};

use moai_base::jsonc::parse_jsonc;
use moai_base::path::RelPath;
use moai_base::toml_value::parse_toml;
use moai_config::prices::PriceList;
use moai_config::{Config, OptionFile};
use moai_loops::criteria::propose::{ProposalFolder, READ, propose_checks};
use moai_lsp::faults::{declared_packages, extended_configs, go_replacements, go_work_modules};
use moai_lsp::registry::{Catalogue, HostServers};
use moai_lsp::switched_off::{
    CheckedFile, CoveringProject, PyrightConfig, PyrightLayer, pyright_gap, typescript_gap,
};
use moai_protocol::baseline::{format_baseline, parse_baseline};

use crate::corpus::{files, texts};
use crate::runner::{fuzz, shown, text};

const OPTIONS: [&str; 2] = [
    "ralph:\n  enabled: true\n  lsp:\n    inline_budget_ms: 500\n    languages: [python, go]\n    choose: {python: [pyright]}\n    servers:\n      pyright: {command: x, args: [--stdio], settings: {a: [1, 2.5, null]}}\n  scan: {disable: [a], severity: {b: off}, rule_dirs: [rules]}\n  loop:\n    max_iterations: 7\n    stop_timeout: 60\n    success_criteria: [tests]\n    checks: [npm test, {run: 'cargo test', name: tests, folder: a}]\n    context_budget: 0.5\n  judge: {backend: claude, max_budget_usd: 0.25, judges: [{model: a}]}\n  daemon: {idle_secs: 60}\n  mcp: {tools: all}\n",
    "base: &a {enabled: false}\nralph:\n  <<: *a\n  lsp: !!map {required: yes}\n  # comment\n  scan:\n    enabled: |\n      true\n",
];

const HOST_SERVERS: &str = r#"{"zls": {"command": "zls", "args": ["--x"], "extensionToLanguage": {".zig": "zig"}, "transport": "stdio", "env": {"A": "b"}, "initializationOptions": {"a": [1]}, "settings": {"z": {"y": 1}}, "workspaceFolder": "/x", "startupTimeout": 1000, "maxRestarts": 3}}"#;

const JSONC: [&str; 3] = [
    "// why\n{\n  \"extends\": [\"./base.json\", \"@tsconfig/node20/tsconfig.json\"],\n  \"compilerOptions\": {\"strict\": true, \"paths\": {\"@/*\": [\"src/*\"]}, /* c */ \"noEmit\": true,},\n  \"include\": [\"src/**/*\"], \"exclude\": [\"**/x?/*.ts\"],\n}\n",
    "{\"ignore\": [\"**/gen\", \"a/*/b?.py\"], \"strict\": [\"src\"], \"typeCheckingMode\": \"off\", \"reportX\": \"none\"}",
    "{\"name\": \"a\", \"scripts\": {\"test\": \"jest\", \"lint\": \"eslint .\"}, \"dependencies\": {\"react\": \"1\"}, \"workspaces\": [\"packages/*\"]}",
];

const TOML: [&str; 2] = [
    "[project]\nname = 'a'\n[tool.pytest.ini_options]\naddopts = \"-q\"\nnumbers = [1, 2.5, inf, nan, 0xff, 1979-05-27T07:32:00Z]\n[tool.ruff.lint]\nselect = ['E', \"F\"]\n[[tool.x]]\na.b.c = {d = '''x\ny'''}\n",
    "[package]\nname = \"a\"\n[workspace]\nmembers = [\"a\", \"b\"]\n[lints.rust]\nunsafe_code = { level = \"forbid\", priority = -1 }\n",
];

const GO: [&str; 2] = [
    "go 1.22\n\nuse (\n\t./a // why\n\t\"./b\"\n)\nuse ./c\nreplace x.y/z => ../z\n",
    "module a\n\nreplace (\n\tx v1.0.0 => ./x\n\ty => y.example v2.0.0\n)\n",
];

const BASELINE: &str = "{\"schema\":\"moai-ralph/baseline@1\",\"entries\":[\n{\"path\":\"a.py\",\"sensor\":\"scan\",\"code\":\"x\",\"anchor\":\"12ab\",\"count\":2},\n{\"path\":\"한글.py\",\"sensor\":\"pyright\",\"code\":\"\",\"anchor\":\"\",\"count\":18446744073709551615}\n]}\n";

/// As `pytest` and `make` are configured.
const OTHERS: [&str; 2] = [
    "[tool:pytest]\naddopts = -q\n[flake8]\nmax-line-length = 100\n",
    ".PHONY: test lint\ntest: build\n\tgo test ./...\nlint:\n\tgolangci-lint run\n",
];

#[test]
fn option_files() {
    fuzz("option-files", &texts(&OPTIONS), |input| {
        let is_trusted = input.len() % 2 == 0;
        let file = OptionFile {
            name: "ralph.yaml".to_owned(),
            text: text(input),
            is_trusted,
            is_of_user: is_trusted,
        };
        match Config::load(&[file], &BTreeMap::new(), Catalogue::built_in()) {
            Ok(config) => shown(&config),
            Err(error) => {
                let shown = error.to_string();
                assert!(error.line.is_none_or(|line| line >= 1), "{shown}");
                shown.len()
            }
        }
    });
}

#[test]
fn option_variables() {
    let samples = ["all", "[python, go]", "{a: error}", "true", "0.5", "npm test", "[{run: x}]"];
    fuzz("option-variables", &texts(&samples), |input| {
        let names = ["LSP_LANGUAGES", "SCAN_SEVERITY", "LOOP_CHECKS", "LOOP_CONTEXT_BUDGET"];
        let load = |name: &str| {
            let env = BTreeMap::from([(format!("MOAI_RALPH_{name}"), text(input))]);
            let loaded = Config::load(&[], &env, Catalogue::built_in());
            loaded.map_or_else(|error| error.to_string().len(), |config| shown(&config))
        };
        names.into_iter().map(load).max().unwrap_or_default()
    });
}

#[test]
fn catalogues() {
    fuzz("catalogues", &files("crates/lsp", "lsp.json", 1), |input| {
        match Catalogue::parse(&text(input)) {
            Ok(own) => {
                let merged = Catalogue::built_in().with_project_entries(own);
                shown(&merged.dangling_server()) + merged.server_ids().count()
            }
            Err(error) => error.to_string().len(),
        }
    });
}

#[test]
fn host_server_files() {
    fuzz("host-servers", &texts(&[HOST_SERVERS]), |input| match HostServers::parse(&text(input)) {
        Ok(file) => {
            let merged = Catalogue::built_in().clone().with_host_servers(file);
            merged.server_ids().count()
        }
        Err(error) => error.to_string().len(),
    });
}

#[test]
fn price_tables() {
    fuzz("prices", &files("config", "prices.yaml", 1), |input| {
        PriceList::parse(&text(input))
            .map_or_else(|error| error.to_string().len(), |table| shown(&table.context_tokens("x")))
    });
}

#[test]
fn json_with_comments() {
    fuzz("jsonc", &texts(&JSONC), |input| {
        let input = text(input);
        let read = match parse_jsonc(&input) {
            Ok(value) => {
                let written = value.clone().unwrap_or_default().to_string();
                assert_eq!(parse_jsonc(&written).expect("JSON is JSON with comments"), value);
                written.len()
            }
            Err(error) => error.len(),
        };
        read + shown(&declared_packages(&input)) + shown(&extended_configs(&input))
    });
}

#[test]
fn toml() {
    let samples = [texts(&TOML), files(".", "Cargo.toml", 2)].concat();
    fuzz("toml", &samples, |input| {
        parse_toml(&text(input)).map_or_else(|error| error.len(), |value| value.to_string().len())
    });
}

#[test]
fn type_checker_configurations() {
    fuzz("type-checkers", &texts(&JSONC), |input| {
        let Ok(Some(keys)) = parse_jsonc(&text(input)) else { return 0 };
        let layer = PyrightLayer { folder: "/r/b".to_owned(), keys: keys.clone() };
        let config = PyrightConfig { name: "pyrightconfig.json".to_owned(), layers: vec![layer] };
        let gap = pyright_gap("/r/b/a/gen/b1.py", "# pyright: strict\n", Some(&config));
        let project = CoveringProject {
            config: Some("tsconfig.json".to_owned()),
            texts: vec![text(input)],
            is_near_config: true,
        };
        let path = RelPath::parse("src/a.ts").expect("a relative path");
        let file = CheckedFile {
            path: &path,
            language_id: "typescript",
            text: "// @ts-check
",
        };
        shown(&gap) + shown(&typescript_gap(file, &project))
    });
}

#[test]
fn go_modules() {
    fuzz("go-modules", &texts(&GO), |input| {
        let input = text(input);
        shown(&go_work_modules(&input)) + shown(&go_replacements(&input))
    });
}

#[test]
fn proposed_checks() {
    let samples = [texts(&JSONC), texts(&TOML), texts(&OTHERS)].concat();
    fuzz("proposed-checks", &samples, |input| {
        let names: Vec<String> = READ.iter().map(|name| (*name).to_owned()).collect();
        let folder = ProposalFolder {
            path: String::new(),
            names: BTreeSet::from_iter(names.clone()),
            texts: names.into_iter().map(|name| (name, text(input))).collect(),
        };
        shown(&propose_checks(&[folder]))
    });
}

#[test]
fn baselines() {
    fuzz("baselines", &texts(&[BASELINE]), |input| match parse_baseline(&text(input)) {
        Ok(baseline) => {
            let written = format_baseline(&baseline);
            assert_eq!(parse_baseline(&written).as_ref(), Ok(&baseline), "{written}");
            written.len()
        }
        Err(error) => error.len(),
    });
}
