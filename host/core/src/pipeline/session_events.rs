//! Events of the session itself: prompts, starts, ends, changes of settings.

use super::Run;
use crate::event::Disposition;
use crate::record::RecordKind;
use crate::text::{count_noun, cut_text, one_line};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Tags in which a client puts its own notices into a prompt; the text inside them is not a
/// person's request.
const NOTICES: &[(&str, FrameEnd)] = &[
    ("task-notification", FrameEnd::Last),
    ("system-reminder", FrameEnd::First),
    ("local-command-stdout", FrameEnd::First),
    ("local-command-caveat", FrameEnd::First),
    ("command-name", FrameEnd::First),
    ("command-message", FrameEnd::First),
];

/// The closing tag up to which a frame extends.
#[derive(Clone, Copy)]
enum FrameEnd {
    /// The first: there may be words of the person between two frames.
    First,
    /// The last: the agent words the text inside and could close the frame early, to state a goal
    /// of its own.
    Last,
}

/// The interventions of one kind against one issue.
#[derive(Clone, Copy, Debug, Default)]
struct AnswerCount {
    /// Those of which it is known whether they helped.
    judged: u32,
    /// Those after which the issue stayed away.
    helped: u32,
}

impl Run<'_, '_> {
    pub(super) fn prompt(&mut self, text: &str) {
        let goal = without_notices(text);
        let mask = self.settings.masker.build_mask(&[&goal]);
        let goal = mask.apply_to(goal.trim());
        let stated = !goal.is_empty();
        if stated {
            self.state.session.begin_prompt(Some(cut_text(&goal, 4096)), self.now);
        }
        let summary =
            if stated { one_line(&goal, 240) } else { "a notice of the client, not a goal".into() };
        let mut record = self.record(RecordKind::Session, &self.event.name, summary);
        record.masked = mask.placeholders();
        record.details.insert("goal".into(), stated.into());
        self.records.push(record);
    }

    pub(super) fn session_event(&mut self, what: &str) {
        let record = self.record(
            RecordKind::Session,
            &self.event.name,
            one_line(&format!("{} {what}", self.event.name), 240).trim().to_owned(),
        );
        self.records.push(record);
    }

    /// Reports gaps in the protection to both sides at a session's start: nothing else would.
    pub(super) fn session_start(&mut self, source: &str) {
        self.session_event(source);
        let unwhole: Vec<String> =
            self.settings.unwhole.iter().map(|sentence| one_line(sentence, 512)).collect();
        let (Some(record), false) = (self.records.last_mut(), unwhole.is_empty()) else { return };
        record.details.insert("unwhole".into(), json!(unwhole));
        let text =
            format!("Portcullis does not protect this session as it should: {}", unwhole.join(" "));
        if !self.observing() {
            self.reply.agent.push(text.clone());
        }
        self.reply.person.push(format!("{text} `portcullis doctor` shows what to do."));
    }

    pub(super) fn session_end(&mut self, reason: &str) {
        self.state.session.clock.rest();
        let totals = self.state.session.totals;
        let answers = self.count_answers();
        let judged: u32 = answers.values().map(|count| count.judged).sum();
        let helped: u32 = answers.values().map(|count| count.helped).sum();
        let effect = match judged {
            0 => String::new(),
            _ => format!(" ({helped} of {judged} helped)"),
        };
        let summary = format!(
            "{}: {} warned, {} modified, {} asked, {} blocked; {}{effect}",
            count_noun(totals.steps, "review"),
            totals.warned,
            totals.modified,
            totals.asked,
            totals.blocked,
            count_noun(totals.interventions.into(), "intervention")
        ) + if self.observing() { ", observed only" } else { "" };
        let mut record = self.record(RecordKind::Session, &self.event.name, summary);
        record.details.insert("reason".into(), cut_text(reason, 128).into());
        record.details.insert("totals".into(), serde_json::to_value(totals).unwrap_or(Value::Null));
        let answers: Vec<Value> = answers
            .iter()
            .map(|((kind, issue), count)| {
                json!({
                    "intervention_type": kind,
                    "issue_type": issue,
                    "judged": count.judged,
                    "helped": count.helped,
                })
            })
            .collect();
        record.details.insert("effectiveness".into(), json!(answers));
        let refused = &self.state.session.refused;
        let known = u64::try_from(refused.len()).unwrap_or(u64::MAX);
        record.details.insert("blocked".into(), json!(refused));
        let rest = totals.blocked.saturating_add(totals.asked).saturating_sub(known);
        if rest > 0 {
            record.details.insert("blocked_unlisted".into(), rest.into());
        }
        self.records.push(record);
    }

    /// Counts the session's interventions by kind and issue, as far as it is known whether they
    /// helped.
    fn count_answers(&self) -> BTreeMap<(&str, &str), AnswerCount> {
        let from = self.settings.policy.interventions.effective_from;
        let mut counts: BTreeMap<_, AnswerCount> = BTreeMap::new();
        for past in &self.state.session.interventions {
            let Some(score) = past.effectiveness else { continue };
            let count = counts.entry((past.kind.as_str(), past.issue.as_str())).or_default();
            count.judged += 1;
            count.helped += u32::from(score >= from);
        }
        counts
    }

    /// Holds a change of the client's settings until the next session, since the agent could use it
    /// to switch the review off within this one. Managed settings cannot be held and need not be.
    pub(super) fn config_change(&mut self, source: &str, file: Option<&str>) {
        let hold = self.settings.policy.hold_settings && source != "policy_settings";
        let what = format!("{source} changed: {}", file.unwrap_or("(file not given)"));
        let mut record =
            self.record(RecordKind::Configuration, &self.event.name, one_line(&what, 240));
        record.details.insert("held".into(), (hold && !self.observing()).into());
        self.records.push(record);
        if hold && !self.observing() {
            let reason = format!(
                "Portcullis held a change of the settings ({}) until the next session, because \
                 hooks that guard this one are there.",
                one_line(file.unwrap_or(source), 256)
            );
            self.reply.ruling = Disposition::Refuse(reason.clone());
            self.reply.person.push(reason);
        }
    }
}

/// Returns the prompt without the client's own notices.
fn without_notices(text: &str) -> String {
    NOTICES.iter().fold(text.to_owned(), |rest, (tag, reach)| without(&rest, tag, *reach))
}

/// Returns `text` without the parts inside a tag; an unclosed frame extends to the end.
fn without(text: &str, tag: &str, reach: FrameEnd) -> String {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some((before, framed)) = rest.split_once(&open) {
        kept.push_str(before);
        let closed = match reach {
            FrameEnd::First => framed.split_once(&close),
            FrameEnd::Last => framed.rsplit_once(&close),
        };
        rest = closed.map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}
