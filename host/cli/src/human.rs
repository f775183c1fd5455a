//! Tells a person at a terminal from an agent: what loosens the guard is for people alone.
//!
//! Three hurdles: no agent's marks in the environment, no agent's client among the processes above this
//! one, and a word that is shown and typed on the controlling terminal. They keep an agent from doing
//! it by the way. They do not hold off one that runs as the same user and sets out to deceive: that is
//! for the review itself, which refuses these commands, and for a managed install.

use anyhow::{Context, Result, bail};
use std::env;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};

/// Variables that agents' clients set for what they start.
const MARKS: &[&str] = &["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "GEMINI_CLI", "CODEX_SANDBOX", "OPENCODE"];
/// Programs that are agents' clients.
const CLIENTS: &[&str] = &["claude", "codex", "gemini", "opencode"];
/// What the command line of a client that runs in an interpreter holds.
const PACKAGES: &[&str] = &["@anthropic-ai/claude-code", "@openai/codex", "@google/gemini-cli"];
/// How far up the processes are looked at.
const MOST_PARENTS: usize = 64;
/// The most that is read of an answer.
const MOST_ANSWER: u64 = 256;

/// Has a person at the terminal confirm `what`, a sentence that says what will happen.
///
/// # Errors
/// An agent runs this, there is no terminal, or the person did not type the word.
pub fn confirm(what: &str) -> Result<()> {
    refuse_agents()?;
    let word = word()?;
    let mut terminal = terminal()?;
    write!(terminal, "{what}\nType `{word}` to go on: ").and_then(|()| terminal.flush()).context("cannot write to the terminal")?;
    let mut answer = String::new();
    BufReader::new(terminal.take(MOST_ANSWER)).read_line(&mut answer).context("cannot read from the terminal")?;
    if answer.trim() != word {
        bail!("not confirmed: nothing was changed");
    }
    Ok(())
}

/// Refuses where an agent runs this.
///
/// # Errors
/// An agent's client is seen in the environment or among the processes above this one.
pub fn refuse_agents() -> Result<()> {
    let mark = MARKS.iter().find(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    let agent = match mark {
        Some(mark) => Some(format!("{mark} is set")),
        None => client_above().map(|client| format!("`{client}` started it")),
    };
    match agent {
        Some(why) => bail!("an agent runs this command ({why}): only a person may, in a terminal of their own"),
        None => Ok(()),
    }
}

fn terminal() -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty")
        .context("there is no terminal to confirm this on: run it in a terminal of your own")
}

/// Five letters that can be said: nobody types them by accident, and no script knows them before.
fn word() -> Result<String> {
    let mut bytes = [0; 5];
    File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes)).context("cannot read `/dev/urandom`")?;
    let letters = [b"bdfgklmnprst".as_slice(), b"aeiou"];
    let letter = |(index, byte): (usize, &u8)| {
        let from = letters.get(index % 2).copied().unwrap_or_default();
        char::from(from.get(usize::from(*byte) % from.len().max(1)).copied().unwrap_or(b'a'))
    };
    Ok(bytes.iter().enumerate().map(letter).collect())
}

/// The first agent's client among the processes above this one.
fn client_above() -> Option<String> {
    let mut process = std::os::unix::process::parent_id();
    for _ in 0..MOST_PARENTS {
        if process <= 1 {
            return None;
        }
        let (name, line, parent) = look(process)?;
        if CLIENTS.contains(&name.as_str()) || PACKAGES.iter().any(|package| line.contains(package)) {
            return Some(name);
        }
        process = parent;
    }
    None
}

/// A process's name, its command line and its parent.
#[cfg(target_os = "linux")]
fn look(process: u32) -> Option<(String, String, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may hold parentheses itself.
    let (head, rest) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
    let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    Some((name, String::from_utf8_lossy(&line).replace('\0', " "), parent))
}

/// A process's name, its command line and its parent.
#[cfg(not(target_os = "linux"))]
fn look(process: u32) -> Option<(String, String, u32)> {
    let output = std::process::Command::new("/bin/ps").args(["-o", "ppid=,command=", "-p", &process.to_string()]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let (parent, line) = text.split_once(' ')?;
    let program = line.trim().split(' ').next().unwrap_or_default();
    Some((program.rsplit('/').next().unwrap_or_default().to_owned(), line.to_owned(), parent.parse().ok()?))
}
