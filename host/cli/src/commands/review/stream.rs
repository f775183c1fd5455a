//! `portcullis review --stdin`: one event on a line of standard input, one answer on a line of
//! standard output, for the loop of an agent that has no hooks.
//!
//! A loop must not run an action without an answer, so everything that goes wrong may end the
//! stream. Each event is reviewed and recorded like a hook's, with the configuration of its moment.

use crate::commands::approvals::OwnLoop;
use crate::commands::maintain;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use portcullis_agents::generic::{
    Answer, MAX_EVENT, NAME, answer_reply, answer_unreadable, parse_event,
};
use portcullis_review::hook::{
    ReviewFailure, fault_reply_for, record_unreadable, review_without_hook,
};
use std::io::{BufRead, Read, Write};

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
            record_unreadable(NAME, &error);
            let too_large = line.len() > MAX_EVENT;
            // The rest of the line would be read as another event.
            let end = too_large.then(|| Error::invalid(error.problem.clone()));
            return (answer_unreadable(&error.problem), end);
        }
    };
    match review_without_hook(&event, &OwnLoop) {
        Ok(reviewed) => {
            if reviewed.work_is_due {
                maintain::start_beside();
            }
            (answer_reply(&event, &reviewed.reply), None)
        }
        Err(ReviewFailure::Failed(fault)) => {
            (answer_reply(&event, &fault_reply_for(&event, &fault)), None)
        }
        Err(ReviewFailure::Late(fault)) => {
            let answer = answer_reply(&event, &fault_reply_for(&event, &fault));
            (answer, Some(Error::io(fault.to_string())))
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
