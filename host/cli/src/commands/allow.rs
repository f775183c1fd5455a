//! `portcullis allow`: a person lets one exact action run although its review objects.
//!
//! An exception covers the action that a review recorded, with all its parameters and in its
//! folder, and nothing else; critical actions cannot be granted one. It is recorded in the journal
//! like any decision.

use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::spelling::spell_command;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_config::duration;
use portcullis_core::exceptions::{Exception, ExceptionScope};
use portcullis_core::record::{Record, RecordKind};
use portcullis_core::text::{count_noun, one_line};
use portcullis_review::stored_records::to_store;
use portcullis_store::{ExceptionEnd, ExceptionRecord, NewRecord, StoredException};
use serde_json::{Value, json};

#[derive(clap::Args)]
#[group(skip)]
pub struct Arguments {
    /// The review's id or a prefix of it; `last` for the newest objection
    #[arg(required_unless_present_any = ["list", "revoke", "revoke_all"], conflicts_with_all = ["list", "revoke", "revoke_all"])]
    review: Option<String>,
    /// Allow every further attempt in the review's session
    #[arg(long, requires = "review", conflicts_with = "project")]
    session: bool,
    /// Allow it in every session in the same folder
    #[arg(long, requires = "review")]
    project: bool,
    /// Set the exception's lifetime: by default 1h for once, 8h for a session, 30d for a project;
    /// at most 90d
    #[arg(long = "for", value_name = "DURATION", requires = "review", value_parser = duration::parse_milliseconds)]
    duration: Option<u64>,
    /// Give the reason, for the journal
    #[arg(long, requires = "review", default_value = "")]
    reason: String,
    /// List the exceptions, active and ended
    #[arg(long)]
    list: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Revoke an exception
    #[arg(long, value_name = "EXCEPTION", conflicts_with_all = ["list", "revoke_all"])]
    revoke: Option<String>,
    /// Revoke all exceptions
    #[arg(long, conflicts_with = "list")]
    revoke_all: bool,
}

const HOUR: u64 = 60 * 60 * 1000;
/// The longest lifetime of an exception, in milliseconds.
const LONGEST: u64 = 90 * 24 * HOUR;

pub fn run_allow(arguments: &Arguments) -> Result<CommandExit> {
    match (&arguments.review, &arguments.revoke) {
        (Some(review), _) => grant(arguments, review),
        (None, Some(id)) => revoke(id, arguments.json),
        (None, None) if arguments.revoke_all => revoke_all(arguments.json),
        (None, None) => list(arguments.json),
    }
}

fn grant(arguments: &Arguments, review: &str) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let mut store = super::audit::open_store()?;
    let record = super::explain::find_record(&store, review)?;
    let exception =
        Exception::from_review(&record, arguments.terms(&record)?).map_err(Error::refused)?;
    let (scope, until) = (scope(&exception), paint::time(exception.expires_at));
    let why = record
        .decision
        .as_ref()
        .map(|decision| one_line(&decision.primary_reason, 240))
        .unwrap_or_default();
    interactive::confirm_action(&format!(
        "{}\n  in {}\n  Objection: {why}\nLet it run {scope}, until {until} UTC?",
        one_line(&record.summary, 240),
        one_line(&exception.cwd, 240)
    ))?;
    let id = exception.id.clone();
    let said =
        if exception.reason.is_empty() { String::new() } else { format!(": {}", exception.reason) };
    let summary = format!("a person allowed {scope}, until {until}: {}{said}", record.summary);
    let stored = journal_record(&exception, &record.id, &summary);
    let grant = StoredException {
        id: exception.id.clone(),
        session: exception.session.clone(),
        once: exception.once,
        granted_at: exception.granted_at,
        expires_at: exception.expires_at,
        document: serde_json::to_string(&exception)?,
    };
    store.add_exception(grant, vec![stored])?;
    let wider = if exception.session.is_some() {
        format!(
            "A new session is asked again; `{}` allows it in every session in this folder.\n",
            spell_command(&format!("allow {} --project", one_line(&record.id, 64)))
        )
    } else {
        String::new()
    };
    if arguments.json {
        paint::print_text(&format!("{}\n", as_json(&exception, "live", None)?));
        return Ok(CommandExit::Success);
    }
    paint::print_text(&format!(
        "{} {scope}, until {until} UTC. Tell the agent to try the same thing \
         again.\n{wider}`{}` revokes it.\n",
        paint::good("allowed"),
        spell_command(&format!("allow --revoke {id}"))
    ));
    Ok(CommandExit::Success)
}

impl Arguments {
    fn terms(&self, record: &Record) -> Result<ExceptionScope> {
        let usual = if self.project {
            30 * 24 * HOUR
        } else if self.session {
            8 * HOUR
        } else {
            HOUR
        };
        let duration = self.duration.unwrap_or(usual);
        if duration > LONGEST {
            return Err(Error::invalid("an exception lasts 90 days at most")
                .with_hint("to change a rule permanently, use the configuration"));
        }
        let granted_at = now_ms();
        let id = blake3::hash(
            format!("exception\0{}\0{granted_at}\0{}", record.id, std::process::id()).as_bytes(),
        );
        Ok(ExceptionScope {
            id: id.to_hex().as_str().get(..8).unwrap_or_default().to_owned(),
            // If the session is not known, "once" means the next time in any session.
            session: (!self.project && !record.session.is_empty()).then(|| record.session.clone()),
            project: self
                .project
                .then(|| record.action.as_ref().map(|action| action.cwd.clone()))
                .flatten(),
            once: !self.project && !self.session,
            granted_at,
            expires_at: granted_at.saturating_add(duration),
            reason: one_line(&self.reason, 256),
        })
    }
}

