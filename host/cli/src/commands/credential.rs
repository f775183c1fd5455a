//! `portcullis credential`: keeps what exports, notifications and registries sign in with, and, with
//! `--hub`, what a hub of a fleet does.
//!
//! A value comes from the terminal, without echo, or from standard input. It is never an argument,
//! where other users of the machine could read it, and it is never printed.

use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::given_file::read_given_file;
use crate::password_prompt::read_password;
use crate::recorded_action::record_action;
use crate::{interactive, paint};
use portcullis_config::Config;
use portcullis_config::clock::{format_utc, now_ms};
use portcullis_config::paths::Paths;
use portcullis_core::text::one_line;
use portcullis_credentials::{
    CredentialEntry, CredentialFailure, CredentialName, CredentialReader, CredentialStore, KeptIn,
    LastUse, check_secret,
};
use portcullis_engine::SettingValue;
use portcullis_fleet::open_hub_credentials;
use portcullis_review::credentials::{HomeCredentials, open_credentials};
use portcullis_store::Home;
use secrecy::SecretString;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, TableLike, Value};

#[derive(clap::Subcommand)]
pub enum Command {
    /// Add a credential: its value is asked for, or kept elsewhere (not for agents)
    Set(Set),
    /// Give a credential a new value (not for agents)
    Rotate(Rotate),
    /// List the credentials: where each is kept, who uses it, until when it is valid
    List(StoreArguments),
    /// Check that the credentials can be read
    Check {
        /// The credential (default: all)
        name: Option<String>,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Forget a credential and its value (not for agents)
    Remove {
        /// The credential
        name: String,
        /// Remove it although the configuration names it
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        store: StoreArguments,
    },
}

#[derive(clap::Args)]
pub struct StoreArguments {
    /// The credentials of the hub in this folder, instead of this home's
    #[arg(long, value_name = "DIR")]
    hub: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub struct Set {
    /// The name, as in `token = "credential:NAME"`
    name: String,
    /// Keep the value in a file (mode 0600), or in the kernel's keyring until the machine restarts
    #[arg(long = "in", value_name = "PLACE", default_value = "file", value_parser = ["file", "keyring"])]
    place: String,
    /// Read the value from this variable of the environment at each use
    #[arg(long, value_name = "VARIABLE", conflicts_with_all = ["place", "stdin", "command"])]
    env: Option<String>,
    /// The registry that it is for, as references name it: `ghcr.io`
    #[arg(long, value_name = "HOST", conflicts_with = "hub")]
    registry: Option<String>,
    /// The user name for the registry (default: the value is an identity token)
    #[arg(long, value_name = "NAME", requires = "registry")]
    user: Option<String>,
    /// When it expires: a date (2027-01-31) or a number of days (90d)
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// Read the value from standard input
    #[arg(long)]
    stdin: bool,
    #[command(flatten)]
    store: StoreArguments,
    /// A command that prints the value, run at each use without a shell
    #[arg(last = true, value_name = "PROGRAM", conflicts_with_all = ["place", "stdin"])]
    command: Vec<String>,
}

#[derive(clap::Args)]
pub struct Rotate {
    /// The credential
    name: String,
    /// When the new value expires: a date (2027-01-31) or a number of days (90d)
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// Read the value from standard input
    #[arg(long)]
    stdin: bool,
    #[command(flatten)]
    store: StoreArguments,
}

/// The most bytes of `hub.toml`.
const MOST_CONFIGURATION: u64 = 64 << 10;
/// The most bytes of standard input: a value is shorter, and a longer one is refused.
const MOST_INPUT: u64 = 8 << 10;
const DAY: u64 = 24 * 60 * 60 * 1000;

pub fn run_credential(command: &Command) -> Result<CommandExit> {
    let arguments = match command {
        Command::Set(Set { store, .. })
        | Command::Rotate(Rotate { store, .. })
        | Command::List(store)
        | Command::Check { store, .. }
        | Command::Remove { store, .. } => store,
    };
    let site = match &arguments.hub {
        Some(folder) => Site::open_hub(folder)?,
        None => Site::open()?,
    };
    let as_json = arguments.json;
    match command {
        Command::Set(arguments) => set(&site, arguments),
        Command::Rotate(arguments) => rotate(&site, arguments),
        Command::List(_) => list(&site, as_json),
        Command::Check { name, .. } => check(&site, name.as_deref(), as_json),
        Command::Remove { name, force, .. } => remove(&site, name, *force, as_json),
    }
}

/// A store with whoever it belongs to.
struct Site {
    owner: Owner,
    store: CredentialStore,
}

/// The owner of a store.
enum Owner {
    /// An installation, whose journal records what happens to its credentials.
    Home { places: Box<Paths>, home: Home },
    /// A hub: its folder.
    Hub(PathBuf),
}

impl Site {
    fn open() -> Result<Self> {
        let places = Box::new(Paths::from_environment()?);
        let home = Home::open_root(&places.state)?;
        let store = open_credentials(&home);
        Ok(Self { owner: Owner::Home { places, home }, store })
    }

