//! PHP, Ruby, Elixir and Dart.

use serde_json::Value;

use super::{CheckCriterion, CheckProposals};
use CheckCriterion::{BuildSuccess, LintClean, TestPass, TypeCheck};

pub(super) fn propose(found: &mut CheckProposals<'_>) {
    php(found);
    ruby(found);
    elixir(found);
    dart(found);
}

fn php(found: &mut CheckProposals<'_>) {
    let manifest: Value = serde_json::from_str(found.text("composer.json")).unwrap_or_default();
    let scripts = manifest.get("scripts");
    if scripts.and_then(|scripts| scripts.get("test")).is_some() {
        found.add(TestPass, "composer test", "composer.json", "has a script test");
    } else if let Some(source) = found.first(&["phpunit.xml", "phpunit.xml.dist"]) {
        found.add(TestPass, "vendor/bin/phpunit", source, "configures PHPUnit");
    }
    if let Some(source) = found.first(&["phpstan.neon", "phpstan.neon.dist"]) {
        let line = "vendor/bin/phpstan analyse --no-progress";
        found.add(TypeCheck, line, source, "configures PHPStan");
    }
    if let Some(source) = found.first(&["phpcs.xml", "phpcs.xml.dist", ".phpcs.xml"]) {
        found.add(LintClean, "vendor/bin/phpcs", source, "configures PHP_CodeSniffer");
    }
}

fn ruby(found: &mut CheckProposals<'_>) {
    if !found.has("Gemfile") {
        return;
    }
    if let Some(source) = found.first(&[".rspec", "spec"]) {
        found.add(TestPass, "bundle exec rspec", source, "is there");
    } else if found.has("Rakefile") && found.has("test") {
        found.add(TestPass, "bundle exec rake test", "Rakefile", "and a folder test are there");
    }
    if found.has(".rubocop.yml") {
        found.add(LintClean, "bundle exec rubocop", ".rubocop.yml", "configures RuboCop");
    }
    if found.has("sorbet/config") {
        found.add(TypeCheck, "bundle exec srb tc", "sorbet/config", "configures Sorbet");
    }
}

fn elixir(found: &mut CheckProposals<'_>) {
    if !found.has("mix.exs") {
        return;
    }
    found.add(TestPass, "mix test", "mix.exs", "is there");
    found.add(BuildSuccess, "mix compile --warnings-as-errors", "mix.exs", "is there");
    if found.has(".credo.exs") {
        found.add(LintClean, "mix credo", ".credo.exs", "configures Credo");
    }
    if found.text("mix.exs").contains(":dialyxir") {
        found.add(TypeCheck, "mix dialyzer", "mix.exs", "names dialyxir");
    }
}

fn dart(found: &mut CheckProposals<'_>) {
    if !found.has("pubspec.yaml") {
        return;
    }
    let is_flutter = found.text("pubspec.yaml").contains("sdk: flutter");
    let program = if is_flutter { "flutter" } else { "dart" };
    let analyze = format!("{program} analyze");
    if found.has("test") {
        found.add(TestPass, &format!("{program} test"), "pubspec.yaml", "is there");
    }
    found.add(TypeCheck, &analyze, "pubspec.yaml", "is there");
    found.add(LintClean, &analyze, "pubspec.yaml", "is there");
}
