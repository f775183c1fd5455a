//! The command line of Portcullis: the only place that reads arguments, environment and standard
//! input.

#![allow(unreachable_pub, reason = "a program has no public API")]

mod bundles;
mod commands;
mod differ;
mod error;
mod exit;
mod interactive;
mod page;
mod password_prompt;
mod show;
mod verdict_matrix;
mod what_if_clean;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use error::{Context, Error, Result};
use exit::CommandExit;
use portcullis_config::paths::PathOverrides;
use portcullis_terminal::paint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

/// Reviews every action of an AI coding agent with sandboxed WebAssembly plugins, before and after
/// it runs.
///
/// Begin with `portcullis demo`. To put it in front of your agent, see the README.
///
/// State and configuration are in the XDG folders, or in PORTCULLIS_HOME, unless options name them.
#[derive(Parser)]
#[command(name = "portcullis", version, max_term_width = 100, after_help = exit::help())]
struct Arguments {
    #[command(flatten)]
    folders: Folders,
    #[command(subcommand)]
    command: Command,
}

/// The folders of an installation, for every command.
#[derive(clap::Args)]
struct Folders {
    /// Use this folder for your configuration
    #[arg(long, global = true, value_name = "DIR", help_heading = "Folders")]
    config: Option<PathBuf>,
    /// Use this folder for the journal, the key and compiled plugins
    #[arg(long, global = true, value_name = "DIR", help_heading = "Folders")]
    state: Option<PathBuf>,
    /// Use this file as the organisation's configuration
    #[arg(
        id = "managed_config",
        long = "managed-config",
        global = true,
        value_name = "FILE",
        help_heading = "Folders"
    )]
    managed: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Replay a short recorded session through the real plugins and show each decision and why
    Demo(commands::demo::Arguments),
    /// Answer one event of an agent's client, as JSON on standard input and output
    Hook {
        /// The agent
        #[arg(value_parser = clap::builder::PossibleValuesParser::new(agent_names()))]
        agent: String,
    },
    /// Install the hooks into the settings of an agent's client
    Install(commands::install::Arguments),
    /// Remove the hooks from the settings of an agent's client (interactive)
    Uninstall(commands::uninstall::Arguments),
    /// Review one action without recording it
    Review(commands::review::Arguments),
    /// Replay recorded sessions: hook payloads, journals, transcripts, trajectories
    Replay(commands::replay::Arguments),
    /// Evaluate labelled actions and show how often the verdict is right
    Eval(commands::eval::Arguments),
    /// Show the reasons for a review's verdict
    Explain(commands::explain::Arguments),
    /// Record whether a review was right (not for agents)
    Feedback(commands::feedback::Arguments),
    /// Show counts of reviews, their duration and people's feedback, as Prometheus text or JSON
    Metrics(commands::metrics::Arguments),
    /// Show, verify and export the journal
    #[command(subcommand)]
    Audit(commands::audit::Command),
    /// Create, build, test and inspect plugins
    #[command(subcommand)]
    Plugin(commands::plugin::Command),
    /// Create, sign, vet, transfer and lock bundles: sets of plugins that somebody vouches for
    #[command(subcommand)]
    Bundle(commands::bundle::Command),
    /// Allow one exact action that its review objects to (interactive)
    Allow(commands::allow::Arguments),
    /// Start a new journal if the old one is damaged (interactive)
    Recover(commands::recover::Arguments),
    /// Show and restore the files saved before actions
    #[command(subcommand)]
    Checkpoint(commands::checkpoint::Command),
    /// Show stopped sessions, and resume or abort them
    #[command(subcommand)]
    Incident(commands::incident::Command),
    /// Show and restore files that were quarantined instead of deleted
    #[command(subcommand)]
    Quarantine(commands::quarantine::Command),
    /// Check and list rules, and list the fields that their conditions can use
    #[command(subcommand)]
    Rules(commands::rules::Command),
    /// Run an agent with hooks for this run only, watch it, and stop it with all its processes if
    /// necessary
    #[cfg(target_os = "linux")]
    Run(commands::run::Arguments),
    /// Show and check the configuration, and print its schema
    #[command(subcommand)]
    Config(commands::config::Command),
    /// List, test and retry notifications
    #[command(subcommand)]
    Notifications(commands::notifications::Command),
    /// Trust a project's configuration to do more than tighten the rules (interactive)
    Trust(commands::trust::Arguments),
    /// Pause enforcement for a while; actions are only observed (interactive)
    Pause(commands::pause::Arguments),
    /// End a pause
    Resume,
    /// Check that protection is complete, and say how to fix it if it is not
    Doctor(commands::doctor::Arguments),
    /// Print one line for a status line: the state of the guard and a session's counts
    Status(commands::status::Arguments),
    /// Run pending maintenance: notifications, retention, the journal's log and kept heads, the
    /// cache. Starts automatically
    Maintain(commands::maintain::Arguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// Returns true if the command's `--config` is one to try, next to that of the environment, so
    /// that it pins nothing.
    const fn tries_configurations(&self) -> bool {
        matches!(self, Self::Replay(_) | Self::Eval(_))
    }
}

