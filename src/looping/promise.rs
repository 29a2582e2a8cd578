//! The promise tag: the agent's claim that it is done. Only a line of its own in the agent's own
//! last message counts; a quoted, fenced, indented, negated or mentioned tag claims nothing.

use super::fences::Fences;

/// Whether the message claims completion with `<promise>TEXT</promise>`.
#[must_use]
pub fn is_claimed(message: &str, promise: &str) -> bool {
    let tag = format!("<promise>{}</promise>", promise.trim());
    let mut fences = Fences::default();
    message.lines().any(|line| {
        // Four blanks or a tab make a Markdown code block.
        let is_code = fences.is_code(line) || line.starts_with("    ") || line.starts_with('\t');
        !is_code && line.trim() == tag
    })
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
    fn code_blocks_claim_nothing_and_the_text_behind_them_does() {
        check("```\n<promise>DONE</promise>\n```", false);
        check("~~~md\n```\n<promise>DONE</promise>\n~~~", false);
        check("    <promise>DONE</promise>", false);
        check("```\nx\n```\n<promise>DONE</promise>", true);
        check("```cargo test``` is green\n\n<promise>DONE</promise>", true);
        check("```\n``` x\n<promise>DONE</promise>\n```", false);
        check("````\n```\n<promise>DONE</promise>\n```\n````", false);
    }
}
