//! The machine under the guard: its clock and its disk.

use super::finding::{Check, HealthFinding, Level};
use portcullis_config::amount::{format_size, format_span};
use portcullis_config::clock::format_utc;
use portcullis_config::paths::own_program;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The most that clocks of one machine differ, in milliseconds.
const JITTER: u64 = 2 * 60 * 1000;
/// The space below which the next commits fail: a commit, its log, a compiled plugin.
const NO_ROOM: u64 = 16 * 1024 * 1024;
/// The space below which a warning is given in time.
const LITTLE_ROOM: u64 = 256 * 1024 * 1024;
/// The number of free files below which new files soon fail.
const FEW_FILES: u64 = 256;

/// Compares the clock with the newest record and with the program's own date, all in milliseconds
/// since 1970.
pub(super) fn clock(now: u64, newest: Option<u64>, program: Option<u64>) -> HealthFinding {
    let ahead = newest.unwrap_or(0).saturating_sub(now);
    if ahead > JITTER {
        let what = format!(
            "the newest record is of {} UTC, {} after now ({} UTC): the clock was set back, or was wrong then",
            format_utc(newest.unwrap_or(0)),
            format_span(ahead),
            format_utc(now)
        );
        let fix = "set the clock (`timedatectl set-ntp true`); if it is right now, this passes by itself at that time";
        return HealthFinding::problem(Check::Clock, what, fix);
    }
    if program.is_some_and(|made| made > now.saturating_add(JITTER)) {
        let what = format!(
            "the clock says {} UTC, which is before this program was built",
            format_utc(now)
        );
        return HealthFinding::problem(
            Check::Clock,
            what,
            "set the clock (`timedatectl set-ntp true`)",
        );
    }
    HealthFinding::ok(Check::Clock, format!("{} UTC, after the newest record", format_utc(now)))
}

/// Returns the modification time of this program's file.
pub(super) fn program_made() -> Option<u64> {
    let modified = own_program().and_then(fs::metadata).and_then(|found| found.modified()).ok()?;
    u64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// The free room on a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FreeSpace {
    /// Bytes that this user can still write.
    pub bytes: u64,
    /// Files that this user can still create; `None` if the volume does not count them.
    pub files: Option<u64>,
}

/// Returns the free room on the volume that holds `path` or its nearest existing parent folder.
pub(super) fn room(path: &Path) -> Option<FreeSpace> {
    let there = path.ancestors().find(|folder| folder.exists())?;
    let found = rustix::fs::statvfs(there).ok()?;
    let bytes = found.f_bavail.saturating_mul(found.f_frsize);
    Some(FreeSpace { bytes, files: (found.f_files > 0).then_some(found.f_favail) })
}

/// Returns the volume that holds `path`; `None` if it does not exist.
pub(super) fn device(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|found| found.dev())
}

/// Returns false if `path` is on a volume without room for a journal, as `portcullis doctor` judges it.
#[must_use]
pub fn has_room(path: &Path) -> bool {
    disk(path, room(path)).level != Level::Problem
}

/// Checks the free room for one of our folders.
pub(super) fn disk(path: &Path, room: Option<FreeSpace>) -> HealthFinding {
    let shown = path.display();
    let Some(room) = room else {
        return HealthFinding::warning(
            Check::Disk,
            format!("cannot determine how much room `{shown}` has"),
            "look at its volume: `df -h`",
        );
    };
    let left = format_size(room.bytes);
    let fix = format!("free space on the volume of `{shown}`: without it each action is refused");
    match room {
        FreeSpace { bytes, .. } if bytes < NO_ROOM => HealthFinding::problem(
            Check::Disk,
            format!("no room for the journal: {left} left for `{shown}`"),
            fix,
        ),
        FreeSpace { files: Some(files), .. } if files < FEW_FILES => HealthFinding::problem(
            Check::Disk,
            format!("no room for the journal: {files} more files fit on the volume of `{shown}`"),
            fix,
        ),
        FreeSpace { bytes, .. } if bytes < LITTLE_ROOM => {
            HealthFinding::warning(Check::Disk, format!("{left} left for `{shown}`"), fix)
        }
        _ => HealthFinding::ok(Check::Disk, format!("{left} left for `{shown}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000;

    #[test]
    fn a_clock_that_ran_backwards_is_named() {
        for (now, newest, program, level) in [
            (10 * DAY, None, None, Level::Ok),
            (10 * DAY, Some(9 * DAY), Some(8 * DAY), Level::Ok),
            (10 * DAY, Some(10 * DAY + JITTER), None, Level::Ok),
            (10 * DAY, Some(10 * DAY + JITTER + 1), None, Level::Problem),
            (10 * DAY, Some(u64::MAX), None, Level::Problem),
            (10 * DAY, Some(9 * DAY), Some(11 * DAY), Level::Problem),
            (0, None, Some(DAY), Level::Problem),
        ] {
            assert_eq!(clock(now, newest, program).level, level, "{now} {newest:?} {program:?}");
        }
        assert!(clock(9 * DAY, Some(10 * DAY), None).what.contains("1 day after now"));
    }

    /// The system's own view of its processes has no free block.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_volume_without_a_free_block_has_no_room() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!((has_room(folder.path()), has_room(Path::new("/proc"))), (true, false));
    }

    #[test]
    fn a_full_disk_is_named_before_it_is_full() {
        let room = |bytes, files| Some(FreeSpace { bytes, files });
        for (room, level) in [
            (room(1 << 40, Some(1 << 20)), Level::Ok),
            (room(1 << 40, None), Level::Ok),
            (room(LITTLE_ROOM, None), Level::Ok),
            (room(LITTLE_ROOM - 1, None), Level::Warning),
            (room(NO_ROOM - 1, None), Level::Problem),
            (room(0, Some(0)), Level::Problem),
            (room(1 << 40, Some(FEW_FILES - 1)), Level::Problem),
            (None, Level::Warning),
        ] {
            assert_eq!(disk(Path::new("/state"), room).level, level, "{room:?}");
        }
    }
}
