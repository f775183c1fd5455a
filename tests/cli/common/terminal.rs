//! A person at a terminal: runs a command on a terminal of its own and types the word that it asks for.

use super::site::Site;
use anyhow::{Context, Result, anyhow, ensure};
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// How long a command may be silent before a test gives it up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a terminal showed.
#[derive(Debug)]
pub struct Shown {
    /// The exit code.
    pub code: Option<i32>,
    /// Everything that was on the screen.
    pub text: String,
}

/// What the person answers when asked to type a word.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The word.
    Word,
    /// Something else.
    Text(&'a str),
}

impl Site {
    /// Runs one of our commands at a terminal.
    pub fn at_a_terminal(&self, arguments: &[&str], answer: Answer<'_>, environment: &[(&str, &str)]) -> Result<Shown> {
        let ours = self.command(&[]);
        let words: Vec<String> = std::iter::once(self.binary().display().to_string())
            .chain(arguments.iter().map(|word| (*word).to_owned()))
            .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
            .collect();
        // `script` gives a terminal to what it starts; our own binary is what it starts.
        let mut script = Command::new("script");
        script.args(["--quiet", "--flush", "--return", "--command", &words.join(" "), "/dev/null"]);
        script.env_clear().envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PATH", "/usr/bin:/bin");
        script.env("TERM", "dumb").env("SHELL", "/bin/sh").envs(environment.iter().copied());
        self.as_its_user(&mut script);
        script.current_dir(self.project()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = script.spawn().context("cannot start `script` of util-linux, which gives tests a terminal")?;
        let shown = converse(&mut child, answer);
        if shown.is_err() {
            drop(child.kill());
        }
        let code = child.wait()?.code();
        Ok(Shown { code, text: shown?.replace('\r', "") })
    }
}

fn converse(child: &mut Child, answer: Answer<'_>) -> Result<String> {
    // Open until the command ends: an end of input would hang the terminal up.
    let mut keyboard = child.stdin.take().ok_or_else(|| anyhow!("no keyboard"))?;
    let screen = read_on(child.stdout.take().ok_or_else(|| anyhow!("no screen"))?);
    let (mut text, mut typed) = (String::new(), false);
    loop {
        match screen.recv_timeout(PATIENCE) {
            Ok(part) => text.push_str(&String::from_utf8_lossy(&part)),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(text),
            Err(mpsc::RecvTimeoutError::Timeout) => return Err(anyhow!("nothing happened after `{text}`")),
        }
        if let Some(word) = asked_for(&text).filter(|_| !typed) {
            let word = match answer {
                Answer::Word => word,
                Answer::Text(other) => other,
            };
            keyboard.write_all(format!("{word}\n").as_bytes())?;
            typed = true;
        }
    }
}

fn asked_for(text: &str) -> Option<&str> {
    let (_, rest) = text.rsplit_once("Type `")?;
    rest.strip_suffix("` to go on: ")
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
    /// It ended with that code and those words were on the screen.
    pub fn ended(&self, code: i32, words: &[&str]) -> Result<()> {
        ensure!(self.code == Some(code), "it ended with {:?}: {}", self.code, self.text);
        for word in words {
            ensure!(self.text.contains(word), "`{word}` is missing in `{}`", self.text);
        }
        Ok(())
    }
}
