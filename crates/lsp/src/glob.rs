//! Glob patterns as LSP 3.17 defines them for watched files: `*`, `?`, `**`, `{a,b}`, `[a-z]`,
//! `[!a]`. Compares text only. If in doubt, a pattern matches, because too many notifications do
//! less harm than too few.

use std::borrow::Cow;

use globset::{GlobBuilder, GlobSet};
use moai_base::limits::GLOB_BYTES_MAX;

#[derive(Clone, Debug)]
pub(super) struct WatchGlob {
    /// `None` matches every file below the base.
    set: Option<GlobSet>,
    has_absolute_alternative: bool,
}

impl WatchGlob {
    /// Parses a pattern. A pattern that is broken or too long matches everything.
    pub(super) fn new(pattern: &str) -> Self {
        let set = (pattern.len() <= GLOB_BYTES_MAX).then(|| compile(pattern)).flatten();
        let has_absolute_alternative =
            pattern.starts_with('/') || pattern.contains("{/") || pattern.contains(",/");
        Self { set, has_absolute_alternative }
    }

    /// True if it matches a file. An absolute pattern is compared with the absolute path, any other
    /// with the path below the base, which is `None` for a file elsewhere. Both paths use `/`.
    pub(super) fn matches(&self, absolute: &str, below_base: Option<&str>) -> bool {
        let Some(set) = &self.set else { return below_base.is_some() };
        below_base.is_some_and(|path| set.is_match(&*one_byte_characters(path)))
            || self.has_absolute_alternative && set.is_match(&*one_byte_characters(absolute))
    }
}

/// `None` for a pattern that `globset` refuses.
fn compile(pattern: &str) -> Option<GlobSet> {
    let glob = GlobBuilder::new(&one_byte_characters(pattern))
        .literal_separator(true)
        .backslash_escape(false)
        .empty_alternates(true)
        .allow_unclosed_class(true)
        .build()
        .ok()?;
    GlobSet::builder().add(glob).build().ok()
}

/// One byte for each character, because `?` and `[!a]` of `globset` match one byte. All characters
/// beyond ASCII become the same.
fn one_byte_characters(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    text.chars().map(|character| if character.is_ascii() { character } else { '\u{1a}' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, fits: &[&str], misfits: &[&str]) {
        let glob = WatchGlob::new(pattern);
        let below = |path: &str| path.strip_prefix("/r/").map(str::to_owned);
        let matches = |path: &&str| glob.matches(path, below(path).as_deref());
        for path in fits {
            assert!(matches(path), "{pattern} should match {path}");
        }
        for path in misfits {
            assert!(!matches(path), "{pattern} should not match {path}");
        }
    }

    #[test]
    fn the_patterns_that_servers_register() {
        check("**", &["/r/a.py", "/r/a/b/c"], &["/elsewhere/a.py"]);
        check("**/*.{go,mod,sum,work}", &["/r/a.go", "/r/x/y/go.mod"], &["/r/a.god", "/r/go"]);
        check("{/abs/lib}", &["/abs/lib"], &["/r/abs/lib", "/abs/lib/x"]);
        check("/abs/**/*.py", &["/abs/x.py", "/abs/a/b.py"], &["/r/x.py"]);
        check("src/**/t?st.[ch]", &["/r/src/test.c", "/r/src/a/b/tast.h"], &["/r/src/test.o"]);
        check(
            "**/{package,tsconfig{,.*}}.json",
            &["/r/tsconfig.json", "/r/a/tsconfig.x.json"],
            &["/r/x.json"],
        );
        check("*.[!p]y", &["/r/a.xy"], &["/r/a.py", "/r/d/a.xy"]);
        check("**/a*b*c", &["/r/aXbYc", "/r/abc"], &["/r/aXbY"]);
        check("[a", &["/r/[a"], &["/r/a"]);
    }

    #[test]
    fn each_construct_of_the_protocol() {
        // `*` and `?` match within a segment; `**` matches any number of segments, including none.
        check("*", &["/r/a", "/r/.a"], &["/r/a/b"]);
        check("*.py", &["/r/a.py", "/r/.py"], &["/r/d/a.py", "/r/a.pyc", "/r/a.PY"]);
        check("a?c", &["/r/abc", "/r/a한c"], &["/r/ac", "/r/a/c", "/r/abbc"]);
        check("a/**/b", &["/r/a/b", "/r/a/x/b", "/r/a/x/y/b"], &["/r/ab", "/r/xa/b", "/r/a/xb"]);
        check("**/b", &["/r/b", "/r/x/y/b"], &["/r/xb", "/r/b/x"]);
        check("a/**", &["/r/a/x", "/r/a/x/y"], &["/r/ab", "/r/b/a/x"]);
        check("a**b", &["/r/ab", "/r/axb"], &["/r/a/b"]);
        // Nested and empty groups; `**` in a group.
        check("{a,b{c,d}}.x", &["/r/a.x", "/r/bc.x", "/r/bd.x"], &["/r/b.x", "/r/c.x"]);
        check("a{,b}", &["/r/a", "/r/ab"], &["/r/b"]);
        check("{**/*.go,go.mod}", &["/r/a.go", "/r/x/a.go", "/r/go.mod"], &["/r/x/go.mod"]);
        check("{a/**,b}", &["/r/a/x/y", "/r/b"], &["/r/b/x"]);
        check(&"{a,b}".repeat(20), &["/r/abababababababababab"], &["/r/ab"]);
        // Ranges.
        check("v[0-9]", &["/r/v0", "/r/v9"], &["/r/va", "/r/v", "/r/v10"]);
        check("v[!0-9]", &["/r/va", "/r/v한"], &["/r/v0"]);
        check("v[^0-9]", &["/r/va"], &["/r/v0"]);
        check("v[a-]", &["/r/va", "/r/v-"], &["/r/vb"]);
        // Characters without a meaning in the protocol.
        check("a\\b!.(c)+", &["/r/a\\b!.(c)+"], &["/r/ab!.(c)+"]);
        check("한/*.py", &["/r/한/a.py"], &["/r/h/a.py", "/r/한/a.go"]);
        // Absolute and relative alternatives of one pattern.
        check("{/abs/x,y}", &["/abs/x", "/r/y"], &["/abs/y", "/r/x", "/r/abs/x"]);
    }

    #[test]
    fn a_broken_pattern_matches_everything_below_the_base() {
        for pattern in ["{a,b", "a}", "[z-a]"] {
            check(pattern, &["/r/whatever"], &["/elsewhere"]);
        }
        check(&"a".repeat(GLOB_BYTES_MAX + 1), &["/r/whatever"], &["/elsewhere"]);
        let longest = "a".repeat(GLOB_BYTES_MAX);
        check(&longest, &[&format!("/r/{longest}")], &["/r/whatever"]);
        let nested = "{".repeat(GLOB_BYTES_MAX / 2) + &"}".repeat(GLOB_BYTES_MAX / 2);
        check(&nested, &["/r/whatever"], &["/elsewhere"]);
    }
}
