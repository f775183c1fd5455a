//! The agreement between `portcullis` and `portcullis-hub`: the arguments of `portcullis hub`, and
//! the version.
//!
//! The first program knows the arguments, so that its help and completions have them, and an error
//! in them is its own. It gives the second one its version, then the arguments in one fixed form.

mod orders;
mod people;

pub use orders::{
    OrdersCommand, PauseArguments, PublishArguments, ResumeArguments, ShareArguments, ShowArguments,
};
pub use people::{
    AddUserArguments, HubAuditCommand, KeptHead, LinkArguments, PasskeysArguments, ROLES,
    RoleArguments, ShowAuditArguments, UserArguments, UserCommand, VerifyAuditArguments,
};

use jiff::civil::Date;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The name of the program.
pub const NAME: &str = "portcullis-hub";
/// The version that both programs must have.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The folder of a hub whose command names none.
const FOLDER: &str = "/etc/portcullis/hub";

/// A command of `portcullis hub`.
#[derive(Debug, clap::Subcommand)]
pub enum HubCommand {
    /// Create a hub's configuration, its authority and its keys
    Init(InitArguments),
    /// Serve the machines of the fleet
    Serve(ServeArguments),
    /// Serve a hub for trying it out, with a PostgreSQL of its own
    Dev(DevArguments),
    /// Create tokens with which machines join
    #[command(subcommand)]
    Token(TokenCommand),
    /// List the machines of the fleet
    Machines(ListArguments),
    /// Revoke a machine: the hub takes nothing more from it
    Revoke(RevokeArguments),
    /// List journals that do not continue as the hub has seen them
    Incidents(IncidentsArguments),
    /// Publish signed orders for a group of machines, and see which are in force
    #[command(subcommand)]
    Orders(OrdersCommand),
    /// List what many machines have met within a time: texts, destinations, packages
    Findings(FindingsArguments),
    /// List what people said of reviews, and the changes that they propose
    Feedback(ListArguments),
    /// Add and remove the people who may see the hub's pages
    #[command(subcommand)]
    User(UserCommand),
    /// Show and verify what people have done on the hub
    #[command(subcommand)]
    Audit(HubAuditCommand),
    /// Write the records of each day that is over as a Parquet file (not for agents)
    Export(ExportArguments),
}

/// The arguments of `hub incidents`, with which it lists them, and the commands below it.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct IncidentsArguments {
    /// A command about one incident
    #[command(subcommand)]
    pub command: Option<IncidentsCommand>,
    /// The arguments of the list
    #[command(flatten)]
    pub list: ListArguments,
}

/// A command of `portcullis hub incidents`.
#[derive(Debug, clap::Subcommand)]
pub enum IncidentsCommand {
    /// Settle an incident that you have looked into
    Settle(SettleArguments),
}

/// A command of `portcullis hub token`.
#[derive(Debug, clap::Subcommand)]
pub enum TokenCommand {
    /// Create a join token and print it
    Create(TokenArguments),
}

/// The arguments of `hub init`.
#[derive(Debug, clap::Args)]
pub struct InitArguments {
    /// The hub's folder; it must not exist yet, or be empty
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// The address by which machines reach the hub, `https://HOST[:PORT]`
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// The database, as `host=... user=... dbname=...`; `hub.toml` names its password in
    /// `password`
    #[arg(long, value_name = "CONNECTION")]
    pub database: String,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8443")]
    pub listen: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArguments {
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// Listen on this address instead of the configured one
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Serve the page on this address instead of the configured one
    #[arg(long, value_name = "ADDRESS")]
    pub page: Option<String>,
}

/// The arguments of `hub dev`.
#[derive(Debug, clap::Args)]
pub struct DevArguments {
    /// The folder for database and keys; kept if you name one, else removed at the end
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// The port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 8443)]
    pub port: u16,
}

/// The arguments of `hub token create`.
#[derive(Debug, clap::Args)]
pub struct TokenArguments {
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// A label for each machine that joins with the token; may be repeated
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = parse_label)]
    pub labels: Vec<(String, String)>,
    /// The number of machines that may join with it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub uses: u32,
    /// The time for which it is valid: 30m, 1h, 7d
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = parse_time)]
    pub lifetime: Duration,
    /// Write the token to this new file, which only you can read, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of the commands that list something.
