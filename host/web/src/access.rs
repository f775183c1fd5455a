//! Who may see the page: one-time links that a terminal makes, and the cookies that a browser gets
//! for them.
//!
//! Everything is kept in memory, as digests: a service that starts again knows no cookie, and what
//! it holds opens nothing.

use crate::limited_listener::ConnectionOwner;
use anyhow::Result;
use portcullis_served::Role;
use portcullis_served::secrets::{derive_form_token, new_token};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The time in which a link has to be used.
const LINK_LIFE: Duration = Duration::from_secs(60);
/// The time after which a browser has to sign in again.
const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// The most links that wait, and the most browsers that are signed in; the oldest give way.
const MOST: usize = 32;

/// A signed-in browser, as a request sees it.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub(crate) role: Role,
    /// The token that each of its forms carries.
    pub(crate) form_token: String,
}

/// Links and signed-in browsers, each of which opens one place `P`.
#[derive(Debug)]
pub(crate) struct Access<P> {
    links: Mutex<HashMap<Digest, Grant<P>>>,
    sessions: Mutex<HashMap<Digest, Grant<P>>>,
    /// Links with which a person sets up a passkey: the place and their name, until a time.
    enrollments: Mutex<HashMap<Digest, (P, String, Instant)>>,
}

type Digest = [u8; 32];

/// A role in a place, until a time.
#[derive(Clone, Debug)]
struct Grant<P> {
    place: P,
    role: Role,
    until: Instant,
}

impl<P> Default for Access<P> {
    fn default() -> Self {
        Self { links: Mutex::default(), sessions: Mutex::default(), enrollments: Mutex::default() }
    }
}

impl<P: Clone> Access<P> {
    /// Makes a code that signs one browser in to a place, once, within a minute.
    pub(crate) fn make_link(&self, place: P, role: Role) -> Result<String> {
        add_grant(&self.links, digest, place, role, LINK_LIFE)
    }

    /// Takes a code; returns the value of the cookie for it, and `None` for a code that was used,
    /// has expired or never was.
    /// The cookie counts for whoever gets it, in connections of that user.
    pub(crate) fn redeem(&self, code: &str, owner: ConnectionOwner) -> Result<Option<String>> {
        let found = lock(&self.links).remove(&digest(code));
        match found.filter(|grant| grant.until > Instant::now()) {
            Some(Grant { place, role, .. }) => {
                let key = |cookie: &str| digest_of(cookie, owner);
                add_grant(&self.sessions, key, place, role, SESSION_LIFE).map(Some)
            }
            None => Ok(None),
        }
    }

    /// Makes a code with which a person of a name sets up one passkey, once, within a minute.
    pub(crate) fn make_enrollment(&self, place: P, name: &str) -> Result<String> {
        let token = new_token()?;
        let now = Instant::now();
        let mut enrollments = lock(&self.enrollments);
        enrollments.retain(|_, (_, _, until)| *until > now);
        if enrollments.len() < MOST {
            enrollments.insert(digest(&token), (place, name.to_owned(), now + LINK_LIFE));
        }
        Ok(token)
    }

    /// Takes such a code; returns the place and the person's name, and `None` for a code that does
    /// not count.
    pub(crate) fn redeem_enrollment(&self, code: &str) -> Option<(P, String)> {
        let (place, name, until) = lock(&self.enrollments).remove(&digest(code))?;
        (until > Instant::now()).then_some((place, name))
    }

    /// Returns the visitor with a cookie's value in a connection of a user, and the place that it
    /// opens.
    pub(crate) fn find_visitor(
        &self,
        cookie: &str,
        owner: ConnectionOwner,
    ) -> Option<(P, Visitor)> {
        // Elsewhere another user's connection is nobody's too: there, nobody has a cookie.
        if cfg!(not(target_os = "linux")) && owner == ConnectionOwner(None) {
            return None;
        }
        let grant = lock(&self.sessions).get(&digest_of(cookie, owner)).cloned()?;
        let visitor = Visitor { role: grant.role, form_token: derive_form_token(cookie) };
        (grant.until > Instant::now()).then_some((grant.place, visitor))
    }

    /// Signs a browser out.
    pub(crate) fn end_session(&self, cookie: &str, owner: ConnectionOwner) {
        lock(&self.sessions).remove(&digest_of(cookie, owner));
    }
}

