//! The machine under the guard: its clock and its disk.

use super::finding::{Check, Finding};
use crate::amount::{size, span};
use crate::paint;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Clocks of one machine differ by less, in milliseconds.
const JITTER: u64 = 2 * 60 * 1000;
/// Less than this and the next commits fail: a commit, its log, a compiled plugin.
const NO_ROOM: u64 = 16 * 1024 * 1024;
/// Less than this is told while there is time.
const LITTLE_ROOM: u64 = 256 * 1024 * 1024;
/// Less than this and new files soon fail.
const FEW_FILES: u64 = 256;

/// Compares the clock with the newest record and with the program's own date, all in milliseconds since
/// 1970.
pub fn clock(now: u64, newest: Option<u64>, program: Option<u64>) -> Finding {
    let ahead = newest.unwrap_or(0).saturating_sub(now);
    if ahead > JITTER {
        let what = format!(
            "the newest record is of {} UTC, {} after now ({} UTC): the clock was set back, or was wrong then",
            paint::time(newest.unwrap_or(0)),
            span(ahead),
            paint::time(now)
        );
        let mend = "set the clock (`timedatectl set-ntp true`); if it is right now, this passes by itself at that time";
        return Finding::problem(Check::Clock, what, mend);
    }
    if program.is_some_and(|made| made > now.saturating_add(JITTER)) {
        let what = format!("the clock says {} UTC, which is before this program was written", paint::time(now));
        return Finding::problem(Check::Clock, what, "set the clock (`timedatectl set-ntp true`)");
    }
    Finding::ok(Check::Clock, format!("{} UTC, after the newest record", paint::time(now)))
}

/// When this program was written to the disk.
pub fn program_made() -> Option<u64> {
    let modified = std::env::current_exe().and_then(fs::metadata).and_then(|found| found.modified()).ok()?;
    u64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// What is left on a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes that this user can still write.
    pub bytes: u64,
    /// Files that this user can still make; none where the volume does not count them.
    pub files: Option<u64>,
}

/// What is left on the volume that holds `path`, or the nearest folder above it that exists.
pub fn room(path: &Path) -> Option<Room> {
    let there = path.ancestors().find(|folder| folder.exists())?;
    let found = rustix::fs::statvfs(there).ok()?;
    let bytes = found.f_bavail.saturating_mul(found.f_frsize);
    Some(Room { bytes, files: (found.f_files > 0).then_some(found.f_favail) })
}

/// The volume that holds `path`; none where nothing is there.
pub fn device(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|found| found.dev())
}

/// Judges what is left for a folder of ours.
pub fn disk(path: &Path, room: Option<Room>) -> Finding {
    let shown = path.display();
    let Some(room) = room else {
        return Finding::warning(Check::Disk, format!("cannot tell how much room `{shown}` has"), "look at its volume: `df -h`");
    };
    let left = size(room.bytes);
    let mend = format!("free space on the volume of `{shown}`: without it each action is refused");
    match room {
        Room { bytes, .. } if bytes < NO_ROOM => {
            Finding::problem(Check::Disk, format!("no room for the journal: {left} left for `{shown}`"), mend)
        }
        Room { files: Some(files), .. } if files < FEW_FILES => {
            Finding::problem(Check::Disk, format!("no room for the journal: {files} more files fit on the volume of `{shown}`"), mend)
        }
        Room { bytes, .. } if bytes < LITTLE_ROOM => Finding::warning(Check::Disk, format!("{left} left for `{shown}`"), mend),
        _ => Finding::ok(Check::Disk, format!("{left} left for `{shown}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
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

    #[test]
    fn a_full_disk_is_named_before_it_is_full() {
        let room = |bytes, files| Some(Room { bytes, files });
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
