//! Asks a program for a credential: a password manager's, or a helper of docker's.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// The interval between checks that it has ended.
const POLL: Duration = Duration::from_millis(5);

/// The answer of a program that ended.
#[derive(Debug)]
pub struct ProgramAnswer {
    /// True if it ended with 0.
    pub is_success: bool,
    /// Its output, up to the limit.
    pub output: Vec<u8>,
}

/// Runs a program, gives it `input`, and returns its answer; `None` if it did not end before the
/// deadline, after which it is killed. At most `most` bytes of its output are read, and nothing of its
/// standard error, which may repeat a credential.
///
/// # Errors
/// Fails if the program cannot be started.
pub fn ask_program(
    command: &mut Command,
    input: &[u8],
    most: u64,
    deadline: Instant,
) -> io::Result<Option<ProgramAnswer>> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let answer = talk(&mut child, input, most, deadline);
    // It may not have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
    Ok(answer)
}

fn talk(child: &mut Child, input: &[u8], most: u64, deadline: Instant) -> Option<ProgramAnswer> {
    // A program that does not read its input is judged by its output.
    let _ = child.stdin.take()?.write_all(input);
    let stdout = child.stdout.take()?;
    let (says, said) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stdout.take(most).read_to_end(&mut bytes);
        says.send(bytes)
    });
    let output = said.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                return Some(ProgramAnswer { is_success: status.success(), output });
            }
            Ok(None) if Instant::now() < deadline => thread::sleep(POLL),
            Ok(None) | Err(_) => return None,
        }
    }
}
