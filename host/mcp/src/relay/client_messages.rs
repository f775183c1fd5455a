//! Messages of the client.

use super::{Job, Relay, lock};
use crate::message::{MessageKind, RpcMessage, fold_case};
use crate::reply::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, error_line};
use crate::request_id::RequestId;
use crate::task::is_about_tasks;
use crate::tool_call::{CALL, CallKind, GatewayCall, PROMPT, READ};
use crate::waiting::Waiting;
use serde_json::Value;
use std::sync::atomic::Ordering;

/// The method that lists tools.
const LIST: &str = "tools/list";
/// The method that fetches the result of a call in the background.
const TASK_RESULT: &str = "tasks/result";
/// The notification that gives up a request.
pub(crate) const CANCELLED: &str = "notifications/cancelled";

/// The methods that are reviewed, or whose answers are.
const REVIEWED: &[&str] = &[CALL, READ, PROMPT, LIST, TASK_RESULT];

impl Relay {
    pub(super) fn take_from_client(&self, line: Vec<u8>) {
        let message = match RpcMessage::parse(line) {
            Ok(message) => message,
            Err(error) => {
                let code = if error.is_syntax { PARSE_ERROR } else { INVALID_REQUEST };
                let id = error.id.as_ref();
                self.answer_client(&error_line(id, code, &error.problem));
                return;
            }
        };
        match &message.kind {
            MessageKind::Request { id, method } => {
                let (id, method) = (id.clone(), method.clone());
                if let Err((code, problem)) = self.take_request(&id, &method, message) {
                    self.answer_client(&error_line(Some(&id), code, &problem));
                }
            }
            MessageKind::Notification { method } => self.take_notification(method, &message),
            MessageKind::Response { .. } => self.server.send(&message),
        }
    }

    fn take_request(
        &self,
        id: &RequestId,
        method: &str,
        message: RpcMessage,
    ) -> Result<(), (i32, String)> {
        check_method(method).map_err(|problem| (METHOD_NOT_FOUND, problem))?;
        let text = |name: &str| message.params()?.get(name)?.as_str().map(str::to_owned);
        if let Some(kind) = CallKind::of_method(method) {
            let mut call = GatewayCall::from_message(&message, kind)
                .map_err(|problem| (INVALID_PARAMS, problem))?;
            call.number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
            self.wait(id, Waiting::Reviewing { cancelled: false })?;
            self.queue(Job::Call { id: id.clone(), call: Box::new(call), message });
            return Ok(());
        }
        let waiting = match method {
            LIST => Waiting::Listing(text("cursor")),
            TASK_RESULT => Waiting::TaskResult(text("taskId").unwrap_or_default()),
            _ if is_about_tasks(method) => Waiting::TaskState,
            _ => Waiting::Plain,
        };
        self.wait(id, waiting)?;
        self.server.send(&message);
        Ok(())
    }

    fn wait(&self, id: &RequestId, waiting: Waiting) -> Result<(), (i32, String)> {
        let added = lock(&self.waiting).add(id, waiting);
        added.map_err(|problem| (INVALID_REQUEST, problem))
    }

    fn take_notification(&self, method: &str, message: &RpcMessage) {
        if REVIEWED.contains(&method) || check_method(method).is_err() {
            // Nobody waits for an answer, and some servers run what they answer to nobody.
            self.gate.report(&format!("a message `{method}` without `id` was dropped"));
            return;
        }
        let given_up =
            message.params().and_then(|params| params.get("requestId")).and_then(read_id);
        if method == CANCELLED && given_up.is_some_and(|id| lock(&self.waiting).cancel(&id)) {
            // The server does not have the call, and gets it no more.
            return;
        }
        self.server.send(message);
    }
}

fn read_id(value: &Value) -> Option<RequestId> {
    RequestId::from_value(value)
}

/// Refuses a method that a careless server would take for one that is reviewed.
fn check_method(method: &str) -> Result<(), String> {
    let plain = fold_case(method.trim_matches(|c: char| c.is_whitespace() || c.is_control()));
    match REVIEWED.iter().find(|reviewed| **reviewed == plain && **reviewed != method) {
        Some(reviewed) => Err(format!(
            "there is no method `{}`; `{reviewed}` is written like this",
            method.escape_debug()
        )),
        None => Ok(()),
    }
}
