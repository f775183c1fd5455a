//! The matrix of verdict changes between two setups: counts by old and new verdict, formatted as a
//! table.

use crate::paint;
use portcullis_core::score::Verdict;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Counts of actions, by the verdict and the one it would have been.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct VerdictMatrix(BTreeMap<Verdict, BTreeMap<Verdict, u64>>);

impl VerdictMatrix {
    /// Counts one more action.
    pub fn add_pair(&mut self, from: Verdict, to: Verdict) {
        *self.0.entry(from).or_default().entry(to).or_default() += 1;
    }

    /// Returns the number of actions on which it would have been stricter.
    pub fn stricter(&self) -> u64 {
        self.count(|from, to| to > from)
    }

    /// Returns the number of actions on which it would have been milder.
    pub fn milder(&self) -> u64 {
        self.count(|from, to| to < from)
    }

    fn count(&self, which: impl Fn(Verdict, Verdict) -> bool) -> u64 {
        let pairs = self
            .0
            .iter()
            .flat_map(|(from, to)| to.iter().map(move |(to, count)| (*from, *to, *count)));
        pairs.filter(|(from, to, _)| which(*from, *to)).map(|(_, _, count)| count).sum()
    }

    /// Formats a row for each actual verdict and a column for each other one; empty without counts.
    pub fn to_text(&self, corner: &str) -> String {
        let mut text = String::new();
        if !self.0.is_empty() {
            let columns: String =
                Verdict::ALL.iter().map(|verdict| format!("{:>8}", verdict.as_str())).collect();
            let _ = writeln!(text, "  {}", paint::dim(format!("{corner:<14}{columns}")));
        }
        for (from, to) in &self.0 {
            let counts = Verdict::ALL
                .iter()
                .map(|verdict| format!("{:>8}", to.get(verdict).copied().unwrap_or_default()));
            let _ = writeln!(text, "  {:<14}{}", from.as_str(), counts.collect::<String>());
        }
        text
    }
}
