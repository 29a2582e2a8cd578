//! The store's records of a loop: a hash chain with a link for each saved change.

/// The result of checking the chain of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopRecords {
    /// Number of saved changes.
    pub count: u64,
    /// The last link, 16 hex digits. A copy of it elsewhere later proves the records.
    pub head: String,
    /// The reason why the stored loop is not the one that this program saved.
    pub breach: Option<RecordBreach>,
}

/// A change of a loop's data that no record explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordBreach {
    /// The stored loop differed from the last record before the change of this number was saved.
    ChangedBefore(u64),
    /// The stored loop differs from the last record.
    ChangedSince(u64),
    /// A record was changed or removed.
    BrokenChain(u64),
}

impl RecordBreach {
    /// A sentence for the report of the loop.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::ChangedBefore(number) => {
                format!("the stored loop was changed outside moai-ralph before record {number}")
            }
            Self::ChangedSince(number) => {
                format!("the stored loop was changed outside moai-ralph after record {number}")
            }
            Self::BrokenChain(number) => {
                format!("record {number} of the loop was changed or removed outside moai-ralph")
            }
        }
    }
}
