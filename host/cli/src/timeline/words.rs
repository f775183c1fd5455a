//! The parts of a timeline in words, without colour and on one line, for terminals and pages alike.

use portcullis_core::action::{Limit, Quantity};
use portcullis_core::finding::{Detection, Guidance, Response};
use portcullis_core::record::RecordedIntervention;
use portcullis_core::text::one_line;

/// The most bytes of a name that a plugin chose.
const NAME: usize = 64;
/// The most bytes of one message.
const MESSAGE: usize = 2000;

/// How sure a pattern is, and of what.
pub fn detection(detection: &Detection) -> String {
    format!(
        "{} ({}, confidence {}, since step {}): {}",
        one_line(&detection.pattern, NAME),
        detection.severity,
        detection.confidence,
        detection.first_step,
        one_line(&detection.summary, MESSAGE)
    )
}

/// What was done, about what, and how far that had gone.
pub fn intervention(done: &RecordedIntervention) -> String {
    let score = thousandths(done.score);
    format!("{} for {}, level {}, score {score}", one_line(&done.kind, NAME), one_line(&done.issue, NAME), done.level)
}

/// What an intervention told the agent, as it was told.
pub fn told(done: &RecordedIntervention) -> Vec<String> {
    let guided = |guidance: &Guidance| {
        let background = guidance.background.iter().map(|item| format!("{}: {}", item.title, item.text));
        guidance.messages.iter().cloned().chain(background).collect::<Vec<_>>()
    };
    match &done.response {
        Response::Guide(guidance) | Response::Rollback { guidance, .. } => guided(guidance),
        Response::Stop { message, .. } => vec![message.clone()],
        Response::RecoveryNeeded { reason, steps } => std::iter::once(reason).chain(steps).cloned().collect(),
    }
}

/// The limits that are in force.
pub fn limits(limits: &[Limit]) -> String {
    limits.iter().map(limit).collect::<Vec<_>>().join(", ")
}

fn limit(limit: &Limit) -> String {
    let (used, most) = (limit.used, limit.maximum);
    match &limit.quantity {
        Quantity::FileOperations => format!("{used} of {most} file operations used"),
        Quantity::Tokens => format!("{used} of {most} tokens used"),
        Quantity::Time => format!("{} of {} s used", used / 1000, most / 1000),
        Quantity::Memory => format!("{} MB of memory", most >> 20),
        Quantity::BatchSize => format!("{most} files at once"),
        Quantity::Other(name) => format!("{} {most}", one_line(name, NAME)),
    }
}

/// Thousandths with two decimals; unlike a score they may exceed one.
pub fn thousandths(number: u32) -> String {
    let hundredths = number.saturating_add(5) / 10;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Words on one line, whatever kept them apart; also where that is already spelled out.
pub fn flat(text: &str) -> String {
    text.replace("\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A count with its noun.
pub fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}
