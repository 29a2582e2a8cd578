//! Tests as pytest and unittest collect them.

use std::collections::BTreeSet;

use super::{
    TestMarker, TestMarkerKind, TestNode, TestRows, conditions, parts, qualified, rows, tight,
};
use crate::facts::{SourceSide, is_string, normal, tokens};
use crate::suite::calls::CallNode;
use moai_base::path::RelPath;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

pub(super) fn tests<'t>(side: &SourceSide<'t>, classes: &TestClasses<'t>) -> Vec<TestNode<'t>> {
    let is_collected = is_collected(side.path);
    let is_used = || {
        let mut own = classes.of_file(side.path);
        own.any(|it| classes.is_inherited(it.name))
            || classes.imports_of(side.path).next().is_some()
    };
    if !is_collected && !is_used() {
        return Vec::new();
    }
    let around = ClassContext {
        names: Vec::new(),
        marks: module_marks(side.root, side.root),
        rows: TestRows::default(),
        is_case: false,
        is_plain_case: false,
    };
    let mut collection = Collection { side, classes, is_collected, found: Vec::new() };
    collection.collect(side.root, &around);
    collection.found
}

/// Bases of bases are followed this far.
const BASES_MAX: usize = 8;

/// A class in a file of Python.
#[derive(Clone, Copy)]
struct TestClass<'t> {
    path: &'t RelPath,
    name: &'t str,
    node: SyntaxNode<'t>,
    root: SyntaxNode<'t>,
}

/// The classes of all files of one side, and which of them hand on their tests.
pub(super) struct TestClasses<'t> {
    all: Vec<TestClass<'t>>,
    /// The last names of the bases of collected classes, and of their bases.
    inherited: BTreeSet<&'t str>,
    /// What collected files import from other modules.
    imports: Vec<TestImport<'t>>,
}

/// A name that a collected file imports; runners find tests by imported names, too.
struct TestImport<'t> {
    /// The last name of the module.
    module: &'t str,
    /// `*` for all names.
    name: &'t str,
}

impl<'t> TestClasses<'t> {
    pub(super) fn new<'s>(sides: impl Iterator<Item = &'s SourceSide<'t>>) -> Self
    where
        't: 's,
    {
        let (mut all, mut imports) = (Vec::new(), Vec::new());
        for side in sides.filter(|it| it.language == ScanLanguage::Python) {
            if is_collected(side.path) {
                imports.extend(parts(side.root).into_iter().flat_map(imported));
            }
            side.root.walk(&mut |node| {
                let name = node.field("name").filter(|_| node.kind() == "class_definition");
                let (path, root) = (side.path, side.root);
                let class = name.map(|name| TestClass { path, name: name.text(), node, root });
                all.extend(class);
                true
            });
        }
        let mut classes = Self { all, inherited: BTreeSet::new(), imports };
        let is_heir = |it: &&TestClass<'t>| {
            let decorators = it.node.parent().filter(|it| it.kind() == "decorated_definition");
            let is_skipped = decorators.is_some_and(|it| {
                it.named_children()
                    .iter()
                    .any(|it| it.kind() == "decorator" && it.text().contains("skip"))
            });
            let is_inside = it
                .node
                .ancestors()
                .any(|around| matches!(around.kind(), "class_definition" | "function_definition"));
            is_collected(it.path)
                && !(is_inside || is_skipped || is_removed(it.name, it.root))
                && classes.is_case(it)
        };
        let mut heirs: Vec<TestClass<'t>> = classes.all.iter().filter(is_heir).copied().collect();
        while let Some(heir) = heirs.pop() {
            for base in bases(heir.node).map(last_name) {
                if classes.inherited.insert(base) {
                    heirs.extend(classes.all.iter().filter(|it| it.name == base));
                }
            }
        }
        classes
    }

    fn of_file(&self, path: &RelPath) -> impl Iterator<Item = &TestClass<'t>> {
        self.all.iter().filter(move |it| it.path == path)
    }

    /// The names of a file that collected files import.
    fn imports_of(&self, path: &RelPath) -> impl Iterator<Item = &'t str> {
        let stem = path.file_name().split('.').next();
        self.imports.iter().filter(move |it| Some(it.module) == stem).map(|it| it.name)
    }

    /// True if a collected class has a base of this name, as far as the files show.
    fn is_inherited(&self, name: &str) -> bool {
        self.inherited.contains(name)
    }

    /// True if runners may look for tests in a class: by its name, or because one of its bases, as far as
    /// these files show them, may be a test case. Its name alone does not say which, so renaming a base
    /// changes nothing.
    fn is_case(&self, class: &TestClass<'t>) -> bool {
        self.is_case_within(class, BASES_MAX)
    }

    fn is_case_within(&self, class: &TestClass<'t>, depth: usize) -> bool {
        class.name.starts_with("Test")
            || is_named_by_project(class)
            || depth > 0 && bases(class.node).any(|base| self.may_be_case(base, class, depth - 1))
    }

    fn may_be_case(&self, base: &'t str, class: &TestClass<'t>, depth: usize) -> bool {
        let last = last_name(base);
        let named = || self.all.iter().filter(|it| it.name == last && it.node != class.node);
        let own = named()
            .find(|it| it.path == class.path && it.node.bytes().end <= class.node.bytes().start);
        if let Some(own) = own {
            return self.is_case_within(own, depth);
        }
        let mut elsewhere = named().filter(|it| it.path != class.path);
        match (elsewhere.next(), elsewhere.next()) {
            (Some(other), None) => self.is_case_within(other, depth),
            _ => !PLAIN_BASES.contains(&last) && !is_of_plain_module(last, class.root),
        }
    }
}

