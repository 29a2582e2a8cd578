//! Commands that write a file, and commands that only look as if they did.

use super::*;

fn writes(command: &str, name: &str) -> bool {
    shell_writes(command).iter().any(|found| {
        let below = format!("{}/", found.path);
        found.path == name || found.is_whole_folder && name.starts_with(&below)
    })
}

#[test]
fn reading_and_running_a_file_writes_nothing() {
    for command in [
        "cat RUBRIC.md",
        "cat RUBRIC.md && npm test",
        "grep -n x RUBRIC.md | head -3; make",
        "bash RUBRIC.md --fast",
        "./RUBRIC.md",
        "git diff RUBRIC.md",
        "git add RUBRIC.md && git commit -m 'RUBRIC.md: more'",
        "sed -n 1,5p RUBRIC.md",
        "npm test > out.txt 2>&1 # RUBRIC.md",
        "cat < RUBRIC.md",
        "if grep -q x RUBRIC.md; then npm test; fi",
        "diff RUBRIC.md other.md >/tmp/d",
        "git commit -m \"$(cat <<'EOF'\nMove rules out of RUBRIC.md\n\nrm RUBRIC.md by hand\nEOF\n)\"",
        "gh pr create --body \"$(cat <<'EOF'\n- Update RUBRIC.md > more\nEOF\n)\"",
        "cat > docs/setup.md <<'EOF'\nrm -rf RUBRIC.md\nEOF",
        "cp RUBRIC.md /tmp/x && strings RUBRIC.md",
        "python3 -m json.tool RUBRIC.md",
        "python3 -c \"import json; print(json.load(open('RUBRIC.md')))\"",
        "for f in RUBRIC.md README.md; do wc -l $f; done",
        "f=RUBRIC.md; [ -f \"$f\" ] && head \"$f\"; rm -f /tmp/x",
        "git restore --staged RUBRIC.md; git rm --cached RUBRIC.md; git reset HEAD RUBRIC.md",
        "git log -S checkout -- RUBRIC.md; git stash show -p -- RUBRIC.md",
        "npx prettier --check RUBRIC.md; shellcheck RUBRIC.md; bash -n RUBRIC.md",
        "while read f; do echo $f; done < RUBRIC.md",
        "echo RUBRIC.md | xargs cat",
        "tar czf /tmp/x.tgz RUBRIC.md; curl https://host/RUBRIC.md -o /tmp/y",
        "mv dist/out.zip ..",
        "sort -o /tmp/s RUBRIC.md",
        "python - <<'EOF'\np = Path('a.md')\np.write_text(p.read_text() + 'see RUBRIC.md')\nEOF",
        "node -e \"exec('cat RUBRIC.md > /tmp/x')\"",
        "bash -c 'cat RUBRIC.md > /tmp/x'",
        "eval \"$(cat RUBRIC.md)\"",
        "curl -o /tmp/x https://host/RUBRIC.md",
        "sudo -u rm cat RUBRIC.md",
        "find . -name RUBRIC.md -exec cat {} + > /tmp/x",
        "perl -ne 'print if /x/' RUBRIC.md",
        "awk '{print $1}' RUBRIC.md > /tmp/x",
        "awk '$2 == \"RUBRIC.md\" { print }' x",
        "gzip -k RUBRIC.md; xz -c RUBRIC.md > /tmp/x",
        "sqlite3 RUBRIC.md 'select 1'",
        "cat <<< RUBRIC.md",
        "cat RUBRIC.md | sh -c 'cat > /tmp/x'",
        "echo 'rm RUBRIC.md' | grep rm",
        "npx markdownlint RUBRIC.md; uv run pytest RUBRIC.md",
        "cp -t /tmp RUBRIC.md",
        "sed -n '/show RUBRIC.md/p' x",
        "watch -n1 'cat RUBRIC.md'",
        "python3 -c \"import subprocess; subprocess.run(['cat', 'RUBRIC.md'])\"",
        "python3 - <<'EOF'\nt = Path('RUBRIC.md').read_text()\nPath('a.md').write_text(t)\nEOF",
        "python3 -c \"import shutil, sys; shutil.copy('RUBRIC.md', sys.argv[1])\" /tmp/x",
        "env --chdir=docs rm a.md; cat RUBRIC.md",
        "find . -name RUBRIC.md -fprint /tmp/found",
        "stdbuf -oL cat RUBRIC.md",
        "tar -C docs -czf /tmp/x.tgz RUBRIC.md",
    ] {
        assert!(!writes(command, "RUBRIC.md"), "{command}");
    }
}

