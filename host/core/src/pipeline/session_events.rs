//! Events of the session itself: prompts, starts, ends, changes of settings.

use super::Run;
use crate::event::Ruling;
use crate::record::RecordKind;
use crate::text::{cut, one_line};
use serde_json::{Value, json};

/// Tags in which a client puts its own notices into a prompt; what they frame is nobody's wish.
const NOTICES: &[&str] =
    &["task-notification", "system-reminder", "local-command-stdout", "local-command-caveat", "command-name", "command-message"];

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
        record.masked = mask.placeholders().to_vec();
        record.details.insert("goal".into(), stated.into());
        self.records.push(record);
    }

    pub(super) fn session_event(&mut self, what: &str) {
        let record =
            self.record(RecordKind::Session, &self.event.name, one_line(&format!("{} {what}", self.event.name), 240).trim().to_owned());
        self.records.push(record);
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
    let mut rest = text.to_owned();
    for tag in NOTICES {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        while let Some(start) = rest.find(&open) {
            let end = rest.get(start..).and_then(|tail| tail.find(&close)).map_or(rest.len(), |end| start + end + close.len());
            rest.replace_range(start..end, "");
        }
    }
    rest
}