/// True for a class that pytest runs if the project says so: `CartTests` without a base. With the assertions of
/// unittest it would need one.
fn is_named_by_project(class: &TestClass<'_>) -> bool {
    let is_named = class.name.ends_with("Test") || class.name.ends_with("Tests");
    is_named && bases(class.node).next().is_none() && !class.node.text().contains("self.assert")
}

/// The bases of a class, as they are written.
fn bases(class: SyntaxNode<'_>) -> impl Iterator<Item = &str> {
    let bases = class.field("superclasses").map(parts).unwrap_or_default().into_iter();
    bases.filter(|it| it.kind() != "keyword_argument").map(|base| {
        // `Base[int]`
        base.field("value").unwrap_or(base).text()
    })
}

/// `from module import name`
fn imported(statement: SyntaxNode<'_>) -> Vec<TestImport<'_>> {
    let module =
        statement.field("module_name").filter(|_| statement.kind() == "import_from_statement");
    let Some(module) = module else { return Vec::new() };
    let names = parts(statement).into_iter().filter(|it| *it != module);
    let module = last_name(module.text());
    names
        .map(|name| TestImport { module, name: name.field("name").unwrap_or(name).text() })
        .collect()
}

fn last_name(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// True if a module deletes a class or gives its name another value.
fn is_removed(name: &str, root: SyntaxNode<'_>) -> bool {
    parts(root).into_iter().any(|statement| match statement.kind() {
        "delete_statement" => tokens(statement).contains(&name),
        "expression_statement" => {
            let inner = parts(statement).first().copied().filter(|it| it.kind() == "assignment");
            inner.and_then(|it| it.field("left")).is_some_and(|left| left.text() == name)
        }
        _ => false,
    })
}

/// Modules of Python whose classes are no test cases.
const PLAIN_MODULES: &[&str] = &[
    "abc",
    "argparse",
    "array",
    "ast",
    "asyncio",
    "collections",
    "contextlib",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "http",
    "io",
    "json",
    "logging",
    "numbers",
    "pathlib",
    "queue",
    "random",
    "socketserver",
    "string",
    "threading",
    "types",
    "typing",
];

/// True if a text imports a name from one of them.
fn is_of_plain_module(name: &str, root: SyntaxNode<'_>) -> bool {
    root.text().lines().any(|line| {
        let import = line.strip_prefix("from ").and_then(|it| it.split_once(" import "));
        import.is_some_and(|(module, names)| {
            let first = module.split('.').next().unwrap_or(module);
            let mut names = names.split([',', '(', ')']);
            PLAIN_MODULES.contains(&first)
                && names.any(|it| it.trim().rsplit(' ').next() == Some(name))
        })
    })
}

/// True if runners look into a file by its name.
fn is_collected(path: &RelPath) -> bool {
    let name = path.file_name();
    let stem = name.split('.').next().unwrap_or_default();
    stem.starts_with("test") || stem.ends_with("_test") || stem.ends_with("_tests")
}

/// The facts about a test from its classes.
#[derive(Clone, Default)]
struct ClassContext {
    names: Vec<String>,
    marks: Vec<TestMarker>,
    rows: TestRows,
    is_case: bool,
    /// True if it is a `TestCase` of unittest, which runs no coroutine.
    is_plain_case: bool,
}

/// The tests of one text, as they are found.
struct Collection<'s, 't> {
    side: &'s SourceSide<'t>,
    classes: &'s TestClasses<'t>,
    is_collected: bool,
    found: Vec<TestNode<'t>>,
}

impl<'t> Collection<'_, 't> {
    fn collect(&mut self, scope: SyntaxNode<'t>, around: &ClassContext) {
        let root = self.side.root;
        for node in parts(scope) {
            let (definition, decorators) = match node.kind() {
                "decorated_definition" => {
                    let decorators: Vec<SyntaxNode<'t>> =
                        parts(node).into_iter().filter(|it| it.kind() == "decorator").collect();
                    (node.field("definition"), decorators)
                }
                "if_statement" | "try_statement" | "with_statement" => {
                    for block in parts(node).into_iter().filter(|it| it.kind() == "block") {
                        self.collect(block, around);
                    }
                    continue;
                }
                _ => (Some(node), Vec::new()),
            };
            let Some(definition) = definition else { continue };
            let Some(name) = definition.field("name").map(SyntaxNode::text) else { continue };
            let mut own = around.clone();
            own.names.push(name.to_owned());
            for decorator in &decorators {
                own.marks.extend(mark(*decorator, root));
                own.rows.with(parametrized(*decorator, root));
            }
            match definition.kind() {
                "class_definition" => {
                    own.is_case = self.runs(definition, around);
                    let bases = definition.field("superclasses").map_or("", SyntaxNode::text);
                    own.is_plain_case = own.is_case && is_plain_case(bases, root);
                    if let Some(body) = definition.field("body") {
                        own.marks.extend(module_marks(body, root));
                        own.marks.extend(skipping_setup(body));
                        self.collect(body, &own);
                    }
                }
                "function_definition"
                    if name.starts_with("test")
                        && (around.is_case
                            || around.names.is_empty() && self.is_found_by_name(name)) =>
                {
                    if decorators.is_empty() {
                        own.marks.extend(never_run(definition, around.is_plain_case));
                    }
                    self.found.push(TestNode {
                        name: qualified(&own.names),
                        node,
                        body: definition.field("body"),
                        marks: own.marks,
                        rows: own.rows,
                        assertions: Vec::new(),
                        inner: Vec::new(),
                        is_made: false,
                    });
                }
                _ => {}
            }
        }
    }

    /// True if runners see a name at the top of the file, there or where it is imported.
    fn is_found_by_name(&self, name: &str) -> bool {
        let mut imports = self.classes.imports_of(self.side.path);
        self.is_collected || imports.any(|it| it == "*" || it == name)
    }

    /// True if runners run the tests of a class, or those of a class that inherits them.
    fn runs(&self, class: SyntaxNode<'t>, around: &ClassContext) -> bool {
        let Some(class) = self.classes.of_file(self.side.path).find(|it| it.node == class) else {
            return false;
        };
        let is_found = around.names.is_empty()
            && self.is_found_by_name(class.name)
            && !is_removed(class.name, class.root);
        let is_reached = around.is_case || is_found;
        self.classes.is_inherited(class.name) || is_reached && self.classes.is_case(class)
    }
}

/// Bases that never make a class a test case; a base from another file may be a test case there.
const PLAIN_BASES: &[&str] = &[
    "ABC",
    "BaseException",
    "Enum",
    "Exception",
    "Generic",
    "NamedTuple",
    "Protocol",
    "TypedDict",
    "dict",
    "int",
    "list",
    "object",
    "set",
    "str",
    "tuple",
    "type",
];

/// True if the only base of a class is `TestCase` of unittest.
fn is_plain_case(bases: &str, root: SyntaxNode<'_>) -> bool {
    let imports = || root.text().lines().any(|line| line.starts_with("from unittest import"));
    match bases.trim_matches(['(', ')', ' ']) {
        "unittest.TestCase" => true,
        "TestCase" => imports(),
        _ => false,
    }
}

/// Marks a test whose body never runs, because calling it only creates a coroutine or a generator.
fn never_run(definition: SyntaxNode<'_>, is_plain_case: bool) -> Option<TestMarker> {
    let marker = |text: &str, bytes| {
        let (kind, text) = (TestMarkerKind::Skip, text.to_owned());
        Some(TestMarker { kind, text, bytes })
    };
    let is_coroutine = definition.text().starts_with("async");
    if is_coroutine && is_plain_case {
        let start = definition.bytes().start;
        return marker("async def", start..start + "async def".len());
    }
    let is_inner = |node: SyntaxNode<'_>| {
        let mut around = node.ancestors().take_while(|it| *it != definition);
        around.any(|it| matches!(it.kind(), "function_definition" | "lambda"))
    };
    let body = definition.field("body").filter(|_| !is_coroutine)?;
    let own = body.descendants().into_iter().find(|it| it.kind() == "yield" && !is_inner(*it))?;
    marker("yield", own.bytes())
}

