//! `portcullis exports`: lists the exports and how far each is, tries one, delivers now, and moves a
//! cursor.

use crate::commands::audit;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::export_delivery::{ExportOutcome, ExportWorker, describe_delivery};
use crate::{interactive, paint};
use portcullis_config::Config;
use portcullis_config::amount::format_span;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::credentials::HomeCredentials;
use portcullis_review::exports::{
    ConfiguredExport, ExportLock, ExportState, ExportStatus, configured_exports,
    list_export_statuses,
};
use portcullis_review::stored_records::to_store;
use portcullis_store::{ExportCursor, Filter, Hash, Home, Store};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(clap::Subcommand)]
pub enum Command {
    /// List the exports: how far each is, what waits, and its last failure
    List(Print),
    /// Send one record that is in no journal, to try a sink
    Test {
        /// The export's name
        name: String,
        #[command(flatten)]
        print: Print,
    },
    /// Deliver now, without waiting for a retry
    Run {
        /// The export's name (default: all)
        name: Option<String>,
        #[command(flatten)]
        print: Print,
    },
    /// Move an export to another place in the journal (interactive)
    Reset(Reset),
}

#[derive(clap::Args)]
pub struct Print {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct Reset {
    /// The export's name
    name: String,
    /// The place to go on from: the `beginning` of the journal, `now`, or after a position
    #[arg(long, value_name = "PLACE", default_value = "beginning")]
    to: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The time for which one run delivers.
const RUN: Duration = Duration::from_secs(60 * 60);

type Exports = BTreeMap<String, ConfiguredExport>;

pub fn run_exports(command: &Command) -> Result<CommandExit> {
    match command {
        Command::List(print) => list(print.json),
        Command::Test { name, print } => test(name, print.json),
        Command::Run { name, print } => run(name.as_deref(), print.json),
        Command::Reset(arguments) => reset(arguments),
    }
}

/// An installation with its exports.
struct Site {
    places: Paths,
    home: Home,
    config: Arc<Config>,
    exports: Exports,
    credentials: HomeCredentials,
}

impl Site {
    fn open() -> Result<Self> {
        let places = Paths::from_environment()?;
        let home = Home::open_root(&places.state)?;
        let config = Config::load(&places, Some(&home))?;
        let exports = configured_exports(&config, &places.person);
        let credentials = HomeCredentials::of_home(Some(&home));
        Ok(Self { places, home, config: Arc::new(config), exports, credentials })
    }

    fn find(&self, name: &str) -> Result<&ConfiguredExport> {
        self.exports.get(name).ok_or_else(|| unknown(name, &self.exports))
    }