/// Returns the names of all agents, for the argument parser.
pub fn agent_names() -> impl Iterator<Item = &'static str> {
    portcullis_agents::ALL.iter().map(|agent| agent.name())
}

/// Returns the agent of that name, which the argument parser has checked.
pub fn agent_of(name: &str) -> Result<&'static dyn portcullis_agents::Agent> {
    portcullis_agents::find(name)
        .ok_or_else(|| Error::invalid(format!("unsupported agent `{name}`")))
}

fn main() -> ExitCode {
    // The hook runs before every action of an agent, so it skips the argument parser.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "hook")
        && let Some(agent) =
            arguments.next().and_then(|name| portcullis_agents::find(name.to_str()?))
        && let Some(pins) = PathOverrides::read(arguments)
    {
        pins.hold();
        return ExitCode::from(commands::hook::run(agent));
    }
    // Started by this program for untrusted bytes: it limits itself before anything is read.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == portcullis_review::compiler::COMMAND) {
        return ExitCode::from(commands::compile::run(arguments));
    }
    #[cfg(target_os = "linux")]
    if let Some(code) = commands::run::reentered(&mut std::env::args_os().skip(1)) {
        return code;
    }
    let as_json = error::is_json_wanted(std::env::args_os().skip(1));
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return reject(&error, as_json),
    };
    let Folders { config, state, managed } = arguments.folders;
    let config = config.filter(|_| !arguments.command.tries_configurations());
    PathOverrides { config, state, managed }.hold();
    let result = catch_unwind(AssertUnwindSafe(|| run(arguments.command)))
        .unwrap_or_else(|payload| Err(Error::of_panic(payload.as_ref())));
    let lost =
        paint::lost().map(|error| Error::io(format!("cannot write standard output: {error}")));
    match lost.map_or(result, Err) {
        Ok(code) => code,
        Err(error) => {
            error.print(as_json);
            error.exit().into()
        }
    }
}

/// Ends the program after its arguments could not be parsed, or asked for help.
fn reject(error: &clap::Error, as_json: bool) -> ExitCode {
    if as_json && error.use_stderr() && error.kind() != HELP_INSTEAD {
        Error::usage(error).print(true);
    } else {
        // Nobody is left to hear that the terminal is gone.
        let _ = error.print();
    }
    if error.use_stderr() { CommandExit::Rejected.into() } else { CommandExit::Success.into() }
}

/// A command without its subcommand prints its help.
const HELP_INSTEAD: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

fn run(command: Command) -> Result<ExitCode> {
    let exit = match command {
        Command::Demo(arguments) => commands::demo::run(&arguments),
        Command::Hook { agent } => {
            return Ok(ExitCode::from(commands::hook::run(agent_of(&agent)?)));
        }
        Command::Install(arguments) => commands::install::run(&arguments),
        Command::Uninstall(arguments) => commands::uninstall::run(&arguments),
        Command::Review(arguments) => commands::review::run(&arguments),
        Command::Replay(arguments) => commands::replay::run(&arguments),
        Command::Eval(arguments) => commands::eval::run(&arguments),
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Feedback(arguments) => commands::feedback::run(&arguments),
        Command::Metrics(arguments) => commands::metrics::run(&arguments),
        Command::Audit(command) => commands::audit::run(&command),
        Command::Config(command) => commands::config::run(&command),
        Command::Checkpoint(command) => commands::checkpoint::run(&command),
        Command::Incident(command) => commands::incident::run(&command),
        Command::Quarantine(command) => commands::quarantine::run(&command),
        Command::Rules(command) => commands::rules::run(&command),
        Command::Notifications(command) => commands::notifications::run(&command),
        #[cfg(target_os = "linux")]
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Trust(arguments) => commands::trust::run(&arguments),
        Command::Plugin(command) => commands::plugin::run(&command),
        Command::Bundle(command) => commands::bundle::run(&command),
        Command::Allow(arguments) => commands::allow::run(&arguments),
        Command::Recover(arguments) => commands::recover::run(&arguments),
        Command::Pause(arguments) => commands::pause::run(&arguments),
        Command::Resume => commands::pause::resume(),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Status(arguments) => Ok(commands::status::run(&arguments)),
        Command::Maintain(arguments) => commands::maintain::run(&arguments),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "portcullis", &mut script);
            paint::print(&String::from_utf8_lossy(&script));
            Ok(CommandExit::Success)
        }
    };
    exit.map(ExitCode::from)
}

/// Reads the file at `path`, or standard input for `None` or `-`.
fn read_file_or_stdin(path: Option<&PathBuf>) -> Result<Vec<u8>> {
    use std::io::Read;
    match path.filter(|path| path.as_os_str() != "-") {
        Some(path) => {
            std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))
        }
        None => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .context("cannot read standard input")?;
            Ok(bytes)
        }
    }
}
