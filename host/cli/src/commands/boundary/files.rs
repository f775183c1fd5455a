//! A user's files, for commands that compare or restore them as the user of the service.
//!
//! ```text
//! root   starts   hand-files --start--> hand-files, as the files' user, without root's terminal
//!  |                                         ^  |
//!  becomes the service's user  -- requests --+  +-- answers
//! ```
//!
//! The command itself then knows the records, and the other process the files; neither has a right
//! to what is the other's, and none of both is root. The pipes between them belong to the service's
//! user, so that nobody else of the files' user can speak on them.

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use portcullis_checkpoint::{Allowed, FileAccess, FilePort, answer_request};
use portcullis_config::boundary::{Boundary, find_first_group};
use portcullis_config::paths::own_program;
use portcullis_protocol::{Reply, Request, read_message, write_message};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{geteuid, setsid};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::fchown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The command of the process that hands files over. Only root's process starts it.
pub const COMMAND: &str = "hand-files";
/// Its argument while it is root, before the user and the group.
const START: &str = "--start";
/// The variable with the numbers of both pipes.
const PIPES: &str = "PORTCULLIS_FILES_OF_USER";

/// The files of the user whose records this process opened.
static FILES: OnceLock<FileAccess> = OnceLock::new();

/// Returns the access to the files of the user whose records this process opened, if root's process
/// arranged one.
pub fn handed_files() -> Option<FileAccess> {
    FILES.get().cloned()
}

/// Starts the process that hands a user's files over; sets up a command that is to ask it. Both
/// pipes end with the command.
pub fn hand_files_to(
    command: &mut Command,
    boundary: &Boundary,
    user: u32,
) -> Result<Vec<OwnedFd>> {
    let group = find_first_group(user)?.unwrap_or(user);
    let (asked, asks) = io::pipe().context("cannot create a pipe")?;
    let (answered, answers) = io::pipe().context("cannot create a pipe")?;
    let mut helper = Command::new(own_program().context("this program is not found")?);
    helper.args([COMMAND, START, &user.to_string(), &group.to_string()]);
    // Root's variables are nothing for the user.
    helper.env_clear().current_dir("/");
    helper.stdin(asked).stdout(answers).stderr(Stdio::null());
    helper.spawn().context("cannot start the process that hands the user's files over")?;
    let lend = |end: OwnedFd| -> io::Result<OwnedFd> {
        fchown(&end, Some(boundary.user), None)?;
        fcntl_setfd(end.as_fd(), FdFlags::empty())?;
        Ok(end)
    };
    let ends = [answered.into(), asks.into()].map(lend);
    let ends: Vec<OwnedFd> =
        ends.into_iter().collect::<io::Result<_>>().context("cannot pass a pipe on")?;
    let numbers: Vec<String> = ends.iter().map(|end| end.as_raw_fd().to_string()).collect();
    command.env(PIPES, numbers.join(","));
    Ok(ends)
}

/// Takes the pipes that root's process arranged, if it did.
pub fn take_handed_files() -> Result<()> {
    let Some(numbers) = std::env::var(PIPES).ok() else { return Ok(()) };
    let opened = numbers.split_once(',').and_then(|(answers, requests)| {
        let place =
            |number: &str| Some(PathBuf::from(format!("/dev/fd/{}", number.parse::<u32>().ok()?)));
        Some((place(answers)?, place(requests)?))
    });
    let Some((answers, requests)) = opened else {
        return Err(Error::invalid(format!("`{PIPES}` does not name two pipes")));
    };
    let answers = File::open(answers).context("cannot read what the user's process hands over")?;
    let requests = OpenOptions::new().write(true).open(requests);
    let requests = requests.context("cannot ask the user's process")?;
    let pipes = UserPipes(Mutex::new(Pipes { answers, requests }));
    // Nobody else sets it.
    let _set = FILES.set(FileAccess::through(pipes));
    Ok(())
}

/// The pipes to the process of the files' user.
struct UserPipes(Mutex<Pipes>);

struct Pipes {
    answers: File,
    requests: File,
}

impl FilePort for UserPipes {
    fn ask(&self, request: &[u8]) -> io::Result<Vec<u8>> {
        let mut pipes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        write_message(&mut pipes.requests, &Reply::Files(request.to_vec()))
            .map_err(io::Error::other)?;
        match read_message(&mut pipes.answers).map_err(io::Error::other)? {
            Request::Files(answer) => Ok(answer),
            _ => Err(io::Error::other("the user's process answered something else")),
        }
    }

    /// The failed look says it.
    fn reject(&self, _why: &str) {}
}

/// Hands files over as their user, until nobody asks any more; returns the process's exit code.
pub fn run_hand_files(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let exit = match arguments.as_slice() {
        [start, user, group] if start == START => become_user(user, group),
        [] if !geteuid().is_root() => answer_all(),
        _ => CommandExit::Rejected,
    };
    exit.code()
}

/// Becomes the files' user, in a session of its own: whoever controls that user's processes must
/// not reach the terminal of root.
fn become_user(user: &OsString, group: &OsString) -> CommandExit {
    let number = |text: &OsString| text.to_str().and_then(|text| text.parse::<u32>().ok());
    let (Some(user), Some(group)) = (number(user), number(group)) else {
        return CommandExit::Rejected;
    };
    let started = setsid().map_err(io::Error::from).and_then(|_| own_program());
    // Setting the user removes all further groups.
    started.map_or(CommandExit::Failure, |program| {
        let _error = Command::new(program).arg(COMMAND).uid(user).gid(group).exec();
        CommandExit::Failure
    })
}

fn answer_all() -> CommandExit {
    let (mut requests, mut answers) = (io::stdin().lock(), io::stdout().lock());
    while let Ok(Reply::Files(request)) = read_message(&mut requests) {
        let answer = Request::Files(answer_request(&request, Allowed::Change));
        if write_message(&mut answers, &answer).is_err() {
            return CommandExit::Failure;
        }
    }
    CommandExit::Success
}