    fn open_hub(folder: &Path) -> Result<Self> {
        let store = open_hub_credentials(folder).map_err(refused)?;
        Ok(Self { owner: Owner::Hub(folder.to_owned()), store })
    }

    fn record(&self, act: &str, what: &str) -> Result<()> {
        match &self.owner {
            Owner::Home { places, home } => record_action(places, home, act, what, now_ms()),
            Owner::Hub(_) => Ok(()),
        }
    }

    fn load_settings(&self) -> Result<Settings> {
        Ok(match &self.owner {
            Owner::Home { places, home } => {
                Settings::Home(Box::new(Config::load(places, Some(home))?))
            }
            Owner::Hub(folder) => Settings::Hub(Box::new(read_hub_settings(folder)?)),
        })
    }

    /// Returns the options with which another command works on this store.
    fn describe_options(&self) -> String {
        match &self.owner {
            Owner::Home { .. } => String::new(),
            Owner::Hub(folder) => format!(" --hub {}", one_line(&folder.to_string_lossy(), 400)),
        }
    }

    fn unknown(&self, name: &CredentialName) -> Error {
        let options = self.describe_options();
        Error::not_found(format!("there is no credential `{name}`"))
            .with_hint(format!("`portcullis credential list{options}` shows those that there are"))
    }

