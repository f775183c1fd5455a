//! The messages.

use crate::codec::{Fields, Writer};
use crate::frame::{FrameError, Message};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// A message of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// One event to review.
    Review(Box<ReviewRequest>),
    /// One event to review by the service of another user, with the project's files of
    /// configuration.
    ReviewAcross(Box<ReviewRequest>, Vec<u8>),
    /// The findings for a [`Reply::Question`].
    Findings(Vec<u8>),
    /// The answer to a [`Reply::Files`].
    Files(Vec<u8>),
    /// The state of the service.
    Status,
    /// A link to the page with a purpose: a role, or a passkey to set up.
    Link(String),
    /// The same of the service behind a boundary, to what it keeps of a user's agents.
    LinkOf(u32, String),
}

/// An event, with everything that the review takes from the hook's process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewRequest {
    /// The client's name on the command line.
    pub agent: String,
    /// The rest of the hook's command line: pinned folders.
    pub arguments: Vec<OsString>,
    /// The timeout after which the client gives the hook up, in seconds.
    pub timeout: u64,
    /// The hook's process.
    pub process: u32,
    /// The process that started the hook.
    pub parent: u32,
    /// The folder that the hook runs in; empty if that is unknown.
    pub folder: PathBuf,
    /// The hook's environment.
    pub variables: BTreeMap<OsString, OsString>,
    /// The client's message.
    pub payload: Vec<u8>,
}

/// A message of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The answer to a review; its record is durable.
    Answer(Answer),
    /// The action waits for a person, at most so many milliseconds from now.
    Waiting(u64),
    /// The service leaves events of this kind to the hook.
    Declined,
    /// The service cannot review this event, for a reason: the hook has to.
    Unable(String),
    /// What the review has to know of the hook's user's files: [`Request::Findings`] follow.
    Question(Vec<u8>),
    /// What a checkpoint has to know of the hook's user's files: [`Request::Files`] follows.
    Files(Vec<u8>),
    /// The state of the service.
    Status(ServiceStatus),
    /// A link that signs one browser in, once.
    Link(String),
}

/// The output of a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Its exit code.
    pub exit: u8,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

/// The state of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceStatus {
    /// Its version.
    pub version: String,
    /// Its process.
    pub process: u32,
    /// The seconds since it started.
    pub uptime: u64,
    /// The events that it reviewed.
    pub reviewed: u64,
    /// The events that it left to the hook.
    pub declined: u64,
    /// Changes of plugins that are held back, one line each.
    pub held_back: Vec<String>,
}

impl Message for Request {
    fn to_body(&self) -> Vec<u8> {
        match self {
            Self::Status => Writer::tagged(b's').finish(),
            Self::Link(purpose) => {
                let mut body = Writer::tagged(b'l');
                body.bytes(purpose.as_bytes());
                body.finish()
            }
            Self::LinkOf(user, purpose) => {
                let mut body = Writer::tagged(b'o');
                body.number((*user).into());
                body.bytes(purpose.as_bytes());
                body.finish()
            }
            Self::Review(review) => {
                let mut body = Writer::tagged(b'r');
                write_review(&mut body, review);
                body.finish()
            }
            Self::ReviewAcross(review, files) => {
                let mut body = Writer::tagged(b'b');
                write_review(&mut body, review);
                body.bytes(files);
                body.finish()
            }
            Self::Findings(findings) => {
                let mut body = Writer::tagged(b'f');
                body.bytes(findings);
                body.finish()
            }
            Self::Files(answer) => {
                let mut body = Writer::tagged(b'v');
                body.bytes(answer);
                body.finish()
            }
        }
    }

    fn from_body(body: &[u8]) -> Result<Self, FrameError> {
        let mut fields = Fields::of(body);
        let request = match fields.tag()? {
            b's' => Self::Status,
            b'l' => Self::Link(fields.text()?),
            b'o' => Self::LinkOf(fields.small()?, fields.text()?),
            b'r' => Self::Review(Box::new(read_review(&mut fields)?)),
            b'b' => {
                let review = read_review(&mut fields)?;
                Self::ReviewAcross(Box::new(review), fields.bytes()?.to_vec())
            }
            b'f' => Self::Findings(fields.bytes()?.to_vec()),
            b'v' => Self::Files(fields.bytes()?.to_vec()),
            _ => return Err(FrameError::Malformed("an unknown request")),
        };
        fields.end()?;
        Ok(request)
    }
}

