//! `portcullis serve`: the resident service, in the foreground.

mod unit;

use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use anyhow::Context;
use portcullis_config::paths::Paths;
use portcullis_protocol::{ServiceStatus, ask_status};
use portcullis_service::{OwnSocket, Service};
use portcullis_store::Home;
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::thread::Builder;

/// The version that the service tells.
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(clap::Args)]
pub struct Arguments {
    /// Show the service that runs for this home, and start none
    #[arg(long)]
    status: bool,
    /// Print a unit with which systemd starts the service for this home, and start none
    #[arg(long, conflicts_with_all = ["status", "json"])]
    unit: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run_serve(arguments: &Arguments) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    if arguments.status {
        return show_status(&places, arguments.json);
    }
    if arguments.unit {
        let program = std::env::current_exe().context("cannot determine where this program is")?;
        paint::print_text(&unit::write_unit(&program, &places)?);
        return Ok(CommandExit::Success);
    }
    let home = Home::open_root(&places.state)?;
    let socket = OwnSocket::bind(home.path())?;
    let service = Service::new(socket, VERSION, super::maintain::start_for_hook);
    stop_on_signals(&service)?;
    let path = service.socket_path().display().to_string();
    if arguments.json {
        paint::print_text(&format!(
            "{}\n",
            json!({ "socket": path, "version": VERSION, "process": std::process::id() })
        ));
    } else {
        paint::print_text(&format!(
            "The service answers at {path}. Ctrl-C ends it; hooks review by themselves then.\n"
        ));
    }
    service.run()?;
    if !arguments.json {
        paint::print_text("The service has ended.\n");
    }
    Ok(CommandExit::Success)
}

/// Lets the service end, with all answers given, when it is interrupted or terminated.
fn stop_on_signals(service: &Service) -> Result<()> {
    // A write beyond the limit on file sizes fails like a full disk, instead of ending the service.
    signal_hook::flag::register(SIGXFSZ, Arc::default()).context("cannot handle signals")?;
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot handle signals")?;
    let stop = service.stop_handle();
    let wait = move || {
        if signals.forever().next().is_some() {
            stop.stop();
        }
    };
    Builder::new()
        .name("portcullis-signals".into())
        .spawn(wait)
        .context("cannot handle signals")?;
    Ok(())
}

fn show_status(places: &Paths, as_json: bool) -> Result<CommandExit> {
    let Some(status) = ask_status(&places.state).context("the service does not answer")? else {
        return Err(Error::not_found("no service runs for this home").with_hint(
            "start one with `portcullis serve`; without one, hooks review by themselves",
        ));
    };
    let ServiceStatus { version, process, uptime, reviewed, declined } = status;
    let text = if as_json {
        json!({
            "version": version,
            "process": process,
            "uptime_seconds": uptime,
            "reviewed": reviewed,
            "left_to_hooks": declined,
        })
        .to_string()
    } else {
        format!(
            "version {version}, process {process}, up for {uptime} s: {reviewed} events reviewed, \
             {declined} left to their hooks"
        )
    };
    paint::print_text(&format!("{text}\n"));
    Ok(CommandExit::Success)
}