    /// Returns why a value cannot be read, if so.
    fn read_problem(&self, name: &CredentialName) -> Option<String> {
        let read = match &self.owner {
            Owner::Home { home, .. } => {
                HomeCredentials::of_home(Some(home)).read_stored(name.as_str())
            }
            Owner::Hub(_) => self.store.read_secret(name, &|name| std::env::var_os(name)),
        };
        read.err().map(|failure| failure.to_string())
    }
}

/// The configuration that may name credentials.
enum Settings {
    Home(Box<Config>),
    Hub(Box<DocumentMut>),
}

impl Settings {
    /// Returns the settings that name a credential, such as `exports.siem.token`.
    fn find_users(&self, name: &CredentialName) -> Vec<String> {
        let wanted = format!("credential:{name}");
        let mut users = Vec::new();
        match self {
            Self::Hub(document) => find_named(document.as_item(), "", &wanted, &mut users),
            Self::Home(config) => {
                let wanted = SettingValue::Text(wanted);
                for (kind, tables) in
                    [("exports", &config.exports), ("notifications.channels", &config.channels)]
                {
                    for (table, keys) in tables {
                        let named = keys.iter().filter(|(_, value)| **value == wanted);
                        users.extend(named.map(|(key, _)| format!("{kind}.{table}.{key}")));
                    }
                }
            }
        }
        users
    }
}

fn read_hub_settings(folder: &Path) -> Result<DocumentMut> {
    let path = folder.join("hub.toml");
    let text = read_given_file(&path, MOST_CONFIGURATION, false)?;
    let document = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
    document.ok_or_else(|| Error::invalid(format!("`{}` is not TOML", path.display())))
}

/// Adds the paths of all texts that are `wanted`.
fn find_named(item: &Item, path: &str, wanted: &str, found: &mut Vec<String>) {
    if item.as_str() == Some(wanted) {
        found.push(path.to_owned());
    }
    if let Item::Value(Value::Array(array)) = item {
        for value in array {
            find_named(&Item::Value(value.clone()), path, wanted, found);
        }
    }
    let tables = item.as_array_of_tables().into_iter().flatten();
    let tables = tables.map(|table| table as &dyn TableLike).chain(item.as_table_like());
    for (key, value) in tables.flat_map(TableLike::iter) {
        let below = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        find_named(value, &below, wanted, found);
    }
}

fn refused(failure: CredentialFailure) -> Error {
    Error::io(failure.what).with_hint(failure.fix)
}

fn parse_name(text: &str) -> Result<CredentialName> {
    text.parse()
        .map_err(|failure: CredentialFailure| Error::invalid(failure.what).with_hint(failure.fix))
}

fn set(site: &Site, arguments: &Set) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let name = parse_name(&arguments.name)?;
    let now = now_ms();
    let expires = arguments.expires.as_deref().map(|when| parse_expiry(when, now)).transpose()?;
    let kept_in = match (&arguments.env, arguments.place.as_str()) {
        (Some(variable), _) => KeptIn::Variable { variable: variable.clone() },
        _ if !arguments.command.is_empty() => {
            KeptIn::Command { command: arguments.command.clone() }
        }
        (None, "keyring") => KeptIn::Keyring,
        (None, _) => KeptIn::File,
    };
    if let (KeptIn::Keyring, Owner::Hub(_)) = (&kept_in, &site.owner) {
        return Err(Error::invalid(
            "the kernel's keyring belongs to one machine, and a hub has replicas",
        )
        .with_hint("keep it in a file, or name a command that prints it"));
    }
    let has_own_value = matches!(kept_in, KeptIn::File | KeptIn::Keyring);
    let entry = CredentialEntry {
        kept_in,
        created: now,
        set: now,
        expires,
        registry: arguments.registry.clone(),
        user: arguments.user.clone(),
    };
    if site.store.list_entries().map_err(refused)?.contains_key(&name) {
        return Err(Error::invalid(format!("there is a credential `{name}` already")).with_hint(
            format!(
                "`portcullis credential rotate {name}{}` gives it a new value",
                site.describe_options()
            ),
        ));
    }
    let value = match has_own_value {
        true => Some(read_value(&name, arguments.stdin)?),
        false => None,
    };
    let place = describe_place(&entry.kept_in);
    site.store.add_entry(&name, entry, value.as_ref()).map_err(refused)?;
    site.record("credential set", &format!("a person set the credential `{name}`, {place}"))?;
    // A command or a variable is read once, so that a mistake shows now and not in the night.
    let problem = site.read_problem(&name);
    report(arguments.store.json, &name, &format!("set, {place}"), problem)
}

fn rotate(site: &Site, arguments: &Rotate) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let name = parse_name(&arguments.name)?;
    let now = now_ms();
    let expires = arguments.expires.as_deref().map(|when| parse_expiry(when, now)).transpose()?;
    let entries = site.store.list_entries().map_err(refused)?;
    let entry = entries.get(&name).ok_or_else(|| site.unknown(&name))?;
    if let KeptIn::Variable { .. } | KeptIn::Command { .. } = entry.kept_in {
        return Err(Error::invalid(format!(
            "`{name}` is {}, which portcullis does not write",
            describe_place(&entry.kept_in)
        ))
        .with_hint("change it there: it is read at each use"));
    }
    let value = read_value(&name, arguments.stdin)?;
    site.store.rotate_value(&name, &value, expires, now).map_err(refused)?;
    site.record("credential rotate", &format!("a person rotated the credential `{name}`"))?;
    let since = match &site.owner {
        Owner::Home { .. } => "the new value counts from the next use",
        Owner::Hub(_) => "restart the replicas, which read most secrets when they start",
    };
    report(arguments.store.json, &name, &format!("rotated; {since}"), None)
}

fn remove(site: &Site, name: &str, force: bool, as_json: bool) -> Result<CommandExit> {
    interactive::refuse_agents()?;
    let name = parse_name(name)?;
    let users = site.load_settings()?.find_users(&name);
    if !users.is_empty() && !force {
        return Err(Error::refused(format!("`{name}` is in use: {}", users.join(", ")))
            .with_hint("change the configuration first, or remove it with `--force`"));
    }
    site.store.list_entries().map_err(refused)?.get(&name).ok_or_else(|| site.unknown(&name))?;
    site.store.remove_entry(&name).map_err(refused)?;
    site.record("credential remove", &format!("a person removed the credential `{name}`"))?;
    report(as_json, &name, "removed", None)
}

