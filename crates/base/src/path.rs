//! Paths relative to the root, separated by `/`, and `file:` URIs. Pure text; nothing here accesses
//! the disk.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

/// Folders without project source, regardless of `.gitignore`.
pub const NEVER_WALKED: [&str; 5] = [".git", ".venv", "__pycache__", "node_modules", "venv"];

/// True if polls of the root do not cover this file: it is outside the root, hidden or in a hidden
/// folder, in one of the [`NEVER_WALKED`] folders, or in Cargo's build output.
#[must_use]
pub fn is_unpolled(root: &Path, file: &Path) -> bool {
    let Some(path) = RelPath::below(root, file) else { return true };
    let is_left_out = |name: &str| name.starts_with('.') || NEVER_WALKED.contains(&name);
    path.as_str().starts_with("target/") || path.as_str().split('/').any(is_left_out)
}

/// True for a path in a folder `node_modules`, where npm, pnpm and Yarn install packages and link those of a monorepo.
#[must_use]
pub fn is_in_node_modules(path: &Path) -> bool {
    path.iter().any(|name| name == "node_modules")
}

/// True if a package manager fills this folder, so that its changes are installations.
#[must_use]
pub fn is_installed(folder: &Path) -> bool {
    let names: Vec<&OsStr> = folder.iter().collect();
    let is_library =
        |pair: &[&OsStr]| pair[0] == "lib" && pair[1].as_encoded_bytes().starts_with(b"python");
    is_in_node_modules(folder) || names.windows(2).any(is_library)
}

/// A path below the root: no leading `/`, no `.` or `..`, separated by `/`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct RelPath(String);

impl RelPath {
    /// The path of `absolute` below `root`; `None` if it is the root itself, outside the root, or
    /// not valid UTF-8. Both must be absolute; `.` and `..` are resolved lexically.
    #[must_use]
    pub fn below(root: &Path, absolute: &Path) -> Option<Self> {
        let (root, absolute) = (as_normal(root), as_normal(absolute));
        let text = absolute.strip_prefix(root).ok()?.to_str()?;
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Parses the output of [`RelPath::as_str`]; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let path = Self::below(Path::new("/"), &Path::new("/").join(text))?;
        (path.0 == text).then_some(path)
    }

    /// The text, with `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The absolute path below a root.
    #[must_use]
    pub fn under(&self, root: &Path) -> PathBuf {
        root.join(&self.0)
    }

    /// The parent folders below the root, outermost first.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(end, _)| &self.0[..end])
    }

    /// The last component.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The folder that contains it; empty for the root.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// True if it is this file, or below this folder.
    #[must_use]
    pub fn is_in(&self, file_or_folder: &str) -> bool {
        let rest = self.0.strip_prefix(file_or_folder);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The extension in lower case, without the dot.
    #[must_use]
    pub fn extension(&self) -> Option<String> {
        Path::new(&self.0).extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase)
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Resolves `.` and `..` lexically; `..` above the file system's root is dropped.
#[must_use]
pub fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// Like [`normalize`], for paths that mostly are normal: walks compare all files of a project.
fn as_normal(path: &Path) -> Cow<'_, Path> {
    let names = path.as_os_str().as_bytes().strip_prefix(b"/");
    let is_normal = names.is_some_and(|names| {
        let is_plain = |name: &[u8]| !matches!(name, b"" | b"." | b"..");
        names.is_empty() || names.split(|byte| *byte == b'/').all(is_plain)
    });
    if is_normal { Cow::Borrowed(path) } else { Cow::Owned(normalize(path)) }
}

