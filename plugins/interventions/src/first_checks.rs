//! The first things that a person should check when an issue could not be left to the agent.
//!
//! The texts are templates of `portcullis_plugin::template`: a line that names a detail is left out
//! if the issue does not have it.

use portcullis_plugin::intervention::Issue;

const LOOK_AT: &[(&str, &str)] = &[
    (
        "repetitive_errors",
        "Find out why it fails: `{error}`\nTry the command yourself: `{command}`",
    ),
    (
        "scope_creep",
        "Check what was touched outside: {evidence.path}\nUndo what should not be there.",
    ),
    (
        "resource_spiral",
        "Look for programs that still run and for files that were left behind.\nGrowth: {evidence.growth}",
    ),
    ("goal_drift", "Compare what was done with what was asked: {request}"),
    ("hallucination", "Check what was built on things that do not exist: {evidence.path}"),
    ("loop", "See whether something that the agent waited for is stuck: {evidence.command}"),
    (
        "blocked_then_bypassed",
        "Check whether one of the attempts got through: {evidence.command}\nDecide whether what it \
         wanted may be done: {evidence.path}",
    ),
    (
        "secret_egress",
        "Replace the secret now, whether or not it is certain that it left: {evidence.path}\nAsk \
         who runs the receiving end to delete it: {evidence.host}\nLook for uses of the old secret \
         since step {first_step}.",
    ),
    (
        "instruction_injection",
        "Treat everything after step {first_step} as done on somebody else's behalf, and check \
         it.\nRemove or report the text that gave the instructions: {evidence.path}\nIt came from: \
         {evidence.host}",
    ),
    ("rule:*", "Check that nothing of it was carried out: `{command}`\nCheck: {evidence.path}"),
];

const OTHER: &str = "Check what it names: {evidence.path}";

/// The checks for every issue.
pub(crate) const SINCE: &str = "\
Read what was done since step {first_step}: {recent}
Look over the files that were changed ({files} in this session) before you keep them.
See the whole record: `portcullis audit show`";

/// Returns a template, a step in each line.
#[must_use]
pub(crate) fn look_at(issue: &Issue) -> &'static str {
    LOOK_AT.iter().find(|(known, _)| *known == issue.family()).map_or(OTHER, |(_, text)| text)
}
