//! Code behind links that lead out of the project: a loop in which it changed is not measured completely.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{FIXED, project, shell, start, status, stop};
use crate::support::write_file;

#[test]
fn code_behind_a_link_out_of_the_project_leaves_a_loop_unverified_if_it_changed() {
    for (link, target) in [("src", "elsewhere"), ("word.py", "elsewhere/word.py")] {
        for is_changed in [true, false] {
            let sandbox = project();
            let elsewhere = sandbox.base().join("elsewhere");
            write_file(&elsewhere.join("word.py"), "x = 1\n");
            let linked = sandbox.path(link);
            symlink(sandbox.base().join(target), linked).expect("ours");
            sandbox.commit();
            let options = ["--until", "diagnostics", "--max-iterations", "9"];
            assert_eq!(start(&sandbox, &options).code, 0);
            sandbox.write("app.py", FIXED);
            if is_changed {
                shell(&sandbox, || write_file(&elsewhere.join("word.py"), "x = 2\n"));
            }
            assert_eq!(stop(&sandbox, "finished"), None, "{link}");
            let expected = if is_changed { "completed_unverified" } else { "completed" };
            assert_eq!(status(&sandbox)["status"], expected, "{link}");
            let report = sandbox.run(&["loop", "report"]).stdout;
            assert_eq!(report.contains("outside the project"), is_changed, "{report}");
        }
    }
}

#[test]
fn code_that_disappears_behind_a_link_leaves_a_loop_unverified() {
    type Removal = fn(&Path);
    let removals: [(&str, Removal, &str); 5] = [
        (
            "a file",
            |place| fs::remove_file(place.join("part/word.py")).expect("ours"),
            "from src/part outside",
        ),
        (
            "a file at the top",
            |place| fs::remove_file(place.join("app.py")).expect("ours"),
            "from src outside",
        ),
        ("the folder", |place| fs::remove_dir_all(place).expect("ours"), "src lost its target"),
        (
            "all code",
            |place| {
                fs::remove_file(place.join("part/word.py")).expect("ours");
                fs::remove_file(place.join("app.py")).expect("ours");
            },
            "from src outside",
        ),
        ("data", |place| fs::remove_file(place.join("data/a.bin")).expect("ours"), ""),
    ];
    for (what, remove, told) in removals {
        let sandbox = project();
        let elsewhere = sandbox.base().join("elsewhere");
        write_file(&elsewhere.join("part/word.py"), "x = 1\n");
        write_file(&elsewhere.join("app.py"), "x = 1\n");
        write_file(&elsewhere.join("README.txt"), "x");
        let data = sandbox.base().join("data");
        write_file(&data.join("a.bin"), "x");
        write_file(&data.join("b.bin"), "x");
        symlink(&elsewhere, sandbox.path("src")).expect("ours");
        symlink(&data, sandbox.path("data")).expect("ours");
        sandbox.commit();
        let options = ["--until", "diagnostics", "--max-iterations", "9"];
        assert_eq!(start(&sandbox, &options).code, 0);
        sandbox.write("app.py", FIXED);
        let place = if told.is_empty() { sandbox.base() } else { elsewhere };
        shell(&sandbox, || remove(&place));
        assert_eq!(stop(&sandbox, "finished"), None, "{what}");
        let expected = if told.is_empty() { "completed" } else { "completed_unverified" };
        assert_eq!(status(&sandbox)["status"], expected, "{what}");
        let report = sandbox.run(&["loop", "report"]).stdout;
        assert!(report.contains(told), "{what}: {report}");
    }
}