#[test]
fn every_usual_way_to_write_is_found() {
    for command in [
        "echo x > RUBRIC.md",
        "bash -c -- 'rm RUBRIC.md'",
        "select f in RUBRIC.md; do rm $f; break; done <<< 1",
        "find src -fprint RUBRIC.md",
        "find src -fprintf RUBRIC.md %p",
        "strace -oRUBRIC.md true",
        "strace --output=RUBRIC.md true",
        "/usr/bin/time -oRUBRIC.md true",
        "gcc -MFRUBRIC.md a.c",
        "history -w RUBRIC.md",
        "sed -e 'W RUBRIC.md' a.md",
        "tar cf /dev/null src --checkpoint=1 --checkpoint-action=exec='rm RUBRIC.md'",
        "tar cf /tmp/x src -I 'sh -c \"rm RUBRIC.md\"'",
        "tar --remove-files -cf /dev/null RUBRIC.md",
        "GIT_SSH_COMMAND='rm RUBRIC.md;' git fetch ssh://x/y",
        "git -c protocol.ext.allow=always fetch 'ext::rm RUBRIC.md'",
        "python3 -B -c\"open('RUBRIC.md','w')\"",
        "python3 -c \"import os; os.replace('src/app.py','RUBRIC.md')\"",
        "python3 -c 'import os; os.open(\"RUBRIC.md\", os.O_TRUNC | os.O_RDWR)'",
        "python3 -c 'import mmap; f = open(\"RUBRIC.md\", \"r+b\")'",
        "python3 -c \"import fileinput; fileinput.input('RUBRIC.md', inplace=True)\"",
        "python3 -c \"import logging; logging.basicConfig(filename='RUBRIC.md')\"",
        "echo x >>RUBRIC.md",
        "echo x &> RUBRIC.md",
        "echo x >| 'RUBRIC.md'",
        "echo x 1>\"RUBRIC.md\"",
        "sed -i s/a/b/ RUBRIC.md",
        "sed -i.bak s/a/b/ RUBRIC.md",
        "rm -f RUBRIC.md",
        "cp other.md RUBRIC.md",
        "true && sudo -n mv other.md RUBRIC.md",
        "cat other | tee RUBRIC.md >/dev/null",
        "python3 -c \"open('RUBRIC.md', 'w').write('')\"",
        "bash -c 'echo x > RUBRIC.md'",
        "echo RUBRIC.md | xargs rm",
        "find . -name RUBRIC.md -delete",
        "git checkout HEAD~3 -- RUBRIC.md",
        "git -C . restore RUBRIC.md",
        "f=RUBRIC.md; rm $f",
        "x=$(rm RUBRIC.md)",
        "echo \"$(rm RUBRIC.md)\"",
        "(cd . ; truncate -s 0 RUBRIC.md)",
        "if true; then rm RUBRIC.md; fi",
        "env A=1 timeout 5 rm RUBRIC.md",
        "R\\UBRIC=1 rm RUBR''IC.md",
        "dd if=/dev/null of=RUBRIC.md",
        "python3 - <<'EOF'\nfrom pathlib import Path\nPath('RUBRIC.md').write_text('')\nEOF",
        "node <<'EOF'\nfs.writeFileSync('RUBRIC.md', '')\nEOF",
        "F=RUBRIC.md\necho x > \"$F\"",
        "export D=.; echo x > $D/RUBRIC.md",
        "cp other/RUBRIC.md .",
        "cp -r other/RUBRIC.md ./",
        "for f in RUBRIC.md other; do sed -ri s/a/b/ $f; done",
        "sed -zi s/a/b/ RUBRIC.md",
        "echo \"$(date)\" > RUBRIC.md",
        "echo > $(pwd)/RUBRIC.md",
        "pushd . ; rm RUBRIC.md",
        "diff <(cat a) <(rm RUBRIC.md)",
        "python3.12 -c \"open('RUBRIC.md', 'w')\"",
        "eval 'echo x > RUBRIC.md'",
        "bash -c 'cd .; rm RUBRIC.md'",
        "sh -c \"bash -c 'rm RUBRIC.md'\"",
        "python3 -c \"import os; os.system('rm RUBRIC.md')\"",
        "sed -zEi s/a/b/ RUBRIC.md",
        "perl -pi -e s/a/b/ RUBRIC.md",
        "perl -i.bak -pe s/a/b/ RUBRIC.md",
        "gawk -i inplace '{print}' RUBRIC.md",
        "vim -es -c '%s/a/b/' -c wq RUBRIC.md",
        "curl -sSLo RUBRIC.md https://host/x",
        "wget -O RUBRIC.md https://host/x",
        "sort -uo RUBRIC.md a",
        "find . -name x.md -exec cp {} RUBRIC.md \\;",
        "awk '{ print > \"RUBRIC.md\" }' x",
        "find . -name RUBRIC.md | xargs -n 1 rm",
        "sudo -u me tee RUBRIC.md < x",
        "timeout 5s tee RUBRIC.md < x",
        "echo x > ${D:-.}/RUBRIC.md",
        "bash <<< 'rm RUBRIC.md'",
        "echo 'rm RUBRIC.md' | sh",
        "printf 'cd .\\nrm RUBRIC.md\\n' | bash -s",
        "cp -t . other/RUBRIC.md",
        "cp --target-directory=. other/RUBRIC.md",
        "scp host:RUBRIC.md .",
        "busybox rm RUBRIC.md",
        "doas -u me rm RUBRIC.md",
        "stdbuf -o0 rm RUBRIC.md",
        "flock /tmp/lock rm RUBRIC.md",
        "env -S 'rm RUBRIC.md'",
        "flock /tmp/lock -c 'rm RUBRIC.md'",
        "script -qc 'rm RUBRIC.md' /dev/null",
        "trap 'rm RUBRIC.md' EXIT",
        "tmux new -d 'rm RUBRIC.md'",
        "xargs -a list rm RUBRIC.md",
        "uv run python -c \"open('RUBRIC.md', 'w')\"",
        "npx prettier --write RUBRIC.md",
        "sed -n '/x/w RUBRIC.md' x",
        "node --eval \"fs.rmSync('RUBRIC.md')\"",
        "php -r 'file_put_contents(\"RUBRIC.md\", \"\");'",
        "echo x <> RUBRIC.md",
        "git restore --source=HEAD~1 --staged --worktree RUBRIC.md",
        "curl -O https://host/RUBRIC.md",
        "gzip RUBRIC.md",
        "bzip2 RUBRIC.md",
        "rm $(echo RUBRIC.md)",
        "rm $'RUBRIC.md'",
        "a=rm; $a RUBRIC.md",
        "sqlite3 RUBRIC.md 'DELETE FROM loops'",
        "python3 -c \"c = sqlite3.connect('RUBRIC.md'); c.execute('delete from loops')\"",
        "python3 -c \"import subprocess; subprocess.run(['rm', 'RUBRIC.md'])\"",
    ] {
        let is_found = ["RUBRIC.md", "./RUBRIC.md"].iter().any(|name| writes(command, name));
        assert!(is_found, "{command}: {:?}", shell_writes(command));
    }
}

