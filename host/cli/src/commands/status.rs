//! `portcullis status`: prints one short line for the client's status line.
//!
//! It is called again and again while a person works: it reads files, creates no more than a hook
//! would, and never fails. It tells what a hook would do with the session's next action.

use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_config::pause;
use portcullis_core::action::Totals;
use portcullis_core::breaker::ReleaseCondition;
use portcullis_core::incident::Incident;
use portcullis_core::limits::LimitUse;
use portcullis_core::policy::Mode;
use portcullis_core::session::{Session, State};
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::breakers;
use portcullis_review::health::{self, HookStatus};
use portcullis_review::incidents::{self, IncidentStatus};
use portcullis_review::installed;
use portcullis_review::stopped;
use portcullis_store::{Durability, Home, Store, StoreError};
use serde_json::{Value, json};
use std::env;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The timeout for the client's session information.
const PATIENCE: Duration = Duration::from_millis(100);
/// The most bytes that are read of it.
const MOST_BYTES: u64 = 1024 * 1024;
/// The longest reason that fits a status line, in bytes.
const MOST_REASON: usize = 160;

/// The counts of a session, and the limits of its current prompt.
struct SessionUsage {
    totals: Totals,
    limits: Vec<LimitUse>,
}

impl SessionUsage {
    fn of_session(session: &Session) -> Self {
        Self { totals: session.totals, limits: session.list_limit_use() }
    }
}

/// The state of the guard.
enum GuardStatus {
    Guarding,
    Observing,
    Paused(u64),
    /// The client's session was stopped: each of its actions is refused.
    Stopped(String),
    /// The client's session is held until the person's next prompt.
    Held(String),
    /// The hooks run, but protection is incomplete.
    Weak(String),
    /// The hooks do not run, or refuse everything.
    Off(String),
}

pub fn run_status(arguments: &Arguments) -> CommandExit {
    let said = read_client_input().unwrap_or_default();
    let text = |pointer: &str| said.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let session = text("/session_id");
    let folder = text("/workspace/project_dir")
        .or_else(|| text("/cwd"))
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let folder = folder.or_else(|| env::current_dir().ok()).unwrap_or_default();
    let known = session.as_deref().map_or(Ok(None), read_session);
    let usage = known.as_ref().ok().and_then(Option::as_ref).map(SessionUsage::of_session);
    let stand = match (stand(&folder), known) {
        (GuardStatus::Guarding, known) => standing_of(known),
        (stand, _) => stand,
    };
    // A client asks for its own session; a person asks for the machine.
    let stopped = session.is_none().then(count_stopped_sessions);
    paint::print_text(&if arguments.json {
        format!("{}\n", as_json(&stand, session.as_deref(), usage.as_ref(), stopped))
    } else {
        line(&stand, usage.as_ref(), stopped.unwrap_or(0))
    });
    CommandExit::Success
}

/// Counts the sessions that wait for a person's decision. What cannot be read is not counted:
/// `doctor` reports it.
fn count_stopped_sessions() -> usize {
    let list = || -> Option<usize> {
        let places = Paths::from_environment().ok()?;
        let home = Home::open_existing(&places.state).ok()??;
        let store = Store::open_existing(&home, Durability::Process).ok()?;
        // As `incident list`: those that it would not show are not counted either.
        let days =
            Config::load(&places, Some(&home)).map_or(0, |config| config.incidents.kept_days);
        let known = incidents::list_incidents(&store, &home, days, now_ms()).ok()?.incidents;
        let waits = |incident: &&Incident| {
            let status = incidents::incident_status(&store, &home, incident);
            status.is_ok_and(|status| status == IncidentStatus::Stopped)
        };
        Some(known.iter().filter(waits).count())
    };
    list().unwrap_or(0)
}

