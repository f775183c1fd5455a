//! The objects behind the handles of `wasi:http`.

use crate::grants::Host;
use crate::web::{HttpError, Timeouts, WebAnswer};
use std::cell::RefCell;
use std::rc::Rc;

/// Names and values, in their order.
pub(crate) type Fields = Vec<(String, Vec<u8>)>;

/// One object of `wasi:http`.
pub(crate) enum HttpResource {
    /// Headers, and true if they are immutable.
    Fields(Fields, bool),
    /// A request that is being built.
    Request(Box<OutgoingRequest>),
    /// The body of a request.
    Upload(Rc<RefCell<Upload>>),
    /// The stream into that body.
    Writer(Rc<RefCell<Upload>>),
    /// The timeouts that the guest asks for.
    Options(Timeouts),
    /// A request that is sent when its answer is wanted; none once it was sent.
    Future(Option<Box<Sending>>),
    /// An answer, with its body until that was taken.
    Response(Box<WebAnswer>, bool),
    /// The body of an answer; none once its stream was taken.
    Body(Option<Vec<u8>>),
    /// The stream of that body, and how much of it was read.
    Stream(Rc<[u8]>, usize),
}

/// A request that is being built.
pub(crate) struct OutgoingRequest {
    pub(crate) method: &'static str,
    pub(crate) secure: Option<bool>,
    pub(crate) authority: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) headers: Fields,
    /// None as long as the guest has not asked for it: then there is no body.
    pub(crate) upload: Option<Rc<RefCell<Upload>>>,
}

/// A request that was handed over.
pub(crate) struct Sending {
    pub(crate) outgoing: OutgoingRequest,
    pub(crate) patience: Timeouts,
    pub(crate) host: Host,
    /// Its description in the record.
    pub(crate) what: String,
}

/// The body of a request while a guest writes it.
#[derive(Default)]
pub(crate) struct Upload {
    pub(crate) bytes: Vec<u8>,
    /// Its stream was handed out.
    pub(crate) taken: bool,
    /// The guest marked it as complete.
    pub(crate) finished: bool,
    /// The reason why it cannot be sent.
    pub(crate) problem: Option<HttpError>,
}

/// The most bytes of a request's body.
pub(crate) const UPLOAD_BYTES: usize = 64 << 10;

impl Upload {
    /// Appends bytes; false once the body cannot be sent.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        if self.bytes.len().saturating_add(bytes.len()) > UPLOAD_BYTES {
            self.problem.get_or_insert(HttpError::LONG_REQUEST);
        }
        if self.problem.is_some() || self.finished {
            return false;
        }
        self.bytes.extend_from_slice(bytes);
        true
    }
}
