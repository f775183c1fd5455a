//! Moves the test into a network namespace with only the loopback interface, if that is permitted.
//! Otherwise the closed proxy of `run` blocks the tools.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// The variable that marks the process inside.
const INSIDE: &str = "PORTCULLIS_TEST_OFFLINE";

/// The ways in, for root and for others. The first one that works is used.
const DOORS: [&[&str]; 2] = [&["--net"], &["--map-root-user", "--net"]];

/// Restarts this program inside, and returns only if that is impossible or was already done.
pub(crate) fn enter() -> Result<bool> {
    if env::var_os(INSIDE).is_some() {
        return Ok(true);
    }
    let Some(door) = DOORS.into_iter().find(|door| opens(door)) else {
        return Ok(false);
    };
    let program = env::current_exe().context("cannot find this program")?;
    let mut command = door_command(door, "ip link set lo up && exec \"$0\" \"$@\"");
    Err(command.arg(program).args(env::args_os().skip(1)).env(INSIDE, "1").exec())
        .context("cannot start `unshare`")
}

fn opens(door: &[&str]) -> bool {
    let mut command = door_command(door, "ip link set lo up");
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn door_command(door: &[&str], script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(door).args(["sh", "-c", script]);
    command
}
