//! Edits of one text, without a parser: literal words take the place of pattern matches.

use proptest::prelude::*;

use super::*;

fn edit(bytes: Range<usize>, text: &str) -> ByteEdit {
    ByteEdit { bytes, text: text.to_owned() }
}

#[test]
fn of_overlapping_edits_the_earlier_and_longer_wins() {
    let check = |edits: &[(Range<usize>, &str)], expected: &str| {
        let edits = edits.iter().map(|(bytes, text)| edit(bytes.clone(), text)).collect();
        let text = "abcdef";
        assert_eq!(apply_edits(text, &disjoint_edits(text, edits)), expected);
    };
    check(&[(2..4, "X"), (0..2, "Y")], "YXef");
    check(&[(1..3, "X"), (0..2, "Y")], "Ycdef");
    check(&[(0..1, "X"), (0..4, "Y")], "Yef");
    check(&[(2..2, "X"), (2..2, "Y")], "abXcdef");
    check(&[(0..2, "ab"), (1..3, "X")], "aXdef");
    check(&[(0..9, "X")], "abcdef");
}

#[test]
fn rounds_end_when_nothing_changes_and_endless_ones_fail() {
    let replace = |from: &'static str, to: &'static str| {
        move |text: &str| -> Result<Vec<ByteEdit>, FixpointError> {
            let found = text.match_indices(from);
            Ok(found.map(|(at, _)| edit(at..at + from.len(), to)).collect())
        }
    };
    let edited = edit_to_fixpoint("aaaa", &mut replace("aa", "a")).expect("it ends");
    assert_eq!((edited.text.as_str(), edited.edits), ("a", 3));
    assert_eq!(edit_to_fixpoint("a", &mut replace("a", "aa")), Err(FixpointError::Rounds));
    let mut swap = |text: &str| -> Result<Vec<ByteEdit>, FixpointError> {
        Ok(vec![edit(0..1, if text == "x" { "y" } else { "x" })])
    };
    assert_eq!(edit_to_fixpoint("x", &mut swap), Err(FixpointError::Oscillation));
}

/// The calls `f(…)` in a text, with their arguments as the preserved part.
fn calls(text: &str) -> Vec<RewriteSite> {
    let mut sites = Vec::new();
    for (at, _) in text.match_indices("f(") {
        let mut depth = 0;
        for (end, byte) in text.bytes().enumerate().skip(at + 1) {
            depth += i32::from(byte == b'(') - i32::from(byte == b')');
            if depth == 0 {
                let inside = at + 2..end;
                sites.push(RewriteSite { bytes: at..end + 1, preserved: Vec::from([inside]) });
                break;
            }
        }
    }
    sites
}

/// Turns `f(…)` into `f(…, 1)`, which matches again.
fn add_argument(text: &str) -> Result<EditedText, FixpointError> {
    replace_once_each(text, calls(text), &mut |text, places| {
        let found = calls(text).into_iter().filter(|site| places.contains(&site.bytes));
        let added = |site: RewriteSite| {
            let inside = &text[site.preserved[0].clone()];
            ByteEdit { text: format!("f({inside}, 1)"), bytes: site.bytes }
        };
        Ok(found.map(added).collect())
    })
}

#[test]
fn every_site_is_replaced_once_and_inner_results_are_kept() {
    let edited = add_argument("f(a) + f(f(b), f(c)) + (f(d))").expect("it ends");
    assert_eq!(edited.text, "f(a, 1) + f(f(b, 1), f(c, 1), 1) + (f(d, 1))");
    assert_eq!((edited.edits, edited.lost), (5, 0));
}

#[test]
fn a_site_outside_the_preserved_parts_is_not_replaced() {
    let all = |bytes: Range<usize>| RewriteSite { bytes, preserved: Vec::new() };
    let sites = vec![all(2..4), all(0..6), all(4..8), all(8..9)];
    assert_eq!(compatible_ranges(sites), [0..6, 8..9]);
}

#[test]
fn a_site_changed_by_an_inner_replacement_counts_as_lost() {
    let site = |bytes, kept: Option<Range<usize>>| RewriteSite {
        bytes,
        preserved: kept.into_iter().collect(),
    };
    let sites = vec![site(0..6, Some(2..5)), site(2..5, None)];
    let mut only_short =
        |_: &str, places: &[Range<usize>]| -> Result<Vec<ByteEdit>, FixpointError> {
            Ok(places.iter().filter(|it| it.len() == 3).map(|it| edit(it.clone(), "-")).collect())
        };
    let edited = replace_once_each("a(bcd)", sites, &mut only_short).expect("it ends");
    assert_eq!((edited.text.as_str(), edited.edits, edited.lost), ("a(-)", 1, 1));
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}{}", "f(".repeat(depth), ")".repeat(depth));
    assert!(add_argument(&nested(REWRITE_NESTING_MAX)).is_ok());
    assert_eq!(add_argument(&nested(REWRITE_NESTING_MAX + 1)), Err(FixpointError::Nesting));
}

/// Texts of brackets, letters and multi-byte characters, with closed calls.
fn code() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["a".to_owned(), "한".to_owned(), " ".to_owned()]);
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop::collection::vec(inner, 1..4).prop_flat_map(|parts| {
            let joined = parts.concat();
            prop::sample::select(vec![format!("f({joined})"), format!("({joined})"), joined])
        })
    })
}

proptest! {
    #[test]
    fn disjoint_edits_equal_replacing_from_the_end(
        text in "[a-c한]{0,20}",
        requested in prop::collection::vec((0usize..24, 0usize..6, "[xy]{0,3}"), 0..8),
    ) {
        let edits: Vec<ByteEdit> = requested
            .into_iter()
            .map(|(start, length, text)| ByteEdit { bytes: start..start + length, text })
            .collect();
        let taken = disjoint_edits(&text, edits);
        prop_assert!(taken.windows(2).all(|pair| pair[0].bytes.end <= pair[1].bytes.start));
        let mut naive = text.clone();
        for edit in taken.iter().rev() {
            naive.replace_range(edit.bytes.clone(), &edit.text);
        }
        prop_assert_eq!(apply_edits(&text, &taken), naive);
    }

    #[test]
    fn every_call_gets_exactly_one_more_argument(text in code()) {
        let edited = add_argument(&text).expect("shallow");
        let calls = text.matches("f(").count();
        prop_assert_eq!((edited.edits, edited.lost), (calls, 0));
        prop_assert_eq!(edited.text.matches(", 1)").count(), calls);
        prop_assert_eq!(edited.text.replace(", 1)", ")"), text);
    }
}
