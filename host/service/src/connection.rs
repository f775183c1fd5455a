//! One exchange with one hook.

use crate::hold::HeldHook;
use crate::shared::Shared;
use portcullis_agents::{HookEnvironment, find_agent};
use portcullis_config::paths::PathOverrides;
use portcullis_core::event::EventKind;
use portcullis_protocol::{
    Answer, FrameError, Reply, Request, ReviewRequest, check_peer, read_message, write_message,
};
use portcullis_review::hook::{HookCaller, answer_event, record_late};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The time that a hook has to send its request, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves one connection. Whatever goes wrong, it is closed, and the hook reviews by itself.
pub(crate) fn serve_connection(shared: &Shared, stream: &UnixStream) {
    // The folder of the socket lets nobody else in; this holds where the folder was opened up.
    if check_peer(stream, shared.user).is_err() {
        return;
    }
    let timeouts = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    if timeouts.is_err() {
        return;
    }
    let mut reader = stream;
    match read_message(&mut reader) {
        Ok(Request::Status) => {
            let _closed = send(stream, &Reply::Status(shared.status()));
        }
        Ok(Request::Link(purpose)) => {
            let made = (shared.make_link)(&purpose);
            let _closed = send(stream, &made.map_or_else(Reply::Unable, Reply::Link));
        }
        Ok(Request::Review(request)) => review(shared, stream, &request),
        Err(FrameError::Closed) => {}
        Err(error) => {
            let _closed = send(stream, &Reply::Unable(error.to_string()));
        }
    }
}

fn send(mut stream: &UnixStream, reply: &Reply) -> Result<(), FrameError> {
    write_message(&mut stream, reply)
}

/// Reviews an event and sends the answer.
fn review(shared: &Shared, stream: &UnixStream, request: &ReviewRequest) {
    let Some(caller) = caller_of(request) else {
        let unknown = format!("it does not know the hook `{}`", request.agent);
        let _closed = send(stream, &Reply::Unable(unknown));
        return;
    };
    if is_for_hook(&caller, &request.payload) {
        shared.declined.fetch_add(1, Ordering::Relaxed);
        let _closed = send(stream, &Reply::Declined);
        return;
    }
    let port = HeldHook::new(shared, stream, &caller, request.timeout);
    let answered = catch_unwind(AssertUnwindSafe(|| {
        answer_event(&caller, &request.payload, &port, &shared.parts)
    }));
    let Ok(answered) = answered else {
        let _closed = send(stream, &Reply::Unable("a defect ended its review".to_owned()));
        return;
    };
    shared.reviewed.fetch_add(1, Ordering::Relaxed);
    let output = answered.output;
    let answer = Answer { exit: output.exit, stdout: output.stdout, stderr: output.stderr };
    if port.is_given_up() || send(stream, &Reply::Answer(answer)).is_err() {
        // The hook's own review has answered: the record of this one says another verdict than the
        // agent got.
        record_late(&caller, &request.payload);
    }
    if answered.work_is_due {
        (shared.maintain)(&caller);
    }
}

/// Returns the hook that sent a request, if this version knows its client and its arguments.
fn caller_of(request: &ReviewRequest) -> Option<HookCaller> {
    let ReviewRequest { variables, process, parent, folder, arguments, .. } = request;
    Some(HookCaller {
        agent: find_agent(&request.agent)?,
        environment: HookEnvironment::of_hook(variables.clone(), *process, *parent),
        pins: PathOverrides::read_arguments(arguments.iter().cloned())?,
        folder: folder.clone(),
    })
}

/// Returns true for the events that need more of the client's surroundings than a request holds:
/// the check at a session's start and the repair of the settings look at programs by the search
/// path, and happen once in a session or never.
fn is_for_hook(caller: &HookCaller, payload: &[u8]) -> bool {
    caller.agent.parse(payload).is_ok_and(|event| {
        matches!(event.kind, EventKind::SessionStart { .. } | EventKind::ConfigChange { .. })
    })
}
