//! Samples, and the one table they end in.

use std::fmt;
use std::time::Duration;

/// Exit code when a budget is exceeded.
const EXCEEDED: u8 = 1;
/// Exit code when something could not be measured.
const UNMEASURED: u8 = 4;

/// Durations of one thing done many times, shortest first; never empty.
#[derive(Debug)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn new(mut samples: Vec<Duration>) -> Self {
        assert!(!samples.is_empty(), "everything is measured at least once");
        samples.sort_unstable();
        Self(samples)
    }

    pub(crate) fn min(&self) -> Duration {
        self.0[0]
    }

    pub(crate) fn p50(&self) -> Duration {
        self.percentile(50)
    }

    pub(crate) fn p99(&self) -> Duration {
        self.percentile(99)
    }

    /// The nearest rank: a value that was really measured.
    fn percentile(&self, percent: usize) -> Duration {
        self.0[(self.0.len() * percent).div_ceil(100).max(1) - 1]
    }
}

/// Something that has a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Figure {
    /// Ratio to the compared figure.
    Times(f64),
    /// Excess over the compared figure, as a share of it.
    Share(f64),
    /// Memory in MB (10⁶ bytes).
    Megabytes(f64),
    /// A time where there is nothing to compare it with.
    Milliseconds(f64),
}

impl Figure {
    fn value(self) -> f64 {
        match self {
            Self::Times(value)
            | Self::Share(value)
            | Self::Megabytes(value)
            | Self::Milliseconds(value) => value,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Times(times) => format!("{times:.2} ×"),
            Self::Share(share) => format!("{:+.1} %", share * 100.0),
            Self::Megabytes(megabytes) => format!("{megabytes:.1} MB"),
            Self::Milliseconds(milliseconds) => format!("{milliseconds:.1} ms"),
        };
        f.pad(&text)
    }
}

/// Ratio of `one` to `other`.
pub(crate) fn times(one: Duration, other: Duration) -> Figure {
    Figure::Times(one.as_secs_f64() / other.as_secs_f64())
}

#[derive(Debug)]
struct Row {
    name: String,
    times: Option<[Duration; 3]>,
    figure: Option<Figure>,
    budget: Option<Figure>,
}

impl Row {
    fn is_over(&self) -> bool {
        match (self.figure, self.budget) {
            (Some(figure), Some(budget)) => figure.value() > budget.value(),
            _ => false,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.budget {
            None => "",
            Some(_) if self.is_over() => "OVER",
            Some(_) => "ok",
        }
    }
}

/// All results, in the order they were added.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
    notes: Vec<String>,
    unmeasured: Vec<String>,
}

impl Table {
    /// A figure that the following ones are compared with.
    pub(crate) fn base(&mut self, name: &str, samples: &Samples) {
        self.add(name, Some(samples), None, None);
    }

    /// A figure that is only to be known.
    pub(crate) fn informational(&mut self, name: &str, samples: &Samples, figure: Figure) {
        self.add(name, Some(samples), Some(figure), None);
    }

    /// A figure with its budget.
    pub(crate) fn budgeted(
        &mut self,
        name: &str,
        samples: Option<&Samples>,
        figure: Figure,
        budget: Figure,
    ) {
        self.add(name, samples, Some(figure), Some(budget));
    }

    /// Explanation of a figure.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Something without a result, and why.
    pub(crate) fn unmeasured(&mut self, name: &str, reason: &str) {
        self.unmeasured.push(format!("{name}: not measured: {reason}"));
    }

    pub(crate) fn exit_code(&self) -> u8 {
        if self.rows.iter().any(Row::is_over) {
            return EXCEEDED;
        }
        if self.unmeasured.is_empty() { 0 } else { UNMEASURED }
    }

    fn add(
        &mut self,
        name: &str,
        samples: Option<&Samples>,
        figure: Option<Figure>,
        budget: Option<Figure>,
    ) {
        let times = samples.map(|samples| [samples.min(), samples.p50(), samples.p99()]);
        self.rows.push(Row { name: name.to_owned(), times, figure, budget });
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.rows.iter().map(|row| row.name.chars().count());
        let width = widths.max().unwrap_or_default();
        writeln!(
            f,
            "{:width$}  {:>9} {:>9} {:>9} {:>10} {:>9}",
            "name", "min ms", "p50 ms", "p99 ms", "ratio", "budget"
        )?;
        for row in &self.rows {
            write!(f, "{:width$} ", row.name)?;
            for at in 0..3 {
                match row.times {
                    Some(times) => write!(f, " {:>9.3}", times[at].as_secs_f64() * 1e3)?,
                    None => write!(f, " {:>9}", "")?,
                }
            }
            let word =
                |figure: Option<Figure>| figure.map_or_else(String::new, |it| it.to_string());
            let (figure, budget) = (word(row.figure), word(row.budget));
            writeln!(f, " {figure:>10} {budget:>9}  {}", row.verdict())?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        for line in &self.unmeasured {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}
