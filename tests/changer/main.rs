//! Changes all files of a folder together, from `old` texts to `new` ones and back, until it is
//! killed. Arguments: the folder of the files, the private folder for records.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use moai_base::change::{ChangeSet, NewContent, PathChange};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_host::files::transaction;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(root), Some(records)) = (arguments.next(), arguments.next()) else {
        return ExitCode::FAILURE;
    };
    let reach = transaction::WriteReach::OwnRepository;
    loop {
        for (from, to) in [("old", "new"), ("new", "old")] {
            if transaction::apply_change_set(&root, &records, &changes(&root, from, to), reach)
                .is_err()
            {
                return ExitCode::FAILURE;
            }
        }
    }
}

/// Every `f*` changes its text; `moved-old` becomes `made/moved-new`, or the other way round.
fn changes(root: &Path, from: &str, to: &str) -> ChangeSet {
    let mut changes = Vec::new();
    let path = |name: &str| RelPath::parse(name).expect("a relative path");
    let hash = |name: &str| {
        let bytes = std::fs::read(root.join(name)).expect("the file is there");
        (ContentHash::of_bytes(&bytes), bytes)
    };
    for number in 0..8 {
        let name = format!("f{number}");
        let after = format!("{to} {number}\n");
        changes.push(PathChange {
            before: Some(ContentHash::of_bytes(format!("{from} {number}\n").as_bytes())),
            after: Some(NewContent { bytes: after.into_bytes().into(), permissions_from: None }),
            path: path(&name),
        });
    }
    let places = [("old", "moved-old"), ("new", "made/moved-new")];
    let place = |word: &str| places.iter().find(|(it, _)| *it == word).expect("known").1;
    let (before, bytes) = hash(place(from));
    changes.push(PathChange { path: path(place(from)), before: Some(before), after: None });
    let after = NewContent { bytes: bytes.into(), permissions_from: Some(path(place(from))) };
    changes.push(PathChange { path: path(place(to)), before: None, after: Some(after) });
    ChangeSet {
        changes,
        emptied_folders: if from == "new" { vec![path("made")] } else { Vec::new() },
    }
}
