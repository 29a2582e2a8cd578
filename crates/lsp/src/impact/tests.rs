//! The names that an edit touches, the files that mention them, and their order.

use std::path::Path;

use super::*;
use moai_base::samples::finding;

fn path(name: &str) -> RelPath {
    RelPath::below(Path::new("/r"), &Path::new("/r").join(name)).expect("relative")
}

fn check(before: &str, after: &str, expected: &[&str]) {
    let names = TouchedSymbols::from_edit(&path("a.py"), Some(before), Some(after)).names;
    assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn a_changed_signature_a_removed_and_a_renamed_definition_are_touched() {
    check("def half(number):\n    pass\n", "def half(number, by):\n    pass\n", &["half"]);
    let two = "export const one = 1;\nexport const two = 2;\n";
    check(two, "export const one = 1;\n", &["two"]);
    check(two, "export const uno = 1;\nexport const two = 2;\n", &["one", "uno"]);
}

/// Symbols touched by an edit of `old` to `new` that other files can notice.
fn elsewhere(name: &str, text: &str, old: &str, new: &str) -> Vec<String> {
    assert!(text.contains(old), "{name}: {old}");
    let after = text.replace(old, new);
    TouchedSymbols::visible_elsewhere(&path(name), Some(text), Some(&after))
        .names
        .into_iter()
        .collect()
}

#[test]
fn the_body_of_a_function_with_an_explicit_signature_is_invisible() {
    let texts = [
        ("a.py", "class Cart:\n    def total(\n        self,\n    ) -> int:\n        return OLD\n"),
        ("a.go", "func (r *Repo) Find(id int) error {\n\tif true {\n\t\treturn OLD\n\t}\n}\n"),
        ("a.rs", "impl Cart {\n    pub fn total(&self) -> u32 {\n        OLD\n    }\n}\n"),
        ("a.c", "local int\narea(int side)\n{\n    return OLD;\n}\n"),
        (
            "A.java",
            "class A {\n    int total(int count) throws E {\n        return OLD;\n    }\n}\n",
        ),
        ("a.ts", "export function load<T>(path: T): Promise<T> {\n  return OLD;\n}\n"),
        ("b.ts", "class A {\n  load = (path: string): string => {\n    return OLD;\n  };\n}\n"),
    ];
    for (name, text) in texts {
        assert!(elsewhere(name, text, "OLD", "compute(price)").is_empty(), "{name}");
        assert!(!elsewhere(name, text, "OLD", "compute({").is_empty(), "{name}: unbalanced");
    }
}

#[test]
fn the_value_of_a_typed_variable_is_invisible() {
    for (name, text) in [
        ("a.py", "import x\n\nLIMIT: int = OLD\n"),
        ("b.py", "names: dict[str, list[int]] = OLD  # why\n"),
        ("a.ts", "export const limit: Map<string, number> = OLD;\n"),
        ("b.ts", "let limit: number | undefined = OLD;\n"),
    ] {
        assert!(elsewhere(name, text, "OLD", "compute(2)").is_empty(), "{name}");
        assert!(!elsewhere(name, text, "OLD", "compute({").is_empty(), "{name}: unbalanced");
    }
    for (name, text, old, new) in [
        ("a.py", "LIMIT = 1\n", "1", "''"),
        ("b.py", "LIMIT: Final = 1\n", "1", "''"),
        ("c.py", "LIMIT: int = 1\n", "int", "str"),
        ("d.py", "LIMIT: int = 1\n", "LIMIT", "MOST"),
        ("e.py", "class A:\n    limit: int = 1\n", "1", "field(init=False)"),
        ("f.py", "limit: Annotated[int, Field(gt=1)] = 1\n", "gt=1", "gt=2"),
        ("g.py", "__all__: list[str] = []\n", "[]", "['a']"),
        ("h.py", "limit: int = 1\n", " = 1", ""),
        ("a.ts", "export const limit = 1;\n", "1", "''"),
        ("b.ts", "const handler: (a: number) => void = given;\n", "void", "number"),
        ("c.ts", "class A {\n  static limit: number = 1;\n}\n", "1", "2"),
        ("a.rs", "pub const LIMIT: usize = 1;\n", "1", "2"),
    ] {
        assert!(!elsewhere(name, text, old, new).is_empty(), "{name}: {text}");
    }
}

#[test]
fn a_body_that_affects_the_signature_is_visible() {
    let texts = [
        ("a.py", "def total(self):\n    return OLD\n"),
        ("b.py", "def total(\n    self,\n    OLD,\n) -> int:\n    return 1\n"),
        ("c.py", "class Cart:\n    def fill(self) -> None:\n        self.items = OLD\n"),
        ("d.py", "def start() -> None:\n    global count\n    count = OLD\n"),
        ("a.h", "static inline int area(int side) {\n    return OLD;\n}\n"),
        ("a.cpp", "template <class T> int area(T side) {\n    return OLD;\n}\n"),
        ("b.cpp", "struct Shape {\n    int OLD;\n};\n"),
        ("a.rs", "const fn total() -> usize {\n    OLD\n}\n"),
        ("b.rs", "fn all() -> impl Iterator<Item = u8> {\n    OLD\n}\n"),
        (
            "c.rs",
            "macro_rules! make {\n    () => {\n        fn made() {\n            OLD\n        }\n    };\n}\n",
        ),
        ("a.ts", "export function load(path: string) {\n  return OLD;\n}\n"),
        ("b.ts", "export function load(): Promise<{\n  OLD: string;\n}> {\n  return x;\n}\n"),
        ("a.js", "export function load(path) {\n  return OLD;\n}\n"),
        ("a.go", "type T struct {\n\tOLD int\n}\n"),
    ];
    for (name, text) in texts {
        assert!(!elsewhere(name, text, "OLD", "price").is_empty(), "{name}");
    }
}

#[test]
fn a_changed_body_touches_the_enclosing_definitions() {
    let before = "class Cart:\n    def total(\n        self,\n    ) -> int:\n        return 1\n";
    check(before, &before.replace('1', "None"), &["Cart", "total"]);
    let before = "int area(int side)\n{\n    return side;\n}\nint other()\n{\n    return 1;\n}\n";
    check(before, &before.replace("return side", "return side * side"), &["area", "side"]);
}

#[test]
fn moved_lines_blank_lines_and_comments_touch_no_definition() {
    check("first = 1\nsecond = 2\n", "second = 2\n\nfirst = 1\n", &[]);
    check("first = 1\n", "# what was meant\nfirst = 1  \n", &[]);
}

#[test]
fn a_huge_edit_is_bounded() {
    let many: Vec<String> = (0..500).map(|at| format!("name_{at} = {at}")).collect();
    let names = TouchedSymbols::from_edit(&path("a.py"), Some(""), Some(&many.join("\n"))).names;
    assert_eq!(names.len(), IMPACT_NAMES_MAX);
    // Then every importer counts.
    let touched =
        TouchedSymbols::from_edit(&path("many.py"), Some("first = 1\n"), Some(&many.join("\n")));
    assert!(touched.mentioned_in("from many import first_of_all\n").is_some());
}

#[test]
fn importers_come_first_then_neighbours_then_the_most_mentions() {
    let before = Some("def half(number): ...\n");
    let touched = TouchedSymbols::from_edit(
        &path("shop/prices.py"),
        before,
        Some("def third(number): ...\n"),
    );
    let mention = |text: &str| touched.mentioned_in(text);
    let imports = mention("from shop.prices import half\n");
    assert_eq!(imports, Some(FileMentions { imports: true, count: 1 }));
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
        rank_by_impact(&[path("shop/prices.py")], found).iter().map(ToString::to_string).collect();
    assert_eq!(names, ["w.py", "shop/x.py", "y.py", "z.py"]);
}

#[test]
fn importers_of_a_module_that_came_or_went_are_concerned() {
    let gone =
        TouchedSymbols::from_edit(&path("src/old-name.ts"), Some("export const one = 1;\n"), None);
    assert!(gone.mentioned_in("import * as it from \"./old-name\";\n").is_some());
    assert!(gone.mentioned_in("import * as it from \"./old-name-two\";\n").is_none());
    let package = TouchedSymbols::from_edit(&path("shop/__init__.py"), None, Some(""));
    assert!(package.mentioned_in("from shop import cart\n").is_some());
}

#[test]
fn a_name_that_is_everywhere_leaves_importers_and_neighbours() {
    let all = |imports| FileMentions { imports, count: 1 };
    let mut found: Vec<_> = (0..=IMPACT_COMMON_FILES_MAX)
        .map(|at| (path(&format!("far/{at}.py")), all(false)))
        .collect();
    found.push((path("far/importer.py"), all(true)));
    assert_eq!(rank_by_impact(&[path("near/a.py")], found), [path("far/importer.py")]);
}

#[test]
fn parameters_and_used_words_of_a_new_function_concern_no_other_file() {
    let before = "def half(number): ...\n";
    let after = format!("{before}\ndef note(value: int) -> int:\n    return value + other\n");
    let mut touched = TouchedSymbols::from_edit(&path("a.py"), Some(before), Some(&after));
    let text = "x = value\ny = other\nz = note(1)\n";
    assert!(!touched.concerns_finding(&finding("b.py", 0, "x"), text));
    assert!(!touched.concerns_finding(&finding("b.py", 1, "x"), text));
    assert!(touched.concerns_finding(&finding("b.py", 2, "x"), text));
    let before = "export function half(value: number) {\n  return value / 2;\n}\n";
    let after =
        format!("{before}export function twice(value: number) {{\n  return 2 * value;\n}}\n");
    let added = TouchedSymbols::visible_elsewhere(&path("a.ts"), Some(before), Some(&after));
    assert!(!added.may_change_meaning_of("const x = half(value);\n"));
    assert!(added.may_change_meaning_of("const x = twice(1);\n"));
    // Another edit removed the name.
    touched.extend(TouchedSymbols::from_edit(&path("c.py"), Some("value = 1\n"), Some("")));
    assert!(touched.concerns_finding(&finding("b.py", 0, "x"), text));
}

#[test]
fn a_finding_is_concerned_when_its_message_or_line_names_a_touched_symbol() {
    let touched = TouchedSymbols::from_edit(&path("a.py"), Some("def half(): ...\n"), None);
    let text = "import a\nx = half()\ny = 1\n";
    assert!(touched.concerns_finding(&finding("b.py", 1, "x"), text));
    assert!(!touched.concerns_finding(&finding("b.py", 2, "x"), text));
    let mut other = finding("b.py", 2, "x");
    other.message = "\"half\" is unknown import symbol".to_owned();
    assert!(touched.concerns_finding(&other, text));
}

#[test]
fn a_short_name_in_a_string_is_none() {
    let touched = TouchedSymbols::from_edit(&path("a.ts"), Some(""), Some("export const s = 1;\n"));
    let text = "const bad: number = \"s\";\nconst other: string = s;\n";
    assert!(!touched.concerns_finding(&finding("b.ts", 0, "x"), text));
    assert!(touched.concerns_finding(&finding("b.ts", 1, "x"), text));
}

#[test]
fn short_names_are_sought_in_importers_if_they_are_declared_for_others() {
    let rows: [(&str, &str, &str, &[&str]); 6] = [
        ("a.py", "def at(x):\n    return x\n", "def at(x, y):\n    return x\n", &["at"]),
        (
            "b.py",
            "class A:\n    def at(self): ...\n",
            "class A:\n    def at(self, y): ...\n",
            &["A", "at"],
        ),
        ("c.py", "def total():\n    x = 1\n", "def total():\n    x = 2\n", &[]),
        ("a.ts", "export const pi = 3;\n", "export const pi = '3';\n", &["pi"]),
        (
            "b.ts",
            "function total() {\n  const i = 1;\n}\n",
            "function total() {\n  const i = 2;\n}\n",
            &[],
        ),
        ("a.rs", "pub fn id() {}\n", "pub fn id(of: u8) {}\n", &["id"]),
    ];
    for (name, before, after, expected) in rows {
        let touched = TouchedSymbols::from_edit(&path(name), Some(before), Some(after));
        let short: Vec<&str> = touched.short_names.iter().map(String::as_str).collect();
        assert_eq!(short, expected, "{name}");
    }
    let touched = TouchedSymbols::from_edit(&path("a.py"), Some("def f(): ...\n"), Some(""));
    assert_eq!(touched.mentioned_in("f(1)\n"), None, "another f");
    let mentions = touched.mentioned_in("from a import f\nf(1)\n").expect("an importer");
    assert_eq!((mentions.imports, mentions.count), (true, 2));
    assert!(!touched.is_empty());
    assert!(touched.concerns_finding(&finding("b.py", 0, "x"), "f(1)\n"));
}

/// The names touched by an edit, and whether all importers are affected.
fn affected(name: &str, text: &str, old: &str, new: &str) -> (Vec<String>, bool) {
    assert!(text.contains(old), "{name}: {old}");
    let after = text.replacen(old, new, 1);
    let touched = TouchedSymbols::visible_elsewhere(&path(name), Some(text), Some(&after));
    (touched.names.into_iter().collect(), touched.concerns_importers)
}

#[test]
fn what_passes_a_changed_type_on_is_touched() {
    let check = |name: &str, text: &str, old: &str, new: &str, expected: &[&str]| {
        let (names, concerns_importers) = affected(name, text, old, new);
        assert!(!concerns_importers, "{name}: {text}");
        for expected in expected {
            assert!(names.iter().any(|it| it == expected), "{name}: {text}: {names:?}");
        }
        assert!(!names.iter().any(|it| it == "unrelated"), "{name}: {text}: {names:?}");
    };
    let component = "export interface Props {\n  label: string;\n}\n\n\
        export function Button({\n  label,\n}: Props) {\n  return label;\n}\n\n\
        export const wrap = (inner: typeof Button) => inner;\n\n\
        export function unrelated(count: number): number {\n  const props: Props = { label: '' };\n  return count;\n}\n";
    let added = "  label: string;\n  size: number;";
    check("Button.tsx", component, "  label: string;", added, &["Props", "Button", "wrap"]);
    let options = "export interface Opts { a: number }\nexport const make = (o: Opts): number => o.a;\n\
        export const unrelated = 1;\n";
    check("user.ts", options, "{ a: number }", "{ a: number; b: number }", &["Opts", "make"]);
    let rust = "pub struct Price {\n    pub amount: u32,\n}\n\npub fn of_cart() -> Price {\n    Price { amount: 1 }\n}\n\n\
        pub fn unrelated() -> u32 {\n    of_cart().amount\n}\n";
    check("lib.rs", rust, "amount: u32", "amount: u64", &["Price", "of_cart"]);
    let header = "typedef int num_t;\nnum_t add(num_t a, num_t b);\n";
    check("a.h", header, "int num_t", "struct { int v; } num_t", &["num_t", "add"]);
}

#[test]
fn all_importers_are_affected_by_what_a_file_passes_on_without_naming_it() {
    for (name, line, changed, expected) in [
        ("src/api/index.ts", "export * from './user';", "export type * from './user';", true),
        ("src/api/index.ts", "export * from './user';", "export {};", true),
        ("shop/__init__.py", "from .user import *", "", true),
        ("src/lib.rs", "pub use user::*;", "pub use other::*;", true),
        ("lib/all.dart", "export 'src/user.dart';", "", true),
        ("all.h", "#include \"list.h\"", "", true),
        ("config.h", "#define HAVE_LOG 1", "#define HAVE_LOG 0", true),
        ("config.h", "# define HAVE_LOG 1", "# define HAVE_LOG 0", true),
        ("config.h", "#ifdef HAVE_LOG", "#ifndef HAVE_LOG", true),
        ("cart.hpp", "struct Cart {\npublic:", "struct Cart {\nprivate:", true),
        ("prices.json", "{\"now\": 3}", "{\"now\": \"3\"}", true),
        ("shop.py", "LEAST = 1", "__all__ = [\"LEAST\"]", true),
        ("a.ts", "import * as fs from 'fs';", "import * as io from 'fs';", false),
        ("a.ts", "  \"한글\",", "  \"한국어\",", false),
        ("a.py", "import os", "import sys", false),
        ("a.rs", "use std::io::*;", "use std::fs::*;", false),
    ] {
        assert_eq!(affected(name, line, line, changed).1, expected, "{name}: {line}");
    }
}

#[test]
fn a_moved_module_concerns_what_imports_it_and_no_other_use_of_its_name() {
    let touched = TouchedSymbols::from_move(&path("shape/use.go"), &path("form/use.go"));
    let concerns = |line: &str, message: &str| {
        let finding = Finding { message: message.to_owned(), ..finding("b.go", 0, "x") };
        touched.concerns_finding(&finding, line)
    };
    assert!(concerns("\t\"ex.com/m/shape\"", "no package"));
    assert!(concerns("import shape", "not found"));
    assert!(concerns("var x = shape.Area(2)", "undeclared name"));
    assert!(concerns("x", "could not import ex.com/m/shape (no required module)"));
    let of_type = TouchedSymbols::from_move(&path("a/Cart.java"), &path("b/Cart.java"));
    let unresolved = finding("App.java", 0, "Cart cannot be resolved to a type");
    assert!(of_type.concerns_finding(&unresolved, "Cart c = new Cart();"));
    assert!(!concerns("func F() int { return \"s\" }", "cannot use \"s\" as int value"));
}

#[test]
fn a_function_on_one_line_touches_itself_and_not_what_it_calls() {
    let text = "function run(u) { return fmt(u->label()); }\n";
    assert_eq!(elsewhere("a.php", text, "(u)", "(u, v)"), ["run"]);
    let imported = format!("use function App\\fmt;\n{text}");
    assert_eq!(elsewhere("a.php", &imported, "(u)", "(u, v)"), ["run"]);
}

#[test]
fn what_describes_a_declaration_touches_its_name() {
    let js = "/**\n * Scales.\n * @param {number} by\n */\nexport function scale(by) {\n  return by;\n}\n";
    assert_eq!(elsewhere("a.js", js, "{number}", "{string}"), ["scale"]);
    assert!(elsewhere("a.js", js, "Scales.", "Scales well.").is_empty());
    assert!(elsewhere("a.ts", js, "{number}", "{string}").is_empty());
    let rust = "/// Costs.\n#[derive(Clone)]\n#[must_use]\npub struct Price {\n    of: u8,\n}\n";
    assert_eq!(elsewhere("a.rs", rust, "(Clone)", "(Clone, Copy)"), ["Copy", "Price"]);
    let barrel = "export { default as Price } from './price';\n";
    assert!(
        elsewhere("index.ts", barrel, "export {", "export type {").contains(&"Price".to_owned())
    );
}

#[test]
fn a_declaration_file_that_becomes_a_module_touches_all_that_it_declares() {
    let global = "declare const version: string;\n";
    let module = format!("{global}export {{}};\n");
    let touched = TouchedSymbols::visible_elsewhere(&path("a.d.ts"), Some(global), Some(&module));
    assert!(touched.names.contains("version"), "{touched:?}");
}
