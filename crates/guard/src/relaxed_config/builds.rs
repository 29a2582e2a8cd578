//! G12 in files that are compared by words: Java and C# builds, lists of ignored paths, pre-commit
//! hooks.

use super::cargo_targets::{holds_tests, switched_off};
use super::{first_config, hit};
use serde_json::Value;

use crate::commands::{parse_commands, weakened_commands};
use crate::settings::{self, SettingsFormat, as_list, as_word};
use crate::{Detection, SourceChange};
use moai_base::path::RelPath;

/// Elements of a C# or Java project, with their lax values.
const LAX_ELEMENTS: &[(&str, &[&str])] = &[
    ("EnableNETAnalyzers", &["false"]),
    ("EnforceCodeStyleInBuild", &["false"]),
    ("Nullable", &["disable", "annotations"]),
    ("RunAnalyzers", &["false"]),
    ("RunAnalyzersDuringBuild", &["false"]),
    ("TreatWarningsAsErrors", &["false"]),
    ("failOnError", &["false"]),
    ("failOnViolation", &["false"]),
    ("failsOnError", &["false"]),
    ("haltOnFailure", &["false"]),
    ("maven.test.failure.ignore", &["true"]),
    ("maven.test.skip", &["true"]),
    ("skip", &["true"]),
    ("skipITs", &["true"]),
    ("skipTests", &["true"]),
    ("testFailureIgnore", &["true"]),
];

/// Elements whose removal makes a build laxer.
const STRICT_ELEMENTS: &[(&str, &str)] =
    &[("Nullable", "enable"), ("TreatWarningsAsErrors", "true")];

/// Elements whose list or number must not grow, or must not shrink.
const LISTS: &[&str] = &["NoWarn", "WarningsNotAsErrors"];
const NUMBERS_MIN: &[&str] =
    &["Threshold", "minimum", "WarningLevel", "mutationThreshold", "coverageThreshold"];
const NUMBERS_MAX: &[&str] = &["rerunFailingTestsCount", "maxAllowedViolations", "maxFailures"];

/// Words that make a Gradle build laxer.
const LAX_WORDS: &[&str] = &[
    "ignoreFailures = true",
    "ignoreFailures=true",
    "isIgnoreFailures = true",
    "ignoreFailures true",
    "enabled = false",
    "abortOnError false",
    "abortOnError = false",
    "failOnViolation = false",
    "maxRetries =",
    "exclude '**/*Test",
    "exclude(\"**/*Test",
];

/// Lists of paths that linters ignore.
const IGNORED: &[&str] = &[".eslintignore", ".flake8ignore"];

const ELEMENT_FILES: &[&str] = &["pom.xml", "Directory.Build.props", "checkstyle.xml"];

/// True if a file configures a build whose relaxation is found.
pub(super) fn is_build(path: &RelPath) -> bool {
    let name = path.file_name();
    ELEMENT_FILES.contains(&name)
        || IGNORED.contains(&name)
        || ["go.mod", ".pre-commit-config.yaml", "Cargo.toml"].contains(&name)
        || name.ends_with(".csproj")
        || name.starts_with("build.gradle")
        || is_cargo_config(path)
}

/// A configuration of cargo.
fn is_cargo_config(path: &RelPath) -> bool {
    path.as_str().ends_with(".cargo/config.toml")
}

pub(super) fn build_hits(changes: &[SourceChange]) -> Vec<Detection> {
    let mut hits = Vec::new();
    for change in changes {
        let name = change.path.file_name();
        let (before, after) = match (&change.before, &change.after) {
            (Some(before), Some(after)) => (before, after),
            (None, Some(_)) if name == "go.mod" => {
                let found = nested_module(&change.path, changes).into_iter();
                hits.extend(found.map(|(key, what)| hit(&change.path, &key, &what, changes)));
                continue;
            }
            (None, Some(after)) if IGNORED.contains(&name) => {
                let found = first_config::ignored(after, changes).into_iter();
                hits.extend(found.map(|it| hit(&change.path, &it.key, &it.change, changes)));
                continue;
            }
            _ => continue,
        };
        let found = match name {
            _ if ELEMENT_FILES.contains(&name) => elements(before, after),
            _ if IGNORED.contains(&name) => ignored(before, after),
            ".pre-commit-config.yaml" => precommit(before, after),
            "Cargo.toml" => cargo_tests(&change.path, before, after, changes),
            _ if name.ends_with(".csproj") => elements(before, after),
            _ if name.starts_with("build.gradle") => words(before, after, LAX_WORDS),
            _ if is_cargo_config(&change.path) => flags(before, after),
            _ => Vec::new(),
        };
        hits.extend(found.into_iter().map(|(key, what)| hit(&change.path, &key, &what, changes)));
    }
    hits
}

