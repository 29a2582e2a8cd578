//! Stops and checks that are measuring a root. An edit whose report is deferred waits for them before it shows
//! earlier texts to a server: with every change of texts, the server would check again what they measure.

use std::sync::Arc;

use tokio::sync::watch;

/// The number of Stops and checks that are measuring a root.
#[derive(Debug, Default)]
pub(crate) struct MeasuringVerdicts {
    count: watch::Sender<usize>,
}

impl MeasuringVerdicts {
    /// Counts a Stop or a check until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> MeasuringVerdict {
        self.count.send_modify(|count| *count += 1);
        MeasuringVerdict { verdicts: Arc::clone(self) }
    }

    pub(crate) fn is_any(&self) -> bool {
        *self.count.borrow() > 0
    }

    /// Waits until none is measuring.
    pub(crate) async fn ended(&self) {
        // The sender lives in `self`, so it cannot be closed.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// A Stop or a check that is measuring.
pub(crate) struct MeasuringVerdict {
    verdicts: Arc<MeasuringVerdicts>,
}

impl Drop for MeasuringVerdict {
    fn drop(&mut self) {
        self.verdicts.count.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn an_edit_waits_for_all_verdicts() {
        let verdicts = Arc::new(MeasuringVerdicts::default());
        verdicts.ended().await;
        let (one, other) = (verdicts.begin(), verdicts.begin());
        let edit = tokio::spawn({
            let verdicts = Arc::clone(&verdicts);
            async move { verdicts.ended().await }
        });
        drop(one);
        yield_now().await;
        assert!(!edit.is_finished() && verdicts.is_any(), "the other one is still measuring");
        drop(other);
        edit.await.unwrap();
        assert!(!verdicts.is_any());
    }
}
