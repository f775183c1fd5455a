//! The parts of a timeline as text, without colour and on one line, for terminals and pages alike.

use portcullis_core::action::{Limit, Quantity};
use portcullis_core::finding::{Detection, Guidance, Response};
use portcullis_core::record::RecordedIntervention;
use portcullis_core::recover::RecoveryOutcome;
use portcullis_core::text::{count_noun, one_line};

/// The most bytes of a name that a plugin chose.
const NAME: usize = 64;
/// The most bytes of one message.
const MESSAGE: usize = 2000;

/// Formats a detection with its confidence.
pub fn describe_detection(detection: &Detection) -> String {
    format!(
        "{} ({}, confidence {}, since step {}): {}",
        one_line(&detection.pattern, NAME),
        detection.severity,
        detection.confidence,
        detection.first_step,
        one_line(&detection.summary, MESSAGE)
    )
}

/// Formats an intervention: its kind, its issue, its level and the score, and that it was not
/// carried out if it was only observed.
pub fn describe_intervention(done: &RecordedIntervention) -> String {
    let score = format_thousandths(done.score);
    let observed = if done.outcome == RecoveryOutcome::Observed { ", observed only" } else { "" };
    format!(
        "{} for {}, level {}, score {score}{observed}",
        one_line(&done.kind, NAME),
        one_line(&done.issue, NAME),
        done.level
    )
}

/// Returns the texts that an intervention gave to the agent, verbatim.
pub fn intervention_text(done: &RecordedIntervention) -> Vec<String> {
    let guided = |guidance: &Guidance| {
        let background =
            guidance.background.iter().map(|item| format!("{}: {}", item.title, item.text));
        guidance.messages.iter().cloned().chain(background).collect::<Vec<_>>()
    };
    match &done.response {
        Response::Guide(guidance) | Response::Rollback { guidance, .. } => guided(guidance),
        Response::Stop { message, .. } => vec![message.clone()],
        Response::RecoveryNeeded { reason, steps } => {
            std::iter::once(reason).chain(steps).cloned().collect()
        }
    }
}

/// Formats the limits in force.
pub fn describe_limits(limits: &[Limit]) -> String {
    limits.iter().map(limit).collect::<Vec<_>>().join(", ")
}

fn limit(limit: &Limit) -> String {
    let (used, most) = (limit.used, limit.maximum);
    match &limit.quantity {
        Quantity::FileOperations => format!("{used} of {most} file operations used"),
        Quantity::Tokens => format!("{used} of {most} tokens used"),
        Quantity::Time => format!("{} of {} s used", used / 1000, most / 1000),
        Quantity::Memory => format!("{} MB of memory", most >> 20),
        Quantity::BatchSize => format!("{} at once", count_noun(most, "file")),
        Quantity::Other(name) => format!("{} {most}", one_line(name, NAME)),
    }
}

/// Formats thousandths with two decimals; unlike a score they may exceed one.
pub fn format_thousandths(number: u32) -> String {
    let hundredths = number.saturating_add(5) / 10;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Joins words on one line, replacing any whitespace between them, also if it is written as an
/// escape.
pub fn on_one_line(text: &str) -> String {
    text.replace("\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ")
}
