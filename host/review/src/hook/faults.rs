//! Failures of a review: the reply to each, and its record.

use super::{HookAnswer, HookCaller};
use crate::stored_records::write_record;
use anyhow::Result;
use portcullis_agents::invocation::DEADLINE;
use portcullis_agents::{Agent, HookOutput, WireError};
use portcullis_config::Config;
use portcullis_config::clock;
use portcullis_config::paths::Paths;
use portcullis_core::event::{Event, EventKind, Reply};
use portcullis_core::fault::{Fault, FaultKind, OnFault};
use portcullis_core::pipeline::{self, FaultOrigin};
use portcullis_store::{Home, StoreError};
use std::time::SystemTime;

/// Refuses unreadable input, since it could have been a call.
pub(super) fn refuse_unreadable(caller: &HookCaller, error: &WireError) -> HookOutput {
    let agent = caller.agent;
    let fault = record_unreadable_at(caller.own_paths(), agent.name(), error);
    agent.render(error.event.as_deref().unwrap_or_default(), &pipeline::fault_reply(&fault))
}

/// Returns the answer to an event whose review takes too long. It refuses a call in observe mode
/// too, since what takes long may be what reads the mode. Reads nothing but `input`.
#[must_use]
pub fn answer_late(agent: &dyn Agent, input: &[u8]) -> HookOutput {
    match agent.parse(input) {
        Ok(event) => agent.render(&event.name, &fault_reply_for(&event, &late_fault())),
        Err(error) => agent.render(
            error.event.as_deref().unwrap_or_default(),
            &pipeline::fault_reply(&late_fault()),
        ),
    }
}

/// Returns the answer after a panic, which is a defect of this program: a refusal, in observe mode
/// too, since the defect may be in what reads the mode. It is not recorded.
#[must_use]
pub fn answer_to_panic(agent: &dyn Agent, input: &[u8]) -> HookAnswer {
    let event = agent.parse(input).map(|event| event.name).unwrap_or_default();
    let fault = Fault::from_host(FaultKind::Internal, "a defect of portcullis, please report it");
    HookAnswer { output: agent.render(&event, &pipeline::fault_reply(&fault)), work_is_due: false }
}

/// Records that the review of an event took too long, so that its answer was a refusal, whatever
/// its record says.
pub fn record_late(caller: &HookCaller, input: &[u8]) {
    let event = caller.agent.parse(input).ok();
    let origin = FaultOrigin {
        client: caller.agent.name(),
        event: event.as_ref().map(|event| event.name.as_str()),
        session: event.as_ref().map(|event| event.session.as_str()),
    };
    record_fault(caller.own_paths(), &late_fault(), origin, clock::now_ms());
}

/// Records a fault of the review of an event, on a best-effort basis.
pub(super) fn record_event_fault(paths: Result<Paths>, fault: &Fault, event: &Event, now: u64) {
    let origin = FaultOrigin {
        client: &event.client,
        event: Some(&event.name),
        session: Some(&event.session),
    };
    record_fault(paths, fault, origin, now);
}

pub(super) fn late_fault() -> Fault {
    let what = format!(
        "the review took longer than {} s; the machine is overloaded, or a disk does not answer",
        DEADLINE.as_secs()
    );
    Fault::from_host(FaultKind::Timeout, what)
}

/// Returns the reply to a fault. Only a call that waits for the answer can be refused; for other
/// events the fault becomes a message, so that the person does not lose their prompt.
#[must_use]
pub fn fault_reply_for(event: &Event, fault: &Fault) -> Reply {
    match event.kind {
        EventKind::BeforeTool(_) | EventKind::ConfigChange { .. } => pipeline::fault_reply(fault),
        _ => pipeline::fault_reply(&Fault { policy: OnFault::Warn, ..fault.clone() }),
    }
}

pub(super) fn configuration_fault(error: anyhow::Error) -> Fault {
    Fault::from_host(FaultKind::Configuration, format!("{error:#}"))
}

pub(super) fn store_fault(error: &StoreError) -> Fault {
    Fault::from_host(FaultKind::Store, error.to_string())
}

/// Records that a client of that name sent something that is not an event, on a best-effort basis.
/// Returns the fault.
pub fn record_unreadable(client: &str, error: &WireError) -> Fault {
    record_unreadable_at(Paths::from_environment(), client, error)
}

fn record_unreadable_at(paths: Result<Paths>, client: &str, error: &WireError) -> Fault {
    let fault = Fault::from_host(FaultKind::BadInput, error.problem.clone());
    let origin =
        FaultOrigin { client, event: error.event.as_deref(), session: error.session.as_deref() };
    record_fault(paths, &fault, origin, clock::now_ms());
    fault
}

/// Records a fault on a best-effort basis: if the journal itself is at fault, nothing can be
/// written, and the answer carries the fault anyway.
fn record_fault(paths: Result<Paths>, fault: &Fault, origin: FaultOrigin<'_>, now: u64) {
    let written = || -> Result<()> {
        let places = paths?;
        let home = Home::open_root(&places.state)?;
        let durability =
            Config::load(&places, Some(&home)).map(|config| config.durability).unwrap_or_default();
        let seed = format!("{}\0{:?}", std::process::id(), SystemTime::now());
        let record = pipeline::fault_record(fault, origin, now, &seed);
        write_record(&home, durability, &record)?;
        Ok(())
    };
    let _ = written();
}
