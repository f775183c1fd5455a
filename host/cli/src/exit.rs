//! The exit codes of the program: each has one number and one meaning, which `portcullis --help`
//! prints and the README repeats.
//!
//! `hook` answers with the code of the client's protocol (host/agents), and an agent's own watcher
//! with one of host/run; no person or script sees those.

use std::process::ExitCode;

/// The end of a command that did its work, or of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CommandExit {
    /// The command did its work.
    Success = 0,
    /// The command failed, or what it checked is not in order.
    Failure = 1,
    /// The arguments are wrong. A client reads the same number from a hook as a refusal.
    Rejected = 2,
    /// The journal does not hold.
    JournalChanged = 3,
    /// The review objects.
    Objection = 4,
    /// Protection is incomplete.
    Unprotected = 5,
    /// There is a newer version of this program.
    NewerVersion = 6,
    /// The agent that ran under watch failed.
    AgentFailed = 10,
    /// The agent that ran under watch reached a limit.
    LimitReached = 11,
    /// The review, a person or a plugin stopped the agent that ran under watch.
    EmergencyStop = 12,
    /// The process that watched the agent died.
    WatcherDied = 13,
    /// A person interrupted the run.
    Interrupted = 130,
}

/// The widest line of the list in the help, in columns.
const WIDTH: usize = 78;
/// The columns before a meaning in the help.
const INDENT: usize = 7;

impl CommandExit {
    /// All codes in order, with their meanings.
    pub const ALL: [(Self, &'static str); 12] = [
        (Self::Success, "done"),
        (
            Self::Failure,
            "failure, or a check found a problem (`config check`, `rules check`, \
             `plugin test`, `bundle verify`, `bundle vet`, `bundle update --check`)",
        ),
        (Self::Rejected, "wrong arguments; for `hook`: the action is refused"),
        (Self::JournalChanged, "`audit verify` found that the journal was changed"),
        (Self::Objection, "`review` returned modify, ask or block"),
        (Self::Unprotected, "`doctor` found a problem"),
        (Self::NewerVersion, "`upgrade --check` found a newer version"),
        (Self::AgentFailed, "`run`: the agent failed, or its last result is an error"),
        (Self::LimitReached, "`run`: the agent used up a limit and was stopped"),
        (Self::EmergencyStop, "`run`: emergency stop"),
        (
            Self::WatcherDied,
            "`run`: the process that watches the agent died, so the agent was stopped",
        ),
        (Self::Interrupted, "`run`: interrupted"),
    ];

    /// Returns the number that the program's caller sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Ends this process at once, from any of its threads.
    #[cfg(not(target_os = "linux"))]
    pub fn end_process(self) -> ! {
        std::process::exit(i32::from(self.code()))
    }

    /// Returns the code of a check: a failure if something is not in order.
    #[must_use]
    pub const fn of_check(in_order: bool) -> Self {
        if in_order { Self::Success } else { Self::Failure }
    }
}

impl From<CommandExit> for ExitCode {
    fn from(exit: CommandExit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(target_os = "linux")]
impl From<portcullis_run::RunOutcome> for CommandExit {
    fn from(outcome: portcullis_run::RunOutcome) -> Self {
        use portcullis_run::RunOutcome;
        match outcome {
            RunOutcome::Success => Self::Success,
            RunOutcome::Failed => Self::AgentFailed,
            RunOutcome::Limit(_) => Self::LimitReached,
            RunOutcome::Emergency => Self::EmergencyStop,
            RunOutcome::Unwatched => Self::WatcherDied,
            RunOutcome::Interrupted => Self::Interrupted,
        }
    }
}

/// Formats the list for the end of the program's help, one code in a line.
#[must_use]
pub fn list_codes() -> String {
    let mut text = String::new();
    for (exit, meaning) in CommandExit::ALL {
        text.push_str(&format!("  {:<width$}", exit.code(), width = INDENT - 2));
        let mut column = INDENT;
        for (index, word) in meaning.split(' ').enumerate() {
            if index > 0 && column + 1 + word.len() > WIDTH {
                text.push_str(&format!("\n{:INDENT$}", ""));
                column = INDENT;
            } else if index > 0 {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += word.len();
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_and_the_help_has_each() {
        let help = list_codes();
        for pair in CommandExit::ALL.windows(2) {
            assert!(pair[0].0.code() < pair[1].0.code(), "{pair:?}");
        }
        for (exit, meaning) in CommandExit::ALL {
            let line = format!("  {:<5}{}", exit.code(), meaning.split(' ').next().unwrap());
            assert!(help.lines().any(|shown| shown.starts_with(&line)), "{exit:?}: {help}");
        }
        assert!(help.lines().all(|line| line.len() <= WIDTH), "{help}");
    }
}
