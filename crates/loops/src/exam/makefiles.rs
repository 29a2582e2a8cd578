//! The makefiles that a makefile includes, and the commands of its targets, which change when one
//! of them is added or edited.

use std::collections::{BTreeMap, BTreeSet};

use moai_base::limits::EXAM_FILES_MAX;

/// Words that begin a line that includes other makefiles.
const INCLUDES: [&str; 3] = ["include", "-include", "sinclude"];
/// Variables of make that name the folder where it runs.
const HERE: [&str; 2] = ["CURDIR", "PWD"];

/// Stands for the targets that only patterns match.
const ANY_PATTERN: &str = "%";
/// Variables whose values have variables, one in the other.
const VARIABLE_DEPTH_MAX: usize = 3;
/// Longest name of a variable.
const NAME_BYTES_MAX: usize = 256;
/// Length of a line from which on variables keep their names.
const RECIPE_BYTES_MAX: usize = 64 * 1024;
/// Length of all recipes after which no further target is followed.
const RECIPES_BYTES_MAX: usize = 1024 * 1024;

/// The names and patterns of the files that a makefile includes, relative to the folder where make
/// runs. A variable counts with its value if this makefile sets it to plain words; a name with any
/// other variable or function than `wildcard` is left out.
#[must_use]
pub fn included_patterns(makefile: &str) -> Vec<String> {
    let makefile = makefile.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut variables: BTreeMap<&str, &str> = HERE.map(|name| (name, ".")).into_iter().collect();
    let mut patterns = Vec::new();
    for line in makefile.lines().filter(|line| !line.starts_with('\t')) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some((name, value)) = line.split_once('=') {
            let name = name.trim_end_matches([':', '?']).trim();
            if !value.contains('$') {
                variables.insert(name, value.trim());
            }
            continue;
        }
        let Some((word, names)) = line.split_once(char::is_whitespace) else { continue };
        if INCLUDES.contains(&word) {
            let names = with_values(names, &variables).replace("$(wildcard ", " ");
            let names = names.split([' ', '\t', ')']).filter(|it| !it.is_empty());
            patterns.extend(names.filter(|it| !it.contains('$')).map(str::to_owned));
        }
    }
    patterns
}

/// The commands that make runs for these targets, or for the first one, as a shell text: the
/// recipes of the targets and of their prerequisites. Both branches of a condition count.
#[must_use]
pub fn recipes(makefile: &str, targets: &[String]) -> String {
    let makefile = makefile.replace("\\\r\n", " ").replace("\\\n", " ");
    let read = Makefile::read(&makefile);
    let first = read.rules.iter().find(|rule| !rule.target.starts_with('.') && !rule.is_pattern());
    let mut open: Vec<&str> = match targets {
        [] => first.into_iter().map(|rule| rule.target.as_str()).collect(),
        targets => targets.iter().rev().map(String::as_str).collect(),
    };
    let mut text = String::new();
    let mut made = BTreeSet::new();
    while let Some(target) = open.pop() {
        if text.len() >= RECIPES_BYTES_MAX || !made.insert(target) {
            continue;
        }
        let is_named = read.rules.iter().any(|rule| rule.target == target);
        let is_meant = |rule: &&Rule| {
            if is_named { rule.target == target } else { rule.is_pattern() }
        };
        // Pattern rules count once.
        if !is_named && !made.insert(ANY_PATTERN) {
            continue;
        }
        for rule in read.rules.iter().filter(is_meant) {
            open.extend(rule.needs.iter().rev().map(String::as_str));
            for line in rule.recipe.iter().take(EXAM_FILES_MAX) {
                let line = line.trim_start_matches(['@', '-', '+', ' ', '\t']);
                let line = read.with_variables(line).replace("$@", target);
                text.extend(["(", &line.replace("$$", "$"), ")\n"]);
            }
        }
    }
    text
}

/// One target of a rule.
struct Rule {
    target: String,
    needs: Vec<String>,
    recipe: Vec<String>,
}

impl Rule {
    fn is_pattern(&self) -> bool {
        self.target.contains('%')
    }
}

/// The rules and variables of a makefile, and of those that it includes.
struct Makefile<'m> {
    rules: Vec<Rule>,
    variables: BTreeMap<&'m str, &'m str>,
}

impl<'m> Makefile<'m> {
    fn read(text: &'m str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('\t')).map(without_comment);
        let variables = lines.filter_map(assignment).collect();
        let mut makefile = Self { rules: Vec::new(), variables };
        // Where the targets of the present rule begin.
        let mut present = 0;
        for line in text.lines() {
            if let Some(recipe) = line.strip_prefix('\t') {
                makefile.rules[present..]
                    .iter_mut()
                    .for_each(|rule| rule.recipe.push(recipe.into()));
                continue;
            }
            let line = without_comment(line);
            let is_rule = assignment(line).is_none() && makefile.rules.len() < EXAM_FILES_MAX;
            let Some((names, rest)) = line.split_once(':').filter(|_| is_rule) else { continue };
            let (needs, recipe) = rest.split_once(';').unwrap_or((rest, ""));
            let recipe = Some(recipe.trim().to_owned()).filter(|it| !it.is_empty());
            let needs = makefile.words(needs);
            present = makefile.rules.len();
            for target in makefile.words(names) {
                let recipe = recipe.iter().cloned().collect();
                makefile.rules.push(Rule { target, needs: needs.clone(), recipe });
            }
        }
        makefile
    }

    fn words(&self, text: &str) -> Vec<String> {
        let text = self.with_variables(text);
        let words = text.split([' ', '\t', ':', '|']).filter(|it| !it.is_empty());
        words.map(str::to_owned).collect()
    }

