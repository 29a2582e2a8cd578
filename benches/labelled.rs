//! Precision and recall of the built-in rules on samples labelled by third parties, per weakness.
//!
//! ```text
//! python3 benches/labelled/collect.py FOLDER
//! cargo bench --bench labelled -- FOLDER [WEAKNESS]
//! ```
//!
//! A labelled place is found when a finding of its weakness touches its lines. A finding of a weakness that
//! the sample's set labels is false when it touches no labelled place of that weakness; findings of other
//! weaknesses are not judged. Related weaknesses count as one ([`FAMILIES`]). With a weakness in the
//! arguments, lists the missed and the false places.
//!
//! It measures no time.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{env, fs};

use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_scan::{RuleSet, scan_text};
use serde::Deserialize;

/// Weaknesses that sets and rules call by different names; the first represents all of them.
const FAMILIES: &[&[&str]] = &[
    &["CWE-22", "CWE-23", "CWE-36", "CWE-73", "CWE-98"],
    &["CWE-78", "CWE-77", "CWE-88", "CWE-155"],
    &["CWE-79", "CWE-80", "CWE-116"],
    &["CWE-95", "CWE-94", "CWE-96", "CWE-1336"],
    &["CWE-89", "CWE-564"],
    &["CWE-295", "CWE-297", "CWE-322"],
    &["CWE-327", "CWE-326", "CWE-328", "CWE-916", "CWE-1240"],
    &["CWE-330", "CWE-331", "CWE-335", "CWE-338"],
    &["CWE-377", "CWE-379", "CWE-378"],
    &["CWE-390", "CWE-391", "CWE-703", "CWE-755"],
    &["CWE-400", "CWE-1088"],
    &["CWE-489", "CWE-215"],
    &["CWE-611", "CWE-776", "CWE-20", "CWE-827"],
    &["CWE-614", "CWE-1004", "CWE-1275"],
    &["CWE-732", "CWE-276"],
    &["CWE-798", "CWE-259", "CWE-321"],
    &["CWE-1333", "CWE-185", "CWE-625"],
];

#[derive(Deserialize)]
struct Sample {
    set: String,
    language: String,
    name: String,
    text: String,
    groups: Vec<String>,
    wrong: Vec<Place>,
}

#[derive(Deserialize)]
struct Place {
    /// First and last, counted from 1; `None` for the whole text.
    lines: Option<(u32, u32)>,
    groups: Vec<String>,
}

impl Place {
    fn is_touched_by(&self, finding: &Finding, family: &str) -> bool {
        let (first, last) = (finding.range.start.line + 1, finding.range.end.line + 1);
        let is_there = self.lines.is_none_or(|(from, to)| first <= to && from <= last);
        is_there && self.groups.iter().any(|group| family_of(group) == family)
    }
}

#[derive(Default)]
struct Count {
    places: usize,
    found: usize,
    told: usize,
    false_ones: usize,
}

fn family_of(group: &str) -> &str {
    let family = FAMILIES.iter().find(|family| family.contains(&group));
    family.map_or(group, |family| family[0])
}

fn families(finding: &Finding) -> BTreeSet<&str> {
    finding.cwe.iter().map(|cwe| family_of(cwe)).collect()
}

fn findings(sample: &Sample) -> Vec<Finding> {
    let extension = if sample.language == "python" { "py" } else { "js" };
    let root = Path::new("/samples");
    let path = RelPath::below(root, &root.join(format!("sample.{extension}")));
    let path = path.expect("a name below the root");
    let hash = ContentHash::of_bytes(sample.text.as_bytes());
    scan_text(RuleSet::built_in(), &path, &sample.text, hash).findings
}

