//! Runs a program to its end or its deadline, and kills leftover processes.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The results of a program.
#[derive(Debug)]
pub struct Ended {
    /// True if it ended by itself with code 0.
    pub success: bool,
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Starts a program. One that was just written may be open for writing in a process that another
/// test has begun to start at that moment; it closes it at once.
///
/// # Errors
/// Fails if the system refuses.
pub fn start_program(command: &mut Command) -> io::Result<Child> {
    for _ in 0..100 {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
    command.spawn()
}

/// Runs `command` with no input, in a process group of its own. Its output goes to `log.out` and
/// `log.err`, so that a program that outlives it cannot block the test.
///
/// # Errors
/// Fails if it cannot be started, or does not end within `limit`.
pub fn run(mut command: Command, log: &Path, limit: Duration) -> Result<Ended> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (out, err) = (log.with_extension("out"), log.with_extension("err"));
    command
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .process_group(0);
    let mut child =
        start_program(&mut command).with_context(|| format!("cannot start `{name}`"))?;
    let Some(status) = wait(&mut child, Instant::now() + limit)? else {
        end(&mut child)?;
        bail!("`{name}` did not end within {} s; see `{}`", limit.as_secs(), out.display());
    };
    Ok(Ended {
        success: status.success(),
        code: status.code(),
        stdout: fs::read_to_string(out)?,
        stderr: fs::read_to_string(err)?,
    })
}

/// Kills every process whose environment contains `mark`, an assignment that only one run has: a
/// client starts processes in sessions of their own, outside any group. It reads `/proc`, so it
/// finds none on a system without that folder.
pub fn end_marked(mark: &str) {
    for id in marked(mark) {
        // An error means that it has already ended.
        let _ = kill_process(id, Signal::KILL);
    }
}

/// Returns the processes whose environment contains `mark`.
#[must_use]
pub fn marked(mark: &str) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let marked = processes.filter(|process| {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|assignment| assignment == mark.as_bytes())
    });
    marked
        .filter_map(|process| {
            process.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
        })
        .collect()
}

fn wait(child: &mut Child, deadline: Instant) -> Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        sleep(Duration::from_millis(10));
    }
}

/// Asks the group to end, then kills it.
fn end(child: &mut Child) -> Result<()> {
    let group = Pid::from_child(child);
    kill_process_group(group, Signal::TERM)?;
    if wait(child, Instant::now() + Duration::from_secs(3))?.is_none() {
        kill_process_group(group, Signal::KILL)?;
        child.wait()?;
    }
    Ok(())
}