/// Keys with what is relaxed there.
pub(super) type BuildRelaxations = Vec<(String, String)>;

/// A folder of Go that becomes a module of its own: `go test ./...` above it leaves it out.
fn nested_module(path: &RelPath, changes: &[SourceChange]) -> BuildRelaxations {
    let Some(folder) = path.as_str().strip_suffix("/go.mod") else { return Vec::new() };
    let is_below = |it: &RelPath| it.as_str().starts_with(&format!("{folder}/"));
    // With sources that are new as well nothing was tested before, and a workspace holds several modules.
    let is_fine = changes.iter().any(|it| {
        let is_source = it.path.extension().is_some_and(|it| it == "go") && is_below(&it.path);
        is_source && it.before.is_none() || it.path.file_name() == "go.work" && it.after.is_some()
    });
    let what =
        format!("`{folder}` is a module of its own, so `go test ./...` leaves its tests out");
    if is_fine { Vec::new() } else { vec![("module".to_owned(), what)] }
}

/// Tests of Rust that a plain `cargo test` no longer runs.
fn cargo_tests(
    path: &RelPath,
    before: &str,
    after: &str,
    changes: &[SourceChange],
) -> BuildRelaxations {
    let parse = |text: &str| settings::parse_settings(SettingsFormat::Toml, text).ok();
    let (Some(before), Some(after)) = (parse(before), parse(after)) else { return Vec::new() };
    let mut found = members_left_out(&before, &after);
    let folder = path.as_str().strip_suffix("Cargo.toml").unwrap_or_default();
    found.extend(switched_off(folder, &before, &after, changes));
    let change = |file: &str| {
        let path = format!("{folder}{file}");
        changes.iter().find(move |it| it.path.as_str() == path)
    };
    let enabled = enabled_features(&after);
    for target in test_targets(&after) {
        let Some(name) = target.get("name").map(as_word) else { continue };
        let old = test_targets(&before).into_iter().find(|it| it.get("name") == target.get("name"));
        let (own, named) = (format!("tests/{name}.rs"), target.get("path").map(as_word));
        let is_own_left = change(&own).is_some_and(|it| it.before.is_some() && it.after.is_some());
        let had_own = old.is_none_or(|old| old.get("path").is_none());
        if named.as_ref().is_some_and(|path| *path != own) && had_own && is_own_left {
            found.push(("path".to_owned(), format!("`{own}` is no longer run")));
        }
        let features = |it: &Value| it.get("required-features").map(as_list).unwrap_or_default();
        let known = old.map(features).unwrap_or_default();
        let file = named.unwrap_or(own);
        let was_there = change(&file).is_none_or(|it| it.before.is_some());
        let is_off = |it: &Value, key: &str| it.get(key).and_then(Value::as_bool) == Some(false);
        let is_new = |key: &str| is_off(target, key) && !old.is_some_and(|old| is_off(old, key));
        if is_new("test") && was_there {
            found.push(("test".to_owned(), format!("test `{name}` is no longer run")));
        }
        let had_tests =
            || change(&file).and_then(|it| it.before.as_deref()).is_some_and(holds_tests);
        if is_new("harness") && had_tests() {
            let what = format!("nothing runs the functions of test `{name}` without the harness");
            found.push(("harness".to_owned(), what));
        }
        let asked = features(target)
            .into_iter()
            .find(|feature| !enabled.contains(feature) && !known.contains(feature));
        if let Some(feature) = asked.filter(|_| was_there) {
            let what = format!("test `{name}` runs only with the feature `{feature}`");
            found.push(("required-features".to_owned(), what));
        }
    }
    found
}

fn test_targets(manifest: &Value) -> Vec<&Value> {
    manifest.get("test").and_then(Value::as_array).into_iter().flatten().collect()
}

