//! Options that set programs and services. In the file of an untrusted project they have no effect.
//! Nor can it enable a memory that the user disabled.

use std::collections::BTreeSet;

use super::ConfigLayer;

/// Options of untrusted files that have no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WithheldOptions {
    /// Servers whose program, arguments, environment or settings they set, by id.
    pub servers: BTreeSet<String>,
    /// True if they set the judge's backend, program, endpoint or key.
    pub has_judge: bool,
}

impl ConfigLayer {
    /// Removes the options that set programs and services. The commands of `loop.checks` remain:
    /// checks of an untrusted project do not run, and each is reported as unmeasured.
    pub(super) fn withhold_programs(&mut self, withheld: &mut WithheldOptions) {
        withheld.servers.extend(std::mem::take(&mut self.lsp.servers).into_keys());
        withheld.has_judge |= self.judge.withhold_services();
        self.memory.enabled.take_if(|is_enabled| *is_enabled);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use moai_lsp::registry::Catalogue;

    use crate::judge::BackendKind;
    use crate::{Config, OptionFile};

    #[test]
    fn a_file_that_is_not_trusted_names_no_program() {
        let text = "ralph:\n  lsp: { servers: { pyright: { command: ./own } }, idle_secs: 7 }\n  \
                    judge: { backend: command, command: [./grade], model: large }\n";
        let load = |is_trusted| {
            let (name, text) = ("ralph.yaml".to_owned(), text.to_owned());
            let file = OptionFile { name, text, is_trusted, is_of_user: true };
            Config::load(&[file], &BTreeMap::new(), Catalogue::built_in()).expect("valid")
        };
        let (trusted, untrusted) = (load(true), load(false));
        assert_eq!(trusted.withheld, super::WithheldOptions::default());
        assert!(trusted.servers.contains_key("pyright"));
        assert_eq!(untrusted.withheld.servers.iter().collect::<Vec<_>>(), ["pyright"]);
        assert!(untrusted.withheld.has_judge && untrusted.servers.is_empty());
        let judge = &untrusted.judge.judges()[0];
        assert_eq!((judge.backend, judge.command.len()), (BackendKind::Claude, 0));
        assert_eq!((judge.model.as_str(), untrusted.server_idle.as_secs()), ("large", 7));
    }

    #[test]
    fn a_file_that_is_not_trusted_switches_the_memory_off_but_not_on() {
        let load = |user: bool, project: bool, is_trusted| {
            let file = |is_enabled: bool, is_trusted| OptionFile {
                name: "ralph.yaml".to_owned(),
                text: format!("ralph: {{memory: {{enabled: {is_enabled}}}}}"),
                is_trusted,
                is_of_user: true,
            };
            let files = [file(user, true), file(project, is_trusted)];
            let config = Config::load(&files, &BTreeMap::new(), Catalogue::built_in());
            config.expect("valid").memory_enabled
        };
        assert!(!load(true, false, false), "the project has nothing to hide");
        assert!(!load(false, true, false), "the user has");
        assert!(load(false, true, true));
    }
}
