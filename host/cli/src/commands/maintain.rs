//! `portcullis maintain`: the work that no hook should wait for. One instance at a time.

use crate::config::Config;
use crate::places::{Pins, Places};
use anyhow::{Context, Result};
use portcullis_store::{Home, Store};
use std::fs::{OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Moves the journal's log into its database, so that the next hook need not read it.
pub fn run() -> Result<u8> {
    let places = Places::from_environment()?;
    let home = Home::open(&places.state)?;
    let path = home.path().join("maintain.lock");
    let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let lock = lock.with_context(|| format!("cannot open `{}`", path.display()))?;
    match lock.try_lock() {
        Ok(()) => {}
        // Another instance does it.
        Err(TryLockError::WouldBlock) => return Ok(0),
        Err(TryLockError::Error(error)) => return Err(error).with_context(|| format!("cannot lock `{}`", path.display())),
    }
    let durability = Config::load(&places, Some(&home)).map(|config| config.durability).unwrap_or_default();
    let mut store = Store::open(&home, durability)?;
    if store.checkpoint_due() {
        store.checkpoint()?;
    }
    Ok(0)
}

/// Starts `maintain` in a process group of its own, without our descriptors: the client that waits for
/// this hook must not wait for it, and its time limit must not end it.
pub fn start_detached() {
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    command.arg("maintain").args(Pins::arguments()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    // Where it cannot be started the log grows until a commit empties it itself.
    drop(command.spawn());
}
