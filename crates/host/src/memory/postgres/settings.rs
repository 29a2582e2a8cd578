//! Place of a team's memory, from the URL of the options and the variables that PostgreSQL's own programs
//! read. A password is neither shown nor logged, not even a part of one in a malformed URL.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use moai_base::hash::ContentHash;
use moai_base::limits::{POSTGRES_CONNECT_MS_MAX, POSTGRES_PASSWORDS_BYTES_MAX};

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
const PORT_DEFAULT: u16 = 5432;
/// Parameters of a URL that are used.
const PARAMETERS: [&str; 12] = [
    "user",
    "password",
    "dbname",
    "host",
    "port",
    "hostaddr",
    "options",
    "sslnegotiation",
    "tcp_user_timeout",
    "keepalives",
    "keepalives_idle",
    "target_session_attrs",
];

/// Place of a team's memory and the login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresSettings {
    pub(super) config: Config,
    /// Certificates that the server's may be signed with; `None` for Mozilla's.
    pub(super) root_certificates: Option<PathBuf>,
    /// Database and host, for messages.
    pub(super) place: String,
    /// Identifies server, database and role: letters and digits.
    pub(crate) id: String,
}

/// Encryption settings of a URL.
#[derive(Debug, Default)]
struct EncryptionOptions {
    mode: Option<String>,
    root_certificates: Option<PathBuf>,
}

impl PostgresSettings {
    /// Reads a URL (`postgres://user@host/database?sslmode=require`). Missing parts come from `env`, the
    /// variables of the caller: `PGUSER`, `PGDATABASE`, `PGPASSWORD`, and the password file `PGPASSFILE`,
    /// else `~/.pgpass`.
    ///
    /// # Errors
    ///
    /// The reason, without the URL.
    pub fn from_url(url: &str, env: &BTreeMap<String, String>) -> Result<Self, String> {
        let rest = SCHEMES.iter().find_map(|scheme| url.strip_prefix(scheme));
        let rest = rest.ok_or("it must begin with postgres://")?;
        if rest.matches('@').count() > 1 {
            return Err("it has more than one @; in a password, write %40".to_owned());
        }
        let authority_end = rest.find('@').unwrap_or(0);
        let query = rest[authority_end..].find('?').map(|at| authority_end + at);
        let (address, parameters) = match query {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => (rest, ""),
        };
        let mut encryption = EncryptionOptions::default();
        let kept = encryption.take_from(parameters)?;
        let mut config: Config = format!("{}{address}?{kept}", SCHEMES[0])
            .parse()
            .map_err(|_| "it is not a valid address of a database".to_owned())?;
        complete(&mut config, env)?;
        encryption.apply(&mut config)?;
        config.connect_timeout(Duration::from_millis(POSTGRES_CONNECT_MS_MAX));
        config.application_name("moai-ralph");
        let place = place(&config);
        let id = id(&config);
        Ok(Self { config, root_certificates: encryption.root_certificates, place, id })
    }
}

impl EncryptionOptions {
    /// Takes the parameters that the client library does not know; returns the rest.
    fn take_from(&mut self, parameters: &str) -> Result<String, String> {
        let mut kept = Vec::new();
        for parameter in parameters.split('&').filter(|it| !it.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            match name {
                "sslmode" => self.mode = Some(value.to_owned()),
                "sslrootcert" => self.root_certificates = Some(PathBuf::from(decoded(value))),
                "sslcert" | "sslkey" | "sslpassword" => {
                    return Err(
                        "certificates of clients (sslcert, sslkey) are not supported".into()
                    );
                }
                // No name is repeated here: a part of a password may look like one.
                other if !PARAMETERS.contains(&other) => {
                    let known = PARAMETERS.join(", ");
                    return Err(format!(
                        "it has an unknown parameter; known are sslmode, sslrootcert, {known}"
                    ));
                }
                _ => kept.push(parameter),
            }
        }
        Ok(kept.join("&"))
    }