#[test]
fn a_program_that_is_not_known_to_read_may_write() {
    let is_known = |command: &str| {
        let found = shell_writes(command);
        found.iter().find(|found| found.path == "RUBRIC.md").map(|found| found.is_known)
    };
    assert_eq!(is_known("some-tool RUBRIC.md"), Some(false));
    assert_eq!(is_known("rm RUBRIC.md"), Some(true));
    assert_eq!(is_known("cat RUBRIC.md"), None);
    for (text, expected) in [
        ("rm RUBRIC.md", true),
        ("sudo rm RUBRIC.md", true),
        ("cat a", true),
        ("Remove RUBRIC.md", false),
        ("", false),
    ] {
        assert_eq!(begins_with_program(text), expected, "{text}");
    }
    assert_eq!(quoted_words(&["rm", "it's"]), "'rm' 'it'\\''s'");
}

/// A command in this many texts.
fn nested(depth: usize) -> String {
    (0..depth).fold("rm x".to_owned(), |text, _| format!("eval {text}"))
}

#[test]
fn folders_count_where_the_program_takes_all_of_them_and_after_cd() {
    assert!(writes("rm -rf .moai", ".moai/config/lsp.json"));
    assert!(!writes("prettier --write .moai", ".moai/config/lsp.json"));
    assert!(writes("chmod -R a-w .moai", ".moai/config/lsp.json"));
    assert!(!writes("chmod 700 .moai", ".moai/config/lsp.json"));
    assert!(writes("cd .claude && rm autochecks.sh", ".claude/autochecks.sh"));
    assert!(writes("cd a; cd b; touch c", "a/b/c"));
    assert!(writes("git checkout HEAD~1 -- .claude", ".claude/settings.json"));
    assert!(writes("env -C .claude sh -c 'echo > autochecks.sh'", ".claude/autochecks.sh"));
    for option in ["--chdir=.claude", "--chdir .claude"] {
        assert!(writes(&format!("env {option} rm autochecks.sh"), ".claude/autochecks.sh"));
    }
    assert!(writes("env -C x true; rm autochecks.sh", "autochecks.sh"));
    assert!(!writes(&nested(SHELL_TEXT_DEPTH_MAX), "x"), "deeper than what is followed");
    assert!(writes(&nested(SHELL_TEXT_DEPTH_MAX - 1), "x"));
    assert!(writes("sh -c 'cd .claude; echo > autochecks.sh'", ".claude/autochecks.sh"));
    assert!(!writes("bash -c 'cd .claude'; rm autochecks.sh", ".claude/autochecks.sh"));
    assert!(writes(
        "python3 -c \"(Path.home() / '.claude' / 'settings.json').write_text('{}')\"",
        ".claude/settings.json"
    ));
    assert!(writes("echo > ${HOME}/.claude/a", "$HOME/.claude/a"));
    let state = "${XDG_STATE_HOME:-${HOME}/.local/state}/moai-ralph";
    assert!(writes(&format!("rm -rf {state}"), "$HOME/.local/state/moai-ralph"));
}

