//! `portcullis run -- COMMAND`: starts an agent with hooks for this run only, follows it, and
//! ends it with all its processes if it reaches a limit or its review stops it.
//!
//! `portcullis-run` contains the processes; the hooks, in processes of their own, judge the
//! actions. This module combines both with the client's command line, the person and the journal.
//!
//! An agent may call it too: the command is reviewed like any other of its commands, and the inner
//! agent by its own hooks. Nobody is asked in that case.

mod answer;
mod confine;
mod follow;
mod guard;
mod person;
mod summary;
mod terms;
mod view;
mod watch;

use crate::commands::install::prepare;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use follow::{Conversation, FollowResult};
use person::Person;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::duration;
use portcullis_config::paths::Paths;
use portcullis_config::pause;
use portcullis_config::sizes;
use portcullis_core::policy::Mode;
use portcullis_run::{
    AgentCommand, CONTROL_ARGUMENTS, Confinement, Reentry, Run, RunLimits, RunResult, Sinks,
    StandardInput,
};
use portcullis_store::{Home, Store};
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::time::Duration;
use summary::Summary;
use terms::RunSettings;
use view::{View, print_line};
use watch::{SharedView, Watch};

/// The argument with which this program starts itself as the agent's watcher.
const WATCHER: &str = "run-watcher";
/// The argument with which it starts itself to become the agent.
const LAUNCHER: &str = "run-launcher";

/// The most bytes of a prompt on standard input.
const MOST_PROMPT: u64 = 8 << 20;
/// The time that standard input may be silent if the prompt is an argument too. The client waits as
/// long.
const SILENCE: Duration = Duration::from_secs(3);

#[derive(clap::Args)]
pub struct Arguments {
    /// Stop it after this time, for example 30m [key: run.time_seconds]
    #[arg(long, value_name = "TIME", value_parser = duration::parse_milliseconds, help_heading = "Limits")]
    time: Option<u64>,
    /// Stop it when its processes use more memory than this, for example 2GiB; checked twice a
    /// second [key: run.memory_mb]
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse_bytes, help_heading = "Limits")]
    memory: Option<u64>,
    /// Stop it when it has spent more tokens than this, by its own count; those read from the cache
    /// are not counted [key: run.tokens]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    tokens: Option<u64>,
    /// Stop it when it has more processes than this at once [key: run.processes]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Limits")]
    processes: Option<u64>,
    /// Stop it when it has written more output than this, for example 100MB [key: run.output_mb]
    #[arg(long, value_name = "SIZE", value_parser = sizes::parse_bytes, help_heading = "Limits")]
    output_bytes: Option<u64>,
    /// Refuse a question that nobody at the terminal answers within this time; without it the agent
    /// waits [key: run.answer_seconds]
    #[arg(long, value_name = "TIME", value_parser = duration::parse_milliseconds)]
    answer_time: Option<u64>,
    /// Give its processes this long to exit when it is stopped [key: run.grace_ms, 300 by default]
    #[arg(long, value_name = "TIME", value_parser = duration::parse_milliseconds)]
    grace: Option<u64>,
    /// Restrict writes to the project, the temporary folder, the client's own folders and
    /// Portcullis's state, as far as the kernel can (Landlock); `--confine=false` overrides the
    /// files [key: run.confine]
    #[arg(long, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    confine: Option<bool>,
    /// Allow writes to this folder or file too; repeatable, adds to the files [key: run.writable]
    #[arg(long, value_name = "PATH")]
    writable: Vec<PathBuf>,
    /// Print one JSON document about the run instead of the agent's last words
    #[arg(long)]
    json: bool,
    /// Show neither the agent's actions nor a summary
    #[arg(long, short)]
    quiet: bool,
    /// The agent's program, its options, the prompt. The prompt can come on standard input
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs the role in which this program was started by itself; `None` if a person or a script
/// started it.
pub fn run_reentered(arguments: &mut dyn Iterator<Item = OsString>) -> Option<ExitCode> {
    let word = arguments.next()?;
    if word == WATCHER {
        Some(portcullis_run::watcher_main(arguments))
    } else if word == LAUNCHER {
        Some(portcullis_run::launcher_main(arguments))
    } else {
        None
    }
}