fn scope(exception: &Exception) -> String {
    let session = exception.session.as_ref().map(|id| one_line(id, 80));
    match (exception.once, &exception.project, session) {
        (true, _, Some(id)) => format!("once, in the session {id}"),
        (true, _, None) => "once, in any session".into(),
        (false, Some(folder), _) => format!("in all sessions in `{}`", one_line(folder, 120)),
        (false, None, Some(id)) => format!("in the session {id}"),
        (false, None, None) => "in any session".into(),
    }
}

fn journal_record(exception: &Exception, review: &str, summary: &str) -> NewRecord {
    let mut record = Record::outside_session(
        RecordKind::Exception,
        "allow",
        summary,
        exception.granted_at,
        &exception.id,
    );
    record.session = exception.session.clone().unwrap_or_default();
    record.details.insert("exception".into(), exception.id.clone().into());
    record.details.insert("review".into(), review.into());
    to_store(&record)
}

/// Revokes an exception. This only tightens the guard, so anyone may do it.
fn revoke(id: &str, as_json: bool) -> Result<CommandExit> {
    let mut store = super::audit::open_store()?;
    let at = now_ms();
    let found = store.list_exceptions()?.into_iter().find(|granted| granted.grant.id == id);
    let Some(ExceptionRecord { grant, .. }) = found else {
        return Err(Error::not_found(format!("there is no exception `{}`", one_line(id, 64)))
            .with_hint("`portcullis allow --list` lists them"));
    };
    let mut record = Record::outside_session(
        RecordKind::Exception,
        "allow",
        &format!("the exception {id} was revoked"),
        at,
        id,
    );
    record.session = grant.session.unwrap_or_default();
    let revoked = store.revoke_exception(id, at, vec![to_store(&record)])?;
    if as_json {
        let ids: Vec<&str> = revoked.iter().map(|_| id).collect();
        paint::print_text(&format!("{}\n", json!({ "revoked": ids, "forged": [] })));
        return Ok(CommandExit::Success);
    }
    paint::print_text(if revoked.is_some() { "taken back.\n" } else { "it had ended already.\n" });
    Ok(CommandExit::Success)
}

fn revoke_all(as_json: bool) -> Result<CommandExit> {
    let mut store = super::audit::open_store()?;
    let at = now_ms();
    let (mut said, mut document) = (String::new(), json!({}));
    store.revoke_all_exceptions(at, |ended, forged| {
        document = json!({ "revoked": ended, "forged": forged });
        said = format!("revoked: {}", count_noun(ended.len() as u64, "exception"));
        if !forged.is_empty() {
            let names = one_line(&forged.join(", "), 240);
            said = format!(
                "{said}; removed, since no person had granted them: {} ({names})",
                forged.len()
            );
        }
        vec![to_store(&Record::outside_session(RecordKind::Exception, "allow", &said, at, "all"))]
    })?;
    paint::print_text(&if as_json { format!("{document}\n") } else { format!("{said}.\n") });
    Ok(CommandExit::Success)
}

fn as_json(exception: &Exception, state: &str, ended_at: Option<u64>) -> Result<Value> {
    let mut object = serde_json::to_value(exception)?;
    if let Some(object) = object.as_object_mut() {
        object.insert("state".into(), state.into());
        object.insert("ended_at".into(), ended_at.into());
    }
    Ok(object)
}

fn list(json: bool) -> Result<CommandExit> {
    let (granted, now) = (super::audit::open_store()?.list_exceptions()?, now_ms());
    if granted.is_empty() && !json {
        paint::print_text("no exceptions.\n");
    }
    for ExceptionRecord { grant, ended } in &granted {
        let exception: Exception = serde_json::from_str(&grant.document)?;
        let state = match ended {
            Some((ExceptionEnd::Spent, _)) => "spent",
            Some((ExceptionEnd::Revoked, _)) => "revoked",
            Some((ExceptionEnd::Expired, _)) => "expired",
            None if exception.expires_at <= now => "expired",
            None => "live",
        };
        if json {
            paint::print_text(&format!(
                "{}\n",
                as_json(&exception, state, ended.map(|(_, at)| at))?
            ));
            continue;
        }
        let mark = if state == "live" {
            paint::good(format!("{state:8}"))
        } else {
            paint::dim(format!("{state:8}"))
        };
        let what = one_line(&format!("{} {}", exception.tool, exception.parameters), 240);
        let line = format!(
            "{} {mark} {} until {}  {what}\n",
            exception.id,
            scope(&exception),
            paint::time(exception.expires_at)
        );
        paint::print_wrapped(&line, 9);
    }
    Ok(CommandExit::Success)
}
