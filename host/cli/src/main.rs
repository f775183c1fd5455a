//! The command line of Portcullis: the only place that reads standard input, and, with
//! `host/toolchain`, arguments. Libraries read the environment too.

#![allow(unreachable_pub, reason = "a program has no public API")]

mod bundles;
mod command_line;
mod commands;
mod compile_line;
mod differ;
mod error;
mod exit;
mod export_delivery;
mod fleet_approvals;
mod fleet_error;
mod fleet_orders;
mod given_file;
mod interactive;
mod orders_trial;
mod password_prompt;
mod recorded_action;
mod service_unit;
mod show;
mod spelling;
mod verdict_matrix;
mod what_if_clean;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use error::{Context, Error, Result};
use exit::CommandExit;
use portcullis_agents::invocation::{TIMEOUT, take_timeout};
use portcullis_config::paths::PathOverrides;
use portcullis_terminal::paint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

/// Reviews every action of an AI coding agent with sandboxed WebAssembly plugins
#[derive(Parser)]
#[command(name = "portcullis", version, max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    global: GlobalOptions,
    #[command(subcommand)]
    command: Command,
}

/// The options of every command; only `portcullis --help` lists them.
#[derive(clap::Args)]
struct GlobalOptions {
    // Read before the arguments are parsed, since help and errors have colour too.
    /// When to use colour: auto, always or never
    #[arg(
        id = "color",
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        value_parser = ["auto", "always", "never"]
    )]
    _color: String,
    /// Use this folder for your configuration
    #[arg(id = "config", long, global = true, value_name = "DIR", help_heading = "Folders")]
    config: Option<PathBuf>,
    /// Use this folder for journal, key and compiled code
    #[arg(id = "state", long, global = true, value_name = "DIR", help_heading = "Folders")]
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
    /// As root: open this user's records behind the boundary
    #[arg(
        id = "of_user",
        long = "of-user",
        global = true,
        value_name = "NAME",
        help_heading = "Folders"
    )]
    of_user: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Show decisions on a short recorded session, with reasons
    Demo(commands::demo::Arguments),
    /// Answer one event of an agent's client, as JSON
    #[command(hide = true)]
    Hook {
        /// The agent
        #[arg(value_parser = clap::builder::PossibleValuesParser::new(agent_names()))]
        agent: String,
        /// The timeout of the client for this hook, in seconds
        #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(30..=86_400))]
        timeout: Option<u64>,
    },
    /// Install the hooks into the settings of an agent
    Install(commands::install::Arguments),
    /// Remove the hooks from the settings of an agent (interactive)
    Uninstall(commands::uninstall::Arguments),
    /// Review one action without running or recording it
    Review(commands::review::Arguments),
    /// Review recorded sessions again, or your past ones (--agent)
    Replay(commands::replay::Arguments),
    /// Measure how often the verdict on labelled actions is right
    Eval(commands::eval::Arguments),
    /// Show the reasons for a review's verdict
    Explain(commands::explain::Arguments),
    /// Record whether a review was right (not for agents)
    Feedback(commands::feedback::Arguments),
    /// Show counts of reviews, their duration and people's feedback
    Metrics(commands::metrics::Arguments),
    /// Show, verify and export the journal
    #[command(subcommand)]
    Audit(commands::audit::Command),
    /// Create, build, test and inspect plugins
    #[command(subcommand)]
    Plugin(commands::plugin::Command),
    /// Create, sign, vet, transfer and lock sets of plugins
    #[command(subcommand)]
    Bundle(commands::bundle::Command),
    /// Allow one exact action that its review objects to (interactive)
    Allow(commands::allow::Arguments),
    /// Answer actions that wait for a person (interactive)
    #[command(subcommand)]
    Approvals(commands::approvals::Command),
    /// Start a new journal if the old one is damaged (interactive)
    Recover(commands::recover::Arguments),
    /// Undo the last action, or all since your request (interactive)
    Undo(commands::undo::Arguments),
    /// Show and restore the files saved before actions
    #[command(subcommand)]
    Checkpoint(commands::checkpoint::Command),
    /// Show stopped sessions, and resume or abort them
    #[command(subcommand)]
    Incident(commands::incident::Command),
    /// Show and restore files moved instead of deleted
    #[command(subcommand)]
    Quarantine(commands::quarantine::Command),
    /// Check and list rules, and the fields for their conditions
    #[command(subcommand)]
    Rules(commands::rules::Command),
    /// Check descriptions of programs for the catalogue
    #[command(subcommand)]
    Catalogue(commands::catalogue::Command),
    /// Run an agent under watch, with hooks for this run only
    Run(commands::run::Arguments),
    /// Review the calls to a server of the Model Context Protocol
    Mcp(commands::mcp::Arguments),
    /// Show and check the configuration, and print its schema
    #[command(subcommand)]
    Config(commands::config::Command),
    /// List, test and retry notifications
    #[command(subcommand)]
    Notifications(commands::notifications::Command),
    /// List and try exports of the journal, and deliver them now
    #[command(subcommand)]
    Exports(commands::exports::Command),
    /// Keep what exports, notifications and registries sign in with
    #[command(subcommand)]
    Credential(commands::credential::Command),
    /// Show and manage the keys that encrypt what is kept
    #[command(subcommand)]
    Encryption(commands::encryption::Command),
    /// Export or erase what is kept of a session or a person
    #[command(subcommand)]
    Privacy(commands::privacy::Command),
    /// Trust everything in a project's configuration (interactive)
    Trust(commands::trust::Arguments),
    /// Only observe for a while, refuse nothing (interactive)
    Pause(commands::pause::Arguments),
    /// End a pause
    Resume(commands::pause::Resume),
    /// Check that protection is complete, and show the fixes
    Doctor(commands::doctor::Arguments),
    /// Send this machine's journal to a hub, and show how far it is
    #[command(subcommand)]
    Fleet(commands::fleet::Command),
    /// Hold the journals of a fleet in PostgreSQL
    #[command(subcommand)]
    Hub(portcullis_fleet::hub_command::HubCommand),
    /// Run the resident service, which reviews faster
    Serve(commands::serve::Arguments),
    /// Open the page of the service in a browser (not for agents)
    Open(commands::open::Arguments),
    /// Print one line for a status line
    Status(commands::status::Arguments),
    /// Run pending maintenance (starts automatically)
    #[command(hide = true)]
    Maintain(commands::maintain::Arguments),
    /// Sign the files of a version, and verify downloaded ones
    #[command(subcommand)]
    Release(commands::release::Command),
    /// Say how to upgrade this program (not for agents)
    Upgrade(commands::upgrade::Arguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print manual pages
    #[command(hide = true)]
    Man(commands::man::Arguments),
}

