//! The hook's side of a boundary: it hands its event to the machine's service, answers what the
//! service asks about its user's files, and decides nothing.

use super::faults::fault_reply_for;
use super::{HookAnswer, answer_event};
use crate::approvals::AnswerPort;
use crate::hook_caller::{AcrossBoundary, HookCaller};
use crate::parts::FreshParts;
use crate::user_view::{answer_files, answer_question, collect_files};
use anyhow::{Result, bail};
use portcullis_agents::HookOutput;
use portcullis_agents::invocation::DEADLINE;
use portcullis_config::boundary::{Boundary, START_COMMAND, ServiceFault, find_record_commands};
use portcullis_core::event;
use portcullis_core::fault::{Fault, FaultKind};
use portcullis_core::pipeline;
use portcullis_protocol::{
    Answer, Reply, Request, ReviewRequest, connect_across, read_message, write_message,
};
use std::cell::Cell;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The time that the service has for an answer, if the hook may review by itself afterwards.
const PATIENCE: Duration = Duration::from_secs(3);
/// The time between two looks whether the client is still there.
const LOOK: Duration = Duration::from_millis(500);
/// The time that an answer may take to arrive after a person's time is up.
const MARGIN: Duration = Duration::from_secs(26);

/// Hands an event to the machine's service. Without its answer, the hook does what the boundary
/// says: it refuses, or it reviews by itself.
#[must_use]
pub fn answer_across(
    caller: &HookCaller,
    timeout: u64,
    input: &[u8],
    boundary: &Boundary,
    port: &dyn AnswerPort,
) -> HookAnswer {
    let patience = match boundary.on_service_fault {
        ServiceFault::Block => DEADLINE,
        ServiceFault::Embedded => PATIENCE,
    };
    let deadline = Instant::now() + patience;
    let error = match ask_service(caller, timeout, input, boundary, deadline, port) {
        Ok(Answer { exit, stdout, stderr }) => {
            let output = HookOutput { exit, stdout, stderr };
            return HookAnswer { output, work_is_due: false };
        }
        Err(error) => format!("{error:#}"),
    };
    match boundary.on_service_fault {
        ServiceFault::Block => refuse_across(caller, input, &error),
        ServiceFault::Embedded => {
            let caller = caller.with_reason(&error);
            answer_event(&caller, input, caller.agent.parse(input), port, &FreshParts::of_hook())
        }
    }
}

/// Returns the answer to an event whose review is the service's and did not happen. It refuses in
/// observe mode too, since the mode is the service's to read.
#[must_use]
pub fn refuse_across(caller: &HookCaller, input: &[u8], error: &str) -> HookAnswer {
    let what = format!(
        "the service of this machine does not answer ({error}), and nothing else may review here: \
         an administrator can start it with `{START_COMMAND}`"
    );
    let fault = Fault::from_host(FaultKind::Store, what);
    let agent = caller.agent;
    let output = match agent.parse(input) {
        Ok(event) => agent.render(&event.name, &fault_reply_for(&event, &fault)),
        Err(error) => {
            agent.render(error.event.as_deref().unwrap_or_default(), &pipeline::fault_reply(&fault))
        }
    };
    HookAnswer { output, work_is_due: false }
}

/// Names the commands in a reply as somebody can run them who works on this user's records. What
/// the client's message holds is quoted as it was written.
pub(super) fn spell_commands(
    reply: event::Reply,
    across: &AcrossBoundary,
    input: &[u8],
) -> event::Reply {
    let commands = find_record_commands(&across.places.state);
    let input = String::from_utf8_lossy(input);
    reply.map_texts(|text| commands.spell_in(text, |command| input.contains(command)))
}

fn ask_service(
    caller: &HookCaller,
    timeout: u64,
    input: &[u8],
    boundary: &Boundary,
    deadline: Instant,
    port: &dyn AnswerPort,
) -> Result<Answer> {
    let stream = connect_across(boundary.user)?;
    let folder = caller.agent.parse(input).map(|event| event.cwd).unwrap_or_default();
    let files = collect_files(&caller.find_paths(&folder)?).to_bytes()?;
    let environment = &caller.environment;
    let review = ReviewRequest {
        agent: caller.agent.name().to_owned(),
        arguments: Vec::new(),
        timeout,
        process: environment.process(),
        parent: environment.parent(),
        folder: caller.folder.clone(),
        variables: environment.variables().into_iter().collect(),
        payload: input.to_vec(),
    };
    stream.set_write_timeout(Some(PATIENCE))?;
    let sent = write_message(&mut &stream, &Request::ReviewAcross(Box::new(review), files));
    let mut replies = TimedReplies { stream: &stream, deadline: Cell::new(deadline), port };
    if let Err(error) = sent {
        // A service that serves this user nothing says so, and reads nothing.
        match read_message(&mut replies) {
            Ok(Reply::Unable(reason)) => bail!("{reason}"),
            _ => return Err(error.into()),
        }
    }
    loop {
        match read_message(&mut replies)? {
            Reply::Answer(answer) => return Ok(answer),
            Reply::Question(question) => {
                let findings = answer_question(caller.agent, input, &question)?;
                write_message(&mut &stream, &Request::Findings(findings))?;
            }
            Reply::Files(request) => {
                write_message(&mut &stream, &Request::Files(answer_files(&request)))?;
            }
            Reply::Waiting(milliseconds) => {
                let until = Instant::now() + Duration::from_millis(milliseconds);
                replies.deadline.set(until + MARGIN);
                if milliseconds == 0 { port.end_wait() } else { port.begin_wait(until, false) }
            }
            Reply::Unable(reason) => bail!("{reason}"),
            Reply::Declined | Reply::Status(_) | Reply::Link(_) => {
                bail!("it sent another reply than asked for")
            }
        }
    }
}

/// The service's side of the connection, until a deadline.
struct TimedReplies<'a> {
    stream: &'a UnixStream,
    deadline: Cell<Instant>,
    port: &'a dyn AnswerPort,
}

impl Read for TimedReplies<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.deadline.get().saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it took too long"));
            }
            self.stream.set_read_timeout(Some(left.min(LOOK)))?;
            let waits = |kind| matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
            match (&mut &*self.stream).read(buffer) {
                Err(error) if waits(error.kind()) => {
                    // Nobody would read the answer; the closed connection tells the service.
                    if self.port.is_abandoned() {
                        return Err(io::Error::other("the client has ended"));
                    }
                }
                read => return read,
            }
        }
    }
}