    /// The text with the values of variables, and with its commands as the shell writes them.
    fn with_variables(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..VARIABLE_DEPTH_MAX {
            let (mut longer, mut rest) = (String::with_capacity(text.len()), text.as_str());
            while let Some((before, after)) = rest.split_once('$') {
                longer.push_str(before);
                let named = variable(after).filter(|_| longer.len() < RECIPE_BYTES_MAX);
                let value = named.and_then(|(name, _)| self.variables.get(name));
                let value = value.filter(|value| value.len() <= RECIPE_BYTES_MAX);
                if let Some(((_, behind), value)) = named.zip(value) {
                    longer.push_str(value);
                    rest = behind;
                    continue;
                }
                // As in `$$(A)`.
                let behind = after.strip_prefix('$');
                longer.push_str(if behind.is_some() { "$$" } else { "$" });
                rest = behind.unwrap_or(after);
            }
            longer.push_str(rest);
            text = longer;
        }
        let text = text.replace("$(shell ", "$(");
        text.replace("$(MAKE)", "make").replace("${MAKE}", "make").replace("$(CURDIR)", ".")
    }
}

/// The variable at the beginning of a text, after its `$`, and the text behind it.
fn variable(text: &str) -> Option<(&str, &str)> {
    let (inside, end) = match text.strip_prefix('(') {
        Some(inside) => (inside, b')'),
        None => (text.strip_prefix('{')?, b'}'),
    };
    let at = inside.bytes().take(NAME_BYTES_MAX).position(|byte| byte == end)?;
    Some((&inside[..at], &inside[at + 1..]))
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default()
}

/// The variable that a line sets, as in `A = b`, `A := b` and `target: A = b`.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=').filter(|(name, _)| !name.contains(';'))?;
    let name = name.trim_end_matches([':', '?', '+', ' ', '\t']);
    Some((name.rsplit([':', ' ', '\t']).next()?, value.trim()))
}

/// The text with the values of these variables.
fn with_values(text: &str, variables: &BTreeMap<&str, &str>) -> String {
    let mut text = text.to_owned();
    for (name, value) in variables {
        text = text.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value);
    }
    text
}

/// True for a dependency list as written by compilers: a makefile that sets and runs nothing.
#[must_use]
pub fn is_dependency_list(makefile: &[u8]) -> bool {
    let is_free_of = |byte: u8| !makefile.contains(&byte);
    let is_rule = |line: &[u8]| !line.starts_with(b"\t") && !line.starts_with(b"include");
    [b'=', b';', b'$'].into_iter().all(is_free_of)
        && makefile.split(|byte| *byte == b'\n').all(is_rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn included_names_are_found_with_the_values_of_plain_variables() {
        let check = |makefile: &str, expected: &[&str]| {
            assert_eq!(included_patterns(makefile), expected, "{makefile}");
        };
        check("-include local.mk\n", &["local.mk"]);
        check("include a.mk \\\n  mk/*.mk # more\nsinclude .env\n", &["a.mk", "mk/*.mk", ".env"]);
        check("include $(wildcard mk/*.mk) b.mk\n", &["mk/*.mk", "b.mk"]);
        check(
            "DIR := mk\nPARTS = a.mk b.mk\ninclude $(DIR)/x.mk ${PARTS}\n",
            &["mk/x.mk", "a.mk", "b.mk"],
        );
        check("include $(CURDIR)/x.mk\n", &["./x.mk"]);
        check("-include $(OBJS:.o=.d)\nDEPS = $(OBJS)\n-include $(DEPS)\n", &[]);
        check("all:\n\tinclude x\n# include y\nincluded: z\n", &[]);
    }

    #[test]
    fn recipes_are_what_make_runs_for_a_target_and_for_what_it_needs() {
        let makefile = "PY ?= python3\nRUN = $(PY) -m\nSCRIPTS := a.sh\n.PHONY: test all\n\
            all: build\n\ttrue\n\
            test: lint $(SCRIPTS) | out\n\t@$(RUN) unittest\n\t-cd web && \\\n\tsh x.sh $$A\n\
            lint: ; ./lint.sh\nbuild:\n\t./build.sh\na.sh:\n\tgen $@\n";
        let check = |targets: &[&str], expected: &str| {
            let targets: Vec<String> = targets.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(recipes(makefile, &targets), expected, "{targets:?}");
        };
        check(
            &["test"],
            "(python3 -m unittest)\n(cd web &&  \tsh x.sh $A)\n(./lint.sh)\n(gen a.sh)\n",
        );
        check(&[], "(true)\n(./build.sh)\n");
        check(&["other"], "");
        assert_eq!(recipes("a: ; X=1 ./x.sh\n", &[]), "(X=1 ./x.sh)\n");
        let doubled = (0..64).map(|at| format!("A{at} = $(A{})$(A{})\n", at + 1, at + 1));
        let doubled: Vec<String> = doubled.collect();
        let makefile = format!("{}a:\n\t$(A0)\n", doubled.concat());
        assert!(recipes(&makefile, &[]).len() < 1024 * 1024);
        assert_eq!(recipes("%.o: %.c\n\t./cc.sh\n", &["a.o".to_owned()]), "(./cc.sh)\n");
    }

    #[test]
    fn what_only_lists_dependencies_runs_nothing() {
        assert!(is_dependency_list(b"app.o: app.c \\\n  app.h\napp.h:\n"));
        for text in ["PY = echo\n", "test:\n\techo ok\n", "test: ; echo\n", "include x\n"] {
            assert!(!is_dependency_list(text.as_bytes()), "{text}");
        }
    }
}