impl Command {
    /// Returns true if it works on the records of reviews, which behind a boundary are not the
    /// user's.
    const fn opens_records(&self) -> bool {
        matches!(
            self,
            Self::Explain(_)
                | Self::Feedback(_)
                | Self::Audit(_)
                | Self::Allow(_)
                | Self::Approvals(_)
                | Self::Recover(_)
                | Self::Undo(_)
                | Self::Checkpoint(_)
                | Self::Incident(_)
                | Self::Quarantine(_)
                | Self::Notifications(_)
                | Self::Exports(_)
                | Self::Credential(_)
                | Self::Trust(_)
                | Self::Pause(_)
                | Self::Resume(_)
                | Self::Open(_)
                | Self::Fleet(_)
        )
    }

    /// Returns true if it can work on what the service of a boundary keeps of a user: on records and
    /// checkpoints, and on the user's own files only where [`Command::needs_files`] says so.
    const fn works_across(&self) -> bool {
        use commands::fleet;
        matches!(
            self,
            Self::Explain(_)
                | Self::Feedback(_)
                | Self::Audit(_)
                | Self::Allow(_)
                | Self::Approvals(_)
                | Self::Config(_)
                | Self::Recover(_)
                | Self::Checkpoint(_)
                | Self::Incident(_)
                | Self::Metrics(_)
                | Self::Notifications(_)
                | Self::Exports(_)
                | Self::Credential(_)
                | Self::Pause(_)
                | Self::Resume(_)
                | Self::Open(_)
                | Self::Fleet(
                    fleet::Command::Join(_) | fleet::Command::Leave(_) | fleet::Command::Status(_)
                )
        )
    }