/// The features listed in `default`, and transitively theirs.
fn enabled_features(manifest: &Value) -> Vec<String> {
    let list = |name: &str| {
        let named = settings::value_at(manifest, &["features", name]);
        named.map(as_list).unwrap_or_default()
    };
    let mut enabled = list("default");
    let mut at = 0;
    while let Some(name) = enabled.get(at) {
        let new: Vec<String> = list(name).into_iter().filter(|it| !enabled.contains(it)).collect();
        enabled.extend(new);
        at += 1;
    }
    enabled
}

/// Members of a workspace that its commands leave out now.
fn members_left_out(before: &Value, after: &Value) -> BuildRelaxations {
    let list = |value: &Value, name: &str| {
        settings::value_at(value, &["workspace", name]).map(as_list).unwrap_or_default()
    };
    let (members, defaults) = (list(before, "members"), list(before, "default-members"));
    let (now, excluded) = (list(after, "default-members"), list(after, "exclude"));
    let was_run = |member: &&String| defaults.is_empty() || defaults.contains(member);
    let is_left_out =
        |member: &&String| excluded.contains(member) || !now.is_empty() && !now.contains(member);
    let left_out = members.iter().filter(was_run).find(is_left_out);
    left_out
        .map(|it| ("workspace".to_owned(), format!("`{it}` is left out of the workspace's tests")))
        .into_iter()
        .collect()
}

/// The values of an element, in the order of the text.
fn values<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    text.split(open.as_str())
        .skip(1)
        .filter_map(|rest| rest.split_once(close.as_str()))
        .map(|(value, _)| value.trim())
        .collect()
}

fn elements(before: &str, after: &str) -> BuildRelaxations {
    let (before, after) = (&without_comments(before), &without_comments(after));
    let mut found = BuildRelaxations::new();
    for (name, lax) in LAX_ELEMENTS {
        let count = |text: &str| {
            values(text, name)
                .into_iter()
                .filter(|it| lax.contains(&it.to_ascii_lowercase().as_str()))
                .count()
        };
        if count(after) > count(before) {
            found.push(((*name).to_owned(), format!("`{name}` is now `{}`", lax[0])));
        }
    }
    for (name, strict) in STRICT_ELEMENTS {
        let is_there =
            |text: &str| values(text, name).iter().any(|it| it.eq_ignore_ascii_case(strict));
        if is_there(before) && values(after, name).is_empty() {
            found.push(((*name).to_owned(), format!("`{name}` is gone")));
        }
    }
    for name in LISTS {
        let items = |text: &str| -> Vec<String> {
            let all = values(text, name).join(";");
            all.split([';', ','])
                .map(|it| it.trim().to_owned())
                .filter(|it| !it.is_empty() && !it.starts_with('$'))
                .collect()
        };
        // Missing documentation comments are not defects.
        let new = items(after)
            .into_iter()
            .find(|it| !items(before).contains(it) && !it.ends_with("1591"));
        found.extend(new.map(|it| ((*name).to_owned(), format!("`{name}` got `{it}`"))));
    }
    let known = tests_left_out(before);
    let new = tests_left_out(after).into_iter().find(|it| !known.contains(it));
    let new = new.map(|it| format!("`exclude` leaves the tests `{it}` out of the run"));
    found.extend(new.map(|what| ("exclude".to_owned(), what)));
    for (names, is_floor) in [(NUMBERS_MIN, true), (NUMBERS_MAX, false)] {
        for name in names {
            let numbers = |text: &str| {
                values(text, name)
                    .iter()
                    .filter_map(|it| it.parse::<f64>().ok())
                    .collect::<Vec<_>>()
            };
            let (was, is) = (numbers(before), numbers(after));
            let is_weaker =
                was.iter().zip(&is).any(|(was, is)| if is_floor { is < was } else { is > was });
            let is_new = !is_floor && was.is_empty() && is.iter().any(|it| *it > 0.0);
            if is_weaker || is_new {
                found.push(((*name).to_owned(), format!("`{name}` requires less")));
            }
        }
    }
    found
}

