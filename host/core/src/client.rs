//! The data that the core needs about agents' clients: it names no client itself.
//!
//! A caller passes the profiles of all clients that it knows, whichever of them runs: an agent can
//! start another client, or change its files.

use crate::action::Access;

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
    /// The client's own bookkeeping, which touches nothing.
    Internal,
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
