//! A person at a terminal: runs a command on a terminal of its own and types the requested input.

use anyhow::{Context, Result, anyhow, ensure};
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// The longest silence of a command before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// The prompt of `portcullis run` about a call.
pub const CALL: &str = "Let it run? [y/N] ";

/// The output of a terminal.
#[derive(Debug)]
pub struct Shown {
    /// The exit code.
    pub code: Option<i32>,
    /// What is on the screen in the end.
    pub text: String,
    /// Everything that was on it, also what other text replaced.
    pub seen: String,
}

/// The person's answer.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The requested word.
    Word,
    /// Another text instead of that word.
    Text(&'a str),
    /// Whole lines, each once the screen ends with the text before it.
    Lines(&'a [(&'a str, &'a str)]),
    /// The keys for each call that `portcullis run` asks about, in order; none for those after the
    /// last.
    Keys(&'a [&'a str]),
}

/// Creates a command that runs these words at a terminal; the caller sets folder, environment and
/// user.
#[must_use]
pub fn script(words: &[String]) -> Command {
    let words: Vec<String> =
        words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    // A shell that stays in between would end by a signal that the program handles.
    let line = format!("exec {}", words.join(" "));
    // `script` gives a terminal to the program that it starts.
    let mut script = Command::new("script");
    script.args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"]);
    script
}

/// Runs it to its end.
///
/// # Errors
/// Fails if it cannot be started, or if it is silent for too long.
pub fn converse(mut script: Command, answer: Answer<'_>) -> Result<Shown> {
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = script
        .spawn()
        .context("cannot start `script` of util-linux, which gives tests a terminal")?;
    let shown = talk(&mut child, answer);
    if shown.is_err() {
        drop(child.kill());
    }
    let code = child.wait()?.code();
    let seen = shown?;
    let text = seen.split('\n').map(overwrite).collect::<Vec<_>>().join("\n");
    Ok(Shown { code, text, seen: seen.replace('\r', "") })
}

/// Returns what stands in a line in the end: text after a return to its beginning replaces what was
/// there.
fn overwrite(line: &str) -> String {
    let line = line.trim_end_matches('\r');
    if !line.contains('\r') {
        return line.to_owned();
    }
    let mut shown: Vec<char> = Vec::new();
    for part in line.split('\r') {
        let part: Vec<char> = part.chars().collect();
        let kept = part.len().min(shown.len());
        shown.splice(..kept, part);
    }
    shown.iter().collect::<String>().trim_end().to_owned()
}

fn talk(child: &mut Child, answer: Answer<'_>) -> Result<String> {
    // It stays open until the command ends: an end of input would hang up the terminal.
    let mut keyboard = child.stdin.take().context("no keyboard")?;
    let screen = read_on(child.stdout.take().context("no screen")?);
    let (mut text, mut typed) = (String::new(), 0);
    loop {
        match screen.recv_timeout(PATIENCE) {
            Ok(part) => text.push_str(&String::from_utf8_lossy(&part)),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(text),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                return Err(anyhow!("nothing happened after `{text}`"));
            }
        }
        if let Some(keys) = asked_for(&text, answer, typed) {
            keyboard.write_all(keys.as_bytes())?;
            keyboard.flush()?;
            typed += 1;
        }
    }
}

/// Returns the next text to type, if it is requested.
fn asked_for(text: &str, answer: Answer<'_>, typed: usize) -> Option<String> {
    let word = || {
        let (_, rest) = text.rsplit_once("Type `")?;
        rest.strip_suffix("` to go on: ").filter(|_| typed == 0)
    };
    match answer {
        Answer::Word => word().map(|word| format!("{word}\n")),
        Answer::Text(other) => word().map(|_| format!("{other}\n")),
        Answer::Lines(lines) => lines
            .get(typed)
            .filter(|(question, _)| text.ends_with(question))
            .map(|(_, line)| format!("{line}\n")),
        Answer::Keys(keys) if text.matches(CALL).count() > typed => {
            keys.get(typed).map(|keys| (*keys).to_owned())
        }
        Answer::Keys(_) => None,
    }
}

fn read_on(mut screen: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut part = [0; 4096];
        loop {
            match screen.read(&mut part) {
                Ok(0) => return,
                Ok(read) => drop(sender.send(part.get(..read).unwrap_or_default().to_vec())),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
    receiver
}

impl Shown {
    /// Checks that it ended with that code and that those words were on the screen.
    ///
    /// # Errors
    /// Fails if the code differs, or if a word is missing.
    pub fn ended(&self, code: i32, words: &[&str]) -> Result<()> {
        ensure!(self.code == Some(code), "it ended with {:?}: {}", self.code, self.text);
        for word in words {
            ensure!(self.text.contains(word), "`{word}` is missing in `{}`", self.text);
        }
        Ok(())
    }
}

/// A person at a terminal who reads and types as a test goes on. The program is killed when this is
/// dropped.
#[derive(Debug)]
pub struct Session {
    child: Child,
    keyboard: ChildStdin,
    screen: Receiver<Vec<u8>>,
    text: String,
}

impl Session {
    /// Starts a command that [`script`] made.
    ///
    /// # Errors
    /// Fails if it cannot be started.
    pub fn start(mut script: Command) -> Result<Self> {
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = script
            .spawn()
            .context("cannot start `script` of util-linux, which gives tests a terminal")?;
        let keyboard = child.stdin.take().context("no keyboard")?;
        let screen = read_on(child.stdout.take().context("no screen")?);
        Ok(Self { child, keyboard, screen, text: String::new() })
    }

    /// Waits until a text is on the screen, and returns what was there before and after it so far.
    /// The next wait looks only at what comes after the text.
    ///
    /// # Errors
    /// Fails if it does not come for too long.
    pub fn await_text(&mut self, wanted: &str) -> Result<String> {
        loop {
            if let Some(at) = self.text.find(wanted) {
                let rest = self.text.split_off(at + wanted.len());
                return Ok(std::mem::replace(&mut self.text, rest));
            }
            let part = self
                .screen
                .recv_timeout(PATIENCE)
                .with_context(|| format!("`{wanted}` is not on the screen: `{}`", self.text))?;
            self.text.push_str(&String::from_utf8_lossy(&part).replace('\r', ""));
        }
    }

    /// Types keys.
    ///
    /// # Errors
    /// Fails if the program has ended.
    pub fn type_keys(&mut self, keys: &str) -> Result<()> {
        self.keyboard.write_all(keys.as_bytes())?;
        Ok(self.keyboard.flush()?)
    }

    /// Waits for the end of the program, and returns its exit code.
    ///
    /// # Errors
    /// Fails if it does not end for too long.
    pub fn await_end(mut self) -> Result<Option<i32>> {
        loop {
            match self.screen.recv_timeout(PATIENCE) {
                Ok(part) => self.text.push_str(&String::from_utf8_lossy(&part)),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(self.child.wait()?.code()),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    return Err(anyhow!("it does not end: `{}`", self.text));
                }
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended. Its terminal ends with `script`, and what runs there is hung up.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