#[derive(Debug, clap::Args)]
pub struct ListArguments {
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub findings`.
#[derive(Debug, clap::Args)]
pub struct FindingsArguments {
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// The fewest machines
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub machines: u32,
    /// The time within which they met it: 1h, 1d
    #[arg(long, value_name = "TIME", default_value = "1d", value_parser = parse_time)]
    pub within: Duration,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub export`.
#[derive(Debug, clap::Args)]
pub struct ExportArguments {
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// The folder for the files `records-YYYY-MM-DD.parquet`
    #[arg(long, short, value_name = "DIR")]
    pub output: PathBuf,
    /// The first day (UTC); by default, that of the oldest record
    #[arg(long, value_name = "DAY", value_parser = parse_day)]
    pub since: Option<Date>,
    /// The last day (UTC); by default, yesterday
    #[arg(long, value_name = "DAY", value_parser = parse_day)]
    pub until: Option<Date>,
    /// Write the files that are there already again
    #[arg(long)]
    pub replace: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub revoke`.
#[derive(Debug, clap::Args)]
pub struct RevokeArguments {
    /// The machine's id
    pub machine: String,
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// The reason, which the machine is told
    #[arg(long, value_name = "TEXT", default_value = "revoked by an operator of the hub")]
    pub reason: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub incidents settle`.
#[derive(Debug, clap::Args)]
pub struct SettleArguments {
    /// The incident's number
    #[arg(value_parser = clap::value_parser!(i64).range(1..))]
    pub incident: i64,
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// The reason, which stays with the incident
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl HubCommand {
    /// Returns true if it changes something that is for a person: an agent may not run it.
    #[must_use]
    pub const fn is_for_person(&self) -> bool {
        match self {
            Self::Token(_) | Self::Revoke(_) | Self::Export(_) => true,
            Self::Orders(command) => command.is_for_person(),
            Self::Incidents(arguments) => arguments.command.is_some(),
            Self::User(command) => command.is_for_person(),
            Self::Init(_)
            | Self::Serve(_)
            | Self::Dev(_)
            | Self::Machines(_)
            | Self::Findings(_)
            | Self::Feedback(_)
            | Self::Audit(_) => false,
        }
    }

    /// Returns true if it prints JSON.
    #[must_use]
    pub const fn prints_json(&self) -> bool {
        match self {
            Self::Init(arguments) => arguments.json,
            Self::Token(TokenCommand::Create(arguments)) => arguments.json,
            Self::Machines(arguments) => arguments.json,
            Self::Incidents(IncidentsArguments {
                command: Some(IncidentsCommand::Settle(arguments)),
                ..
            }) => arguments.json,
            Self::Incidents(arguments) => arguments.list.json,
            Self::Orders(command) => command.prints_json(),
            Self::Revoke(arguments) => arguments.json,
            Self::Findings(arguments) => arguments.json,
            Self::Feedback(arguments) => arguments.json,
            Self::User(command) => command.prints_json(),
            Self::Audit(command) => command.prints_json(),
            Self::Export(arguments) => arguments.json,
            Self::Serve(_) | Self::Dev(_) => false,
        }
    }

    /// Returns the arguments of the second program: the version, then the command as one parses it
    /// back, whatever a value begins with.
    #[must_use]
    pub fn command_arguments(&self) -> Vec<OsString> {
        let mut words = Words(vec![VERSION.into()]);
        match self {
            Self::Init(arguments) => {
                words.add("init");
                words.add_value("--folder", &arguments.folder);
                words.add_value("--url", &arguments.url);
                words.add_value("--database", &arguments.database);
                words.add_value("--listen", &arguments.listen);
            }
            Self::Serve(arguments) => {
                words.add("serve");
                words.add_value("--folder", &arguments.folder);
                arguments.listen.iter().for_each(|listen| words.add_value("--listen", listen));
                arguments.page.iter().for_each(|page| words.add_value("--page", page));
            }
            Self::Dev(arguments) => {
                words.add("dev");
                arguments.folder.iter().for_each(|folder| words.add_value("--folder", folder));
                words.add_value("--port", arguments.port.to_string());
            }
            Self::Token(TokenCommand::Create(arguments)) => {
                words.add("token");
                words.add("create");
                words.add_value("--folder", &arguments.folder);
                for (name, value) in &arguments.labels {
                    words.add_value("--label", format!("{name}={value}"));
                }
                words.add_value("--uses", arguments.uses.to_string());
                words.add_value("--for", format!("{}s", arguments.lifetime.as_secs()));
                arguments.output.iter().for_each(|output| words.add_value("--output", output));
            }
            Self::Machines(arguments) => {
                words.add("machines");
                words.add_value("--folder", &arguments.folder);
            }
            Self::Incidents(IncidentsArguments { command: None, list }) => {
                words.add("incidents");
                words.add_value("--folder", &list.folder);
            }
            Self::Incidents(IncidentsArguments {
                command: Some(IncidentsCommand::Settle(arguments)),
                ..
            }) => {
                words.add("incidents");
                words.add("settle");
                words.add_value("--folder", &arguments.folder);
                words.add_value("--reason", &arguments.reason);
            }
            Self::Orders(command) => {
                words.add("orders");
                orders::add_words(&mut words, command);
            }
            Self::Findings(arguments) => {
                words.add("findings");
                words.add_value("--folder", &arguments.folder);
                words.add_value("--machines", arguments.machines.to_string());
                words.add_value("--within", format!("{}s", arguments.within.as_secs()));
            }
            Self::Feedback(arguments) => {
                words.add("feedback");
                words.add_value("--folder", &arguments.folder);
            }
            Self::User(command) => {
                words.add("user");
                people::add_user_words(&mut words, command);
            }
            Self::Audit(command) => {
                words.add("audit");
                people::add_audit_words(&mut words, command);
            }
            Self::Export(arguments) => {
                words.add("export");
                words.add_value("--folder", &arguments.folder);
                words.add_value("--output", &arguments.output);
                arguments.since.iter().for_each(|day| words.add_value("--since", day.to_string()));
                arguments.until.iter().for_each(|day| words.add_value("--until", day.to_string()));
                if arguments.replace {
                    words.add("--replace");
                }
            }
            Self::Revoke(arguments) => {
                words.add("revoke");
                words.add_value("--folder", &arguments.folder);
                words.add_value("--reason", &arguments.reason);
            }
        }
        if self.prints_json() {
            words.add("--json");
        }
        // An argument without an option may begin with a hyphen too.
        let plain: Vec<OsString> = match self {
            Self::Revoke(arguments) => vec![OsString::from(&arguments.machine)],
            Self::Incidents(IncidentsArguments {
                command: Some(IncidentsCommand::Settle(arguments)),
                ..
            }) => vec![arguments.incident.to_string().into()],
            Self::Orders(command) => command.plain_words(),
            Self::User(command) => command.plain_words(),
            _ => Vec::new(),
        };
        if !plain.is_empty() {
            words.add("--");
            words.0.extend(plain);
        }
        words.0
    }
}

struct Words(Vec<OsString>);

impl Words {
    fn add(&mut self, word: &str) {
        self.0.push(word.into());
    }

