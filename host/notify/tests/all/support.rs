//! A message, a sender and the text form of an outcome.

use portcullis_notify::{
    Channel, Delivered, DeliveryFailure, Next, Notification, NotificationSeverity, Sender, Topic,
};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) fn message() -> Notification {
    Notification {
        id: "review-17".into(),
        at: 1_763_800_000_000,
        topic: Topic::Block,
        severity: NotificationSeverity::Critical,
        title: "a deletion outside the project was blocked".into(),
        session: "s-1".into(),
        project: "shop".into(),
        what: "rm -rf /srv/data".into(),
        why: "High risk action: out_of_scope".into(),
        commands: vec!["portcullis explain review-17".into()],
    }
}

/// Returns the variables of these tests.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    let value = match name {
        "PATH" => return std::env::var_os("PATH"),
        "HOME" => "/home/of/a/test",
        "TOKEN" => "tok-0123456789",
        "EMPTY" => "",
        "BLANK" => " \n",
        "TWO_LINES" => "one\r\nX-Injected: two",
        _ => return None,
    };
    Some(value.into())
}

/// Sends with a timeout that is long enough for any server that answers.
pub(crate) fn send(
    channel: &Channel,
    message: &Notification,
) -> Result<Delivered, DeliveryFailure> {
    send_within(channel, message, Duration::from_secs(60))
}

pub(crate) fn send_within(
    channel: &Channel,
    message: &Notification,
    limit: Duration,
) -> Result<Delivered, DeliveryFailure> {
    Sender::new(&variable).send_message(channel, message, Instant::now() + limit)
}

/// Returns `delivered`, `retry`, `retry after N s` or `give up`, then the error and the fix.
pub(crate) fn outcome(result: &Result<Delivered, DeliveryFailure>) -> String {
    match result {
        Ok(delivered) => format!("delivered; {}", delivered.what),
        Err(failure) => {
            let next = match failure.next {
                Next::Retry(None) => "retry".to_owned(),
                Next::Retry(Some(wait)) => format!("retry after {} s", wait.as_secs()),
                Next::GiveUp => "give up".to_owned(),
            };
            format!("{next}; {failure}")
        }
    }
}

#[track_caller]
pub(crate) fn expect(
    result: &Result<Delivered, DeliveryFailure>,
    begins: &str,
    holds: &[&str],
    what: &str,
) {
    let outcome = outcome(result);
    assert!(outcome.starts_with(&format!("{begins};")), "{what}: {outcome}");
    assert!(!outcome.contains('\n') && outcome.len() < 1000, "{what}: {outcome}");
    for part in holds {
        assert!(outcome.contains(part), "{what}: no `{part}` in: {outcome}");
    }
}

/// Creates a file of this mode.
pub(crate) fn file(folder: &Path, name: &str, bytes: &[u8], mode: u32) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}
