//! `portcullis recover`: begins a new journal where the old one is damaged, and keeps the old one.
//!
//! A journal that cannot be written refuses every action, so there has to be a way on. It is a person's:
//! a new journal means that sessions forget what happened in them and exceptions end.

use super::hook::now;
use crate::places::Places;
use crate::runtime::to_store;
use crate::{human, paint};
use anyhow::Result;
use portcullis_core::record::{Record, RecordKind};
use portcullis_store::{Durability, Home, Store};

#[derive(clap::Args)]
pub struct Arguments {
    /// Set a journal aside in which nothing damaged was found too
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    human::refuse_agents()?;
    let home = Home::open(Places::from_environment()?.state)?;
    let Some(damage) = damage(&home).or_else(|| arguments.force.then(|| "it was asked for with --force".to_owned())) else {
        paint::print("The journal can be read and its chain holds: there is nothing to recover.\n");
        return Ok(0);
    };
    human::confirm(&format!(
        "The journal `{}`: {damage}.\nIt will be kept under another name and a new one begun. Running sessions forget their history, \
         and exceptions end.",
        home.journal().display()
    ))?;
    let at = now();
    let aside = portcullis_store::set_aside(&home, at)?;
    let aside = aside.map_or_else(|| "there was none".to_owned(), |path| format!("the old one is `{}`", path.display()));
    let summary = format!("a person began a new journal; {aside}; {damage}");
    let record = Record::apart(RecordKind::Configuration, "recover", &summary, at, &std::process::id().to_string());
    Store::open(&home, Durability::Full)?.append(vec![to_store(&record)])?;
    paint::print(&format!("{}; {aside}. `portcullis doctor` checks the rest.\n", paint::good("a new journal was begun")));
    Ok(0)
}

/// What is wrong with the journal; none when it can be written and verifies.
fn damage(home: &Home) -> Option<String> {
    if !home.journal().exists() {
        return None;
    }
    let verified = Store::open_existing(home, Durability::Process).and_then(|mut store| store.verify(|_| {}));
    match verified {
        Ok(verification) => verification.first_bad.map(|(at, flaw)| format!("record {at} was changed: {flaw}")),
        Err(error) => Some(error.to_string()),
    }
}
