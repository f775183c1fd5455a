//! Runs a program that may hang, with a timeout and a limit for its output.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
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
    let late = || late(limit);
    let text = |reader: Option<Receiver<Vec<u8>>>| {
        let left =
            // The output of a program that has just ended may still be on its way.
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

/// Runs a program that serves until its input ends: passes it `input`, returns its lines up to the
/// one that `is_last`, and kills its process group.
///
/// # Errors
/// Fails if it cannot be started, ends or does not answer with such a line in time.
pub fn ask_program(
    mut command: Command,
    input: &[u8],
    limit: Duration,
    is_last: impl Fn(&str) -> bool,
) -> io::Result<String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let deadline = Instant::now() + limit;
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    let answered = child.stdout.take().map_or_else(
        || Err(io::Error::other("it has no output")),
        |stdout| {
            let lines = lines_of(stdout);
            // Its input stays open: a server ends with it, maybe before it has answered.
            let mut stdin = stdin;
            if let Some(stdin) = &mut stdin {
                stdin.write_all(input)?;
                stdin.flush()?;
            }
            let mut said = String::new();
            loop {
                let left = deadline.saturating_duration_since(Instant::now());
                let line = lines.recv_timeout(left).map_err(|error| match error {
                    RecvTimeoutError::Timeout => late(limit),
                    RecvTimeoutError::Disconnected => {
                        io::Error::other("it ended without an answer")
                    }
                })?;
                said.push_str(&line);
                said.push('\n');
                if is_last(&line) {
                    return Ok(said);
                }
            }
        },
    );
    end(&mut child);
    answered
}

/// Reads lines on a separate thread, up to the limit for its output.
fn lines_of(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(from.take(MOST_OUTPUT)).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn late(limit: Duration) -> io::Error {
    let why = format!("it did not answer within {} s", limit.as_secs());
    io::Error::new(io::ErrorKind::TimedOut, why)
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
    fn a_server_is_asked_and_ended() {
        let ask = |script: &str, limit: u64| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            ask_program(command, b"hello\n", Duration::from_millis(limit), |line| line == "last")
        };
        let answer = ask("read x; echo $x; echo last; echo more; sleep 60", 20_000).unwrap();
        assert_eq!(answer, "hello\nlast\n");
        assert_eq!(ask("sleep 60", 300).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(ask("read x; exit 1", 20_000).unwrap_err().kind(), io::ErrorKind::Other);
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