/// `@pytest.mark.skip`, `@unittest.skipIf(…)`, `@unittest.expectedFailure`.
fn mark<'t>(decorator: SyntaxNode<'t>, root: SyntaxNode<'t>) -> Option<TestMarker> {
    let kind = mark_of(parts(decorator).first().copied()?, root)?;
    Some(TestMarker { kind, text: normal(decorator), bytes: decorator.bytes() })
}

/// The effect of a marker, also under another name that the module gives it: `later = unittest.skip("…")`.
fn mark_of<'t>(mark: SyntaxNode<'t>, root: SyntaxNode<'t>) -> Option<TestMarkerKind> {
    let is_of_module = |value: &SyntaxNode<'t>| {
        let statement = value.parent().and_then(SyntaxNode::parent);
        statement.and_then(SyntaxNode::parent) == Some(root)
    };
    let renamed = || {
        let value = rows::named(mark.text(), root).filter(|_| mark.kind() == "identifier");
        value.filter(is_of_module)
    };
    known_mark(mark, root).or_else(|| known_mark(renamed()?, root))
}

/// The effect of a marker under its own name, with or without arguments.
fn known_mark<'t>(mark: SyntaxNode<'t>, root: SyntaxNode<'t>) -> Option<TestMarkerKind> {
    let call = CallNode::read(mark);
    let name = call.as_ref().map_or_else(|| mark.text(), |call| call.name);
    let arguments = call.map(|call| call.argument_nodes()).unwrap_or_default();
    let named = |key: &str| {
        let is_named =
            |it: &&SyntaxNode<'t>| it.field("name").is_some_and(|name| name.text() == key);
        arguments.iter().find(is_named).and_then(|it| it.field("value"))
    };
    let first = arguments.first().copied().filter(|it| it.kind() != "keyword_argument");
    let condition = named("condition").or(first);
    match name.rsplit('.').next().unwrap_or_default() {
        "skip" | "expectedFailure" => Some(TestMarkerKind::Skip),
        "xfail" => match condition.filter(|it| !is_string(*it)) {
            Some(condition) => Some(conditions::kind(condition, root)),
            None if named("raises").is_some() => Some(TestMarkerKind::Conditional),
            None => Some(TestMarkerKind::Skip),
        },
        "skipif" | "skipIf" | "skipUnless" => {
            Some(condition.map_or(TestMarkerKind::Skip, |it| conditions::kind(it, root)))
        }
        _ => None,
    }
}

