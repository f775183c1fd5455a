//! The limits of a session in its records and its messages.

use super::Run;
use crate::limits;
use crate::record::RecordKind;
use crate::session::CALM_STEPS;
use crate::throttle::SOURCE;
use serde_json::Value;

/// The key in a record's details for what was measured of the agent before its event.
pub const MEASURED: &str = "measured";
/// The key in a record's details for the limits and their use.
pub const LIMITS: &str = "limits";

impl Run<'_, '_> {
    /// Puts what was measured, and the use of each limit, into the event's first record: a replay
    /// takes it from there. A review that a limit objects to holds the use too.
    pub(super) fn record_limits(&mut self) {
        let measured = self.settings.measured.filter(|measured| !measured.is_empty());
        let Some(first) = self.records.first_mut() else { return };
        let objects = first.findings.as_ref().is_some_and(|findings| {
            let of_limit = |rule: &str| limits::LIMITS.iter().any(|row| row.rule == rule);
            let objections = &mut findings.objections.iter();
            objections.any(|objection| objection.source == SOURCE || of_limit(&objection.rule))
        });
        if let Some(measured) = measured {
            let value = serde_json::to_value(measured).unwrap_or(Value::Null);
            first.details.insert(MEASURED.into(), value);
        }
        if first.kind == RecordKind::Review && (objects || measured.is_some()) {
            let session = &self.state.session;
            let used = session.limits.iter().filter(|limit| limit.used > 0);
            let limits: Vec<_> = used.map(|limit| session.limit_use(limit)).collect();
            let value = serde_json::to_value(limits).unwrap_or(Value::Null);
            first.details.insert(LIMITS.into(), value);
        }
    }

    /// Counts a reviewed step, and says when the limits that an intervention tightened are the base
    /// limits again.
    pub(super) fn restore_limits(&mut self, step: u64, detected: bool) {
        if self.state.session.stopped.is_some() {
            return;
        }
        let before = self.state.session.note_calm_step(step, detected);
        if before.is_empty() || self.observing() {
            return;
        }
        let changes = self.state.session.describe_changes(&before);
        let end =
            if changes.is_empty() { String::new() } else { format!(": {}", changes.join(", ")) };
        let text = format!(
            "Portcullis: {CALM_STEPS} reviewed steps brought no detection, so the limits are the \
             base limits again{end}."
        );
        self.reply.agent.push(text.clone());
        self.reply.person.push(text);
    }
}
