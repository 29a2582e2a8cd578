//! Extracts file names and error codes from a text.

use crate::runs::{Run, is_code, runs};
use crate::tokens::beginning;
use moai_base::limits::{MEMORY_NAMES_MAX, RANKED_TEXT_BYTES_MAX};

/// The first path with a folder in a text, without the position in the file.
#[must_use]
pub fn first_path(text: &str) -> Option<String> {
    names_in(text).find_map(|raw| path_of(&raw))
}

/// The files and the codes in a text, each once, in order of appearance.
#[must_use]
pub fn files_and_codes(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut files, mut codes) = (Vec::new(), Vec::new());
    for raw in names_in(text) {
        let (list, name) = match path_of(&raw) {
            Some(path) => (&mut files, path),
            None if is_code(&raw) => (&mut codes, raw),
            None => continue,
        };
        if !list.contains(&name) && list.len() < MEMORY_NAMES_MAX {
            list.push(name);
        }
    }
    (files, codes)
}

fn names_in(text: &str) -> impl Iterator<Item = String> {
    runs(beginning(text, RANKED_TEXT_BYTES_MAX)).into_iter().filter_map(|run| match run {
        Run::Name(name) => Some(name.raw),
        _ => None,
    })
}

/// `src/a.rs` of `src/a.rs:12:5`: a relative path with a folder and an extension.
fn path_of(raw: &str) -> Option<String> {
    let path = raw.split(':').next()?.trim_start_matches("./");
    let (folder, name) = path.rsplit_once('/')?;
    let (stem, extension) = name.rsplit_once('.')?;
    let is_extension = !extension.is_empty() && extension.chars().all(char::is_alphanumeric);
    let is_path = !folder.is_empty() && !folder.starts_with('/') && !stem.is_empty();
    (is_path && is_extension).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_codes_are_found_in_a_text() {
        let text =
            "src/auth/token.rs:12:5 - error TS2345 in ./web/a.tsx, src/auth/token.rs; a/b, 1.5";
        let (files, codes) = files_and_codes(text);
        assert_eq!(files, ["src/auth/token.rs", "web/a.tsx"]);
        assert_eq!(codes, ["TS2345"]);
        assert_eq!(
            first_path("https://example.org 그리고 lib/x.py를"),
            Some("lib/x.py".to_owned())
        );
        assert_eq!(first_path("nothing here"), None);
    }
}
