//! The findings of a batch tool in two trees, and the ones that an edit introduced. Independent of the
//! program's answers.

use std::collections::{BTreeMap, BTreeSet};

/// One finding of a batch tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CodeProblem {
    pub(crate) path: String,
    /// 0-based.
    pub(crate) line: u32,
    pub(crate) code: String,
    pub(crate) is_error: bool,
}

/// All findings of one tree.
pub(crate) type ProblemSet = BTreeSet<CodeProblem>;

/// Maps the lines of one file across an edit of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineShift<'e> {
    path: &'e str,
    /// Equal lines at the start.
    head: usize,
    /// Lines before and after the edit.
    old_len: usize,
    new_len: usize,
    /// Equal lines at the end.
    tail: usize,
}

impl<'e> LineShift<'e> {
    pub(crate) fn between(path: &'e str, before: &str, after: &str) -> Self {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (before.lines().collect(), after.lines().collect());
        let is_same = |pair: &(&&str, &&str)| pair.0 == pair.1;
        let head = old.iter().zip(&new).take_while(is_same).count();
        let rest = old.len().min(new.len()) - head;
        let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(is_same).count();
        Self { path, head, old_len: old.len(), new_len: new.len(), tail }
    }

    /// The line of an old finding after the edit; none when the edit replaced the line.
    fn line_after(&self, problem: &CodeProblem) -> Option<u32> {
        let line = usize::try_from(problem.line).ok()?;
        if problem.path != self.path || line < self.head {
            return Some(problem.line);
        }
        let is_below = line + self.tail >= self.old_len;
        is_below.then(|| u32::try_from(line + self.new_len - self.old_len).ok())?
    }
}

/// The findings of a tree after an edit, by whether the tree before had them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attribution {
    pub(crate) introduced: ProblemSet,
    pub(crate) older: ProblemSet,
}

impl Attribution {
    pub(crate) fn compare(before: &ProblemSet, after: &ProblemSet, shift: &LineShift<'_>) -> Self {
        // A compiler that stops at an error leaves out older findings that are still true.
        let mut kept = ProblemSet::new();
        let mut replaced: BTreeMap<String, usize> = BTreeMap::new();
        for problem in before {
            match shift.line_after(problem) {
                Some(line) => drop(kept.insert(CodeProblem { line, ..problem.clone() })),
                None => *replaced.entry(problem.code.clone()).or_default() += 1,
            }
        }
        let mut introduced = ProblemSet::new();
        let others: Vec<CodeProblem> = after.difference(&kept).cloned().collect();
        for problem in others {
            match replaced.get_mut(&problem.code) {
                Some(left @ 1..) if problem.path == shift.path => {
                    *left -= 1;
                    kept.insert(problem);
                }
                _ => drop(introduced.insert(problem)),
            }
        }
        Self { introduced, older: kept }
    }

    pub(crate) fn introduced_errors(&self) -> usize {
        self.introduced.iter().filter(|problem| problem.is_error).count()
    }
}
