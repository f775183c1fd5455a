//! Asks the person at the terminal whether a call may run.
//!
//! The terminal is the controlling one, not standard input, which can hold the prompt. An agent
//! that starts `run` is not asked in a person's place.

pub use super::answer::PersonAnswer;

use super::view::format_amount;
use crate::interactive;
use portcullis_core::text::{cut_text, list_lines, one_line};
use portcullis_run::{Question, RunLimit};
use rustix::process::getpgrp;
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};
use serde_json::{Map, Value};
use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// The most bytes that are read of an answer.
const MOST_ANSWER: u64 = 256;
/// The most bytes of a call's input that are shown.
const MOST_INPUT: usize = 4000;
/// The interval between checks that the agent still waits.
const LOOK: Duration = Duration::from_millis(100);

/// A person who can be asked.
pub struct Person {
    terminal: File,
    patience: Option<Duration>,
    /// Requests one more line.
    wanted: SyncSender<()>,
    lines: Receiver<String>,
    /// True while a line is being read that an earlier question no longer waits for.
    reading: Cell<bool>,
}

impl Person {
    /// Returns the person at the terminal, with `patience` as their time to answer; or why nobody
    /// can be asked.
    ///
    /// # Errors
    /// Fails if there is no terminal, if this runs in the background of it, or if an agent runs
    /// this.
    pub fn at_terminal(patience: Option<Duration>) -> Result<Self, String> {
        interactive::refuse_agents().map_err(|error| format!("{error:#}"))?;
        let terminal = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/tty")
            .map_err(|_| "there is no terminal".to_owned())?;
        match tcgetpgrp(&terminal) {
            // Reading in the background would suspend this process, and with it the enforcement of
            // limits.
            Ok(group) if group == getpgrp() => {}
            _ => return Err("this runs in the background of its terminal".to_owned()),
        }
        let input = terminal
            .try_clone()
            .map_err(|error| format!("the terminal cannot be read: {error}"))?;
        let (wanted, lines) = reader(input);
        Ok(Self { terminal, patience, wanted, lines, reading: Cell::new(false) })
    }

    /// Asks whether the call may run; `None` if the agent ended before the person answered.
    pub fn ask_person(
        &self,
        question: &Question,
        reason: &str,
        is_over: impl Fn() -> bool,
    ) -> Option<PersonAnswer> {
        // Input typed before the question was shown is not an answer to it.
        tcflush(&self.terminal, QueueSelector::IFlush).ok()?;
        while self.lines.try_recv().is_ok() {
            self.reading.set(false);
        }
        let within = self
            .patience
            .map(|patience| {
                format!(
                    "(no after {}) ",
                    format_amount(
                        RunLimit::Time,
                        u64::try_from(patience.as_millis()).unwrap_or(u64::MAX)
                    )
                )
            })
            .unwrap_or_default();
        self.show(&format!("{}Let it run? [y/N] {within}", format_question(question, reason)))?;
        if !self.reading.replace(true) {
            self.wanted.send(()).ok()?;
        }
        let asked = Instant::now();
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(said) => {
                    self.reading.set(false);
                    let yes =
                        ["y", "yes"].iter().any(|word| said.trim().eq_ignore_ascii_case(word));
                    return Some(if yes { PersonAnswer::Yes } else { PersonAnswer::No });
                }
                Err(RecvTimeoutError::Disconnected) => return Some(PersonAnswer::No),
                Err(RecvTimeoutError::Timeout) if is_over() => return None,
                Err(RecvTimeoutError::Timeout)
                    if self.patience.is_some_and(|patience| asked.elapsed() >= patience) =>
                {
                    self.show("\nnobody answered in time: it is refused\n")?;
                    return Some(PersonAnswer::Late);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn show(&self, text: &str) -> Option<()> {
        let mut terminal = &self.terminal;
        terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush()).ok()
    }
}

/// Formats what the agent wants, and why a person is asked. A command is shown as it would run,
/// line by line.
fn format_question(question: &Question, reason: &str) -> String {
    let mut rest = question.input.clone();
    let mut input = Vec::new();
    if let Some(object) = rest.as_object_mut()
        && let Some(command) = object.get("command").and_then(Value::as_str).map(str::to_owned)
    {
        input.push(cut_visibly(list_lines(&command, usize::MAX)));
        object.remove("command");
        // The description is the agent's own claim.
        object.remove("description");
    }
    if !rest.as_object().is_some_and(Map::is_empty) {
        input.push(cut_visibly(one_line(&rest.to_string(), usize::MAX)));
    }
    let input = input.join("\n").lines().map(|line| format!("  {line}\n")).collect::<String>();
    format!(
        "\nThe agent wants to use {}:\n{input}{}\n",
        one_line(&question.tool, 64),
        one_line(reason, 400)
    )
}

/// Cuts a long text visibly, so that nobody allows something without knowing that a part is hidden.
fn cut_visibly(shown: String) -> String {
    let rest = shown.len().saturating_sub(MOST_INPUT);
    if rest == 0 {
        shown
    } else {
        format!("{}\n(about {rest} more bytes are not shown)", cut_text(&shown, MOST_INPUT))
    }
}

/// Reads a line on request and nothing else: anything else that a person types is for the shell. A
/// read cannot be cancelled, so a late line is still consumed, by the next question or never.
fn reader(terminal: File) -> (SyncSender<()>, Receiver<String>) {
    let (wanted, wants) = sync_channel(1);
    let (sender, lines) = channel();
    thread::spawn(move || {
        while wants.recv().is_ok() {
            let mut said = Vec::new();
            let read = BufReader::new((&terminal).take(MOST_ANSWER)).read_until(b'\n', &mut said);
            if read.is_err() || sender.send(String::from_utf8_lossy(&said).into_owned()).is_err() {
                return;
            }
        }
    });
    (wanted, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_question_shows_what_would_run_and_nothing_that_paints() {
        for (tool, input, expected) in [
            ("Bash", json!({"command": "ls", "description": "harmless"}), "Bash:\n  ls\nwhy\n"),
            ("Bash", json!({"command": "a\nb"}), "Bash:\n  a\n  b\nwhy\n"),
            ("Bash", json!({"command": "a\rb\u{1b}[2J"}), "Bash:\n  a\\u{d}b\\u{1b}[2J\nwhy\n"),
            (
                "Bash",
                json!({"command": "ls", "timeout": 5}),
                "Bash:\n  ls\n  {\"timeout\":5}\nwhy\n",
            ),
            (
                "Write",
                json!({"file_path": "/a", "content": "x\ny"}),
                "Write:\n  {\"file_path\":\"/a\",\"content\":\"x\\ny\"}\nwhy\n",
            ),
            ("Bash", json!({"command": 1}), "Bash:\n  {\"command\":1}\nwhy\n"),
            ("Odd", json!("text"), "Odd:\n  \"text\"\nwhy\n"),
        ] {
            let request = json!({"subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": "t"});
            let question = Question::parse_question(
                &json!({"type": "control_request", "request_id": "r", "request": request}),
            )
            .unwrap();
            assert_eq!(
                format_question(&question, "why"),
                format!("\nThe agent wants to use {expected}"),
                "{input}"
            );
        }
    }

    #[test]
    fn a_cut_is_visible() {
        assert_eq!(cut_visibly("…".to_owned()), "…");
        assert!(
            cut_visibly("a\n".repeat(MOST_INPUT))
                .ends_with("(about 4000 more bytes are not shown)")
        );
        assert!(
            cut_visibly(format!("{}…", "a".repeat(MOST_INPUT)))
                .ends_with("(about 3 more bytes are not shown)")
        );
    }
}
