//! Tests of the text that may be stored.

use proptest::prelude::*;

use super::*;

fn clean(text: &str) -> Option<String> {
    CleanText::of(text).map(|clean| clean.as_str().to_owned())
}

#[test]
fn private_passages_are_taken_out() {
    let check =
        |text: &str, public: &str| assert_eq!(clean(text).as_deref(), Some(public), "{text}");
    check("a <private>b</private> c", "a  c");
    check("a <PRIVATE>b</Private> c", "a  c");
    check("a <private>b <private>c</private> d</private> e", "a  e");
    check("a <private reason=\"x > y\" id='1'>b</private> c", "a  c");
    check("a <private\n>b</private  > c", "a  c");
    check("a < private >b</ private> c", "a  c");
    check("a <private>b", "a");
    check("a <private b", "a");
    check("a <private>b</private", "a");
    check("a</private> b", "a b");
    check("a <private/> b", "a");
    check("a &lt;private&gt;b&lt;/private&gt; c", "a  c");
    check("a \\u003cprivate\\u003eb\\u003C/private\\u003E c", "a  c");
    check("{\"x\":\"<private>b<\\/private> c\"}", "{\"x\":\" c\"}");
    check("비밀 <private>번호는 1234</private> 끝", "비밀  끝");
    check("<private>a</private><private>b</private>c", "c");
}

#[test]
fn what_only_looks_like_a_tag_stays() {
    for text in [
        "if a < private && b > c",
        "a <privately> b",
        "<private-key>",
        "private b",
        "a &amp; private",
        "Vec<Private2>",
    ] {
        assert_eq!(clean(text).as_deref(), Some(text));
    }
}

#[test]
fn a_text_that_is_private_as_a_whole_leaves_nothing() {
    for text in ["<private>all</private>", "  <private>all", "", " \n ", "<private>", "\u{1}\u{0}"]
    {
        assert_eq!(CleanText::of(text), None, "{text}");
    }
}

#[test]
fn private_passages_reach_over_fields() {
    let fields = ["cmd <private>key", "middle", "end</private> rest", "last"];
    let cleaned: Vec<Option<String>> = CleanText::of_fields(&fields)
        .into_iter()
        .map(|clean| clean.map(|clean| clean.as_str().to_owned()))
        .collect();
    let expected = [Some("cmd"), None, Some("rest"), Some("last")];
    assert_eq!(cleaned, expected.map(|text| text.map(str::to_owned)));
    let split_tag = CleanText::of_fields(&["a <pri", "vate>b</private> c"]);
    assert_eq!(split_tag[0].as_ref().map(CleanText::as_str), Some("a"));
    assert_eq!(split_tag[1].as_ref().map(CleanText::as_str), Some("c"));
}

#[test]
fn secrets_are_taken_out_before_the_text_is_cut() {
    let key = format!("AKIA{}", "Q7ZK3XW4RT2LM5VB");
    let clean = CleanText::of(&format!("key {key} end")).expect("text is left");
    assert!(!clean.as_str().contains(&key) && clean.as_str().ends_with("end"), "{clean:?}");
    assert!(clean.has_removed());
    for before in (STORED_CHARS_MAX - 30..STORED_CHARS_MAX).step_by(5) {
        let text = format!("{} {key} end", "x".repeat(before));
        let clean = CleanText::of(&text).expect("text is left");
        assert!(!clean.as_str().contains("AKIA"), "{before}");
    }
    let number = ["900101", "1234568"].join("-");
    assert!(!self::clean(&format!("주민번호 {number}")).expect("text is left").contains(&number));
}

#[test]
fn a_secret_at_the_end_of_what_is_searched_is_not_kept() {
    let key = format!("AKIA{}", "Q7ZK3XW4RT2LM5VB");
    // A block that redaction shortens to a line, so that the end of the searched text would be
    // kept.
    let line = format!("{}\n", "Q7Zk3Xw9Rt2Lm8Vb5Nc1Yp6Hs4Jd0GfA".repeat(2));
    let name = "PRIVATE KEY-----\n";
    let lines = line.repeat(CLEANED_BYTES_MAX / line.len() - 1);
    let block = format!("-----BEGIN {name}{lines}-----END {name}");
    for cut in [1, 8, key.len() - 1] {
        let space = " ".repeat(CLEANED_BYTES_MAX - cut - block.len());
        let clean = CleanText::of(&format!("{block}{space}{key} end"));
        let text = clean.as_ref().map_or("", CleanText::as_str);
        assert!(!text.contains(&key[..cut]), "{cut}: {text}");
    }
}

