//! Properties that all clones of a repository share, on every machine.

use std::path::Path;

use moai_base::hash::ContentHash;

use super::open;

/// Identifies a repository by the address of its remote `origin`, however it is written: letters and
/// digits. `None` without such a remote, and for one on this machine.
#[must_use]
pub fn shared_identity(root: &Path) -> Option<String> {
    let repository = open(root).ok().flatten()?;
    let remote = repository.find_remote("origin").ok()?;
    let address = normalized(remote.url().ok()?)?;
    Some(ContentHash::of_bytes(address.as_bytes()).short_hex())
}

/// `host/path` without protocol, user, port and the ending `.git`.
fn normalized(url: &str) -> Option<String> {
    let (place, path) = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?,
        None => url.split_once(':')?,
    };
    let host = place.rsplit('@').next().unwrap_or(place);
    let host = host.split(':').next().unwrap_or(host).to_lowercase();
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    // A colon may also be a part of a path on this machine.
    let is_host = !host.is_empty() && !host.contains('/');
    (is_host && !path.is_empty()).then(|| format!("{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Tree;
    use super::*;

    #[test]
    fn all_ways_to_write_an_address_are_one() {
        for url in [
            "https://Example.com/team/shop.git",
            "https://ann@example.com/team/shop",
            "ssh://git@example.com:2222/team/shop.git",
            "git@example.com:team/shop.git",
            "example.com:/team/shop/",
        ] {
            assert_eq!(normalized(url).as_deref(), Some("example.com/team/shop"), "{url}");
        }
        for url in ["/srv/shop.git", "../shop", "file:///srv/shop.git", "./a:b", "https://h"] {
            assert_eq!(normalized(url), None, "{url}");
        }
    }

    #[test]
    fn clones_have_one_identity() {
        let identity_of = |url: Option<&str>| {
            let tree = Tree::with(&["a"]);
            if let Some(url) = url {
                let repository = git2::Repository::open(tree.root()).expect("a repository");
                repository.remote("origin", url).expect("added");
            }
            shared_identity(&tree.root())
        };
        let one = identity_of(Some("git@example.com:team/shop.git"));
        assert!(one.as_ref().is_some_and(|it| it.len() == 16));
        assert_eq!(one, identity_of(Some("https://example.com/team/shop")));
        assert_ne!(one, identity_of(Some("https://example.com/team/other")));
        assert_eq!(identity_of(None), None);
    }
}
