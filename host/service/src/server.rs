//! Accepts connections until it is told to stop.

use crate::connection::serve_connection;
use crate::shared::{Closing, Shared};
use crate::socket::OwnSocket;
use anyhow::{Context, Result};
use portcullis_review::hook::HookCaller;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The stack of a review, in bytes: that of a main thread, on which embedded hooks review.
const STACK: usize = 8 << 20;
/// The most connections at once; further ones wait in the socket's queue, and their hooks review by
/// themselves when their patience ends.
const MOST_CONNECTIONS: usize = 64;
/// The time that running reviews have when the service stops. An action that waits for a person is
/// not waited for: its hook reviews again.
const GRACE: Duration = Duration::from_secs(20);

/// A service with its socket.
pub struct Service {
    socket: OwnSocket,
    shared: Arc<Shared>,
}

/// Ends a service, from a signal handler's thread.
#[derive(Clone)]
pub struct Stop {
    shared: Arc<Shared>,
    path: PathBuf,
}

impl Stop {
    /// Lets running reviews end, and the service after them.
    pub fn stop(&self) {
        self.shared.stops.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        drop(UnixStream::connect(&self.path));
    }
}

impl Service {
    /// Creates a service of a version on a socket. `maintain` starts the work that reviews leave
    /// for later, in the environment of a hook, without waiting for it. `make_link` makes a link to
    /// the page for somebody of a role, or says why there is none.
    #[must_use]
    pub fn new(
        socket: OwnSocket,
        version: &'static str,
        maintain: impl Fn(&HookCaller) + Send + Sync + 'static,
        make_link: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared::new(version, Box::new(maintain), Box::new(make_link)));
        Self { socket, shared }
    }

    /// Returns the handle that ends it.
    #[must_use]
    pub fn stop_handle(&self) -> Stop {
        Stop { shared: Arc::clone(&self.shared), path: self.socket.path().to_owned() }
    }

    /// Returns the path of its socket.
    #[must_use]
    pub fn socket_path(&self) -> &Path {
        self.socket.path()
    }

    /// Serves until it is stopped. Returns after the last answer was written.
    ///
    /// # Errors
    /// Fails if the system accepts no more connections.
    pub fn run(self) -> Result<()> {
        loop {
            let accepted = self.socket.listener.accept();
            if self.shared.stops.load(Ordering::SeqCst) {
                break;
            }
            match accepted {
                Ok((stream, _)) => self.start_connection(stream),
                Err(error) if is_passing(&error) => std::thread::sleep(Duration::from_millis(20)),
                Err(error) => return Err(error).context("the socket accepts no connections"),
            }
        }
        let Self { socket, shared } = self;
        // From here on hooks find no socket, and review by themselves.
        drop(socket);
        shared.wait_for_connections(0, Instant::now() + GRACE);
        Ok(())
    }

    fn start_connection(&self, stream: UnixStream) {
        let far = Instant::now() + GRACE;
        self.shared.wait_for_connections(MOST_CONNECTIONS - 1, far);
        let shared = Arc::clone(&self.shared);
        shared.begin_connection();
        let serve = move || {
            let _closes = Closing(&shared);
            serve_connection(&shared, &stream);
        };
        let thread = Builder::new().name("portcullis-review".into()).stack_size(STACK);
        if thread.spawn(serve).is_err() {
            // The closed connection tells the hook, which reviews by itself.
            drop(Closing(&self.shared));
        }
    }
}

/// Returns true if accepting may work again: the connection was closed at once, or descriptors are
/// short.
fn is_passing(error: &io::Error) -> bool {
    let short = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE, rustix::io::Errno::NOMEM];
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted)
        || short.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