    /// Never plain by chance: without `sslmode`, only this machine is talked to without encryption,
    /// and every other mode but `disable` verifies the certificate and its name.
    fn apply(&self, config: &mut Config) -> Result<(), String> {
        let mode = match self.mode.as_deref() {
            None if is_this_machine(config) && self.root_certificates.is_none() => SslMode::Disable,
            Some("disable") => SslMode::Disable,
            None | Some("require" | "verify-ca" | "verify-full") => SslMode::Require,
            Some("allow" | "prefer") => {
                return Err("sslmode allow and prefer may send everything unencrypted; use \
                            require, verify-full or disable"
                    .to_owned());
            }
            Some(_) => {
                return Err(
                    "sslmode must be one of disable, require, verify-ca, verify-full".to_owned()
                );
            }
        };
        let is_socket = config.get_hosts().iter().any(|host| matches!(host, Host::Unix(_)));
        if mode == SslMode::Require && is_socket {
            return Err("sslmode: PostgreSQL does not encrypt a Unix socket".to_owned());
        }
        config.ssl_mode(mode);
        Ok(())
    }
}

/// Completes user, database and password from the environment.
fn complete(config: &mut Config, env: &BTreeMap<String, String>) -> Result<(), String> {
    let variable = |name: &str| env.get(name).filter(|value| !value.is_empty()).cloned();
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err("it names no host".to_owned());
    }
    if config.get_user().is_none() {
        let user = variable("PGUSER").or_else(|| variable("USER"));
        config.user(user.ok_or("it names no user, and PGUSER is not set")?);
    }
    if config.get_dbname().is_none() {
        let user = config.get_user().unwrap_or_default().to_owned();
        config.dbname(variable("PGDATABASE").unwrap_or(user));
    }
    if config.get_password().is_none() {
        let file = variable("PGPASSFILE").map(PathBuf::from);
        let file = file.or_else(|| Some(Path::new(&variable("HOME")?).join(".pgpass")));
        let password = variable("PGPASSWORD").or_else(|| password_of_file(&file?, config));
        if let Some(password) = password {
            config.password(password);
        }
    }
    Ok(())
}

fn is_this_machine(config: &Config) -> bool {
    let is_local_name = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            let address = name.parse::<std::net::IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
    };
    config.get_hosts().iter().all(is_local_name)
        && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
}

fn host_name(config: &Config) -> String {
    match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(_)) => "localhost".to_owned(),
        None => config.get_hostaddrs().first().map(ToString::to_string).unwrap_or_default(),
    }
}

fn place(config: &Config) -> String {
    format!("the database {} at {}", config.get_dbname().unwrap_or_default(), host_name(config))
}

fn id(config: &Config) -> String {
    let parts = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let text = format!("{parts:?} {:?} {:?}", config.get_dbname(), config.get_user());
    ContentHash::of_bytes(text.as_bytes()).short_hex()
}

/// The password of a line `host:port:database:user:password`, where `*` matches anything and `\` escapes `:`
/// and `\`. Like PostgreSQL's programs, a file that other users may read is not used.
fn password_of_file(path: &Path, config: &Config) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if metadata.mode() & 0o077 != 0 || metadata.len() > POSTGRES_PASSWORDS_BYTES_MAX {
        tracing::warn!("the password file is not used: others may read it, or it is too large");
        return None;
    }
    let port = config.get_ports().first().copied().unwrap_or(PORT_DEFAULT).to_string();
    let host = host_name(config);
    let wanted = [
        host.as_str(),
        port.as_str(),
        config.get_dbname().unwrap_or_default(),
        config.get_user().unwrap_or_default(),
    ];
    let text = fs::read_to_string(path).ok()?;
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| password_of(line, wanted))
}

fn password_of(line: &str, wanted: [&str; 4]) -> Option<String> {
    let fields = fields(line);
    let [host, port, database, user, password] = <[String; 5]>::try_from(fields).ok()?;
    let is_wanted = [host, port, database, user]
        .iter()
        .zip(wanted)
        .all(|(field, wanted)| field == "*" || field == wanted);
    is_wanted.then_some(password)
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let last = fields.last_mut().expect("there is always a field");
        match character {
            ':' => fields.push(String::new()),
            '\\' => last.extend(characters.next()),
            other => last.push(other),
        }
    }
    fields
}

