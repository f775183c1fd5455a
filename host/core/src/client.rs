//! The data that the core needs about agents' clients: it names no client itself.
//!
//! A caller passes the profiles of all clients that it knows, whichever of them runs: an agent can
//! start another client, or change its files.

use crate::action::Access;
use serde_json::{Map, Value};

/// An agent's client, as data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientProfile {
    /// Its name on the command line and in records, such as `codex`.
    pub name: &'static str,
    /// Its name for people, such as `Codex CLI`.
    pub display_name: &'static str,
    /// The names of its program.
    pub programs: &'static [&'static str],
    /// Parts of a path or a package's name that only its program or script has.
    pub packages: &'static [&'static str],
    /// Parts of the paths of its packages' files.
    pub package_folders: &'static [&'static str],
    /// Variables that it sets for the processes that it starts.
    pub marks: &'static [&'static str],
    /// Files below a home folder that name programs which the client starts by itself.
    pub start_up_files: &'static [&'static str],
    /// Files below a home folder that hold its credentials.
    pub credential_files: &'static [&'static str],
    /// Its own tools, with the meaning of their parameters. A tool that no client lists is read as
    /// a tool of a server.
    pub tools: &'static [(&'static str, ToolMeaning)],
    /// The parameters with which a call of its tools returns while its command goes on.
    pub background: &'static [BackgroundMark],
    /// True if it drops the text for the agent in an answer before a tool: the agent then gets it
    /// with the outcome.
    pub drops_early_notes: bool,
    /// The ways in which it can be started without its hooks; `None` if none of our hooks are in
    /// it.
    pub hooked: Option<&'static HookBypasses>,
}

/// The meaning of a tool: the way in which its parameters are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolMeaning {
    /// It runs the command line in `command`.
    Shell,
    /// The parameter that holds the path, and the access to it. To read, it can hold a list of
    /// paths.
    File(&'static str, Access),
    /// It searches below the folder in `path` or `dir_path`; the working folder without either.
    Search,
    /// The parameter that holds an address, or a list of them.
    Fetch(&'static str),
    /// It searches the web for `query` or `text`.
    WebSearch,
    /// The parameters that hold the recipient and the text; the person without a recipient.
    Message(&'static str, &'static str),
    /// The parameter that holds a text which an agent gets at a later time as an instruction, and how
    /// long that is kept.
    Later(&'static str, Lasting),
    /// The client's own bookkeeping, which touches nothing.
    Internal,
}

/// The time that a client keeps what it is to start later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// As long as the session: it goes on by itself, under review.
    Session,
    /// Longer, if this parameter is given, and neither false nor empty.
    If(&'static str),
    /// Longer: an agent starts without anybody who asks for it.
    Always,
}

/// A parameter with which a call returns while its command goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackgroundMark {
    /// The tool; empty for any.
    pub tool: &'static str,
    /// The parameter.
    pub parameter: &'static str,
    /// The values that say it.
    pub value: BackgroundValue,
}

/// The values of a parameter that put a command into the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundValue {
    /// True.
    True,
    /// This word.
    Word(&'static str),
    /// Anything but one of these words, which only look or end something.
    AllBut(&'static [&'static str]),
}

impl BackgroundMark {
    /// Returns true if a call of the tool with these parameters has it.
    #[must_use]
    pub fn marks(&self, tool: &str, parameters: &Map<String, Value>) -> bool {
        let given = parameters.get(self.parameter);
        let word = given.and_then(Value::as_str);
        let is_tool = self.tool.is_empty() || self.tool == tool;
        is_tool
            && match self.value {
                BackgroundValue::True => given.and_then(Value::as_bool) == Some(true),
                BackgroundValue::Word(wanted) => word == Some(wanted),
                BackgroundValue::AllBut(words) => !word.is_some_and(|word| words.contains(&word)),
            }
    }
}

/// The ways in which a client starts without the hooks that review it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookBypasses {
    /// Options that make it omit hooks, or load something that can answer calls in their place.
    pub options: &'static [&'static str],
    /// Subcommands that change its settings, plugins or version, each with those of its own
    /// subcommands that only read.
    pub changing_commands: &'static [(&'static str, &'static [&'static str])],
    /// Variables that point it to other settings.
    pub settings_variables: &'static [&'static str],
    /// The prefix of its variables.
    pub variable_prefix: &'static str,
    /// Parts of the names of its variables that switch hooks off.
    pub switches: &'static [&'static str],
}

impl ClientProfile {
    /// Returns true if a program's name is the client's. A version after `@` is ignored.
    #[must_use]
    pub fn is_program(&self, name: &str) -> bool {
        let name = name.split('@').next().unwrap_or(name);
        !name.is_empty() && self.programs.contains(&name)
    }

    /// Returns true if a word names the client as a program or a package.
    #[must_use]
    pub fn is_named(&self, word: &str) -> bool {
        self.packages.iter().chain(self.package_folders).any(|part| word.contains(part))
            || self.is_program(word.rsplit('/').next().unwrap_or(word))
    }
}
