//! Draft.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use moai_ralph::base::hash::ContentHash;
use moai_ralph::base::path::RelPath;
use moai_ralph::scan::{RuleSet, scan};

fn files(dir: &Path, out: &mut Vec<(u64, PathBuf)>) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            files(&entry.path(), out);
        } else if kind.is_file() {
            out.push((entry.metadata().unwrap().len(), entry.path()));
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let begun = Instant::now();
    let rules = if args[0] == "builtin" {
        RuleSet::load(RuleSet::built_in_sources())
    } else {
        let mut sources = Vec::new();
        let mut found = Vec::new();
        files(Path::new(&args[0]), &mut found);
        for (_, path) in found {
            if path.extension().is_some_and(|e| e == "yml") {
                sources.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
        RuleSet::load(sources)
    };
    let root = std::fs::canonicalize(&args[1]).unwrap();
    let threads: usize = args.get(2).map_or(2, |n| n.parse().unwrap());
    let repeat: usize = args.get(3).map_or(1, |n| n.parse().unwrap());
    let mut found = Vec::new();
    files(&root, &mut found);
    found.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    for _ in 0..repeat {
        let begun = Instant::now();
        let next = AtomicUsize::new(0);
        let all: Vec<_> = std::thread::scope(|scope| {
            let hands: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| {
                        let mut out = Vec::new();
                        loop {
                            let Some((_, path)) = found.get(next.fetch_add(1, Ordering::Relaxed))
                            else {
                                return out;
                            };
                            let rel = RelPath::below(&root, path).unwrap();
                            if !rules.handles(&rel) {
                                continue;
                            }
                            let Ok(text) = std::fs::read_to_string(path) else { continue };
                            let outcome =
                                scan(&rules, &rel, &text, ContentHash::of(text.as_bytes()));
                            for f in outcome.findings {
                                out.push((f.code.clone(), f.path.to_string(), f.range.start.line));
                            }
                            if let Some(gap) = outcome.gap {
                                out.push((format!("GAP {}", gap.detail), rel.to_string(), 0));
                            }
                        }
                    })
                })
                .collect();
            hands.into_iter().flat_map(|h| h.join().unwrap()).collect()
        });
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for (code, ..) in &all {
            *counts.entry(code.clone()).or_default() += 1;
        }
        println!("{} in {:?}", all.len(), begun.elapsed());
        if repeat == 1 && std::env::var_os("Q").is_none() {
            println!("{counts:?}");
        }
    }
    println!("total {:?}", begun.elapsed());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|l| l.starts_with("VmHWM")).unwrap());
}
