//! A server on standard input and output behind an address: the same scripts serve both transports.

use crate::http::{Server, begin_events, end_events, respond, respond_json, write_event};
use crate::site::Site;
use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The time in which the answer to a request comes, if it comes.
const PATIENCE: Duration = Duration::from_secs(3);

/// A server behind an address. It is killed with this value.
pub(crate) struct Front {
    server: Server,
    child: Child,
}

struct Ends {
    input: Mutex<ChildStdin>,
    /// Its lines. Who waits for an answer holds it.
    lines: Mutex<Receiver<Vec<u8>>>,
    answers: AtomicUsize,
}

impl Front {
    /// Starts the command of a server, and a server for HTTP before it.
    pub(crate) fn start(site: &Site, words: &[String]) -> Result<Self> {
        let (program, words) = words.split_first().ok_or_else(|| anyhow!("no program"))?;
        let mut command = Command::new(program);
        site.surround(&mut command);
        let mut child = command
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let input = child.stdin.take().ok_or_else(|| anyhow!("no input"))?;
        let output = child.stdout.take().ok_or_else(|| anyhow!("no output"))?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                match output.read_until(b'\n', &mut line) {
                    Ok(read) if read > 0 && sender.send(line).is_ok() => {}
                    _ => return,
                }
            }
        });
        let answers = AtomicUsize::new(0);
        let ends = Ends { input: Mutex::new(input), lines: Mutex::new(lines), answers };
        let handler = move |request: &crate::http::Request, stream: &mut TcpStream| match request
            .method
            .as_str()
        {
            "POST" => ends.post(&request.body, stream).map(|()| true),
            "GET" => ends.listen(stream).map(|()| false),
            _ => respond(stream, 405, "", b"").map(|()| true),
        };
        Ok(Self { server: Server::start(Arc::new(handler))?, child })
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ends {
    fn post(&self, body: &[u8], stream: &mut TcpStream) -> io::Result<()> {
        // A server that reads loosely answers what it takes for a request.
        let message: Value = serde_json::from_slice(body).unwrap_or_default();
        let id = message.get("id").filter(|_| message.get("method").is_some());
        let lines = id.map(|_| self.lines.lock());
        if let Ok(mut input) = self.input.lock() {
            input.write_all(&[body, b"\n"].concat())?;
            input.flush()?;
        }
        let (Some(id), Some(Ok(lines))) = (id, lines) else {
            return respond(stream, 202, "", b"");
        };
        let mut found = Vec::new();
        let mut answered = false;
        while !answered {
            let Ok(line) = lines.recv_timeout(PATIENCE) else { break };
            let line = line.strip_suffix(b"\n").unwrap_or(&line).to_vec();
            let read: Value = serde_json::from_slice(&line).unwrap_or_default();
            answered = read.get("id") == Some(id) && read.get("method").is_none();
            found.push(line);
        }
        // Both forms of an answer, in turn.
        let plain = self.answers.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        if let ([line], true) = (found.as_slice(), plain) {
            return respond_json(stream, 200, line);
        }
        begin_events(stream, "")?;
        found.iter().try_for_each(|line| write_event(stream, line))?;
        end_events(stream)
    }

    fn listen(&self, stream: &mut TcpStream) -> io::Result<()> {
        begin_events(stream, "")?;
        loop {
            let line = self.lines.lock().ok().and_then(|lines| lines.try_recv().ok());
            match line {
                Some(line) => write_event(stream, line.strip_suffix(b"\n").unwrap_or(&line))?,
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}
