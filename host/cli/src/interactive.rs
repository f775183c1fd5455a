//! Distinguishes a person at a terminal from an agent: only people may loosen the guard.
//!
//! There are three hurdles: no agent's marks in the environment, no agent's client among the
//! ancestors of this process, and a word that is shown and typed on the controlling terminal. They
//! keep an agent from doing it incidentally. They do not stop an agent that runs as the same user
//! and sets out to deceive: that is the task of the review itself, which refuses these commands,
//! and of a managed install.

use crate::error::{Context, Error, Result};
use crate::paint;
use portcullis_agents::PROFILES;
use portcullis_core::client::ClientProfile;
use portcullis_terminal::wrap;
use std::env;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};

/// The number of parent processes that are looked at.
const MOST_PARENTS: usize = 64;
/// The most bytes that are read of an answer.
const MOST_ANSWER: u64 = 256;

/// Asks the person at the terminal to confirm `what`, a sentence that says what will happen.
///
/// # Errors
/// Fails if an agent runs this, if there is no terminal, or if the person did not type the word.
pub fn confirm_action(what: &str) -> Result<()> {
    refuse_agents()?;
    let word = new_word()?;
    let mut terminal = open_terminal()?;
    let what = wrap::fit_text(what, paint::terminal_width(&terminal), 2);
    write!(terminal, "{what}\nType `{word}` to go on: ")
        .and_then(|()| terminal.flush())
        .context("cannot write to the terminal")?;
    let mut answer = String::new();
    BufReader::new(terminal.take(MOST_ANSWER))
        .read_line(&mut answer)
        .context("cannot read from the terminal")?;
    if answer.trim() != word {
        return Err(Error::refused("not confirmed: nothing was changed"));
    }
    Ok(())
}

/// Checks that no agent runs this command.
///
/// # Errors
/// Fails if an agent's client is found in the environment or among the ancestors of this process.
pub fn refuse_agents() -> Result<()> {
    let mut marks = PROFILES.iter().flat_map(|client| client.marks);
    let mark = marks.find(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    let agent = match mark {
        Some(mark) => Some(format!("{mark} is set")),
        None => client_above()?.map(|client| format!("`{client}` started it")),
    };
    match agent {
        Some(why) => {
            Err(Error::refused(format!("an agent runs this command ({why}): only a person may"))
                .with_hint("run it in your own terminal"))
        }
        None => Ok(()),
    }
}

/// Opens the controlling terminal.
///
/// # Errors
/// Fails if there is none.
pub fn open_terminal() -> Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty").map_err(|_| {
        Error::refused("there is no terminal to confirm this on")
            .with_hint("run it in your own terminal")
    })
}

/// Returns five pronounceable letters: nobody types them by accident, and no script knows them in
/// advance.
///
/// # Errors
/// Fails if the system gives no random bytes.
pub fn new_word() -> Result<String> {
    let mut bytes = [0; 5];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .context("cannot read `/dev/urandom`")?;
    let letters = [b"bdfgklmnprst".as_slice(), b"aeiou"];
    let letter = |(index, byte): (usize, &u8)| {
        let from = letters.get(index % 2).copied().unwrap_or_default();
        char::from(from.get(usize::from(*byte) % from.len().max(1)).copied().unwrap_or(b'a'))
    };
    Ok(bytes.iter().enumerate().map(letter).collect())
}

/// Returns the first agent's client among the ancestors of this process.
///
/// # Errors
/// Fails where the ancestors are unknown.
fn client_above() -> Result<Option<String>> {
    let mut id = std::os::unix::process::parent_id();
    for _ in 0..MOST_PARENTS {
        if id <= 1 {
            return Ok(None);
        }
        let Some(process) = look(id)? else { return Ok(None) };
        if process.is_client() {
            return Ok(Some(process.name));
        }
        id = process.parent;
    }
    Ok(None)
}

/// A process above this one.
#[derive(Default)]
struct Process {
    /// The name that the kernel or the process itself gave it.
    name: String,
    /// The file that it runs; empty where this user may not see it.
    program: String,
    arguments: Vec<String>,
    parent: u32,
}

impl Process {
    /// Decided by the program and its script. Words in a shell's command text, or in what a script
    /// is given, tell nothing: a setup script that installs the client and then us names both.
    fn is_client(&self) -> bool {
        // A process that renamed itself has its whole title here: `npm install PACKAGE` is npm.
        let first =
            self.arguments.first().and_then(|first| first.split(' ').next()).unwrap_or_default();
        let named =
            is_client_name(&self.name) || names_client(&self.program) || names_client(first);
        named || self.runs_client(first)
    }

