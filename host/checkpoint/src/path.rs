//! Paths as bytes: a path below a root, which cannot lead out of it, and roots in manifests.

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// A path below a root: names joined by `/`; empty for the root itself. Never absolute, never with
/// `.` or `..`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Rel(Vec<u8>);

impl Rel {
    /// Returns the path; none for one that could lead elsewhere.
    pub(crate) fn new(bytes: &[u8]) -> Option<Self> {
        let fits = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
        (bytes.is_empty() || bytes.split(|byte| *byte == b'/').all(fits))
            .then(|| Self(bytes.to_vec()))
    }

    pub(crate) fn join(&self, name: &OsStr) -> Self {
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + name.len());
        bytes.extend_from_slice(&self.0);
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name.as_bytes());
        Self(bytes)
    }

    pub(crate) fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.0.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).map(OsStr::from_bytes)
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the folder that holds it, and its name there; none for the root.
    pub(crate) fn split(&self) -> Option<(Self, &OsStr)> {
        if self.0.is_empty() {
            return None;
        }
        let at = self.0.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = match at {
            Some(at) => (self.0.get(..at)?, self.0.get(at + 1..)?),
            None => (&[][..], self.0.as_slice()),
        };
        Some((Self(parent.to_vec()), OsStr::from_bytes(name)))
    }

    /// Returns the folders above it, nearest first, the root last.
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.split().map(|(parent, _)| parent), |path| {
            path.split().map(|(parent, _)| parent)
        })
    }
}

impl fmt::Debug for Rel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_path().fmt(f)
    }
}

impl Serialize for Rel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Rel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = deserializer.deserialize_bytes(Bytes)?;
        Self::new(&bytes).ok_or_else(|| de::Error::custom("a path leads out of its root"))
    }
}

/// An absolute path as bytes: of plain names only, so that it is unambiguous.
pub(crate) mod root {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(path.as_os_str().as_bytes())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PathBuf, D::Error> {
        let bytes = deserializer.deserialize_bytes(Bytes)?;
        let path = PathBuf::from(OsStr::from_bytes(&bytes));
        if is_plain(&path) {
            Ok(path)
        } else {
            Err(de::Error::custom("a root is not an absolute path"))
        }
    }
}

/// Returns true if a path is absolute and has no `..`.
pub(crate) fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && !path.components().any(|part| matches!(part, Component::ParentDir))
        && !path.as_os_str().as_bytes().contains(&0)
}

/// Bytes of any length, such as the text of a link.
pub(crate) mod text {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_bytes(Bytes)
    }
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = Vec<u8>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }
    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }
}
