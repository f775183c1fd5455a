//! Commands of a person on a machine with a boundary.
//!
//! An agent runs as its user, so that user's records are opened only by the user of the service, who
//! keeps them. With `--of-user NAME`, an administrator works on those of a user: root becomes the
//! service's user first, for good, since the records hold what agents wrote.

pub mod files;

use crate::error::{Context, Error, Result};
use crate::spelling;
use portcullis_config::boundary::{
    BOUNDARY_FILE, Boundary, STATE, ServiceFault, config_of, find_first_group, find_machine_user,
    state_of,
};
use portcullis_config::paths::{PathOverrides, own_program};
use portcullis_core::record_commands::{RECORD_COMMANDS, RecordCommands};
use portcullis_core::text::one_line;
use rustix::process::{geteuid, getuid};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The option that names the user whose records a command opens.
pub const OF_USER: &str = "--of-user";
/// The longest command that a hint repeats, in bytes.
const MOST_TYPED: usize = 120;
/// Variables that name folders of root.
const FOLDERS: [&str; 4] =
    ["PORTCULLIS_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];

/// Refuses a command that would open the records of this user's agents, since the service keeps
/// them: an agent runs as this user too.
pub fn refuse_beyond_boundary() -> Result<()> {
    let blocks = |found: &Boundary| found.on_service_fault == ServiceFault::Block;
    let Some(Boundary { user_name, .. }) = read_boundary()?.filter(blocks) else { return Ok(()) };
    let refused = Error::refused(format!(
        "the records of this machine's agents belong to `{user_name}`, behind the boundary"
    ))
    .with_hint(administrator_hint(&user_name, &typed_command()));
    Err(match other_way() {
        Some(hint) => refused.with_hint(hint),
        None => refused,
    })
}

/// Returns what takes the place of the typed command, if that one has no meaning behind a boundary.
fn other_way() -> Option<String> {
    let commands = RecordCommands::of_user(own_name());
    Some(match std::env::args().nth(1)?.as_str() {
        "undo" => format!(
            "an administrator restores files: `{}`",
            commands.spell("checkpoint restore last")
        ),
        "quarantine" => format!(
            "a folder that was moved away is in `.portcullis/quarantine` of its project and belongs \
             to its user, who moves it back; `{}` says from where",
            commands.spell("explain REVIEW")
        ),
        "trust" => format!(
            "a project's file makes the review only stricter here; an administrator sets other \
             values in `{}/config.toml`",
            config_of(getuid().as_raw()).display()
        ),
        _ => return None,
    })
}

/// Returns the folders of what the service keeps of a user's agents. Root's process is replaced by
/// one of the service's user, with the same arguments; if the command needs the user's files, a
/// process of that user hands them over.
pub fn open_records_of(name: &str, needs_files: bool) -> Result<PathOverrides> {
    let Some(boundary) = read_boundary()? else {
        return Err(Error::invalid(format!("there is no `{BOUNDARY_FILE}`")).with_hint(format!(
            "without a boundary the records of agents belong to their users: leave {OF_USER} away"
        )));
    };
    let keeper = &boundary.user_name;
    let Some(user) = find_machine_user(name)? else {
        let shown = one_line(name, 64);
        return Err(Error::not_found(format!("there is no user `{shown}` on this machine"))
            .with_hint(format!("{OF_USER} takes the name of a user, or an id")));
    };
    if geteuid().is_root() {
        return Err(become_keeper(&boundary, needs_files.then_some(user)));
    }
    if geteuid().as_raw() != boundary.user {
        return Err(Error::refused(format!(
            "only root and `{keeper}` may open the records of others"
        ))
        .with_hint(administrator_hint(keeper, &typed_command())));
    }
    if !boundary.admits(user) {
        let shown = one_line(name, 64);
        return Err(Error::not_found(format!("the service reviews no agents of `{shown}`"))
            .with_hint(format!("`users` in `{BOUNDARY_FILE}` says whose")));
    }
    // The folder that the administrator is in may be an agent's: its files configure nothing.
    let state = state_of(user);
    spelling::set_records(&state);
    std::env::set_current_dir("/").context("cannot change to `/`")?;
    files::take_handed_files()?;
    Ok(PathOverrides { config: Some(config_of(user)), state: Some(state), managed: None })
}

/// Returns the boundary of this machine.
pub fn read_boundary() -> Result<Option<Boundary>> {
    Ok(Boundary::read_machine()?)
}

/// Starts this command again as the user of the service, in place of this process; returns why that
/// was not possible. The new process has none of root's groups, and no way back. With `files_of` it
/// gets a way to that user's files.
fn become_keeper(boundary: &Boundary, files_of: Option<u32>) -> Error {
    let start = || -> Result<std::convert::Infallible> {
        let Some(group) = find_first_group(boundary.user)? else {
            return Err(Error::invalid("the list of users does not have it"));
        };
        let program = own_program().context("cannot determine where this program is")?;
        let mut command = Command::new(&program);
        // Setting the user removes all further groups.
        command.args(std::env::args_os().skip(1)).uid(boundary.user).gid(group);
        command.current_dir("/").env("HOME", STATE);
        for name in FOLDERS {
            command.env_remove(name);
        }
        // They have to stay open until the other program runs.
        let _pipes =
            files_of.map(|user| files::hand_files_to(&mut command, boundary, user)).transpose()?;
        let error = command.exec();
        Err(Error::io(format!("cannot start `{}`: {error}", program.display())).with_hint(format!(
            "`{}` has to be able to run it: install it in a folder such as `/usr/local/bin`",
            boundary.user_name
        )))
    };
    match start() {
        Ok(never) => match never {},
        Err(error) => {
            error.with_context(format!("cannot become the user `{}`", boundary.user_name))
        }
    }
}

/// Returns the command that was typed, as an administrator types it for the same records; another
/// one if it does not work there, or if a shell would not take its words as they are.
fn typed_command() -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let typed = words.join(" ");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@= ".contains(letter);
    let is_about_records =
        words.first().is_some_and(|first| RECORD_COMMANDS.contains(&first.as_str()));
    let works = is_about_records && typed.len() <= MOST_TYPED && typed.chars().all(is_plain);
    match typed {
        typed if works && words.iter().any(|word| word == OF_USER) => {
            format!("sudo portcullis {typed}")
        }
        typed if works => RecordCommands::of_user(own_name()).spell(&typed),
        _ => RecordCommands::of_user(own_name()).spell("audit show"),
    }
}

/// Returns the user of this process as the option names one; a placeholder for root, who has no
/// agents in mind.
fn own_name() -> String {
    let user = getuid();
    if user.is_root() { "NAME".to_owned() } else { user.as_raw().to_string() }
}

fn administrator_hint(keeper: &str, command: &str) -> String {
    format!("an administrator runs the command as root or `{keeper}`, for the user: `{command}`")
}
