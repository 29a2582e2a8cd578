//! Keeps the memory within its bounds while it is idle.

use std::time::Duration;

use crate::engine::memory_now_ms;
use moai_base::limits::RETENTION_CHECK_SECS;
use moai_host::memory::MemoryStore;
use moai_host::memory::retention::RetentionPace;

/// Runs until the runtime ends: a pass a day, from the first use of the memory on. A pass that was cut
/// short begins again.
pub(crate) async fn keep_within_bounds(store: MemoryStore, text_bytes_max: u64) {
    store.wait_for_use().await;
    loop {
        let retained =
            store.retain(text_bytes_max, memory_now_ms(), RetentionPace::default()).await;
        match retained {
            Ok(None | Some(0)) => {}
            Ok(Some(removed)) => tracing::info!(removed, "observations were folded or dropped"),
            Err(error) => tracing::warn!(%error, "retention of the memory has failed"),
        }
        tokio::time::sleep(Duration::from_secs(RETENTION_CHECK_SECS)).await;
    }
}