fn check(site: &Site, name: Option<&str>, as_json: bool) -> Result<CommandExit> {
    let mut names: Vec<_> = site.store.list_entries().map_err(refused)?.into_keys().collect();
    if let Some(name) = name {
        let name = parse_name(name)?;
        if !names.contains(&name) {
            return Err(site.unknown(&name));
        }
        names = vec![name];
    }
    let checked: Vec<_> = names
        .into_iter()
        .map(|name| {
            let problem = site.read_problem(&name);
            (name, problem)
        })
        .collect();
    if as_json {
        let all: Vec<Json> = checked
            .iter()
            .map(|(name, problem)| json!({ "name": name.as_str(), "problem": problem }))
            .collect();
        paint::print_text(&format!("{}\n", json!({ "credentials": all })));
    } else {
        for (name, problem) in &checked {
            let state = match problem {
                Some(problem) => format!("{}: {problem}", paint::bad("cannot be read")),
                None => paint::good("can be read"),
            };
            paint::print_wrapped(&format!("{name}: {state}\n"), 2);
        }
        if checked.is_empty() {
            print_none();
        }
    }
    Ok(CommandExit::of_check(checked.iter().all(|(_, problem)| problem.is_none())))
}

fn list(site: &Site, as_json: bool) -> Result<CommandExit> {
    let now = now_ms();
    let entries = site.store.list_entries().map_err(refused)?;
    let settings = site.load_settings()?;
    let all_uses = site.store.use_log().list_uses();
    let mut all = Vec::new();
    for (name, entry) in &entries {
        let users = settings.find_users(name);
        let uses = all_uses.get(&format!("credential:{name}")).cloned().unwrap_or_default();
        if as_json {
            all.push(entry_json(name, entry, &users, &uses, now));
        } else {
            paint::print_wrapped(&entry_text(name, entry, &users, &uses, now), 2);
        }
    }
    if as_json {
        paint::print_text(&format!("{}\n", json!({ "credentials": all })));
    } else if entries.is_empty() {
        print_none();
    }
    Ok(CommandExit::Success)
}

fn print_none() {
    paint::print_text("no credentials: `portcullis credential set NAME` adds one\n");
}

fn entry_text(
    name: &CredentialName,
    entry: &CredentialEntry,
    users: &[String],
    uses: &BTreeMap<String, LastUse>,
    now: u64,
) -> String {
    let mut text =
        format!("{name}: {}, set {}", describe_place(&entry.kept_in), paint::time(entry.set));
    if let Some(expires) = entry.expires {
        let until = paint::time(expires);
        text.push_str(&match expires <= now {
            true => format!("; {} {until}", paint::bad("expired")),
            false => format!("; expires {until}"),
        });
    }
    if let Some(registry) = &entry.registry {
        text.push_str(&format!("; for the registry {}", one_line(registry, 128)));
    }
    if let Some(user) = &entry.user {
        text.push_str(&format!(" as {}", one_line(user, 128)));
    }
    match users {
        [] if entry.registry.is_none() => text.push_str("; the configuration does not name it"),
        [] => {}
        users => text.push_str(&format!("; used by {}", users.join(", "))),
    }
    for (purpose, last) in uses {
        let when = paint::time(last.recorded);
        text.push_str(&format!("; {} for {purpose} {when}", last.outcome.as_str()));
    }
    text.push('\n');
    text
}

fn entry_json(
    name: &CredentialName,
    entry: &CredentialEntry,
    users: &[String],
    uses: &BTreeMap<String, LastUse>,
    now: u64,
) -> Json {
    let (kept_in, variable, command) = match &entry.kept_in {
        KeptIn::File => ("file", None, None),
        KeptIn::Keyring => ("keyring", None, None),
        KeptIn::Variable { variable } => ("variable", Some(variable), None),
        KeptIn::Command { command } => ("command", None, Some(command)),
    };
    let uses: Vec<Json> = uses
        .iter()
        .map(|(purpose, last)| {
            json!({
                "purpose": purpose,
                "outcome": last.outcome.as_str(),
                "recorded": last.recorded,
            })
        })
        .collect();
    json!({
        "name": name.as_str(),
        "kept_in": kept_in,
        "variable": variable,
        "command": command,
        "created": entry.created,
        "set": entry.set,
        "expires": entry.expires,
        "expired": entry.expires.is_some_and(|expires| expires <= now),
        "registry": entry.registry,
        "user": entry.user,
        "used_by": users,
        "last_uses": uses,
    })
}

