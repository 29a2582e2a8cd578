//! Texts of `memory …`.

use std::fmt::Write as _;

use super::{count_noun, sanitized_line, sanitized_name};
use moai_base::limits::{MEMORY_ROW_TOKENS_MAX, MEMORY_TITLE_CHARS_MAX};
use moai_base::time_units::{MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE};
use moai_memory::budget::{estimated_tokens, within_tokens};
use moai_protocol::documents::memory::{
    MemoryChangeDocument, MemoryDocument, MemoryHitEntry, MemoryRowEntry, MemoryStatusDocument,
    ObservationEntry, ObservationsDocument, TimelineDocument,
};

/// `5 min`, `3 h`, `12 d`; a time in the future counts as now.
#[must_use]
pub fn age_text(at_ms: i64, now_ms: i64) -> String {
    match now_ms.saturating_sub(at_ms).max(0) {
        age if age < MS_PER_HOUR => format!("{} min", age / MS_PER_MINUTE),
        age if age < 2 * MS_PER_DAY => format!("{} h", age / MS_PER_HOUR),
        age => format!("{} d", age / MS_PER_DAY),
    }
}

/// A title on one line; the first 200 characters.
#[must_use]
pub fn title_line(title: &str) -> String {
    let line = sanitized_line(title);
    line.chars().take(MEMORY_TITLE_CHARS_MAX).collect()
}

/// The parts of a line about an observation.
struct IndexRow<'r> {
    id: &'r str,
    at_ms: i64,
    kind: &'r str,
    title: &'r str,
    path: Option<&'r str>,
    tokens: usize,
}

impl IndexRow<'_> {
    /// `obs-17 · 3 d · fix · title · src/a.rs · ~40`, within the tokens of a row: the end of the title
    /// is left out, and the beginning of a path that takes more than a third of the row.
    fn text(&self, now_ms: i64) -> String {
        let start = format!(
            "{} · {} · {} · ",
            sanitized_line(self.id),
            age_text(self.at_ms, now_ms),
            self.kind
        );
        let end = format!(" · ~{}", self.tokens);
        let path = self.path.map(sanitized_name).unwrap_or_default();
        let title = title_line(self.title);
        let separator = if path.is_empty() { "" } else { " · " };
        let whole = format!("{start}{title}{separator}{path}{end}");
        if estimated_tokens(&whole) <= MEMORY_ROW_TOKENS_MAX {
            return whole;
        }
        let end = format!("{separator}{}{end}", end_of_path(&path, MEMORY_ROW_TOKENS_MAX / 3));
        let rest =
            MEMORY_ROW_TOKENS_MAX.saturating_sub(estimated_tokens(&format!("{start}…{end}")) + 1);
        let kept = within_tokens(&title, rest).trim_end();
        let cut = if kept.len() < title.len() { "…" } else { "" };
        format!("{start}{kept}{cut}{end}")
    }
}

/// The last parts of a path within so many tokens; of a longer name its last characters.
fn end_of_path(path: &str, tokens_max: usize) -> String {
    if estimated_tokens(path) <= tokens_max {
        return path.to_owned();
    }
    let fits = |at: usize| estimated_tokens(&path[at..]) < tokens_max;
    let parts = path.match_indices('/').map(|(at, _)| at).find(|at| fits(*at));
    let characters = || path.char_indices().map(|(at, _)| at).find(|at| fits(*at));
    let at = parts.or_else(characters).unwrap_or(path.len());
    format!("…{}", &path[at..])
}

fn hit_row(hit: &MemoryHitEntry, now_ms: i64) -> String {
    let row = IndexRow {
        id: &hit.id,
        at_ms: hit.at_ms,
        kind: hit.kind,
        title: &hit.title,
        path: hit.path.as_deref(),
        tokens: hit.tokens,
    };
    row.text(now_ms)
}

fn entry_row(entry: &MemoryRowEntry, now_ms: i64) -> String {
    let row = IndexRow {
        id: &entry.id,
        at_ms: entry.at_ms,
        kind: entry.kind,
        title: &entry.title,
        path: entry.path.as_deref(),
        tokens: entry.tokens,
    };
    row.text(now_ms)
}

