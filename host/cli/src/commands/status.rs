//! `portcullis status`: prints one short line for the client's status line.
//!
//! It is called again and again while a person works: it reads files, creates nothing, and never
//! fails.

use crate::paint;
use portcullis_config::Config;
use portcullis_config::clock::now;
use portcullis_config::paths::Paths;
use portcullis_config::pause;
use portcullis_core::action::Totals;
use portcullis_core::breaker::ReleaseCondition;
use portcullis_core::policy::Mode;
use portcullis_core::session::State;
use portcullis_core::text::one_line;
use portcullis_review::breakers;
use portcullis_review::health::{self, HookStatus};
use portcullis_store::{Durability, Home, Store};
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
const MOST_REASON: usize = 120;

/// The state of the guard.
enum GuardStatus {
    Guarding,
    Observing,
    Paused(u64),
    /// The hooks run, but protection is incomplete.
    Weak(String),
    /// The hooks do not run, or refuse everything.
    Off(String),
}

pub fn run(arguments: &Arguments) -> u8 {
    let said = read_client_input().unwrap_or_default();
    let text = |pointer: &str| said.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let session = text("/session_id");
    let folder = text("/workspace/project_dir")
        .or_else(|| text("/cwd"))
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let folder = folder.or_else(|| env::current_dir().ok()).unwrap_or_default();
    let stand = stand(&folder);
    let totals = session.as_deref().and_then(totals);
    paint::print(&if arguments.json {
        format!("{}\n", as_json(&stand, session.as_deref(), totals))
    } else {
        line(&stand, totals)
    });
    0
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
    match health::inspect_hooks(portcullis_agents::DEFAULT, &places, folder) {
        HookStatus::Off(why) => return GuardStatus::Off(why),
        HookStatus::Weak(why) => return GuardStatus::Weak(why),
        HookStatus::Well => {}
    }
    if let Some(name) = quarantined(&home) {
        return GuardStatus::Weak(format!(
            "the plugin `{name}` is in quarantine: run `portcullis doctor`"
        ));
    }
    match pause::current(&home, now()) {
        Ok(Some(pause)) => GuardStatus::Paused(pause.until),
        _ if config.policy.mode == Mode::Off => {
            GuardStatus::Off("`reviewer.enabled` is false: nothing is reviewed".to_owned())
        }
        _ if config.policy.mode == Mode::Observe => GuardStatus::Observing,
        _ => GuardStatus::Guarding,
    }
}

/// Returns a plugin that only a person can re-enable.
fn quarantined(home: &Home) -> Option<String> {
    let known = Store::open_existing(home, Durability::Process).ok()?.breakers().ok()?;
    breakers::held_plugins(&known, now())
        .into_iter()
        .find(|held| held.waits == ReleaseCondition::ForAPerson)
        .map(|held| one_line(&held.name, 64))
}

fn totals(session: &str) -> Option<Totals> {
    let home = Home::open_existing(Paths::from_environment().ok()?.state).ok()??;
    let snapshot =
        Store::open_existing(&home, Durability::Process).ok()?.snapshot(session, None).ok()?;
    Some(State::decode(snapshot.session.as_deref(), snapshot.agent.as_deref()).ok()?.session.totals)
}

fn line(stand: &GuardStatus, totals: Option<Totals>) -> String {
    let stands = match stand {
        GuardStatus::Guarding => paint::good("guarding"),
        GuardStatus::Observing => paint::warn("observing"),
        GuardStatus::Paused(until) => {
            paint::warn(format!("paused until {} UTC", paint::time(*until)))
        }
        GuardStatus::Weak(why) => paint::bad(format!("NOT WHOLE: {}", one_line(why, MOST_REASON))),
        GuardStatus::Off(why) => paint::bad(format!("OFF: {}", one_line(why, MOST_REASON))),
    };
    format!("portcullis {stands}{}\n", totals.map(counts).unwrap_or_default())
}

/// Formats the counts of a session, without zeros.
fn counts(totals: Totals) -> String {
    let parts = [
        ("blocked", totals.blocked),
        ("asked", totals.asked),
        ("modified", totals.modified),
        ("warned", totals.warned),
    ];
    let told: String = parts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!(", {count} {name}"))
        .collect();
    format!(" | {} reviewed{told}", totals.steps)
}

fn as_json(stand: &GuardStatus, session: Option<&str>, totals: Option<Totals>) -> Value {
    let (name, until, why) = match stand {
        GuardStatus::Guarding => ("guarding", None, None),
        GuardStatus::Observing => ("observing", None, None),
        GuardStatus::Paused(until) => ("paused", Some(*until), None),
        GuardStatus::Weak(why) => ("weak", None, Some(why)),
        GuardStatus::Off(why) => ("off", None, Some(why)),
    };
    let counts = totals.map(|totals| {
        json!({
            "reviewed": totals.steps,
            "warned": totals.warned,
            "modified": totals.modified,
            "asked": totals.asked,
            "blocked": totals.blocked,
            "interventions": totals.interventions,
        })
    });
    json!({ "status": name, "until": until, "why": why, "session": session, "counts": counts })
}
