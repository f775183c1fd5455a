//! What a person decides about a stopped session. The decision stands in the session's state and in the journal, in
//! one commit, so that it holds for every hook from then on, of a resumed session too.

use super::Desk;
use crate::commands::checkpoint::restore;
use crate::commands::hook::now;
use crate::incidents::{self, Standing};
use crate::runtime::to_store;
use crate::{human, paint};
use anyhow::{Result, anyhow, bail};
use portcullis_core::incident::Incident;
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::session::{State, Terms};
use portcullis_core::text::one_line;
use portcullis_store::Commit;
use serde_json::json;

#[derive(clap::Args)]
pub struct Arguments {
    /// The incident's id or the beginning of one; `last` for the newest
    id: String,
    /// Why, for the journal
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
    /// Put back to this checkpoint in place of the one that the incident names
    #[arg(long, value_name = "ID")]
    to: Option<String>,
    /// Overwrite what was changed since, too; what is overwritten is kept
    #[arg(long)]
    force: bool,
}

pub fn resume(arguments: &Arguments) -> Result<u8> {
    go_on(arguments, Terms::Limited)
}

pub fn supervise(arguments: &Arguments) -> Result<u8> {
    go_on(arguments, Terms::Supervised)
}

pub fn lift(arguments: &Arguments) -> Result<u8> {
    go_on(arguments, Terms::Lifted)
}

fn go_on(arguments: &Arguments, terms: Terms) -> Result<u8> {
    human::refuse_agents()?;
    let mut desk = Desk::open()?;
    let incident = incidents::find(&desk.store, desk.home.path(), &arguments.id)?;
    may(&desk, &incident, terms)?;
    human::confirm(&format!("{}\n{}", told(&incident), question(terms)))?;
    decide(&mut desk, &incident, terms, &arguments.reason, &note(terms, &incident, ""))?;
    tell(arguments.json, &incident, terms, None);
    Ok(0)
}

pub fn rollback(arguments: &Rollback) -> Result<u8> {
    human::refuse_agents()?;
    let mut desk = Desk::open()?;
    let incident = incidents::find(&desk.store, desk.home.path(), &arguments.which.id)?;
    may(&desk, &incident, Terms::RolledBack)?;
    let Some(back) = Back::of(arguments, &incident) else {
        bail!("no checkpoint was taken of what the session did, so nothing can be put back: choose another way on")
    };
    let checkpoint = &back.checkpoint;
    if !arguments.which.json {
        paint::print(&format!("Back to the checkpoint {}: {}.\n", one_line(checkpoint, 128), one_line(&back.because, 240)));
    }
    let asked = |dry_run| restore::Arguments::of(checkpoint, arguments.force, dry_run, arguments.which.json);
    let planned = restore::run(&asked(true))?;
    if planned != 0 {
        return Ok(planned);
    }
    human::confirm(&format!("{}\nPut these files back, then let the session go on?", told(&incident)))?;
    let restored = restore::run(&asked(false))?;
    if restored != 0 {
        return Ok(restored);
    }
    let terms = Terms::RolledBack;
    decide(&mut desk, &incident, terms, &arguments.which.reason, &note(terms, &incident, checkpoint))?;
    tell(arguments.which.json, &incident, terms, Some(&back));
    Ok(0)
}

/// Where files go back to.
struct Back {
    checkpoint: String,
    because: String,
}

impl Back {
    /// What the person named, else what the incident does.
    fn of(arguments: &Rollback, incident: &Incident) -> Option<Self> {
        if let Some(checkpoint) = arguments.to.clone() {
            return Some(Self { checkpoint, because: "you named it".into() });
        }
        let way = incident.recovery.iter().find(|way| way.checkpoint.is_some())?;
        let because = way.because.clone().unwrap_or_else(|| "the incident names it".into());
        Some(Self { checkpoint: way.checkpoint.clone()?, because })
    }
}

/// Whether that can be decided as things stand; said before a person is asked anything.
pub(super) fn may(desk: &Desk, incident: &Incident, terms: Terms) -> Result<()> {
    match (incidents::standing(&desk.store, incident)?, terms) {
        (Standing::Past, _) => bail!(
            "the incident `{}` is past: its session had another one since, was taken away by retention, or was stopped by an older version",
            incident.id
        ),
        (Standing::Decided(Terms::Limited | Terms::Supervised), Terms::Lifted) => Ok(()),
        (_, Terms::Lifted) => bail!("no limits and no supervision of the incident `{}` hold", incident.id),
        _ => Ok(()),
    }
}

