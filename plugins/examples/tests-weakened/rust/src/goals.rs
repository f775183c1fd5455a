//! Goals: do they want tests to pass, and does the person ask for fewer of them?

use crate::texts;
use portcullis_plugin::types::Goal;

const TESTS: &[&str] = &[
    "test",
    "tests",
    "testing",
    "unittest",
    "unittests",
    "suite",
    "spec",
    "specs",
    "ci",
    "pytest",
    "jest",
];
const PASS: &[&str] = &[
    "pass", "passes", "passing", "green", "fix", "fixes", "fixed", "fixing", "fail", "fails",
    "failed", "failing", "failures", "red", "broken", "repair",
];
const ASK: &[&str] = &[
    "delete", "deleting", "remove", "removing", "drop", "skip", "skipping", "disable", "ignore",
    "xfail", "exclude", "obsolete", "loosen", "move",
];
const NOT: &[&str] = &["not", "don", "dont", "never", "without", "no", "avoid", "instead"];
/// The maximum distance of a negation before a word.
const REACH: usize = 3;

/// Returns true if some goal wants them to pass.
pub fn want_tests_to_pass(goals: &[Goal]) -> bool {
    goals.iter().any(|goal| {
        let words = texts::words(&goal.text);
        holds(&words, TESTS) && holds(&words, PASS)
    })
}

/// Returns true if the newest goal asks for fewer tests.
pub fn ask_for_it(goals: &[Goal]) -> bool {
    let words = goals.last().map(|goal| texts::words(&goal.text)).unwrap_or_default();
    let asked = |(at, word): (usize, &String)| {
        let before = words.get(at.saturating_sub(REACH)..at).unwrap_or_default();
        ASK.contains(&word.as_str()) && !holds(before, NOT)
    };
    holds(&words, TESTS) && words.iter().enumerate().any(asked)
}

fn holds(words: &[String], wanted: &[&str]) -> bool {
    words.iter().any(|word| wanted.contains(&word.as_str()))
}
