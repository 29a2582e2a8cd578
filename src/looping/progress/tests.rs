//! Progress over made-up histories.
