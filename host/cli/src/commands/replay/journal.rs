//! Reads a session from this installation's journal for replay.

use crate::commands::audit;
use crate::error::{Error, Result};
use portcullis_core::text::one_line;
use portcullis_review::recording::{self, Recording};
use portcullis_store::{Filter, Store};
use std::ops::ControlFlow;

/// The most sessions named in the error about an ambiguous prefix.
const CANDIDATES: usize = 5;

/// Reads the session with that id, or the only one whose id begins with it.
///
/// # Errors
/// Fails if there is no such session or more than one, or if the journal cannot be read.
pub fn read_session(id: &str) -> Result<Vec<Recording>> {
    let store = audit::open_store()?;
    let session = find_session(&store, id)?;
    let mut documents = Vec::new();
    let filter = Filter { session: Some(session.clone()), ..Filter::default() };
    store.query_records(&filter, |stored| {
        documents.push(stored.record.document);
        ControlFlow::Continue(())
    })?;
    Ok(recording::from_records(&session, &documents)?)
}

/// Returns the id of the only session that begins with `id`.
///
/// # Errors
/// Fails if there is no such session or more than one.
pub fn find_session(store: &Store, id: &str) -> Result<String> {
    let begun: Vec<String> = store
        .sessions()?
        .into_iter()
        .map(|known| known.session)
        .filter(|known| known.starts_with(id))
        .collect();
    let shown = one_line(id, 120);
    match begun.as_slice() {
        _ if id.is_empty() => Err(Error::invalid("`--session` names no session")
            .with_hint("give its id, as `portcullis audit show --json` shows it")),
        [] => Err(Error::not_found(format!("the journal has no session `{shown}`"))
            .with_hint("`portcullis audit show --json` lists them")),
        [only] => Ok(only.clone()),
        // A whole id counts, also if others begin with it.
        several if several.iter().any(|known| known == id) => Ok(id.to_owned()),
        several => {
            let named: Vec<String> = several
                .iter()
                .take(CANDIDATES)
                .map(|known| format!("`{}`", one_line(known, 80)))
                .collect();
            let more = several.len().saturating_sub(named.len());
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            Err(Error::invalid(format!(
                "several sessions begin with `{shown}`: {}{more}",
                named.join(", ")
            ))
            .with_hint("give more of the id"))
        }
    }
}
