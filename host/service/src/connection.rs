//! One exchange with one hook.

use crate::hold::HeldHook;
use crate::shared::Shared;
use portcullis_agents::{HookEnvironment, WireError, find_agent};
use portcullis_config::boundary;
use portcullis_config::handed::HandedFiles;
use portcullis_config::paths::PathOverrides;
use portcullis_core::event::{Event, EventKind};
use portcullis_protocol::{
    Answer, FrameError, Peer, Reply, Request, ReviewRequest, read_message, read_peer, write_message,
};
use portcullis_review::hook::{AcrossBoundary, HookCaller, answer_event, record_late};
use portcullis_review::process_tree::find_parent;
use portcullis_review::user_view::{QuestionPort, UserView};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The time that a hook has to send its request, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves one connection. Whatever goes wrong, it is closed, and the hook does without an answer.
pub(crate) fn serve_connection(shared: &Shared, stream: &UnixStream) {
    let Ok(peer) = read_peer(stream) else { return };
    // The folder of the socket lets nobody else in; this holds where the folder was opened up.
    if shared.boundary.is_none() && peer.user != shared.user {
        return;
    }
    let timeouts = stream
        .set_read_timeout(Some(PATIENCE))
        .and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
    if timeouts.is_err() {
        return;
    }
    let is_admitted = shared.boundary.as_ref().is_none_or(|found| found.admits(peer.user));
    let is_keeper = shared.boundary.as_ref().is_some_and(|found| found.is_keeper(peer.user));
    if !is_admitted && !is_keeper {
        let _closed = send(stream, &Reply::Unable(unnamed(peer)));
        return;
    }
    let Some(_connection) = shared.take_connection(peer.user) else {
        let why = format!("user {} has too many connections at once", peer.user);
        let _closed = send(stream, &Reply::Unable(why));
        return;
    };
    let mut reader = stream;
    match read_message(&mut reader) {
        Ok(Request::Status) => {
            let _closed = send(stream, &Reply::Status(shared.status()));
        }
        Ok(Request::Link(purpose)) => {
            let made = match &shared.boundary {
                None => (shared.make_link)(None, &purpose),
                Some(_) => Err("behind a boundary, a link is one to the records of a user".into()),
            };
            let _closed = send(stream, &made.map_or_else(Reply::Unable, Reply::Link));
        }
        Ok(Request::LinkOf(user, purpose)) => {
            let made = make_link_of(shared, peer, user, &purpose);
            let _closed = send(stream, &made.map_or_else(Reply::Unable, Reply::Link));
        }
        Ok(Request::Review(_)) if shared.boundary.is_some() => {
            let why = "it reviews behind a boundary, which this hook does not know";
            let _closed = send(stream, &Reply::Unable(why.to_owned()));
        }
        Ok(Request::ReviewAcross(..)) if shared.boundary.is_none() => {
            let why = "it stands behind no boundary";
            let _closed = send(stream, &Reply::Unable(why.to_owned()));
        }
        Ok(Request::ReviewAcross(..)) if !is_admitted => {
            let _closed = send(stream, &Reply::Unable(unnamed(peer)));
        }
        Ok(Request::Review(request)) => match caller_of(&request) {
            None => {
                let _closed = send(stream, &Reply::Unable(unknown(&request)));
            }
            Some(caller) => {
                let parsed = caller.agent.parse(&request.payload);
                if is_for_hook(&parsed) {
                    shared.declined.fetch_add(1, Ordering::Relaxed);
                    let _closed = send(stream, &Reply::Declined);
                } else {
                    review(shared, stream, &request, &caller, parsed);
                }
            }
        },
        Ok(Request::ReviewAcross(request, files)) => {
            match caller_across(&request, &files, stream, peer) {
                Ok(caller) => {
                    let parsed = caller.agent.parse(&request.payload);
                    review(shared, stream, &request, &caller, parsed);
                }
                Err(why) => {
                    let _closed = send(stream, &Reply::Unable(why));
                }
            }
        }
        Ok(Request::Findings(_) | Request::Files(_)) => {
            let _closed = send(stream, &Reply::Unable("it has asked nothing".to_owned()));
        }
        Err(FrameError::Closed) => {}
        Err(error) => {
            let _closed = send(stream, &Reply::Unable(error.to_string()));
        }
    }
}