pub fn run_agent(arguments: &Arguments) -> Result<CommandExit> {
    let client = portcullis_agents::find_by_program(&arguments.command);
    let supervision = client.supervision().ok_or_else(|| {
        Error::refused(format!(
            "`{}` cannot be followed while it runs: that is for {} only",
            arguments.command.first().map_or("", String::as_str),
            portcullis_agents::DEFAULT.display_name()
        ))
        .with_hint(format!(
            "start it yourself: `{} install {}` puts a review before its actions",
            portcullis_agents::PROGRAM,
            client.name()
        ))
    })?;
    let asked = supervision.read_command(&arguments.command)?;
    let places = Paths::from_environment()?;
    let wanted = guard::hook_invocation(client, &places)?;
    let settings = supervision.run_settings(&asked, &wanted)?;
    let home = Home::open_root(&places.state)?;
    let config = Config::load(&places, Some(&home))?;
    let terms = RunSettings::from_arguments(arguments, &config.running, &places)?;
    let confinement = if terms.confine {
        confine::plan_confinement(client, &places, &asked, &terms.writable)?
    } else {
        Confinement::default()
    };
    let program = program(client, &asked.program, &places)?;
    let prompt = prompt(client, asked.prompt.as_deref())?;
    let durability = config.durability;
    prepare_guard(&places, &home, config)?;
    let view = View::new(Store::open_database(&home, durability)?, now_ms(), !arguments.quiet);
    for line in
        terms.confine.then(|| confine::confinement_lines(&confinement)).into_iter().flatten()
    {
        view.print_line(&paint::dim(line));
    }
    // A stop from before a pause is suspended while the pause lasts.
    let shared =
        SharedView::new(view, move || !matches!(pause::read_current(&home, now_ms()), Ok(Some(_))));
    let command = std::iter::once(program.into_os_string())
        .chain(asked.options.iter().map(OsString::from))
        .chain(["--settings".into(), settings.into()])
        .chain(CONTROL_ARGUMENTS.map(OsString::from));
    let agent = AgentCommand {
        confinement: confinement.clone(),
        input: StandardInput::Written,
        grace: terms.grace,
        ..AgentCommand::new(command)
    };
    let person = Person::at_terminal(terms.answer);
    let talk = Conversation {
        prompt: &prompt,
        supervision,
        wanted: &wanted,
        person,
        shared: shared.clone(),
        errors: !arguments.quiet,
    };
    let (ended, followed) = watched(&agent, &terms.limits, &talk)?;
    if let Some(why) = followed.unguarded {
        return Err(Error::refused(format!("the agent would run unreviewed: {why}")));
    }
    if !shared.is_guarded() && shared.reason().is_some() {
        return Err(Error::refused(format!(
            "the agent would run unreviewed: {}",
            shared.reason().unwrap_or_default()
        )));
    }
    let view = shared.view();
    let summary = Summary {
        ended: &ended,
        reason: shared.reason(),
        text: followed.text.as_deref(),
        reviews: view.reviews().unwrap_or_else(|error| {
            print_line(&format!("{}: the journal cannot be read: {error}", paint::warn("warning")));
            Vec::new()
        }),
        view: &view,
        confined: terms.confine.then(|| confine::confinement_json(&confinement)),
    };
    if !arguments.quiet {
        summary.show();
    }
    if arguments.json {
        paint::print_text(&summary.document()?);
    } else if let Some(text) = &followed.text {
        paint::print_text(&format!("{text}\n"));
    }
    if view.work_waits(now_ms()) {
        drop(super::maintain::start_detached());
    }
    Ok(ended.outcome.into())
}

/// Starts the agent and follows it to its end.
fn watched(
    agent: &AgentCommand,
    limits: &RunLimits,
    talk: &Conversation<'_>,
) -> Result<(RunResult, FollowResult)> {
    let reentry = Reentry {
        program: talk.wanted.program.clone(),
        watcher: WATCHER.to_owned(),
        launcher: LAUNCHER.to_owned(),
    };
    let mut run = Run::start_agent(agent, limits, &reentry, Sinks::default())?;
    let watch = Watch::begin_watch(&talk.shared, run.stop_handle());
    let followed = follow::follow_run(&mut run, talk);
    let ended = run.wait_for_end()?;
    drop(watch);
    Ok((ended, followed))
}