/// A value of a URL: `%41` encodes a byte.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let is_code = *first == b'%' && code.is_some();
        bytes.push(code.filter(|_| is_code).unwrap_or(*first));
        rest = if is_code { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn settings(url: &str) -> Result<PostgresSettings, String> {
        PostgresSettings::from_url(url, &BTreeMap::from([("USER".to_owned(), "ann".to_owned())]))
    }

    fn mode(url: &str) -> SslMode {
        settings(url).expect("a valid URL").config.get_ssl_mode()
    }

    #[test]
    fn other_machines_are_encrypted_unless_the_user_says_otherwise() {
        assert_eq!(mode("postgres://db.example.com/team"), SslMode::Require);
        assert_eq!(mode("postgres://db.example.com/team?sslmode=verify-full"), SslMode::Require);
        assert_eq!(mode("postgres://db.example.com/team?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://localhost/team"), SslMode::Disable);
        assert_eq!(mode("postgres://127.0.0.1:5433/team?sslmode=require"), SslMode::Require);
        assert_eq!(mode("postgres:///team?host=/run/postgresql"), SslMode::Disable);
        assert_eq!(mode("postgres://localhost,db.example.com/team"), SslMode::Require);
        assert_eq!(mode("postgres://localhost/team?hostaddr=10.0.0.1"), SslMode::Require);
    }

    #[test]
    fn what_may_be_plain_by_chance_is_refused() {
        for refused in [
            "postgres://h/d?sslmode=prefer",
            "postgres://h/d?sslmode=allow",
            "postgres://h/d?sslmode=Require",
            "postgres:///d?host=/run&sslmode=require",
            "postgres://h/d?sslcert=/a.pem",
            "postgres://h/d?unknown=1",
            "mysql://h/d",
            "postgres:///d",
        ] {
            assert!(settings(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn no_part_of_a_password_is_in_a_message() {
        for url in [
            "postgres://u:secret@2secret@h/d",
            "postgres://u:pw@h/d?secret=1",
            "postgres://u:secret@h:notaport/d",
            "postgres://u:secret@h/d?sslmode=topsecret",
            "secret://u:secret@h/d",
            "postgres://u:secret%@/d?port=topsecret",
        ] {
            let error = settings(url).expect_err(url);
            assert!(!error.contains("secret"), "{error}");
        }
        let valid = settings("postgres://u:secret@h/d?password=secret").expect("valid");
        assert!(!format!("{valid:?}").contains("secret"), "{valid:?}");
    }

    #[test]
    fn what_the_url_leaves_open_comes_from_the_environment() {
        let env = BTreeMap::from(
            [("PGUSER", "bob"), ("PGDATABASE", "team"), ("PGPASSWORD", "secret")]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let open = PostgresSettings::from_url("postgres://h", &env).expect("valid");
        assert_eq!((open.config.get_user(), open.config.get_dbname()), (Some("bob"), Some("team")));
        assert_eq!(open.config.get_password(), Some(b"secret".as_slice()));
        let encoded = "secret%40";
        let url = format!("postgres://ann:{encoded}@h/d");
        let full = PostgresSettings::from_url(&url, &env).expect("valid");
        assert_eq!((full.config.get_user(), full.config.get_dbname()), (Some("ann"), Some("d")));
        assert_eq!(full.config.get_password(), Some(b"secret@".as_slice()));
        assert_eq!(full.place, "the database d at h");
    }

    #[test]
    fn the_password_file_is_read_as_postgresql_reads_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("passwords");
        fs::write(
            &file,
            "# h:5432:d:ann:no\nother:*:*:*:no\nh:5433:*:ann:port\nh:*:d:ann:a\\:b\\\\c\n",
        )
        .expect("written");
        let env = BTreeMap::from([
            ("PGPASSFILE".to_owned(), file.display().to_string()),
            ("USER".to_owned(), "ann".to_owned()),
        ]);
        let password = |url: &str| {
            let settings = PostgresSettings::from_url(url, &env).expect("valid");
            settings.config.get_password().map(|it| String::from_utf8_lossy(it).into_owned())
        };
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("set");
        assert_eq!(password("postgres://h/d"), None, "others may read it");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("set");
        assert_eq!(password("postgres://h/d").as_deref(), Some("a:b\\c"));
        assert_eq!(password("postgres://h:5433/x").as_deref(), Some("port"));
        assert_eq!(password("postgres://h/x"), None);
    }
}
