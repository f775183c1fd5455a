//! Fuzzes the messages between a hook and the service: each end reads them from a process that may
//! be anybody's. What is read is written as the same message, and never read past its frame.

use portcullis_protocol::{
    Answer, FrameError, Message, Reply, Request, ReviewRequest, ServiceStatus, read_message,
    write_message,
};
use std::fmt::Debug;

/// The longest reason, in bytes.
const SHOWN: usize = 256;

/// Returns one message of each kind, as we write them; none if that fails, which the run reports.
pub(crate) fn seeds() -> Vec<&'static [u8]> {
    let review = || {
        Box::new(ReviewRequest {
            agent: "claude".into(),
            arguments: vec!["--state".into(), "/home/me/state".into()],
            timeout: 60,
            process: 7,
            parent: 6,
            folder: "/srv/shop".into(),
            variables: [("HOME".into(), "/home/me".into()), ("PATH".into(), "/bin".into())].into(),
            payload: include_bytes!("../seeds/wire/bash.json").to_vec(),
        })
    };
    let requests = [
        Request::Review(review()),
        Request::ReviewAcross(review(), b"handed".to_vec()),
        Request::Findings(b"found".to_vec()),
        Request::Files(b"bytes".to_vec()),
        Request::Status,
        Request::Link("approver".into()),
        Request::LinkOf(1000, "approver".into()),
    ];
    let replies = [
        Reply::Answer(Answer { exit: 2, stdout: b"{}".to_vec(), stderr: b"no".to_vec() }),
        Reply::Waiting(60_000),
        Reply::Declined,
        Reply::Unable("a defect".into()),
        Reply::Question(b"/srv/shop".to_vec()),
        Reply::Files(b"/srv/shop/a".to_vec()),
        Reply::Status(ServiceStatus { held_back: vec!["ls".into()], ..ServiceStatus::default() }),
        Reply::Link("http://portcullis.localhost:4747/sign-in#x".into()),
    ];
    let written = requests.iter().map(write).chain(replies.iter().map(write));
    written.flatten().map(|seed| &*seed.leak()).collect()
}

/// Checks the requirements for every input.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    check_as::<Request>(bytes)?;
    check_as::<Reply>(bytes)
}

fn check_as<M: Message + Debug + PartialEq>(bytes: &[u8]) -> Result<(), String> {
    let mut rest = bytes;
    let message = match read_message::<M>(&mut rest) {
        Ok(message) => message,
        Err(error) => return check_reason(&error),
    };
    let length = bytes.get(4..8).and_then(|length| length.try_into().ok()).map(u32::from_le_bytes);
    let frame = 8 + length.map_or(0, |length| length as usize);
    if bytes.len() - rest.len() != frame {
        return Err(format!("a frame of {frame} bytes leaves {} unread", rest.len()));
    }
    let written =
        write(&message).map_err(|error| format!("{message:?} is not written: {error}"))?;
    match read_message::<M>(&mut written.as_slice()) {
        Ok(again) if again == message => Ok(()),
        other => Err(format!("{message:?} is written and read as {other:?}")),
    }
}

fn write(message: &impl Message) -> Result<Vec<u8>, FrameError> {
    let mut written = Vec::new();
    write_message(&mut written, message)?;
    Ok(written)
}

fn check_reason(error: &FrameError) -> Result<(), String> {
    let text = error.to_string();
    let is_line = !text.is_empty() && text.len() <= SHOWN && !text.chars().any(char::is_control);
    is_line.then_some(()).ok_or(format!("a reason is no line of at most {SHOWN} bytes: {text:?}"))
}