/// What the plugins of Maven that run tests exclude, without what one of them includes.
fn tests_left_out(text: &str) -> Vec<&str> {
    let plugins = values(text, "plugin").into_iter();
    let runners: Vec<&str> = plugins
        .filter(|it| it.contains("maven-surefire-plugin") || it.contains("maven-failsafe-plugin"))
        .collect();
    let included: Vec<&str> = runners.iter().flat_map(|it| values(it, "include")).collect();
    let excluded = runners.iter().flat_map(|it| values(it, "exclude"));
    excluded.filter(|it| !included.contains(it)).collect()
}

fn without_comments(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("<!--") {
        plain.push_str(before);
        rest = behind.split_once("-->").map_or("", |(_, after)| after);
    }
    plain + rest
}

fn words(before: &str, after: &str, lax: &[&str]) -> BuildRelaxations {
    let count = |text: &str, word: &str| {
        text.lines()
            .filter(|line| !line.trim_start().starts_with("//") && line.contains(word))
            .count()
    };
    let new = lax.iter().filter(|word| count(after, word) > count(before, word));
    new.map(|word| ((*word).to_owned(), format!("the build now uses `{word}`"))).take(1).collect()
}

fn ignored(before: &str, after: &str) -> BuildRelaxations {
    let lines = |text: &str| as_list(&Value::String(text.to_owned() + "\n"));
    let (was, is) = (lines(before), lines(after));
    let new = is.iter().find(|it| {
        !it.starts_with(['#', '!']) && !was.contains(it) && !super::compare::is_harmless(it)
    });
    new.map(|it| (it.clone(), format!("`{it}` is ignored"))).into_iter().collect()
}

/// A hook that was removed while none was added, or that runs fewer checks.
fn precommit(before: &str, after: &str) -> BuildRelaxations {
    let (was, is) = (precommit_hooks(before), precommit_hooks(after));
    let has = |all: &[PrecommitHook], id: &str| all.iter().any(|hook| hook.id == id);
    let has_new = is.iter().any(|hook| !has(&was, &hook.id));
    let lost = was.iter().find(|hook| !has(&is, &hook.id) && !has_new);
    let mut found: BuildRelaxations = lost
        .map(|hook| ("repos".to_owned(), format!("the hook `{}` was removed", hook.id)))
        .into_iter()
        .collect();
    for hook in &was {
        let mut same = is.iter().filter(|it| it.id == hook.id);
        let (Some(now), None) = (same.next(), same.next()) else { continue };
        if hook.command.is_empty() || now.command.is_empty() {
            continue;
        }
        let weaker =
            weakened_commands(&parse_commands(&hook.command), &parse_commands(&now.command));
        let id = &hook.id;
        let weaker = weaker.iter().map(|loss| format!("the hook `{id}`: {loss}"));
        found.extend(weaker.map(|what| ("entry".to_owned(), what)));
    }
    found
}

struct PrecommitHook {
    id: String,
    /// Its entry with its arguments; empty if another repository names the entry.
    command: String,
}

fn precommit_hooks(text: &str) -> Vec<PrecommitHook> {
    let value = settings::parse_settings(SettingsFormat::Yaml, text).unwrap_or_default();
    let repos = value.get("repos").and_then(|it| it.as_array()).cloned().unwrap_or_default();
    let hooks = repos.iter().filter_map(|repo| repo.get("hooks")?.as_array()).flatten();
    let hooks = hooks.filter_map(|hook| {
        let entry = hook.get("entry").map(as_word).unwrap_or_default();
        let arguments = hook.get("args").and_then(|it| it.as_array()).into_iter().flatten();
        let words = arguments.map(as_word).filter(|_| !entry.is_empty());
        let command = std::iter::once(entry.clone()).chain(words).collect::<Vec<_>>().join(" ");
        Some(PrecommitHook { id: hook.get("id").map(as_word)?, command })
    });
    hooks.collect()
}

/// Flags of the Rust compiler.
fn flags(before: &str, after: &str) -> BuildRelaxations {
    let has = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    let denies = ["-Dwarnings", "\"-D\", \"warnings\"", "-D warnings"];
    let lax = ["--cap-lints", "-Awarnings", "\"-A\""];
    let mut found = BuildRelaxations::new();
    if has(before, &denies) && !has(after, &denies) {
        found.push(("rustflags".to_owned(), "warnings are no longer denied".to_owned()));
    }
    if !has(before, &lax) && has(after, &lax) {
        found.push(("rustflags".to_owned(), "lints are allowed for every crate".to_owned()));
    }
    found
}
