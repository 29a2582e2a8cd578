//! Counts how well questions were answered.

use crate::questions::Question;

/// Sums over the questions of one kind.
#[derive(Default)]
pub(crate) struct Tally {
    questions: f64,
    recall: f64,
    reciprocal_rank: f64,
    first: f64,
}

impl Tally {
    pub(crate) fn add(&mut self, question: &Question, found: &[i64]) {
        let found = &found[..found.len().min(10)];
        let hits = found.iter().filter(|id| question.answers.contains(id)).count();
        let rank = found.iter().position(|id| question.answers.contains(id));
        self.questions += 1.0;
        self.recall += hits as f64 / question.answers.len() as f64;
        self.reciprocal_rank += rank.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
        self.first += if rank == Some(0) { 1.0 } else { 0.0 };
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.questions += other.questions;
        self.recall += other.recall;
        self.reciprocal_rank += other.reciprocal_rank;
        self.first += other.first;
    }

    pub(crate) fn recall(&self) -> f64 {
        self.recall / self.questions
    }

    pub(crate) fn mean_reciprocal_rank(&self) -> f64 {
        self.reciprocal_rank / self.questions
    }

    pub(crate) fn row(&self, name: &str) -> String {
        format!(
            "{name:45} {:4} {:.3} {:.3} {:.3}\n",
            self.questions,
            self.recall(),
            self.mean_reciprocal_rank(),
            self.first / self.questions
        )
    }
}
