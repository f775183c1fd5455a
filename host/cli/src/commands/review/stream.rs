//! `portcullis review --stdin`: one event on a line of standard input, one answer on a line of
//! standard output, for the loop of an agent that has no hooks.
//!
//! A loop must not run an action without an answer, so everything that goes wrong may end the
//! stream. Each event is reviewed and recorded like a hook's, with the configuration of its moment.

use crate::commands::maintain;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use portcullis_agents::generic::{Answer, MAX_EVENT, answer_reply, answer_unreadable, parse_event};
use portcullis_agents::invocation::DEADLINE;
use portcullis_core::event::Event;
use portcullis_core::fault::{Fault, FaultKind};
use portcullis_review::hook::{
    EventReply, fault_reply_for, record_late_event, record_unreadable, review_without_hook,
};
use std::io::{BufRead, Read, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;

/// The stack of a review, in bytes: that of a main thread, on which hooks run.
const STACK: usize = 8 * 1024 * 1024;

/// Answers events until the input ends.
///
/// # Errors
/// Fails if the input cannot be read or the answer cannot be written, after an event that is too
/// large, and after a review that took too long.
pub fn run_stream() -> Result<CommandExit> {
    let mut exit = CommandExit::Success;
    let mut input = std::io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let limit = MAX_EVENT as u64 + 1;
        input
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut line)
            .context("cannot read standard input")?;
        if line.is_empty() {
            return Ok(exit);
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let (answer, end) = answer_line(&line);
        if !answer.is_pass() {
            exit = CommandExit::Objection;
        }
        write_answer(&answer)?;
        if let Some(error) = end {
            return Err(error);
        }
    }
}

/// Answers one event; the error, if there is one, ends the stream after the answer.
fn answer_line(line: &[u8]) -> (Answer, Option<Error>) {
    let event = match parse_event(line) {
        Ok(event) => event,
        Err(error) => {
            record_unreadable(&error);
            let too_large = line.len() > MAX_EVENT;
            // The rest of the line would be read as another event.
            let end = too_large.then(|| Error::invalid(error.problem.clone()));
            return (answer_unreadable(&error.problem), end);
        }
    };
    match review_in_time(&event) {
        Ok(reviewed) => {
            if reviewed.work_is_due {
                maintain::start_beside();
            }
            (answer_reply(&event, &reviewed.reply), None)
        }
        Err(ReviewFailure::Fault(fault)) => {
            (answer_reply(&event, &fault_reply_for(&event, &fault)), None)
        }
        Err(ReviewFailure::Late(fault)) => {
            let answer = answer_reply(&event, &fault_reply_for(&event, &fault));
            (answer, Some(Error::io(fault.to_string())))
        }
    }
}

/// A review without a reply.
enum ReviewFailure {
    /// It failed; the next one may not.
    Fault(Fault),
    /// It still runs, and holds what the next one needs.
    Late(Fault),
}

/// Reviews an event on a thread of its own, since nothing can interrupt a disk that does not
/// answer.
fn review_in_time(event: &Event) -> Result<EventReply, ReviewFailure> {
    let (sender, receiver) = channel();
    let reviewed = event.clone();
    let thread = Builder::new().name("portcullis-review".into()).stack_size(STACK);
    let spawned = thread.spawn(move || {
        // After the deadline nobody receives it.
        let _ = sender.send(review_without_hook(&reviewed));
    });
    let internal = |what: String| ReviewFailure::Fault(Fault::from_host(FaultKind::Internal, what));
    if let Err(error) = spawned {
        return Err(internal(format!("the system gives no thread for a review: {error}")));
    }
    match receiver.recv_timeout(DEADLINE) {
        Ok(reviewed) => reviewed.map_err(ReviewFailure::Fault),
        Err(RecvTimeoutError::Timeout) => Err(ReviewFailure::Late(record_late_event(event))),
        Err(RecvTimeoutError::Disconnected) => {
            Err(internal("a defect of portcullis, please report it".to_owned()))
        }
    }
}

/// Writes an answer with one write, at once.
fn write_answer(answer: &Answer) -> Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    let mut output = std::io::stdout().lock();
    output.write_all(&line).and_then(|()| output.flush()).context("cannot write the answer")
}
