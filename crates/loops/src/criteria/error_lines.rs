//! Lines of a check's output that report an error of a compiler or linter. Their number measures
//! progress without test counts.

/// Beginnings of lines that report one error.
const STARTS: [&str; 3] = ["error:", "error[", "[error]"];
/// Text after the location of an error: `a.c:1:2: error: …`, `a.ts(1,2): error TS2322: …`,
/// `a.ts:1:2 - error TS2322: …`.
const BEHIND_A_PLACE: [&str; 3] = [": error:", ": error ", " - error "];
/// Closing lines of compilers, which summarise errors already reported.
const SUMMARIES: [&str; 4] = [
    "error: could not compile",
    "error: aborting due to",
    "error: test failed",
    "error: build failed",
];

/// True if a line reports an error with a location.
#[must_use]
pub fn is_error_line(line: &str) -> bool {
    let line = line.trim().to_ascii_lowercase();
    if SUMMARIES.iter().any(|summary| line.starts_with(summary)) {
        return false;
    }
    STARTS.iter().any(|start| line.starts_with(start))
        || BEHIND_A_PLACE.iter().any(|mark| line.contains(mark))
        || is_place_of_go(&line)
}

/// `./main.go:12:5: undefined: x`: Go does not print the word "error".
fn is_place_of_go(line: &str) -> bool {
    let Some((_, behind)) = line.split_once(".go:") else { return false };
    let mut parts = behind.split(':');
    let is_number = |part: Option<&str>| part.is_some_and(|it| it.parse::<u32>().is_ok());
    is_number(parts.next()) && is_number(parts.next()) && parts.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_compilers_are_counted_and_their_summaries_are_not() {
        let check =
            |line: &str, expected: bool| assert_eq!(is_error_line(line), expected, "{line}");
        check("error[E0308]: mismatched types", true);
        check("error: expected `;`", true);
        check("src/a.c:3:1: error: unknown type name", true);
        check("src/a.ts(3,1): error TS2322: Type", true);
        check("src/a.ts:3:1 - error TS2322: Type", true);
        check("App.java:3: error: cannot find symbol", true);
        check("[ERROR] /p/App.java:[3,1] cannot find symbol", true);
        check("./main.go:12:5: undefined: x", true);
        check("error: could not compile `a` (lib) due to 2 previous errors", false);
        check("error: aborting due to 2 previous errors", false);
        check("warning: unused variable", false);
        check("0 errors", false);
        check("main.go: nothing", false);
    }
}
