//! `portcullis encryption`: the keys that encrypt the journal and what is beside it.
//!
//! The master key is never printed. It leaves its place only to another one, to a file that a passphrase
//! opens, or into the standard input of a command.

use super::credential::describe_place;
use crate::bundles::secrets::Passphrase;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::recorded_action::record_action;
use crate::{interactive, paint};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::{count_noun, one_line};
use portcullis_credentials::ask_program;
use portcullis_encryption::{
    DataKind, KeptIn, KeyStatus, LockedKey, MasterEntry, MasterId, MasterKey, MasterStore,
    RewrapResult,
};
use portcullis_store::{Durability, Home, Store};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, Instant};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Show what is encrypted, where the master key is, and which days have keys
    Status(Print),
    /// Replace the master key: all keys of days are wrapped by a new one (not for agents)
    Rotate {
        #[command(flatten)]
        passphrase: Passphrase,
        #[command(flatten)]
        print: Print,
    },
    /// Keep the master key in another place (not for agents)
    Move(Move),
    /// Put the master key back into the keyring after a restart (not for agents)
    Unlock {
        #[command(flatten)]
        passphrase: Passphrase,
        #[command(flatten)]
        print: Print,
    },
    /// Write the master key to a file that a passphrase opens (not for agents)
    Backup(File),
    /// Take the master key from a backup (not for agents)
    Restore(File),
    /// Go on with a new master key, since the old one is lost (interactive)
    Reset {
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        print: Print,
    },
    /// Keep new data as plain text (interactive)
    Off {
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        print: Print,
    },
    /// Encrypt new data again (not for agents)
    On(Print),
}

#[derive(clap::Args)]
pub struct Print {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct File {
    /// The backup
    file: PathBuf,
    #[command(flatten)]
    passphrase: Passphrase,
    #[command(flatten)]
    print: Print,
}

#[derive(clap::Args)]
pub struct Move {
    /// Keep it in a file (mode 0600), or in the kernel's keyring with a copy that a passphrase opens
    #[arg(long = "in", value_name = "PLACE", value_parser = ["file", "keyring"], required_unless_present = "command")]
    place: Option<String>,
    /// Give the key to this command on its standard input first, run without a shell
    #[arg(long, value_name = "COMMAND", requires = "command")]
    store: Option<String>,
    #[command(flatten)]
    passphrase: Passphrase,
    #[command(flatten)]
    print: Print,
    /// A command that prints the key, run by each process that needs it, without a shell
    #[arg(last = true, value_name = "PROGRAM", conflicts_with = "place")]
    command: Vec<String>,
}

/// The suffix of a locked copy, of which each master key in the keyring has one.
const LOCKED: &str = ".locked";
/// The timeout for a command that keeps the key, which may ask a person to unlock it.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run_encryption(command: &Command) -> Result<CommandExit> {
    let site = Site::open()?;
    if let Command::Status(print) = command {
        return status(&site, print.json);
    }
    interactive::refuse_agents()?;
    match command {
        Command::Status(_) => Ok(CommandExit::Success),
        Command::Rotate { passphrase, print } => rotate(&site, passphrase, print.json),
        Command::Move(arguments) => move_key(&site, arguments),
        Command::Unlock { passphrase, print } => unlock(&site, passphrase, print.json),
        Command::Backup(arguments) => back_up(&site, arguments),
        Command::Restore(arguments) => restore(&site, arguments),
        Command::Reset { yes, print } => reset(&site, *yes, print.json),
        Command::Off { yes, print } => switch_off(&site, *yes, print.json),
        Command::On(print) => switch_on(&site, print.json),
    }
}

struct Site {
    places: Paths,
    home: Home,
}

impl Site {
    fn open() -> Result<Self> {
        let places = Paths::from_environment()?;
        let home = Home::open_root(&places.state)?;
        Ok(Self { places, home })
    }

    fn masters(&self) -> &MasterStore {
        self.home.data_keys().masters()
    }

    /// Returns the copy of a master key that is in the keyring: each has its own, since an older key may
    /// still be needed.
    fn locked(&self, id: &MasterId) -> PathBuf {
        self.home.data_keys().folder().join(format!("master-{id}{LOCKED}"))
    }

    fn record(&self, act: &str, what: &str) -> Result<()> {
        record_action(&self.places, &self.home, act, what, now_ms())
    }

    /// Returns the newest master key and what is known of it; makes the first one if there is none.
    fn newest(&self) -> Result<(MasterKey, MasterEntry)> {
        let key = self.masters().read_newest()?;
        let entry = self.masters().list()?.into_iter().find(|entry| entry.id == key.id());
        let gone = || Error::internal("the master key was removed meanwhile");
        Ok((key, entry.ok_or_else(gone)?))
    }
}

