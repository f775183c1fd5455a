//! Passes a message to a program.

use crate::channel::ProgramChannel;
use crate::failure::{Delivered, DeliveryFailure};
use crate::message::Notification;
use portcullis_core::text::strip_quotes;
use portcullis_credentials::CredentialReader;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// The environment variables that a program gets.
const VARIABLES: &[&str] = &["PATH", "HOME", "LANG"];
/// The most bytes that are kept of its standard error.
const STDERR_BYTES: u64 = 4 << 10;
/// The time for which its standard error is read after its end: a process that left its group may
/// hold the pipe open for ever.
const STDERR_TIMEOUT: Duration = Duration::from_millis(200);
const POLL: Duration = Duration::from_millis(10);
/// The exit code for "try again" (EX_TEMPFAIL), among those from 64 to 78 that mean a mistake of
/// the caller.
const TRY_AGAIN: i32 = 75;

/// A program that can be started.
pub(crate) struct CheckedProgram {
    program: ProgramChannel,
    variables: Vec<(&'static str, OsString)>,
}

impl CheckedProgram {
    pub(crate) fn new(
        program: &ProgramChannel,
        reader: &dyn CredentialReader,
    ) -> Result<Self, DeliveryFailure> {
        let name = program.path.display();
        if !program.path.is_absolute() {
            return Err(DeliveryFailure::give_up(
                format!("the program `{name}` is not an absolute path"),
                "write the path from `/` on",
            ));
        }
        if !program.path.is_file() {
            return Err(DeliveryFailure::give_up(
                format!("there is no program `{name}`"),
                "install it, or correct its path",
            ));
        }
        if program.arguments.iter().any(|argument| argument.contains('\0')) {
            return Err(DeliveryFailure::give_up(
                format!("an argument of `{name}` holds a NUL"),
                "take it out",
            ));
        }
        let variables =
            VARIABLES.iter().filter_map(|name| Some((*name, reader.variable(name)?))).collect();
        Ok(Self { program: program.clone(), variables })
    }

    pub(crate) fn send(
        &self,
        message: &Notification,
        deadline: Instant,
    ) -> Result<Delivered, DeliveryFailure> {
        let name = self.program.path.display().to_string();
        let input = serde_json::to_vec(message).unwrap_or_default();
        let mut command = Command::new(&self.program.path);
        command
            .args(&self.program.arguments)
            .env_clear()
            .envs(self.variables.iter().cloned())
            .current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| {
            DeliveryFailure::give_up(
                format!("the program `{name}` cannot be started ({error})"),
                "make it executable",
            )
        })?;
        let complaint = feed_and_read(&mut child, input);
        let ended = wait(&child, deadline);
        // Processes that it left in its group are killed too, before the group's id can be reused.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        let status = child.wait();
        match (ended, status) {
            (false, _) => Err(DeliveryFailure::retry(
                format!("the program `{name}` did not end in time and was killed"),
                "make it faster, or find out what it waits for",
            )),
            (true, Ok(status)) if status.success() => {
                Ok(Delivered { what: format!("the program `{name}` accepted it") })
            }
            (true, status) => {
                let code = status.ok().and_then(|status| status.code());
                Err(refused(
                    &name,
                    code,
                    &complaint.recv_timeout(STDERR_TIMEOUT).unwrap_or_default(),
                ))
            }
        }
    }
}

/// Feeds the program and reads its standard error, each on a thread: no pipe may block the others.
fn feed_and_read(child: &mut Child, input: Vec<u8>) -> Receiver<String> {
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input is judged by its exit.
        thread::spawn(move || stdin.write_all(&input));
    }
    let (says, said) = sync_channel(1);
    if let Some(mut stderr) = child.stderr.take() {
        thread::spawn(move || {
            let mut kept = Vec::new();
            let _ = (&mut stderr).take(STDERR_BYTES).read_to_end(&mut kept);
            // Excess output is discarded, so that the program can end.
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
            let _ = says.send(String::from_utf8_lossy(&kept).into_owned());
        });
    }
    said
}

/// Returns true if it ended in time. It is not reaped yet, so that its process group stays its own.
fn wait(child: &Child, deadline: Instant) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::Pid(Pid::from_child(child)), options) {
            Ok(None) | Err(Errno::INTR) => {}
            Ok(Some(_)) | Err(_) => return true,
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::sleep(left.min(POLL));
    }
}

fn refused(name: &str, code: Option<i32>, complaint: &str) -> DeliveryFailure {
    let ended = code
        .map_or_else(|| "was ended by a signal".to_owned(), |code| format!("ended with {code}"));
    let what = match complaint.trim() {
        "" => format!("the program `{name}` {ended}"),
        complaint => format!("the program `{name}` {ended}: \"{}\"", strip_quotes(complaint, 120)),
    };
    match code {
        Some(64..=78) if code != Some(TRY_AGAIN) => {
            DeliveryFailure::give_up(what, "fix the program or its arguments")
        }
        Some(126 | 127) => DeliveryFailure::give_up(what, "fix what the program starts"),
        _ => DeliveryFailure::retry(what, "look at its message; it will be retried"),
    }
}