#[test]
fn patterns_stay_patterns() {
    let patterns = |command| -> Vec<String> {
        let found = shell_writes(command).into_iter().filter(|found| found.is_pattern);
        found.map(|found| found.path).collect()
    };
    assert_eq!(patterns("rm -rf ~/test-* .claude/*"), ["~/test-*", ".claude/*"]);
    assert_eq!(patterns("find .claude -name '*.json' -delete"), [".claude/*.json"]);
    assert_eq!(patterns("find .claude/ -type f | xargs rm"), [".claude/*"]);
    assert_eq!(patterns("find .claude -name '*.json'"), [""; 0]);
    let found = patterns("find . -iname a.md -delete");
    assert_eq!(found[..2], ["./[aA].[mM][dD]", "./.claude/[aA].[mM][dD]"]);
    // A name matches only existing files: most files removed by name are not protected.
    assert_eq!(patterns("find . -name x -delete")[0], "./.claude/[x]");
    let copied = shell_writes("cp -r other/. .claude; rsync -a --delete host/ .moai/");
    let copied = copied.into_iter().filter_map(|found| Some((found.path, found.below?)));
    let held_by = |path: &str, folder: &str, is_mirrored| {
        let folder = folder.to_owned();
        (path.to_owned(), WrittenBelow::HeldBy { folder, is_mirrored })
    };
    let expected = [held_by(".claude", "other/.", false), held_by(".moai/", "host/", true)];
    assert_eq!(copied.collect::<Vec<_>>(), expected);
    assert!(shell_writes("ls | xargs -I{} mv {} ..").iter().all(|found| !found.is_pattern));
}