fn status(site: &Site, as_json: bool) -> Result<CommandExit> {
    let keys = site.home.data_keys();
    let is_off = keys.is_off()?;
    let masters: Vec<(MasterEntry, Option<String>)> = site
        .masters()
        .list()?
        .into_iter()
        .map(|entry| {
            let problem = site.masters().read(&entry.id).err().map(|error| error.to_string());
            (entry, problem)
        })
        .collect();
    let days = keys.list_keys()?;
    let is_good = masters.iter().all(|(_, problem)| problem.is_none());
    if as_json {
        paint::print_text(&format!("{}\n", status_json(is_off, &masters, &days)));
    } else {
        paint::print_wrapped(&status_text(is_off, &masters, &days), 2);
    }
    Ok(CommandExit::of_check(is_good))
}

fn status_json(
    is_off: bool,
    masters: &[(MasterEntry, Option<String>)],
    days: &[KeyStatus],
) -> Value {
    let masters: Vec<Value> = masters
        .iter()
        .enumerate()
        .map(|(place, (entry, problem))| {
            let mut shown = json!({
                "id": entry.id.as_str(), "current": place == 0, "created": entry.created,
                "problem": problem,
            });
            // The place, and the command or the variable if there is one.
            if let (Some(shown), Ok(Value::Object(kept_in))) =
                (shown.as_object_mut(), serde_json::to_value(&entry.kept_in))
            {
                shown.extend(kept_in);
            }
            shown
        })
        .collect();
    let days: Vec<Value> = days
        .iter()
        .map(|key| {
            json!({
                "kind": key.kind.as_str(), "day": key.id.day.to_string(),
                "master": key.master.as_ref().ok().map(|id| id.as_str()),
                "problem": key.master.as_ref().err(),
            })
        })
        .collect();
    json!({ "on": !is_off, "master_keys": masters, "day_keys": days })
}

fn status_text(
    is_off: bool,
    masters: &[(MasterEntry, Option<String>)],
    days: &[KeyStatus],
) -> String {
    let mut text = match is_off {
        true => format!("{}: new data is kept as plain text\n", paint::bad("off")),
        false => format!("{}: new data is encrypted with a key for each day\n", paint::good("on")),
    };
    for (place, (entry, problem)) in masters.iter().enumerate() {
        let role = if place == 0 { "master key" } else { "older master key" };
        let state = match problem {
            None => paint::good("available"),
            Some(problem) => format!("{}: {}", paint::bad("not available"), one_line(problem, 512)),
        };
        text.push_str(&format!(
            "{role} {}: {}, made {}; {state}\n",
            entry.id,
            describe_place(&entry.kept_in),
            paint::time(entry.created)
        ));
    }
    if masters.is_empty() {
        text.push_str("no master key yet: the first record makes one\n");
    }
    for kind in DataKind::ALL {
        let of_kind: Vec<_> = days.iter().filter(|key| key.kind == kind).collect();
        if let (Some(first), Some(last)) = (of_kind.first(), of_kind.last()) {
            text.push_str(&format!(
                "{}: {}, {} to {}\n",
                kind.as_str(),
                count_noun(of_kind.len() as u64, "key"),
                first.id.day,
                last.id.day
            ));
        }
        for problem in of_kind.iter().filter_map(|key| key.master.as_ref().err()) {
            text.push_str(&format!("{}: {problem}\n", paint::bad("damaged")));
        }
    }
    text
}

fn rotate(site: &Site, passphrase: &Passphrase, as_json: bool) -> Result<CommandExit> {
    let (_, entry) = site.newest()?;
    if let KeptIn::Command { .. } | KeptIn::Variable { .. } = entry.kept_in {
        return Err(Error::invalid(format!(
            "the master key is {}, which portcullis does not write",
            describe_place(&entry.kept_in)
        ))
        .with_hint("run `portcullis encryption move --in file`, rotate it, and move it back"));
    }
    let key = MasterKey::generate()?;
    if entry.kept_in == KeptIn::Keyring {
        // The copy comes first: a key that only the keyring has is gone with the next restart.
        lock_copy(site, &key, passphrase)?;
    }
    let rewrapped = site.home.data_keys().rotate_master(&key, entry.kept_in)?;
    for id in &rewrapped.removed {
        remove_copy(site, id)?;
    }
    site.record("encryption rotate", "a person replaced the master key of the encrypted data")?;
    report_rewrap(as_json, &key, &rewrapped)
}