/// `pytestmark = pytest.mark.skip`, `__test__ = False`, `pytest.skip(…, allow_module_level=True)`.
fn module_marks<'t>(scope: SyntaxNode<'t>, root: SyntaxNode<'t>) -> Vec<TestMarker> {
    let mut marks = Vec::new();
    for statement in parts(scope).into_iter().filter(|it| it.kind() == "expression_statement") {
        let Some(inner) = parts(statement).first().copied() else { continue };
        let text = tight(inner);
        let kind = match inner.kind() {
            "assignment" if text == "__test__=False" => Some(TestMarkerKind::Skip),
            "assignment" if text.starts_with("pytestmark=") => {
                inner.field("right").and_then(|it| {
                    let is_list = matches!(it.kind(), "list" | "tuple");
                    let all = if is_list { parts(it) } else { vec![it] };
                    all.into_iter().filter_map(|it| mark_of(it, root)).max()
                })
            }
            "call" if text.starts_with("pytest.skip(") => Some(TestMarkerKind::Skip),
            _ => None,
        };
        marks.extend(kind.map(|kind| TestMarker {
            kind,
            text: normal(inner),
            bytes: inner.bytes(),
        }));
    }
    marks
}

/// A set-up method that begins with a skip, for all tests of a class: `def setUp(self): self.skipTest("…")`.
fn skipping_setup(class: SyntaxNode<'_>) -> Option<TestMarker> {
    let is_set_up = |function: &SyntaxNode<'_>| {
        function.field("name").is_some_and(|name| {
            matches!(name.text(), "setUp" | "setUpClass" | "setup_class" | "setup_method")
        })
    };
    // `@classmethod` is around the function.
    let functions = parts(class).into_iter().map(|it| it.field("definition").unwrap_or(it));
    functions.filter(is_set_up).find_map(|function| {
        let is_docstring =
            |it: &SyntaxNode<'_>| it.named_children().first().is_some_and(|it| is_string(*it));
        let first = parts(function.field("body")?).into_iter().find(|it| !is_docstring(it))?;
        let is_call = first.named_children().first().is_some_and(|it| it.kind() == "call");
        let text = tight(first);
        let skips_by_call = is_call
            && ["self.skipTest(", "pytest.skip("].iter().any(|start| text.starts_with(start));
        let raises = first.kind() == "raise_statement" && text.contains("SkipTest");
        (skips_by_call || raises).then(|| TestMarker {
            kind: TestMarkerKind::Skip,
            text: normal(first),
            bytes: first.bytes(),
        })
    })
}

