//! The promise tag: the agent's claim that it is done. Only a line of its own in the agent's own
//! last message counts; a quoted, fenced, indented, negated or mentioned tag claims nothing.

/// Whether the message claims completion with `<promise>TEXT</promise>`.
#[must_use]
pub fn is_claimed(message: &str, promise: &str) -> bool {
    let tag = format!("<promise>{}</promise>", promise.trim());
    // The open fence's character and length; it is closed by at least as many of the same.
    let mut fence: Option<(char, usize)> = None;
    for line in message.lines() {
        let text = line.trim();
        match (fence, fence_of(text)) {
            (None, Some(mark)) => fence = Some(mark),
            (Some((open, length)), Some((mark, count)))
                if mark == open && count >= length && text.chars().all(|it| it == mark) =>
            {
                fence = None;
            }
            _ => {}
        }
        // Four blanks or a tab make a Markdown code block.
        let is_code = fence.is_some() || line.starts_with("    ") || line.starts_with('\t');
        if !is_code && text == tag {
            return true;
        }
    }
    false
}

/// The fence a line begins with: three or more backticks or tildes. Behind backticks no other one
/// may follow, or they are a code span (`CommonMark` 4.5).
fn fence_of(text: &str) -> Option<(char, usize)> {
    let mark = text.chars().next().filter(|first| matches!(first, '`' | '~'))?;
    let count = text.chars().take_while(|character| *character == mark).count();
    let is_span = mark == '`' && text[count..].contains('`');
    (count >= 3 && !is_span).then_some((mark, count))
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