/// The hits of a search as text, without the token counts.
#[must_use]
pub fn hits_text(hits: &[MemoryHitEntry], now_ms: i64) -> String {
    let mut text = String::new();
    for hit in hits {
        if let Some(observation) = &hit.observation {
            text += &observation_text(observation);
        } else {
            let _ = writeln!(text, "{}", hit_row(hit, now_ms));
        }
        if let Some(score) = &hit.explanation {
            let _ = writeln!(
                text,
                "    score {:.3}: exactness {:.2}, recency {:.2}, proximity {:.2}, importance {:.2}; stage {}",
                hit.score,
                score.exactness,
                score.recency,
                score.proximity,
                score.importance,
                score.stage
            );
        }
        for entry in hit.timeline.iter().flatten().filter(|entry| entry.place != "anchor") {
            let _ = writeln!(text, "    {}: {}", entry.place, entry_row(entry, now_ms));
        }
    }
    text
}

/// A search that found nothing.
#[derive(Clone, Debug, Default)]
pub struct EmptySearch {
    /// Observations of the projects that were searched.
    pub searched: u64,
    /// Hits in other projects; `None` if all projects were searched.
    pub elsewhere: Option<usize>,
    /// Number of search units.
    pub units: usize,
    /// The stages that were asked.
    pub stages: Vec<&'static str>,
}

/// Why a search found nothing.
#[must_use]
pub fn empty_text(empty: &EmptySearch) -> String {
    let searched = usize::try_from(empty.searched).unwrap_or(usize::MAX);
    let observations = count_noun(searched, "observation");
    let others = match empty.elsewhere {
        None => String::new(),
        Some(0) => "; none in other projects".to_owned(),
        Some(hits) => format!("; {} in other projects: --all-projects", count_noun(hits, "hit")),
    };
    if searched > 0 && empty.units == 0 {
        return "the query has no word, name or code to look for".to_owned();
    }
    let place = if empty.elsewhere.is_some() { " of this project" } else { "" };
    let stages = match &empty.stages[..] {
        [] => String::new(),
        stages => format!(" (stages: {})", stages.join(", ")),
    };
    format!("no hit in {observations}{place}{stages}{others}")
}

/// The text of a search.
#[must_use]
pub fn search_text(document: &MemoryDocument, now_ms: i64) -> String {
    let mut text = hits_text(&document.hits, now_ms);
    if let Some(explanation) = &document.explanation {
        for unit in &explanation.units {
            let (name, rows) = (sanitized_line(&unit.text), unit.rows);
            let _ = writeln!(text, "looked for: {name} (about {rows}, weight {:.2})", unit.weight);
        }
        for stage in &explanation.stages {
            let _ = writeln!(text, "stage {}: {}", stage.stage, count_noun(stage.rows, "row"));
        }
    }
    if let Some(why) = &document.why_empty {
        let _ = writeln!(text, "{}", sanitized_line(why));
        return text;
    }
    let _ = write!(
        text,
        "{} in {:.1} ms, about {} tokens",
        count_noun(document.hits.len(), "hit"),
        document.elapsed_ms,
        document.token_estimate
    );
    if let Some(next) = document.next_layer_tokens {
        let _ = write!(text, "; the next layer: about {next} tokens");
    }
    text + "\n"
}

fn observation_text(entry: &ObservationEntry) -> String {
    let mut text = String::new();
    let session = if entry.session.is_empty() {
        String::new()
    } else {
        format!(", session {}", sanitized_line(&entry.session))
    };
    let _ = writeln!(
        text,
        "{} · {} · {} · {}{session}",
        sanitized_line(&entry.id),
        entry.at,
        entry.kind,
        sanitized_line(&entry.project)
    );
    let _ = writeln!(text, "  {}", sanitized_line(&entry.title));
    for line in entry.body.lines() {
        let _ = writeln!(text, "  {}", sanitized_line(line));
    }
    let names: Vec<String> =
        entry.files.iter().chain(&entry.codes).map(|name| sanitized_name(name)).collect();
    if !names.is_empty() {
        let _ = writeln!(text, "  about: {}", names.join(", "));
    }
    let mut notes = vec![format!("from: {}", entry.provenance)];
    notes.extend(entry.outcome.map(|outcome| format!("outcome: {outcome}")));
    if entry.repeats > 0 {
        notes.push(format!("seen again: {}", entry.repeats));
    }
    if entry.superseded {
        notes.push("replaced by a later one".to_owned());
    }
    if entry.cut {
        notes.push("cut; export has all of it".to_owned());
    }
    let _ = writeln!(text, "  {}", notes.join("; "));
    text
}

