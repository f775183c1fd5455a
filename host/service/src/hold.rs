//! A hook whose action waits for a person.

use crate::shared::Shared;
use portcullis_agents::invocation::{LONGEST_TIMEOUT, TIMEOUT};
use portcullis_protocol::{Reply, write_message};
use portcullis_review::approvals::AnswerPort;
use portcullis_review::hook::HookCaller;
use rustix::net::{RecvFlags, recv};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The hook's side of an action that waits.
pub(crate) struct HeldHook<'a> {
    shared: &'a Shared,
    stream: &'a UnixStream,
    caller: &'a HookCaller,
    /// The time at which a wait has to have ended; `None` if the client leaves no time for one.
    latest_end: Option<Instant>,
    /// True if the hook could not be told that it has to wait: it has given up by now.
    given_up: AtomicBool,
}

impl<'a> HeldHook<'a> {
    /// `timeout` is the client's, in seconds.
    pub(crate) fn new(
        shared: &'a Shared,
        stream: &'a UnixStream,
        caller: &'a HookCaller,
        timeout: u64,
    ) -> Self {
        let timeout = timeout.min(LONGEST_TIMEOUT);
        let spare = Some(timeout.saturating_sub(TIMEOUT)).filter(|seconds| *seconds > 0);
        let latest_end = spare.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        Self { shared, stream, caller, latest_end, given_up: AtomicBool::new(false) }
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    fn tell_wait(&self, time: Duration) {
        let mut stream = self.stream;
        let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        if write_message(&mut stream, &Reply::Waiting(milliseconds)).is_err() {
            self.given_up.store(true, Ordering::Relaxed);
        }
    }
}

impl AnswerPort for HeldHook<'_> {
    fn latest_end(&self) -> Option<Instant> {
        self.latest_end
    }

    fn begin_wait(&self, until: Instant, has_messages: bool) {
        self.tell_wait(until.saturating_duration_since(Instant::now()));
        if has_messages {
            (self.shared.maintain)(self.caller);
        }
    }

    fn end_wait(&self) {
        self.tell_wait(Duration::ZERO);
    }

    /// The hook has closed the connection, or the service stops: the hook reviews again then.
    fn is_abandoned(&self) -> bool {
        if self.is_given_up() || self.shared.stops.load(Ordering::Relaxed) {
            return true;
        }
        let mut byte = [0; 1];
        // Nothing follows a request, so readable means closed.
        recv(self.stream, &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT).is_ok()
    }
}
