//! Stops that are measuring a root. Earlier texts are not shown to servers for an edit meanwhile: with every
//! change of texts, servers would check again what the Stop measures.

use std::sync::Arc;

use tokio::sync::watch;

/// The number of Stops that are measuring a root.
#[derive(Debug, Default)]
pub(crate) struct MeasuringStops {
    count: watch::Sender<usize>,
}

impl MeasuringStops {
    /// Counts a Stop until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> MeasuringStop {
        self.count.send_modify(|count| *count += 1);
        MeasuringStop { stops: Arc::clone(self) }
    }

    /// Waits until no Stop is measuring.
    pub(crate) async fn ended(&self) {
        // The sender lives in `self`, so it cannot be closed.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// A Stop that is measuring.
pub(crate) struct MeasuringStop {
    stops: Arc<MeasuringStops>,
}

impl Drop for MeasuringStop {
    fn drop(&mut self) {
        self.stops.count.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn an_edit_waits_for_all_stops() {
        let stops = Arc::new(MeasuringStops::default());
        stops.ended().await;
        let (one, other) = (stops.begin(), stops.begin());
        let edit = tokio::spawn({
            let stops = Arc::clone(&stops);
            async move { stops.ended().await }
        });
        drop(one);
        yield_now().await;
        assert!(!edit.is_finished(), "the other Stop is still measuring");
        drop(other);
        edit.await.unwrap();
    }
}
