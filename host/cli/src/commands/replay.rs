//! `portcullis replay`: reviews recorded sessions again and shows each as a timeline. The output
//! depends only on the recording, the plugins and the configuration, so two runs print the same
//! bytes: no wall clock, no access to the current disk.
//!
//! `--agent` reviews all of a person's own sessions that a client still has, and summarizes them.

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
pub use journal::find_session;
pub use setup::ReplaySetup;

use crate::paint;
use page::ReplayPage;
use portcullis_review::recording::{self, Recording};
use std::path::PathBuf;
use sum::SessionTotals;

#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("past").args(["agent", "claude"])))]
pub struct Arguments {
    /// Recordings: hook payloads, journals, clients' transcripts or trajectories
    #[arg(required_unless_present_any = ["past", "session"])]
    files: Vec<PathBuf>,
    /// Replay a session of the journal, by its id or an unambiguous prefix
    #[arg(long, value_name = "ID", conflicts_with = "past")]
    session: Vec<String>,
    /// Summarize your own past sessions with this agent: what would have been warned about,
    /// changed, asked, blocked
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(crate::agent_names()), conflicts_with_all = ["files", "all"])]
    agent: Option<String>,
    /// Short for --agent claude
    #[arg(long, conflicts_with_all = ["files", "all"])]
    claude: bool,
    /// With --agent: look back this far, for example 30d
    #[arg(long, value_name = "DURATION", default_value = "30d", value_parser = portcullis_config::duration::parse_milliseconds, requires = "past", conflicts_with = "files")]
    since: u64,
    /// With --agent: include only sessions in this folder
    #[arg(long, value_name = "DIR", requires = "past", conflicts_with = "files")]
    project: Option<PathBuf>,
    #[command(flatten)]
    tried: ReplaySetup,
    /// Compare with the setup given by --plugin/--config-file, showing only what would change
    #[arg(long, requires = "tried", conflicts_with_all = ["past", "shadow", "all"])]
    compare: bool,
    /// Load --plugin in shadow mode: record what it would have done, without any other effect
    #[arg(long, requires = "plugin", conflicts_with = "past")]
    shadow: bool,
    /// Show every step, not only the notable ones
    #[arg(long, short)]
    all: bool,
    /// Write the sessions to this file, as one self-contained HTML page; print only the totals
    #[arg(long, short, alias = "html", value_name = "FILE", conflicts_with = "past")]
    output: Option<PathBuf>,
    /// Print every record as a line of JSON, then one line with the totals
    #[arg(long)]
    json: bool,
}

pub fn run_replay(arguments: &Arguments) -> Result<CommandExit> {
    if let Some(name) = &arguments.agent {
        return past::run_past(arguments, crate::agent_of(name)?);
    }
    if arguments.claude {
        return past::run_past(arguments, portcullis_agents::DEFAULT);
    }
    arguments.output.as_deref().map(page::file::check_target).transpose()?;
    if arguments.compare { replay_both(arguments) } else { replay_once(arguments) }?;
    Ok(CommandExit::Success)
}

/// Replays with one setup.
fn replay_once(arguments: &Arguments) -> Result<()> {
    let mut reviewer = arguments.tried.new_reviewer(arguments.shadow)?;
    let (mut sum, mut page) = (SessionTotals::default(), ReplayPage::default());
    let levels = reviewer.config().policy.decision.risk;
    each(arguments, |recording| {
        let timeline = session::play_session(recording, &mut reviewer, |records| {
            for record in records {
                sum.add_record(record);
                if arguments.json {
                    paint::print_text(&format!("{}\n", record.document()));
                }
            }
        });
        sum.add_session(&timeline);
        if arguments.output.is_some() {
            page.add_session(&timeline, &levels);
        } else if !arguments.json {
            paint::print_text(&text::render_session(&timeline, arguments.all));
        }
    })?;
    write(arguments, || page.to_html(&sum))?;
    let shadow =
        if sum.shadow.is_empty() { String::new() } else { format!("\n{}", sum.shadow.text()) };
    paint::print_text(&if arguments.json {
        format!("{}\n", sum.json()?)
    } else {
        format!("{}{shadow}", table::format_one(&sum))
    });
    Ok(())
}

/// Replays with two setups, each with session states of its own.
fn replay_both(arguments: &Arguments) -> Result<()> {
    let (mut yours, mut other) =
        (ReplaySetup::default().new_reviewer(false)?, arguments.tried.new_reviewer(false)?);
    let (mut pair, mut page) = (Pair::default(), ReplayPage::default());
    let levels = [&yours, &other].map(|reviewer| reviewer.config().policy.decision.risk);
    each(arguments, |recording| {
        let one = session::play_session(recording, &mut yours, |records| {
            records.iter().for_each(|record| pair.yours.add_record(record))
        });
        let two = session::play_session(recording, &mut other, |records| {
            records.iter().for_each(|record| pair.other.add_record(record))
        });
        let differences = pair.add_session(&one, &two);
        if arguments.output.is_some() {
            page.add_comparison([&one, &two], &differences, &levels);
        }
        if arguments.json {
            differences.iter().for_each(|difference| {
                paint::print_text(&format!("{}\n", difference.to_json(&one.name)))
            });
        } else if arguments.output.is_none() {
            paint::print_text(&compare::render_session(&one, &differences));
        }
    })?;
    write(arguments, || page.of_both(&pair))?;
    paint::print_text(&if arguments.json { format!("{}\n", pair.json()?) } else { pair.text() });
    Ok(())
}

/// Writes the page, if requested.
fn write(arguments: &Arguments, page: impl FnOnce() -> String) -> Result<()> {
    // The work ends early if the reader of the output stops, so the page would be incomplete.
    let Some(path) = arguments.output.as_ref().filter(|_| !paint::is_closed()) else {
        return Ok(());
    };
    page::file::write_page(path, &page())?;
    if !arguments.json {
        paint::print_text(&format!("the page is written: {}\n", path.display()));
    }
    Ok(())
}

/// Visits every session of every recording, in order.
fn each(arguments: &Arguments, mut take: impl FnMut(&Recording)) -> Result<()> {
    for path in &arguments.files {
        recording::read_recordings(path)?.iter().for_each(&mut take);
    }
    for id in &arguments.session {
        journal::read_session(id)?.iter().for_each(&mut take);
    }
    Ok(())
}