/// Returns the reason for not reviewing the events of a user.
fn unnamed(peer: Peer) -> String {
    format!("user {} is none of those whose agents it reviews", peer.user)
}

/// Makes a link to what the service keeps of a user's agents. An agent runs as its user, so only
/// root and the service's own user get one; who asks, the system says.
fn make_link_of(shared: &Shared, peer: Peer, user: u32, purpose: &str) -> Result<String, String> {
    let Some(boundary) = &shared.boundary else {
        return Err("it stands behind no boundary".to_owned());
    };
    if !boundary.is_keeper(peer.user) {
        return Err(format!("only root and `{}` get a link", boundary.user_name));
    }
    if !boundary.admits(user) {
        return Err(format!("user {user} is none of those whose agents it reviews"));
    }
    (shared.make_link)(Some(user), purpose)
}

fn send(mut stream: &UnixStream, reply: &Reply) -> Result<(), FrameError> {
    write_message(&mut stream, reply)
}

/// Reviews the event of a hook, which was parsed from its payload, and sends the answer.
fn review(
    shared: &Shared,
    stream: &UnixStream,
    request: &ReviewRequest,
    caller: &HookCaller,
    parsed: Result<Event, WireError>,
) {
    let port = HeldHook::new(shared, stream, caller, request.timeout);
    let answered = catch_unwind(AssertUnwindSafe(|| {
        answer_event(caller, &request.payload, parsed, &port, &shared.parts)
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
        record_late(caller, &request.payload);
    }
    shared.parts.empty_long_logs();
    if answered.work_is_due {
        (shared.maintain)(caller);
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
        across: None,
    })
}

/// Returns the hook of another user that sent a request. Who that is, the system says; of the
/// request, only what the user may say of itself counts.
fn caller_across(
    request: &ReviewRequest,
    files: &[u8],
    stream: &UnixStream,
    peer: Peer,
) -> Result<HookCaller, String> {
    let agent = find_agent(&request.agent).ok_or_else(|| unknown(request))?;
    let parent = find_parent(peer.process).unwrap_or(0);
    let variables = request.variables.clone();
    let environment = HookEnvironment::of_hook(variables, peer.process, parent);
    let files = HandedFiles::from_bytes(files).map_err(|error| format!("{error:#}"))?;
    let questions = stream.try_clone().map_err(|error| error.to_string())?;
    let view = Arc::new(UserView::new(HookQuestions(questions)));
    let places = boundary::places_of(peer.user, environment.clone(), files);
    let pins = PathOverrides {
        config: Some(places.config.clone()),
        state: Some(places.state.clone()),
        managed: Some(places.managed.clone()),
    };
    let across = AcrossBoundary { user: peer.user, places, view };
    let (folder, across) = (request.folder.clone(), Some(Arc::new(across)));
    Ok(HookCaller { agent, environment, pins, folder, across })
}

fn unknown(request: &ReviewRequest) -> String {
    format!("it does not know the hook `{}`", request.agent)
}

/// The connection to a hook that answers questions about its user's files.
struct HookQuestions(UnixStream);

impl QuestionPort for HookQuestions {
    fn ask(&self, question: &[u8]) -> Result<Vec<u8>, String> {
        let Self(stream) = self;
        send(stream, &Reply::Question(question.to_vec())).map_err(|error| error.to_string())?;
        match read_message(&mut &*stream) {
            Ok(Request::Findings(findings)) => Ok(findings),
            Ok(_) => Err("it did not answer".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn ask_files(&self, request: &[u8]) -> Result<Vec<u8>, String> {
        let Self(stream) = self;
        send(stream, &Reply::Files(request.to_vec())).map_err(|error| error.to_string())?;
        match read_message(&mut &*stream) {
            Ok(Request::Files(answer)) => Ok(answer),
            Ok(_) => Err("it did not answer".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns true for the events that need more of the client's surroundings than a request holds:
/// the check at a session's start and the repair of the settings look at programs by the search
/// path, and happen once in a session or never.
fn is_for_hook(parsed: &Result<Event, WireError>) -> bool {
    parsed.as_ref().is_ok_and(|event| {
        matches!(event.kind, EventKind::SessionStart { .. } | EventKind::ConfigChange { .. })
    })
}
