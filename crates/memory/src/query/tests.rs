//! Tests of the stages that a query needs.

use moai_base::limits::QUERY_UNITS_MAX;
use proptest::prelude::*;

use super::*;
use crate::database::MatchingRows;
use crate::expression::{Expression, TokenPlaces};
use crate::tokens::IndexTokens;
use crate::unit_rows::UnitRows;

fn query(text: &str) -> Query {
    Query::parse(text, Glossary::built_in())
}

/// The strictest stage of the query that the text matches.
fn stage(query_text: &str, text: &str) -> Option<StageKind> {
    let tokens = IndexTokens::of_text(text);
    let places = TokenPlaces::new(&tokens);
    let query = query(query_text);
    let found = rows_of_text(&query, &places);
    query.stages.iter().copied().find(|stage| found.fulfilling(&query, *stage).count() == 1)
}

/// The answers of an index that holds one text.
fn rows_of_text(query: &Query, places: &TokenPlaces<'_>) -> UnitRows {
    let answer = |expression: Expression| MatchingRows {
        rows: if expression.matches(places) { vec![1] } else { Vec::new() },
        is_complete: true,
    };
    let mut rows = UnitRows::default();
    let questions = rows.open_questions(query, StageKind::Any);
    let answers: Vec<MatchingRows> =
        questions.iter().map(|question| answer(question.expression.clone())).collect();
    rows.add(&questions, &answers);
    rows
}

fn unit_texts(text: &str) -> Vec<String> {
    query(text).units.into_iter().map(|unit| unit.text).collect()
}

#[test]
fn words_that_ask_or_fill_are_left_out() {
    assert_eq!(unit_texts("지난번에 인증 오류 어떻게 고쳤지?"), ["인증", "오류"]);
    assert_eq!(unit_texts("how did we fix the token refresh?"), ["token", "refresh"]);
    assert_eq!(unit_texts("API를 호출하는 함수 부분"), ["API", "호출하는", "함수"]);
    assert_eq!(unit_texts("구독 해지 한도를 했었나요"), ["구독", "해지", "한도를"]);
    assert!(query("어떻게 했더라").stages.is_empty());
    assert!(query("what was that").units.is_empty());
    assert!(query("  🙂 !! ").units.is_empty());
}

#[test]
fn korean_words_match_with_any_particle() {
    assert_eq!(stage("인증을", "인증이 실패했다"), Some(StageKind::Exact));
    assert_eq!(stage("결제에서 배포까지", "배포는 결제와 함께"), Some(StageKind::Exact));
    assert_eq!(stage("API를", "API가 죽었다"), Some(StageKind::Exact));
}

#[test]
fn compounds_match_with_and_without_spaces() {
    assert_eq!(stage("인증 토큰", "인증토큰을 갱신"), Some(StageKind::Exact));
    assert_eq!(stage("인증토큰이", "인증 토큰을 갱신"), Some(StageKind::Exact));
    assert_eq!(stage("사용자 인증 토큰", "사용자인증토큰"), Some(StageKind::Exact));
    assert_eq!(stage("토큰", "인증토큰을 갱신"), Some(StageKind::Loose));
}

#[test]
fn identifiers_match_in_every_style() {
    for text in ["validateToken", "validate_token", "VALIDATE_TOKEN", "validate-token"] {
        for asked in ["validateToken", "validate_token", "ValidateToken", "validate token"] {
            assert_eq!(stage(asked, text), Some(StageKind::Exact), "{asked} in {text}");
        }
    }
    assert_eq!(stage("validateTok", "validate_token"), Some(StageKind::Loose));
    assert_eq!(stage("valida", "validate_token"), Some(StageKind::Loose));
}

#[test]
fn paths_match_by_suffix_and_by_name() {
    let text = "changed src/auth/token_store.rs:12:5 today";
    for asked in ["src/auth/token_store.rs", "auth/token_store.rs", "token_store.rs"] {
        assert_eq!(stage(asked, text), Some(StageKind::Exact), "{asked}");
    }
    assert_eq!(stage("scr/auth/token_store.rs", text), Some(StageKind::Exact));
    assert_eq!(stage("src/auth/token_st", text), Some(StageKind::Loose));
}

#[test]
fn codes_are_one_unit() {
    let kinds = |text: &str| query(text).units.iter().map(|unit| unit.kind).collect::<Vec<_>>();
    assert_eq!(kinds("TS2345"), [UnitKind::Code]);
    assert_eq!(kinds("ECONNRESET src/a.ts 42"), [UnitKind::Code, UnitKind::Path, UnitKind::Number]);
    assert_eq!(stage("TS2345", "error TS2345: no"), Some(StageKind::Exact));
    assert_eq!(stage("ORA00942", "ORA-00942"), Some(StageKind::Exact));
}

#[test]
fn the_glossary_answers_in_the_other_language() {
    assert_eq!(stage("인증 토큰 갱신", "refresh the auth token"), Some(StageKind::Translated));
    assert_eq!(stage("메모리 누수", "a memory leak in the pool"), Some(StageKind::Translated));
    assert_eq!(stage("deployment rollback", "배포를 롤백했다"), Some(StageKind::Translated));
    assert_eq!(stage("인증토큰을", "auth token"), Some(StageKind::Translated));
}