/// Counts one sample; misses and false findings in the weakness of interest go to `listed`.
fn count(
    sample: &Sample,
    spoken_of: &BTreeSet<String>,
    counts: &mut BTreeMap<(String, String), Count>,
    (wanted, listed): (Option<&str>, &mut Vec<String>),
) {
    let findings = findings(sample);
    let key = |family: &str| (sample.language.clone(), family.to_owned());
    let line_of =
        |line: u32| sample.text.lines().nth(line as usize).unwrap_or_default().trim().to_owned();
    for place in &sample.wrong {
        let family = family_of(&place.groups[0]);
        let count = counts.entry(key(family)).or_default();
        let is_hit =
            |it: &&Finding| families(it).contains(family) && place.is_touched_by(it, family);
        count.places += 1;
        let is_found = findings.iter().any(|it| is_hit(&it));
        count.found += usize::from(is_found);
        if !is_found && wanted == Some(family) {
            let text = place.lines.map_or_else(|| sample.text.clone(), |it| line_of(it.0 - 1));
            listed.push(format!("missed  {}: {text}", sample.name));
        }
    }
    for finding in &findings {
        for family in families(finding).into_iter().filter(|it| spoken_of.contains(*it)) {
            let count = counts.entry(key(family)).or_default();
            count.told += 1;
            if !sample.wrong.iter().any(|place| place.is_touched_by(finding, family)) {
                count.false_ones += 1;
                if wanted == Some(family) {
                    let line = line_of(finding.range.start.line);
                    listed.push(format!("false   {}: {} {line}", sample.name, finding.code));
                }
            }
        }
    }
}

fn main() {
    let given: Vec<String> = env::args().skip(1).filter(|it| it != "--bench").collect();
    let Some(folder) = given.first() else {
        return println!("labelled: no folder given (see the head of benches/labelled.rs)");
    };
    let path = Path::new(folder).join("samples.jsonl");
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let read = |line: &str| serde_json::from_str::<Sample>(line).expect("a sample");
    let samples: Vec<Sample> = text.split('\n').filter(|line| !line.is_empty()).map(read).collect();
    let wanted = given.get(1).map(|group| family_of(group).to_owned());
    let (mut counts, mut listed) = (BTreeMap::new(), Vec::new());
    let mut by_set: BTreeMap<&str, Vec<&Sample>> = BTreeMap::new();
    for sample in &samples {
        by_set.entry(&sample.set).or_default().push(sample);
    }
    for (set, samples) in &by_set {
        let wrong: usize = samples.iter().map(|sample| sample.wrong.len()).sum();
        println!("{set}: {} samples, {wrong} labelled places", samples.len());
        for sample in samples {
            // Lines are labelled by the whole set, whole texts by their own rule alone.
            let is_by_line = sample.wrong.iter().any(|place| place.lines.is_some());
            let of_set = samples.iter().flat_map(|sample| &sample.groups);
            let groups: Vec<&String> =
                if is_by_line { of_set.collect() } else { sample.groups.iter().collect() };
            let spoken_of = groups.into_iter().map(|it| family_of(it).to_owned()).collect();
            count(sample, &spoken_of, &mut counts, (wanted.as_deref(), &mut listed));
        }
    }
    print(&counts);
    for line in &listed {
        println!("{line}");
    }
}

fn print(counts: &BTreeMap<(String, String), Count>) {
    let share = |part: usize, whole: usize| {
        let hundredths = (part * 100 + whole / 2).checked_div(whole);
        hundredths.map_or("-".to_owned(), |it| format!("{}.{:02}", it / 100, it % 100))
    };
    println!(
        "{:<12} {:<9} {:>6} {:>6} {:>6} {:>6} {:>10} {:>7}",
        "language", "weakness", "places", "found", "told", "false", "precision", "recall"
    );
    let mut all = Count::default();
    for ((language, family), count) in counts {
        let Count { places, found, told, false_ones } = *count;
        let (precision, recall) = (share(told - false_ones, told), share(found, places));
        println!(
            "{language:<12} {family:<9} {places:>6} {found:>6} {told:>6} {false_ones:>6} {precision:>10} {recall:>7}"
        );
        all.places += places;
        all.found += found;
        all.told += told;
        all.false_ones += false_ones;
    }
    let (precision, recall) =
        (share(all.told - all.false_ones, all.told), share(all.found, all.places));
    println!(
        "{:<22} {:>6} {:>6} {:>6} {:>6} {precision:>10} {recall:>7}",
        "all", all.places, all.found, all.told, all.false_ones
    );
}
