//! The processes of this machine as `ps` shows them, where the system has no `/proc`.
//!
//! `ps` takes some milliseconds: what needs several processes asks for all of them once.

use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};

/// The program; the search path is not trusted.
const PS: &str = "/bin/ps";
/// The columns of each process. Each one is an option of its own, since a title reaches to the end
/// of its option; the program comes last, since its path may have blanks.
const COLUMNS: [&str; 10] =
    ["-o", "pid=", "-o", "ppid=", "-o", "rss=", "-o", "state=", "-o", "comm="];
/// Lines are cut at 79 columns without it.
const WIDE: &str = "-ww";

/// One process.
#[derive(Debug, PartialEq, Eq)]
pub struct ListedProcess {
    /// Its id.
    pub id: u32,
    /// The process that started it.
    pub parent: u32,
    /// Bytes of memory, including each shared page.
    pub memory: u64,
    /// The first letter of its state: `T` is stopped, `Z` has ended.
    pub state: char,
    /// The path of its program on macOS, its name elsewhere.
    pub program: String,
}

/// Lists all processes.
///
/// # Errors
/// Fails if `ps` cannot be run, as in a sandbox that lets no agent run it.
pub fn list_processes() -> io::Result<Vec<ListedProcess>> {
    Ok(parse_list(&run_ps(["-ax", WIDE].iter().chain(&COLUMNS))?))
}

/// Returns one process.
///
/// # Errors
/// Fails if there is none, or `ps` cannot be run.
pub fn find_process(id: u32) -> io::Result<ListedProcess> {
    let text = run_ps(["-p", &id.to_string(), WIDE].iter().chain(&COLUMNS))?;
    parse_list(&text).pop().ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Returns the arguments of a process, joined with blanks.
///
/// # Errors
/// Fails if there is no such process, or `ps` cannot be run.
pub fn read_command_line(id: u32) -> io::Result<String> {
    run_ps(["-p", &id.to_string(), WIDE, "-o", "command="])
}

fn run_ps(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> io::Result<String> {
    let mut command = Command::new(PS);
    command.args(arguments).env_clear().current_dir("/");
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("`{PS}` ended with {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn parse_list(text: &str) -> Vec<ListedProcess> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<ListedProcess> {
    let mut rest = line;
    let mut next = || {
        let (field, after) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        rest = after;
        field
    };
    let (id, parent) = (next().parse().ok()?, next().parse().ok()?);
    let kib: u64 = next().parse().ok()?;
    let state = next().chars().next()?;
    let program = rest.trim().to_owned();
    Some(ListedProcess { id, parent, memory: kib.saturating_mul(1024), state, program })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ps_are_parsed() {
        let text = "    1     0  14384 Ss   /sbin/launchd\n\
                    \x20 712   501 123456 S+   /Applications/Some Tool.app/Contents/MacOS/Some Tool\n\
                    \x20 713   712      0 Z    (node)\n\
                    nonsense\n  7\n";
        let process = |id, parent, kib: u64, state, program: &str| ListedProcess {
            id,
            parent,
            memory: kib * 1024,
            state,
            program: program.to_owned(),
        };
        let tool = "/Applications/Some Tool.app/Contents/MacOS/Some Tool";
        assert_eq!(
            parse_list(text),
            [
                process(1, 0, 14_384, 'S', "/sbin/launchd"),
                process(712, 501, 123_456, 'S', tool),
                process(713, 712, 0, 'Z', "(node)"),
            ]
        );
    }
}
