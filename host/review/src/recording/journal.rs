//! Our own journal: a record's document contains all data for a second review.

use super::{Collector, MachineContext, call};
use anyhow::{Context, Result};
use portcullis_core::action::Status;
use portcullis_core::event::{CallEnd, CallResult, Event, EventKind};
use portcullis_core::pipeline::MEASURED_KEY;
use portcullis_core::record::{Record, RecordKind};
use serde_json::{Map, Value};

pub(super) fn read(object: &Map<String, Value>, collector: &mut Collector) -> Result<()> {
    let record: Record = match object.get("document") {
        Some(Value::String(document)) => serde_json::from_str(document),
        Some(document) => serde_json::from_value(document.clone()),
        None => serde_json::from_value(Value::Object(object.clone())),
    }
    .context("it is not a record of a journal that this version reads")?;
    let parameters = |record: &Record| -> Map<String, Value> {
        record
            .action
            .as_ref()
            .and_then(|action| serde_json::from_str(&action.parameters).ok())
            .unwrap_or_default()
    };
    let kind = match record.kind {
        RecordKind::Review => {
            EventKind::BeforeTool(call(record.call.clone(), &record.subject, parameters(&record)))
        }
        RecordKind::Outcome | RecordKind::Unreviewed => {
            let outcome = record.outcome.clone();
            let ended = |status| outcome.as_ref().is_some_and(|outcome| outcome.status == status);
            let result = CallResult {
                failed: ended(Status::Failed) || ended(Status::Refused),
                end: if ended(Status::Refused) { CallEnd::Refused } else { CallEnd::Finished },
                error: outcome.as_ref().map(|outcome| outcome.error.clone()).unwrap_or_default(),
                output: outcome.as_ref().map(|outcome| outcome.output.clone()).unwrap_or_default(),
                duration_ms: outcome.as_ref().and_then(|outcome| outcome.duration_ms),
                tokens: outcome.as_ref().and_then(|outcome| outcome.tokens),
                shown: Value::Null,
            };
            let earlier = collector
                .call_of(record.call.as_deref())
                .map_or_else(|| parameters(&record), |(_, parameters)| parameters);
            EventKind::AfterTool(call(record.call.clone(), &record.subject, earlier), result)
        }
        RecordKind::Session if record.event == "UserPromptSubmit" => {
            EventKind::Prompt(record.summary.clone())
        }
        RecordKind::Session
        | RecordKind::Configuration
        | RecordKind::Fault
        | RecordKind::Exception
        | RecordKind::Feedback
        | RecordKind::Authentication
        | RecordKind::Intervention => {
            return Ok(());
        }
    };
    let cwd = record.action.as_ref().map(|action| action.cwd.clone()).unwrap_or_default();
    let seen = record.action.as_ref().map(|action| MachineContext {
        observed: action.observed.clone(),
        home: Some(action.home.clone()).filter(|home| !home.is_empty()),
        kept: record.checkpoint.clone(),
        measured: record
            .details
            .get(MEASURED_KEY)
            .and_then(|measured| serde_json::from_value(measured.clone()).ok()),
    });
    let event = Event {
        client: record.client,
        session: record.session,
        agent: record.agent,
        cwd,
        permission_mode: None,
        name: record.event,
        kind,
    };
    collector.push(event, Some(record.at), seen);
    Ok(())
}
