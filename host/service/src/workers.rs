//! The threads that serve connections.
//!
//! One of them waits for the next connection and serves it itself, so that nothing is handed from
//! thread to thread; before it does, another one takes its place. Threads are kept: a new one would
//! pay for its stack, its heap and its first calls into guests each time.

use crate::connection::serve_connection;
use crate::shared::{Closing, ServiceEnd, Shared};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::Builder;
use std::time::Duration;

/// The stack of a review, in bytes: that of a main thread, on which embedded hooks review.
const STACK: usize = 8 << 20;
/// The most threads, and so the most connections at once; further ones wait in the socket's queue,
/// and their hooks review by themselves when their patience ends.
const MOST_WORKERS: usize = 64;
/// The most threads that wait for work.
const MOST_IDLE: usize = 8;
/// The pause after a failure to accept that may pass.
const PAUSE: Duration = Duration::from_millis(20);

/// Starts a thread that waits for connections.
pub(crate) fn start_worker(shared: &Arc<Shared>, end: &Sender<ServiceEnd>) -> io::Result<()> {
    {
        let mut count = shared.count_workers();
        count.all += 1;
        count.idle += 1;
    }
    let (ours, end) = (Arc::clone(shared), end.clone());
    let thread = Builder::new().name("portcullis-review".into()).stack_size(STACK);
    let started = thread.spawn(move || work(&ours, &end));
    if started.is_err() {
        let mut count = shared.count_workers();
        count.all -= 1;
        count.idle -= 1;
    }
    started.map(drop)
}

fn work(shared: &Arc<Shared>, end: &Sender<ServiceEnd>) {
    loop {
        let stream = match accept(shared) {
            Ok(Some(stream)) => stream,
            Ok(None) => return,
            Err(error) => {
                // A service that ends already has its reason.
                let _ended = end.send(ServiceEnd::Failed(error));
                return;
            }
        };
        let nobody_waits = {
            let mut count = shared.count_workers();
            count.idle -= 1;
            count.idle == 0 && count.all < MOST_WORKERS
        };
        if nobody_waits {
            // Without another thread, the next connection waits for the end of this one.
            let _without = start_worker(shared, end);
        }
        {
            let _closes = Closing(shared);
            serve_connection(shared, &stream);
        }
        drop(stream);
        let mut count = shared.count_workers();
        if count.idle >= MOST_IDLE {
            count.all -= 1;
            return;
        }
        count.idle += 1;
    }
}

/// Waits for the next connection, and counts it as open; returns `None` once the service stops.
fn accept(shared: &Shared) -> io::Result<Option<UnixStream>> {
    let waiting = shared.await_turn();
    let Some(listener) = waiting.as_ref() else { return Ok(None) };
    while shared.await_connection(listener)? {
        match listener.accept() {
            Ok((stream, _)) => {
                // Before others get their turn: a service that stops waits for what is open.
                shared.begin_connection();
                return Ok(Some(stream));
            }
            Err(error) if is_passing(&error) => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Returns true if accepting may work again: the connection was closed at once, or descriptors are
/// short.
fn is_passing(error: &io::Error) -> bool {
    let short = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE, rustix::io::Errno::NOMEM];
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted)
        || short.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
