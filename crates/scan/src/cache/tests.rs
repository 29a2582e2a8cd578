//! Cached outcomes equal fresh ones, and damaged bytes yield nothing.

use super::*;
use crate::{RuleSet, scan_text};
use moai_base::verdict::{Cause, Gap};

fn path(name: &str) -> RelPath {
    RelPath::parse(name).expect("a relative path")
}

/// Outcome of a scan, fresh and after a round trip through the cache.
fn fresh_and_cached(rules: &RuleSet, name: &str, text: &str) -> (ScanOutcome, Option<ScanOutcome>) {
    let (path, hash) = (path(name), ContentHash::of_bytes(text.as_bytes()));
    let fresh = scan_text(rules, &path, text, hash);
    let key = rules.scan_key(&path, hash).expect("a rule covers it");
    let mut cache = ScanCache::default();
    cache.add(key, &fresh);
    let bytes = cache.to_bytes(rules.identity(), 1_000_000);
    (fresh, ScanCache::from_bytes(bytes, rules.identity()).get(key, &path, hash))
}

const DIRTY: &str = "import os\nos.system('한 ' + a)\nos.system('한 ' + a)\n";

#[test]
fn a_cached_outcome_equals_the_fresh_one() {
    let broken = "id: x\nlanguages: [python]\nrule: { kind: no_such_kind }\n";
    let with_gap = RuleSet::load([("r.yml".to_owned(), broken.to_owned())]);
    let deep = "(".repeat(2_000) + &")".repeat(2_000);
    for (rules, text) in [
        (RuleSet::built_in(), DIRTY),
        (RuleSet::built_in(), "x = 1\n"),
        (RuleSet::built_in(), ")"),
        (RuleSet::built_in(), deep.as_str()),
        (&with_gap, "x = 1\n"),
    ] {
        let (fresh, cached) = fresh_and_cached(rules, "a.py", text);
        assert_eq!(cached.as_ref(), Some(&fresh), "{text:.40}");
    }
    let (fresh, _) = fresh_and_cached(RuleSet::built_in(), "a.py", DIRTY);
    assert_eq!(fresh.findings.len(), 2);
    assert!(fresh_and_cached(&with_gap, "a.py", "x = 1\n").0.gap.is_some());
}

#[test]
fn a_cached_outcome_serves_the_same_text_at_another_path() {
    let rules = RuleSet::load([(
        "r.yml".to_owned(),
        "id: call\nlanguages: [python]\nrule: { pattern: bad($X) }\n".to_owned(),
    )]);
    let hash = ContentHash::of_bytes(b"bad(1)\n");
    let (here, there) = (path("a.py"), path("b/c.py"));
    let key = rules.scan_key(&here, hash).expect("a rule covers it");
    assert_eq!(rules.scan_key(&there, hash), Some(key));
    let mut cache = ScanCache::default();
    cache.add(key, &scan_text(&rules, &here, "bad(1)\n", hash));
    assert_eq!(cache.get(key, &there, hash), Some(scan_text(&rules, &there, "bad(1)\n", hash)));
}

#[test]
fn keys_differ_by_text_language_rules_and_by_paths_that_rules_name() {
    let rule = "id: call\nlanguages: [python, go]\nrule: { pattern: bad($X) }\n";
    let set = |text: &str| RuleSet::load([("r.yml".to_owned(), text.to_owned())]);
    let key = |rules: &RuleSet, name: &str, text: &str| {
        rules
            .scan_key(&path(name), ContentHash::of_bytes(text.as_bytes()))
            .expect("a rule covers it")
    };
    let rules = set(rule);
    let one = key(&rules, "a.py", "x");
    assert_eq!(one, key(&set(rule), "a.py", "x"));
    assert_ne!(one, key(&rules, "a.py", "y"));
    assert_ne!(one, key(&rules, "a.go", "x"));
    assert_ne!(one, key(&set(&rule.replace("bad", "worse")), "a.py", "x"));
    let globs = set(&format!("{rule}ignores: [\"tests/**\"]\n"));
    assert_ne!(key(&globs, "a.py", "x"), key(&globs, "b.py", "x"));
    assert_eq!(rules.scan_key(&path("a.txt"), ContentHash::of_bytes(b"x")), None);
}

#[test]
fn damaged_or_foreign_bytes_yield_no_outcome() {
    let rules = RuleSet::built_in();
    let (path, hash) = (path("a.py"), ContentHash::of_bytes(DIRTY.as_bytes()));
    let key = rules.scan_key(&path, hash).expect("a rule covers it");
    let mut cache = ScanCache::default();
    cache.add(key, &scan_text(rules, &path, DIRTY, hash));
    let bytes = cache.to_bytes(rules.identity(), 1_000_000);
    let is_known =
        |bytes: Vec<u8>, set| ScanCache::from_bytes(bytes, set).get(key, &path, hash).is_some();
    assert!(is_known(bytes.clone(), rules.identity()));
    assert!(!is_known(bytes.clone(), ContentHash::of_bytes(b"other rules")));
    assert!(!is_known(Vec::new(), rules.identity()));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(!is_known(damaged, rules.identity()), "byte {at}");
        assert!(!is_known(bytes[..at].to_vec(), rules.identity()), "{at} bytes");
    }
}

#[test]
fn the_size_is_bounded_and_used_outcomes_are_kept() {
    let set = ContentHash::of_bytes(b"set");
    let keys: Vec<ContentHash> = (0..100_u8).map(|it| ContentHash::of_bytes(&[it])).collect();
    let mut cache = ScanCache::default();
    for key in &keys {
        cache.add(*key, &ScanOutcome::default());
    }
    let full = cache.to_bytes(set, usize::MAX);
    let again = ScanCache::from_bytes(full.clone(), set);
    let is_cached =
        |cache: &ScanCache, key: &ContentHash| cache.get(*key, &path("a.py"), *key).is_some();
    assert!(keys[90..].iter().all(|key| is_cached(&again, key)) && !again.has_additions());
    let small = again.to_bytes(set, full.len() / 2);
    assert!(small.len() <= full.len() / 2);
    let small = ScanCache::from_bytes(small, set);
    assert!(keys[90..].iter().all(|key| is_cached(&small, key)));
    assert!(!keys.iter().all(|key| is_cached(&small, key)));
}

#[test]
fn an_irreproducible_outcome_is_not_cached() {
    let mut cache = ScanCache::default();
    let gap = Some(Gap::new(Cause::Crashed, "lost"));
    cache.add(ContentHash::of_bytes(b"x"), &ScanOutcome { findings: Vec::new(), gap });
    assert!(!cache.has_additions());
}