#[test]
fn a_long_text_is_read_once() {
    let calls: Vec<String> = (0..100_000).map(|at| format!("x(\"y{at}.b\"); ")).collect();
    let found = shell_writes(&format!("node -e 'write {}'; rm last", calls.concat()));
    assert_eq!(found.len(), WRITTEN_PATHS_MAX);
}

/// The time and memory of each of these grew with the square of its length, or doubled with every line.
#[test]
fn values_and_nesting_are_bounded() {
    let paths = |command: &str| -> Vec<String> {
        shell_writes(command).into_iter().map(|found| found.path).collect()
    };
    let appended = "OPTIONS+=\" --flag\"\n".repeat(200);
    assert_eq!(paths(&format!("{appended}OPTIONS+=last\nrm $OPTIONS")).last().unwrap(), "last");
    let doubled = "x=$x$x\n".repeat(100);
    assert!(paths(&format!("x=abc\n{doubled}rm $x last")).contains(&"last".to_owned()));
    let substituted =
        format!("{}rm inner{}; rm last", "echo $(".repeat(20_000), ")".repeat(20_000));
    assert_eq!(paths(&substituted), ["inner", "last"]);
    let defaults = format!("rm {}a{}; rm last", "${a:-".repeat(20_000), "}".repeat(20_000));
    assert_eq!(paths(&defaults).last().unwrap(), "last");
    let many: Vec<String> = (0..1_000).map(|at| format!("x=file{at}")).collect();
    assert!(
        paths(&format!("{}\nrm $x", many.join("\n"))).contains(&"file999".to_owned()),
        "the latest count"
    );
}

#[test]
fn an_assignment_before_a_program_is_none_of_its_words() {
    for command in ["A=1 rm x", "A+=1 rm x", "A[2]=1 rm x", "A[i]+=1 rm x"] {
        let found = shell_writes(command);
        assert!(found.iter().all(|it| it.path == "x" && it.is_known), "{command}: {found:?}");
        assert_eq!(found.len(), 1, "{command}");
    }
}

#[test]
fn calls_are_found_behind_wrappers() {
    let calls = |command| calls_of("moai-ralph", command).concat().join(" ");
    for command in [
        "env -u A setsid -f ./bin/moai-ralph trust",
        "sudo -p password moai-ralph trust",
        "bash -c 'moai-ralph trust'",
        "echo 'moai-ralph trust' | sh",
        "bash /plugin/bin/moai-ralph trust",
        "M=moai-ralph; $M trust",
        "$(command -v moai-ralph) trust",
        "python3 -c \"import pty; pty.spawn(['moai-ralph', 'trust'])\"",
        "python3 -c \"import os; os.system('moai-ralph trust')\"",
        "screen -dm moai-ralph trust",
    ] {
        assert_eq!(calls(command), "trust", "{command}");
    }
    assert_eq!(calls("x=$(moai-ralph loop refreeze)"), "loop refreeze");
    assert_eq!(calls("echo moai-ralph trust; grep -rn 'moai-ralph trust' docs"), "");
}

#[test]
fn odd_texts_end() {
    for command in ["", "'", "\"$(", "`", "\\", "a | | b", ">", "$((", "<<EOF\nrm x\nEOF", "\0"] {
        let _ = shell_writes(command);
    }
}
