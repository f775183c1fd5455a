//! What a user can send to the service without our hook.

use super::machine::{SOCKET, User};
use anyhow::{Context, Result, anyhow};
use portcullis_checkpoint::{Allowed, answer_request};
use portcullis_protocol::{Reply, Request, ReviewRequest, read_message, write_message};
use serde_json::Value;
use std::io::Write;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Passes bytes between its standard streams and the socket. The system sees that the user's process
/// has connected.
const RELAY: &str = "
import os, socket, sys, threading
link = socket.socket(socket.AF_UNIX)
link.connect(sys.argv[1])
def up():
    while True:
        data = os.read(0, 65536)
        if not data:
            return link.shutdown(socket.SHUT_WR)
        link.sendall(data)
threading.Thread(target=up, daemon=True).start()
while True:
    data = link.recv(65536)
    if not data:
        break
    os.write(1, data)
";

/// A connection that a user has made.
pub struct Relay {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
}

impl Relay {
    pub fn connect(user: &User) -> Result<Self> {
        Self::start(user.command("python3"))
    }

    /// Connects as a process that is root in a namespace of the user's own.
    pub fn connect_as_own_root(user: &User) -> Result<Self> {
        let mut command = user.command("unshare");
        command.args(["--user", "--map-root-user", "python3"]);
        Self::start(command)
    }

    fn start(mut command: Command) -> Result<Self> {
        command.args(["-c", RELAY, SOCKET]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().context("cannot start python3")?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| anyhow!("no output"))?;
        Ok(Self { child, stdin, stdout })
    }

    pub fn send(&mut self, request: &Request) -> Result<()> {
        let stdin = self.stdin.as_mut().ok_or_else(|| anyhow!("closed"))?;
        Ok(write_message(stdin, request)?)
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let stdin = self.stdin.as_mut().ok_or_else(|| anyhow!("closed"))?;
        stdin.write_all(bytes)?;
        Ok(stdin.flush()?)
    }

    /// Sends nothing more.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Returns the next reply; an error if the service closes the connection.
    pub fn receive(&mut self) -> Result<Reply> {
        Ok(read_message(&mut self.stdout)?)
    }

    /// Answers a request about files truly, as root.
    pub fn hand_files(&mut self, request: &[u8]) -> Result<()> {
        self.send(&Request::Files(answer_request(request, Allowed::Read)))
    }

    /// Returns the service's last word, after the same findings for each question.
    pub fn answer_all(&mut self, findings: &[u8]) -> Result<Reply> {
        loop {
            match self.receive()? {
                Reply::Question(_) => self.send(&Request::Findings(findings.to_vec()))?,
                Reply::Files(request) => self.hand_files(&request)?,
                Reply::Waiting(_) => {}
                last => return Ok(last),
            }
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// Returns the request of a user's hook for an event.
pub fn request(user: &User, event: &Value) -> ReviewRequest {
    let home = user.home().into_os_string();
    ReviewRequest {
        agent: "claude".to_owned(),
        arguments: Vec::new(),
        timeout: 30,
        process: 1,
        parent: 1,
        folder: user.project(),
        variables: [("HOME".into(), home)].into(),
        payload: event.to_string().into_bytes(),
    }
}

/// Returns it as the hook sends it, without a project.
pub fn across(review: ReviewRequest) -> Request {
    let files = br#"{"project":null,"real_project":null,"files":{}}"#;
    Request::ReviewAcross(Box::new(review), files.to_vec())
}
