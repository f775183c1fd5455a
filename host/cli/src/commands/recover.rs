//! `portcullis recover`: starts a new journal if the old one is damaged, gone or not ours, and
//! keeps the old one.
//!
//! A journal that cannot be written refuses every action, so there has to be a way out. Only a
//! person may take it: with a new journal, sessions lose their history and exceptions end. Stopped
//! sessions stay stopped.

use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::record::{Record, RecordKind};
use portcullis_review::incidents;
use portcullis_review::stored_records::to_store;
use portcullis_store::{Durability, Home, Store};
use serde_json::{Value, json};
use std::path::Path;

#[derive(clap::Args)]
pub struct Arguments {
    /// Set the journal aside even if it is intact
    #[arg(long)]
    force: bool,
    /// Accept an intact journal that is not the newest, such as one restored from a backup
    #[arg(long, conflicts_with = "force")]
    keep: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The damage found in the journal.
struct Damage {
    what: String,
    /// It is intact: a person may accept it unchanged.
    whole: bool,
}

pub fn run_recover(arguments: &Arguments) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let home = Home::open_root(Paths::from_environment()?.state)?;
    let asked = || Damage { what: "it was asked for with --force".to_owned(), whole: true };
    let Some(damage) = damage(&home).or_else(|| arguments.force.then(asked)) else {
        paint::print_text(&if arguments.json {
            format!("{}\n", outcome("nothing_to_do", &home, None, None))
        } else {
            "The journal can be read and its chain holds: there is nothing to recover.\n".to_owned()
        });
        return Ok(CommandExit::Success);
    };
    if arguments.keep {
        keep(&home, &damage, arguments.json)
    } else {
        begin(&home, &damage, arguments.json)
    }
}

fn outcome(outcome: &str, home: &Home, damage: Option<&Damage>, kept: Option<&Path>) -> Value {
    json!({
        "outcome": outcome,
        "journal": home.journal(),
        "damage": damage.map(|damage| damage.what.as_str()),
        "kept": kept,
    })
}

fn begin(home: &Home, damage: &Damage, as_json: bool) -> Result<CommandExit> {
    let way_on = if damage.whole { " With --keep it is taken as it is." } else { "" };
    interactive::confirm_action(&format!(
        "The journal `{}`: {}.\nIt will be kept under another name and a new one begun. Running \
         sessions forget their history, \
         and exceptions end; stopped sessions stay stopped.{way_on}",
        home.journal().display(),
        damage.what
    ))?;
    let at = now_ms();
    // A stop has to be in a file of its own, as the journal goes.
    incidents::import_stops(home)?;
    let kept = portcullis_store::quarantine_journal(home, at)?;
    // Data that was encrypted under another key of the home cannot be read with this one.
    home.data_keys().quarantine_keys(at)?;
    let document = outcome("begun", home, Some(damage), kept.as_deref());
    let kept = kept.map_or_else(
        || "there was none".to_owned(),
        |path| format!("the old one is `{}`", path.display()),
    );
    let summary = format!("a person began a new journal; {kept}; {}", damage.what);
    record(&mut Store::open_or_recreate(home, Durability::Full)?, &summary, at)?;
    if as_json {
        paint::print_text(&format!("{document}\n"));
        return Ok(CommandExit::Success);
    }
    paint::print_text(&format!(
        "{}; {kept}. `portcullis doctor` checks the rest.\n",
        paint::good("a new journal was begun")
    ));
    Ok(CommandExit::Success)
}

fn keep(home: &Home, damage: &Damage, as_json: bool) -> Result<CommandExit> {
    if !damage.whole {
        return Err(Error::integrity(format!("the journal cannot be kept: {}", damage.what))
            .with_hint("without --keep a new one is begun"));
    }
    interactive::confirm_action(&format!(
        "The journal `{}`: {}.\nIt will be taken as it is. What happened after it was copied is \
         not known to sessions any more.",
        home.journal().display(),
        damage.what
    ))?;
    incidents::import_stops(home)?;
    let mut store = Store::open_existing(home, Durability::Full)?;
    store.accept_state()?;
    record(&mut store, &format!("a person took the journal as it is; {}", damage.what), now_ms())?;
    if as_json {
        paint::print_text(&format!("{}\n", outcome("taken", home, Some(damage), None)));
        return Ok(CommandExit::Success);
    }
    paint::print_text(&format!(
        "{}. `portcullis doctor` checks the rest.\n",
        paint::good("the journal was taken as it is")
    ));
    Ok(CommandExit::Success)
}

/// Appends the record of a recovery; the home's mark covers it from then on.
fn record(store: &mut Store, summary: &str, at: u64) -> Result<()> {
    let record = Record::outside_session(
        RecordKind::Configuration,
        "recover",
        summary,
        at,
        &std::process::id().to_string(),
    );
    store.append_records(vec![to_store(&record)])?;
    Ok(store.checkpoint_log()?)
}

/// Returns the damage of the journal; `None` if it can be written, verifies, and is the one that
/// the home knows.
fn damage(home: &Home) -> Option<Damage> {
    if !home.journal().exists() {
        let what =
            |trace: &str| format!("it is gone, though this home has had one (`{trace}` is there)");
        return home.journal_evidence().map(|trace| Damage { what: what(trace), whole: false });
    }
    let verified = Store::open_existing(home, Durability::Process)
        .and_then(|mut store| store.verify_chain(|_| {}));
    let verification = match verified {
        Ok(verification) => verification,
        Err(error) => return Some(Damage { what: error.to_string(), whole: false }),
    };
    let changed =
        verification.first_bad.map(|(at, flaw)| format!("record {at} was changed: {flaw}"));
    match (changed.or(verification.states), verification.replaced) {
        (Some(what), _) => Some(Damage { what, whole: false }),
        (None, Some(what)) => Some(Damage { what, whole: true }),
        (None, None) => None,
    }
}
