//! The makefiles that a makefile includes: adding or editing one changes what its targets run.

use std::collections::BTreeMap;

/// The names under which make looks for a makefile, in its order.
pub const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Words that begin a line that includes other makefiles.
const INCLUDES: [&str; 3] = ["include", "-include", "sinclude"];
/// Variables of make that name the folder where it runs.
const HERE: [&str; 2] = ["CURDIR", "PWD"];

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

/// The text with the values of these variables.
fn with_values(text: &str, variables: &BTreeMap<&str, &str>) -> String {
    let mut text = text.to_owned();
    for (name, value) in variables {
        text = text.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value);
    }
    text
}

/// Whether a makefile only lists what depends on what, as compilers write it: it sets nothing and runs
/// nothing.
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
    fn what_only_lists_dependencies_runs_nothing() {
        assert!(is_dependency_list(b"app.o: app.c \\\n  app.h\napp.h:\n"));
        for text in ["PY = echo\n", "test:\n\techo ok\n", "test: ; echo\n", "include x\n"] {
            assert!(!is_dependency_list(text.as_bytes()), "{text}");
        }
    }
}
