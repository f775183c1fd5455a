//! Messages of the server.

use super::{Job, Relay, lock};
use crate::message::{Message, MessageKind};
use crate::waiting::Waiting;

impl Relay {
    pub(super) fn take_from_server(&self, line: Vec<u8>) {
        let message = match Message::parse(line) {
            Ok(message) => message,
            Err(error) => return self.drop_answer(error.id.as_ref(), &error.problem),
        };
        let MessageKind::Response { id } = &message.kind else {
            return self.answer_client(&message.bytes);
        };
        let Some(id) = id.clone() else {
            // An error about a message that the server could not read.
            return self.answer_client(&message.bytes);
        };
        let waiting = lock(&self.waiting).take(&id);
        match waiting {
            None => self.gate.report("an answer of the server to no request was dropped"),
            Some(Waiting::Plain | Waiting::Reviewing { .. }) => self.answer_client(&message.bytes),
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