    fn open_store(&self) -> Result<Store> {
        Ok(Store::open_database(&self.home, self.config.durability)?)
    }
}

fn unknown(name: &str, exports: &Exports) -> Error {
    let known: Vec<String> = exports.keys().map(|name| format!("`{name}`")).collect();
    let there = match known.is_empty() {
        true => "none is configured".to_owned(),
        false => format!("there are {}", known.join(", ")),
    };
    Error::not_found(format!("there is no export `{}`", one_line(name, 64))).with_hint(there)
}

fn list(as_json: bool) -> Result<CommandExit> {
    let site = Site::open()?;
    let now = now_ms();
    let statuses = list_export_statuses(&site.exports, &site.open_store()?, now)?;
    if as_json {
        let all: Vec<Value> =
            statuses.iter().map(|status| status_json(&site, status, now)).collect();
        paint::print_text(&format!("{}\n", json!({ "exports": all })));
        return Ok(CommandExit::Success);
    }
    for status in &statuses {
        paint::print_wrapped(&status_text(&site, status, now), 2);
    }
    if statuses.is_empty() {
        paint::print_text("no exports: `exports.NAME` in your configuration makes one\n");
    }
    Ok(CommandExit::Success)
}

fn status_text(site: &Site, status: &ExportStatus, now: u64) -> String {
    let ExportStatus { name, state, .. } = status;
    let name = one_line(name, 64);
    let Some(export) = site.exports.get(&status.name) else {
        let last = status.sequence;
        return format!("{name}: not configured any more, after record {last}\n");
    };
    let problem = export.problem(&site.credentials);
    let health = match (&problem, &state.last_error) {
        (Some(problem), _) => format!("{}: {problem}", paint::bad("cannot be used")),
        (None, Some(error)) => format!(
            "{}: {}, next attempt {}: {}",
            paint::bad("fails"),
            count_noun(state.failures, "failure"),
            paint::time(state.retry_at),
            one_line(error, 600)
        ),
        (None, None) => paint::good("ready"),
    };
    let waits = match status.waiting {
        0 => "nothing waits".to_owned(),
        waiting => format!(
            "{} wait, the oldest for {}",
            count_noun(waiting, "record"),
            format_span(status.lag_ms(now))
        ),
    };
    let mut text = format!(
        "{name}: {} to {}: {health}; {} delivered, {waits}",
        one_line(&export.format, 64),
        export.kind,
        state.delivered
    );
    for (count, what) in [
        (state.rejected, "rejected by the sink"),
        (state.skipped, "passed over"),
        (state.lost, "removed by retention before they were delivered"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text.push('\n');
    text
}

fn status_json(site: &Site, status: &ExportStatus, now: u64) -> Value {
    let export = site.exports.get(&status.name);
    let ExportState {
        delivered,
        deliveries,
        delivered_at,
        rejected,
        skipped,
        last_skipped,
        lost,
        failures,
        last_error,
        retry_at,
        ..
    } = &status.state;
    let time = |at: u64| (at > 0).then_some(at);
    json!({
        "name": status.name,
        "configured": status.is_configured,
        "format": export.map(|export| &export.format),
        "sink": export.map(|export| &export.kind),
        "problem": export.and_then(|export| export.problem(&site.credentials)),
        "sequence": status.sequence,
        "waiting": status.waiting,
        "lag_ms": status.lag_ms(now),
        "delivered": delivered,
        "deliveries": deliveries,
        "delivered_at": time(*delivered_at),
        "rejected": rejected,
        "skipped": skipped,
        "last_skipped": last_skipped,
        "lost": lost,
        "failures": failures,
        "failure": last_error,
        "next_at": time(*retry_at),
    })
}

fn test(name: &str, as_json: bool) -> Result<CommandExit> {
    let site = Site::open()?;
    let export = site.find(name)?;
    let mut worker =
        ExportWorker::open(Home::open_root(&site.places.state)?, site.config.durability)?;
    let result = worker.send_trial(&site.places, &site.config, (name, export));
    let result = result.map_err(|error| error.in_line());
    print_result(as_json, name, &result);
    Ok(CommandExit::of_check(result.is_ok()))
}

fn run(name: Option<&str>, as_json: bool) -> Result<CommandExit> {
    let site = Site::open()?;
    let chosen: Vec<(&String, &ConfiguredExport)> = match name {
        Some(name) => {
            site.find(name)?;
            site.exports.iter().filter(|(known, _)| *known == name).collect()
        }
        None => site.exports.iter().collect(),
    };
    let until = Instant::now() + RUN;
    let mut failed = false;
    for (name, export) in &chosen {
        let home = Home::open_root(&site.places.state)?;
        let mut worker = ExportWorker::open(home, site.config.durability)?;
        let ran = worker.run_export(&site.places, &site.config, (name, export), until, false);
        let result = match ran {
            Ok(ExportOutcome::Busy) => Err("another process delivers it just now".to_owned()),
            Ok(ExportOutcome::Ran(Ok(delivery))) => Ok(describe_delivery(&delivery)),
            Ok(ExportOutcome::Ran(Err(error))) | Err(error) => Err(error.in_line()),
        };
        failed |= result.is_err();
        print_result(as_json, name, &result);
    }
    if chosen.is_empty() && !as_json {
        paint::print_text("no exports: `exports.NAME` in your configuration makes one\n");
    }
    Ok(CommandExit::of_check(!failed))
}

fn print_result(as_json: bool, name: &str, result: &std::result::Result<String, String>) {
    let (delivered, what) = match result {
        Ok(what) => (true, what),
        Err(failure) => (false, failure),
    };
    paint::print_text(&match (as_json, delivered) {
        (true, _) => {
            format!("{}\n", json!({ "export": name, "delivered": delivered, "what": what }))
        }
        (false, true) => format!("{}: {name}: {what}\n", paint::good("delivered")),
        (false, false) => format!("{}: {name}: {what}\n", paint::bad("not delivered")),
    });
}

/// Moves a cursor. It can hide records from a sink, so only a person does it, and the journal has a
/// record of it.
fn reset(arguments: &Reset) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let name = &arguments.name;
    let shown = one_line(name, 64);
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let mut store = audit::open_store()?;
    let config = Config::load(&places, Some(&home))?;
    let exports = configured_exports(&config, &places.person);
    let known = store.find_export_cursor(name);
    if !exports.contains_key(name) && matches!(known, Ok(None)) {
        return Err(unknown(name, &exports));
    }
    let (sequence, hash) = find_place(&store, &arguments.to)?;
    let lock = ExportLock::take_lock(&home, name);
    let Some(_lock) = lock.with_context(|| format!("cannot lock the export `{shown}`"))? else {
        return Err(Error::io(format!("another process delivers `{shown}` just now"))
            .with_hint("try again, or stop `portcullis serve` for it"));
    };
    let before = match &known {
        Ok(Some(cursor)) => format!("is after record {}", cursor.sequence),
        Ok(None) => "has not begun".to_owned(),
        // Replacing a cursor that was changed from outside is a purpose of this command.
        Err(error) => one_line(&error.to_string(), 400),
    };
    let then = if exports.contains_key(name) {
        format!("Have it go on after record {sequence}?")
    } else {
        "It is not configured any more. Forget it?".to_owned()
    };
    interactive::confirm_action(&format!("The export `{shown}` {before}.\n{then}"))?;
    let summary = format!("a person moved the export `{shown}` to after record {sequence}");
    let mut record = Record::outside_session(
        RecordKind::Configuration,
        "exports reset",
        &summary,
        now_ms(),
        &shown,
    );
    record.details.insert("export".into(), shown.as_str().into());
    record.details.insert("sequence".into(), sequence.into());
    store.append_records(vec![to_store(&record)])?;
    store.remove_export_cursor(name)?;
    if exports.contains_key(name) {
        // The totals begin again, and so does what the sink knows of a file.
        store.put_export_cursor(&ExportCursor {
            name: name.clone(),
            sequence,
            hash,
            document: "{}".to_owned(),
        })?;
    }
    paint::print_text(&if arguments.json {
        format!("{}\n", json!({ "export": name, "sequence": sequence }))
    } else {
        format!("{} `{shown}` goes on after record {sequence}.\n", paint::good("moved."))
    });
    Ok(CommandExit::Success)
}

/// Returns position and hash of the record after which an export goes on.
fn find_place(store: &Store, to: &str) -> Result<(u64, Hash)> {
    let start = store.start()?;
    let beginning = start.map_or_else(Default::default, |start| (start.sequence, start.hash));
    let head = store.head_anchor(now_ms())?;
    let sequence: u64 = match to {
        "beginning" => return Ok(beginning),
        "now" => return Ok((head.sequence, head.hash)),
        position => position.parse().map_err(|_| {
            Error::invalid(format!("`{}` is no place in the journal", one_line(position, 64)))
                .with_hint("write `beginning`, `now` or the position of a record")
        })?,
    };
    if sequence <= beginning.0 {
        return Ok(beginning);
    }
    let mut found = None;
    let filter = Filter { after: sequence.checked_sub(1), limit: Some(1), ..Filter::default() };
    store.query_records(&filter, |stored| {
        found = Some((stored.sequence, stored.hash));
        ControlFlow::Break(())
    })?;
    found.filter(|(position, _)| *position == sequence).ok_or_else(|| {
        Error::not_found(format!("the journal has no record {sequence}"))
            .with_hint(format!("it ends with record {}", head.sequence))
    })
}
