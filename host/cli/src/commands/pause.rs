//! `portcullis pause` and `portcullis resume`: let a person suspend a guard that is in the way.

use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::spelling::spell_command;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_config::duration;
use portcullis_config::paths::Paths;
use portcullis_config::pause::{self, Pause};
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::one_line;
use portcullis_review::stored_records::write_record;
use portcullis_store::{Durability, Home};
use serde_json::json;

#[derive(clap::Args)]
pub struct Arguments {
    /// Set the duration, for example 15m or 2h; at most a day
    #[arg(long = "for", value_name = "DURATION", default_value = "15m", value_parser = duration::parse_milliseconds)]
    duration: u64,
    /// Give the reason, for the journal
    #[arg(long, default_value = "")]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct Resume {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_pause(arguments: &Arguments) -> Result<CommandExit> {
    if arguments.duration > pause::LONGEST {
        return Err(Error::invalid("a pause may last a day at most")
            .with_hint("`mode = \"observe\"` in the configuration lasts until you take it out"));
    }
    interactive::refuse_agents()?;
    let home = Home::open_root(Paths::from_environment()?.state)?;
    let since = now_ms();
    let until = since.saturating_add(arguments.duration);
    let end = paint::time(until);
    interactive::confirm_action(&format!(
        "Until {end} Portcullis will record what the agent does and refuse nothing, in all sessions of this user."
    ))?;
    let reason = one_line(&arguments.reason, 256);
    pause::begin_pause(&home, Pause { since, until, reason: reason.clone() })?;
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    journal(&home, &format!("a person paused the guard until {end}{why}"), since);
    if arguments.json {
        paint::print_text(&format!(
            "{}\n",
            json!({ "since": since, "until": until, "reason": reason })
        ));
        return Ok(CommandExit::Success);
    }
    paint::print_text(&format!(
        "{} until {end}. `{}` ends it.\n",
        paint::warn("paused"),
        spell_command("resume")
    ));
    Ok(CommandExit::Success)
}

pub fn run_resume(arguments: &Resume) -> Result<CommandExit> {
    let home = Home::open_root(Paths::from_environment()?.state)?;
    let ended = pause::end_pause(&home)?;
    if ended {
        journal(&home, "the pause was ended", now_ms());
    }
    if arguments.json {
        paint::print_text(&format!("{}\n", json!({ "ended": ended })));
    } else if ended {
        paint::print_text(&format!("{}: blocking is on again.\n", paint::good("resumed")));
    } else {
        paint::print_text("there was no pause.\n");
    }
    Ok(CommandExit::Success)
}

/// Records the pause. A broken journal may be the reason for pausing, so a failure is reported and
/// does not prevent it.
fn journal(home: &Home, summary: &str, at: u64) {
    let seed = std::process::id().to_string();
    let record = Record::outside_session(RecordKind::Exception, "pause", summary, at, &seed);
    if let Err(error) = write_record(home, Durability::Full, &record) {
        anstream::eprintln!("{}: this could not be recorded: {error}", paint::warn("warning"));
    }
}
