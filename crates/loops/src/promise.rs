//! The promise tag: the agent's claim of completion. Only a separate line in the agent's last
//! message counts, not a quoted, fenced, indented, negated or mentioned tag.

use super::fences::FenceTracker;

/// True if the message claims completion with `<promise>TEXT</promise>`.
#[must_use]
pub(crate) fn is_claimed(message: &str, promise: &str) -> bool {
    let tag = format!("<promise>{}</promise>", promise.trim());
    let (mut fences, mut hidden) = (FenceTracker::default(), HiddenHtml::default());
    message.lines().any(|line| {
        // Four blanks or a tab make a Markdown code block.
        let is_code = fences.is_code(line) || line.starts_with("    ") || line.starts_with('\t');
        !is_code && !hidden.has(line) && line.trim() == tag
    })
}

/// Tracks comments and preformatted blocks of HTML, line by line: comments are invisible, and
/// preformatted text is code.
#[derive(Default)]
struct HiddenHtml {
    /// The end mark of the open block.
    until: Option<&'static str>,
}

impl HiddenHtml {
    const ALL: [(&'static str, &'static str); 2] = [("<!--", "-->"), ("<pre", "</pre>")];

    /// True if the next line belongs to a block, including its first and last line.
    fn has(&mut self, line: &str) -> bool {
        let line = line.to_ascii_lowercase();
        let was_open = self.until.is_some();
        let mut rest = line.as_str();
        let mut in_code = false;
        loop {
            if let Some(until) = self.until {
                let Some((_, behind)) = rest.split_once(until) else { return true };
                (self.until, rest) = (None, behind);
            }
            let found = Self::ALL.iter().filter_map(|(begin, end)| Some((rest.find(begin)?, *end)));
            let Some((at, end)) = found.min_by_key(|(at, _)| *at) else { break };
            let (before, behind) = rest.split_at(at);
            // Between backticks the tag is only mentioned.
            in_code ^= before.matches('`').count() % 2 == 1;
            rest = &behind[1..];
            if !in_code {
                self.until = Some(end);
            }
        }
        was_open || rest.len() < line.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &str, expected: bool) {
        assert_eq!(is_claimed(message, "DONE"), expected, "{message:?}");
    }

    #[test]
    fn only_a_line_of_its_own_claims_completion() {
        check("All fixed.\n<promise>DONE</promise>", true);
        check("<promise>DONE</promise>\r\nBye.", true);
        check("  <promise>DONE</promise>  ", true);
        check("DONE", false);
        check("", false);
        check("I can not say <promise>DONE</promise> yet.", false);
        check("> <promise>DONE</promise>", false);
        check("`<promise>DONE</promise>`", false);
        check("\"<promise>DONE</promise>\"", false);
        check("<promise>done</promise>", false);
        check("<promise></promise>", false);
    }

    #[test]
    fn code_blocks_contain_no_claims_and_the_text_after_them_may() {
        check("```\n<promise>DONE</promise>\n```", false);
        check("~~~md\n```\n<promise>DONE</promise>\n~~~", false);
        check("    <promise>DONE</promise>", false);
        check("```\nx\n```\n<promise>DONE</promise>", true);
        check("```cargo test``` is green\n\n<promise>DONE</promise>", true);
        check("```\n``` x\n<promise>DONE</promise>\n```", false);
        check("````\n```\n<promise>DONE</promise>\n```\n````", false);
    }

    #[test]
    fn code_in_lists_and_hidden_html_contain_no_claims() {
        check("- ```\n  <promise>DONE</promise>\n  ```", false);
        check("1. ```\n   <promise>DONE</promise>\n   ```", false);
        check("* 2) ~~~sh\n<promise>DONE</promise>\n~~~", false);
        check("- ```\n  x\n  ```\n<promise>DONE</promise>", true);
        check("<!--\n<promise>DONE</promise>\n-->", false);
        check("<!-- x --> <!-- y\n<promise>DONE</promise>", false);
        check("<PRE>\n<promise>DONE</promise>\n</pre>", false);
        check("<!-- done -->\n<promise>DONE</promise>", true);
        check("I removed the `<!--` mark and the `<pre>`.\n<promise>DONE</promise>", true);
        check("<!--\nx\n-->\n<promise>DONE</promise>", true);
    }
}
