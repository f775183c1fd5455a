//! The command line of Portcullis. The only place that reads arguments, environment and standard input.

#![allow(unreachable_pub, reason = "a program has no public API")]

mod amount;
mod breakers;
mod bundles;
mod checkpoints;
mod client;
mod commands;
mod completeness;
mod config;
mod differ;
mod duration;
mod guarded;
mod health;
mod hidden;
mod human;
mod incidents;
mod kept;
mod moves;
mod names;
mod notifications;
mod page;
mod paint;
mod past;
mod pause;
mod places;
mod project;
mod quarantine;
mod recording;
mod restorable;
mod rules;
mod runtime;
mod show;
#[cfg(target_os = "linux")]
mod sizes;
mod timeline;
mod toml_text;
mod trial;
mod workshop;
mod workspace;

use clap::{CommandFactory, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Reviews every action of an AI coding agent with sandboxed WebAssembly plugins, before and after it runs.
///
/// Begin with `portcullis demo`. To put it in front of Claude Code, see the README.
///
/// State and configuration lie in the XDG folders, or in PORTCULLIS_HOME, unless options name them.
#[derive(Parser)]
#[command(name = "portcullis", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Arguments {
    #[command(flatten)]
    pins: places::Pins,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 it could not be done; 2 wrong arguments, and for `hook` the action is refused; \
3 `audit verify` found the journal changed; 4 `review` came to modify, ask or block; 5 `doctor` found a problem. `run`: 10 the agent failed, \
11 it used up a limit, 12 emergency stop, 13 its watcher died, 130 interrupted.";

#[derive(Subcommand)]
enum Command {
    /// Replay a short recorded session through the real plugins and show each decision and why
    Demo(commands::demo::Arguments),
    /// Answer one event of an agent's client: its JSON on standard input, the answer on standard output
    Hook {
        /// The agent
        #[arg(value_parser = clap::builder::PossibleValuesParser::new(commands::hook::AGENTS))]
        agent: String,
    },
    /// Put the hooks into the settings of an agent's client
    Install(commands::install::Arguments),
    /// Take the hooks out of the settings of an agent's client. For a person at a terminal
    Uninstall(commands::uninstall::Arguments),
    /// Review one action without recording it
    Review(commands::review::Arguments),
    /// Review recorded sessions again: hook payloads, journals, Claude Code transcripts, trajectories
    Replay(commands::replay::Arguments),
    /// Judge labelled actions and say how often the verdict is right
    Eval(commands::eval::Arguments),
    /// Show why a review came out as it did
    Explain(commands::explain::Arguments),
    /// Say whether a review was right. For a person
    Feedback(commands::feedback::Arguments),
    /// Count reviews, their time and what people thought of them: Prometheus text, or JSON
    Metrics(commands::metrics::Arguments),
    /// Look at the journal
    #[command(subcommand)]
    Audit(commands::audit::Command),
    /// Make, build and look at plugins
    #[command(subcommand)]
    Plugin(commands::plugin::Command),
    /// Make, sign, vet, move and lock bundles: sets of plugins that somebody vouches for
    #[command(subcommand)]
    Bundle(commands::bundle::Command),
    /// Let one exact action run that its review objects to. For a person at a terminal
    Allow(commands::allow::Arguments),
    /// Begin a new journal where the old one is damaged. For a person at a terminal
    Recover(commands::recover::Arguments),
    /// Look at what was kept of files before actions, and put it back
    #[command(subcommand)]
    Checkpoint(commands::checkpoint::Command),
    /// Look at stops of sessions, and let a stopped session go on or end it
    #[command(subcommand)]
    Incident(commands::incident::Command),
    /// Look at what was moved away in place of being deleted, and put it back
    #[command(subcommand)]
    Quarantine(commands::quarantine::Command),
    /// Look at rules: all of them, what is wrong with those in files, what their conditions can see
    #[command(subcommand)]
    Rules(commands::rules::Command),
    /// Start an agent with the hooks for this run alone, follow it, and stop it with all that it started where it must be
    #[cfg(target_os = "linux")]
    Run(commands::run::Arguments),
    /// Look at the configuration: what holds and why, what is wrong, the schema for editors
    #[command(subcommand)]
    Config(commands::config::Command),
    /// Look at notifications: channels, what waits, and trying them
    #[command(subcommand)]
    Notifications(commands::notifications::Command),
    /// Let a project's configuration do more than tighten. For a person at a terminal
    Trust(commands::trust::Arguments),
    /// Let the guard only observe for a while. For a person at a terminal
    Pause(commands::pause::Arguments),
    /// End a pause
    Resume,
    /// Check that the guard is whole, and say what to do where it is not
    Doctor(commands::doctor::Arguments),
    /// Print one line for a status line: how the guard stands, and a session's counts
    Status(commands::status::Arguments),
    /// Do the work that waits: notifications, retention, the journal's log and kept heads, the cache. Started by itself
    Maintain(commands::maintain::Arguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// Its `--config` is one to try, beside that of the environment: it pins nothing.
    const fn tries_configurations(&self) -> bool {
        matches!(self, Self::Replay(_) | Self::Eval(_))
    }
}

fn main() -> ExitCode {
    // The hook runs before every action of an agent: it does not wait for the argument parser.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "hook")
        && arguments.next().is_some_and(|agent| agent == "claude")
        && let Some(pins) = places::Pins::read(arguments)
    {
        pins.hold();
        return ExitCode::from(commands::hook::run());
    }
    // Started by ourselves, for a stranger's bytes: nothing is read before it has limited itself.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == workshop::COMMAND) {
        return ExitCode::from(commands::compile::run(arguments));
    }
    #[cfg(target_os = "linux")]
    if let Some(code) = commands::run::reentered(&mut std::env::args_os().skip(1)) {
        return code;
    }
    let arguments = Arguments::parse();
    let pins = places::Pins { config: arguments.pins.config.filter(|_| !arguments.command.tries_configurations()), ..arguments.pins };
    pins.hold();
    let result = run(arguments.command);
    let lost = paint::lost().map(|error| anyhow::anyhow!("cannot write standard output: {error}"));
    match lost.map_or(result, Err) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            anstream::eprintln!("{}: {error:#}", paint::bad("error"));
            ExitCode::from(1)
        }
    }
}

fn run(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Demo(arguments) => commands::demo::run(&arguments),
        Command::Hook { .. } => Ok(commands::hook::run()),
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
            Ok(0)
        }
    }
}

/// A file of `path`, or standard input for none or `-`.
fn read_file_or_stdin(path: Option<&PathBuf>) -> anyhow::Result<Vec<u8>> {
    use anyhow::Context;
    use std::io::Read;
    match path.filter(|path| path.as_os_str() != "-") {
        Some(path) => std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display())),
        None => {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
            Ok(bytes)
        }
    }
}