/// The text of `memory get`.
#[must_use]
pub fn observations_text(document: &ObservationsDocument) -> String {
    let mut text: String = document.observations.iter().map(observation_text).collect();
    for id in &document.unknown {
        let _ = writeln!(text, "{}", unknown_observation(id));
    }
    text
}

#[must_use]
pub fn unknown_observation(id: &str) -> String {
    format!("no observation: {}", sanitized_line(id))
}

/// The text of `memory timeline`.
#[must_use]
pub fn timeline_text(document: &TimelineDocument, now_ms: i64) -> String {
    let mut text = String::new();
    for entry in &document.rows {
        let mark = match entry.place {
            "anchor" => "> ",
            "later" => "+ ",
            _ => "  ",
        };
        let _ = writeln!(text, "{mark}{}", entry_row(entry, now_ms));
    }
    text
}

/// The text of a change of the memory.
#[must_use]
pub fn change_text(document: &MemoryChangeDocument) -> String {
    let mut text = String::new();
    for line in &document.rejected {
        let reason = sanitized_line(&line.reason);
        let _ = match line.line {
            0 => writeln!(text, "left out: {reason}"),
            number => writeln!(text, "left out: line {number}: {reason}"),
        };
    }
    let named = u64::try_from(document.rejected.len()).unwrap_or(u64::MAX);
    if document.rejected_total > named {
        let _ = writeln!(text, "left out: {} more", document.rejected_total - named);
    }
    let number = usize::try_from(document.observations).unwrap_or(usize::MAX);
    let count = count_noun(number, "observation");
    let file = document.file.as_deref().map(sanitized_name).unwrap_or_default();
    let done = match (document.command, document.status) {
        ("add", _) => format!("remembered: {}", document.ids.join(", ")),
        ("import", _) => format!("{count} stored, {} of them known already", document.repeated),
        ("forget", "preview") if number == 0 => "nothing to forget".to_owned(),
        ("forget", "preview") => format!("would forget {count}: repeat with --apply"),
        ("forget", _) if document.in_backups => format!("{count} forgotten, in backups too"),
        ("forget", _) => format!("{count} forgotten"),
        ("backup", _) => format!("written: {file}"),
        ("restore", "preview") => format!("would restore {count} from {file}: repeat with --apply"),
        ("restore", _) => format!("{count} restored from {file}"),
        (command, status) => format!("{command}: {status}"),
    };
    text + &done + "\n"
}

/// An import ended before the end of its file.
#[must_use]
pub fn unfinished_import(imported: u64, reason: &str) -> String {
    let number = usize::try_from(imported).unwrap_or(usize::MAX);
    format!(
        "the memory: {}; {} of the file stored before that: run the import again, nothing is stored twice",
        sanitized_line(reason),
        count_noun(number, "observation")
    )
}

/// The text of `memory forget`: a line for each of the first observations that would be forgotten, and
/// copies of the memory that cannot be read.
#[must_use]
pub fn forget_text(document: &MemoryChangeDocument, now_ms: i64) -> String {
    let mut text = String::new();
    for row in &document.rows {
        let _ = writeln!(text, "{}", entry_row(row, now_ms));
    }
    let listed = u64::try_from(document.rows.len()).unwrap_or(u64::MAX);
    if listed > 0 && document.observations > listed {
        let _ = writeln!(text, "… and {} more", document.observations - listed);
    }
    text += &change_text(document);
    for copy in &document.removed_copies {
        let copy = sanitized_name(copy);
        let _ = writeln!(text, "removed, because it cannot be read and may have the text: {copy}");
    }
    for copy in &document.unread_copies {
        let copy = sanitized_name(copy);
        let _ = writeln!(text, "not searched, because it cannot be read: {copy}");
    }
    text
}