    /// Returns true if it compares or restores files: then behind a boundary a process of their user
    /// has to hand them over.
    const fn needs_files(&self) -> bool {
        use commands::{checkpoint, incident};
        matches!(
            self,
            Self::Checkpoint(checkpoint::Command::Diff(_) | checkpoint::Command::Restore(_))
                | Self::Incident(incident::Command::Rollback(_))
        )
    }
}

impl GlobalOptions {
    /// Returns the folders that the command line names, as absolute paths.
    ///
    /// The hook takes only absolute ones: the agent chooses the folder that its client runs in.
    fn folders(self, hook: bool, needs_files: bool) -> Result<PathOverrides> {
        if let Some(name) = &self.of_user {
            if self.config.is_some() || self.state.is_some() || self.managed.is_some() {
                return Err(Error::invalid("--of-user names the folders, and another option too")
                    .with_hint("leave --config, --state and --managed-config away"));
            }
            return commands::boundary::open_records_of(name, needs_files);
        }
        if let Some(file) = self.config.as_deref().filter(|path| !hook && path.is_file()) {
            return Err(Error::invalid(format!("--config is `{}`, a file", file.display()))
                .with_hint("name its folder, or try a file with `--config-file` of `replay`, `eval` and `metrics`"));
        }
        let absolute = |path: Option<PathBuf>| {
            path.map(|path| if hook { Ok(path) } else { std::path::absolute(path) }).transpose()
        };
        Ok(PathOverrides {
            config: absolute(self.config)?,
            state: absolute(self.state)?,
            managed: absolute(self.managed)?,
        })
    }
}

/// Returns the names of all agents, for the argument parser.
pub fn agent_names() -> impl Iterator<Item = &'static str> {
    portcullis_agents::ALL.iter().map(|agent| agent.name())
}

/// Returns the agent of that name, which the argument parser has checked.
pub fn agent_of(name: &str) -> Result<&'static dyn portcullis_agents::Agent> {
    portcullis_agents::find_agent(name)
        .ok_or_else(|| Error::invalid(format!("unsupported agent `{name}`")))
}

fn main() -> ExitCode {
    // The hook runs before every action of an agent, so it skips the argument parser.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "hook")
        && let Some(agent) =
            arguments.next().and_then(|name| portcullis_agents::find_agent(name.to_str()?))
        && let mut arguments = arguments.collect()
        && let Some(timeout) = take_timeout(&mut arguments)
        && let Some(pins) = PathOverrides::read_arguments(arguments)
    {
        pins.hold_overrides();
        return ExitCode::from(commands::hook::run_hook(agent, timeout));
    }
    if std::env::args_os().len() == 1
        && let Some(code) = commands::hook::run_bare_hook()
    {
        return ExitCode::from(code);
    }
    // Started by this program for untrusted bytes: it limits itself before anything is read.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == portcullis_review::compiler::COMMAND) {
        return ExitCode::from(commands::compile::run_compile(arguments));
    }
    // Started by this program as the user whose files a command of root's restores.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == commands::boundary::files::COMMAND) {
        return ExitCode::from(commands::boundary::files::run_hand_files(arguments));
    }
    if let Some(code) = commands::run::run_reentered(&mut std::env::args_os().skip(1)) {
        return code;
    }
    let as_json = error::is_json_wanted(std::env::args_os().skip(1));
    let Arguments { global, command } = match command_line::parse_arguments() {
        Ok(arguments) => arguments,
        Err(error) => return reject(&error, as_json),
    };
    if global.of_user.is_some() && !command.works_across() {
        let error = Error::invalid("--of-user is for commands about the records of reviews")
            .with_hint("for example `portcullis audit show`, `approvals`, `allow` and `incident`");
        error.print_error(as_json);
        return error.exit().into();
    }
    let (is_hook, needs_files) = (matches!(command, Command::Hook { .. }), command.needs_files());
    let result = global.folders(is_hook, needs_files).and_then(|folders| {
        if command.opens_records() && folders.state.is_none() {
            commands::boundary::refuse_beyond_boundary()?;
        }
        folders.hold_overrides();
        catch_unwind(AssertUnwindSafe(|| run(command)))
            .unwrap_or_else(|payload| Err(Error::of_panic(payload.as_ref())))
    });
    let lost = paint::lost_output()
        .map(|error| Error::io(format!("cannot write standard output: {error}")));
    // A command whose output is lost has failed, whatever else it did.
    match lost.map_or(result, Err) {
        Ok(code) => code,
        Err(error) => {
            error.print_error(as_json);
            error.exit().into()
        }
    }
}

