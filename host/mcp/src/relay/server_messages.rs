//! Messages of the server.

use super::{Job, Relay, lock};
use crate::message::{MessageKind, RpcMessage};
use crate::reply::{INTERNAL_ERROR, error_line};
use crate::request_id::RequestId;
use crate::task::{has_outcome, is_task_notification};
use crate::transport::ServerInbox;
use crate::waiting::Waiting;

impl ServerInbox for Relay {
    fn take_line(&self, line: Vec<u8>) -> Option<RequestId> {
        let message = match RpcMessage::parse(line) {
            Ok(message) => message,
            Err(error) => {
                self.drop_answer(error.id.as_ref(), &error.problem);
                return error.id;
            }
        };
        let MessageKind::Response { id: Some(id) } = &message.kind else {
            if let Some(method) = unreviewed_outcome(&message) {
                self.gate.report(&format!("a message `{method}` with a result was dropped"));
                return None;
            }
            // Without an id, it is an error about a message that the server could not read.
            self.answer_client(&message.bytes);
            return None;
        };
        let id = id.clone();
        self.take_answer(id.clone(), message);
        Some(id)
    }

    /// Drops an answer of the server that does not reach the client, which gets an error.
    fn drop_answer(&self, id: Option<&RequestId>, problem: &str) {
        let known = id.filter(|id| lock(&self.waiting).take(id).is_some());
        if let Some(id) = known {
            let problem = format!("the server's answer was dropped: {problem}");
            self.answer_client(&error_line(Some(id), INTERNAL_ERROR, &problem));
        }
        self.gate.report(&format!("a message of the server was dropped: {problem}"));
    }

    fn fail_request(&self, id: &RequestId, problem: &str) {
        // As an answer, so that the end of a call is reviewed and recorded.
        drop(self.take_line(error_line(Some(id), INTERNAL_ERROR, problem)));
    }

    fn forget_request(&self, id: &RequestId) {
        drop(lock(&self.waiting).take(id));
    }

    fn report(&self, what: &str) {
        self.gate.report(what);
    }

    fn end(&self) {
        self.queue(Job::ServerEnded);
    }
}

impl Relay {
    fn take_answer(&self, id: RequestId, message: RpcMessage) {
        let waiting = lock(&self.waiting).take(&id);
        match waiting {
            None => self.gate.report("an answer of the server to no request was dropped"),
            Some(Waiting::Plain | Waiting::Reviewing { .. }) => self.answer_client(&message.bytes),
            Some(Waiting::TaskState) if message.object.get("result").is_some_and(has_outcome) => {
                lock(&self.waiting).restore_plain(&id);
                self.drop_answer(
                    Some(&id),
                    "the gateway cannot review a result in the state of a task",
                );
            }
            Some(Waiting::TaskState) => self.answer_client(&message.bytes),
            Some(Waiting::Called(call)) => self.queue(Job::Result { id, call, message }),
            Some(Waiting::Listing(cursor)) => self.queue(Job::List { id, cursor, message }),
            Some(Waiting::TaskResult(task)) => {
                let call = lock(&self.waiting).call_of_task(&task);
                match call {
                    Some(call) => self.queue(Job::Result { id, call, message }),
                    // The task may belong to a client before this one.
                    None if message.object.contains_key("error") => {
                        self.answer_client(&message.bytes);
                    }
                    None => {
                        lock(&self.waiting).restore_plain(&id);
                        self.drop_answer(
                            Some(&id),
                            "its task was not started through this gateway",
                        );
                    }
                }
            }
        }
    }
}

/// Returns the method of a message that pushes the end of a call in the background, which nobody
/// has reviewed.
fn unreviewed_outcome(message: &RpcMessage) -> Option<String> {
    let (MessageKind::Request { method, .. } | MessageKind::Notification { method }) =
        &message.kind
    else {
        return None;
    };
    let params = message.object.get("params")?;
    (is_task_notification(method) && has_outcome(params))
        .then(|| method.escape_debug().take(64).collect())
}
