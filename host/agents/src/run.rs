//! Runs a program that may hang, with a timeout and a limit for its output.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The most bytes that are read of a program's output.
const MOST_OUTPUT: u64 = 16 * 1024 * 1024;

/// A program's output.
#[derive(Clone, Debug)]
pub struct ProgramOutput {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Runs `command` in a process group of its own with `input`, and kills the group at the timeout.
///
/// # Errors
/// Fails if it cannot be started, or does not end in time.
pub fn run_program(
    mut command: Command,
    input: &[u8],
    limit: Duration,
) -> io::Result<ProgramOutput> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let deadline = Instant::now() + limit;
    let mut child = command.spawn()?;
    let (stdout, stderr) = (child.stdout.take().map(reader), child.stderr.take().map(reader));
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input is judged by its output.
        let _ = stdin.write_all(input);
    }
    let ended = wait(&mut child, deadline);
    let late = || {
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("it did not answer within {} s", limit.as_secs()),
        )
    };
    let text = |reader: Option<Receiver<Vec<u8>>>| {
        let left =
            deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(200));
        let bytes =
            reader.map(|reader| reader.recv_timeout(left).map_err(|_| late())).transpose()?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
    };
    let said = ended.and_then(|status| {
        let code = status.ok_or_else(late)?.code();
        Ok(ProgramOutput { code, stdout: text(stdout)?, stderr: text(stderr)? })
    });
    if said.is_err() {
        end(&mut child);
    }
    said
}

/// Reads on a separate thread: a program that fills one pipe must not block until the other is
/// emptied.
fn reader(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = (&mut from).take(MOST_OUTPUT).read_to_end(&mut bytes);
        // After the timeout nobody receives it.
        let _ = sender.send(bytes);
    });
    receiver
}

fn wait(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn end(child: &mut Child) {
    // The process may have ended by itself by now.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> io::Result<ProgramOutput> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        run_program(command, b"in", limit)
    }

    #[test]
    fn output_code_and_silence_are_distinguished() {
        let said = sh("cat; echo err >&2", Duration::from_secs(20)).unwrap();
        assert_eq!(
            (said.code, said.stdout.as_str(), said.stderr.as_str()),
            (Some(0), "in", "err\n")
        );
        assert_eq!(sh("exit 3", Duration::from_secs(20)).unwrap().code, Some(3));
        assert_eq!(
            sh("sleep 60 & wait", Duration::from_millis(300)).unwrap_err().kind(),
            io::ErrorKind::TimedOut
        );
        assert_eq!(
            sh("sleep 60 &", Duration::from_millis(300)).unwrap_err().kind(),
            io::ErrorKind::TimedOut,
            "what holds its output"
        );
        assert!(run_program(Command::new("/nowhere"), b"", Duration::from_secs(1)).is_err());
    }
}
