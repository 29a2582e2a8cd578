//! A damaged store is set aside and restored from its newest sound backup, so that a running loop
//! is still known.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::crashes::{daemon, kill};
use super::escapes::database;
use super::{DIRTY, blocked, looping, notice, project, start, status};
use crate::support::{Output, PATIENCE, SESSION, Sandbox, eventually};

fn raw_stop(sandbox: &Sandbox) -> Output {
    sandbox.hook("stop", &sandbox.payload("Stop"))
}

fn backups_folder(sandbox: &Sandbox) -> PathBuf {
    database(sandbox).with_file_name("backups")
}

fn backups(sandbox: &Sandbox) -> Vec<PathBuf> {
    let entries = fs::read_dir(backups_folder(sandbox)).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|kind| kind == "db")).collect()
}

fn running_loops(database: &Path) -> Option<i64> {
    let sql = "SELECT count(*) FROM loops WHERE status = 'running'";
    Connection::open(database).ok()?.query_row(sql, [], |row| row.get(0)).ok()
}

/// Waits until a backup knows the running loop.
fn await_backup(sandbox: &Sandbox) -> PathBuf {
    let known = || backups(sandbox).into_iter().find(|it| running_loops(it) == Some(1));
    eventually(PATIENCE, known).expect("a backup with the loop")
}

/// Ends the daemon as a crash does, with everything in the database itself.
fn end_daemon(sandbox: &Sandbox) {
    kill(daemon(sandbox));
    let connection = Connection::open(database(sandbox)).expect("a database");
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    connection.query_row(sql, [], |_| Ok(())).expect("nobody else uses it");
}

fn overwrite(path: &Path, from: usize, to: usize) {
    let mut bytes = fs::read(path).expect("there");
    bytes[from..to].fill(0xa5);
    fs::write(path, bytes).expect("ours");
}

type Damage = fn(&Path);

const DAMAGES: [(&str, Damage); 4] = [
    ("header", |path| overwrite(path, 0, 100)),
    ("middle", |path| {
        let middle = fs::read(path).expect("there").len() / 2 / 4096 * 4096;
        overwrite(path, middle, middle + 4096);
    }),
    ("truncated", |path| {
        let bytes = fs::read(path).expect("there");
        fs::write(path, &bytes[..bytes.len() / 2]).expect("ours");
    }),
    ("empty", |path| fs::write(path, "").expect("ours")),
];

#[test]
fn a_running_loop_survives_the_damage_of_its_store() {
    for (what, damage) in DAMAGES {
        let sandbox = looping(&["--max-iterations", "9"]);
        let backup = await_backup(&sandbox);
        let mode = |path: &Path| fs::metadata(path).expect("there").mode() & 0o777;
        assert_eq!((mode(&backup), mode(&backups_folder(&sandbox))), (0o600, 0o700));
        let id = status(&sandbox)["id"].clone();
        end_daemon(&sandbox);
        damage(&database(&sandbox));
        let after = status(&sandbox);
        assert_eq!((&after["id"], &after["status"]), (&id, &"running".into()), "{what}");
        sandbox.write("app.py", DIRTY);
        let output = raw_stop(&sandbox);
        assert!(blocked(&output).is_some_and(|reason| reason.contains("app.py:1:9")), "{what}");
        let told = notice(&output);
        for part in ["damaged", "store.db.corrupt-1", "restored from the backup of ", "are lost"] {
            assert!(told.contains(part), "{what}: {part} is not in {told}");
        }
        assert_eq!(mode(&database(&sandbox)), 0o600, "{what}");
        assert!(!notice(&raw_stop(&sandbox)).contains("damaged"), "{what}: it is said once");
    }
}

#[test]
fn damage_under_a_running_daemon_is_mended_by_the_next_call() {
    let sandbox = looping(&["--max-iterations", "9"]);
    await_backup(&sandbox);
    let id = status(&sandbox)["id"].clone();
    let path = database(&sandbox);
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    let connection = Connection::open(&path).expect("a database");
    connection.query_row(checkpoint, [], |_| Ok(())).expect("the daemon is idle");
    drop(connection);
    fs::write(&path, "no database at all ".repeat(300)).expect("ours");
    let known = || {
        let output = sandbox.run(&["loop", "status", "--session", SESSION, "--json"]);
        (output.code == 0 && output.json()["id"] == id).then_some(())
    };
    eventually(PATIENCE, known).expect("the loop is known again");
}

#[test]
fn a_daemon_killed_during_a_backup_leaves_a_usable_state() {
    let sandbox = project();
    assert_eq!(start(&sandbox, &["--max-iterations", "9"]).code, 0);
    await_backup(&sandbox);
    let id = status(&sandbox)["id"].clone();
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO judgements SELECT 'k' || i, '/p', 'c', hex(randomblob(4000)), i FROM n";
    let connection = Connection::open(database(&sandbox)).expect("a database");
    connection.execute_batch(fill).expect("it is not locked for long");
    drop(connection);
    for backup in backups(&sandbox) {
        fs::remove_file(backup).expect("ours");
    }
    kill(daemon(&sandbox));
    // A daemon that begins with a change makes a backup.
    sandbox.tool_write("other.py", "x = 1\n");
    let begun = || backups_folder(&sandbox).join("unfinished").exists().then_some(());
    eventually(PATIENCE, begun).expect("a backup begins");
    kill(daemon(&sandbox));
    assert!(backups(&sandbox).iter().all(|it| running_loops(it) == Some(1)), "whole or not at all");
    assert_eq!(status(&sandbox)["id"], id);
    sandbox.tool_write("other.py", "x = 2\n");
    await_backup(&sandbox);
    let is_gone = || (!backups_folder(&sandbox).join("unfinished").exists()).then_some(());
    eventually(PATIENCE, is_gone).expect("the unfinished backup is removed");
}