#[test]
fn invisible_characters_hide_nothing() {
    let key = format!("AKIA{}", "Q7ZK3XW4RT2LM5VB");
    for hidden in ['\0', '\u{200b}', '\u{202e}', '\r'] {
        let text = format!("<pri{hidden}vate>a</private>b {}{hidden}{}", &key[..9], &key[9..]);
        let clean = CleanText::of(&text).expect("text is left");
        assert!(clean.as_str().starts_with("b ") && !clean.as_str().contains(&key), "{clean:?}");
    }
}

#[test]
fn a_huge_text_is_cut() {
    let clean = CleanText::of(&"로그 한 줄\n".repeat(700_000)).expect("text is left");
    assert_eq!(clean.as_str().chars().count(), STORED_CHARS_MAX);
    assert!(clean.is_cut() && !clean.has_removed());
    let short = CleanText::of("\u{fffd} short \u{202e}").expect("text is left");
    assert!(!short.is_cut());
}

#[test]
fn equal_texts_have_equal_hashes() {
    let hash = |text: &str| CleanText::of(text).expect("text is left").hash();
    let decomposed: String = "결제 오류".nfd().collect();
    assert_eq!(hash("결제 오류"), hash(&decomposed));
    assert_eq!(hash("a <private>1</private>b"), hash("A  B"));
    assert_ne!(hash("a"), hash("b"));
}

/// A search for the end of each of these tags through the whole text would take hours.
#[test]
fn very_many_tags_are_read_once() {
    let tags = 200_000;
    let (begin, end) = ("<private>".repeat(tags), "</private>".repeat(tags - 1));
    assert_eq!(clean(&format!("before {begin}{end} after")).as_deref(), Some("before"));
    let unclosed = "< private ".repeat(tags);
    assert_eq!(clean(&format!("before {unclosed}")).as_deref().map(|it| &it[..6]), Some("before"));
}

proptest! {
    #[test]
    fn nothing_private_is_left(before in "[a-z가-힣 <>/&]{0,20}", inside in "\\PC{0,40}", after in "[a-z ]{0,20}") {
        let marked = format!("{before}<private>MARK{inside}</private>{after}");
        let marked = marked.replacen("MARK", "ZQXJMARK", 1);
        let is_ended_inside = inside.to_lowercase().contains("private");
        let text = clean(&marked).unwrap_or_default();
        prop_assert!(is_ended_inside || !text.contains("ZQXJMARK"), "{text}");
    }

    #[test]
    fn cleaning_again_changes_nothing(text in "\\PC{0,80}|[<>/a-z ]{0,30}<private>[a-z<>/ ]{0,20}") {
        if let Some(once) = CleanText::of(&text) {
            let again = CleanText::of(once.as_str());
            let is_new_tag = once.as_str().to_lowercase().contains("private");
            prop_assert!(is_new_tag || again.as_ref().map(CleanText::as_str) == Some(once.as_str()));
        }
    }

    #[test]
    fn any_fields_are_cleaned_without_a_fault(fields in prop::collection::vec("\\PC{0,10}|<private>|</private>|<priv|ate>", 0..8)) {
        let texts: Vec<&str> = fields.iter().map(String::as_str).collect();
        let cleaned = CleanText::of_fields(&texts);
        prop_assert_eq!(cleaned.len(), texts.len());
    }
}

#[test]
fn a_key_that_begins_in_the_title_is_taken_out() {
    let begin = ["-----BEGIN RSA", "PRIVATE KEY-----"].join(" ");
    let end = begin.replace("BEGIN", "END");
    let key = "MIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0buuz/2LXcVYaEsSAlpaC9M6kBH+KH\n".repeat(3);
    for before in ["", "note: ", "> "] {
        let record = CleanRecord::of(&format!("{before}{begin}"), &format!("{key}{end}\nmore"));
        let record = record.expect("something is left");
        assert!(!record.text().contains("MIIEp"), "{record:?}");
        assert_eq!(record.body.as_ref().map(CleanText::as_str), Some("more"), "{record:?}");
    }
}
