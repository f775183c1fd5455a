//! The state that all connections of a service share.

use portcullis_config::boundary::Boundary;
use portcullis_protocol::ServiceStatus;
use portcullis_review::hook::HookCaller;
use portcullis_review::parts::KeptParts;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::getuid;
use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Starts the work that reviews leave for later, in the environment of a hook.
pub(crate) type Maintain = Box<dyn Fn(&HookCaller) + Send + Sync>;
/// Makes a link to the page with a purpose, or says why there is none; behind a boundary it names the
/// user whose records the page shows.
pub(crate) type MakeLink = Box<dyn Fn(Option<u32>, &str) -> Result<String, String> + Send + Sync>;

/// The most connections that one of several users may have at once.
const MOST_OF_USER: usize = 16;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) parts: KeptParts,
    /// The user who may connect where no boundary admits others: the one who runs this process.
    pub(crate) user: u32,
    /// The boundary that it stands behind.
    pub(crate) boundary: Option<Boundary>,
    /// The open connections of each user.
    users: Mutex<BTreeMap<u32, usize>>,
    pub(crate) maintain: Maintain,
    pub(crate) make_link: MakeLink,
    pub(crate) reviewed: AtomicU64,
    pub(crate) declined: AtomicU64,
    pub(crate) stops: AtomicBool,
    version: &'static str,
    begun: Instant,
    wait: ConnectionWait,
    /// The socket, locked by the thread that waits for the next connection; `None` once the service
    /// stops.
    listener: Mutex<Option<UnixListener>>,
    workers: Mutex<WorkerCount>,
    open: AtomicUsize,
    closed: (Mutex<()>, Condvar),
}

/// The wait for a connection, which another thread can end. The socket is not used for that: its path
/// may be gone, and systemd may own it.
struct ConnectionWait {
    ending: UnixStream,
    ended: UnixStream,
}

impl ConnectionWait {
    fn new() -> io::Result<Self> {
        let (ending, ended) = UnixStream::pair()?;
        Ok(Self { ending, ended })
    }

    /// Ends the wait of each thread, now and later.
    fn end(&self) {
        // A stream of our own, whose other end is open, has no reason to fail.
        let _ended = self.ending.shutdown(Shutdown::Write);
    }

    fn await_connection(&self, listener: &UnixListener) -> io::Result<bool> {
        let mut both =
            [PollFd::new(listener, PollFlags::IN), PollFd::new(&self.ended, PollFlags::IN)];
        loop {
            match poll(&mut both, None) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => {
                    let [_, ended] = &both;
                    return Ok(ended.revents().is_empty());
                }
            }
        }
    }
}

/// How many threads serve connections.
#[derive(Default)]
pub(crate) struct WorkerCount {
    pub(crate) all: usize,
    /// Those that wait for a connection, or for their turn to do so.
    pub(crate) idle: usize,
}

/// The reason for which a service ends.
pub(crate) enum ServiceEnd {
    Stopped,
    /// The socket accepts no more connections.
    Failed(io::Error),
}

impl Shared {
    pub(crate) fn new(
        version: &'static str,
        listener: Option<UnixListener>,
        maintain: Maintain,
        make_link: MakeLink,
    ) -> io::Result<Self> {
        Ok(Self {
            parts: KeptParts::default(),
            user: getuid().as_raw(),
            boundary: None,
            users: Mutex::default(),
            maintain,
            make_link,
            reviewed: AtomicU64::new(0),
            declined: AtomicU64::new(0),
            stops: AtomicBool::new(false),
            version,
            begun: Instant::now(),
            wait: ConnectionWait::new()?,
            listener: Mutex::new(listener),
            workers: Mutex::default(),
            open: AtomicUsize::new(0),
            closed: (Mutex::new(()), Condvar::new()),
        })
    }

    /// Lets no thread wait for a connection any more.
    pub(crate) fn end_waits(&self) {
        self.stops.store(true, Ordering::SeqCst);
        self.wait.end();
    }

    /// Waits until a connection can be accepted; returns false once the service stops.
    ///
    /// # Errors
    /// Fails if the system cannot wait.
    pub(crate) fn await_connection(&self, listener: &UnixListener) -> io::Result<bool> {
        self.wait.await_connection(listener)
    }

    pub(crate) fn status(&self) -> ServiceStatus {
        ServiceStatus {
            version: self.version.to_owned(),
            process: std::process::id(),
            uptime: self.begun.elapsed().as_secs(),
            reviewed: self.reviewed.load(Ordering::Relaxed),
            declined: self.declined.load(Ordering::Relaxed),
            held_back: self.parts.held_back_changes(),
        }
    }

    /// Waits until no other thread waits for a connection.
    pub(crate) fn await_turn(&self) -> MutexGuard<'_, Option<UnixListener>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the socket, as soon as no thread waits for a connection.
    pub(crate) fn close_listener(&self) {
        drop(self.await_turn().take());
    }

    pub(crate) fn count_workers(&self) -> MutexGuard<'_, WorkerCount> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a connection, until its [`Closing`] is dropped.
    pub(crate) fn begin_connection(&self) {
        self.open.fetch_add(1, Ordering::SeqCst);
    }

    /// Takes one of a user's connections; `None` if the user has too many. One user must not take
    /// those of all.
    pub(crate) fn take_connection(&self, user: u32) -> Option<UserConnection<'_>> {
        let mut users = self.lock_users();
        let count = users.entry(user).or_default();
        if self.boundary.is_some() && *count >= MOST_OF_USER {
            return None;
        }
        *count += 1;
        Some(UserConnection { shared: self, user })
    }

    fn lock_users(&self) -> MutexGuard<'_, BTreeMap<u32, usize>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no connection is open, or until a time.
    pub(crate) fn wait_for_connections(&self, until: Instant) {
        let mut guard = self.closed.0.lock().unwrap_or_else(PoisonError::into_inner);
        while self.open.load(Ordering::SeqCst) > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let woken = self.closed.1.wait_timeout(guard, left);
            guard = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// One of a user's connections, until it is dropped.
pub(crate) struct UserConnection<'a> {
    shared: &'a Shared,
    user: u32,
}

impl Drop for UserConnection<'_> {
    fn drop(&mut self) {
        let mut users = self.shared.lock_users();
        if let Some(count) = users.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                users.remove(&self.user);
            }
        }
    }
}

/// Counts a connection as closed when it is dropped, also by a panic.
pub(crate) struct Closing<'a>(pub(crate) &'a Shared);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        // Only a service that stops waits for it.
        if self.0.stops.load(Ordering::SeqCst) {
            let _guard = self.0.closed.0.lock().unwrap_or_else(PoisonError::into_inner);
            self.0.closed.1.notify_all();
        }
    }
}
