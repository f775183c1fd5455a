//! `portcullis replay`: reviews recorded sessions again and shows each as a timeline. Depends on the recording,
//! the plugins and the configuration alone, so two runs print the same bytes: no wall clock, no disk of today.
//!
//! `--claude` reviews all that the client still has of a person's own sessions, and sums it up.

mod claude;
mod compare;
#[cfg(test)]
mod halves;
mod journal;
mod lines;
mod page;
mod session;
mod setup;
mod sum;
mod table;
mod tally;
mod text;

pub use compare::Pair;
pub use journal::find as find_session;
pub use session::Session;
pub use setup::Tried;

use crate::paint;
use crate::recording::{self, Recording};
use anyhow::Result;
use page::Page;
use std::path::PathBuf;
use sum::Sum;

#[derive(clap::Args)]
pub struct Arguments {
    /// Recordings: hook payloads, journals, Claude Code transcripts or trajectories
    #[arg(required_unless_present_any = ["claude", "session"])]
    files: Vec<PathBuf>,
    /// Review a session of the journal again, by its id or the only one that begins so
    #[arg(long, value_name = "ID", conflicts_with = "claude")]
    session: Vec<String>,
    /// Sum up your own past sessions with Claude Code: what would have been warned about, changed, asked, blocked
    #[arg(long, conflicts_with_all = ["files", "all"])]
    claude: bool,
    /// With --claude: how far back, for example 30d
    #[arg(long, value_name = "DURATION", default_value = "30d", value_parser = crate::duration::milliseconds, requires = "claude", conflicts_with = "files")]
    since: u64,
    /// With --claude: only sessions in this folder
    #[arg(long, value_name = "DIR", requires = "claude", conflicts_with = "files")]
    project: Option<PathBuf>,
    #[command(flatten)]
    tried: Tried,
    /// Put your own set-up beside the one that --plugin and --config make, and show only what would change
    #[arg(long, requires = "tried", conflicts_with_all = ["claude", "shadow", "all"])]
    compare: bool,
    /// What --plugin loads looks on: it is recorded what it would have done, and nothing else is any different
    #[arg(long, requires = "plugin", conflicts_with = "claude")]
    shadow: bool,
    /// Show every step, not only those with something to tell
    #[arg(long, short)]
    all: bool,
    /// Write a page for a browser too: one file that loads nothing
    #[arg(long, value_name = "PAGE", conflicts_with = "claude")]
    html: Option<PathBuf>,
    /// Print every record as a line of JSON, then one line with the totals
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<u8> {
    if arguments.claude {
        return claude::run(arguments);
    }
    arguments.html.as_deref().map(page::file::check).transpose()?;
    if arguments.compare { beside(arguments) } else { alone(arguments) }?;
    Ok(0)
}

/// One set-up.
fn alone(arguments: &Arguments) -> Result<()> {
    let mut reviewer = arguments.tried.reviewer(arguments.shadow)?;
    let (mut sum, mut page) = (Sum::default(), Page::default());
    let levels = reviewer.config().policy.decision.risk;
    each(arguments, |recording| {
        let timeline = session::play(recording, &mut reviewer, |records| {
            for record in records {
                sum.record(record);
                if arguments.json {
                    paint::print(&format!("{}\n", record.document()));
                }
            }
        });
        sum.session(&timeline);
        if arguments.html.is_some() {
            page.session(&timeline, &levels);
        } else if !arguments.json {
            paint::print(&text::session(&timeline, arguments.all));
        }
    })?;
    write(arguments, || page.of(&sum))?;
    let shadow = if sum.shadow.is_empty() { String::new() } else { format!("\n{}", sum.shadow.text()) };
    paint::print(&if arguments.json { format!("{}\n", sum.json()?) } else { format!("{}{shadow}", table::of(&sum)) });
    Ok(())
}

/// Two set-ups, each with session states of its own.
fn beside(arguments: &Arguments) -> Result<()> {
    let (mut yours, mut other) = (Tried::default().reviewer(false)?, arguments.tried.reviewer(false)?);
    let (mut pair, mut page) = (Pair::default(), Page::default());
    let levels = [&yours, &other].map(|reviewer| reviewer.config().policy.decision.risk);
    each(arguments, |recording| {
        let one = session::play(recording, &mut yours, |records| records.iter().for_each(|record| pair.yours.record(record)));
        let two = session::play(recording, &mut other, |records| records.iter().for_each(|record| pair.other.record(record)));
        let differences = pair.session(&one, &two);
        if arguments.html.is_some() {
            page.compared([&one, &two], &differences, &levels);
        }
        if arguments.json {
            differences.iter().for_each(|difference| paint::print(&format!("{}\n", difference.json(&one.name))));
        } else if arguments.html.is_none() {
            paint::print(&compare::session(&one, &differences));
        }
    })?;
    write(arguments, || page.of_both(&pair))?;
    paint::print(&if arguments.json { format!("{}\n", pair.json()?) } else { pair.text() });
    Ok(())
}

/// Writes the page, if one is wanted.
fn write(arguments: &Arguments, page: impl FnOnce() -> String) -> Result<()> {
    // Whoever stopped reading ended the work, so there would be but a part of it.
    let Some(path) = arguments.html.as_ref().filter(|_| !paint::closed()) else { return Ok(()) };
    page::file::write(path, &page())?;
    if !arguments.json {
        paint::print(&format!("the page is written: {}\n", path.display()));
    }
    Ok(())
}

/// Every session of every recording, in order.
fn each(arguments: &Arguments, mut take: impl FnMut(&Recording)) -> Result<()> {
    for path in &arguments.files {
        recording::read(path)?.iter().for_each(&mut take);
    }
    for id in &arguments.session {
        journal::session(id)?.iter().for_each(&mut take);
    }
    Ok(())
}
