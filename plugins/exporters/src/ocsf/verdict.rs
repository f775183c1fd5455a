//! The verdict in the words of the profile `security_control`.

use crate::record::{ExportedRecord, Gravity};
use portcullis_plugin::audit_exporter::{RecordKind, Verdict};
use portcullis_plugin::text::cut;
use serde_json::{Value, json};

/// An action of a control and its outcome, by the numbers of the schema.
type Disposition = ((u8, &'static str), (u8, &'static str));

const ALLOWED: (u8, &str) = (1, "Allowed");
const DENIED: (u8, &str) = (2, "Denied");
const OBSERVED: (u8, &str) = (3, "Observed");
const MODIFIED: (u8, &str) = (4, "Modified");

/// The most bytes of the name of a policy.
const NAME: usize = 256;

/// Returns the fields of the profile; none for a record without a decision.
pub(super) fn control_fields(exported: &ExportedRecord<'_>) -> Vec<(&'static str, Value)> {
    let Some(decision) = &exported.record.decision else { return Vec::new() };
    let ((action, action_name), (disposition, disposition_name)) =
        disposition_of(exported, decision.verdict);
    let is_alert = decision.verdict >= Verdict::Ask || exported.gravity() >= Gravity::High;
    let mut fields = vec![
        ("action_id", action.into()),
        ("action", action_name.into()),
        ("disposition_id", disposition.into()),
        ("disposition", disposition_name.into()),
        ("is_alert", is_alert.into()),
        ("risk_score", (decision.risk / 10).into()),
    ];
    if let Some(reason) = decision.reasons.first() {
        fields.push(("risk_details", cut(reason, 1024).into()));
    }
    let risk = match exported.document.decision.get().map(|found| found.risk_level.text()) {
        Some("low") => Some((1, "Low")),
        Some("medium") => Some((2, "Medium")),
        Some("high") => Some((3, "High")),
        Some("critical") => Some((4, "Critical")),
        Some("negligible") => Some((0, "Info")),
        _ => None,
    };
    if let Some((id, name)) = risk {
        fields.push(("risk_level_id", id.into()));
        fields.push(("risk_level", name.into()));
    }
    if let Some(source) = decision.sources.first() {
        fields.push(("policy", json!({ "name": cut(source, NAME), "is_applied": true })));
    }
    fields
}

fn disposition_of(exported: &ExportedRecord<'_>, verdict: Verdict) -> Disposition {
    if exported.is_observing() {
        return (OBSERVED, (17, "Logged"));
    }
    let has_run = exported.record.kind == RecordKind::Outcome;
    match verdict {
        Verdict::Allow => (ALLOWED, (1, "Allowed")),
        Verdict::Warn => (ALLOWED, (19, "Alert")),
        Verdict::Modify => (MODIFIED, (11, "Corrected")),
        // A question is not answered yet, unless the action has run.
        Verdict::Ask if has_run => (ALLOWED, (8, "Approved")),
        Verdict::Ask => (MODIFIED, (14, "Delayed")),
        Verdict::Block => (DENIED, (2, "Blocked")),
    }
}