    /// Adds one word, so that a value that begins with a hyphen is none of the options.
    fn add_value(&mut self, option: &str, value: impl Into<OsString>) {
        let mut word = OsString::from(format!("{option}="));
        word.push(value.into());
        self.0.push(word);
    }
}

/// Parses `NAME=VALUE`.
fn parse_label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a label has the form NAME=VALUE")?;
    let allowed = |part: &str| {
        (1..=64).contains(&part.len())
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
    };
    if !allowed(name) || !allowed(value) {
        return Err(
            "name and value have 1 to 64 of the characters a-z, A-Z, 0-9, `.`, `_`, `-`".into()
        );
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Parses a day, as `2026-11-28`.
fn parse_day(text: &str) -> Result<Date, String> {
    text.parse().map_err(|_| "a day is written as 2026-11-28".to_owned())
}

/// Parses a time of at least one second and at most a year.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let wrong = || "a time is a number with s, m, h or d, at most a year".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let number = text.strip_suffix(unit).and_then(|number| number.parse::<u64>().ok());
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let time = number.and_then(|number| number.checked_mul(seconds)).ok_or_else(wrong)?;
    if (1..=366 * 24 * 60 * 60).contains(&time) {
        Ok(Duration::from_secs(time))
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Arguments {
        #[command(subcommand)]
        command: HubCommand,
    }

    #[test]
    fn the_second_program_parses_what_the_first_parsed() {
        for line in [
            "init --url https://hub.example --database host=/run",
            "init --folder=-x --url u --database d --listen 127.0.0.1:1 --json",
            "serve",
            "serve --folder f --listen [::]:1",
            "dev",
            "dev --folder f --port 0",
            "token create",
            "token create --label a=b --label c=d --uses 3 --for 7d --output=-f --json",
            "machines --json",
            "incidents",
            "incidents settle --reason=-r --json 7",
            "orders publish --share 5 -- -f",
            "orders publish --rollout shadow/5:1h,10:90s,100 --tolerance 7 --fallback=-g -- -f",
            "orders pause g 3",
            "orders resume --tolerance 9 --json g 3",
            "orders share --json g 3 0",
            "orders list --json",
            "orders show g --version 2",
            "orders show g",
            "revoke --reason=-r -- -m",
            "serve --page 127.0.0.1:8444",
            "findings --machines 5 --within 2h --json",
            "feedback --json",
            "export --output=-o",
            "export --output o --since 2026-11-01 --until 2026-11-30 --replace --json",
            "user add --role operator --for 1h -- -ann",
            "user link ann --json",
            "user list --json",
            "user role ann viewer",
            "user sign-out ann",
            "user remove -- -ann",
            "user passkeys",
            "user passkeys --json -- -ann",
            "audit show --limit 7 --json",
            "audit verify --head 3:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        ] {
            let line_words = ["portcullis"].into_iter().chain(line.split(' ')).map(OsString::from);
            let parsed = Arguments::try_parse_from(line_words).unwrap();
            let again = Arguments::try_parse_from(parsed.command.command_arguments()).unwrap();
            assert_eq!(format!("{parsed:?}"), format!("{again:?}"), "{line}");
        }
    }

    #[test]
    fn a_day_is_one_of_the_calendar() {
        for (day, fits) in
            [("2026-11-28", true), ("2026-02-29", false), ("28.11.2026", false), ("", false)]
        {
            assert_eq!(parse_day(day).is_ok(), fits, "{day}");
        }
    }

    #[test]
    fn labels_and_times_have_bounds() {
        for (label, fits) in
            [("a=b", true), ("a", false), ("=b", false), ("a=", false), ("a= ", false)]
        {
            assert_eq!(parse_label(label).is_ok(), fits, "{label}");
        }
        for (time, seconds) in [
            ("90s", Some(90)),
            ("2h", Some(7200)),
            ("0s", None),
            ("367d", None),
            ("h", None),
            ("", None),
            ("1é", None),
        ] {
            assert_eq!(parse_time(time).ok().map(|time| time.as_secs()), seconds, "{time}");
        }
    }
}
