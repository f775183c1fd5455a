//! The process that becomes the agent.

use crate::group::Cgroup;
use crate::protocol::{LauncherArgs, arguments};
use crate::{fd_passing, landlock};
use rustix::process::{Signal, getppid, set_parent_process_death_signal, setsid};
use std::convert::Infallible;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// Runs the launcher: call it with the arguments after its word, and exit with the returned code.
/// It returns only if the agent does not start.
pub fn launcher_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    // Without its watcher's arguments there is nothing to start, and nobody to report to.
    let Some((launch, command)) = arguments::<LauncherArgs>(args) else { return ExitCode::FAILURE };
    let Ok(mut refusal) = fd_passing::writer(launch.refusal) else { return ExitCode::FAILURE };
    fd_passing::close_fds_on_exec();
    let Err(reason) = become_agent(&launch, &command);
    let _ = refusal.write_all(reason.as_bytes());
    ExitCode::FAILURE
}

fn become_agent(launch: &LauncherArgs, command: &[OsString]) -> Result<Infallible, String> {
    let (program, rest) = command.split_first().ok_or("there is no command")?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("it cannot be bound to its watcher: {error}"))?;
    // The watcher can have died before the kernel was asked to watch it.
    if getppid().is_none_or(|parent| parent.as_raw_pid() != launch.watcher) {
        return Err("its watcher is gone".to_owned());
    }
    // The launcher does not lead a group, since it was just forked: this cannot fail.
    let _ = setsid();
    if let Some(folder) = &launch.group {
        Cgroup::at(folder.clone()).join();
    }
    // The confinement comes last, since joining the cgroup is a write that it may forbid.
    landlock::confine(&launch.confinement)?;
    Err(hint(&Command::new(program).args(rest).exec()))
}

fn hint(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("{error}: install it, or name it by its path"),
        io::ErrorKind::PermissionDenied => format!("{error}: make it executable"),
        _ => error.to_string(),
    }
}
