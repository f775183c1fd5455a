//! Runs a program to its end or its deadline.

use anyhow::{Context, Result, bail};
use portcullis_tests::process::start_program;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The end of a program.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: String,
}

impl Ended {
    /// Returns its standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Formats everything, for a message.
    pub fn all(&self) -> String {
        let short: String = self.text().chars().take(3000).collect();
        let complaint: String = self.stderr.chars().take(3000).collect();
        format!("exit {:?}, stdout `{}`, stderr `{}`", self.code, short.trim(), complaint.trim())
    }
}

/// Runs a program with this input. It is killed at its deadline, which is an error.
pub fn run(mut command: Command, input: &[u8], limit: Duration) -> Result<Ended> {
    command.stdin(Stdio::piped());
    run_started(command, input, limit)
}

/// Runs a program with the standard input that the command has.
pub fn run_with_its_input(command: Command, limit: Duration) -> Result<Ended> {
    run_started(command, b"", limit)
}

fn run_started(mut command: Command, input: &[u8], limit: Duration) -> Result<Ended> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        start_program(&mut command).with_context(|| format!("cannot start `{name}`"))?;
    let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let fed = feed(&mut child, input.to_vec());
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            bail!("`{name}` did not end within {} s", limit.as_secs());
        }
        thread::sleep(Duration::from_millis(1));
    };
    let gathered = |handle: JoinHandle<Vec<u8>>| handle.join().unwrap_or_default();
    // A program may end without reading all of its input.
    drop(fed.join());
    Ok(Ended {
        code: status.code(),
        stdout: gathered(stdout),
        stderr: String::from_utf8_lossy(&gathered(stderr)).into_owned(),
    })
}

/// Reads a stream to its end in a thread of its own.
pub fn drain(stream: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // The bytes before a read error count.
            let _ = stream.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn feed(child: &mut Child, input: Vec<u8>) -> JoinHandle<()> {
    let stdin = child.stdin.take();
    thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(&input);
        }
    })
}