/// Returns the client's program, and checks that its version refuses an action whose hook dies.
fn program(client: &dyn portcullis_agents::Agent, named: &str, places: &Paths) -> Result<PathBuf> {
    let program = if named.contains('/') {
        PathBuf::from(named)
    } else {
        client.find_program(Path::new(&places.person)).ok_or_else(|| {
            let (name, title) = (client.name(), client.display_name());
            Error::not_found(format!("`{name}` was not found"))
                .with_hint(format!("install {title}, or name it by its path"))
        })?
    };
    client.check_version(&program, client.query_version(&program)?)?;
    Ok(program)
}

/// Prepares everything the hooks need before the agent starts, so that no hook pays for it.
fn prepare_guard(places: &Paths, home: &Home, config: Config) -> Result<()> {
    let (mode, durability) = (config.policy.mode, config.durability);
    let paused = pause::read_current(home, now_ms()).ok().flatten();
    match (mode, paused) {
        (Mode::Off, _) => {
            return Err(Error::invalid(
                "`reviewer.enabled` is false, so the agent would run unreviewed",
            )
            .with_hint("set it to true"));
        }
        (_, Some(pause)) => print_line(&format!("{}: {}", paint::warn("warning"), pause.notice())),
        (Mode::Observe, None) => print_line(&format!(
            "{}: the mode is `observe`: nothing is refused or stopped by a review",
            paint::warn("warning")
        )),
        _ => {}
    }
    drop(Store::open_database(home, durability).context("cannot make the journal")?);
    prepare::compile_plugins(places, home, config)
}

/// Returns the prompt: the argument, then standard input, combined as the client does.
fn prompt(client: &dyn portcullis_agents::Agent, argument: Option<&str>) -> Result<String> {
    let said = if std::io::stdin().is_terminal() { Vec::new() } else { piped(argument.is_some())? };
    let said =
        String::from_utf8(said).context("the prompt on standard input is not valid UTF-8")?;
    let parts: Vec<&str> = argument
        .into_iter()
        .chain(Some(said.as_str()))
        .filter(|part| !part.trim().is_empty())
        .collect();
    if parts.is_empty() {
        let hint = format!(
            "write it in quotes after `{} -p`, or pass it on standard input",
            client.name()
        );
        return Err(Error::invalid("there is no prompt").with_hint(hint));
    }
    Ok(parts.join("\n"))
}

/// Reads all of standard input. If the prompt is an argument too, a silent input does not block.
fn piped(may_be_silent: bool) -> Result<Vec<u8>> {
    let (sender, chunks) = channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut chunk = vec![0; 1 << 16];
        loop {
            let read = input.read(&mut chunk);
            if read.as_ref().is_err_and(|error| error.kind() == ErrorKind::Interrupted) {
                continue;
            }
            let part = read.map(|count| chunk.get(..count).unwrap_or_default().to_vec());
            let last = part.as_ref().map_or(true, Vec::is_empty);
            // The receiver has given up after the silence.
            if sender.send(part).is_err() || last {
                return;
            }
        }
    });
    let mut all = Vec::new();
    loop {
        let part = if may_be_silent && all.is_empty() {
            let Ok(part) = chunks.recv_timeout(SILENCE) else { return Ok(all) };
            part
        } else {
            chunks.recv().map_err(|_| Error::io("the prompt on standard input ended early"))?
        };
        match part.context("cannot read the prompt from standard input")? {
            part if part.is_empty() => return Ok(all),
            part => all.extend(part),
        }
        if all.len() as u64 > MOST_PROMPT {
            return Err(Error::invalid(format!(
                "the prompt on standard input is longer than {MOST_PROMPT} bytes"
            ))
            .with_hint("write it to a file and name that in the prompt"));
        }
    }
}