/// `@pytest.mark.parametrize("a, b", [(1, 2), (3, 4)])`
fn parametrized<'t>(decorator: SyntaxNode<'t>, root: SyntaxNode<'t>) -> TestRows {
    let call = parts(decorator).first().copied().and_then(CallNode::read);
    let Some(call) =
        call.filter(|call| matches!(call.name, "parametrize" | "expand" | "data" | "parameters"))
    else {
        return TestRows::default();
    };
    let arguments = call.argument_nodes();
    let place = usize::from(call.name == "parametrize");
    match arguments.get(place) {
        Some(_) if matches!(call.name, "data" | "parameters") => {
            let texts = arguments.iter().map(|it| normal(*it)).collect();
            TestRows { texts, is_open: false }
        }
        Some(list) => {
            let list =
                if list.kind() == "keyword_argument" { list.field("value") } else { Some(*list) };
            list.map(|list| rows::of_list(list, root)).unwrap_or_default()
        }
        None => TestRows { is_open: true, ..TestRows::default() },
    }
}

/// True if a `with` of Python ignores or expects a failing assertion.
pub(super) fn suppresses(node: SyntaxNode<'_>) -> bool {
    let body = node.field("body");
    let items = node.named_children().into_iter().filter(|child| Some(*child) != body);
    let head: Vec<&str> = items.flat_map(tokens).collect();
    let catches = |name: &&str| matches!(*name, "AssertionError" | "Exception" | "BaseException");
    let is_any = head.iter().any(catches);
    let asserts = |body: SyntaxNode<'_>| {
        body.named_children().iter().any(|it| it.kind() == "assert_statement")
    };
    let expects = ["raises", "assertRaises"].iter().any(|it| head.contains(it));
    let is_expected = expects && head.contains(&"AssertionError") && body.is_some_and(asserts);
    is_any && (head.contains(&"suppress") || is_expected)
}
