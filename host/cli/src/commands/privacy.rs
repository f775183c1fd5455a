//! `portcullis privacy`: what is kept of a session or a person, as a copy or to be erased.

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::{interactive, paint};
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::mask::Masker;
use portcullis_core::text::count_noun;
use portcullis_fleet::FleetFiles;
use portcullis_review::installed::derive_mask_key;
use portcullis_review::privacy::{PersonalData, PrivacySubject, erase_data, find_data};
use portcullis_store::{Home, Store};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

#[derive(clap::Subcommand)]
pub enum Command {
    /// Write what is kept of a session or a person as JSON
    Export {
        #[command(flatten)]
        subject: Subject,
        /// Write to this file instead of standard output; it must not exist yet
        #[arg(long, short)]
        output: Option<PathBuf>,
    },
    /// Erase what is kept of a session or a person (interactive)
    Erase {
        #[command(flatten)]
        subject: Subject,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub struct Subject {
    /// The session, by its id
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// A text that names the person, such as an address; `-` reads it from standard input
    #[arg(long, value_name = "TEXT")]
    person: Option<String>,
}

/// The shortest text that names a person, in characters: a shorter one is in half of all records.
const SHORTEST: usize = 4;
const MOST_INPUT: u64 = 4096;

pub fn run_privacy(command: &Command) -> Result<CommandExit> {
    match command {
        Command::Export { subject, output } => export(subject, output.as_ref()),
        Command::Erase { subject, yes, json } => erase(subject, *yes, *json),
    }
}

struct Site {
    home: Home,
    store: Store,
    config: Config,
}

impl Site {
    fn open() -> Result<Self> {
        let places = Paths::from_environment()?;
        let home = Home::open_root(&places.state)?;
        let config = Config::load(&places, Some(&home))?;
        let store = Store::open_database(&home, config.durability)?;
        Ok(Self { home, store, config })
    }

    fn find(&mut self, subject: &PrivacySubject) -> Result<PersonalData> {
        let masker = Masker::new(derive_mask_key(&self.home), &self.config.policy.mask);
        Ok(find_data(&mut self.store, &self.home, subject, &masker)?)
    }

    /// Returns where copies of the records were sent, which this machine cannot reach.
    fn list_copies(&self, data: &PersonalData) -> Result<Vec<String>> {
        let Some(first) = data.records.first().map(|stored| stored.sequence) else {
            return Ok(Vec::new());
        };
        let mut copies: Vec<String> = self
            .store
            .list_export_cursors()?
            .into_iter()
            .filter(|cursor| cursor.sequence >= first)
            .map(|cursor| format!("the export `{}`", cursor.name))
            .collect();
        if is_fleet_member(&self.home)? {
            copies.push("the hub of this machine's fleet".to_owned());
        }
        Ok(copies)
    }
}

fn is_fleet_member(home: &Home) -> Result<bool> {
    let membership = FleetFiles::of_home(home).read_membership();
    Ok(membership.context("cannot read the membership in a fleet")?.is_some())
}

impl Subject {
    fn read(&self) -> Result<PrivacySubject> {
        if let Some(session) = &self.session {
            return Ok(PrivacySubject::Session(session.clone()));
        }
        let mut text = self.person.clone().unwrap_or_default();
        if text == "-" {
            text.clear();
            let read = std::io::stdin().take(MOST_INPUT).read_to_string(&mut text);
            read.context("cannot read the text from standard input")?;
        }
        let text = text.trim();
        if text.chars().count() < SHORTEST {
            let message = format!("a text that names a person has at least {SHORTEST} characters");
            return Err(Error::invalid(message).with_hint("give a whole name or address"));
        }
        Ok(PrivacySubject::Person(text.to_owned()))
    }
}

fn export(subject: &Subject, output: Option<&PathBuf>) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let mut site = Site::open()?;
    let data = site.find(&subject.read()?)?;
    let text = format!("{}\n", data_json(&data)?);
    match output {
        None => paint::print_text(&text),
        Some(path) => {
            let mut options = OpenOptions::new();
            let mut file = options
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)
                .with_context(|| format!("cannot create `{}`", path.display()))?;
            file.write_all(text.as_bytes())
                .with_context(|| format!("cannot write `{}`", path.display()))?;
            paint::print_text(&format!("{}: `{}`\n", data.describe(), path.display()));
        }
    }
    Ok(CommandExit::Success)
}

fn data_json(data: &PersonalData) -> Result<Value> {
    let parse = |text: &str| -> Value {
        serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.to_owned()))
    };
    let records: Vec<Value> =
        data.records.iter().map(|stored| parse(&stored.record.document)).collect();
    let approvals: Vec<Value> = data
        .approvals
        .iter()
        .map(|found| {
            json!({
                "id": found.asked.id, "session": found.asked.session, "asked_at": found.asked.asked_at,
                "state": found.state.as_str(), "reason": found.reason,
                "document": parse(&found.asked.document),
            })
        })
        .collect();
    let exceptions: Vec<Value> = data
        .exceptions
        .iter()
        .map(|grant| {
            json!({
                "id": grant.id, "session": grant.session, "granted_at": grant.granted_at,
                "document": parse(&grant.document),
            })
        })
        .collect();
    let work: Vec<Value> = data
        .work
        .iter()
        .map(|work| json!({ "kind": work.kind, "document": parse(&work.document) }))
        .collect();
    Ok(json!({
        "records": records,
        "sessions": data.sessions,
        "incidents": serde_json::to_value(&data.incidents)?,
        "approvals": approvals,
        "exceptions": exceptions,
        "waiting": work,
        "unreadable": data.unreadable,
    }))
}

fn erase(subject: &Subject, yes: bool, as_json: bool) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let mut site = Site::open()?;
    let data = site.find(&subject.read()?)?;
    let copies = site.list_copies(&data)?;
    if !data.is_empty() && !yes {
        interactive::confirm_action(&format!(
            "{} will be erased. The records stay in the chain with their times, tools and verdicts.",
            data.describe()
        ))?;
    }
    let result = match data.is_empty() {
        true => Default::default(),
        false => erase_data(&mut site.store, &site.home, &data, now_ms())?,
    };
    if as_json {
        let shown = json!({
            "records": result.records, "sessions": result.sessions, "rows": result.rows,
            "incidents": data.incidents.len(), "waiting": data.work.len(), "copies": copies,
            "unreadable": data.unreadable,
        });
        paint::print_text(&format!("{shown}\n"));
        return Ok(CommandExit::Success);
    }
    let mut text = match data.is_empty() {
        true => "nothing is kept of it\n".to_owned(),
        false => format!("erased: {}\n", data.describe()),
    };
    if data.unreadable > 0 {
        let what = count_noun(data.unreadable, "record or state");
        text.push_str(&format!("{what} cannot be read, and was not searched\n"));
    }
    if data.is_unlinked {
        text.push_str(
            "`mask.unlinked` has one placeholder for all such texts: masked ones were not found\n",
        );
    }
    for copy in &copies {
        text.push_str(&format!("{copy} has copies, which this machine cannot erase\n"));
    }
    if result.records > 0 {
        text.push_str(
            "backups of the journal from before can be read until retention destroys the keys of their \
             days\n",
        );
    }
    paint::print_wrapped(&text, 2);
    Ok(CommandExit::Success)
}