fn write_review(body: &mut Writer, review: &ReviewRequest) {
    body.bytes(review.agent.as_bytes());
    body.list(review.arguments.iter().map(|argument| argument.as_bytes()));
    body.number(review.timeout);
    body.number(review.process.into());
    body.number(review.parent.into());
    body.bytes(review.folder.as_os_str().as_bytes());
    let variables = review.variables.iter();
    body.list(variables.flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]));
    body.bytes(&review.payload);
}

fn read_review(fields: &mut Fields<'_>) -> Result<ReviewRequest, FrameError> {
    Ok(ReviewRequest {
        agent: fields.text()?,
        arguments: fields.list()?.into_iter().map(OsString::from_vec).collect(),
        timeout: fields.number()?,
        process: fields.small()?,
        parent: fields.small()?,
        folder: OsString::from_vec(fields.bytes()?.to_vec()).into(),
        variables: pairs(fields.list()?)?,
        payload: fields.bytes()?.to_vec(),
    })
}

fn pairs(list: Vec<Vec<u8>>) -> Result<BTreeMap<OsString, OsString>, FrameError> {
    let mut variables = BTreeMap::new();
    let mut list = list.into_iter();
    while let Some(name) = list.next() {
        let value = list.next().ok_or(FrameError::Malformed("a variable without a value"))?;
        variables.insert(OsString::from_vec(name), OsString::from_vec(value));
    }
    Ok(variables)
}

impl Message for Reply {
    fn to_body(&self) -> Vec<u8> {
        match self {
            Self::Answer(answer) => {
                let mut body = Writer::tagged(b'a');
                body.number(answer.exit.into());
                body.bytes(&answer.stdout);
                body.bytes(&answer.stderr);
                body.finish()
            }
            Self::Waiting(milliseconds) => {
                let mut body = Writer::tagged(b'w');
                body.number(*milliseconds);
                body.finish()
            }
            Self::Declined => Writer::tagged(b'd').finish(),
            Self::Unable(reason) => {
                let mut body = Writer::tagged(b'u');
                body.bytes(reason.as_bytes());
                body.finish()
            }
            Self::Question(question) => {
                let mut body = Writer::tagged(b'q');
                body.bytes(question);
                body.finish()
            }
            Self::Files(request) => {
                let mut body = Writer::tagged(b'v');
                body.bytes(request);
                body.finish()
            }
            Self::Status(status) => {
                let mut body = Writer::tagged(b's');
                body.bytes(status.version.as_bytes());
                body.number(status.process.into());
                body.number(status.uptime);
                body.number(status.reviewed);
                body.number(status.declined);
                body.list(status.held_back.iter().map(String::as_bytes));
                body.finish()
            }
            Self::Link(link) => {
                let mut body = Writer::tagged(b'l');
                body.bytes(link.as_bytes());
                body.finish()
            }
        }
    }

    fn from_body(body: &[u8]) -> Result<Self, FrameError> {
        let mut fields = Fields::of(body);
        let reply = match fields.tag()? {
            b'a' => Self::Answer(Answer {
                exit: u8::try_from(fields.number()?)
                    .map_err(|_| FrameError::Malformed("an exit code above 255"))?,
                stdout: fields.bytes()?.to_vec(),
                stderr: fields.bytes()?.to_vec(),
            }),
            b'w' => Self::Waiting(fields.number()?),
            b'd' => Self::Declined,
            b'u' => Self::Unable(fields.text()?),
            b'q' => Self::Question(fields.bytes()?.to_vec()),
            b'v' => Self::Files(fields.bytes()?.to_vec()),
            b's' => Self::Status(ServiceStatus {
                version: fields.text()?,
                process: fields.small()?,
                uptime: fields.number()?,
                reviewed: fields.number()?,
                declined: fields.number()?,
                held_back: fields.texts()?,
            }),
            b'l' => Self::Link(fields.text()?),
            _ => return Err(FrameError::Malformed("an unknown reply")),
        };
        fields.end()?;
        Ok(reply)
    }
}
