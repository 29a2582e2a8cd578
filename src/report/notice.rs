//! What the user is told beside the work: trouble with options and with the store.

/// Options that cannot be used; the error names file, line and key.
#[must_use]
pub fn default_options(error: &str) -> String {
    format!("[moai-ralph] {error}. Default options are used until this is mended.")
}

/// A damaged store was moved aside.
#[must_use]
pub fn recovered(what: &str) -> String {
    format!("[moai-ralph] {what}")
}

/// Without the store nobody knows whether a loop holds this session.
#[must_use]
pub fn no_store(error: &str) -> String {
    format!("[moai-ralph] loops cannot be looked up, so this stop is not held: {error}")
}

/// Nobody was there long enough to decide a Stop.
#[must_use]
pub fn undecided(error: &str) -> String {
    format!(
        "[moai-ralph] this stop was not decided and is not held: {error}; a loop of this session \
         stays as it was (moai-ralph loop status)"
    )
}

/// Other Stops of the session changed the loop each time this one had measured.
#[must_use]
pub fn overtaken(loop_id: &str) -> String {
    format!(
        "[moai-ralph] loop {loop_id} is still running, but this stop was overtaken by others each \
         time it was measured, so it is not held"
    )
}

/// A decision that could not be saved holds nobody.
#[must_use]
pub fn not_saved(loop_id: &str, error: &str) -> String {
    format!("[moai-ralph] loop {loop_id} could not be saved, so this stop is not held: {error}")
}
