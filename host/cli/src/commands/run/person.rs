//! Asks the person at the terminal whether a call may run.
//!
//! The terminal is the controlling one, not standard input: that can hold the prompt. An agent that starts `run` is
//! not asked in a person's place.

use crate::human;
use portcullis_core::text::one_line;
use portcullis_run::Question;
use rustix::process::getpgrp;
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The most that is read of an answer.
const MOST_ANSWER: u64 = 256;
/// How long a call's input may be on the screen.
const MOST_INPUT: usize = 1000;
/// How often it is looked whether the agent still waits.
const LOOK: Duration = Duration::from_millis(100);

/// A person who can be asked.
pub struct Person(File);

impl Person {
    /// Whoever sits at the terminal, or why nobody can be asked.
    ///
    /// # Errors
    /// There is no terminal, this runs in the background of it, or an agent runs this.
    pub fn here() -> Result<Self, String> {
        human::refuse_agents().map_err(|error| format!("{error:#}"))?;
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").map_err(|_| "there is no terminal".to_owned())?;
        match tcgetpgrp(&terminal) {
            // Reading from the background would halt this process, and the limits with it.
            Ok(group) if group == getpgrp() => Ok(Self(terminal)),
            _ => Err("this runs in the background of its terminal".to_owned()),
        }
    }

    /// Whether the call may run; none when the agent ended while the person thought about it.
    pub fn ask(&self, question: &Question, reason: &str, is_over: impl Fn() -> bool) -> Option<bool> {
        let (tool, input) = (one_line(&question.tool, 64), one_line(&question.input.to_string(), MOST_INPUT));
        let text = format!("\n{tool} wants to run: {input}\n  {}\nLet it run? [y/N] ", one_line(reason, 400));
        // What was typed before the question was shown is no answer to it.
        tcflush(&self.0, QueueSelector::IFlush).ok()?;
        let mut terminal = self.0.try_clone().ok()?;
        write!(terminal, "{text}").and_then(|()| terminal.flush()).ok()?;
        let (sender, answer) = channel();
        // Where the agent ends first this reads on until the process ends, a moment later.
        thread::spawn(move || {
            let mut said = String::new();
            let read = BufReader::new(terminal.take(MOST_ANSWER)).read_line(&mut said);
            let _ = sender.send(read.is_ok() && matches!(said.trim(), "y" | "Y" | "yes"));
        });
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(allowed) => return Some(allowed),
                Err(RecvTimeoutError::Disconnected) => return Some(false),
                Err(RecvTimeoutError::Timeout) if is_over() => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}
