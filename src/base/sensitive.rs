//! Files that usually hold secrets, by their names. Looking into them is asked for by name, because
//! what is found is shown with its line of source. It must not know who looks.

use super::path::RelPath;

/// Extensions of keys, certificates with keys and stores of them.
const EXTENSIONS: [&str; 9] =
    ["jks", "kdbx", "key", "keystore", "p12", "pem", "pfx", "ppk", "tfstate"];
/// Whole names.
const NAMES: [&str; 7] =
    [".git-credentials", ".htpasswd", ".netrc", ".npmrc", ".pgpass", ".pypirc", "_netrc"];
/// Beginnings of names of private keys.
const KEYS: [&str; 4] = ["id_dsa", "id_ecdsa", "id_ed25519", "id_rsa"];
/// Names, up to the extension, of data with secrets. Source code is called so, too, and is not
/// data.
const STEMS: [&str; 6] =
    ["credential", "credentials", "secret", "secrets", "service-account", "service_account"];
/// Extensions of data; a file without one counts as well.
const DATA: [&str; 9] = ["", "cfg", "conf", "ini", "json", "properties", "toml", "yaml", "yml"];

/// Whether a file of this name usually holds secrets: `.env` and its like, private keys, stores of
/// keys, and data called `credentials` or `secrets`.
#[must_use]
pub fn is_sensitive(path: &RelPath) -> bool {
    let name = path.as_str().rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let is_env = name == ".env" || name.starts_with(".env.");
    // What is meant to be shared says so in its name.
    let is_sample = ["example", "sample", "template", "dist"].contains(&extension);
    let is_key = KEYS.iter().any(|key| stem == *key || name == *key) && extension != "pub";
    (is_env && !is_sample)
        || is_key
        || EXTENSIONS.contains(&extension)
        || NAMES.contains(&name.as_str())
        || STEMS.contains(&stem) && DATA.contains(&extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names_and_source_code_is_none() {
        let check = |path: &str, expected: bool| {
            let path = RelPath::parse(path).expect("a relative path");
            assert_eq!(is_sensitive(&path), expected, "{path}");
        };
        for path in [
            ".env",
            "app/.env.production",
            "certs/server.pem",
            "id_rsa",
            "keys/id_ed25519.old",
            "Store.P12",
            "config/credentials.json",
            "config/Secrets.yaml",
            "credentials",
            ".netrc",
            "terraform.tfstate",
        ] {
            check(path, true);
        }
        for path in [
            ".env.example",
            "env.py",
            "id_rsa.pub",
            "src/credentials.py",
            "src/secrets.ts",
            "monkey.py",
            "key.rs",
            "keyboard.json",
        ] {
            check(path, false);
        }
    }
}
