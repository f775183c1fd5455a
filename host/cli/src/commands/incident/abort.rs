//! `portcullis incident abort`: a session stays stopped for good, and what it leaves behind is named or put away.

use super::Desk;
use super::decide::{decide, may, told};
use crate::commands::hook::now;
use crate::quarantine::{self, Entry};
use crate::{human, incidents, paint};
use anyhow::Result;
use portcullis_core::incident::{Cleanup, Incident};
use portcullis_core::session::Terms;
use portcullis_core::text::one_line;
use serde_json::json;
use std::fs;
use std::path::Path;

#[derive(clap::Args)]
pub struct Arguments {
    /// The incident's id or the beginning of one; `last` for the newest
    id: String,
    /// Move the files that the agent made into a quarantine, from which they can be had back
    #[arg(long)]
    clean_up: bool,
    /// Why, for the journal
    #[arg(long, default_value = "")]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// So many of each kind are shown to a person.
const MOST_SHOWN: usize = 50;

pub fn run(arguments: &Arguments) -> Result<u8> {
    human::refuse_agents()?;
    let mut desk = Desk::open()?;
    let incident = incidents::find(&desk.store, desk.home.path(), &arguments.id)?;
    may(&desk, &incident, Terms::Aborted)?;
    let cleans = arguments.clean_up || desk.incidents().auto_cleanup;
    let left = Cleanup { made: there(&incident), ..incident.cleanup.clone() };
    let moves = if cleans { format!(" {} files that it made go into a quarantine.", left.made.len()) } else { String::new() };
    human::confirm(&format!("{}\nIts session stays stopped for good.{moves}", told(&incident)))?;
    decide(&mut desk, &incident, Terms::Aborted, &arguments.reason, "")?;
    let moved = if cleans { clean(&desk, &incident, &left)? } else { None };
    tell(arguments, &incident, &left, moved.as_ref());
    Ok(0)
}

/// The files that the agent made and that are still there, in its project. A link counts as itself.
fn there(incident: &Incident) -> Vec<String> {
    let in_project = |path: &&String| incident.state.roots.iter().any(|root| Path::new(path).starts_with(root));
    let file = |path: &&String| fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir());
    incident.cleanup.made.iter().filter(in_project).filter(file).cloned().collect()
}

fn clean(desk: &Desk, incident: &Incident, left: &Cleanup) -> Result<Option<Entry>> {
    let what = format!("files made in the session {}, which was aborted", one_line(&incident.session, 64));
    quarantine::put_away(desk.home.path(), &incident.state.roots, &left.made, &incident.session, &what, now())
}

fn tell(arguments: &Arguments, incident: &Incident, left: &Cleanup, moved: Option<&Entry>) {
    if arguments.json {
        let document = json!({
            "incident": incident.id,
            "session": incident.session,
            "option": Terms::Aborted.as_str(),
            "cleanup": left,
            "quarantine": moved.map(|entry| &entry.id),
        });
        return paint::print(&format!("{document}\n"));
    }
    paint::print(&format!("{}: the session stays stopped.\n", paint::good("aborted")));
    let list = |heading: &str, items: &[String]| {
        if !items.is_empty() {
            paint::print(&format!("\n{}\n", paint::bold(format!("{heading} ({})", items.len()))));
        }
        items.iter().take(MOST_SHOWN).for_each(|item| paint::print(&format!("  {}\n", one_line(item, 240))));
        if items.len() > MOST_SHOWN {
            paint::print(&format!("  and {} more\n", items.len() - MOST_SHOWN));
        }
    };
    match moved {
        Some(entry) => {
            list("files that it made, moved away", &left.made);
            paint::print(&format!("  to have them back: portcullis quarantine restore {}\n", entry.id));
        }
        None => list("files that it made", &left.made),
    }
    list("commands that it started in the background: end what still runs", &left.background);
    list("moved into a quarantine: portcullis quarantine show ID", &left.quarantined);
    list("checkpoints: portcullis checkpoint restore ID", &left.checkpoints);
    if *left == Cleanup::default() {
        paint::print("There is nothing to clean up.\n");
    }
}