    /// Returns true if this is an interpreter that runs a client's script.
    fn runs_client(&self, first: &str) -> bool {
        let called = |program: &str| {
            INTERPRETERS.iter().find(|known| known.names.contains(&plain_name(program)))
        };
        // A link such as `sh` says how the file behind it reads its arguments.
        let Some(interpreter) = called(first).or_else(|| called(&self.program)) else {
            return false;
        };
        interpreter.runs_client(self.arguments.get(1..).unwrap_or_default())
    }
}

/// The way in which a program that runs scripts reads its arguments.
struct Interpreter {
    names: &'static [&'static str],
    /// Letters of options after which there is text to run, or a module, in place of a script.
    text: &'static str,
    /// The long forms of these.
    long_text: &'static [&'static str],
    /// Options whose value is the next argument.
    valued: &'static [&'static str],
    /// Bare words before the script are subcommands, or values of options that are not listed here.
    bare_words: bool,
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "busybox"],
        text: "cs",
        long_text: &["--command"],
        valued: &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"],
        bare_words: false,
    },
    Interpreter {
        names: &["python", "pypy"],
        text: "cm",
        long_text: &[],
        valued: &["-W", "-X"],
        bare_words: false,
    },
    Interpreter {
        names: &["node", "nodejs", "bun", "bunx", "deno", "tsx", "ts-node", "electron"],
        text: "ep",
        long_text: &["--eval", "--print"],
        valued: &[
            "-r",
            "--require",
            "--import",
            "--loader",
            "--experimental-loader",
            "-C",
            "--conditions",
            "--config",
        ],
        bare_words: true,
    },
];

impl Interpreter {
    fn runs_client(&self, arguments: &[String]) -> bool {
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            if self.takes_text(argument) {
                return false;
            }
            if self.valued.contains(&argument) {
                rest.next();
            } else if !argument.starts_with(['-', '+']) {
                if names_client(argument) {
                    return true;
                }
                // This is the script: the words behind it are its own.
                if !self.bare_words || argument.contains(['/', '.']) {
                    return false;
                }
            }
        }
        false
    }

    fn takes_text(&self, argument: &str) -> bool {
        let short = argument
            .strip_prefix('-')
            .filter(|letters| letters.chars().all(|letter| letter.is_ascii_alphabetic()));
        short.is_some_and(|letters| letters.contains(|letter| self.text.contains(letter)))
            || self.long_text.contains(&argument)
    }
}

/// Returns true if a process with this name is a client.
fn is_client_name(name: &str) -> bool {
    PROFILES.iter().any(|client| client.programs.contains(&name))
}

/// Returns true if a path is that of a client's program or script.
fn names_client(path: &str) -> bool {
    let in_package =
        |client: &&ClientProfile| client.packages.iter().any(|package| path.contains(package));
    is_client_name(plain_name(path)) || PROFILES.iter().any(in_package)
}

/// A program's name without its folders, a script's ending, a login shell's dash and a version
/// (`python3.13`).
fn plain_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let name =
        [".js", ".mjs", ".cjs"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    name.trim_start_matches('-')
        .trim_end_matches(|end: char| end.is_ascii_digit() || "-.".contains(end))
}

#[cfg(target_os = "linux")]
fn look(id: u32) -> Result<Option<Process>> {
    Ok(read_process(id))
}

#[cfg(target_os = "linux")]
fn read_process(id: u32) -> Option<Process> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name may hold parentheses itself.
    let (head, rest) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
    let program = std::fs::read_link(format!("/proc/{id}/exe"))
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    let arguments = line.split_terminator('\0').map(str::to_owned).collect();
    Some(Process { name, program, arguments, parent })
}

/// The sandbox of an agent can forbid to run `ps`: an ancestor that cannot be looked at may be its
/// client.
#[cfg(not(target_os = "linux"))]
fn look(id: u32) -> Result<Option<Process>> {
    use portcullis_review::process_list::{find_process, read_command_line};
    let found = find_process(id).and_then(|found| Ok((found, read_command_line(id)?)));
    let (found, line) = found.map_err(|error| {
        Error::refused(format!("it is unknown whether an agent runs this command: {error}"))
            .with_hint("run it in your own terminal")
    })?;
    // An argument with spaces falls apart here, but a shell's command text still comes after its
    // `-c`.
    let arguments = line.split_whitespace().map(str::to_owned).collect();
    let name = found.program.rsplit('/').next().unwrap_or_default().to_owned();
    Ok(Some(Process { name, program: found.program, arguments, parent: found.parent }))
}

#[cfg(test)]
mod tests {
    use super::Process;

