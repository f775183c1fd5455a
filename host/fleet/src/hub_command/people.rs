//! The commands about a hub's own people: who may see its pages, and what each of them has done.

use super::{FOLDER, ListArguments, Words, parse_time};
use clap::builder::PossibleValuesParser;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The names of the roles, the one that may do least first.
pub const ROLES: [&str; 3] = ["viewer", "approver", "operator"];
/// The longest life of a link to sign in, in seconds.
const LONGEST_LINK: u64 = 24 * 60 * 60;

/// A command of `portcullis hub user`.
#[derive(Debug, clap::Subcommand)]
pub enum UserCommand {
    /// Add a person, and print a link that signs one browser in, once
    Add(AddUserArguments),
    /// Print another link for a person; it replaces the one before
    Link(LinkArguments),
    /// List the people who may see the hub's pages
    List(ListArguments),
    /// Change a person's role
    Role(RoleArguments),
    /// Sign out all browsers of a person
    SignOut(UserArguments),
    /// Remove a person, and sign out their browsers
    Remove(UserArguments),
    /// List the passkeys that people enrolled, as orders name them
    Passkeys(PasskeysArguments),
}

/// A command of `portcullis hub audit`.
#[derive(Debug, clap::Subcommand)]
pub enum HubAuditCommand {
    /// List what people have done on the hub, newest last
    Show(ShowAuditArguments),
    /// Check that no entry was changed, removed or inserted
    Verify(VerifyAuditArguments),
}

/// The arguments of `hub user add`.
#[derive(Debug, clap::Args)]
pub struct AddUserArguments {
    /// The name, such as an address of mail
    pub name: String,
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// The role: a viewer sees, an approver answers, an operator changes
    #[arg(long, default_value = "viewer", value_parser = PossibleValuesParser::new(ROLES))]
    pub role: String,
    /// The time in which the link has to be used: 15m, 1h
    #[arg(long = "for", value_name = "TIME", default_value = "15m", value_parser = parse_link_time)]
    pub lifetime: Duration,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub user link`.
#[derive(Debug, clap::Args)]
pub struct LinkArguments {
    /// The person
    pub name: String,
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// The time in which the link has to be used: 15m, 1h
    #[arg(long = "for", value_name = "TIME", default_value = "15m", value_parser = parse_link_time)]
    pub lifetime: Duration,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub user role`.
#[derive(Debug, clap::Args)]
pub struct RoleArguments {
    /// The person
    pub name: String,
    /// The new role
    #[arg(value_parser = PossibleValuesParser::new(ROLES))]
    pub role: String,
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub user sign-out` and `hub user remove`.
#[derive(Debug, clap::Args)]
pub struct UserArguments {
    /// The person
    pub name: String,
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub user passkeys`.
#[derive(Debug, clap::Args)]
pub struct PasskeysArguments {
    /// The person; without one, all
    pub name: Option<String>,
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub audit show`.
#[derive(Debug, clap::Args)]
pub struct ShowAuditArguments {
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// Show at most this many entries, the newest
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// Print each entry as a line of JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hub audit verify`.
#[derive(Debug, clap::Args)]
pub struct VerifyAuditArguments {
    /// The hub's folder
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    pub folder: PathBuf,
    /// Compare with a head that an earlier verification printed, `ENTRY:HASH`
    #[arg(long, value_name = "HEAD", value_parser = parse_head)]
    pub head: Option<KeptHead>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A head of the audit that somebody has kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptHead {
    /// The entry's place.
    pub sequence: u64,
    /// Its hash, 64 hex digits.
    pub hash: String,
}

impl UserCommand {
    pub(super) const fn is_for_person(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Passkeys(_))
    }

    pub(super) const fn prints_json(&self) -> bool {
        match self {
            Self::Add(arguments) => arguments.json,
            Self::Link(arguments) => arguments.json,
            Self::List(arguments) => arguments.json,
            Self::Role(arguments) => arguments.json,
            Self::SignOut(arguments) | Self::Remove(arguments) => arguments.json,
            Self::Passkeys(arguments) => arguments.json,
        }
    }

    pub(super) fn plain_words(&self) -> Vec<OsString> {
        match self {
            Self::Add(AddUserArguments { name, .. })
            | Self::Link(LinkArguments { name, .. })
            | Self::SignOut(UserArguments { name, .. })
            | Self::Remove(UserArguments { name, .. }) => vec![name.into()],
            Self::Role(arguments) => {
                vec![OsString::from(&arguments.name), OsString::from(&arguments.role)]
            }
            Self::Passkeys(arguments) => arguments.name.iter().map(OsString::from).collect(),
            Self::List(_) => Vec::new(),
        }
    }
}

impl HubAuditCommand {
    pub(super) const fn prints_json(&self) -> bool {
        match self {
            Self::Show(arguments) => arguments.json,
            Self::Verify(arguments) => arguments.json,
        }
    }
}

pub(super) fn add_user_words(words: &mut Words, command: &UserCommand) {
    let lifetime = |time: &Duration| format!("{}s", time.as_secs());
    match command {
        UserCommand::Add(arguments) => {
            words.add("add");
            words.add_value("--folder", &arguments.folder);
            words.add_value("--role", &arguments.role);
            words.add_value("--for", lifetime(&arguments.lifetime));
        }
        UserCommand::Link(arguments) => {
            words.add("link");
            words.add_value("--folder", &arguments.folder);
            words.add_value("--for", lifetime(&arguments.lifetime));
        }
        UserCommand::List(arguments) => {
            words.add("list");
            words.add_value("--folder", &arguments.folder);
        }
        UserCommand::Role(arguments) => {
            words.add("role");
            words.add_value("--folder", &arguments.folder);
        }
        UserCommand::SignOut(arguments) => {
            words.add("sign-out");
            words.add_value("--folder", &arguments.folder);
        }
        UserCommand::Remove(arguments) => {
            words.add("remove");
            words.add_value("--folder", &arguments.folder);
        }
        UserCommand::Passkeys(arguments) => {
            words.add("passkeys");
            words.add_value("--folder", &arguments.folder);
        }
    }
}

pub(super) fn add_audit_words(words: &mut Words, command: &HubAuditCommand) {
    match command {
        HubAuditCommand::Show(arguments) => {
            words.add("show");
            words.add_value("--folder", &arguments.folder);
            words.add_value("--limit", arguments.limit.to_string());
        }
        HubAuditCommand::Verify(arguments) => {
            words.add("verify");
            words.add_value("--folder", &arguments.folder);
            let head = arguments.head.iter();
            head.for_each(|head| {
                words.add_value("--head", format!("{}:{}", head.sequence, head.hash));
            });
        }
    }
}

fn parse_link_time(text: &str) -> Result<Duration, String> {
    let time = parse_time(text)?;
    if time.as_secs() > LONGEST_LINK {
        return Err("a link counts for at most a day".into());
    }
    Ok(time)
}

fn parse_head(text: &str) -> Result<KeptHead, String> {
    let wrong = || "a head has the form ENTRY:HASH, as `hub audit verify` prints it".to_owned();
    let (sequence, hash) = text.split_once(':').ok_or_else(wrong)?;
    let sequence = sequence.parse().map_err(|_| wrong())?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash {
        return Err(wrong());
    }
    Ok(KeptHead { sequence, hash: hash.to_ascii_lowercase() })
}
