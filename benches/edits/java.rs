//! Java: classes made up here, because the registries hold compiled Java only. Each uses the two
//! before it.

use super::package::{Filler, Package, TextSwitch, outside_path};
use super::servers::Server;
use super::stage::Stage;
use super::truth::{Truth, output_of, place};

const CLASSES: usize = 12;

/// Without a build file the server guesses where the packages begin, and not always right.
const PROJECT: &str = "<projectDescription><name>play</name><buildSpec><buildCommand>\
     <name>org.eclipse.jdt.core.javabuilder</name></buildCommand></buildSpec>\
     <natures><nature>org.eclipse.jdt.core.javanature</nature></natures></projectDescription>\n";
const CLASSPATH: &str = "<classpath><classpathentry kind=\"src\" path=\"src\"/>\
     <classpathentry kind=\"con\" path=\"org.eclipse.jdt.launching.JRE_CONTAINER\"/>\
     <classpathentry kind=\"output\" path=\"bin\"/></classpath>\n";

pub(crate) const PACKAGE: Package = Package {
    lay,
    folders: &["src"],
    endings: &[".java"],
    edited: &[
        "src/play/Order2.java",
        "src/play/Order4.java",
        "src/play/Order5.java",
        "src/play/Order8.java",
        "src/play/Order11.java",
    ],
    breaks: &[
        TextSwitch {
            file: "src/play/Order3.java",
            from: "public int total(int count) {",
            to: "public int total(int count, boolean strict) {",
        },
        TextSwitch {
            file: "src/play/Order6.java",
            from: "public static String label(String name) {",
            to: "public static String title(String name) {",
        },
        TextSwitch {
            file: "src/play/Order8.java",
            from: "public int total(int count) {",
            to: "public int sum(int count) {",
        },
    ],
    configurations: &[],
    moves: &[("src/play/Order0.java", "src/play/Renamed0.java")],
    filler: Filler {
        file: "src/filler/Filler#.java",
        text: "package filler;\n\nclass Filler# {}\n",
    },
    outsider: None,
    is_head: |line| line.starts_with("    public ") && line.ends_with(") {"),
    errors: &["    int bench_#_ = \"\".nowhere#();", "    int bench_#_ = nowhere_#;"],
};

fn lay(stage: &Stage<'_>) {
    for class in 0..CLASSES {
        let used = |step: usize| (class + CLASSES - step) % CLASSES;
        let (one, other) = if class < 2 { (class, class) } else { (used(1), used(2)) };
        let text = format!(
            "package play;\n\nimport java.util.ArrayList;\nimport java.util.List;\n\n\
             public class Order{class} {{\n    \
             private final List<String> names = new ArrayList<>();\n\n    \
             public int total(int count) {{\n        names.add(Order{one}.label(\"a\"));\n        \
             return count + names.size();\n    }}\n\n    \
             public static String label(String name) {{\n        return name.trim();\n    }}\n\n    \
             public int twice(Order{other} order) {{\n        return order.total(2) * 2;\n    }}\n}}\n"
        );
        stage.write(&format!("src/play/Order{class}.java"), &text);
    }
    stage.write(".project", PROJECT);
    stage.write(".classpath", CLASSPATH);
    stage.write(".gitignore", ".settings/\nbin/\n");
}

/// javac; after errors in names it continues with the rest.
pub(crate) fn truth(stage: &Stage<'_>, _: &Server) -> Truth {
    let classes = outside_path(stage, "classes");
    std::fs::create_dir_all(&classes).expect("the sandbox is writable");
    let mut command = stage.command("javac");
    command.args(["-proc:none", "-Xlint:none", "-Xmaxerrs", "1000"]);
    command.args(["-XDshould-stop.ifError=FLOW", "-d"]).arg(classes);
    let (_, stderr) = output_of(command.args(stage.files_in("src/play")));
    let mut truth = Truth::default();
    for (path, line, rest) in stderr.lines().filter_map(place) {
        if rest.contains("error: ") {
            truth.add(path, line, "");
        }
    }
    truth
}
