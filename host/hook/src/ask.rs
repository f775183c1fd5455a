//! One question to the service.

use crate::invocation::HookArguments;
use portcullis_protocol::{
    Answer, BOUNDARY_FILE, FrameError, Reply, Request, ReviewRequest, SocketError, check_peer,
    check_socket, connect_socket, find_socket, read_message, write_message,
};
use rustix::process::{getpid, getppid, getuid};
use std::env;
use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The time that the service has for an answer. The embedded review that follows it refuses by
/// itself 24 s after its start, and records that for 2 s more: together that is below the timeout
/// of 30 s of every handler.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a hook that waits for a person looks whether its client is still there.
const LOOK: Duration = Duration::from_millis(500);
/// The time that an answer may take to arrive after a person's time is up.
const MARGIN: Duration = Duration::from_secs(26);

/// Asks the service. The error is the reason that there is no answer: `None` if no service is set
/// up, or if it leaves events of this kind to the hook, which are no failures.
pub(crate) fn ask_service(
    hook: &HookArguments,
    payload: Vec<u8>,
) -> Result<Answer, Option<String>> {
    // There the other program asks the machine's service, and no socket of this user counts.
    let has_boundary = fs::symlink_metadata(BOUNDARY_FILE);
    if !has_boundary.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Err(None);
    }
    let Some(path) = find_socket(hook.state.as_deref(), |name| env::var_os(name)) else {
        return Err(None);
    };
    let user = getuid().as_raw();
    match check_socket(&path, user) {
        Err(SocketError::Missing(_)) => return Err(None),
        checked => checked.map_err(|error| Some(error.to_string()))?,
    }
    let deadline = Instant::now() + PATIENCE;
    let stream = connect_socket(&path)
        .map_err(|error| Some(format!("cannot connect to the service: {error}")))?;
    check_peer(&stream, user).map_err(|error| Some(error.to_string()))?;
    let request = Request::Review(Box::new(ReviewRequest {
        agent: hook.agent.clone(),
        arguments: hook.pins.clone(),
        timeout: hook.timeout,
        process: getpid().as_raw_nonzero().get().unsigned_abs(),
        parent: parent(),
        folder: env::current_dir().unwrap_or_default(),
        variables: env::vars_os().collect(),
        payload,
    }));
    match exchange(&stream, &request, deadline) {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(None),
        Err(error) => Err(Some(error.to_string())),
    }
}

/// The process that started this one; 0 if it is outside this container.
fn parent() -> u32 {
    getppid().map_or(0, |parent| parent.as_raw_nonzero().get().unsigned_abs())
}

/// Sends the request and reads replies until one of them ends the exchange. Returns `None` if the
/// service leaves the event to the hook.
fn exchange(
    mut stream: &UnixStream,
    request: &Request,
    deadline: Instant,
) -> Result<Option<Answer>, FrameError> {
    stream.set_write_timeout(Some(PATIENCE))?;
    write_message(&mut stream, request)?;
    let mut replies = Replies { stream, deadline, parent: parent() };
    loop {
        match read_message(&mut replies)? {
            Reply::Answer(answer) => return Ok(Some(answer)),
            Reply::Declined => return Ok(None),
            Reply::Waiting(milliseconds) => {
                replies.deadline = Instant::now() + Duration::from_millis(milliseconds) + MARGIN;
            }
            Reply::Unable(reason) => return Err(FrameError::Io(io::Error::other(reason))),
            Reply::Status(_) | Reply::Link(_) | Reply::Question(_) | Reply::Files(_) => {
                return Err(FrameError::Malformed("another reply than asked for"));
            }
        }
    }
}

/// The service's side of the connection, until a deadline.
struct Replies<'a> {
    stream: &'a UnixStream,
    deadline: Instant,
    /// The process that started this one.
    parent: u32,
}

impl Read for Replies<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the service did not answer"));
            }
            stream.set_read_timeout(Some(left.min(LOOK)))?;
            match stream.read(buffer) {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    // Nobody would read the answer; the closed connection tells the service.
                    if parent() != self.parent {
                        std::process::exit(i32::from(crate::invocation::REJECTED));
                    }
                }
                read => return read,
            }
        }
    }
}
