//! Options that are read only from the user's own file and environment. A project must not redirect the
//! user's memory, and a file must not hold a password; one daemon serves all projects.

pub(super) const TEAM_URL_KEY: &str = "memory.url";
/// The size of the memory, which is shared by all projects and must not be set by one of them.
pub(super) const MEMORY_SIZE_KEY: &str = "memory.max_mb";
/// Options of the daemon and of the servers that it starts for all projects.
const DAEMON_KEYS: [&str; 4] =
    ["daemon.idle_secs", "lsp.idle_secs", "lsp.memory_hard_mb", "lsp.memory_soft_mb"];
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// True if an option is read only from the user's own file and environment.
#[must_use]
pub fn is_for_users_only(key: &str) -> bool {
    [TEAM_URL_KEY, MEMORY_SIZE_KEY].contains(&key) || DAEMON_KEYS.contains(&key)
}

/// The reason why a URL is refused, without the URL.
pub(super) fn refusal(url: &str, is_in_file: bool) -> Option<&'static str> {
    let is_known = url.is_empty() || SCHEMES.iter().any(|scheme| url.starts_with(scheme));
    if !is_known {
        return Some("expected postgres://");
    }
    let has_password = shown_team_url(url) != url;
    (is_in_file && has_password)
        .then_some("a password does not belong into a file: use ~/.pgpass or PGPASSWORD")
}

/// The URL without its password.
#[must_use]
pub fn shown_team_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (login, place) = match rest.rsplit_once('@') {
        Some((login, place)) => (Some(login), place),
        None => (None, rest),
    };
    let login = login.map(|login| match login.split_once(':') {
        Some((user, _)) => format!("{user}:[redacted]@"),
        None => format!("{login}@"),
    });
    let place = match place.split_once("password=") {
        Some((before, _)) => format!("{before}password=[redacted]"),
        None => place.to_owned(),
    };
    format!("{scheme}://{}{place}", login.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use moai_lsp::registry::Catalogue;

    use super::*;
    use crate::{Config, ConfigError, OptionFile};

    const URL: &str = "postgres://ann@db.example.com/team";

    fn load(
        url: &str,
        is_of_user: bool,
        env: &[(&str, &str)],
    ) -> Result<Option<String>, ConfigError> {
        let text = format!("ralph: {{memory: {{url: '{url}'}}}}");
        let file = OptionFile { name: "ralph.yaml".to_owned(), text, is_trusted: true, is_of_user };
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let env: BTreeMap<String, String> = env.collect();
        Config::load(&[file], &env, Catalogue::built_in()).map(|config| config.memory_url)
    }

    #[test]
    fn a_project_does_not_choose_where_the_memory_is_sent() {
        assert_eq!(load(URL, true, &[]), Ok(Some(URL.to_owned())));
        assert_eq!(load(URL, false, &[]), Ok(None), "not even a trusted one");
        let own = [("MOAI_RALPH_MEMORY_URL", "postgres://ann:placeholder@localhost/own")];
        let url = load(URL, false, &own).expect("valid").expect("set");
        assert!(url.ends_with("localhost/own"));
        assert_eq!(load("", true, &[]), Ok(None));
    }

    #[test]
    fn a_file_holds_no_password_and_no_error_repeats_one() {
        for url in [
            "postgres://ann:placeholder@db/team",
            "postgres://db/team?user=ann&password=placeholder",
            "mysql://ann:placeholder@db/team",
        ] {
            let error = load(url, true, &[]).expect_err(url).to_string();
            assert!(error.contains("ralph.memory.url"), "{error}");
            assert!(!error.contains("placeholder"), "{error}");
        }
    }

    #[test]
    fn a_url_is_shown_without_its_password() {
        assert_eq!(shown_team_url(URL), URL);
        assert_eq!(
            shown_team_url("postgres://ann:secret@secret@db/team"),
            "postgres://ann:[redacted]@db/team"
        );
        assert_eq!(
            shown_team_url("postgres://db/team?password=placeholder"),
            "postgres://db/team?password=[redacted]"
        );
    }

    #[test]
    fn options_of_the_daemon_are_the_users_choice() {
        let documented = include_str!("../../../docs/options.md");
        let line = documented.lines().find(|line| line.contains("are read when the daemon starts"));
        for key in DAEMON_KEYS {
            assert!(is_for_users_only(key) && line.is_some_and(|line| line.contains(key)), "{key}");
        }
    }

    #[test]
    fn the_size_of_the_memory_is_the_users_choice() {
        let load = |max_mb: &str, is_of_user| {
            let text = format!("ralph: {{memory: {{max_mb: {max_mb}}}}}");
            let file =
                OptionFile { name: "ralph.yaml".to_owned(), text, is_trusted: true, is_of_user };
            let config = Config::load(&[file], &BTreeMap::new(), Catalogue::built_in());
            config.map(|config| config.memory_text_bytes >> 20)
        };
        assert_eq!(load("7", true).expect("valid"), 7);
        assert_eq!(load("7", false).expect("valid"), 100, "it has no effect in a project");
        let error = load("0", true).expect_err("too small").to_string();
        assert!(error.contains("memory.max_mb"), "{error}");
    }
}
