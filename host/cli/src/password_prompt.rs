//! Asks for a secret at the terminal, without echo.
//!
//! The terminal is the controlling one, not standard input. Its settings are restored after the
//! question, even if it is not answered: the keys that would end this process are read as keys, and
//! cancel.

use crate::error::{Context, Error, Result};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};

/// The most bytes of an answer.
const LONGEST: usize = 1024;
/// Ctrl-C, Ctrl-D, backspace in its two forms, Ctrl-U.
const KEYS: (u8, u8, [u8; 2], u8) = (0x03, 0x04, [0x08, 0x7f], 0x15);

/// Returns the line that is typed after `question`.
///
/// # Errors
/// Fails if there is no terminal, or if the person did not answer.
pub fn read_password(question: &str) -> Result<String> {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let mut terminal = opened.map_err(|_| {
        Error::refused("there is no terminal to ask for the passphrase").with_hint(
            "run it in your own terminal, or name a file that holds it: `--passphrase-file FILE`",
        )
    })?;
    let mut silent = EchoOff::new(terminal.try_clone().context("cannot use the terminal")?)?;
    write!(terminal, "{question}: ")
        .and_then(|()| terminal.flush())
        .context("cannot write to the terminal")?;
    let answer = line(&mut silent.terminal);
    drop(silent);
    writeln!(terminal).context("cannot write to the terminal")?;
    answer
}

/// A terminal without echo that delivers each key at once.
struct EchoOff {
    terminal: File,
    before: Termios,
}

impl EchoOff {
    fn new(terminal: File) -> Result<Self> {
        let before = tcgetattr(&terminal).context("cannot read how the terminal is set")?;
        let mut silent = before.clone();
        silent.local_modes -=
            LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG | LocalModes::IEXTEN;
        // Input typed before the question is not an answer to it.
        tcsetattr(&terminal, OptionalActions::Flush, &silent)
            .context("cannot have the terminal hide what is typed")?;
        Ok(Self { terminal, before })
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        // Nothing can be done if it fails.
        let _as_before = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}

fn line(keys: &mut impl Read) -> Result<String> {
    let (cancel, end, back, clear) = KEYS;
    let mut typed = Vec::new();
    let mut key = [0];
    loop {
        let read = keys.read(&mut key).context("cannot read from the terminal")?;
        match key {
            _ if read == 0 => {
                return Err(Error::refused("the terminal was closed: nothing was done"));
            }
            [b'\r' | b'\n'] => break,
            [byte] if byte == cancel || (byte == end && typed.is_empty()) => {
                return Err(Error::refused("interrupted: nothing was done"));
            }
            [byte] if byte == end => break,
            [byte] if byte == clear => typed.clear(),
            [byte] if back.contains(&byte) => {
                // Removes a whole character: up to and including the byte that begins it.
                while typed.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            [byte] if typed.len() < LONGEST => typed.push(byte),
            _ => return Err(Error::invalid(format!("more than {LONGEST} bytes were typed"))),
        }
    }
    String::from_utf8(typed).context("the input is not valid UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_a_line() {
        for (keys, expected) in [
            ("secret\n", Some("secret")),
            ("secret\rmore", Some("secret")),
            ("sx\x7fecret\n", Some("secret")),
            ("sä\x08ecret\n", Some("secret")),
            ("\x08\x7fsecret\n", Some("secret")),
            ("wrong\x15secret\n", Some("secret")),
            ("secret\x04", Some("secret")),
            ("\n", Some("")),
            ("sec\x03", None),
            ("\x04", None),
            ("sec", None),
        ] {
            assert_eq!(line(&mut keys.as_bytes()).ok().as_deref(), expected, "{keys:?}");
        }
        assert!(line(&mut "x".repeat(LONGEST + 1).as_bytes()).is_err());
        assert!(line(&mut b"\xff\n".as_slice()).is_err());
    }
}
