//! Glob patterns as LSP defines them for watched files: `*`, `?`, `**`, `{a,b}`, `[a-z]`, `[!a]`.
//! Compares text only.

use moai_base::limits::GLOB_ALTERNATIVES_MAX;

/// One pattern with its alternatives expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WatchGlob {
    alternatives: Vec<String>,
}

impl WatchGlob {
    /// Parses a pattern. Braces that expand beyond the bound make the pattern match everything: too
    /// many notifications are better than too few.
    pub(super) fn new(pattern: &str) -> Self {
        let mut alternatives = Vec::new();
        if !expand("", pattern, &mut alternatives) {
            alternatives = vec!["**".to_owned()];
        }
        Self { alternatives }
    }

    /// Whether it matches a file. An absolute alternative is compared with the absolute path, any
    /// other with the path below the base, which is `None` for a file elsewhere. Both paths use
    /// `/`.
    pub(super) fn matches(&self, absolute: &str, below_base: Option<&str>) -> bool {
        self.alternatives.iter().any(|pattern| {
            if pattern.starts_with('/') {
                return matches_path(pattern, absolute);
            }
            below_base.is_some_and(|path| matches_path(pattern, path))
        })
    }
}

/// Expands the first brace group recursively; false when there are too many alternatives.
fn expand(done: &str, rest: &str, out: &mut Vec<String>) -> bool {
    let Some((open, close)) = first_group(rest) else {
        out.push(format!("{done}{rest}"));
        return out.len() <= GLOB_ALTERNATIVES_MAX;
    };
    let (before, tail) = (&rest[..open], &rest[close + 1..]);
    branches(&rest[open + 1..close])
        .into_iter()
        .all(|branch| expand(&format!("{done}{before}"), &format!("{branch}{tail}"), out))
}

/// Byte offsets of the first `{` and of its `}`.
fn first_group(text: &str) -> Option<(usize, usize)> {
    let open = text.find('{')?;
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some((open, at)),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn branches(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, byte) in group.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                found.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&group[start..]);
    found
}

fn matches_path(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    // Dynamic programming: `reached[n]` is whether the segments so far match the first `n` of the
    // path.
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    for segment in pattern {
        let mut next = vec![false; path.len() + 1];
        for at in 0..=path.len() {
            next[at] = if segment == "**" {
                reached[at] || at > 0 && next[at - 1]
            } else {
                at > 0 && reached[at - 1] && matches_segment(segment, path[at - 1])
            };
        }
        reached = next;
    }
    reached[path.len()]
}

/// Matches one path segment; the last `*` takes one more character whenever the rest does not
/// match.
fn matches_segment(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut seen, mut star) = (0, 0, None);
    while seen < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
                continue;
            }
            Some(_) => {
                if let Some(width) = matches_one(&pattern[at..], text[seen]) {
                    (at, seen) = (at + width, seen + 1);
                    continue;
                }
            }
            None => {}
        }
        let Some((back, from)) = star else { return false };
        star = Some((back, from + 1));
        (at, seen) = (back + 1, from + 1);
    }
    pattern[at..].iter().all(|character| *character == '*')
}

/// How many pattern characters match this one character; `None` when they do not match.
fn matches_one(pattern: &[char], character: char) -> Option<usize> {
    if pattern[0] == '['
        && let Some(close) = pattern.iter().skip(2).position(|c| *c == ']').map(|at| at + 2)
    {
        let is_negated = matches!(pattern[1], '!' | '^');
        let members = &pattern[1 + usize::from(is_negated)..close];
        return (is_member(members, character) != is_negated).then_some(close + 1);
    }
    (pattern[0] == '?' || pattern[0] == character).then_some(1)
}

fn is_member(members: &[char], character: char) -> bool {
    let mut at = 0;
    while at < members.len() {
        if members.get(at + 1) == Some(&'-') && at + 2 < members.len() {
            if (members[at]..=members[at + 2]).contains(&character) {
                return true;
            }
            at += 3;
        } else if members[at] == character {
            return true;
        } else {
            at += 1;
        }
    }
    false
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
    fn braces_without_end_match_everything() {
        check(&"{a,b}".repeat(20), &["/r/whatever"], &[]);
    }
}
