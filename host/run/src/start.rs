//! Starts the watcher and, through it, the agent.

use crate::agent::{AgentCommand, Reentry, StandardInput};
use crate::confinement::ConfinementReport;
use crate::error::RunError;
use crate::fd_passing::lend;
use crate::group::Cgroup;
use crate::kill::GroupLeader;
use crate::monitor::{MonitorEvent, take_over};
use crate::protocol::{WatcherArgs, WatcherMessage, read_messages};
use std::io::{PipeReader, PipeWriter, pipe};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// The time that the watcher and the agent may take to start.
const START: Duration = Duration::from_secs(30);

/// Checks before anything runs that the start can succeed.
pub(crate) fn check(agent: &AgentCommand) -> Result<(), RunError> {
    let program = agent.command.first().ok_or(RunError::NoCommand)?;
    let confinement = &agent.confinement;
    if confinement.required
        && let Some(missing) = ConfinementReport::of_confinement(confinement).missing()
    {
        return Err(RunError::NotConfined { missing });
    }
    for path in confinement.write.iter().flatten() {
        path.metadata().map_err(|source| RunError::NoFolder { path: path.clone(), source })?;
    }
    match &agent.folder {
        Some(folder) if !folder.is_dir() => Err(RunError::NotStarted {
            program: program.to_string_lossy().into_owned(),
            reason: format!("its working folder `{}` does not exist", folder.display()),
        }),
        _ => Ok(()),
    }
}

/// A running agent, and the connection to it.
pub(crate) struct Started {
    pub(crate) watcher: Child,
    /// `None` if it ended at once.
    pub(crate) agent: Option<GroupLeader>,
    pub(crate) asks: PipeWriter,
    pub(crate) notes: Sender<MonitorEvent>,
    pub(crate) heard: Receiver<MonitorEvent>,
}

/// Starts the watcher, which starts the agent. The watcher's standard streams are the agent's.
pub(crate) fn start(
    agent: &AgentCommand,
    reentry: &Reentry,
    group: Option<&Cgroup>,
) -> Result<Started, RunError> {
    let piped = RunError::system("making a pipe");
    let (asked, asks) = pipe().map_err(piped)?;
    let (tells, tells_writer) = pipe().map_err(RunError::system("making a pipe"))?;
    let lent = |error| RunError::system("lending a pipe")(error);
    let watch = WatcherArgs {
        program: reentry.program.clone(),
        launcher: reentry.launcher.clone(),
        asks: lend(&asked).map_err(lent)?,
        tells: lend(&tells_writer).map_err(lent)?,
        group: group.map(|group| group.folder().to_owned()),
        confinement: agent.confinement.clone(),
    };
    let mut watcher = spawn(agent, reentry, &watch)?;
    // The watcher has its own copies; with these open, neither side would notice the other's end.
    drop((asked, tells_writer));
    match begin(tells, agent, reentry) {
        Ok((agent, notes, heard)) => Ok(Started { watcher, agent, asks, notes, heard }),
        Err(error) => {
            take_over(&mut watcher, None, group);
            Err(error)
        }
    }
}

fn spawn(agent: &AgentCommand, reentry: &Reentry, watch: &WatcherArgs) -> Result<Child, RunError> {
    let failed = |reason: String| RunError::NoWatcher { program: reentry.program.clone(), reason };
    let settings = serde_json::to_string(watch).map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(&reentry.program);
    command.arg(&reentry.watcher).arg(settings).args(&agent.command);
    for (name, value) in &agent.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(folder) = &agent.folder {
        command.current_dir(folder);
    }
    command.stdin(match agent.input {
        StandardInput::Inherited => Stdio::inherit(),
        StandardInput::Nothing => Stdio::null(),
        StandardInput::Written => Stdio::piped(),
    });
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))
}

/// The agent, and the queue of its watcher's messages.
type Startup = (Option<GroupLeader>, Sender<MonitorEvent>, Receiver<MonitorEvent>);

/// Reads the watcher's messages, and waits until one says that the agent runs.
fn begin(tells: PipeReader, agent: &AgentCommand, reentry: &Reentry) -> Result<Startup, RunError> {
    let (notes, heard) = channel();
    let sender = notes.clone();
    thread::spawn(move || {
        for tell in read_messages(tells) {
            if sender.send(MonitorEvent::Message(tell)).is_err() {
                return;
            }
        }
        let _ = sender.send(MonitorEvent::WatcherGone);
    });
    let failed = |reason: &str| RunError::NoWatcher {
        program: reentry.program.clone(),
        reason: reason.to_owned(),
    };
    match heard.recv_timeout(START) {
        Ok(MonitorEvent::Message(WatcherMessage::Started { agent })) => {
            Ok((GroupLeader::of(agent), notes, heard))
        }
        Ok(MonitorEvent::Message(WatcherMessage::Refused { reason })) => {
            let program = agent
                .command
                .first()
                .map(|part| part.to_string_lossy().into_owned())
                .unwrap_or_default();
            Err(RunError::NotStarted { program, reason })
        }
        Ok(_) => Err(failed("it ended before it said anything")),
        Err(_) => Err(failed("it says nothing")),
    }
}
