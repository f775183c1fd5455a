//! A client that writes and reads lines as they are.

use crate::site::Site;
use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The longest wait for a line, and for the end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A gateway, or a server without one.
#[derive(Debug)]
pub(crate) struct Connection {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    errors: Option<JoinHandle<String>>,
}

impl Connection {
    /// Starts the gateway in front of the scripted server.
    pub(crate) fn open(site: &Site) -> Result<Self> {
        Self::start(site.gateway(&site.server()))
    }

    /// Starts a command with three pipes.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let mut child = command.spawn().context("cannot start the gateway")?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or_else(|| anyhow!("no output"))?;
        let mut errors = child.stderr.take().ok_or_else(|| anyhow!("no errors"))?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            loop {
                let mut line = Vec::new();
                match output.read_until(b'\n', &mut line) {
                    Ok(read) if read > 0 && sender.send(line).is_ok() => {}
                    _ => break,
                }
            }
        });
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            // The error shows the lines that were read.
            let _ = errors.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        Ok(Self { child, input, lines, errors: Some(errors) })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let input = self.input.as_mut().ok_or_else(|| anyhow!("the input is closed"))?;
        input.write_all(bytes).and_then(|()| input.flush()).context("cannot write")
    }

    /// Writes a message.
    pub(crate) fn send(&mut self, message: &Value) -> Result<()> {
        self.write(format!("{message}\n").as_bytes())
    }

    /// Returns the next line.
    pub(crate) fn read(&mut self) -> Result<Vec<u8>> {
        self.read_within(PATIENCE)?.ok_or_else(|| anyhow!("no line came"))
    }

    /// Returns the next line that comes in that time.
    pub(crate) fn read_within(&mut self, time: Duration) -> Result<Option<Vec<u8>>> {
        Ok(self.lines.recv_timeout(time).ok())
    }

    /// Returns the next message.
    pub(crate) fn receive(&mut self) -> Result<Value> {
        let line = self.read()?;
        serde_json::from_slice(&line)
            .with_context(|| format!("no JSON: {}", String::from_utf8_lossy(&line)))
    }

    /// Sends a request and returns its answer; messages before it are dropped.
    pub(crate) fn request(&mut self, id: u64, method: &str, params: Value) -> Result<Value> {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let message = self.receive()?;
            if message.get("id") == Some(&id.into()) && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Result<Value> {
        self.request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Returns the names of the first page of tools.
    pub(crate) fn list(&mut self, id: u64) -> Result<Vec<String>> {
        let answer = self.request(id, "tools/list", json!({}))?;
        let tools = answer["result"]["tools"].as_array();
        let tools = tools.ok_or_else(|| anyhow!("no list: {answer}"))?;
        Ok(tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect())
    }

    /// Closes the input; returns the rest of the output, the errors, and the exit status.
    pub(crate) fn close(mut self) -> Result<(Vec<Vec<u8>>, String, ExitStatus)> {
        drop(self.input.take());
        self.wait()
    }

    /// Waits for the end; returns the rest of the output, the errors, and the exit status.
    pub(crate) fn wait(&mut self) -> Result<(Vec<Vec<u8>>, String, ExitStatus)> {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if Instant::now() > end {
                self.child.kill()?;
                bail!("the gateway did not end");
            }
            thread::sleep(Duration::from_millis(5));
        };
        let rest = self.lines.iter().collect();
        let errors = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        Ok((rest, errors, status))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Most have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