/// The `file:` URI of an absolute path. Every byte outside RFC 3986's unreserved set and `/` is
/// percent-encoded, so spaces, `#`, `%` and Korean survive.
#[must_use]
pub fn to_uri(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            use fmt::Write as _;
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// The absolute path of a `file:` URI; `None` for another scheme, another host or a broken escape.
/// Compare paths and never URIs, because servers percent-encode different characters.
#[must_use]
pub fn from_uri(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(rest.len());
    let mut input = rest.bytes();
    while let Some(byte) = input.next() {
        if byte == b'%' {
            let high = char::from(input.next()?).to_digit(16)?;
            let low = char::from(input.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

/// The text with its percent escapes decoded; invalid escapes are kept.
#[must_use]
pub fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => byte_of_hex(*high, *low),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn byte_of_hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
    Some(digit(high)? * 16 + digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(root: &str, path: &str) -> Option<String> {
        RelPath::below(Path::new(root), Path::new(path)).map(|path| path.to_string())
    }

    #[test]
    fn a_path_is_in_its_folders_and_not_in_names_that_begin_like_them() {
        let path = RelPath::parse(".claude/memory-leak.py").expect("relative");
        assert_eq!((path.folder(), path.file_name()), (".claude", "memory-leak.py"));
        assert!(path.is_in(".claude") && path.is_in(path.as_str()));
        assert!(!path.is_in(".claude/memory") && !path.is_in("memory-leak.py"));
    }

    #[test]
    fn only_paths_below_the_root_get_a_relative_name() {
        assert_eq!(below("/p", "/p/src/a.py").as_deref(), Some("src/a.py"));
        assert_eq!(below("/p", "/p/./x/../a.py").as_deref(), Some("a.py"));
        assert_eq!(below("/p//", "//p//src/a.py/").as_deref(), Some("src/a.py"));
        assert_eq!(below("/p/../q", "/q/a.py").as_deref(), Some("a.py"));
        assert_eq!(below("/", "/a.py").as_deref(), Some("a.py"));
        assert_eq!(below("/p", "/p/../etc/passwd"), None);
        assert_eq!(below("/p", "/pq/a.py"), None);
        assert_eq!(below("/p", "/p"), None);
    }

    #[test]
    fn hidden_installed_and_outside_files_are_unpolled() {
        let is_unpolled = |path: &str| is_unpolled(Path::new("/r"), Path::new(path));
        for path in ["/r/a.ts", "/r/src/deep/a.ts", "/r/src/target/a.ts"] {
            assert!(!is_unpolled(path), "{path}");
        }
        for path in ["/q/a.ts", "/r/../q/a.ts", "/r/.nuxt/a.ts", "/r/src/.a.ts", "/r/target/a.rs"] {
            assert!(is_unpolled(path), "{path}");
        }
        assert!(is_unpolled("/r/src/node_modules/a/index.d.ts"));
    }

    #[test]
    fn folders_of_package_managers_are_installed() {
        for folder in ["/q/node_modules", "/q/node_modules/a", "/usr/lib/python3.11"] {
            assert!(is_installed(Path::new(folder)), "{folder}");
        }
        assert!(is_installed(Path::new("/usr/lib/python3/dist-packages")));
        assert!(!is_installed(Path::new("/q/lib")) && !is_installed(Path::new("/python3/a")));
    }

    #[test]
    fn only_relative_paths_are_parsed() {
        assert_eq!(
            RelPath::parse("src/a.py").map(|path| path.to_string()).as_deref(),
            Some("src/a.py")
        );
        for text in ["", "/etc/passwd", "../a", "a/../b", "a//b", "./a"] {
            assert_eq!(RelPath::parse(text), None, "{text}");
        }
    }

    #[test]
    fn uris_round_trip_with_spaces_korean_and_reserved_characters() {
        for path in ["/a b/한글.py", "/x#y%z?.ts", "/plain/a-b_c.d~e"] {
            let uri = to_uri(Path::new(path));
            assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
            assert_eq!(from_uri(&uri).as_deref(), Some(Path::new(path)));
        }
        assert_eq!(from_uri("file:///c%3a/x").as_deref(), Some(Path::new("/c:/x")));
        assert_eq!(from_uri("untitled:Untitled-1"), None);
        assert_eq!(from_uri("file:///x%2"), None);
    }
}
