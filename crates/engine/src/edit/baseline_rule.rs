//! The rules that choose the baseline of a language server's result for an edit. Pure: the inputs are plain
//! values.

use moai_base::hash::ContentHash;

/// Source of the state before an edit when its measurement starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BaselineSource {
    /// The edit created the file, so it had no findings, even if an earlier file of this name had.
    NewFile,
    /// An earlier edit whose result was not reported yet: the later edit's report covers both.
    UnreportedEdit,
    /// The baseline of an older report that the session never received: its findings are still new.
    UndeliveredReport,
    /// The server's last verified results.
    LastResults,
}

/// Chooses the source of the state before an edit.
pub(crate) fn baseline_source(
    is_new_file: bool,
    has_unreported_edit: bool,
    has_undelivered_report: bool,
) -> BaselineSource {
    if is_new_file {
        BaselineSource::NewFile
    } else if has_unreported_edit {
        BaselineSource::UnreportedEdit
    } else if has_undelivered_report {
        BaselineSource::UndeliveredReport
    } else {
        BaselineSource::LastResults
    }
}

/// Facts about the state before an edit when a server's result has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BaselineFacts {
    /// True if the result came with a fault of the project, so that the server did not see everything.
    pub(crate) is_partial: bool,
    /// True if earlier findings of the same kind of result are known: partial for a partial result, else
    /// complete.
    pub(crate) has_earlier_findings: bool,
    /// The text before the edit, if the host supplied it.
    pub(crate) text_before: Option<ContentHash>,
    /// The text of the last complete result, if there is one.
    pub(crate) last_measured: Option<ContentHash>,
    /// True if other files may have changed since the last complete result.
    pub(crate) have_others_changed: bool,
    /// True if the lines of the text of the last complete result are still cached.
    pub(crate) has_measured_lines: bool,
    /// True if the text before the edit can still be measured, as an overlay.
    pub(crate) can_overlay: bool,
}

/// The baseline of an edit's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EditBaseline {
    /// Nothing is known about the state before: no finding can be attributed.
    Unknown,
    /// The text before the edit must be measured first.
    UnmeasuredText,
    /// Only the text before the edit: findings on lines that the edit wrote are introduced.
    EditedLines,
    /// The earlier findings: every difference is reported, because the findings are of the text
    /// before the edit and no other file changed, or because it cannot be attributed more precisely.
    EarlierFindings,
    /// The earlier findings are of the text before the edit, but other files may have changed.
    OthersChanged,
    /// The earlier findings are of another text, from which they are carried to the text before the
    /// edit.
    OlderText,
    /// The earlier findings are of another text, whose lines are unknown.
    ForgottenText,
}