    /// The kernel's name, the file that runs, the arguments.
    type Row = (&'static str, &'static str, &'static [&'static str]);

    const CLIENTS: &[Row] = &[
        ("claude", "/usr/bin/node", &["claude"]),
        ("claude", "/usr/bin/bash", &["/bin/bash", "/usr/local/bin/claude", "-p", "hi"]),
        ("MainThread", "/home/me/.local/share/claude/versions/2.1.329", &["claude"]),
        ("exe", "/home/me/.local/share/claude/versions/2.1.329", &["/proc/self/exe", "--bg"]),
        ("2.1.329", "/home/me/.local/share/claude/versions/2.1.329", &[]),
        ("x", "/w/node_modules/@anthropic-ai/claude-code-linux-x64/claude", &["x"]),
        (
            "node",
            "/usr/bin/node",
            &["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"],
        ),
        (
            "node",
            "/usr/bin/node",
            &["node", "--max-old-space-size=4096", "/usr/local/bin/claude", "-p", "hi"],
        ),
        (
            "node",
            "/usr/bin/node",
            &["node", "--stack-trace-limit", "50", "/x/@anthropic-ai/claude-code/cli.js"],
        ),
        (
            "node",
            "/usr/bin/node",
            &["/opt/node20", "-r", "./trace.js", "/x/@openai/codex/bin/codex.js"],
        ),
        ("node", "/usr/bin/node", &["node", "/usr/local/bin/gemini"]),
        (
            "node-MainThread",
            "/usr/bin/node-22",
            &[
                "node",
                "--enable-source-maps",
                "/usr/lib/node_modules/@google/gemini-cli/dist/index.js",
            ],
        ),
        ("bun", "/opt/bun", &["bun", "run", "/x/node_modules/@anthropic-ai/claude-code/cli.js"]),
        ("deno", "/opt/deno", &["deno", "run", "-A", "npm:@anthropic-ai/claude-code"]),
        ("sh", "/usr/bin/dash", &["sh", "-e", "/opt/bin/claude"]),
        ("bash", "/usr/bin/bash", &["bash", "-o", "pipefail", "claude"]),
        ("codex", "", &[]),
        ("opencode", "/opt/opencode", &["opencode", "run"]),
    ];

    const OTHERS: &[Row] = &[
        (
            "sh",
            "/usr/bin/dash",
            &["sh", "-c", "echo @anthropic-ai/claude-code; portcullis install claude -y"],
        ),
        (
            "sh",
            "/usr/bin/dash",
            &[
                "/bin/sh",
                "-ec",
                "npm install -g @anthropic-ai/claude-code && portcullis install claude -y",
            ],
        ),
        ("bash", "/usr/bin/bash", &["-bash"]),
        ("bash", "/usr/bin/bash", &["bash", "-lc", "claude"]),
        ("bash", "/usr/bin/bash", &["bash", "-o", "pipefail", "-c", "/usr/local/bin/claude"]),
        ("bash", "/usr/bin/bash", &["bash", "./setup.sh", "claude", "@anthropic-ai/claude-code"]),
        ("bash", "/usr/bin/bash", &["bash", "setup", "claude"]),
        ("setup-claude.sh", "/usr/bin/bash", &["/bin/bash", "/root/setup-claude.sh"]),
        ("fish", "/usr/bin/fish", &["fish", "--command", "echo @openai/codex"]),
        ("npm install @an", "/usr/bin/node", &["npm install @anthropic-ai/claude-code"]),
        (
            "node",
            "/usr/bin/node",
            &["node", "/srv/setup.js", "--client", "@anthropic-ai/claude-code"],
        ),
        ("node", "/usr/bin/node", &["node", "-e", "run('@anthropic-ai/claude-code')"]),
        ("node", "/usr/bin/node", &["node", "--eval", "run()", "/usr/local/bin/claude"]),
        ("python3", "/usr/bin/python3.13", &["python3", "-c", "import os", "claude"]),
        ("python3", "/usr/bin/python3.13", &["python3", "/srv/claude_setup.py", "claude"]),
        (
            "vim",
            "/usr/bin/vim",
            &["vim", "/usr/lib/node_modules/@anthropic-ai/claude-code/README.md"],
        ),
        ("make", "/usr/bin/make", &["make", "claude"]),
        ("sudo", "", &["sudo", "portcullis", "install", "claude"]),
        ("tmux: server", "/usr/bin/tmux", &["tmux", "new", "-s", "claude"]),
        ("", "", &[]),
    ];

    fn is_client(&(name, program, arguments): &Row) -> bool {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Process { name: name.into(), program: program.into(), arguments, parent: 1 }.is_client()
    }

    #[test]
    fn a_client_is_known_by_its_program_and_script() {
        for row in CLIENTS {
            assert!(is_client(row), "{row:?}");
        }
    }

    #[test]
    fn a_process_that_only_names_a_client_is_none() {
        for row in OTHERS {
            assert!(!is_client(row), "{row:?}");
        }
    }
}
