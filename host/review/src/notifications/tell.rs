//! Decides which records cause a message, and writes its text. Pure: a hook calls it for each of
//! its records.

use super::channel::configured_channels;
use super::pace::Pace;
use super::queue::QueuedMessage;
use crate::{breakers, questions};
use portcullis_config::Config;
use portcullis_core::breaker::BreakerTransition;
use portcullis_core::intervene::InterventionKind;
use portcullis_core::policy::Mode;
use portcullis_core::record::Record;
use portcullis_core::recover::RecoveryOutcome;
use portcullis_core::score::Verdict;
use portcullis_notify::{Notification, NotificationSeverity, Topic};
use portcullis_store::NewWork;

/// Returns the work that these records cause: one message for each channel that wants it. Records
/// are masked, and so is the project's name, which is only requested if there is a channel; so are
/// the `blocks` that the session had in the window before now.
pub fn message_tasks<'a>(
    config: &Config,
    person: &str,
    records: impl IntoIterator<Item = &'a Record>,
    project: impl FnOnce() -> String,
    blocks: impl FnOnce() -> usize,
    now: u64,
) -> Vec<NewWork> {
    // Without channels there is no cost.
    if config.channels.is_empty() {
        return Vec::new();
    }
    let project = project();
    let messages: Vec<Notification> =
        records.into_iter().filter_map(|record| message(record, &project)).collect();
    if messages.is_empty() {
        return Vec::new();
    }
    let channels = configured_channels(config, person);
    let wanted =
        |message: &Notification| channels.values().any(|channel| channel.wants_message(message));
    let paced = messages.iter().any(|message| message.topic == Topic::Block && wanted(message));
    let mut pace = Pace::after(if paced { blocks() } else { 0 });
    let mut work = Vec::new();
    for message in &messages {
        let gathers = pace.gathers(message);
        for (name, _) in channels.iter().filter(|(_, channel)| channel.wants_message(message)) {
            work.push(
                QueuedMessage { channel: name.clone(), message: message.clone(), gathers }
                    .to_work(now),
            );
        }
    }
    work
}

fn message(record: &Record, project: &str) -> Option<Notification> {
    // Observe mode stops and blocks nothing.
    if record.mode != Mode::Blocking {
        return None;
    }
    let (topic, severity, title, why) = event(record)?;
    Some(Notification {
        id: record.id.clone(),
        at: record.at,
        topic,
        severity,
        title,
        session: record.session.clone(),
        project: project.to_owned(),
        what: record.summary.clone(),
        why,
        commands: commands(topic, record),
    })
}

type Announcement = (Topic, NotificationSeverity, String, String);

fn event(record: &Record) -> Option<Announcement> {
    if let Some(intervention) = &record.intervention {
        if intervention.outcome == RecoveryOutcome::Observed {
            return None;
        }
        let issue = format!("{}, level {}", intervention.issue, intervention.level);
        return Some(
            match InterventionKind::ALL.iter().find(|kind| kind.as_str() == intervention.kind) {
                Some(InterventionKind::EmergencyStop) => (
                    Topic::EmergencyStop,
                    NotificationSeverity::Critical,
                    "the session was stopped".into(),
                    issue,
                ),
                Some(InterventionKind::SoftCorrection | InterventionKind::ContextReinforcement) => {
                    (
                        Topic::Intervention,
                        NotificationSeverity::Info,
                        "the agent was given guidance".into(),
                        issue,
                    )
                }
                _ => (
                    Topic::Intervention,
                    NotificationSeverity::Warning,
                    format!("the session goes on after {}", intervention.kind),
                    issue,
                ),
            },
        );
    }
    match &record.decision {
        Some(decision) if decision.verdict == Verdict::Block => Some((
            Topic::Block,
            NotificationSeverity::Warning,
            format!("an action was blocked: {}", record.subject),
            decision.primary_reason.clone(),
        )),
        _ => question(record).or_else(|| quarantine(record)),
    }
}

/// Returns the message about an action that waits for a person.
fn question(record: &Record) -> Option<Announcement> {
    questions::waiting_id(record)?;
    let title = "an action waits for your answer".to_owned();
    let why = record.details.get(questions::WHY).and_then(|why| why.as_str()).unwrap_or_default();
    Some((Topic::Approval, NotificationSeverity::Warning, title, why.to_owned()))
}

/// Returns the commands for a person.
fn commands(topic: Topic, record: &Record) -> Vec<String> {
    let waits = |verb: &str| {
        let id = questions::waiting_id(record).unwrap_or_default();
        format!("portcullis approvals {verb} {id}")
    };
    match topic {
        Topic::Approval => {
            let page = record.details.get(questions::PAGE).and_then(|page| page.as_str());
            let link = page.map(|page| format!("{page}/approvals"));
            ["show", "allow", "deny"].map(waits).into_iter().chain(link).collect()
        }
        Topic::Quarantine => vec!["portcullis doctor".to_owned()],
        // The record of a stop gives the incident its id.
        Topic::EmergencyStop => vec![format!("portcullis incident show {}", record.id)],
        _ => vec![format!("portcullis explain {}", record.id)],
    }
}

fn quarantine(record: &Record) -> Option<Announcement> {
    let detail = |key: &str| record.details.get(key)?.as_str();
    if record.subject != breakers::SUBJECT
        || detail("change")? != BreakerTransition::Quarantined.as_str()
    {
        return None;
    }
    let title = format!("the plugin {} no longer runs", detail("plugin")?);
    Some((Topic::Quarantine, NotificationSeverity::Warning, title, String::new()))
}
