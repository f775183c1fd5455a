//! The metadata of an entry of a folder.

use crate::node::{NodeStamp, Time};
use rustix::fs::{FileType, Mode, Stat};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fs::File;
use std::io;

/// The metadata of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryInfo {
    #[serde(serialize_with = "write_kind", deserialize_with = "read_kind")]
    pub(crate) kind: FileType,
    pub(crate) mode: u32,
    pub(crate) stamp: NodeStamp,
    pub(crate) links: u64,
    pub(crate) sparse: bool,
}

#[allow(clippy::cast_possible_truncation, reason = "permission bits are twelve")]
pub(crate) fn as_mode(mode: u32) -> rustix::fs::RawMode {
    (mode & 0o7777) as rustix::fs::RawMode
}

impl EntryInfo {
    #[allow(
        clippy::allow_attributes,
        clippy::unnecessary_cast,
        reason = "the fields' types differ between systems"
    )]
    #[allow(
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        reason = "sizes are not negative, nanoseconds are small"
    )]
    pub(crate) fn of(stat: &Stat) -> Self {
        let time = |seconds, nanoseconds| Time { seconds, nanoseconds };
        Self {
            kind: FileType::from_raw_mode(stat.st_mode),
            mode: stat.st_mode as u32 & 0o7777,
            stamp: NodeStamp {
                device: stat.st_dev as u64,
                inode: stat.st_ino as u64,
                size: stat.st_size as u64,
                modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as u32),
                changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as u32),
            },
            links: stat.st_nlink as u64,
            sparse: (stat.st_blocks as u64).saturating_mul(512) < stat.st_size as u64,
        }
    }

    pub(crate) fn of_file(file: &File) -> io::Result<Self> {
        Ok(Self::of(&rustix::fs::fstat(file)?))
    }
}

/// Sets permission bits and time of a written file.
pub(crate) fn finish_file(file: &File, mode: u32, modified: Time) -> io::Result<()> {
    let when =
        rustix::fs::Timespec { tv_sec: modified.seconds, tv_nsec: modified.nanoseconds.into() };
    let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    rustix::fs::fchmod(file, Mode::from_raw_mode(as_mode(mode)))?;
    Ok(rustix::fs::futimens(
        file,
        &rustix::fs::Timestamps { last_access: now, last_modification: when },
    )?)
}

#[allow(clippy::useless_conversion, reason = "some systems have a narrower type for it")]
fn write_kind<S: Serializer>(kind: &FileType, serializer: S) -> Result<S::Ok, S::Error> {
    u32::from(kind.as_raw_mode()).serialize(serializer)
}

fn read_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FileType, D::Error> {
    // The narrowest type that a system has for them holds all bits of a kind.
    Ok(FileType::from_raw_mode(u32::deserialize(deserializer)? as rustix::fs::RawMode))
}
