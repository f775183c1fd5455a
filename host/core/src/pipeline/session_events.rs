//! Events of the session itself: prompts, starts, ends, changes of settings.

use super::Run;
use crate::event::Ruling;
use crate::record::RecordKind;
use crate::text::{cut, one_line};
use serde_json::{Value, json};

/// Tags in which a client puts its own notices into a prompt; what they frame is nobody's wish.
const NOTICES: &[(&str, Reach)] = &[
    ("task-notification", Reach::Last),
    ("system-reminder", Reach::First),
    ("local-command-stdout", Reach::First),
    ("local-command-caveat", Reach::First),
    ("command-name", Reach::First),
    ("command-message", Reach::First),
];

/// Up to which closing tag a frame reaches.
#[derive(Clone, Copy)]
enum Reach {
    /// The first: the person's own words may stand between two frames.
    First,
    /// The last: the agent words what stands in it and could close it early, to state a goal of its own.
    Last,
}

impl Run<'_, '_> {
    pub(super) fn prompt(&mut self, text: &str) {
        let goal = without_notices(text);
        let mask = self.settings.masker.mask(&[&goal]);
        let goal = mask.apply(goal.trim());
        let stated = !goal.is_empty();
        if stated {
            self.state.session.prompt(Some(cut(&goal, 4096)), self.now);
        }
        let summary = if stated { one_line(&goal, 240) } else { "a notice of the client, no goal".into() };
        let mut record = self.record(RecordKind::Session, &self.event.name, summary);
        record.masked = mask.placeholders();
        record.details.insert("goal".into(), stated.into());
        self.records.push(record);
    }

    pub(super) fn session_event(&mut self, what: &str) {
        let record =
            self.record(RecordKind::Session, &self.event.name, one_line(&format!("{} {what}", self.event.name), 240).trim().to_owned());
        self.records.push(record);
    }

    /// A session's start tells both sides what of the protection is missing: nothing else would.
    pub(super) fn session_start(&mut self, source: &str) {
        self.session_event(source);
        let unwhole: Vec<String> = self.settings.unwhole.iter().map(|sentence| one_line(sentence, 512)).collect();
        let (Some(record), false) = (self.records.last_mut(), unwhole.is_empty()) else { return };
        record.details.insert("unwhole".into(), json!(unwhole));
        let text = format!("Portcullis does not protect this session as it should: {}", unwhole.join(" "));
        if !self.observing() {
            self.reply.agent.push(text.clone());
        }
        self.reply.person.push(format!("{text} `portcullis doctor` tells what to do."));
    }

    pub(super) fn session_end(&mut self, reason: &str) {
        let totals = self.state.session.totals;
        let summary = format!(
            "{} reviews: {} warned, {} modified, {} asked, {} blocked; {} interventions",
            totals.steps, totals.warned, totals.modified, totals.asked, totals.blocked, totals.interventions
        );
        let mut record = self.record(RecordKind::Session, &self.event.name, summary);
        record.details.insert("reason".into(), cut(reason, 128).into());
        record.details.insert("totals".into(), serde_json::to_value(totals).unwrap_or(Value::Null));
        let blocked: Vec<&String> =
            self.state.agent.recent.iter().filter(|line| line.starts_with("block ") || line.starts_with("ask ")).collect();
        record.details.insert("blocked".into(), json!(blocked));
        self.records.push(record);
    }

    /// The agent can change the client's settings and so switch us off within the session; a change
    /// takes effect only in the next one. Managed settings cannot be held and need not be.
    pub(super) fn config_change(&mut self, source: &str, file: Option<&str>) {
        let hold = self.settings.policy.hold_settings && source != "policy_settings";
        let what = format!("{source} changed: {}", file.unwrap_or("(file not told)"));
        let mut record = self.record(RecordKind::Configuration, &self.event.name, one_line(&what, 240));
        record.details.insert("held".into(), (hold && !self.observing()).into());
        self.records.push(record);
        if hold && !self.observing() {
            let reason = format!(
                "Portcullis held a change of the settings ({}) until the next session, because hooks that guard this one stand there.",
                one_line(file.unwrap_or(source), 256)
            );
            self.reply.ruling = Ruling::Refuse(reason.clone());
            self.reply.person.push(reason);
        }
    }
}

/// The prompt without the client's own notices.
fn without_notices(text: &str) -> String {
    NOTICES.iter().fold(text.to_owned(), |rest, (tag, reach)| without(&rest, tag, *reach))
}

/// `text` without what a tag frames; a frame that nothing closes reaches to the end.
fn without(text: &str, tag: &str, reach: Reach) -> String {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some((before, framed)) = rest.split_once(&open) {
        kept.push_str(before);
        let closed = match reach {
            Reach::First => framed.split_once(&close),
            Reach::Last => framed.rsplit_once(&close),
        };
        rest = closed.map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}
