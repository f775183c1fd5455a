//! What a review measures besides its event.

use super::{Input, Payload};
use crate::process_tree::measure_processes;
use portcullis_core::event::EventKind;
use portcullis_core::session::{Measured, State};
use portcullis_store::Home;
use std::time::UNIX_EPOCH;

/// Measures what the event itself does not say: tokens in the client's transcript, and before an
/// action the agent's processes.
pub(super) fn measure_agent(input: &Input<'_>, state: &State) -> Measured {
    let Some(Payload { caller, bytes }) = input.payload else { return Measured::default() };
    let agent = caller.agent;
    let cursor = state.agent.tokens.as_ref();
    let subagent = input.event.agent.as_deref();
    let tokens = match caller.view() {
        Some(view) if agent.token_reader().is_some() => view.tokens(subagent, cursor),
        Some(_) => None,
        None => agent.token_reader().and_then(|read| read(bytes, subagent, cursor)),
    };
    let mut measured = Measured { tokens, ..Measured::default() };
    if matches!(input.event.kind, EventKind::BeforeTool(_)) && state.session.is_look_due() {
        measure_processes(caller, &state.session, &mut measured);
    }
    measured
}

/// Returns the creation time of the home's key, in milliseconds since 1970.
pub(super) fn installed_at(home: &Home) -> u64 {
    let made = std::fs::metadata(home.path().join("key")).and_then(|found| found.modified());
    let since = made.ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or(0)
}