/// The text of `memory status`.
#[must_use]
pub fn status_text(document: &MemoryStatusDocument) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{} ({} KiB)", sanitized_name(&document.file), document.bytes / 1024);
    let kinds: Vec<String> =
        document.by_type.iter().map(|it| format!("{} {}", it.kind, it.observations)).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) };
    let observations = usize::try_from(document.observations).unwrap_or(usize::MAX);
    let _ = writeln!(text, "{}{kinds}", count_noun(observations, "observation"));
    let (projects, sessions) = (document.projects, document.sessions);
    let _ = writeln!(text, "all projects: {projects}; sessions: {sessions}");
    let _ = writeln!(
        text,
        "shown to agents: {} (about {} tokens), used later: {}",
        document.injections,
        document.injected_tokens,
        share_text(document.injections_used, document.injections)
    );
    let _ = writeln!(
        text,
        "searches: {}, with hits: {}",
        document.searches,
        share_text(document.searches_with_hits, document.searches)
    );
    let _ = writeln!(
        text,
        "text of the project: {:.1} of {} MiB; folded: {}, dropped: {}",
        mib(document.project_bytes),
        document.project_bytes_max >> 20,
        document.folded,
        document.dropped
    );
    text
}

#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn share_text(part: u64, whole: u64) -> String {
    let percent = (part * 100).checked_div(whole);
    percent.map_or_else(|| part.to_string(), |percent| format!("{part} ({percent} %)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_800_000_000_000;

    #[test]
    fn ages_are_short() {
        assert_eq!(age_text(NOW_MS - 5 * MS_PER_MINUTE, NOW_MS), "5 min");
        assert_eq!(age_text(NOW_MS - 30 * MS_PER_HOUR, NOW_MS), "30 h");
        assert_eq!(age_text(NOW_MS - 400 * MS_PER_DAY, NOW_MS), "400 d");
        assert_eq!(age_text(i64::MAX, NOW_MS), "0 min");
        assert_eq!(age_text(i64::MIN, i64::MAX), "106751991167 d");
    }

    #[test]
    fn a_row_has_a_bounded_number_of_tokens() {
        for title in ["short", &"결제 모듈에서 토큰을 갱신했다 ".repeat(20), &"a_b(c) ".repeat(90)]
        {
            let row = IndexRow {
                id: "obs-17",
                at_ms: NOW_MS,
                kind: "fix",
                title,
                path: Some("src/a.rs"),
                tokens: 9,
            };
            let text = row.text(NOW_MS);
            assert!(estimated_tokens(&text) <= MEMORY_ROW_TOKENS_MAX, "{text}");
            assert!(
                text.starts_with("obs-17 · 0 min · fix · ") && text.ends_with(" · src/a.rs · ~9"),
                "{text}"
            );
            assert_eq!(text.lines().count(), 1);
        }
    }

    #[test]
    fn a_long_path_keeps_its_end_and_leaves_room_for_the_title() {
        let folders = "packages/very-long-name-of-a-folder/".repeat(8);
        let path = format!("{folders}src/결제.ts");
        let row = IndexRow {
            id: "obs-17",
            at_ms: NOW_MS,
            kind: "fix",
            title: &"the token was refreshed twice ".repeat(9),
            path: Some(&path),
            tokens: 9,
        };
        let text = row.text(NOW_MS);
        assert!(estimated_tokens(&text) <= MEMORY_ROW_TOKENS_MAX, "{text}");
        assert!(text.contains("fix · the token") && text.ends_with("/src/결제.ts · ~9"), "{text}");
        let name = format!("{}.ts", "n".repeat(400));
        let text = IndexRow { path: Some(&name), ..row }.text(NOW_MS);
        assert!(estimated_tokens(&text) <= MEMORY_ROW_TOKENS_MAX, "{text}");
        assert!(text.ends_with("nnn.ts · ~9"), "{text}");
    }
}