/// Ends the program after its arguments could not be parsed, or asked for help.
fn reject(error: &clap::Error, as_json: bool) -> ExitCode {
    if as_json && error.use_stderr() && error.kind() != HELP_INSTEAD {
        Error::from_usage(error).print_error(true);
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
        Command::Demo(arguments) => commands::demo::run_demo(&arguments),
        Command::Hook { agent, timeout } => {
            let timeout = timeout.unwrap_or(TIMEOUT);
            return Ok(ExitCode::from(commands::hook::run_hook(agent_of(&agent)?, timeout)));
        }
        Command::Install(arguments) => commands::install::run_install(&arguments),
        Command::Uninstall(arguments) => commands::uninstall::run_uninstall(&arguments),
        Command::Review(arguments) => commands::review::run_review(&arguments),
        Command::Replay(arguments) => commands::replay::run_replay(&arguments),
        Command::Eval(arguments) => commands::eval::run_eval(&arguments),
        Command::Explain(arguments) => commands::explain::run_explain(&arguments),
        Command::Feedback(arguments) => commands::feedback::run_feedback(&arguments),
        Command::Metrics(arguments) => commands::metrics::run_metrics(&arguments),
        Command::Audit(command) => commands::audit::run_audit(&command),
        Command::Config(command) => commands::config::run_config(&command),
        Command::Undo(arguments) => commands::undo::run_undo(&arguments),
        Command::Checkpoint(command) => commands::checkpoint::run_checkpoint(&command),
        Command::Incident(command) => commands::incident::run_incident(&command),
        Command::Quarantine(command) => commands::quarantine::run_quarantine(&command),
        Command::Rules(command) => commands::rules::run_rules(&command),
        Command::Catalogue(command) => commands::catalogue::run_catalogue(&command),
        Command::Notifications(command) => commands::notifications::run_notifications(&command),
        Command::Exports(command) => commands::exports::run_exports(&command),
        Command::Credential(command) => commands::credential::run_credential(&command),
        Command::Privacy(command) => commands::privacy::run_privacy(&command),
        Command::Encryption(command) => commands::encryption::run_encryption(&command),
        Command::Run(arguments) => commands::run::run_agent(&arguments),
        Command::Mcp(arguments) => return commands::mcp::run_mcp(arguments),
        Command::Trust(arguments) => commands::trust::run_trust(&arguments),
        Command::Plugin(command) => commands::plugin::run_plugin(&command),
        Command::Bundle(command) => commands::bundle::run_bundle(&command),
        Command::Release(command) => commands::release::run_release(&command),
        Command::Upgrade(arguments) => commands::upgrade::run_upgrade(&arguments),
        Command::Allow(arguments) => commands::allow::run_allow(&arguments),
        Command::Approvals(command) => commands::approvals::run_approvals(&command),
        Command::Recover(arguments) => commands::recover::run_recover(&arguments),
        Command::Pause(arguments) => commands::pause::run_pause(&arguments),
        Command::Resume(arguments) => commands::pause::run_resume(&arguments),
        Command::Doctor(arguments) => commands::doctor::run_doctor(&arguments),
        Command::Fleet(command) => commands::fleet::run_fleet(&command),
        Command::Hub(command) => commands::hub::run_hub(&command),
        Command::Serve(arguments) => commands::serve::run_serve(&arguments),
        Command::Open(arguments) => commands::open::run_open(&arguments),
        Command::Status(arguments) => Ok(commands::status::run_status(&arguments)),
        Command::Maintain(arguments) => commands::maintain::run_maintain(&arguments),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "portcullis", &mut script);
            paint::print_text(&String::from_utf8_lossy(&script));
            Ok(CommandExit::Success)
        }
        Command::Man(arguments) => commands::man::run_man(&arguments),
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
