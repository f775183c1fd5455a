//! The spans of a review, for the traces of the service. They have names, verdicts and times, and
//! never a text of an action.

use portcullis_core::event::{Event, EventKind};
use portcullis_core::fault::Fault;
use portcullis_core::record::Record;
use tracing::field::Empty;
use tracing::span::EnteredSpan;
use tracing::{Span, info_span};

/// The field for a record's verdict.
const VERDICT: &str = "portcullis.verdict";
/// The field for its risk, from 0 to 1.
const RISK: &str = "portcullis.risk";
/// The field for its id.
const RECORD: &str = "portcullis.record";
/// The field for the kind of a fault.
const ERROR: &str = "error.type";

/// Enters the span of one event, which all other spans of its review are below.
pub(super) fn enter_review(event: &Event) -> EnteredSpan {
    let span = info_span!(
        target: "portcullis",
        "review",
        "portcullis.event" = event.name.as_str(),
        "portcullis.client" = event.client.as_str(),
        "gen_ai.conversation.id" = event.session.as_str(),
        "gen_ai.tool.name" = Empty,
        "portcullis.verdict" = Empty,
        "portcullis.risk" = Empty,
        "portcullis.record" = Empty,
        "error.type" = Empty,
        "otel.status_code" = Empty,
    );
    if let EventKind::BeforeTool(call) | EventKind::AfterTool(call, _) = &event.kind {
        span.record("gen_ai.tool.name", call.tool.as_str());
    }
    span.entered()
}

/// Enters the span of a part of the review.
pub(super) fn enter(part: &'static str) -> EnteredSpan {
    info_span!(target: "portcullis", "part", "otel.name" = part).entered()
}

/// Adds the verdict of the event's record to the span of its review.
pub(super) fn note_record(record: &Record) {
    let span = Span::current();
    span.record(RECORD, record.id.as_str());
    if let Some(decision) = &record.decision {
        span.record(VERDICT, decision.verdict.as_str());
        span.record(RISK, f64::from(decision.risk.get()) / 1000.0);
    }
}

/// Adds a fault to the span of its review.
pub(super) fn note_fault(fault: &Fault) {
    let span = Span::current();
    span.record(ERROR, fault.kind.as_str());
    span.record("otel.status_code", "ERROR");
}
