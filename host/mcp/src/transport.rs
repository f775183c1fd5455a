//! The connection to a server, of whichever kind: a process or an address.

use crate::message::RpcMessage;
use crate::request_id::RequestId;
use std::io;
use std::sync::Arc;

/// A connection to one server.
pub trait ServerTransport: Send + Sync {
    /// Starts to pass on what the server sends. The relay calls it once, before anything is sent.
    ///
    /// # Errors
    /// Fails if the system gives no thread.
    fn start(&self, inbox: Arc<dyn ServerInbox>) -> io::Result<()>;

    /// Sends a message. A request that does not reach the server gets its error by the inbox.
    fn send(&self, message: &RpcMessage);

    /// Takes note that the client sends nothing more.
    fn close(&self);
}

/// Takes what a server sends.
pub trait ServerInbox: Send + Sync {
    /// Takes a message: one line, with its end. Returns the id of the request that it answers.
    fn take_line(&self, line: Vec<u8>) -> Option<RequestId>;

    /// Takes note of a message that was dropped, with the request that it answers, if that is
    /// known: the client gets an error in its place.
    fn drop_answer(&self, id: Option<&RequestId>, problem: &str);

    /// Ends a request that the server will not answer: the client gets an error.
    fn fail_request(&self, id: &RequestId, problem: &str);

    /// Ends a request that the client gave up: nobody gets anything.
    fn forget_request(&self, id: &RequestId);

    /// Takes note of something for the person.
    fn report(&self, what: &str);

    /// Takes note that the server sends nothing more.
    fn end(&self);
}