/// Reads the client's input from standard input; `None` if a person started this.
fn read_client_input() -> Option<Value> {
    if std::io::stdin().is_terminal() {
        return None;
    }
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MOST_BYTES).read_to_end(&mut bytes);
        // After the timeout nobody receives it.
        let _ = sender.send(read.map(|_| bytes));
    });
    serde_json::from_slice(&receiver.recv_timeout(PATIENCE).ok()?.ok()?).ok()
}

fn stand(folder: &Path) -> GuardStatus {
    let places = match Paths::for_event(&folder.to_string_lossy()) {
        Ok(places) => places,
        Err(error) => return GuardStatus::Off(format!("{error:#}")),
    };
    let home = match Home::open_existing(&places.state) {
        Ok(Some(home)) => home,
        Ok(None) => {
            return GuardStatus::Off(format!(
                "it is not installed: run `{}`",
                portcullis_agents::install_command()
            ));
        }
        Err(error) => return GuardStatus::Off(error.to_string()),
    };
    let config = match Config::load(&places, Some(&home)) {
        Ok(config) => config,
        Err(error) => return GuardStatus::Off(format!("{error:#}")),
    };
    let mut agents = health::find_installed(&places, folder);
    if agents.is_empty() {
        agents.push(portcullis_agents::DEFAULT);
    }
    for agent in agents {
        match health::inspect_hooks(agent, &places, folder) {
            HookStatus::Off(why) => return GuardStatus::Off(why),
            HookStatus::Weak(why) => return GuardStatus::Weak(why),
            HookStatus::Well => {}
        }
    }
    let pause = pause::read_current(&home, now_ms()).ok().flatten();
    let observes = pause.is_some() || config.policy.mode == Mode::Observe;
    let mode = config.policy.mode;
    if mode != Mode::Off
        && let Err(error) = installed::load_reviewer(&places, &home, config, &[], now_ms())
    {
        let effect = if observes { "nothing is reviewed" } else { "each action is refused" };
        return GuardStatus::Off(format!("{effect}: {error:#}"));
    }
    if let Some(name) = quarantined(&home) {
        return GuardStatus::Weak(format!(
            "the plugin `{name}` is in quarantine: run `portcullis doctor`"
        ));
    }
    match pause {
        Some(pause) => GuardStatus::Paused(pause.until),
        None if mode == Mode::Off => {
            GuardStatus::Off("`reviewer.enabled` is false: nothing is reviewed".to_owned())
        }
        None if mode == Mode::Observe => GuardStatus::Observing,
        None => GuardStatus::Guarding,
    }
}

/// Returns what happens to the next action of a session under a guard that works.
fn standing_of(known: Result<Option<Session>, String>) -> GuardStatus {
    match known {
        Err(why) => GuardStatus::Off(format!("each action is refused: {why}")),
        Ok(Some(Session { stopped: Some(why), .. })) => GuardStatus::Stopped(why),
        Ok(Some(Session { held: Some(why), .. })) => GuardStatus::Held(why),
        Ok(_) => GuardStatus::Guarding,
    }
}

/// Returns a plugin that only a person can re-enable.
fn quarantined(home: &Home) -> Option<String> {
    let known = Store::open_existing(home, Durability::Process).ok()?.breakers().ok()?;
    breakers::held_plugins(&known, now_ms())
        .into_iter()
        .find(|held| held.waits == ReleaseCondition::ForAPerson)
        .map(|held| one_line(&held.name, 64))
}

/// Reads a session as a hook would; `None` if there is no journal yet.
///
/// # Errors
/// Fails with the reason why a hook would refuse each action: the journal or the record of a stop
/// cannot be read.
fn read_session(session: &str) -> Result<Option<Session>, String> {
    let Some(home) = Paths::from_environment()
        .ok()
        .and_then(|places| Home::open_existing(places.state).ok().flatten())
    else {
        return Ok(None);
    };
    let snapshot = match Store::open_existing(&home, Durability::Process) {
        Err(StoreError::Missing { .. }) => return Ok(None),
        store => store.and_then(|store| store.take_snapshot(session, None)),
    };
    let snapshot = snapshot.map_err(|error| error.to_string())?;
    let mut state = State::decode_state(snapshot.session.as_deref(), snapshot.agent.as_deref())
        .map_err(|error| error.to_string())?;
    let known = stopped::read_stop(&home, session).map_err(|error| format!("{error:#}"))?;
    stopped::apply_stop(&mut state, known.as_ref());
    Ok(Some(state.session))
}

