//! Serves connections until it is told to stop.

use crate::shared::{ServiceEnd, Shared};
use crate::socket::OwnSocket;
use crate::workers;
use anyhow::{Context, Result};
use portcullis_agents::HookEnvironment;
use portcullis_config::Config;
use portcullis_config::boundary::{Boundary, STATE, places_of};
use portcullis_config::clock::now_ms;
use portcullis_config::handed::HandedFiles;
use portcullis_config::paths::Paths;
use portcullis_review::health::has_room;
use portcullis_review::hook::HookCaller;
use portcullis_review::parts::KeptParts;
use portcullis_store::Home;
use rustix::fs::{Access, access};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// The time that running reviews have when the service stops. An action that waits for a person is
/// not waited for: its hook reviews again.
const GRACE: Duration = Duration::from_secs(20);

/// A service with its socket.
pub struct Service {
    socket: OwnSocket,
    shared: Arc<Shared>,
    /// The reasons to end.
    ends: Receiver<ServiceEnd>,
    end: Sender<ServiceEnd>,
}

/// Ends a service, from a signal handler's thread.
#[derive(Clone)]
pub struct Stop {
    shared: Arc<Shared>,
    end: Sender<ServiceEnd>,
}

/// Looks at a service, from any thread.
#[derive(Clone)]
pub struct ServiceProbe {
    shared: Arc<Shared>,
}

impl ServiceProbe {
    /// Finds what keeps the service from reviewing an event in its own places, in words without any
    /// name. Behind a boundary each user has a journal, and root's configuration and the folder of all
    /// journals are looked at.
    #[must_use]
    pub fn find_obstacle(&self, places: &Paths) -> Option<&'static str> {
        let Self { shared } = self;
        if shared.stops.load(Ordering::SeqCst) {
            return Some("it is ending");
        }
        let (obstacle, journals) = match &shared.boundary {
            None => (shared.parts.find_obstacle(places, now_ms()), places.state.as_path()),
            Some(boundary) => (find_boundary_obstacle(boundary), Path::new(STATE)),
        };
        // Taking the lock does not prove that a record can be written.
        let full = || (!has_room(journals)).then_some("there is no room left for the journal");
        obstacle.or_else(full)
    }

    /// Returns the number of changes of plugins that are held back.
    #[must_use]
    pub fn count_held_back(&self) -> usize {
        self.shared.parts.held_back_changes().len()
    }
}

fn find_boundary_obstacle(boundary: &Boundary) -> Option<&'static str> {
    let environment = HookEnvironment::of_process();
    let places = places_of(boundary.user, environment, HandedFiles::default());
    if Config::load(&places, None).is_err() {
        return Some("the configuration of the machine cannot be used");
    }
    let may_write = access(STATE, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    (!may_write).then_some("the folder of the journals cannot be written")
}

impl Stop {
    /// Lets running reviews end, and the service after them.
    pub fn stop(&self) {
        self.shared.end_waits();
        // A service that has ended needs no reason.
        let _ended = self.end.send(ServiceEnd::Stopped);
    }
}

impl Service {
    /// Creates a service of a version on a socket. `maintain` starts the work that reviews leave
    /// for later, in the environment of a hook, without waiting for it. `make_link` makes a link to
    /// the page for somebody of a role, or says why there is none; behind a boundary it gets the user
    /// whose records the page is to show.
    ///
    /// # Errors
    /// Fails if the system has no more descriptors.
    pub fn new(
        mut socket: OwnSocket,
        version: &'static str,
        maintain: impl Fn(&HookCaller) + Send + Sync + 'static,
        make_link: impl Fn(Option<u32>, &str) -> Result<String, String> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = socket.listener.take();
        let (maintain, make_link) = (Box::new(maintain), Box::new(make_link));
        let shared = Arc::new(Shared::new(version, listener, maintain, make_link)?);
        let (end, ends) = channel();
        Ok(Self { socket, shared, ends, end })
    }

    /// Lets it stand behind a boundary: it reviews the events of other users, and keeps the state of
    /// each of them.
    ///
    /// # Errors
    /// Fails if it has begun to serve, or if its own folder cannot be used.
    pub fn stand_behind(mut self, boundary: Boundary) -> Result<Self> {
        let home = Home::open_root(STATE)?;
        let shared = Arc::get_mut(&mut self.shared).context("the service runs already")?;
        shared.boundary = Some(boundary);
        shared.parts = KeptParts::with_code_of(home);
        Ok(self)
    }

    /// Returns the handle that ends it.
    #[must_use]
    pub fn stop_handle(&self) -> Stop {
        Stop { shared: Arc::clone(&self.shared), end: self.end.clone() }
    }

    /// Returns a look at it, once it is set up.
    #[must_use]
    pub fn probe(&self) -> ServiceProbe {
        ServiceProbe { shared: Arc::clone(&self.shared) }
    }

    /// Returns the path of its socket.
    #[must_use]
    pub fn socket_path(&self) -> &Path {
        self.socket.path()
    }

    /// Serves until it is stopped. Returns after the last answer was written.
    ///
    /// # Errors
    /// Fails if the system starts no thread, or accepts no more connections.
    pub fn run(self) -> Result<()> {
        let Self { socket, shared, ends, end } = self;
        workers::start_worker(&shared, &end).context("cannot start a thread")?;
        let ended = ends.recv().unwrap_or(ServiceEnd::Stopped);
        shared.end_waits();
        // From here on hooks find no socket, and review by themselves.
        shared.close_listener();
        drop(socket);
        if let ServiceEnd::Failed(error) = ended {
            return Err(error).context("the socket accepts no connections");
        }
        shared.wait_for_connections(Instant::now() + GRACE);
        Ok(())
    }
}
