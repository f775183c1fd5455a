//! A person's decisions about a stopped session, at a terminal.

use super::CommandContext;
use crate::commands::checkpoint::restore;
use crate::error::Result;
use crate::exit::CommandExit;
use crate::spelling::spell_command;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_core::incident::Incident;
use portcullis_core::session::ResumeConditions;
use portcullis_core::text::one_line;
use portcullis_review::decisions::{
    self, AT_A_TERMINAL, IncidentDecision, RestorePoint, find_restore_point,
};
use portcullis_review::incidents;
use serde_json::json;

#[derive(clap::Args)]
pub struct Arguments {
    /// The incident's id or a prefix of it; `last` for the newest
    id: String,
    /// Give the reason, for the journal
    #[arg(long, default_value = "")]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct Rollback {
    #[command(flatten)]
    which: Arguments,
    /// Restore this checkpoint instead of the one that the incident names
    #[arg(long, value_name = "ID")]
    to: Option<String>,
    /// Overwrite later changes too; a copy of them is kept
    #[arg(long)]
    force: bool,
}

pub fn run_resume(arguments: &Arguments) -> Result<CommandExit> {
    go_on(arguments, ResumeConditions::Limited)
}

pub fn run_supervise(arguments: &Arguments) -> Result<CommandExit> {
    go_on(arguments, ResumeConditions::Supervised)
}

pub fn run_lift(arguments: &Arguments) -> Result<CommandExit> {
    go_on(arguments, ResumeConditions::Lifted)
}

fn go_on(arguments: &Arguments, terms: ResumeConditions) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let mut context = CommandContext::open()?;
    let incident = incidents::find_incident(&context.store, &context.home, &arguments.id)?;
    check_decision(&context, &incident, terms)?;
    interactive::confirm_action(&format!("{}\n{}", describe_incident(&incident), question(terms)))?;
    commit_decision(&mut context, &incident, terms, &arguments.reason, "")?;
    print_result(arguments.json, &incident, terms, None);
    Ok(CommandExit::Success)
}

pub fn run_rollback(arguments: &Rollback) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let mut context = CommandContext::open()?;
    let incident = incidents::find_incident(&context.store, &context.home, &arguments.which.id)?;
    check_decision(&context, &incident, ResumeConditions::RolledBack)?;
    let back = find_restore_point(&incident, arguments.to.as_deref())?;
    let checkpoint = &back.checkpoint;
    if !arguments.which.json {
        paint::print_text(&format!(
            "Back to the checkpoint {}: {}.\n",
            one_line(checkpoint, 128),
            one_line(&back.because, 240)
        ));
    }
    let asked = |dry_run| {
        restore::Arguments::for_checkpoint(
            checkpoint,
            arguments.force,
            dry_run,
            arguments.which.json,
        )
    };
    let planned = restore::run_restore(&asked(true))?;
    if planned != CommandExit::Success {
        return Ok(planned);
    }
    interactive::confirm_action(&format!(
        "{}\nPut these files back, then let the session go on?",
        describe_incident(&incident)
    ))?;
    let restored = restore::run_restore(&asked(false))?;
    if restored != CommandExit::Success {
        return Ok(restored);
    }
    let terms = ResumeConditions::RolledBack;
    commit_decision(&mut context, &incident, terms, &arguments.which.reason, checkpoint)?;
    print_result(arguments.which.json, &incident, terms, Some(&back));
    Ok(CommandExit::Success)
}

/// Checks that the decision is possible, before a person is asked anything.
pub(super) fn check_decision(
    context: &CommandContext,
    incident: &Incident,
    terms: ResumeConditions,
) -> Result<()> {
    Ok(decisions::check_decision(&context.store, &context.home, incident, terms)?)
}

/// Commits the decision of the person at this terminal.
pub(super) fn commit_decision(
    context: &mut CommandContext,
    incident: &Incident,
    terms: ResumeConditions,
    reason: &str,
    checkpoint: &str,
) -> Result<()> {
    let CommandContext { home, store, config } = context;
    let decision = IncidentDecision { terms, reason, by: AT_A_TERMINAL, checkpoint };
    let limits = &config.policy.limits;
    Ok(decisions::commit_decision(store, home, limits, incident, &decision, now_ms())?)
}

/// Describes the incident in a confirmation prompt.
pub(super) fn describe_incident(incident: &Incident) -> String {
    format!(
        "{} {} UTC\n  {}",
        incident.id,
        paint::time(incident.at),
        one_line(&incident.report.summary, 240)
    )
}

const fn question(terms: ResumeConditions) -> &'static str {
    match terms {
        ResumeConditions::Limited => {
            "Let its session go on? Each limit is halved, and what does more than read and write \
             files of the project is refused."
        }
        ResumeConditions::Supervised => {
            "Let its session go on? The client will ask you about each write, deletion and command."
        }
        ResumeConditions::Lifted => {
            "Lift the limits or the supervision? Limits and actions will be as configured."
        }
        ResumeConditions::RolledBack | ResumeConditions::Aborted => "",
    }
}

/// Prints the result and the next steps.
fn print_result(
    json: bool,
    incident: &Incident,
    terms: ResumeConditions,
    back: Option<&RestorePoint>,
) {
    if json {
        let mut document = json!({
            "incident": incident.id,
            "session": incident.session,
            "option": terms.as_str(),
        });
        if let (Some(back), Some(document)) = (back, document.as_object_mut()) {
            document.insert("checkpoint".into(), back.checkpoint.as_str().into());
            document.insert("because".into(), back.because.as_str().into());
        }
        return paint::print_text(&format!("{document}\n"));
    }
    let session = one_line(&incident.session, 80);
    let id = &incident.id;
    let lift = spell_command(&format!("incident lift {id}"));
    let next = match terms {
        ResumeConditions::Limited => {
            format!("Limits are halved and dangerous actions refused; `{lift}` lifts that.")
        }
        ResumeConditions::Supervised => {
            format!("The client asks about each write, deletion and command; `{lift}` lifts that.")
        }
        ResumeConditions::RolledBack => {
            "The agent gets a note that its files were restored.".to_owned()
        }
        ResumeConditions::Lifted | ResumeConditions::Aborted => String::new(),
    };
    let done = if terms == ResumeConditions::Lifted { "lifted" } else { "the session goes on" };
    let client = portcullis_agents::find_agent(&incident.client);
    let command = client.unwrap_or(portcullis_agents::DEFAULT).resume_command(&session);
    let resume = format!("Take it up again with `{command}`.");
    paint::print_text(&format!("{}. {next}\n{resume}\n", paint::good(done)).replace(". \n", ".\n"));
}