fn line(stand: &GuardStatus, usage: Option<&SessionUsage>, stopped: usize) -> String {
    let stands = match stand {
        GuardStatus::Guarding => paint::good("guarding"),
        GuardStatus::Observing => paint::warn("observing"),
        GuardStatus::Paused(until) => {
            paint::warn(format!("paused until {} UTC", paint::time(*until)))
        }
        GuardStatus::Stopped(why) => paint::bad(format!(
            "STOPPED this session: {}; `portcullis incident list` shows what to do",
            one_line(why, MOST_REASON)
        )),
        GuardStatus::Held(why) => {
            paint::warn(format!("waits for your next prompt: {}", one_line(why, MOST_REASON)))
        }
        GuardStatus::Weak(why) => paint::bad(format!("INCOMPLETE: {}", one_line(why, MOST_REASON))),
        GuardStatus::Off(why) => paint::bad(format!("OFF: {}", one_line(why, MOST_REASON))),
    };
    let usage =
        usage.map(|usage| counts(usage.totals) + &limits(&usage.limits)).unwrap_or_default();
    let stopped = match stopped {
        0 => String::new(),
        count => paint::bad(format!(
            " | {} STOPPED: `portcullis incident list` shows what to do",
            count_noun(count as u64, "session")
        )),
    };
    format!("portcullis {stands}{usage}{stopped}\n")
}

/// Formats the counts of a session, without zeros.
fn counts(totals: Totals) -> String {
    let parts = [
        ("blocked", totals.blocked),
        ("asked", totals.asked),
        ("modified", totals.modified),
        ("warned", totals.warned),
    ];
    let listed: String = parts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!(", {count} {name}"))
        .collect();
    format!(" | {} reviewed{listed}", totals.steps)
}

/// Formats the limits that are used, the one that is used most first: a status line that is too
/// long loses its end.
fn limits(limits: &[LimitUse]) -> String {
    let named = limits.iter().filter(|one| one.limit.used > 0 || one.base.is_some());
    let listed: Vec<String> = named.map(LimitUse::describe_briefly).collect();
    if listed.is_empty() { String::new() } else { format!(" | {}", listed.join(", ")) }
}

fn as_json(
    stand: &GuardStatus,
    session: Option<&str>,
    usage: Option<&SessionUsage>,
    stopped: Option<usize>,
) -> Value {
    let (name, until, why) = match stand {
        GuardStatus::Guarding => ("guarding", None, None),
        GuardStatus::Observing => ("observing", None, None),
        GuardStatus::Paused(until) => ("paused", Some(*until), None),
        GuardStatus::Stopped(why) => ("stopped", None, Some(why)),
        GuardStatus::Held(why) => ("held", None, Some(why)),
        GuardStatus::Weak(why) => ("weak", None, Some(why)),
        GuardStatus::Off(why) => ("off", None, Some(why)),
    };
    let limits = usage.map(|usage| &usage.limits);
    let counts = usage.map(|SessionUsage { totals, .. }| {
        json!({
            "reviewed": totals.steps,
            "warned": totals.warned,
            "modified": totals.modified,
            "asked": totals.asked,
            "blocked": totals.blocked,
            "interventions": totals.interventions,
        })
    });
    json!({
        "status": name,
        "until": until,
        "why": why,
        "session": session,
        "counts": counts,
        "limits": limits,
        "stopped_sessions": stopped,
    })
}
