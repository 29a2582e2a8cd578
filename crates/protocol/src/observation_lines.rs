//! Lines of a file of observations, which `memory import` reads, and times in the notation of
//! users.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use moai_base::limits::REPEATS_MAX;
use moai_base::time_units::{MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE};
use serde_json::{Map, Value};

use crate::lone_surrogates::parse_with_lone_surrogates;

/// Units of an age and their lengths.
const AGES: [(char, i64); 4] =
    [('m', MS_PER_MINUTE), ('h', MS_PER_HOUR), ('d', MS_PER_DAY), ('w', 7 * MS_PER_DAY)];

/// An observation written by another system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservationLine {
    /// Its id there.
    pub id: Option<String>,
    pub project: Option<String>,
    /// Id of a session; may be empty.
    pub session: String,
    /// A word for its kind; may be empty.
    pub kind: String,
    /// Milliseconds since 1970.
    pub at_ms: Option<i64>,
    /// One line; may be empty if there is a body.
    pub title: String,
    /// Everything else; may be empty.
    pub body: String,
    /// Files that it is about; `None` if they are not listed.
    pub files: Option<Vec<String>>,
    /// Codes of findings; `None` if they are not listed.
    pub codes: Option<Vec<String>>,
    /// Ids of the shapes of findings, of a fix.
    pub shapes: Vec<String>,
    /// The outcome of a fix.
    pub outcome: Option<String>,
    /// Key of a project of this program.
    pub project_key: Option<String>,
    /// From 0 to 1.
    pub importance: Option<f64>,
    /// Source of the text.
    pub provenance: Option<String>,
    /// Number of repetitions.
    pub repeats: u32,
}

impl ObservationLine {
    /// Reads a line. Unknown fields are ignored; numbers count as ids; a lone surrogate is
    /// replaced.
    ///
    /// # Errors
    ///
    /// The reason why the line cannot be used, without its text.
    pub fn parse(line: &str) -> Result<Self, String> {
        let value: Value =
            parse_with_lone_surrogates(line).map_err(|error| format!("not JSON: {error}"))?;
        let Value::Object(fields) = value else { return Err("not a JSON object".to_owned()) };
        let at_ms = match fields.get("ts") {
            None | Some(Value::Null) => None,
            Some(ts) => {
                let at_ms = time_of(ts).ok_or("`ts` is neither milliseconds nor RFC 3339")?;
                if !is_in_calendar(at_ms) {
                    return Err("`ts` is not between the years 1970 and 9999".to_owned());
                }
                Some(at_ms)
            }
        };
        let text = |name| text_of(&fields, name);
        let line = Self {
            id: text("id")?,
            project: text("project")?.filter(|name| !name.trim().is_empty()),
            session: text("session")?.unwrap_or_default(),
            kind: text("type")?.unwrap_or_default(),
            at_ms,
            title: text("title")?.unwrap_or_default(),
            body: text("body")?.unwrap_or_default(),
            files: texts_of(&fields, "files")?,
            codes: texts_of(&fields, "codes")?,
            shapes: texts_of(&fields, "shapes")?.unwrap_or_default(),
            outcome: text("outcome")?,
            project_key: text("project_key")?,
            importance: fields.get("importance").and_then(Value::as_f64),
            provenance: text("provenance")?,
            repeats: count_of(&fields, "repeats"),
        };
        if line.title.trim().is_empty() && line.body.trim().is_empty() {
            return Err("neither `title` nor `body` has text".to_owned());
        }
        Ok(line)
    }
}

fn text_of(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(format!("`{name}` is not a text")),
    }
}

/// 0 if missing; at most [`REPEATS_MAX`], so that counts can be added.
fn count_of(fields: &Map<String, Value>, name: &str) -> u32 {
    let number = fields.get(name).and_then(Value::as_u64).unwrap_or(0);
    u32::try_from(number).unwrap_or(REPEATS_MAX).min(REPEATS_MAX)
}

fn texts_of(fields: &Map<String, Value>, name: &str) -> Result<Option<Vec<String>>, String> {
    let wrong = || format!("`{name}` is not a list of texts");
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<String>>>().map(Some).ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

/// Milliseconds since 1970 of a number of milliseconds, or of a time in RFC 3339.
fn time_of(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => {
            number.as_i64().or_else(|| number.as_f64().map(f64::round).and_then(whole))
        }
        Value::String(text) => {
            let text = text.trim();
            let digits = text.strip_prefix('-').unwrap_or(text);
            if !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit()) {
                return text.parse().ok();
            }
            fixed_time_ms(text)
        }
        _ => None,
    }
}

