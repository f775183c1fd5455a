//! A client that stays for several prompts, like an interactive one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::case::Turn;
use crate::model::{Conversation, Model};
use crate::run::{self, Programs, STATE};
use crate::scratch::Scratch;
use portcullis_tests::process;

/// The timeout of an answer.
const LIMIT: Duration = Duration::from_secs(60);

/// The client and the scripted model. Dropping it ends the client.
pub(crate) struct Staying {
    child: Child,
    input: Option<ChildStdin>,
    stream: Receiver<Value>,
    model: Option<Model>,
    mark: String,
}

impl Staying {
    /// Starts it; it waits for a prompt.
    pub(crate) fn start(scratch: &Scratch, programs: &Programs, turns: &[Turn]) -> Result<Self> {
        let model = Model::start(turns, &BTreeMap::new())?;
        let mut command = Command::new(&programs.client);
        command.args([
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
        ]);
        command.args(["--permission-mode", "bypassPermissions", "--include-hook-events"]);
        run::surround(&mut command, scratch, &model.url());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(scratch.root().join("staying.err"))?)
            .process_group(0);
        let mut child = command.spawn().context("cannot start the client")?;
        let (sender, stream) = channel();
        let output = BufReader::new(child.stdout.take().context("the client has no output")?);
        std::thread::spawn(move || {
            let lines = output
                .lines()
                .map_while(Result::ok)
                .filter_map(|line| serde_json::from_str(&line).ok());
            let _ = lines.map(|line| sender.send(line)).find(Result::is_err);
        });
        let mark = format!("{STATE}={}", scratch.state().display());
        Ok(Self { input: child.stdin.take(), child, stream, model: Some(model), mark })
    }

    /// Sends a prompt and returns the client's output to the end of its turn.
    pub(crate) fn prompt(&mut self, prompt: &str) -> Result<Vec<Value>> {
        let line = json!({ "type": "user", "message": { "role": "user", "content": prompt } });
        writeln!(self.input.as_mut().context("the client has no input")?, "{line}")?;
        let mut said = Vec::new();
        while said.last().is_none_or(|line: &Value| line["type"] != "result") {
            said.push(
                self.stream
                    .recv_timeout(LIMIT)
                    .with_context(|| format!("the turn did not end after {:?}", said.last()))?,
            );
        }
        Ok(said)
    }

    /// Ends it, and returns the requests to the model.
    pub(crate) fn end(mut self) -> Result<Conversation> {
        drop(self.input.take());
        self.model.take().context("it was ended before")?.finish()
    }
}

impl Drop for Staying {
    fn drop(&mut self) {
        process::end_marked(&self.mark);
        let _ = self.child.wait();
    }
}
