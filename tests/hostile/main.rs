//! Attacks on the host, one guest each: the message, the record, the cost, and that the next action
//! is answered as if nothing had happened.
//!
//! The table is [`attacks::ATTACKS`]; a guest's text is in `guests/`, a function of [`made`]
//! creates it, or one of [`played`] plays the attack. A text without a row and a row without a text
//! fail the run, and so does a page `host/docs/attacks.md` that does not show the table.
//! `PORTCULLIS_BLESS=1` writes the page, with the measurements.
//!
//! The cost of a hook is compared with the hook of a benign guest in the same run: processor time
//! instead of wall-clock time, since another process must not fail a test.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

mod attacks;
mod binary;
mod bombs;
#[path = "../cli/common/mod.rs"]
mod common;
mod guest;
mod made;
mod meter;
mod page;
mod played;
mod review;

use anyhow::{Context, Result, ensure};
use attacks::{ATTACKS, Bytes};
use std::collections::BTreeSet;
use std::fs;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = meter::is_asked() {
        return code;
    }
    let mut trials = vec![common::trial(
        "hostile: each guest has a row and each row a guest",
        every_guest_has_a_row,
    )];
    trials.extend(
        ATTACKS.iter().map(|attack| {
            common::trial(format!("hostile: {}", attack.name), || review::run(attack))
        }),
    );
    // This test is last, since it shows the measurements of the others.
    trials.push(common::trial("hostile: the page shows the table", page::check));
    common::run_in_turn(trials)
}

fn every_guest_has_a_row() -> Result<()> {
    let folder = guest::folder();
    let mut texts = BTreeSet::new();
    for entry in
        fs::read_dir(&folder).with_context(|| format!("cannot read `{}`", folder.display()))?
    {
        texts.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    let used = ATTACKS.iter().flat_map(|attack| match attack.bytes {
        Bytes::Text => vec![attack.name],
        Bytes::Played(guests, _) => guests.to_vec(),
        Bytes::Made(_) | Bytes::Many(_) => Vec::new(),
    });
    let named: BTreeSet<String> =
        used.chain([review::BENIGN]).map(|name| format!("{name}.wat")).collect();
    let all: BTreeSet<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
    ensure!(all.len() == ATTACKS.len(), "two rows have the same name");
    let (without_row, without_text): (Vec<_>, Vec<_>) =
        (texts.difference(&named).collect(), named.difference(&texts).collect());
    ensure!(
        without_row.is_empty(),
        "guests without a row in tests/hostile/attacks.rs: {without_row:?}"
    );
    ensure!(
        without_text.is_empty(),
        "rows without a guest in tests/hostile/guests: {without_text:?}"
    );
    Ok(())
}