/// True if a number of milliseconds is a plausible time of an observation, with a calendar date.
#[must_use]
pub fn is_in_calendar(at_ms: i64) -> bool {
    at_ms >= 0 && jiff::Timestamp::from_millisecond(at_ms).is_ok()
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn whole(number: f64) -> Option<i64> {
    (number.abs() < 9.0e15).then_some(number as i64)
}

fn fixed_time_ms(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// Milliseconds since 1970 of a time in a user's notation: an age (`30m`, `12h`, `7d`, `2w`), a
/// date (`2026-11-24`, its beginning in UTC), or a time in RFC 3339.
#[must_use]
pub fn moment_ms(text: &str, now_ms: i64) -> Option<i64> {
    let text = text.trim();
    for (unit, length_ms) in AGES {
        if let Some(number) = text.strip_suffix(unit)
            && let Ok(number) = number.parse::<u32>()
        {
            return Some(now_ms.saturating_sub(i64::from(number).saturating_mul(length_ms)));
        }
    }
    if let Ok(date) = text.parse::<Date>().map_err(drop)
        && !text.contains(['T', ' '])
    {
        let start = date.to_zoned(TimeZone::UTC).ok()?;
        return Some(start.timestamp().as_millisecond());
    }
    fixed_time_ms(text)
}

/// The same for the end of a period: a date means its last millisecond.
#[must_use]
pub fn last_moment_ms(text: &str, now_ms: i64) -> Option<i64> {
    let at_ms = moment_ms(text, now_ms)?;
    let is_date = text.trim().parse::<Date>().is_ok() && !text.contains(['T', ' ']);
    Some(if is_date { at_ms.saturating_add(MS_PER_DAY - 1) } else { at_ms })
}

/// Milliseconds since 1970 as UTC text; as a number if it is beyond the calendar.
#[must_use]
pub fn moment_text(at_ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at_ms).ok();
    at.map_or_else(|| at_ms.to_string(), |at| format!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_800_000_000_000;

    fn parse(line: &str) -> ObservationLine {
        ObservationLine::parse(line).expect("a good line")
    }

    #[test]
    fn a_line_is_read() {
        let line = parse(
            r#"{"id":"a-1","project":"web","session":"s","type":"fix","ts":1700000000000,
            "title":"고쳤다","body":"둘째","more":{}}"#,
        );
        assert_eq!(line.id.as_deref(), Some("a-1"));
        assert_eq!((line.kind.as_str(), line.at_ms), ("fix", Some(1_700_000_000_000)));
        assert_eq!((line.title.as_str(), line.body.as_str()), ("고쳤다", "둘째"));
        assert_eq!(parse(r#"{"id":7,"title":"x"}"#).id.as_deref(), Some("7"));
        assert_eq!(parse(r#"{"body":"x","session":null}"#).session, "");
    }

    #[test]
    fn times_are_numbers_or_rfc_3339() {
        let at = |ts: &str| parse(&format!(r#"{{"title":"x","ts":{ts}}}"#)).at_ms;
        assert_eq!(at("\"2026-11-24T01:02:03Z\""), Some(1_795_482_123_000));
        assert_eq!(at("\"2026-11-24T10:02:03+09:00\""), Some(1_795_482_123_000));
        assert_eq!(at("\"1700000000000\""), Some(1_700_000_000_000));
        assert_eq!(at("1.7e12"), Some(1_700_000_000_000));
        assert_eq!(at("0"), Some(0));
        for odd in ["-5", "3093527980800000", "9223372036854775807", "\"1969-12-31T23:59:59Z\""] {
            let line = format!(r#"{{"title":"x","ts":{odd}}}"#);
            let fault = ObservationLine::parse(&line).expect_err("beyond the calendar");
            assert!(fault.contains("1970"), "{odd}: {fault}");
        }
        let wrong = ObservationLine::parse(r#"{"title":"x","ts":"yesterday"}"#);
        assert!(wrong.expect_err("no time").contains("ts"));
    }

    #[test]
    fn bad_lines_are_named() {
        let fault = |line: &str| ObservationLine::parse(line).expect_err("a bad line");
        assert!(fault("{\"title\":").starts_with("not JSON"));
        assert_eq!(fault("[1]"), "not a JSON object");
        assert!(fault(r#"{"title":" ","body":""}"#).contains("neither"));
        assert_eq!(fault(r#"{"title":{"a":1}}"#), "`title` is not a text");
        assert_eq!(fault(r#"{"title":"x","files":"a"}"#), "`files` is not a list of texts");
    }

    #[test]
    fn halves_of_characters_are_replaced() {
        assert_eq!(parse(r#"{"title":"a \ud83d b"}"#).title, "a \u{fffd} b");
        assert_eq!(parse(r#"{"title":"a \udc00\ud83d"}"#).title, "a \u{fffd}\u{fffd}");
        assert_eq!(parse(r#"{"title":"\ud83d\ude42 \udead"}"#).title, "🙂 \u{fffd}");
        assert_eq!(parse(r#"{"title":"\\ud83d \ud800"}"#).title, "\\ud83d \u{fffd}");
        assert!(ObservationLine::parse(r#"{"title":"\ud83"#).is_err());
    }

    #[test]
    fn moments_are_ages_dates_and_times() {
        assert_eq!(moment_ms("7d", NOW_MS), Some(NOW_MS - 7 * 86_400_000));
        assert_eq!(moment_ms("30m", NOW_MS), Some(NOW_MS - 1_800_000));
        assert_eq!(moment_ms("2026-11-24", NOW_MS), Some(1_795_478_400_000));
        assert_eq!(moment_ms("2026-11-24T01:02:03Z", NOW_MS), Some(1_795_482_123_000));
        for odd in ["", "d", "-3d", "soon", "2026-13-01", "7y"] {
            assert_eq!(moment_ms(odd, NOW_MS), None, "{odd}");
        }
        assert_eq!(last_moment_ms("2026-11-24", NOW_MS), Some(1_795_564_799_999));
        assert_eq!(last_moment_ms("7d", NOW_MS), moment_ms("7d", NOW_MS));
        assert_eq!(moment_text(1_795_482_123_000), "2026-11-24T01:02:03.000Z");
        assert_eq!(moment_text(i64::MAX), i64::MAX.to_string());
    }
}