/// Describes where a value is kept.
pub fn describe_place(kept_in: &KeptIn) -> String {
    match kept_in {
        KeptIn::File => "kept in a file".to_owned(),
        KeptIn::Keyring => "kept in the kernel's keyring until the machine restarts".to_owned(),
        KeptIn::Variable { variable } => {
            format!("kept in the variable `{}`", one_line(variable, 128))
        }
        KeptIn::Command { command } => {
            let program = command.first().map_or("", String::as_str);
            format!("kept by the command `{}`", one_line(program, 128))
        }
    }
}

/// Reads a value from standard input, or at the terminal, twice.
fn read_value(name: &CredentialName, from_stdin: bool) -> Result<SecretString> {
    let typed = if from_stdin {
        let mut bytes = Vec::new();
        std::io::stdin()
            .take(MOST_INPUT)
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        bytes
    } else {
        let typed = read_password(&format!("Value of `{name}`")).map_err(|error| {
            error.with_hint("without a terminal, give the value on standard input: `--stdin`")
        })?;
        if read_password("The same again")? != typed {
            return Err(Error::invalid("the two values differ: nothing was changed"));
        }
        typed.into_bytes()
    };
    check_secret("the value", typed)
        .map_err(|failure| Error::invalid(failure.what).with_hint("give it as one line"))
}

fn report(
    as_json: bool,
    name: &CredentialName,
    what: &str,
    problem: Option<String>,
) -> Result<CommandExit> {
    let is_good = problem.is_none();
    if as_json {
        let document = json!({ "name": name.as_str(), "done": what, "problem": problem });
        paint::print_text(&format!("{document}\n"));
    } else {
        paint::print_wrapped(&format!("{name}: {what}\n"), 2);
        if let Some(problem) = problem {
            let warning = paint::bad("it cannot be read yet");
            paint::print_wrapped(&format!("{name}: {warning}: {problem}\n"), 2);
        }
    }
    Ok(CommandExit::of_check(is_good))
}

/// Parses when a credential expires: the end of a day in UTC, or a number of days from `now`.
fn parse_expiry(text: &str, now: u64) -> Result<u64> {
    let wrong = |what: &str| {
        Error::invalid(format!("`{}` {what}", one_line(text, 64)))
            .with_hint("write a date such as 2027-01-31, or a number of days such as 90d")
    };
    let expires = match text.strip_suffix('d').map(str::parse::<u32>) {
        Some(days) => {
            let days = days.map_err(|_| wrong("is not a number of days"))?;
            now.saturating_add(u64::from(days).saturating_mul(DAY))
        }
        None => {
            let date: jiff::civil::Date = text.parse().map_err(|_| wrong("is not a date"))?;
            let end = date.to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| wrong("is not a date"))?;
            let start = u64::try_from(end.timestamp().as_millisecond());
            start.map_err(|_| wrong("is over"))?.saturating_add(DAY)
        }
    };
    if expires <= now {
        return Err(wrong(&format!("is over: it is {} now", format_utc(now))));
    }
    Ok(expires)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-28, 12:00 UTC.
    const NOW: u64 = 1_795_867_200_000;

    #[test]
    fn an_expiry_is_a_date_or_a_number_of_days() {
        for (text, expected) in [
            ("1d", Some(NOW + DAY)),
            ("90d", Some(NOW + 90 * DAY)),
            ("2026-11-28", Some(1_795_910_400_000)),
            ("2026-11-29", Some(1_795_996_800_000)),
            ("2026-11-27", None),
            ("1969-01-01", None),
            ("0d", None),
            ("d", None),
            ("-1d", None),
            ("tomorrow", None),
            ("2026-02-30", None),
            ("", None),
        ] {
            assert_eq!(parse_expiry(text, NOW).ok(), expected, "{text:?}");
        }
    }
}
