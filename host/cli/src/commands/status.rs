//! `portcullis status`: one short line for the client's status line.
//!
//! It is asked again and again while a person works: it looks at files, makes nothing, and never fails.

use crate::breakers;
use crate::commands::hook::now;
use crate::config::Config;
use crate::health::{self, Glance};
use crate::paint;
use crate::pause;
use crate::places::Places;
use portcullis_core::action::Totals;
use portcullis_core::breaker::Waits;
use portcullis_core::policy::Mode;
use portcullis_core::session::State;
use portcullis_core::text::one_line;
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

/// How long the client may take to say which session it is.
const PATIENCE: Duration = Duration::from_millis(100);
/// The most that is read of what it says.
const MOST_BYTES: u64 = 1024 * 1024;
/// The longest reason that fits a status line, in bytes.
const MOST_REASON: usize = 120;

/// How the guard stands.
enum Stand {
    Guarding,
    Observing,
    Paused(u64),
    /// The hooks run, and the guard is not whole.
    Weak(String),
    /// The hooks do not run, or refuse everything.
    Off(String),
}

pub fn run(arguments: &Arguments) -> u8 {
    let said = said().unwrap_or_default();
    let text = |pointer: &str| said.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let session = text("/session_id");
    let folder = text("/workspace/project_dir").or_else(|| text("/cwd")).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = folder.or_else(|| env::current_dir().ok()).unwrap_or_default();
    let stand = stand(&folder);
    let totals = session.as_deref().and_then(totals);
    paint::print(&if arguments.json { format!("{}\n", as_json(&stand, session.as_deref(), totals)) } else { line(&stand, totals) });
    0
}

/// What the client says on standard input; nothing where a person started this.
fn said() -> Option<Value> {
    if std::io::stdin().is_terminal() {
        return None;
    }
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MOST_BYTES).read_to_end(&mut bytes);
        // After its time nobody waits for it.
        let _ = sender.send(read.map(|_| bytes));
    });
    serde_json::from_slice(&receiver.recv_timeout(PATIENCE).ok()?.ok()?).ok()
}

fn stand(folder: &Path) -> Stand {
    let places = match Places::for_event(&folder.to_string_lossy()) {
        Ok(places) => places,
        Err(error) => return Stand::Off(format!("{error:#}")),
    };
    let home = match Home::open_existing(&places.state) {
        Ok(Some(home)) => home,
        Ok(None) => return Stand::Off("it is not installed: run `portcullis install claude`".to_owned()),
        Err(error) => return Stand::Off(error.to_string()),
    };
    let config = match Config::load(&places, Some(&home)) {
        Ok(config) => config,
        Err(error) => return Stand::Off(format!("{error:#}")),
    };
    match health::glance(&places, folder) {
        Glance::Off(why) => return Stand::Off(why),
        Glance::Weak(why) => return Stand::Weak(why),
        Glance::Well => {}
    }
    if let Some(name) = quarantined(&home) {
        return Stand::Weak(format!("the plugin `{name}` is in quarantine: run `portcullis doctor`"));
    }
    match pause::current(&home, now()) {
        Ok(Some(pause)) => Stand::Paused(pause.until),
        _ if config.policy.mode == Mode::Off => Stand::Off("`reviewer.enabled` is false: nothing is reviewed".to_owned()),
        _ if config.policy.mode == Mode::Observe => Stand::Observing,
        _ => Stand::Guarding,
    }
}

/// A plugin that is left to a person.
fn quarantined(home: &Home) -> Option<String> {
    let known = Store::open_existing(home, Durability::Process).ok()?.breakers().ok()?;
    breakers::held(&known, now()).into_iter().find(|held| held.waits == Waits::ForAPerson).map(|held| one_line(&held.name, 64))
}

fn totals(session: &str) -> Option<Totals> {
    let home = Home::open_existing(Places::from_environment().ok()?.state).ok()??;
    let snapshot = Store::open_existing(&home, Durability::Process).ok()?.snapshot(session, None).ok()?;
    Some(State::decode(snapshot.session.as_deref(), snapshot.agent.as_deref()).ok()?.session.totals)
}

fn line(stand: &Stand, totals: Option<Totals>) -> String {
    let stands = match stand {
        Stand::Guarding => paint::good("guarding"),
        Stand::Observing => paint::warn("observing"),
        Stand::Paused(until) => paint::warn(format!("paused until {} UTC", paint::time(*until))),
        Stand::Weak(why) => paint::bad(format!("NOT WHOLE: {}", one_line(why, MOST_REASON))),
        Stand::Off(why) => paint::bad(format!("OFF: {}", one_line(why, MOST_REASON))),
    };
    format!("portcullis {stands}{}\n", totals.map(counts).unwrap_or_default())
}

/// The counts of a session; what did not happen is not told.
fn counts(totals: Totals) -> String {
    let parts = [("blocked", totals.blocked), ("asked", totals.asked), ("modified", totals.modified), ("warned", totals.warned)];
    let told: String = parts.iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!(", {count} {name}")).collect();
    format!(" | {} reviewed{told}", totals.steps)
}

fn as_json(stand: &Stand, session: Option<&str>, totals: Option<Totals>) -> Value {
    let (name, until, why) = match stand {
        Stand::Guarding => ("guarding", None, None),
        Stand::Observing => ("observing", None, None),
        Stand::Paused(until) => ("paused", Some(*until), None),
        Stand::Weak(why) => ("weak", None, Some(why)),
        Stand::Off(why) => ("off", None, Some(why)),
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
