//! Options as text.

use std::fmt::Write as _;

use super::sanitized_name;
use moai_protocol::documents::options::OptionEntry;

/// One line for each option: `loop.max_iterations: 10 (default)`.
#[must_use]
pub fn option_list(options: &[OptionEntry]) -> String {
    let mut text = String::new();
    for option in options {
        let (value, origin) = (sanitized_name(&option.value), sanitized_name(&option.origin));
        let _ = writeln!(text, "{}: {value} ({origin})", option.key);
    }
    text
}
