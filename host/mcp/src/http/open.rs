//! The requests whose streams have not ended, and how each of them is given up: its agent has one
//! connection at most, which is closed.

use super::lock;
use super::posted::PostedMessage;
use crate::request_id::RequestId;
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use ureq::Agent;

/// The most requests at once.
const MOST_OPEN: usize = 256;
/// The time in which a stream should end after its answer.
const AFTER_ANSWER: Duration = Duration::from_secs(2);

/// The requests whose streams have not ended.
#[derive(Default)]
pub(super) struct OpenRequests {
    state: Mutex<OpenState>,
    changed: Condvar,
}

#[derive(Default)]
struct OpenState {
    requests: HashMap<u64, OpenRequest>,
    /// The number of requests so far.
    count: u64,
    /// The agent of the stream for messages of the server.
    listener: Option<Agent>,
    ended: bool,
}

/// A request, as far as its end needs it.
struct OpenRequest {
    id: RequestId,
    agent: Agent,
    has_session: bool,
    /// True if the client waits for its answer, and not for a stream without end.
    awaits_answer: bool,
    answered: Option<Instant>,
    /// True once its connection was closed.
    cancelled: bool,
}

impl OpenRequests {
    /// Gives up a request that belongs to no session; returns false if there is none.
    pub(super) fn cancel_without_session(&self, id: &RequestId) -> bool {
        self.cancel_if(id, |request| !request.has_session)
    }

    /// Gives up a request.
    pub(super) fn cancel(&self, id: &RequestId) {
        self.cancel_if(id, |_| true);
    }

    fn cancel_if(&self, id: &RequestId, wanted: impl Fn(&OpenRequest) -> bool) -> bool {
        let mut state = lock(&self.state);
        let open = state.requests.values_mut();
        let found = open
            .filter(|request| request.id == *id && request.answered.is_none() && wanted(request));
        let mut agents = Vec::new();
        for request in found {
            request.cancelled = true;
            agents.push(request.agent.clone());
        }
        drop(state);
        self.changed.notify_all();
        let found = !agents.is_empty();
        agents.into_iter().for_each(Agent::shutdown);
        found
    }

    /// Waits until no request waits for an answer, for that time at most.
    pub(super) fn await_answers(&self, longest: Duration) {
        let waits = |state: &mut OpenState| {
            let mut open = state.requests.values();
            !state.ended && open.any(|open| open.awaits_answer && open.answered.is_none())
        };
        let state = lock(&self.state);
        let waited = self.changed.wait_timeout_while(state, longest, waits);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Ends all streams, and refuses new requests; returns false if that is already so.
    pub(super) fn end(&self) -> bool {
        let mut state = lock(&self.state);
        if std::mem::replace(&mut state.ended, true) {
            return false;
        }
        let mut agents: Vec<_> =
            state.requests.values().map(|request| request.agent.clone()).collect();
        agents.extend(state.listener.take());
        drop(state);
        self.changed.notify_all();
        agents.into_iter().for_each(Agent::shutdown);
        true
    }

    /// Takes note of the agent of the stream for messages of the server; returns false if
    /// everything has ended.
    pub(super) fn set_listener(&self, agent: &Agent) -> bool {
        let mut state = lock(&self.state);
        if !state.ended {
            state.listener = Some(agent.clone());
        }
        !state.ended
    }

    /// Waits; returns false at once if everything has ended, or if the request is no more awaited.
    pub(super) fn pause(&self, request: Option<u64>, time: Duration) -> bool {
        let goes_on = |state: &mut OpenState| {
            !state.ended
                && request.is_none_or(|number| {
                    state.requests.get(&number).is_some_and(|request| !request.cancelled)
                })
        };
        let state = lock(&self.state);
        let waited = self.changed.wait_timeout_while(state, time, goes_on);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        goes_on(&mut state)
    }

    /// Adds a request that `agent` sends; returns its number.
    pub(super) fn add(
        &self,
        id: &RequestId,
        message: &PostedMessage,
        agent: &Agent,
    ) -> Result<u64, String> {
        let mut state = lock(&self.state);
        if state.ended {
            return Err("the connection to the server has ended".into());
        }
        // A server should end a stream after its answer, and some do not.
        let lingers = |request: &OpenRequest| {
            request.answered.is_some_and(|since| since.elapsed() > AFTER_ANSWER)
        };
        for lingering in state.requests.values_mut().filter(|request| lingers(request)) {
            lingering.cancelled = true;
            lingering.agent.clone().shutdown();
        }
        if state.requests.len() >= MOST_OPEN {
            return Err(format!("{MOST_OPEN} requests to the server have not ended yet"));
        }
        state.count += 1;
        let number = state.count;
        let request = OpenRequest {
            id: id.clone(),
            agent: agent.clone(),
            has_session: !message.says_version,
            awaits_answer: !message.listens(),
            answered: None,
            cancelled: false,
        };
        state.requests.insert(number, request);
        Ok(number)
    }

    /// Takes note that a request was answered, while its stream may go on.
    pub(super) fn note_answer(&self, number: u64) {
        if let Some(request) = lock(&self.state).requests.get_mut(&number) {
            request.answered = Some(Instant::now());
        }
        self.changed.notify_all();
    }

    /// Removes a request; returns true if its connection was closed.
    pub(super) fn remove(&self, number: u64) -> bool {
        let removed = lock(&self.state).requests.remove(&number);
        self.changed.notify_all();
        removed.is_some_and(|request| request.cancelled)
    }

    /// Returns true if a request's connection was closed.
    pub(super) fn is_cancelled(&self, number: u64) -> bool {
        let state = lock(&self.state);
        state.ended || state.requests.get(&number).is_some_and(|request| request.cancelled)
    }
}