/// Chooses the baseline of a result.
pub(crate) fn baseline_for(facts: BaselineFacts) -> EditBaseline {
    match facts.text_before {
        None if facts.has_earlier_findings => EditBaseline::EarlierFindings,
        None => EditBaseline::Unknown,
        Some(_) if !facts.has_earlier_findings && facts.can_overlay => EditBaseline::UnmeasuredText,
        Some(_) if !facts.has_earlier_findings => EditBaseline::EditedLines,
        Some(_) if facts.is_partial => EditBaseline::EarlierFindings,
        Some(_) if facts.last_measured == facts.text_before && facts.have_others_changed => {
            EditBaseline::OthersChanged
        }
        Some(_) if facts.last_measured == facts.text_before => EditBaseline::EarlierFindings,
        Some(_) if facts.has_measured_lines => EditBaseline::OlderText,
        Some(_) => EditBaseline::ForgottenText,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_of_the_state_before_an_edit() {
        use BaselineSource::{LastResults, NewFile, UndeliveredReport, UnreportedEdit};
        let table = [
            // new file, unreported edit, undelivered report
            (false, false, false, LastResults),
            (false, false, true, UndeliveredReport),
            (false, true, false, UnreportedEdit),
            (false, true, true, UnreportedEdit),
            (true, false, false, NewFile),
            (true, false, true, NewFile),
            (true, true, false, NewFile),
            (true, true, true, NewFile),
        ];
        for (new_file, unreported, undelivered, expected) in table {
            assert_eq!(
                baseline_source(new_file, unreported, undelivered),
                expected,
                "{new_file} {unreported} {undelivered}"
            );
        }
    }

    /// The text of the last complete result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum LastText {
        Unmeasured,
        BeforeEdit,
        Other,
    }

    /// One row of the table; `None` matches every value of an input.
    #[derive(Clone, Copy, Debug)]
    struct BaselineRow {
        has_text_before: Option<bool>,
        has_earlier_findings: Option<bool>,
        is_partial: Option<bool>,
        last_text: Option<LastText>,
        have_others_changed: Option<bool>,
        has_measured_lines: Option<bool>,
        can_overlay: Option<bool>,
        expected: EditBaseline,
    }

    const ANY: BaselineRow = BaselineRow {
        has_text_before: None,
        has_earlier_findings: None,
        is_partial: None,
        last_text: None,
        have_others_changed: None,
        has_measured_lines: None,
        can_overlay: None,
        expected: EditBaseline::Unknown,
    };

    /// The text before the edit and findings of a complete result.
    const COMPLETE: BaselineRow = BaselineRow {
        has_text_before: Some(true),
        has_earlier_findings: Some(true),
        is_partial: Some(false),
        ..ANY
    };

    const TABLE: [BaselineRow; 11] = [
        BaselineRow {
            has_text_before: Some(false),
            has_earlier_findings: Some(false),
            expected: EditBaseline::Unknown,
            ..ANY
        },
        BaselineRow {
            has_text_before: Some(false),
            has_earlier_findings: Some(true),
            expected: EditBaseline::EarlierFindings,
            ..ANY
        },
        BaselineRow {
            has_text_before: Some(true),
            has_earlier_findings: Some(false),
            can_overlay: Some(true),
            expected: EditBaseline::UnmeasuredText,
            ..ANY
        },
        BaselineRow {
            has_text_before: Some(true),
            has_earlier_findings: Some(false),
            can_overlay: Some(false),
            expected: EditBaseline::EditedLines,
            ..ANY
        },
        BaselineRow {
            has_text_before: Some(true),
            has_earlier_findings: Some(true),
            is_partial: Some(true),
            expected: EditBaseline::EarlierFindings,
            ..ANY
        },
        BaselineRow {
            last_text: Some(LastText::BeforeEdit),
            have_others_changed: Some(false),
            expected: EditBaseline::EarlierFindings,
            ..COMPLETE
        },
        BaselineRow {
            last_text: Some(LastText::BeforeEdit),
            have_others_changed: Some(true),
            expected: EditBaseline::OthersChanged,
            ..COMPLETE
        },
        BaselineRow {
            last_text: Some(LastText::Other),
            has_measured_lines: Some(true),
            expected: EditBaseline::OlderText,
            ..COMPLETE
        },
        BaselineRow {
            last_text: Some(LastText::Other),
            has_measured_lines: Some(false),
            expected: EditBaseline::ForgottenText,
            ..COMPLETE
        },
        BaselineRow {
            last_text: Some(LastText::Unmeasured),
            has_measured_lines: Some(true),
            expected: EditBaseline::OlderText,
            ..COMPLETE
        },
        BaselineRow {
            last_text: Some(LastText::Unmeasured),
            has_measured_lines: Some(false),
            expected: EditBaseline::ForgottenText,
            ..COMPLETE
        },
    ];

    fn is_match<T: PartialEq + Copy>(allowed: Option<T>, value: T) -> bool {
        allowed.is_none_or(|allowed| allowed == value)
    }

    impl BaselineRow {
        fn applies_to(self, facts: BaselineFacts, last_text: LastText) -> bool {
            is_match(self.has_text_before, facts.text_before.is_some())
                && is_match(self.has_earlier_findings, facts.has_earlier_findings)
                && is_match(self.is_partial, facts.is_partial)
                && is_match(self.last_text, last_text)
                && is_match(self.have_others_changed, facts.have_others_changed)
                && is_match(self.has_measured_lines, facts.has_measured_lines)
                && is_match(self.can_overlay, facts.can_overlay)
        }
    }

    fn is_set(bits: u32, position: u32) -> bool {
        bits >> position & 1 == 1
    }

    /// All combinations of the inputs, with the text of the last complete result.
    fn all_facts() -> Vec<(BaselineFacts, LastText)> {
        let (before, other) = (ContentHash::of_bytes(b"before"), ContentHash::of_bytes(b"other"));
        let mut all = Vec::new();
        for bits in 0..1_u32 << 6 {
            for last_text in [LastText::Unmeasured, LastText::BeforeEdit, LastText::Other] {
                let facts = BaselineFacts {
                    is_partial: is_set(bits, 0),
                    has_earlier_findings: is_set(bits, 1),
                    text_before: is_set(bits, 2).then_some(before),
                    last_measured: match last_text {
                        LastText::Unmeasured => None,
                        LastText::BeforeEdit => Some(before),
                        LastText::Other => Some(other),
                    },
                    have_others_changed: is_set(bits, 3),
                    has_measured_lines: is_set(bits, 4),
                    can_overlay: is_set(bits, 5),
                };
                all.push((facts, last_text));
            }
        }
        all
    }

    #[test]
    fn every_combination_of_facts_has_exactly_one_row_and_its_baseline() {
        let all = all_facts();
        assert_eq!(all.len(), 192);
        for (facts, last_text) in all {
            let rows: Vec<EditBaseline> = TABLE
                .iter()
                .filter(|row| row.applies_to(facts, last_text))
                .map(|row| row.expected)
                .collect();
            assert_eq!(rows, [baseline_for(facts)], "{facts:?}");
        }
    }
}
