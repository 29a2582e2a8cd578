//! Files that usually hold secrets, recognized by name. They are scanned only on request, because a
//! finding shows its source line.

use super::path::RelPath;

/// Extensions of keys, key stores, and certificates that contain keys.
const EXTENSIONS: [&str; 9] =
    ["jks", "kdbx", "key", "keystore", "p12", "pem", "pfx", "ppk", "tfstate"];
const NAMES: [&str; 7] =
    [".git-credentials", ".htpasswd", ".netrc", ".npmrc", ".pgpass", ".pypirc", "_netrc"];
/// Stems of private key files.
const KEYS: [&str; 4] = ["id_dsa", "id_ecdsa", "id_ed25519", "id_rsa"];
/// Stems of data files with secrets. Source code has such names too, so the extension must be one
/// of [`DATA`].
const STEMS: [&str; 6] =
    ["credential", "credentials", "secret", "secrets", "service-account", "service_account"];
/// Extensions of data files; a file without an extension counts too.
const DATA: [&str; 9] = ["", "cfg", "conf", "ini", "json", "properties", "toml", "yaml", "yml"];

/// True if a file of this name usually holds secrets: `.env` files, private keys, key stores, and
/// data files called `credentials` or `secrets`.
#[must_use]
pub fn is_sensitive(path: &RelPath) -> bool {
    let name = path.file_name().to_ascii_lowercase();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let is_env = name == ".env" || name.starts_with(".env.");
    // Sample files have no real secrets.
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
    fn secrets_are_recognized_by_name_and_source_code_is_not_one() {
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
