//! The client's requests that have no answer yet.

use crate::request_id::RequestId;
use crate::tool_call::GatewayCall;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// The most requests that wait at once.
const MOST_WAITING: usize = 4096;

/// A request, as far as its answer needs it.
#[derive(Clone, Debug)]
pub(crate) enum Waiting {
    /// Its answer passes.
    Plain,
    /// A call whose review has not ended. It is dropped if the client cancels it.
    Reviewing {
        /// True once the client gave it up.
        cancelled: bool,
    },
    /// A call that the server has.
    Called(Arc<ForwardedCall>),
    /// A page of the list of tools, after the page that ended with this cursor.
    Listing(Option<String>),
    /// The result of a call that the server runs in the background, by the task's id.
    TaskResult(String),
    /// The state of calls in the background: their ends do not pass in it.
    TaskState,
}

/// A call that the server has.
#[derive(Debug)]
pub(crate) struct ForwardedCall {
    /// The call.
    pub(crate) call: GatewayCall,
    /// The time at which the server got it.
    pub(crate) since: Instant,
    /// Notes for the agent.
    pub(crate) notes: Vec<String>,
    /// True if somebody else reviews its result.
    pub(crate) reviewed_elsewhere: bool,
}

/// All waiting requests.
#[derive(Debug, Default)]
pub(crate) struct WaitingRequests {
    requests: HashMap<RequestId, Waiting>,
    /// Calls in the background, by task.
    tasks: HashMap<String, Arc<ForwardedCall>>,
    /// Their names, the oldest first.
    tasks_in_order: VecDeque<String>,
}

impl WaitingRequests {
    /// Adds a request; fails with the reason if it cannot wait.
    pub(crate) fn add(&mut self, id: &RequestId, waiting: Waiting) -> Result<(), String> {
        if self.requests.contains_key(id) {
            return Err("another request with this `id` has no answer yet".into());
        }
        if self.requests.len() >= MOST_WAITING {
            return Err(format!("{MOST_WAITING} requests have no answer yet"));
        }
        self.requests.insert(id.clone(), waiting);
        Ok(())
    }

    /// Takes a request out, since its answer is here.
    pub(crate) fn take(&mut self, id: &RequestId) -> Option<Waiting> {
        match self.requests.get(id) {
            // The server does not have it: an answer to it is none.
            None | Some(Waiting::Reviewing { .. }) => None,
            Some(_) => self.requests.remove(id),
        }
    }

    /// Ends the review of a call: the server gets it next, or `None` if it gets it never. Returns
    /// false if the client gave it up.
    pub(crate) fn end_review(&mut self, id: &RequestId, next: Option<Waiting>) -> bool {
        let kept = !matches!(self.requests.get(id), Some(Waiting::Reviewing { cancelled: true }));
        match next.filter(|_| kept) {
            Some(next) => drop(self.requests.insert(id.clone(), next)),
            None => drop(self.requests.remove(id)),
        }
        kept
    }

    /// Marks a call under review as given up; returns false if no such call is under review.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> bool {
        match self.requests.get_mut(id) {
            Some(Waiting::Reviewing { cancelled }) => {
                *cancelled = true;
                true
            }
            _ => false,
        }
    }

    /// Returns true for a call under review that the client gave up.
    pub(crate) fn is_cancelled(&self, id: &RequestId) -> bool {
        matches!(self.requests.get(id), Some(Waiting::Reviewing { cancelled: true }))
    }

    /// Lets a request wait once more, for an answer of the gateway.
    pub(crate) fn restore_plain(&mut self, id: &RequestId) {
        self.requests.insert(id.clone(), Waiting::Plain);
    }

    /// Keeps a call that goes on in the background, by the task that the server's result names.
    pub(crate) fn keep_task(&mut self, result: &Value, call: &Arc<ForwardedCall>) {
        let task = result.get("task").unwrap_or(result).get("taskId").and_then(Value::as_str);
        let Some(task) = task else { return };
        if self.tasks.insert(task.to_owned(), Arc::clone(call)).is_none() {
            self.tasks_in_order.push_back(task.to_owned());
        }
        // Servers forget old tasks too; a gateway that runs for weeks must know the new ones.
        if self.tasks_in_order.len() > MOST_WAITING
            && let Some(oldest) = self.tasks_in_order.pop_front()
        {
            self.tasks.remove(&oldest);
        }
    }

    /// Returns the call of a task.
    pub(crate) fn call_of_task(&self, task: &str) -> Option<Arc<ForwardedCall>> {
        self.tasks.get(task).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool_call::CallKind;
    use serde_json::{Map, json};

    #[test]
    fn the_newest_tasks_are_known() {
        let call = Arc::new(ForwardedCall {
            call: GatewayCall {
                number: 1,
                kind: CallKind::Tool,
                name: "build".into(),
                arguments: Map::new(),
                meta: Map::new(),
                answers: None,
            },
            since: Instant::now(),
            notes: Vec::new(),
            reviewed_elsewhere: false,
        });
        let mut waiting = WaitingRequests::default();
        for number in 0..MOST_WAITING + 2 {
            let result = json!({ "task": { "taskId": format!("t{number}") } });
            waiting.keep_task(&result, &call);
            // A server may name a task again.
            waiting.keep_task(&result, &call);
        }
        for (task, known) in [(0, false), (1, false), (2, true), (MOST_WAITING + 1, true)] {
            assert_eq!(waiting.call_of_task(&format!("t{task}")).is_some(), known, "t{task}");
        }
        assert_eq!(waiting.tasks.len(), MOST_WAITING);
    }
}
