//! A session of this installation's journal, to be reviewed again.

use crate::commands::audit;
use crate::recording::{self, Recording};
use anyhow::{Result, bail};
use portcullis_core::text::one_line;
use portcullis_store::{Filter, Store};
use std::ops::ControlFlow;

/// How many sessions are named where several begin so.
const CANDIDATES: usize = 5;

/// The session of that id, or the only one whose id begins so.
///
/// # Errors
/// There is none, there are several, or the journal cannot be read.
pub fn session(id: &str) -> Result<Vec<Recording>> {
    let store = audit::open()?;
    let session = find(&store, id)?;
    let mut documents = Vec::new();
    let filter = Filter { session: Some(session.clone()), ..Filter::default() };
    store.query(&filter, |stored| {
        documents.push(stored.record.document);
        ControlFlow::Continue(())
    })?;
    recording::of_records(&session, &documents)
}

/// The id of the only session that begins so.
///
/// # Errors
/// There is none, or there are several.
pub fn find(store: &Store, id: &str) -> Result<String> {
    let begun: Vec<String> = store.sessions()?.into_iter().map(|known| known.session).filter(|known| known.starts_with(id)).collect();
    let shown = one_line(id, 120);
    match begun.as_slice() {
        _ if id.is_empty() => bail!("`--session` names no session: give its id, which `portcullis audit show --json` tells"),
        [] => bail!("the journal has no session `{shown}`; `portcullis audit show --json` tells which there are"),
        [only] => Ok(only.clone()),
        several if several.iter().any(|known| known == id) => Ok(id.to_owned()),
        several => {
            let named: Vec<String> = several.iter().take(CANDIDATES).map(|known| format!("`{}`", one_line(known, 80))).collect();
            let more = several.len().saturating_sub(named.len());
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            bail!("several sessions begin with `{shown}`: {}{more}; give more of the id", named.join(", "))
        }
    }
}