fn report_rewrap(as_json: bool, key: &MasterKey, result: &RewrapResult) -> Result<CommandExit> {
    if as_json {
        let kept: Vec<Value> = result
            .kept
            .iter()
            .map(|(file, reason)| json!({ "key": file, "reason": reason }))
            .collect();
        let removed: Vec<&str> = result.removed.iter().map(|id| id.as_str()).collect();
        let shown = json!({
            "master": key.id().as_str(), "rewrapped": result.rewrapped, "kept": kept, "removed": removed,
        });
        paint::print_text(&format!("{shown}\n"));
    } else {
        let mut text = format!(
            "the master key is {} now; it wraps {}\n",
            key.id(),
            count_noun(result.rewrapped, "key")
        );
        for (file, reason) in &result.kept {
            text.push_str(&format!("{} stays as it is: {}\n", file, one_line(reason, 512)));
        }
        for id in &result.removed {
            text.push_str(&format!("the master key {id} was forgotten: nothing needs it\n"));
        }
        paint::print_wrapped(&text, 2);
    }
    Ok(CommandExit::of_check(result.kept.is_empty()))
}

fn move_key(site: &Site, arguments: &Move) -> Result<CommandExit> {
    let (key, entry) = site.newest()?;
    let kept_in = match arguments.place.as_deref() {
        Some("keyring") => KeptIn::Keyring,
        Some(_) => KeptIn::File,
        None => KeptIn::Command { command: arguments.command.clone() },
    };
    if let Some(store) = &arguments.store {
        give_to_command(store, &key)?;
    }
    if kept_in == KeptIn::Keyring && entry.kept_in != KeptIn::Keyring {
        lock_copy(site, &key, &arguments.passphrase)?;
    }
    let place = describe_place(&kept_in);
    let is_in_keyring = kept_in == KeptIn::Keyring;
    site.masters().move_to(&entry.id, kept_in)?;
    if !is_in_keyring {
        remove_copy(site, &entry.id)?;
    }
    site.record("encryption move", &format!("a person moved the master key: {place}"))?;
    report(arguments.print.json, &key, &place)
}

/// Gives the key to a command that keeps it.
fn give_to_command(line: &str, key: &MasterKey) -> Result<()> {
    let words = shlex::split(line).filter(|words| !words.is_empty());
    let unusable = || Error::invalid("`--store` needs a command, with quotes as in a shell");
    let words = words.ok_or_else(unusable)?;
    let (program, arguments) = words.split_first().ok_or_else(unusable)?;
    let mut command = process::Command::new(program);
    command.args(arguments);
    let key = key.to_line();
    let input = key.expose_secret().as_bytes();
    let answer = ask_program(&mut command, input, 1024, Instant::now() + PATIENCE)
        .with_context(|| format!("cannot start `{}`", one_line(program, 128)))?;
    match answer {
        Some(answer) if answer.is_success => Ok(()),
        _ => Err(Error::io(format!("the command `{}` failed", one_line(program, 128)))
            .with_hint("run it in your terminal to see why; the key is where it was")),
    }
}

/// Writes the copy that puts the key back into the keyring after a restart.
fn lock_copy(site: &Site, key: &MasterKey, passphrase: &Passphrase) -> Result<()> {
    let passphrase = SecretString::from(passphrase.read_new_passphrase()?);
    LockedKey::lock(key, &passphrase)?.write(&site.locked(&key.id()))?;
    Ok(())
}

fn remove_copy(site: &Site, id: &MasterId) -> Result<()> {
    let path = site.locked(id);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove `{}`", path.display()))
        }
        _ => Ok(()),
    }
}

fn unlock(site: &Site, passphrase: &Passphrase, as_json: bool) -> Result<CommandExit> {
    let in_keyring = site.masters().list()?.into_iter();
    let in_keyring: Vec<_> = in_keyring.filter(|entry| entry.kept_in == KeptIn::Keyring).collect();
    let mut newest = None;
    for entry in &in_keyring {
        let path = site.locked(&entry.id);
        let locked = LockedKey::read(&path)?.ok_or_else(|| {
            Error::not_found(format!("there is no `{}`", path.display()))
                .with_hint("`portcullis encryption restore` takes the key from a backup")
        })?;
        let key = open(&locked, &path, passphrase)?;
        site.masters().put_back(&key)?;
        newest.get_or_insert(key);
    }
    let none = || {
        Error::not_found("there is no master key in the keyring")
            .with_hint("`portcullis encryption status` shows where it is")
    };
    let key = newest.ok_or_else(none)?;
    site.record("encryption unlock", "a person put the master key back into the keyring")?;
    report(as_json, &key, "in the keyring until the machine restarts")
}

