//! Paths of changed files through links to packages of the project. A server that did not find a file of such a
//! package has searched for it below `node_modules`, and searches again only after a notice about that path: TypeScript
//! 7.0.2 and 5.9.3 do, whose watchers follow links. Pure.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use moai_host::files::LinkedFolder;
use moai_lsp::session::DiskChange;

/// The paths through these links of what was created or deleted. Where only the content of a file changed,
/// servers have resolved the link and know the file by its own path.
pub(crate) fn paths_through_links(
    links: &[LinkedFolder],
    changes: &[(PathBuf, DiskChange)],
) -> Vec<(PathBuf, DiskChange)> {
    let mut links_to: HashMap<&Path, Vec<&Path>> = HashMap::new();
    for LinkedFolder { link, target } in links {
        links_to.entry(target).or_default().push(link);
    }
    let mut through_links = Vec::new();
    for (path, change) in changes.iter().filter(|(_, change)| *change != DiskChange::Changed) {
        for target in path.ancestors().skip(1) {
            let Ok(below) = path.strip_prefix(target) else { continue };
            for link in links_to.get(target).into_iter().flatten() {
                through_links.push((link.join(below), *change));
            }
        }
    }
    through_links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_appears_in_a_package_appears_behind_each_link_to_it() {
        let link =
            |link: &str, target: &str| LinkedFolder { link: link.into(), target: target.into() };
        let links =
            [link("/r/node_modules/core", "/r/core"), link("/r/app/node_modules/core", "/r/core")];
        let change = |path: &str, change| (PathBuf::from(path), change);
        let changes = [
            change("/r/core/dist/i.d.ts", DiskChange::Created),
            change("/r/core/src/i.ts", DiskChange::Changed),
            change("/r/core2/a.ts", DiskChange::Created),
            change("/r/core/b.ts", DiskChange::Deleted),
        ];
        let expected = [
            change("/r/node_modules/core/dist/i.d.ts", DiskChange::Created),
            change("/r/app/node_modules/core/dist/i.d.ts", DiskChange::Created),
            change("/r/node_modules/core/b.ts", DiskChange::Deleted),
            change("/r/app/node_modules/core/b.ts", DiskChange::Deleted),
        ];
        assert_eq!(paths_through_links(&links, &changes), expected);
    }
}
