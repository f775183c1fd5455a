//! Lends one end of a pipe to a child, which knows it by its number.

use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Lets children inherit a descriptor. Drop it when the child is started: another child that is started in between
/// gets it too.
pub(crate) fn lend(end: impl AsFd) -> io::Result<i32> {
    fcntl_setfd(&end, FdFlags::empty())?;
    Ok(end.as_fd().as_raw_fd())
}

/// The reading end of that number.
pub(crate) fn reader(number: i32) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{number}"))
}

/// The writing end of that number.
pub(crate) fn writer(number: i32) -> io::Result<File> {
    OpenOptions::new().write(true).open(format!("/proc/self/fd/{number}"))
}

/// Nothing that is open now, apart from the standard streams, goes on to children: neither what was lent to this
/// process nor what whoever started it left open.
pub(crate) fn keep_from_children() {
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
}
