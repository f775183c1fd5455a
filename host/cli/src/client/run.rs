//! Runs a program that may not answer: bounded in time and in what is read of it.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The most that is read of a program's output, in bytes.
const MOST_OUTPUT: u64 = 16 * 1024 * 1024;

/// What a program said.
#[derive(Clone, Debug)]
pub struct Said {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Runs `command` in a process group of its own with `input`, and ends the group at the limit.
///
/// # Errors
/// It cannot be started, or did not end in time.
pub fn run(mut command: Command, input: &[u8], limit: Duration) -> io::Result<Said> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let deadline = Instant::now() + limit;
    let mut child = command.spawn()?;
    let (stdout, stderr) = (child.stdout.take().map(reader), child.stderr.take().map(reader));
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input is judged by what it says.
        let _ = stdin.write_all(input);
    }
    let ended = wait(&mut child, deadline);
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("it did not answer within {} s", limit.as_secs()));
    let text = |reader: Option<Receiver<Vec<u8>>>| {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(200));
        let bytes = reader.map(|reader| reader.recv_timeout(left).map_err(|_| late())).transpose()?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
    };
    let said = ended.and_then(|status| {
        let code = status.ok_or_else(late)?.code();
        Ok(Said { code, stdout: text(stdout)?, stderr: text(stderr)? })
    });
    if said.is_err() {
        end(&mut child);
    }
    said
}

/// Reads on a thread of its own: a program that fills one pipe must not wait for us to empty the other.
fn reader(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = (&mut from).take(MOST_OUTPUT).read_to_end(&mut bytes);
        // Nobody waits for it any more after the limit.
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
    // It may have ended since, which is what was wanted.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> io::Result<Said> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        run(command, b"in", limit)
    }

    #[test]
    fn output_code_and_silence_are_told_apart() {
        let said = sh("cat; echo err >&2", Duration::from_secs(20)).unwrap();
        assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (Some(0), "in", "err\n"));
        assert_eq!(sh("exit 3", Duration::from_secs(20)).unwrap().code, Some(3));
        assert_eq!(sh("sleep 60 & wait", Duration::from_millis(300)).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(sh("sleep 60 &", Duration::from_millis(300)).unwrap_err().kind(), io::ErrorKind::TimedOut, "what holds its output");
        assert!(run(Command::new("/nowhere"), b"", Duration::from_secs(1)).is_err());
    }
}
