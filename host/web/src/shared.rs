//! The page as a whole: its address, who is signed in, and the homes that it shows.
//!
//! Without a boundary there is one home. Behind a boundary the service keeps one for each user, and
//! a link opens that of one user: whoever has its cookie sees no other, but for the list of all
//! sessions that an operator sees.

use crate::access::{Access, Visitor};
use crate::collector::MetricsToken;
use crate::health::HealthWatch;
use crate::limited_listener::ConnectionOwner;
use crate::site::Site;
use anyhow::{Result, bail};
use portcullis_config::boundary::list_kept_users;
use portcullis_config::paths::Paths;
use portcullis_served::Failures;
use portcullis_served::door::Door;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Returns the places of what the service keeps of a user.
pub(crate) type FindPlaces = Box<dyn Fn(u32) -> Paths + Send + Sync>;

/// The homes that a page shows.
enum Homes {
    /// The one of the page's own user.
    Own(Arc<Site>),
    /// One for each user, from its first link on.
    OfUsers { find_places: FindPlaces, known: Mutex<BTreeMap<u32, Arc<Site>>> },
}

/// The state that all requests share.
pub(crate) struct SharedPage {
    /// The only names under which it is answered.
    pub(crate) door: Door,
    pub(crate) access: Access<Arc<Site>>,
    /// The token of whoever collects metrics, if there is one.
    pub(crate) metrics_token: Option<MetricsToken>,
    /// The codes of links that were wrong.
    pub(crate) guesses: Failures,
    pub(crate) health: HealthWatch,
    homes: Homes,
}

/// A visitor, and what the visitor's cookie opens.
#[derive(Clone)]
pub(crate) struct SignedIn {
    pub(crate) visitor: Visitor,
    pub(crate) site: Arc<Site>,
}

impl SharedPage {
    /// Creates the page of a home.
    pub(crate) fn of_home(host: String, places: Paths, token: Option<MetricsToken>) -> Self {
        let site = Arc::new(Site::new(host.clone(), places));
        Self::with_homes(host, token, Homes::Own(site))
    }

    /// Creates the page of a service behind a boundary.
    pub(crate) fn of_users(host: String, find_places: FindPlaces) -> Self {
        Self::with_homes(host, None, Homes::OfUsers { find_places, known: Mutex::default() })
    }

    fn with_homes(host: String, metrics_token: Option<MetricsToken>, homes: Homes) -> Self {
        Self {
            door: Door { origin: format!("http://{host}"), host },
            access: Access::default(),
            metrics_token,
            guesses: Failures::default(),
            health: HealthWatch::default(),
            homes,
        }
    }

    /// Returns the home that a link is to open: that of a user behind a boundary, and without a
    /// user the page's own.
    ///
    /// # Errors
    /// Fails if the page has no such home.
    pub(crate) fn find_site(&self, user: Option<u32>) -> Result<Arc<Site>> {
        match (&self.homes, user) {
            (Homes::Own(site), None) => Ok(Arc::clone(site)),
            (Homes::OfUsers { find_places, known }, Some(user)) => {
                let mut known = lock(known);
                let made = || Arc::new(Site::new(self.door.host.clone(), find_places(user)));
                Ok(Arc::clone(known.entry(user).or_insert_with(made)))
            }
            (Homes::Own(_), Some(user)) => bail!("this page is not for the records of user {user}"),
            (Homes::OfUsers { .. }, None) => bail!("a link has to name the user"),
        }
    }

    /// Returns the homes of all users for whom the service of a boundary keeps something; `None`
    /// without a boundary.
    pub(crate) fn list_users(&self) -> Option<Vec<Arc<Site>>> {
        match &self.homes {
            Homes::Own(_) => None,
            Homes::OfUsers { .. } => {
                let sites = list_kept_users().into_iter().map(|user| self.find_site(Some(user)));
                Some(sites.filter_map(Result::ok).collect())
            }
        }
    }

    /// Returns the only home of a page without a boundary.
    pub(crate) fn own_site(&self) -> Option<&Arc<Site>> {
        match &self.homes {
            Homes::Own(site) => Some(site),
            Homes::OfUsers { .. } => None,
        }
    }

    /// Returns all homes that somebody may look at.
    pub(crate) fn list_sites(&self) -> Vec<Arc<Site>> {
        match &self.homes {
            Homes::Own(site) => vec![Arc::clone(site)],
            Homes::OfUsers { known, .. } => lock(known).values().map(Arc::clone).collect(),
        }
    }

    /// Returns the signed_in with a cookie's value in a connection of a user.
    pub(crate) fn find_guest(&self, cookie: &str, owner: ConnectionOwner) -> Option<SignedIn> {
        let (site, visitor) = self.access.find_visitor(cookie, owner)?;
        Some(SignedIn { visitor, site })
    }
}

/// Locks the homes. A panic leaves none half-added.
fn lock(known: &Mutex<BTreeMap<u32, Arc<Site>>>) -> MutexGuard<'_, BTreeMap<u32, Arc<Site>>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