/// Adds a grant under a new token, which it returns.
fn add_grant<P>(
    grants: &Mutex<HashMap<Digest, Grant<P>>>,
    key: impl Fn(&str) -> Digest,
    place: P,
    role: Role,
    life: Duration,
) -> Result<String> {
    let token = new_token()?;
    let now = Instant::now();
    let mut grants = lock(grants);
    grants.retain(|_, grant| grant.until > now);
    if grants.len() >= MOST {
        let oldest = grants.iter().min_by_key(|(_, grant)| grant.until).map(|(key, _)| *key);
        oldest.and_then(|key| grants.remove(&key));
    }
    grants.insert(key(&token), Grant { place, role, until: now + life });
    Ok(token)
}

fn digest(token: &str) -> Digest {
    *blake3::hash(token.as_bytes()).as_bytes()
}

/// Returns the digest of a cookie in connections of a user.
fn digest_of(cookie: &str, owner: ConnectionOwner) -> Digest {
    let ConnectionOwner(user) = owner;
    let user = user.map_or_else(|| "nobody known".to_owned(), |user| user.to_string());
    digest(&format!("{user}\0{cookie}"))
}

/// Locks a map. A panic leaves none half-changed.
fn lock<T>(map: &Mutex<T>) -> MutexGuard<'_, T> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: ConnectionOwner = ConnectionOwner(Some(1000));

    #[test]
    fn a_link_works_once_and_gives_its_role() {
        for role in Role::ALL {
            let access = Access::default();
            let other = access.make_link("other", role).unwrap();
            let code = access.make_link("place", role).unwrap();
            assert!(access.find_visitor(&code, OWN).is_none(), "a code is not a cookie");
            let cookie = access.redeem(&code, OWN).unwrap().unwrap();
            assert_eq!(access.redeem(&code, OWN).unwrap(), None, "a second use");
            let (place, visitor) = access.find_visitor(&cookie, OWN).unwrap();
            assert_eq!((place, visitor.role), ("place", role));
            let others = access.redeem(&other, OWN).unwrap().unwrap();
            assert_eq!(access.find_visitor(&others, OWN).unwrap().0, "other");
            access.end_session(&cookie, OWN);
            assert!(access.find_visitor(&cookie, OWN).is_none(), "signed out");
        }
    }

    #[test]
    fn a_cookie_counts_for_the_user_who_got_it() {
        for owner in [Some(1000), Some(0), None] {
            let (access, owner) = (Access::default(), ConnectionOwner(owner));
            let code = access.make_link((), Role::Operator).unwrap();
            let cookie = access.redeem(&code, owner).unwrap().unwrap();
            for other in [Some(1000), Some(1001), Some(0), None].map(ConnectionOwner) {
                let found = access.find_visitor(&cookie, other);
                let counts = cfg!(target_os = "linux") || owner != ConnectionOwner(None);
                assert_eq!(found.is_some(), counts && other == owner, "{owner:?} {other:?}");
                if other != owner {
                    access.end_session(&cookie, other);
                }
            }
            let is_signed_in = access.find_visitor(&cookie, owner).is_some();
            let counts = cfg!(target_os = "linux") || owner != ConnectionOwner(None);
            assert_eq!(is_signed_in, counts, "another user signed it out");
        }
    }

    #[test]
    fn a_link_for_a_passkey_works_once_for_its_place() {
        let access = Access::default();
        let code = access.make_enrollment("place", "ann").unwrap();
        assert_eq!(access.redeem(&code, OWN).unwrap(), None, "it signs nobody in");
        assert_eq!(access.redeem_enrollment(&code), Some(("place", "ann".to_owned())));
        assert_eq!(access.redeem_enrollment(&code), None, "a second use");
    }

    #[test]
    fn what_was_never_made_opens_nothing() {
        let access = Access::default();
        let code = access.make_link((), Role::Viewer).unwrap();
        let cookie = access.redeem(&code, OWN).unwrap().unwrap();
        let token = access.find_visitor(&cookie, OWN).unwrap().1.form_token;
        for other in ["", "x", &code, &token, &cookie[1..], &cookie.to_lowercase()] {
            assert!(access.find_visitor(other, OWN).is_none(), "{other}");
            assert_eq!(access.redeem(other, OWN).unwrap(), None, "{other}");
        }
    }

    #[test]
    fn the_oldest_links_give_way() {
        let access = Access::default();
        let codes: Vec<String> =
            (0..=MOST).map(|_| access.make_link((), Role::Viewer).unwrap()).collect();
        assert_eq!(access.redeem(&codes[0], OWN).unwrap(), None);
        assert!(access.redeem(&codes[MOST], OWN).unwrap().is_some());
    }
}
