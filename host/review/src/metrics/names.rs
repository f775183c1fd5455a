//! A bound on the names that count by themselves: plugins choose names, and each new one is a series
//! more for whoever collects the metrics.

use std::collections::{BTreeMap, BTreeSet};

/// The name under which all further ones count together.
const OTHER: &str = "(other)";
/// The most names of one kind.
const MOST_NAMES: usize = 200;
/// The most bytes of a name.
const MOST_BYTES: usize = 128;

/// The names that were seen so far, by kind.
#[derive(Debug, Default)]
pub struct NameLimit {
    known: BTreeMap<&'static str, BTreeSet<String>>,
}

impl NameLimit {
    /// Returns the name under which something counts: its own, unless that is too long or there are
    /// too many of that kind already.
    pub fn admit(&mut self, kind: &'static str, name: &str) -> String {
        let known = self.known.entry(kind).or_default();
        if !known.contains(name) {
            if known.len() >= MOST_NAMES || name.len() > MOST_BYTES {
                return OTHER.to_owned();
            }
            known.insert(name.to_owned());
        }
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_by_kind() {
        let mut names = NameLimit::default();
        for at in 0..MOST_NAMES {
            assert_eq!(names.admit("rule", &at.to_string()), at.to_string());
        }
        assert_eq!(names.admit("rule", "one more"), OTHER);
        assert_eq!(names.admit("rule", "7"), "7", "known before");
        assert_eq!(names.admit("plugin", "one more"), "one more", "another kind");
        assert_eq!(names.admit("plugin", &"x".repeat(MOST_BYTES + 1)), OTHER);
    }
}
