//! The last outcome of each use of a credential.

use crate::failure::CredentialFailure;
use portcullis_fs::SealedDocument;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The most bytes of the log.
const MOST_BYTES: u64 = 256 << 10;
/// The most uses that are remembered; past it, the oldest is forgotten.
const MOST: usize = 500;
/// The time after which the same outcome is worth a record again, in milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// The outcome of a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseOutcome {
    /// It was read, and whoever it was for took it or did not object to it.
    Used,
    /// Its value could not be read.
    Unreadable,
    /// Whoever it was for refused it.
    Refused,
}

impl UseOutcome {
    /// Returns its name, as records have it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::Unreadable => "unreadable",
            Self::Refused => "refused",
        }
    }
}

/// One use of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialUse {
    /// The credential, as a configuration names it: `credential:siem`, `env:TOKEN`.
    pub credential: String,
    /// The user of it: `exports.siem`, `registry ghcr.io`.
    pub purpose: String,
    /// The outcome.
    pub outcome: UseOutcome,
}

/// The last outcome of a use, and when it began to be that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastUse {
    /// The outcome.
    pub outcome: UseOutcome,
    /// When it was last recorded, in milliseconds since 1970.
    pub recorded: u64,
}

#[derive(Default, Serialize, Deserialize)]
struct Uses {
    /// By credential and purpose, with a line break between them: neither has one.
    uses: BTreeMap<String, LastUse>,
}

/// A sealed file with the last outcome of each use.
#[derive(Debug)]
pub struct UseLog(SealedDocument);

impl UseLog {
    pub(crate) const fn new(path: PathBuf, key: [u8; 32]) -> Self {
        Self(SealedDocument::new(path, key, MOST_BYTES))
    }

    /// Notes a use at `now`, in milliseconds since 1970. Returns true if it deserves a record: its
    /// outcome differs from the last one, or the last record is a day old. A log that cannot be read
    /// counts as empty, so that a use is recorded rather too often.
    ///
    /// # Errors
    /// Fails if the log cannot be written. The use deserves a record then, too.
    pub fn note_use(&self, noted: &CredentialUse, now: u64) -> Result<bool, CredentialFailure> {
        let mut uses = self.0.read_content::<Uses>().ok().flatten().unwrap_or_default().uses;
        let key = format!("{}\n{}", noted.credential, noted.purpose);
        let is_known = uses.get(&key).is_some_and(|last| {
            last.outcome == noted.outcome && now.saturating_sub(last.recorded) < DAY
        });
        if is_known {
            return Ok(false);
        }
        uses.insert(key, LastUse { outcome: noted.outcome, recorded: now });
        while uses.len() > MOST {
            let oldest = uses.iter().min_by_key(|(_, last)| last.recorded);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            uses.remove(&oldest);
        }
        let written = self.0.write_content(&Uses { uses });
        written.map_err(|error| CredentialFailure::of_index(self.0.path(), &error))?;
        Ok(true)
    }

    /// Returns the last uses of each credential, by purpose.
    #[must_use]
    pub fn list_uses(&self) -> BTreeMap<String, BTreeMap<String, LastUse>> {
        let mut listed = BTreeMap::<String, BTreeMap<String, LastUse>>::new();
        for (key, last) in self.0.read_content::<Uses>().ok().flatten().unwrap_or_default().uses {
            if let Some((credential, purpose)) = key.split_once('\n') {
                let of_it = listed.entry(credential.to_owned()).or_default();
                of_it.insert(purpose.to_owned(), last);
            }
        }
        listed
    }
}
