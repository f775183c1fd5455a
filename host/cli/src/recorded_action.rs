//! Records of what a person did to the protection itself, outside any session.

use crate::error::Result;
use portcullis_config::Config;
use portcullis_config::paths::Paths;
use portcullis_core::record::{Record, RecordKind};
use portcullis_review::stored_records::write_record;
use portcullis_store::Home;

/// Records an action of a person in the journal, at `now` (milliseconds since 1970).
///
/// # Errors
/// Fails if the journal cannot be written.
pub fn record_action(places: &Paths, home: &Home, act: &str, what: &str, now: u64) -> Result<()> {
    let durability =
        Config::load(places, Some(home)).map(|config| config.durability).unwrap_or_default();
    let seed = std::process::id().to_string();
    let record = Record::outside_session(RecordKind::Configuration, act, what, now, &seed);
    Ok(write_record(home, durability, &record)?)
}
