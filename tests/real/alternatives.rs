//! The other servers of a language: each finds an error, sees the fix, follows a module that changed on
//! disk without a hook, keeps two files apart, and survives a burst of edits.

use serde_json::{Value, json};

use crate::servers::{findings, project_of, report};
use crate::support::Sandbox;

/// A file, a module it uses, and texts of both that are right and wrong.
struct Play<'a> {
    server: &'a str,
    file: &'a str,
    right: &'a str,
    wrong: &'a str,
    /// 0-based line of the finding in `wrong`.
    line: u64,
    /// The module and a text of it that breaks `file`; none for servers that read one file.
    module: Option<(&'a str, &'a str, &'a str)>,
}

impl Play<'_> {
    fn check(&self, sandbox: &Sandbox, code: i32) -> Vec<(String, u64)> {
        let output = sandbox.run(&["check", self.file, "--no-scan", "--json"]);
        self.lines(&report(&output, code))
    }

    fn lines(&self, report: &Value) -> Vec<(String, u64)> {
        let mut errors = report.clone();
        let found = errors["findings"].as_array_mut().expect("a report lists its findings");
        found.retain(|finding| finding["severity"] == "error");
        let found = findings(&errors, self.server);
        found.into_iter().map(|(path, _, line)| (path, line)).collect()
    }

    fn run(&self, sandbox: &Sandbox) {
        if let Some((module, right, _)) = self.module {
            sandbox.write(module, right);
        }
        sandbox.write(self.file, self.wrong);
        let wrong = [(self.file.to_owned(), self.line)];
        assert_eq!(self.check(sandbox, 1), wrong);
        sandbox.write(self.file, self.right);
        self.check(sandbox, 0);
        self.follow_module(sandbox);
        self.two_files(sandbox, &wrong);
        std::thread::scope(|scope| {
            for round in 0..8 {
                let text = if round % 2 == 0 { self.wrong } else { self.right };
                sandbox.write(self.file, &format!("{text}\n"));
                scope.spawn(|| sandbox.run(&["check", self.file]));
            }
        });
        sandbox.write(self.file, self.wrong);
        assert_eq!(self.check(sandbox, 1), wrong);
        let told = sandbox.tool_write(self.file, self.right).context();
        assert!(told.contains("fixed 1; now clean"), "{told}");
        let told = sandbox.tool_write(self.file, self.wrong).context();
        assert!(told.contains("introduced 1 "), "{told}");
    }

    fn follow_module(&self, sandbox: &Sandbox) {
        let Some((module, right, wrong)) = self.module else { return };
        sandbox.write(module, wrong);
        assert_eq!(self.check(sandbox, 1).len(), 1, "the module is wrong");
        sandbox.write(module, right);
        self.check(sandbox, 0);
        std::fs::remove_file(sandbox.path(module)).expect("the module is ours");
        assert_eq!(self.check(sandbox, 1).len(), 1, "the module is gone");
        sandbox.write(module, right);
        self.check(sandbox, 0);
    }

    fn two_files(&self, sandbox: &Sandbox, wrong: &[(String, u64)]) {
        let (name, extension) = self.file.rsplit_once('.').expect("an extension");
        let other = format!("{name}_other.{extension}");
        sandbox.write(&other, self.right);
        sandbox.write(self.file, self.wrong);
        let output = sandbox.run(&["check", self.file, &other, "--no-scan", "--json"]);
        let both = report(&output, 1);
        assert_eq!((self.lines(&both).as_slice(), &both["files_checked"]), (wrong, &json!(2)));
        std::fs::remove_file(sandbox.path(&other)).expect("the file is ours");
    }
}

fn python(server: &str) {
    let sandbox = project_of("python", server);
    let play = Play {
        server,
        file: "app.py",
        right: "from made import made\n\nnumber: int = made()\n",
        wrong: "from made import made\n\nnumber: str = made()\n",
        line: 2,
        module: Some((
            "made.py",
            "def made() -> int:\n    return 1\n",
            "def made() -> str:\n    return ''\n",
        )),
    };
    play.run(&sandbox);
}

#[test]
fn basedpyright_is_believed() {
    python("basedpyright");
}

#[test]
fn ty_is_believed() {
    python("ty");
}

#[test]
fn ruff_is_believed() {
    let sandbox = project_of("python", "ruff");
    let (right, wrong) = ("print(1)\n", "\nprint(unknown)\n");
    Play { server: "ruff", file: "app.py", right, wrong, line: 1, module: None }.run(&sandbox);
}

fn typescript(server: &str, version: &str) {
    let sandbox = project_of("typescript", server);
    sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true, \"noEmit\": true}}\n");
    let package = json!({"devDependencies": {"typescript": version}});
    sandbox.write("package.json", &package.to_string());
    let play = Play {
        server,
        file: "app.ts",
        right: "import { made } from \"./made\";\n\nexport const it: number = made;\n",
        wrong: "import { made } from \"./made\";\n\nexport const it: string = made;\n",
        line: 2,
        module: Some((
            "made.ts",
            "export const made: number = 1;\n",
            "export const made: string = \"\";\n",
        )),
    };
    play.run(&sandbox);
}

#[test]
fn vtsls_is_believed() {
    typescript("vtsls", "^5.9.0");
}

#[test]
fn typescript_7_is_believed() {
    typescript("typescript-native", "^7.0.0");
}

#[test]
fn the_css_server_is_believed() {
    let server = "vscode-css-language-server";
    let sandbox = project_of("css", server);
    let (right, wrong) = ("p { color: red; }\n", "p { color: ; }\n");
    Play { server, file: "app.css", right, wrong, line: 0, module: None }.run(&sandbox);
}

#[test]
fn the_html_server_is_believed() {
    let server = "vscode-html-language-server";
    let sandbox = project_of("html", server);
    let page =
        |style: &str| format!("<!doctype html>\n<style>\np {{ color: {style}; }}\n</style>\n");
    let (right, wrong) = (page("red"), page(""));
    let (right, wrong) = (right.as_str(), wrong.as_str());
    Play { server, file: "app.html", right, wrong, line: 2, module: None }.run(&sandbox);
}
