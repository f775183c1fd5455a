//! Passes one end of a pipe to a child, by its descriptor number.

use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Lets children inherit a descriptor. Drop it when the child is started: another child that is
/// started in between inherits it too.
pub(crate) fn lend(end: impl AsFd) -> io::Result<i32> {
    fcntl_setfd(&end, FdFlags::empty())?;
    Ok(end.as_fd().as_raw_fd())
}

/// Opens the reading end with that number.
pub(crate) fn reader(number: i32) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{number}"))
}

/// Opens the writing end with that number.
pub(crate) fn writer(number: i32) -> io::Result<File> {
    OpenOptions::new().write(true).open(format!("/proc/self/fd/{number}"))
}

/// Marks everything that is open now, apart from the standard streams, as close-on-exec:
/// descriptors that were passed to this process, and those that its parent left open.
pub(crate) fn close_fds_on_exec() {
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
}
