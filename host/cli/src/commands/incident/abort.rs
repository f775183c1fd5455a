//! `portcullis incident abort`: leaves a session stopped permanently, and lists or quarantines its
//! leftovers.

use super::CommandContext;
use super::decide::{check_decision, commit_decision, describe_incident};
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::spelling::spell_command;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_core::incident::{Cleanup, Incident};
use portcullis_core::session::ResumeConditions;
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::decisions::{list_leftovers, may_clean_up, quarantine_leftovers};
use portcullis_review::incidents;
use portcullis_review::quarantine::QuarantineEntry;
use serde_json::json;

#[derive(clap::Args)]
pub struct Arguments {
    /// The incident's id or a prefix of it; `last` for the newest
    id: String,
    /// Move the files that the agent created into a quarantine, from which they can be restored
    #[arg(long)]
    clean_up: bool,
    /// Give the reason, for the journal
    #[arg(long, default_value = "")]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The most paths of each kind that are shown to a person.
const MOST_SHOWN: usize = 50;

pub fn run_abort(arguments: &Arguments) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let mut context = CommandContext::open()?;
    let incident = incidents::find_incident(&context.store, &context.home, &arguments.id)?;
    check_decision(&context, &incident, ResumeConditions::Aborted)?;
    let may_clean_up = may_clean_up(&context.home);
    if arguments.clean_up && !may_clean_up {
        return Err(Error::refused("the files that it made belong to another user").with_hint(
            "abort without --clean-up: the files are listed, and their user can remove them",
        ));
    }
    let cleans = may_clean_up && (arguments.clean_up || context.incidents().auto_cleanup);
    let left = list_leftovers(&context.home, &incident);
    let moves = if cleans {
        let files = count_noun(left.made.len() as u64, "file");
        format!(" Files that it made go into a quarantine: {files}.")
    } else {
        String::new()
    };
    interactive::confirm_action(&format!(
        "{}\nIts session stays stopped permanently.{moves}",
        describe_incident(&incident)
    ))?;
    commit_decision(&mut context, &incident, ResumeConditions::Aborted, &arguments.reason, "")?;
    let moved = match cleans {
        true => quarantine_leftovers(&context.home, &incident, &left, now_ms())?,
        false => None,
    };
    print_result(arguments, &incident, &left, moved.as_ref());
    Ok(CommandExit::Success)
}

fn print_result(
    arguments: &Arguments,
    incident: &Incident,
    left: &Cleanup,
    moved: Option<&QuarantineEntry>,
) {
    if arguments.json {
        let document = json!({
            "incident": incident.id,
            "session": incident.session,
            "option": ResumeConditions::Aborted.as_str(),
            "cleanup": left,
            "quarantine": moved.map(|entry| &entry.id),
        });
        return paint::print_text(&format!("{document}\n"));
    }
    paint::print_text(&format!("{}: the session stays stopped.\n", paint::good("aborted")));
    let list = |heading: &str, items: &[String]| {
        if !items.is_empty() {
            paint::print_text(&format!(
                "\n{}\n",
                paint::bold(format!("{heading} ({})", items.len()))
            ));
        }
        items
            .iter()
            .take(MOST_SHOWN)
            .for_each(|item| paint::print_text(&format!("  {}\n", one_line(item, 240))));
        if items.len() > MOST_SHOWN {
            paint::print_text(&format!("  and {} more\n", items.len() - MOST_SHOWN));
        }
    };
    match moved {
        Some(entry) => {
            list("files that it made, moved away", &left.made);
            paint::print_text(&format!(
                "  to have them back: portcullis quarantine restore {}\n",
                entry.id
            ));
        }
        None => list("files that it made", &left.made),
    }
    list("commands that it started in the background: end what still runs", &left.background);
    list("moved into a quarantine: portcullis quarantine show ID", &left.quarantined);
    let restore = spell_command("checkpoint restore ID");
    list(&format!("checkpoints: {restore}"), &left.checkpoints);
    if *left == Cleanup::default() {
        paint::print_text("There is nothing to clean up.\n");
    }
}
