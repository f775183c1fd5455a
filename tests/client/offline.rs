//! Moves the test into a network namespace that has the loopback interface alone, where that is
//! permitted. Elsewhere the closed proxy of `run` is what holds tools back.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// Set in the process that runs inside.
const INSIDE: &str = "PORTCULLIS_TEST_OFFLINE";

/// The ways in, for the superuser and for others. The first one that works is taken.
const DOORS: [&[&str]; 2] = [&["--net"], &["--map-root-user", "--net"]];

/// Starts this program anew inside, and returns only where that cannot be had or was done.
pub(crate) fn enter() -> Result<bool> {
    if env::var_os(INSIDE).is_some() {
        return Ok(true);
    }
    let Some(door) = DOORS.into_iter().find(|door| opens(door)) else {
        return Ok(false);
    };
    let program = env::current_exe().context("cannot find this program")?;
    let mut command = door_command(door, "ip link set lo up && exec \"$0\" \"$@\"");
    Err(command.arg(program).args(env::args_os().skip(1)).env(INSIDE, "1").exec()).context("cannot start `unshare`")
}

fn opens(door: &[&str]) -> bool {
    let mut command = door_command(door, "ip link set lo up");
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn door_command(door: &[&str], script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(door).args(["sh", "-c", script]);
    command
}
