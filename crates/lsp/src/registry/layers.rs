//! Layers over the catalogue: whole entries of a project's own `lsp.json`, and single fields and
//! chosen servers of `ralph.yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::{Catalogue, ServerSpec, UntrustedUse};

/// Options about languages and servers, merged from all option files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogueOverrides {
    /// `lsp.servers`, by server id.
    pub servers: BTreeMap<String, ServerOverride>,
    /// `lsp.choose`: server ids by language id.
    pub choose: BTreeMap<String, Vec<String>>,
    /// Languages listed in `lsp.languages`.
    pub languages: Vec<String>,
}

/// Fields of one server that the user overrides; absent ones keep their value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerOverride {
    /// Program name or path.
    pub command: Option<String>,
    pub args: Option<Vec<String>>,
    /// Environment variables in addition to existing ones.
    pub env: BTreeMap<String, String>,
    /// Merged into the settings, object by object.
    pub settings: Option<Value>,
    /// Merged into the initialization options, object by object.
    pub initialization_options: Option<Value>,
}

impl ServerOverride {
    /// These fields, overridden by those of `over`.
    pub fn override_with(&mut self, over: Self) {
        let Self { command, args, env, settings, initialization_options } = over;
        self.command = command.or(self.command.take());
        self.args = args.or(self.args.take());
        self.env.extend(env);
        merge_option(&mut self.settings, settings);
        merge_option(&mut self.initialization_options, initialization_options);
    }

    fn apply(&self, spec: &mut ServerSpec) {
        if let Some(command) = &self.command {
            spec.command.clone_from(command);
        }
        if let Some(args) = &self.args {
            spec.args.clone_from(args);
        }
        spec.env.extend(self.env.clone());
        merge_json(&mut spec.settings, self.settings.as_ref());
        merge_json(&mut spec.initialization_options, self.initialization_options.as_ref());
    }
}

fn merge_option(below: &mut Option<Value>, over: Option<Value>) {
    match below {
        Some(below) => merge_json(below, over.as_ref()),
        None => *below = over,
    }
}

/// Objects are merged key by key, anything else is replaced.
fn merge_json(below: &mut Value, over: Option<&Value>) {
    match (below, over) {
        (_, None) => {}
        (Value::Object(below), Some(Value::Object(over))) => {
            for (key, value) in over {
                merge_json(below.entry(key.clone()).or_insert(Value::Null), Some(value));
            }
        }
        (below, Some(over)) => *below = over.clone(),
    }
}

impl ServerSpec {
    /// This server as it is used in a project that the user has not trusted; `None` if it is not
    /// used. An unverified server is not used: it may run any program.
    #[must_use]
    pub fn restricted(&self) -> Option<Self> {
        let UntrustedUse::Restricted(restriction) = &self.untrusted else { return None };
        let mut spec = self.verified.then(|| self.clone())?;
        merge_json(&mut spec.settings, restriction.settings.as_ref());
        merge_json(&mut spec.initialization_options, restriction.initialization_options.as_ref());
        Some(spec)
    }

    /// True if such a project uses only the server from `server install`.
    #[must_use]
    pub fn is_installed_only_untrusted(&self) -> bool {
        matches!(&self.untrusted, UntrustedUse::Restricted(it) if it.installed_only)
    }
}

impl Catalogue {
    /// This catalogue with a project's own entries replacing those with the same id. An extension
    /// belongs to the project's language only.
    #[must_use]
    pub fn with_project_entries(&self, own: Self) -> Self {
        let mut merged = self.clone();
        let taken: BTreeSet<&String> =
            own.languages.values().flat_map(|language| language.extensions.keys()).collect();
        for language in merged.languages.values_mut() {
            Arc::make_mut(language).extensions.retain(|extension, _| !taken.contains(extension));
        }
        merged.languages.extend(own.languages);
        merged.servers.extend(own.servers);
        merged
    }

    /// This catalogue with the user's options; unknown ids, which were rejected before, are
    /// skipped.
    #[must_use]
    pub fn with_user_options(mut self, options: &CatalogueOverrides) -> Self {
        for (id, over) in &options.servers {
            if let Some(spec) = self.servers.get_mut(id) {
                over.apply(Arc::make_mut(spec));
            }
        }
        for (id, servers) in &options.choose {
            if let Some(language) = self.languages.get_mut(id) {
                let language = Arc::make_mut(language);
                language.user_servers = Some(servers.clone());
                language.auxiliary = false;
            }
        }
        for id in &options.languages {
            if let Some(language) = self.languages.get_mut(id) {
                Arc::make_mut(language).auxiliary = false;
            }
        }
        self
    }
}
