//! The causes of the stop: the root cause by the kind of issue, and the contributing factors in the
//! session's own numbers.

use portcullis_plugin::intervention::{Context, Issue, PastIntervention, Situation};
use portcullis_plugin::template::{Values, fill, list, one_line};
use portcullis_plugin::text::score;
use portcullis_plugin::types::Error;

/// The text for each kind of issue; the details follow.
const ROOTS: &[(&str, &str)] = &[
    (
        "repetitive_errors",
        "The agent kept repeating an action whose cause of failure it did not remove.",
    ),
    ("scope_creep", "The agent worked outside the folders that this session is for."),
    (
        "resource_spiral",
        "The agent's use of resources grew from one stretch of work to the next without an end in sight.",
    ),
    ("goal_drift", "The agent's steps no longer served what was asked for."),
    ("hallucination", "The agent relied on files, commands or results that do not exist."),
    ("loop", "The agent went round in a circle of steps whose results did not change."),
    ("blocked_then_bypassed", "The agent tried to reach by another way what had been refused."),
    (
        "secret_egress",
        "A secret was read and then sent, or about to be sent, away from this machine.",
    ),
    (
        "instruction_injection",
        "The agent followed instructions that came with a tool's result, not from the person.",
    ),
    ("rule:*", "The agent attempted what the rule `{rule}` forbids."),
];
const OTHER: &str =
    "A check found the session in a state that it calls critical.\nThe check: `{issue}`";
const DETAILS: &str = "
What was seen: {summary}
Paths: {evidence.path}
Hosts: {evidence.host}
Commands: {evidence.command}
Errors: {evidence.error}
Growth: {evidence.growth}";

/// Returns the root cause in words, with every detail of the issue.
pub(super) fn root(issue: &Issue, values: &Values) -> Result<String, Error> {
    let text =
        ROOTS.iter().find(|(known, _)| *known == issue.family()).map_or(OTHER, |(_, text)| text);
    fill("root cause", &format!("{text}{DETAILS}"), values)
}

/// Returns the contributing factors; each entry is based on a number.
pub(super) fn contributing(issue: &Issue, situation: &Situation, context: &Context) -> Vec<String> {
    let totals = &situation.totals;
    let recurred = (issue.recurrences > 0).then(|| {
        format!("the issue came up {} before in this session", times(issue.recurrences.into()))
    });
    let failing = (totals.failed > 0 && totals.failed * 4 >= totals.steps)
        .then(|| format!("{} of {} steps failed", totals.failed, totals.steps));
    let refused = (totals.blocked > 0)
        .then(|| format!("{} had already been blocked", count(totals.blocked, "action")));
    let waved = (totals.warned > 0)
        .then(|| format!("{} ran with a warning", count(totals.warned, "action")));
    let aimless = context
        .goals
        .is_empty()
        .then(|| "no goal was stated, so nothing could be measured against one".to_owned());
    let escalated = (situation.level > 0)
        .then(|| format!("earlier interventions had escalated to level {} of 4", situation.level));
    let failures = (context.repetition.failures > 0).then(|| {
        format!(
            "the same kind of action had failed {} without a success since",
            times(context.repetition.failures.into())
        )
    });
    [recurred, failing, refused, waved, failures, escalated, aimless]
        .into_iter()
        .flatten()
        .chain(in_vain(situation))
        .chain(used_up(context))
        .collect()
}

/// Returns interventions that helped little.
fn in_vain(situation: &Situation) -> impl Iterator<Item = String> {
    let helped_little = |past: &&PastIntervention| {
        matches!(past, PastIntervention { effectiveness: Some(..600), .. })
    };
    situation.past.iter().filter(helped_little).take(5).filter_map(|past| {
        let effect = score(past.effectiveness.unwrap_or_default());
        let issue = list([past.issue.as_str()].into_iter())?;
        Some(format!(
            "`{}` at step {} for `{issue}` helped little (effectiveness {effect})",
            one_line(&past.kind),
            past.step
        ))
    })
}

/// Returns limits of which nine tenths or more are used.
fn used_up(context: &Context) -> impl Iterator<Item = String> {
    let tight = context
        .limits
        .iter()
        .filter(|limit| limit.maximum > 0 && limit.used >= limit.maximum - limit.maximum / 10);
    tight.take(5).map(|limit| {
        format!(
            "{}: {} of {} used",
            limit.quantity.as_str(),
            limit.quantity.amount(limit.used),
            limit.quantity.amount(limit.maximum)
        )
    })
}

fn times(number: u64) -> String {
    if number == 1 { "once".into() } else { format!("{number} times") }
}

fn count(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}
