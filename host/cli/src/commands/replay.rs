//! `portcullis replay`: reviews recorded sessions again and shows each as a timeline. The output
//! depends only on the recording, the plugins and the configuration, so two runs print the same
//! bytes: no wall clock, no access to the current disk.
//!
//! `--claude` reviews all of a person's own sessions that the client still has, and summarizes
//! them.

mod compare;
#[cfg(test)]
mod halves;
mod journal;
mod lines;
mod page;
mod past;
mod session;
mod setup;
mod sum;
mod table;
mod tally;
mod text;

use crate::error::Result;
use crate::exit::CommandExit;
pub use compare::Pair;
pub use journal::find as find_session;
pub use setup::TrialSetup;

use crate::paint;
use page::ReplayPage;
use portcullis_review::recording::{self, Recording};
use std::path::PathBuf;
use sum::SessionTotals;

#[derive(clap::Args)]
pub struct Arguments {
    /// Recordings: hook payloads, journals, clients' transcripts or trajectories
    #[arg(required_unless_present_any = ["claude", "session"])]
    files: Vec<PathBuf>,
    /// Replay a session of the journal, by its id or an unambiguous prefix
    #[arg(long, value_name = "ID", conflicts_with = "claude")]
    session: Vec<String>,
    /// Summarize your own past Claude Code sessions: what would have been warned about, changed,
    /// asked, blocked
    #[arg(long, conflicts_with_all = ["files", "all"])]
    claude: bool,
    /// With --claude: look back this far, for example 30d
    #[arg(long, value_name = "DURATION", default_value = "30d", value_parser = portcullis_config::duration::milliseconds, requires = "claude", conflicts_with = "files")]
    since: u64,
    /// With --claude: include only sessions in this folder
    #[arg(long, value_name = "DIR", requires = "claude", conflicts_with = "files")]
    project: Option<PathBuf>,
    #[command(flatten)]
    tried: TrialSetup,
    /// Compare with the setup given by --plugin/--config-file, showing only what would change
    #[arg(long, requires = "tried", conflicts_with_all = ["claude", "shadow", "all"])]
    compare: bool,
    /// Load --plugin in shadow mode: record what it would have done, without any other effect
    #[arg(long, requires = "plugin", conflicts_with = "claude")]
    shadow: bool,
    /// Show every step, not only the notable ones
    #[arg(long, short)]
    all: bool,
    /// Write the sessions to this file, as one self-contained HTML page; print only the totals
    #[arg(long, short, alias = "html", value_name = "FILE", conflicts_with = "claude")]
    output: Option<PathBuf>,
    /// Print every record as a line of JSON, then one line with the totals
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<CommandExit> {
    if arguments.claude {
        return past::run(arguments);
    }
    arguments.output.as_deref().map(page::file::check).transpose()?;
    if arguments.compare { replay_both(arguments) } else { replay_once(arguments) }?;
    Ok(CommandExit::Success)
}

/// Replays with one setup.
fn replay_once(arguments: &Arguments) -> Result<()> {
    let mut reviewer = arguments.tried.reviewer(arguments.shadow)?;
    let (mut sum, mut page) = (SessionTotals::default(), ReplayPage::default());
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
        if arguments.output.is_some() {
            page.session(&timeline, &levels);
        } else if !arguments.json {
            paint::print(&text::session(&timeline, arguments.all));
        }
    })?;
    write(arguments, || page.of(&sum))?;
    let shadow =
        if sum.shadow.is_empty() { String::new() } else { format!("\n{}", sum.shadow.text()) };
    paint::print(&if arguments.json {
        format!("{}\n", sum.json()?)
    } else {
        format!("{}{shadow}", table::format_one(&sum))
    });
    Ok(())
}

/// Replays with two setups, each with session states of its own.
fn replay_both(arguments: &Arguments) -> Result<()> {
    let (mut yours, mut other) =
        (TrialSetup::default().reviewer(false)?, arguments.tried.reviewer(false)?);
    let (mut pair, mut page) = (Pair::default(), ReplayPage::default());
    let levels = [&yours, &other].map(|reviewer| reviewer.config().policy.decision.risk);
    each(arguments, |recording| {
        let one = session::play(recording, &mut yours, |records| {
            records.iter().for_each(|record| pair.yours.record(record))
        });
        let two = session::play(recording, &mut other, |records| {
            records.iter().for_each(|record| pair.other.record(record))
        });
        let differences = pair.session(&one, &two);
        if arguments.output.is_some() {
            page.compared([&one, &two], &differences, &levels);
        }
        if arguments.json {
            differences
                .iter()
                .for_each(|difference| paint::print(&format!("{}\n", difference.json(&one.name))));
        } else if arguments.output.is_none() {
            paint::print(&compare::session(&one, &differences));
        }
    })?;
    write(arguments, || page.of_both(&pair))?;
    paint::print(&if arguments.json { format!("{}\n", pair.json()?) } else { pair.text() });
    Ok(())
}

/// Writes the page, if requested.
fn write(arguments: &Arguments, page: impl FnOnce() -> String) -> Result<()> {
    // The work ends early if the reader of the output stops, so the page would be incomplete.
    let Some(path) = arguments.output.as_ref().filter(|_| !paint::closed()) else { return Ok(()) };
    page::file::write(path, &page())?;
    if !arguments.json {
        paint::print(&format!("the page is written: {}\n", path.display()));
    }
    Ok(())
}

/// Visits every session of every recording, in order.
fn each(arguments: &Arguments, mut take: impl FnMut(&Recording)) -> Result<()> {
    for path in &arguments.files {
        recording::read(path)?.iter().for_each(&mut take);
    }
    for id in &arguments.session {
        journal::session(id)?.iter().for_each(&mut take);
    }
    Ok(())
}