#[test]
fn chinese_and_japanese_match_inside_sentences() {
    assert_eq!(stage("认证令牌", "更新认证令牌的时候"), Some(StageKind::Exact));
    assert_eq!(stage("认证令牌过期了怎么办", "认证令牌已过期"), Some(StageKind::Loose));
    assert_eq!(stage("トークンの更新", "認証トークンを更新した"), Some(StageKind::Exact));
}

#[test]
fn looser_stages_find_texts_with_some_of_the_units() {
    assert_eq!(stage("결제 웹훅 재시도", "결제 재시도를 늘렸다"), Some(StageKind::AllButOne));
    assert_eq!(stage("결제 웹훅 재시도", "웹훅을 껐다"), Some(StageKind::Any));
    assert_eq!(stage("결제 웹훅 재시도", "README"), None);
}

#[test]
fn a_long_prompt_finds_texts_with_its_names() {
    let prompt = "src/auth/token_store.rs에서 TS2345가 나는데 원인을 찾아서 테스트까지 추가해줘";
    let text = "src/auth/token_store.rs: TS2345 is gone after the cast";
    assert_eq!(stage(prompt, text), Some(StageKind::Named));
    assert_ne!(stage(prompt, "src/auth/token_store.rs: formatted"), Some(StageKind::Named));
}

#[test]
fn stages_end_when_enough_is_found() {
    let query = query("validateToken TS2345 결제");
    let mut search = StagedSearch::new(&query, 3);
    assert_eq!(search.next_stage(), Some(StageKind::Exact));
    search.add(StageKind::Exact, [7, 8]);
    assert_eq!(search.next_stage(), Some(StageKind::Loose));
    search.add(StageKind::Loose, [8, 9]);
    assert_eq!(search.next_stage(), None);
    let hits = search.into_hits();
    assert_eq!(hits.len(), 3);
    assert_eq!(hits[1], StageHit { id: 8, stage: StageKind::Exact, order: 1 });
}

#[test]
fn the_other_language_is_asked_even_if_enough_is_found() {
    let query = query("인증 토큰");
    let mut search = StagedSearch::new(&query, 3);
    search.next_stage();
    search.add(StageKind::Exact, 0..10);
    assert_eq!(search.next_stage(), Some(StageKind::Translated));
    assert_eq!(search.next_stage(), None);
}

/// True if an expression consists of quoted tokens and our own words only.
fn is_safe(expression: &str) -> bool {
    expression.split('"').enumerate().all(|(at, part)| {
        if at % 2 == 1 {
            return part
                .chars()
                .all(|it| it.is_alphanumeric() || it == '_' || it == ' ' || !it.is_ascii());
        }
        part.split([' ', '(', ')', '*'])
            .all(|word| ["", ":", "words", "pairs", "AND", "OR"].contains(&word))
    })
}

#[test]
fn a_long_query_has_a_bounded_number_of_units() {
    let words: Vec<String> = (0..200).map(|number| format!("word{number}tail")).collect();
    assert_eq!(query(&words.join(" ")).units.len(), QUERY_UNITS_MAX);
    assert_eq!(query(&words[..QUERY_UNITS_MAX - 1].join(" ")).units.len(), QUERY_UNITS_MAX - 1);
    let late = |spaces: usize| " ".repeat(spaces) + "later";
    assert_eq!(unit_texts(&late(QUERY_CHARS_MAX - 5)), ["later"]);
    assert!(query(&late(QUERY_CHARS_MAX)).units.is_empty());
}

#[test]
fn rare_units_count_more_and_unknown_ones_nothing() {
    let mut query = query("결제 웹훅 톱니바퀴");
    query.weigh(1_000, &[500, 2, 0]);
    let weights: Vec<f64> = query.units.iter().map(|unit| unit.weight).collect();
    assert!(weights[1] > 2.0 * weights[0] && weights[0] > 0.0, "{weights:?}");
    assert!(weights[2].abs() < f64::EPSILON);
}

#[test]
fn syntax_of_the_index_is_text() {
    for text in [
        "\"a\" OR words:b*",
        "NEAR(token session, 5)",
        "^인증 - 토큰",
        "a\" AND 1=1 --",
        "{words}:x",
        "token) OR (1",
        "'; DROP TABLE obs; --",
    ] {
        let query = query(text);
        for question in UnitRows::default().open_questions(&query, StageKind::Any) {
            let question = question.expression.to_string();
            assert!(is_safe(&question), "{text}: {question}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_gives_safe_and_bounded_questions(text in "\\PC{0,200}|[가-힣 a-zA-Z0-9_./:\"*()-]{0,200}") {
        let query = query(&text);
        prop_assert!(query.units.len() <= QUERY_UNITS_MAX);
        prop_assert_eq!(query.units.is_empty(), query.stages.is_empty());
        for question in UnitRows::default().open_questions(&query, StageKind::Any) {
            let question = question.expression.to_string();
            prop_assert!(is_safe(&question), "{}", question);
        }
    }

    #[test]
    fn a_text_is_found_by_itself(text in "[가-힣a-z_]{3,8} [가-힣A-Za-z]{3,8}") {
        let tokens = IndexTokens::of_text(&text);
        let places = TokenPlaces::new(&tokens);
        let query = query(&text);
        let found = rows_of_text(&query, &places);
        for stage in &query.stages {
            let is_own_language = *stage != StageKind::Translated;
            let is_found = found.fulfilling(&query, *stage).count() == 1;
            prop_assert!(!is_own_language || is_found, "{stage:?}");
        }
    }
}
