//! Which names an edit touches, who mentions them, who is asked first.

use std::path::Path;

use super::*;
use crate::base::finding::tests::finding;

fn path(name: &str) -> RelPath {
    RelPath::below(Path::new("/r"), &Path::new("/r").join(name)).expect("relative")
}

fn check(before: &str, after: &str, expected: &[&str]) {
    let names = touched_names(before, after);
    assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn a_changed_signature_a_removed_and_a_renamed_definition_are_touched() {
    check("def half(number):\n    pass\n", "def half(number, by):\n    pass\n", &["half"]);
    let two = "export const one = 1;\nexport const two = 2;\n";
    check(two, "export const one = 1;\n", &["two"]);
    check(two, "export const uno = 1;\nexport const two = 2;\n", &["one", "uno"]);
}

#[test]
fn a_body_touches_the_definitions_around_it() {
    let before = "class Cart:\n    def total(\n        self,\n    ) -> int:\n        return 1\n";
    check(before, &before.replace('1', "None"), &["Cart", "total"]);
    let before = "int area(int side)\n{\n    return side;\n}\nint other()\n{\n    return 1;\n}\n";
    check(before, &before.replace("return side", "return side * side"), &["area", "side"]);
}

#[test]
fn moved_lines_blank_lines_and_comments_touch_nothing() {
    check("first = 1\nsecond = 2\n", "second = 2\n\nfirst = 1\n", &[]);
    check("first = 1\n", "# what was meant\nfirst = 1  \n", &[]);
}

#[test]
fn a_huge_edit_is_bounded() {
    let many: Vec<String> = (0..500).map(|at| format!("name_{at} = {at}")).collect();
    assert_eq!(touched_names("", &many.join("\n")).len(), BLAST_NAMES_MAX);
    // Then every importer counts.
    let sought = Sought::of(&path("many.py"), Some("first = 1\n"), Some(&many.join("\n")));
    assert!(sought.mentioned_in("from many import first_of_all\n").is_some());
}

#[test]
fn importers_come_first_then_neighbours_then_the_most_mentions() {
    let before = Some("def half(number): ...\n");
    let sought = Sought::of(&path("shop/prices.py"), before, Some("def third(number): ...\n"));
    let mention = |text: &str| sought.mentioned_in(text);
    let imports = mention("from shop.prices import half\n");
    assert_eq!(imports, Some(Mention { imports: true, count: 1 }));
    assert_eq!(mention("import shop.prices\nbehalf = halfway\n"), None);
    let twice = mention("half(1) + half(2)\n");
    let found = vec![
        (path("z.py"), mention("half\n")),
        (path("y.py"), twice),
        (path("shop/x.py"), mention("half\n")),
        (path("w.py"), imports),
    ];
    let found = found.into_iter().filter_map(|(path, found)| Some((path, found?))).collect();
    let names: Vec<String> =
        ranked(&[path("shop/prices.py")], found).iter().map(ToString::to_string).collect();
    assert_eq!(names, ["w.py", "shop/x.py", "y.py", "z.py"]);
}

#[test]
fn importers_of_a_module_that_came_or_went_are_concerned() {
    let gone = Sought::of(&path("src/old-name.ts"), Some("export const one = 1;\n"), None);
    assert!(gone.mentioned_in("import * as it from \"./old-name\";\n").is_some());
    assert!(gone.mentioned_in("import * as it from \"./old-name-two\";\n").is_none());
    let package = Sought::of(&path("shop/__init__.py"), None, Some(""));
    assert!(package.mentioned_in("from shop import cart\n").is_some());
}

#[test]
fn a_name_that_is_everywhere_leaves_importers_and_neighbours() {
    let all = |imports| Mention { imports, count: 1 };
    let mut found: Vec<_> = (0..=BLAST_COMMON_FILES_MAX)
        .map(|at| (path(&format!("far/{at}.py")), all(false)))
        .collect();
    found.push((path("far/importer.py"), all(true)));
    assert_eq!(ranked(&[path("near/a.py")], found), [path("far/importer.py")]);
}

#[test]
fn a_finding_is_meant_when_its_message_or_its_line_names_what_was_touched() {
    let sought = Sought::of(&path("a.py"), Some("def half(): ...\n"), None);
    let text = "import a\nx = half()\ny = 1\n";
    assert!(sought.is_meant_by(&finding("b.py", 1, "x"), text));
    assert!(!sought.is_meant_by(&finding("b.py", 2, "x"), text));
    let mut other = finding("b.py", 2, "x");
    other.message = "\"half\" is unknown import symbol".to_owned();
    assert!(sought.is_meant_by(&other, text));
}