fn open(locked: &LockedKey, path: &Path, passphrase: &Passphrase) -> Result<MasterKey> {
    let passphrase = SecretString::from(passphrase.of(path)?);
    Ok(locked.open(&passphrase, path)?)
}

fn back_up(site: &Site, arguments: &File) -> Result<CommandExit> {
    let (key, _) = site.newest()?;
    if arguments.file.exists() {
        return Err(Error::refused(format!("`{}` exists", arguments.file.display()))
            .with_hint("name a new file: an older backup may be of another key"));
    }
    let passphrase = SecretString::from(arguments.passphrase.read_new_passphrase()?);
    LockedKey::lock(&key, &passphrase)?.write(&arguments.file)?;
    site.record("encryption backup", "a person wrote a backup of the master key")?;
    report(arguments.print.json, &key, &format!("backed up in `{}`", arguments.file.display()))
}

fn restore(site: &Site, arguments: &File) -> Result<CommandExit> {
    let file = &arguments.file;
    let locked = LockedKey::read(file)?
        .ok_or_else(|| Error::not_found(format!("there is no file `{}`", file.display())))?;
    let key = open(&locked, file, &arguments.passphrase)?;
    let known = site.masters().list()?.into_iter().find(|entry| entry.id == key.id());
    let place = match known {
        None => {
            site.masters().add_old(&key)?;
            describe_place(&KeptIn::File)
        }
        Some(entry) if site.masters().read(&entry.id).is_ok() => {
            format!("there already, {}", describe_place(&entry.kept_in))
        }
        Some(MasterEntry { kept_in: kept_in @ (KeptIn::File | KeptIn::Keyring), .. }) => {
            site.masters().put_back(&key)?;
            describe_place(&kept_in)
        }
        Some(_) => {
            // Its command or variable is gone.
            site.masters().take_back(&key)?;
            describe_place(&KeptIn::File)
        }
    };
    site.record("encryption restore", "a person took a master key from a backup")?;
    report(arguments.print.json, &key, &place)
}

fn reset(site: &Site, yes: bool, as_json: bool) -> Result<CommandExit> {
    let newest = site.masters().list()?.into_iter().next();
    if let Some(entry) = newest
        && site.masters().read(&entry.id).is_ok()
    {
        return Err(Error::refused("the master key is available").with_hint(
            "`portcullis encryption rotate` replaces it, and everything stays readable",
        ));
    }
    if !yes {
        interactive::confirm_action(
            "What is encrypted already stays unreadable until the lost master key is restored, and \
             sessions that have begun are refused. New data gets a new master key.",
        )?;
    }
    let key = MasterKey::generate()?;
    site.masters().add(&key, KeptIn::File)?;
    // Waiting work that cannot be read would be retried for ever.
    let dropped = Store::open_database(&site.home, Durability::Process)?.drop_unreadable_rows()?;
    let what = format!(
        "a person replaced a master key that was lost; {} could not be read and went",
        count_noun(dropped, "waiting row")
    );
    site.record("encryption reset", &what)?;
    report(as_json, &key, &describe_place(&KeptIn::File))
}

fn switch_off(site: &Site, yes: bool, as_json: bool) -> Result<CommandExit> {
    if !yes {
        interactive::confirm_action(
            "New records, states, copies of files and incidents will be kept as plain text, and \
             retention will not make copies of them unreadable.",
        )?;
    }
    site.record("encryption off", "a person let new data be kept as plain text")?;
    site.home.data_keys().set_off(true)?;
    report_switch(as_json, false)
}

fn switch_on(site: &Site, as_json: bool) -> Result<CommandExit> {
    site.home.data_keys().set_off(false)?;
    site.record("encryption on", "a person let new data be encrypted")?;
    report_switch(as_json, true)
}

fn report_switch(as_json: bool, is_on: bool) -> Result<CommandExit> {
    let words = if is_on { "new data is encrypted" } else { "new data is kept as plain text" };
    match as_json {
        true => paint::print_text(&format!("{}\n", json!({ "on": is_on }))),
        false => paint::print_text(&format!("{words}\n")),
    }
    Ok(CommandExit::Success)
}

fn report(as_json: bool, key: &MasterKey, place: &str) -> Result<CommandExit> {
    match as_json {
        true => {
            let shown = json!({ "master": key.id().as_str(), "place": place });
            paint::print_text(&format!("{shown}\n"));
        }
        false => paint::print_wrapped(&format!("the master key {}: {place}\n", key.id()), 2),
    }
    Ok(CommandExit::Success)
}
