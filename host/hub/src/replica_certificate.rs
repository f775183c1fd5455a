//! The certificate that a replica shows: issued at its start, and again long before it ends, so that
//! no replica has to be started again for that.

use crate::authority::Authority;
use anyhow::{Context, Result};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time after which the next one is issued; each counts for 397 days.
const RENEWAL: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The certificate of these names.
pub struct ReplicaCertificate {
    authority: Arc<Authority>,
    names: Vec<String>,
    renewal: Duration,
    current: Mutex<Current>,
}

struct Current {
    issued_at: Instant,
    key: Arc<CertifiedKey>,
}

impl ReplicaCertificate {
    /// Issues the first one.
    pub fn issue(authority: Arc<Authority>, names: Vec<String>) -> Result<Self> {
        Self::renewed_after(authority, names, RENEWAL)
    }

    fn renewed_after(
        authority: Arc<Authority>,
        names: Vec<String>,
        renewal: Duration,
    ) -> Result<Self> {
        let current = Mutex::new(Current::issue(&authority, &names)?);
        Ok(Self { authority, names, renewal, current })
    }

    /// Returns the newest one, which is made now if it is time for that. One that cannot be made is
    /// tried again with the next connection; until then the one before counts.
    fn find_current(&self) -> Arc<CertifiedKey> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.issued_at.elapsed() >= self.renewal {
            match Current::issue(&self.authority, &self.names) {
                Ok(new) => *current = new,
                Err(error) => crate::report_line(&format!("cannot renew a certificate: {error:#}")),
            }
        }
        Arc::clone(&current.key)
    }
}

impl Current {
    fn issue(authority: &Authority, names: &[String]) -> Result<Self> {
        let (chain, key) = authority.issue_replica(names)?;
        let key = any_supported_type(&key).context("the hub's own key cannot be used")?;
        Ok(Self { issued_at: Instant::now(), key: Arc::new(CertifiedKey::new(chain, key)) })
    }
}

impl ResolvesServerCert for ReplicaCertificate {
    fn resolve(&self, _greeting: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.find_current())
    }
}

impl fmt::Debug for ReplicaCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplicaCertificate").field("names", &self.names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{create_folder, read_folder};

    /// Rows: the time after which one is renewed, and whether the next connection gets another.
    #[test]
    fn a_certificate_is_replaced_when_it_is_time() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("hub");
        create_folder(&folder, "https://hub.example", "host=/run", "[::]:1").unwrap();
        let authority = Arc::new(read_folder(&folder).unwrap().authority);
        for (renewal, is_new) in [(RENEWAL, false), (Duration::ZERO, true)] {
            let names = vec!["hub.example".to_owned()];
            let own = ReplicaCertificate::renewed_after(Arc::clone(&authority), names, renewal);
            let own = own.unwrap();
            let (first, second) = (own.find_current(), own.find_current());
            assert_eq!(first.cert.first() != second.cert.first(), is_new);
            assert_eq!(first.cert.last(), Some(authority.certificate()));
        }
    }
}
