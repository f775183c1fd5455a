//! Reviews of events that no hook received: calls that pass a gateway, and the events of an agent's
//! own loop. The process goes on after each of them.

use super::faults::{late_fault, record_event_fault};
use super::{EventReply, ReviewedEvent, review_at_its_paths};
use crate::approvals::{AnswerPort, ApprovedAction, settle_question};
use crate::parts::FreshParts;
use portcullis_agents::invocation::DEADLINE;
use portcullis_config::clock;
use portcullis_config::paths::Paths;
use portcullis_core::event::Event;
use portcullis_core::fault::{Fault, FaultKind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Instant;

/// The stack of a review, in bytes: that of a main thread, on which hooks run.
const STACK: usize = 8 * 1024 * 1024;

/// A review without a reply. Its fault was recorded; the policy of the fault is
/// [`OnFault::Warn`](portcullis_core::fault::OnFault::Warn) in observe mode, if the mode could be
/// read.
#[derive(Debug)]
pub enum ReviewFailure {
    /// It failed; the next one may not.
    Failed(Fault),
    /// It exceeded the deadline, and still holds what the next one needs.
    Late(Fault),
}

impl ReviewFailure {
    /// Returns the fault.
    #[must_use]
    pub fn into_fault(self) -> Fault {
        match self {
            Self::Failed(fault) | Self::Late(fault) => fault,
        }
    }
}

/// Reviews one event and commits its records. Configuration and plugins are loaded for this event
/// and freed afterwards. An action that waits for a person is held as long as `port` allows.
///
/// # Errors
/// Fails if the event could not be reviewed, or not within [`DEADLINE`], the time for a person's
/// answer excepted.
pub fn review_without_hook(
    event: &Event,
    port: &dyn AnswerPort,
) -> Result<EventReply, ReviewFailure> {
    let first = review_in_time(event, None)?;
    settle_question(event, first, port, |approved| review_in_time(event, Some(approved)))
}

/// Reviews an event within [`DEADLINE`].
///
/// The review has a thread of its own: a defect must not end the process, and nothing can interrupt
/// a disk that does not answer.
fn review_in_time(
    event: &Event,
    approved: Option<&ApprovedAction>,
) -> Result<ReviewedEvent, ReviewFailure> {
    let fail = |fault: Fault| {
        record_event_fault(Paths::from_environment(), &fault, event, clock::now_ms());
        fault
    };
    let internal =
        |what: String| ReviewFailure::Failed(fail(Fault::from_host(FaultKind::Internal, what)));
    let (sender, receiver) = channel();
    let (owned, approved) = (event.clone(), approved.cloned());
    let review = move || {
        let moment = (clock::now_ms(), Instant::now());
        // After the deadline nobody receives it.
        let _ = sender.send(review_at_its_paths(
            &FreshParts::of_event(),
            None,
            &owned,
            moment,
            approved.as_ref(),
        ));
    };
    let thread = Builder::new().name("portcullis-event".into()).stack_size(STACK);
    if let Err(error) = thread.spawn(review) {
        return Err(internal(format!("the system gives no thread for a review: {error}")));
    }
    match receiver.recv_timeout(DEADLINE) {
        Ok(reviewed) => reviewed.map_err(|fault| ReviewFailure::Failed(fail(fault))),
        Err(RecvTimeoutError::Timeout) => Err(ReviewFailure::Late(fail(late_fault()))),
        Err(RecvTimeoutError::Disconnected) => {
            Err(internal("a defect of portcullis, please report it".to_owned()))
        }
    }
}
