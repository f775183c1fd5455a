//! The newest version that each key has announced here, so that nobody can offer an older one as
//! the newest, or another one under the same number.

use super::source::SignedRelease;
use crate::error::{Context, Error, Result};
use portcullis_bundle::{Digest, KeyId};
use portcullis_config::clock::now_ms;
use portcullis_fs::{SealError, SealedDocument};
use portcullis_store::Home;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The file's name in the state folder.
const FILE: &str = "upgrade.json";
const PURPOSE: &str = "portcullis 2026 newest versions";
const MOST_BYTES: u64 = 64 << 10;

/// The newest versions, by the id of the key.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeenReleases {
    newest: BTreeMap<String, SeenRelease>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeenRelease {
    version: Version,
    /// The digest of everything that the statement says.
    digest: Digest,
    /// When it was seen first, in milliseconds since 1970.
    at: u64,
}

/// Compares a version with the newest one that any of these keys has announced before, and
/// remembers it.
///
/// Versions count for each key alone: somebody who tries another key must not keep the versions of
/// the right one from being taken.
///
/// # Errors
/// Fails if a newer one was seen before, or another one with this number, or if the memory cannot be
/// read or written.
pub fn remember_release(home: &Home, keys: &[KeyId], newest: &SignedRelease) -> Result<()> {
    let document =
        SealedDocument::new(home.path().join(FILE), home.derive_key(PURPOSE), MOST_BYTES);
    let shown = document.path().display().to_string();
    let read = document.read_content::<SeenReleases>();
    let mut seen = match read {
        Ok(seen) => seen.unwrap_or_default(),
        Err(error @ SealError::Forged) => {
            return Err(Error::integrity(format!("`{shown}` does not hold: {error}"))
                .with_hint("remove it: then the next version that is found counts as the newest"));
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read `{shown}`")),
    };
    let digest = digest_release(newest);
    for key in keys {
        let Some(known) = seen.newest.get(&key.to_string()) else { continue };
        let order = newest.version.cmp_precedence(&known.version);
        if order.is_lt() {
            return Err(Error::integrity(format!(
                "the newest version there is {}, and {} was seen before: somebody offers an older one",
                newest.version, known.version
            ))
            .with_hint("ask whoever publishes; until then stay with what you have"));
        }
        if order.is_eq() && digest != known.digest {
            return Err(Error::integrity(format!(
                "version {} was seen before with other files or another commit: a version never changes",
                newest.version
            ))
            .with_hint("ask whoever publishes; until then stay with what you have"));
        }
    }
    let known = seen.newest.get(&newest.key.to_string());
    if known.is_some_and(|known| known.version == newest.version) {
        return Ok(());
    }
    let found = SeenRelease { version: newest.version.clone(), digest, at: now_ms() };
    seen.newest.insert(newest.key.to_string(), found);
    document.write_content(&seen).with_context(|| format!("cannot write `{shown}`"))
}

/// Returns the digest of what a statement says of a version.
fn digest_release(signed: &SignedRelease) -> Digest {
    let mut text = format!("{}\n{}\n", signed.version, signed.release.commit);
    for (name, digest) in &signed.release.files {
        // Neither a name nor a digest has a line break that could stand for another file.
        text.push_str(&format!("{} {digest}\n", name.escape_default()));
    }
    Digest::of_bytes(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_bundle::{Release, SecretKey};

    fn signed(version: &str, commit: &str, seed: u8) -> SignedRelease {
        let files = BTreeMap::from([("a.deb".to_owned(), Digest::of_bytes(b"a"))]);
        SignedRelease {
            version: Version::parse(version).unwrap(),
            release: Release { version: version.into(), commit: commit.into(), files },
            key: SecretKey::of_seed(&[seed; 32]).public().id().unwrap(),
            file: "portcullis.sigstore.json".into(),
        }
    }

    #[test]
    fn no_version_goes_back() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path().join("home")).unwrap();
        let take = |version: &str, commit: &str, seed: u8| {
            let signed = signed(version, commit, seed);
            remember_release(&home, std::slice::from_ref(&signed.key), &signed)
                .map_err(|error| error.to_string())
        };
        take("0.2.0-rc.1", "a", 1).unwrap();
        take("0.2.0", "b", 1).unwrap();
        take("0.2.0", "b", 1).unwrap();
        for (version, commit, says) in [
            ("0.1.9", "a", "0.2.0 was seen before"),
            ("0.2.0-rc.2", "a", "0.2.0 was seen before"),
            ("0.2.0", "c", "a version never changes"),
            ("0.2.0+again", "b", "a version never changes"),
        ] {
            let error = take(version, commit, 1).unwrap_err();
            assert!(error.contains(says), "{version}: {error}");
        }
        // The versions of another key are no reason to refuse those of this one.
        take("9.0.0", "x", 2).unwrap();
        take("0.3.0", "d", 1).unwrap();
        // With both keys, the newest version of both counts.
        let (old, new) = (signed("0.3.0", "d", 1), signed("9.0.0", "x", 2));
        let both = [old.key, new.key];
        assert!(remember_release(&home, &both, &old).is_err());
        remember_release(&home, &both, &new).unwrap();
    }

    #[test]
    fn a_changed_memory_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_root(folder.path().join("home")).unwrap();
        let newest = signed("0.2.0", "a", 1);
        let keys = [newest.key];
        remember_release(&home, &keys, &newest).unwrap();
        let path = home.path().join(FILE);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("0.2.0", "0.0.1")).unwrap();
        let error = remember_release(&home, &keys, &newest).unwrap_err();
        assert!(error.to_string().contains("was not written with this home's key"), "{error}");
    }
}
