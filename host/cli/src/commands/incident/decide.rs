//! A person's decisions about a stopped session. The decision is committed to the session's state
//! and to the journal at once, so it applies to every later hook, also of a resumed session.

use super::CommandContext;
use crate::commands::checkpoint::restore;
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_core::incident::Incident;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::session::{ResumeConditions, State};
use portcullis_core::text::one_line;
use portcullis_review::incidents::{self, IncidentStatus};
use portcullis_review::reviewer::to_store;
use portcullis_review::stopped::{self, StopFile};
use portcullis_store::Commit;
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
    let incident = incidents::find_incident(&context.store, context.home.path(), &arguments.id)?;
    check_decision(&context, &incident, terms)?;
    interactive::confirm_action(&format!("{}\n{}", describe_incident(&incident), question(terms)))?;
    commit_decision(
        &mut context,
        &incident,
        terms,
        &arguments.reason,
        &agent_note(terms, &incident, ""),
    )?;
    print_result(arguments.json, &incident, terms, None);
    Ok(CommandExit::Success)
}

pub fn run_rollback(arguments: &Rollback) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let mut context = CommandContext::open()?;
    let incident =
        incidents::find_incident(&context.store, context.home.path(), &arguments.which.id)?;
    check_decision(&context, &incident, ResumeConditions::RolledBack)?;
    let Some(back) = RestorePoint::of(arguments, &incident) else {
        return Err(Error::invalid(
            "no checkpoint was taken of what the session did, so nothing can be put back",
        )
        .with_hint("choose another option"));
    };
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
    commit_decision(
        &mut context,
        &incident,
        terms,
        &arguments.which.reason,
        &agent_note(terms, &incident, checkpoint),
    )?;
    print_result(arguments.which.json, &incident, terms, Some(&back));
    Ok(CommandExit::Success)
}

/// The state that files are restored to.
struct RestorePoint {
    checkpoint: String,
    because: String,
}

impl RestorePoint {
    /// Returns the checkpoint that the person named, or else the incident's.
    fn of(arguments: &Rollback, incident: &Incident) -> Option<Self> {
        if let Some(checkpoint) = arguments.to.clone() {
            return Some(Self { checkpoint, because: "you named it".into() });
        }
        let way = incident.recovery.iter().find(|way| way.checkpoint.is_some())?;
        let because = way.because.clone().unwrap_or_else(|| "the incident names it".into());
        Some(Self { checkpoint: way.checkpoint.clone()?, because })
    }
}

/// Checks that the decision is possible, before a person is asked anything.
pub(super) fn check_decision(
    context: &CommandContext,
    incident: &Incident,
    terms: ResumeConditions,
) -> Result<()> {
    match (incidents::incident_status(&context.store, &context.home, incident)?, terms) {
        (IncidentStatus::Past, _) => Err(Error::invalid(format!(
            "the incident `{}` is out of date: its session has a newer one, retention removed the \
             session, or an older version stopped it",
            incident.id
        ))),
        (
            IncidentStatus::Decided(ResumeConditions::Limited | ResumeConditions::Supervised),
            ResumeConditions::Lifted,
        ) => Ok(()),
        (_, ResumeConditions::Lifted) => Err(Error::invalid(format!(
            "neither limits nor supervision of the incident `{}` apply",
            incident.id
        ))),
        _ => Ok(()),
    }
}

/// Commits a person's decision.
pub(super) fn commit_decision(
    context: &mut CommandContext,
    incident: &Incident,
    terms: ResumeConditions,
    reason: &str,
    note: &str,
) -> Result<()> {
    let at = now_ms();
    let why =
        if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason, 256)) };
    let summary = format!("a person decided about the incident {}: {terms}{why}", incident.id);
    let seed = format!("{}\0{}", incident.id, std::process::id());
    let mut record =
        Record::outside_session(RecordKind::Exception, "incident", &summary, at, &seed);
    record.session.clone_from(&incident.session);
    record.details.insert("incident".into(), incident.id.clone().into());
    record.details.insert("option".into(), terms.as_str().into());
    let limits = &context.config.policy.limits;
    let known = stopped::read_stop(&context.home, &incident.session)?;
    let (_, stopped) = context.store.commit_locked(&incident.session, None, |snapshot, _| {
        let mut state =
            State::decode_state(snapshot.session.as_deref(), snapshot.agent.as_deref())?;
        stopped::apply_stop(&mut state, known.as_ref());
        let decided = state.session.decide_incident(&incident.id, terms, note, limits);
        decided.map_err(|why| {
            Error::invalid(format!(
                "the incident `{}` can no longer be decided: {why}",
                incident.id
            ))
        })?;
        let commit = Commit {
            session_state: Some(state.encode()?.0),
            records: vec![to_store(&record)],
            ..Commit::default()
        };
        Ok::<_, Error>((commit, StopFile::from_state(&incident.session, &state.session, at)))
    })?;
    // The journal takes precedence for the same stop, so whoever is killed here has decided.
    if let Some(stopped) = &stopped {
        stopped::save_stop(&context.home, stopped, known.as_ref())?;
    }
    Ok(())
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

/// Returns the note for the agent.
fn agent_note(terms: ResumeConditions, incident: &Incident, checkpoint: &str) -> String {
    let why = one_line(&incident.report.summary, 400);
    match terms {
        ResumeConditions::Limited => format!(
            "Portcullis stopped this session ({why}), and a person let it go on. Each limit is \
             half of what it was, and what does more than \
             read and write files of the project is refused until the person lifts that. Do not do \
             again what led to the stop; say what you \
             need."
        ),
        ResumeConditions::Supervised => format!(
            "Portcullis stopped this session ({why}), and a person let it go on under supervision: \
             they approve each write, deletion and \
             command. Read first, then ask for one change at a time. Do not do again what led to the stop."
        ),
        ResumeConditions::RolledBack => format!(
            "Portcullis stopped this session ({why}). A person put the files back as they were at \
             the checkpoint {checkpoint} and let the \
             session go on. What was done to files since then is undone, although this \
             conversation still mentions it: read them again \
             before you rely on them, and take another way than the one that led to the stop."
        ),
        ResumeConditions::Lifted => {
            "A person lifted the terms that applied since this session was stopped: limits and \
             actions are as configured."
                .to_owned()
        }
        ResumeConditions::Aborted => String::new(),
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
    let next = match terms {
        ResumeConditions::Limited => {
            format!(
                "Limits are halved and dangerous actions refused; `portcullis incident lift {id}` lifts that."
            )
        }
        ResumeConditions::Supervised => {
            format!(
                "The client asks about each write, deletion and command; `portcullis incident lift {id}` lifts that."
            )
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
