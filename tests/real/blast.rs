//! Effects of an edit on other files, with real servers: the hook reports a changed signature, a removed
//! export and a moved module at once in the file that uses them, and their repair as well.

use crate::servers::{project, report};
use crate::support::Sandbox;

/// A module with two texts, its user, and the findings in the user.
struct Play {
    module: (&'static str, &'static str),
    user: (&'static str, &'static str),
    /// A changed signature, and the place of the resulting error.
    changed: (&'static str, &'static str),
    /// A text without the export.
    removed: &'static str,
    moved_to: &'static str,
}

fn after_shell(sandbox: &Sandbox) -> String {
    sandbox.hook("post-tool-use", &sandbox.payload("PostToolUse-Bash")).context()
}

fn check(play: &Play, prepare: impl FnOnce(&Sandbox)) {
    let sandbox = project();
    prepare(&sandbox);
    let ((module, text), (user, user_text)) = (play.module, play.user);
    sandbox.write(module, text);
    sandbox.write(user, user_text);
    sandbox.commit();
    // The server is warm after a check, so that edits are answered within the inline budget.
    report(&sandbox.run(&["check", "--all", "--json"]), 0);
    after_shell(&sandbox);

    let (changed, place) = play.changed;
    let told = sandbox.tool_write(module, changed).context();
    let expected = format!("[moai-ralph] {module}: introduced 1 error in {user}\n");
    assert!(told.starts_with(&expected), "{told}");
    assert!(told.contains(place) && told.ends_with("[broken by this edit]"), "{told}");
    let told = sandbox.tool_write(module, text).context();
    assert_eq!(told, format!("[moai-ralph] {module}: fixed 1 in {user}"));

    let told = sandbox.tool_write(module, play.removed).context();
    assert!(told.contains(user) && told.contains("[broken by this edit]"), "{told}");
    let told = sandbox.tool_write(module, text).context();
    assert!(told.contains(&format!("in {user}")) && !told.contains("broken"), "{told}");

    let from = sandbox.path(module);
    std::fs::rename(&from, sandbox.path(play.moved_to)).expect("the module is ours");
    let told = after_shell(&sandbox);
    assert!(told.contains(user) && told.contains("[broken by this edit]"), "{told}");
    std::fs::rename(sandbox.path(play.moved_to), &from).expect("the module is ours");
    let told = after_shell(&sandbox);
    assert!(told.contains(&format!("in {user}")) && !told.contains("broken"), "{told}");
}

#[test]
fn pyright_is_asked_about_the_users_of_what_was_edited() {
    let play = Play {
        module: ("prices.py", "def half(number: int) -> float:\n    return number / 2\n"),
        user: ("cart.py", "from prices import half\n\ntotal: float = half(3)\n"),
        changed: (
            "def half(number: int, by: int) -> float:\n    return number / by\n",
            "error cart.py:3:16 pyright(reportCallIssue)",
        ),
        removed: "rate = 2\n",
        moved_to: "costs.py",
    };
    check(&play, |_| {});
}

const TYPESCRIPT: Play = Play {
    module: (
        "src/prices.ts",
        "export function half(value: number): number {\n  return value / 2;\n}\n",
    ),
    user: (
        "src/cart.ts",
        "import { half } from \"./prices\";\n\nexport const total: number = half(3);\n",
    ),
    changed: (
        "export function half(value: number, by: number): number {\n  return value / by;\n}\n",
        "error src/cart.ts:3:30 ",
    ),
    removed: "export const rate = 2;\n",
    moved_to: "src/costs.ts",
};

#[test]
fn typescript_is_asked_about_the_users_of_what_was_edited() {
    check(&TYPESCRIPT, |sandbox| {
        sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
    });
}

#[test]
fn typescript_7_is_asked_about_the_users_of_what_was_edited() {
    check(&TYPESCRIPT, |sandbox| {
        sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
        sandbox.write("package.json", "{\"devDependencies\": {\"typescript\": \"^7.0.0\"}}\n");
    });
}

#[test]
fn what_git_brings_is_compared_with_the_commit_before() {
    let sandbox = project();
    let prices = "def half(number: int) -> float:\n    return number / 2\n";
    sandbox.write("prices.py", prices);
    sandbox.write("cart.py", "from prices import half\n\ntotal: float = half(3)\n");
    sandbox.commit();
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    sandbox.write("prices.py", &prices.replace("number: int", "number: int, by: int"));
    sandbox.commit();
    sandbox.git(&["checkout", "-q", "-"]);
    report(&sandbox.run(&["check", "--all", "--json"]), 0);
    after_shell(&sandbox);
    sandbox.git(&["merge", "-q", "other"]);
    let told = after_shell(&sandbox);
    assert!(told.contains("error cart.py:3:16") && told.contains("[broken by"), "{told}");
}
