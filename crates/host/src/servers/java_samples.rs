//! Finds the source folders of a Java workspace without a build file: jdtls infers each from one file in it.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::files::{open_regular, walk_names};
use moai_base::limits::{JAVA_SAMPLE_BYTES_MAX, JAVA_SAMPLE_FILES_MAX, JAVA_SOURCE_FOLDERS_MAX};
use moai_lsp::registry::ServerSpec;

/// One file of each source folder, the folder above those of its package; empty if the workspace has one of the
/// server's build files. Blocking.
pub(super) fn java_samples(workspace: &Path, spec: &ServerSpec) -> Vec<PathBuf> {
    if spec.root_markers.iter().any(|marker| workspace.join(marker).exists()) {
        return Vec::new();
    }
    let names = walk_names(workspace, &|path| path.extension().is_some_and(|it| it == "java"));
    let mut samples: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    for name in names.iter().take(JAVA_SAMPLE_FILES_MAX) {
        let file = name.under(workspace);
        if let Some(folder) = declared_package(&file).and_then(|it| source_folder(&file, &it)) {
            samples.entry(folder).or_insert(file);
        }
    }
    samples.into_values().take(JAVA_SOURCE_FOLDERS_MAX).collect()
}

/// The package that a Java file declares in its first kilobytes.
fn declared_package(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    open_regular(file).ok()?.take(JAVA_SAMPLE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let declaration = text.lines().find_map(|line| line.trim_start().strip_prefix("package "))?;
    Some(declaration.split(';').next()?.trim().to_owned())
}

/// The folder above those that a file's package names; `None` if the file is in other ones.
fn source_folder(file: &Path, package: &str) -> Option<PathBuf> {
    let folder = file.parent()?;
    let package: PathBuf = package.split('.').collect();
    let depth = package.components().count();
    folder.ends_with(&package).then(|| folder.ancestors().nth(depth).map(Path::to_path_buf))?
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use moai_lsp::registry::Catalogue;

    #[test]
    fn each_source_folder_has_one_sample_unless_there_is_a_build_file() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let file = root.path().join(name);
            fs::create_dir_all(file.parent().expect("below the root")).expect("made");
            fs::write(file, text).expect("written");
        };
        write("src/main/java/com/acme/A.java", "// a comment\npackage com.acme;\n\nclass A {}\n");
        write("src/main/java/com/acme/shop/B.java", "package com.acme.shop;\nclass B {}\n");
        write("test/com/acme/ATest.java", "package com.acme;\nclass ATest {}\n");
        write("other/C.java", "package elsewhere;\nclass C {}\n");
        write("D.java", "class D {}\n");
        let catalogue = Catalogue::built_in();
        let spec = catalogue.server("jdtls").expect("built in");
        let samples = java_samples(root.path(), spec);
        let expected = ["src/main/java/com/acme/A.java", "test/com/acme/ATest.java"];
        assert_eq!(samples, expected.map(|name| root.path().join(name)));
        write("pom.xml", "<project/>\n");
        assert!(java_samples(root.path(), spec).is_empty());
    }
}