/// Commits a person's decision.
pub(super) fn decide(desk: &mut Desk, incident: &Incident, terms: Terms, reason: &str, note: &str) -> Result<()> {
    let at = now();
    let why = if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason, 256)) };
    let summary = format!("a person decided about the incident {}: {terms}{why}", incident.id);
    let seed = format!("{}\0{}", incident.id, std::process::id());
    let mut record = Record::apart(RecordKind::Exception, "incident", &summary, at, &seed);
    record.session.clone_from(&incident.session);
    record.details.insert("incident".into(), incident.id.clone().into());
    record.details.insert("option".into(), terms.as_str().into());
    let limits = &desk.config.policy.limits;
    desk.store.commit_locked(&incident.session, None, |snapshot, _| {
        let mut state = State::decode(snapshot.session.as_deref(), snapshot.agent.as_deref())?;
        let decided = state.session.decide(&incident.id, terms, note, limits);
        decided.map_err(|why| anyhow!("the incident `{}` can be decided no more: {why}", incident.id))?;
        let commit = Commit { session_state: Some(state.encode()?.0), records: vec![to_store(&record)], ..Commit::default() };
        Ok::<_, anyhow::Error>((commit, ()))
    })?;
    Ok(())
}

/// The incident, for whoever is asked about it.
pub(super) fn told(incident: &Incident) -> String {
    format!("{} {} UTC\n  {}", incident.id, paint::time(incident.at), one_line(&incident.report.summary, 240))
}

const fn question(terms: Terms) -> &'static str {
    match terms {
        Terms::Limited => {
            "Let its session go on? Each limit is halved, and what does more than read and write files of the project is refused."
        }
        Terms::Supervised => "Let its session go on? The client will ask you about each write, deletion and command.",
        Terms::Lifted => "Take back what holds since then? Limits and actions will be as configured.",
        Terms::RolledBack | Terms::Aborted => "",
    }
}

/// What the agent is told.
fn note(terms: Terms, incident: &Incident, checkpoint: &str) -> String {
    let why = one_line(&incident.report.summary, 400);
    match terms {
        Terms::Limited => format!(
            "Portcullis stopped this session ({why}), and a person let it go on. Each limit is half of what it was, and what does more than \
             read and write files of the project is refused until the person lifts that. Do not do again what led to the stop; say what you \
             need."
        ),
        Terms::Supervised => format!(
            "Portcullis stopped this session ({why}), and a person let it go on under supervision: they approve each write, deletion and \
             command. Read first, then ask for one change at a time. Do not do again what led to the stop."
        ),
        Terms::RolledBack => format!(
            "Portcullis stopped this session ({why}). A person put the files back as they were at the checkpoint {checkpoint} and let the \
             session go on. What was done to files since then is undone, although this conversation still tells of it: read them again \
             before you rely on them, and take another way than the one that led to the stop."
        ),
        Terms::Lifted => "A person took back what held since this session was stopped: limits and actions are as configured.".to_owned(),
        Terms::Aborted => String::new(),
    }
}

/// What was done, and what comes next.
fn tell(json: bool, incident: &Incident, terms: Terms, back: Option<&Back>) {
    if json {
        let mut document = json!({ "incident": incident.id, "session": incident.session, "option": terms.as_str() });
        if let (Some(back), Some(document)) = (back, document.as_object_mut()) {
            document.insert("checkpoint".into(), back.checkpoint.as_str().into());
            document.insert("because".into(), back.because.as_str().into());
        }
        return paint::print(&format!("{document}\n"));
    }
    let session = one_line(&incident.session, 80);
    let id = &incident.id;
    let next = match terms {
        Terms::Limited => format!("Limits are halved and dangerous actions refused; `portcullis incident lift {id}` takes that back."),
        Terms::Supervised => {
            format!("The client asks about each write, deletion and command; `portcullis incident lift {id}` takes that back.")
        }
        Terms::RolledBack => "The agent is told that its files were put back.".to_owned(),
        Terms::Lifted | Terms::Aborted => String::new(),
    };
    let done = if terms == Terms::Lifted { "lifted" } else { "the session goes on" };
    let resume = format!("Take it up again with `claude --resume {session}`.");
    paint::print(&format!("{}. {next}\n{resume}\n", paint::good(done)).replace(". \n", ".\n"));
}
