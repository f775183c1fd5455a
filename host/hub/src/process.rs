//! Parts of all commands of the hub: threads, the end by a signal, tokens, the words for a failure.

use crate::failure::Failure;
use crate::folder::read_authority_digest;
use anyhow::{Context, Result};
use portcullis_core::known_failure::HintedFailure;
use portcullis_fleet::JoinToken;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::future::Future;
use std::path::Path;
use tokio::runtime::{Builder, Runtime};

/// Starts what requests and the database need.
pub fn start_runtime() -> Result<Runtime> {
    Builder::new_multi_thread().enable_all().build().context("cannot start threads")
}

/// Returns a future that completes when the process is asked to end.
pub fn await_end() -> Result<impl Future<Output = ()>> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])
        .context("cannot wait for signals")?;
    let (send, receive) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name("portcullis-hub-signals".into())
        .spawn(move || {
            signals.forever().next();
            // The receiver is gone only if the hub has ended.
            let _ended = send.send(());
        })
        .context("cannot start a thread")?;
    Ok(async {
        let _asked = receive.await;
    })
}

/// Returns a new token for the hub of a folder.
pub fn new_token(folder: &Path) -> Result<JoinToken> {
    let authority = read_authority_digest(folder)?;
    JoinToken::new_random(authority).context("the system gives no random bytes")
}

/// Converts a failure for an operator, who may know all of it.
pub fn explain_failure(failure: Failure) -> anyhow::Error {
    let hint = "check that PostgreSQL runs, and that `portcullis hub serve` has made the tables";
    let log = failure.log().unwrap_or("the request was refused").to_owned();
    anyhow::Error::new(std::io::Error::other(log))
        .context(HintedFailure::new("the hub's database was not used", hint))
}
