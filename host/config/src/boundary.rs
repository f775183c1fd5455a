//! The machine's boundary between agents and the review: the service of another user reviews, and
//! the users of agents can neither read nor write what it keeps.
//!
//! One file of root's sets it up. It is not part of `config.toml`, since the small hook has to see
//! whether there is a boundary without reading a configuration.

use crate::file::{read_file, read_managed};
use crate::handed::HandedFiles;
use crate::paths::{MANAGED, Paths};
use crate::problem::{ConfigProblem, Problems};
use portcullis_agents::HookEnvironment;
use portcullis_core::record_commands::RecordCommands;
use portcullis_strict_toml::{Document, Keys};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use portcullis_protocol::{BOUNDARY_FILE, BOUNDARY_SOCKET, ROOT};

/// The folder of everything that the service keeps.
pub const STATE: &str = "/var/lib/portcullis";
/// The command with which an administrator starts the service.
#[cfg(target_os = "linux")]
pub const START_COMMAND: &str = "systemctl start portcullis";
/// The command with which an administrator starts the service.
#[cfg(not(target_os = "linux"))]
pub const START_COMMAND: &str = "portcullis serve --boundary";
/// The folder with a folder of configuration for each user, beside the organisation's file.
const USERS: &str = "users";
/// The machine's users.
const USER_LIST: &str = "/etc/passwd";

const KEYS: Keys<'_> = Keys {
    names: &["user", "users", "on_service_fault", "page"],
    owner: "the file of the boundary",
};
/// The ports that the page may have.
const PORTS: RangeInclusive<i64> = 1..=u16::MAX as i64;

/// The behaviour of a hook if the service does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceFault {
    /// It refuses.
    Block,
    /// It reviews by itself, with state that belongs to its user.
    Embedded,
}

/// The boundary of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// The user who runs the service.
    pub user: u32,
    /// The user's name.
    pub user_name: String,
    /// The users whose agents it reviews; `None` for all.
    pub users: Option<Vec<u32>>,
    /// The behaviour of a hook without the service.
    pub on_service_fault: ServiceFault,
    /// The port of the service's page; `None` if it has none.
    pub page: Option<u16>,
}

impl Boundary {
    /// Reads the boundary of this machine; `None` if there is none.
    ///
    /// # Errors
    /// Fails if another user than root could have written the file, or if it has a mistake.
    pub fn read_machine() -> Result<Option<Self>, Problems> {
        let path = Path::new(BOUNDARY_FILE);
        let Some(text) = read_managed(path)? else { return Ok(None) };
        let list = read_file(Path::new(USER_LIST))?.unwrap_or_default();
        Self::parse_file(path, &text, &list).map(Some)
    }

    fn parse_file(path: &Path, text: &str, list: &str) -> Result<Self, Problems> {
        let document = Document::parse(text);
        let table = document.root(&KEYS);
        let named = |item: &portcullis_strict_toml::Item<'_>, name: &str| {
            let found = find_user(list, name);
            if found.is_none() {
                item.report(format!(
                    "`{name}` is not a user in `{USER_LIST}`; name one, or its id"
                ));
            }
            found
        };
        let user_name = table.text("user");
        let user = table.get("user").and_then(|item| named(&item, user_name.as_deref()?));
        if !table.contains("user") {
            table.report("`user` is missing: name the user who runs the service");
        }
        let users = table.get("users").map(|item| {
            let names = item.texts().unwrap_or_default();
            names.iter().filter_map(|name| named(&item, name)).collect()
        });
        let on_service_fault = match table.text("on_service_fault").as_deref() {
            None | Some("block") => ServiceFault::Block,
            Some("embedded") => ServiceFault::Embedded,
            Some(_) => {
                let words = ["block", "embedded"];
                table.get("on_service_fault").iter().for_each(|item| item.refuse_word(&words));
                ServiceFault::Block
            }
        };
        let page = table.integer("page", PORTS).and_then(|port| u16::try_from(port).ok());
        let (problems, more) = ConfigProblem::from_document(&document);
        match (user, user_name) {
            (Some(user), Some(user_name)) if problems.is_empty() => {
                Ok(Self { user, user_name, users, on_service_fault, page })
            }
            _ => Err(Problems { file: path.to_owned(), problems, more }),
        }
    }

    /// Returns true if the service reviews the agents of a user.
    #[must_use]
    pub fn admits(&self, user: u32) -> bool {
        self.users.as_ref().is_none_or(|users| users.contains(&user))
    }

    /// Returns true for the users who may see and decide what the service keeps: the service's own
    /// and root.
    #[must_use]
    pub const fn is_keeper(&self, user: u32) -> bool {
        user == ROOT || user == self.user
    }
}

/// Finds a user of this machine by name, or by the id as text.
///
/// # Errors
/// Fails if the list of users cannot be read.
pub fn find_machine_user(name: &str) -> Result<Option<u32>, Problems> {
    let list = read_file(Path::new(USER_LIST))?.unwrap_or_default();
    Ok(find_user(&list, name))
}

/// Returns the group that a user of this machine has at first.
///
/// # Errors
/// Fails if the list of users cannot be read.
pub fn find_first_group(user: u32) -> Result<Option<u32>, Problems> {
    let list = read_file(Path::new(USER_LIST))?.unwrap_or_default();
    Ok(first_group(&list, user))
}

/// Returns the state folder of a user, which is the service's alone.
#[must_use]
pub fn state_of(user: u32) -> PathBuf {
    Path::new(STATE).join(USERS).join(user.to_string())
}

/// Returns the users for whom the service keeps something, in order of their ids.
#[must_use]
pub fn list_kept_users() -> Vec<u32> {
    let entries = fs::read_dir(Path::new(STATE).join(USERS)).into_iter().flatten().flatten();
    let mut users: Vec<u32> = entries.filter_map(|entry| user_of_state(&entry.path())).collect();
    users.sort_unstable();
    users
}

/// Returns the user whose state folder this is; `None` for a folder that is not behind the boundary.
#[must_use]
pub fn user_of_state(state: &Path) -> Option<u32> {
    let below = state.strip_prefix(Path::new(STATE).join(USERS)).ok()?;
    let id = below.to_str()?.parse().ok()?;
    (state_of(id) == state).then_some(id)
}

/// Returns the commands of a person for the records in a state folder. Behind a boundary they name
/// the user, by id where the list of users has no plain name.
#[must_use]
pub fn find_record_commands(state: &Path) -> RecordCommands {
    let Some(user) = user_of_state(state) else { return RecordCommands::default() };
    let list = read_file(Path::new(USER_LIST)).ok().flatten().unwrap_or_default();
    RecordCommands::of_user(name_of(&list, user).unwrap_or_else(|| user.to_string()))
}

/// Returns the folder of a user's configuration, which root writes.
#[must_use]
pub fn config_of(user: u32) -> PathBuf {
    Path::new(MANAGED).with_file_name(USERS).join(user.to_string())
}

/// Returns the places of an event of a user. No variable and no argument of the hook chooses a
/// folder that the service reads or writes.
#[must_use]
pub fn places_of(user: u32, environment: HookEnvironment, files: HandedFiles) -> Paths {
    let person = environment.text("HOME").filter(|home| home.starts_with('/'));
    Paths {
        person: person.unwrap_or_default(),
        config: config_of(user),
        state: state_of(user),
        managed: MANAGED.into(),
        project: files.project.clone(),
        environment,
        handed: Some(Arc::new(files)),
    }
}

/// Returns the id of a user by name, or by the id as text.
fn find_user(list: &str, name: &str) -> Option<u32> {
    let by_name = list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let id = fields.next().filter(|own| *own == name).and(fields.nth(1))?;
        id.parse().ok()
    });
    by_name.or_else(|| name.parse().ok())
}

/// Returns the user's name, if a shell takes it as one word.
fn name_of(list: &str, user: u32) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty() && name.bytes().all(is_plain))?;
        (fields.nth(1)?.parse() == Ok(user) && find_user(list, name) == Some(user))
            .then(|| name.to_owned())
    })
}

/// Returns the group in the user's line.
fn first_group(list: &str, user: u32) -> Option<u32> {
    list.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        fields.next().filter(|id| id.parse() == Ok(user))?;
        fields.next()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "root:x:0:0:root:/root:/bin/sh\nportcullis:x:993:993::/:/sbin/nologin\n\
                        ann:x:1000:1000::/home/ann:/bin/sh\n";

    #[test]
    fn a_boundary_names_its_users_or_is_refused() {
        let parse = |text: &str| {
            Boundary::parse_file(Path::new("/b"), text, LIST).map_err(|found| found.to_string())
        };
        let made = |users, on_service_fault| Boundary {
            user: 993,
            user_name: "portcullis".into(),
            users,
            on_service_fault,
            page: None,
        };
        let with_page = Boundary { page: Some(4747), ..made(None, ServiceFault::Block) };
        for (text, expected) in [
            ("user = \"portcullis\"", made(None, ServiceFault::Block)),
            (
                "user = \"portcullis\"\nusers = [\"ann\", \"1001\"]\non_service_fault = \"embedded\"",
                made(Some(vec![1000, 1001]), ServiceFault::Embedded),
            ),
            (
                "user = \"portcullis\"\nusers = []\non_service_fault = \"block\"",
                made(Some(vec![]), ServiceFault::Block),
            ),
            ("user = \"portcullis\"\npage = 4747", with_page),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        for (text, part) in [
            ("", "`user` is missing"),
            ("user = 993", "user"),
            ("user = \"nobody else\"", "is not a user"),
            ("user = \"portcullis\"\nusers = [\"anne\"]", "`anne` is not a user"),
            ("user = \"portcullis\"\non_service_fault = \"allow\"", "must be one of `block`"),
            ("user = \"portcullis\"\nusers = \"ann\"", "users"),
            ("user = \"portcullis\"\nuser_s = []", "did you mean"),
            ("user = \"portcullis\"\npage = 0", "page"),
            ("user = \"portcullis\"\npage = 65536", "page"),
            ("user = \"portcullis\"\npage = \"4747\"", "page"),
            ("user = \"portcullis\"\npage = true", "page"),
            ("user = ", "line 1"),
        ] {
            let found = parse(text).unwrap_err();
            assert!(found.contains(part), "{text}: {found}");
        }
    }

    #[test]
    fn only_a_folder_behind_the_boundary_is_a_users() {
        for (folder, user) in [
            ("/var/lib/portcullis/users/1000", Some(1000)),
            ("/var/lib/portcullis/users/0", Some(0)),
            ("/var/lib/portcullis/users/01000", None),
            ("/var/lib/portcullis/users/+1000", None),
            ("/var/lib/portcullis/users/1000/vault", None),
            ("/var/lib/portcullis/users/1000/../1001", None),
            ("/var/lib/portcullis/users", None),
            ("/var/lib/portcullis", None),
            ("/home/ann/.local/state/portcullis", None),
        ] {
            assert_eq!(user_of_state(Path::new(folder)), user, "{folder}");
        }
    }

    #[test]
    fn keepers_are_the_service_and_root() {
        let text = "user = \"portcullis\"\nusers = [\"ann\"]";
        let boundary = Boundary::parse_file(Path::new("/b"), text, LIST).unwrap();
        for (user, is_keeper) in [(0, true), (993, true), (1000, false), (994, false)] {
            assert_eq!(boundary.is_keeper(user), is_keeper, "{user}");
        }
        for (user, name) in [(0, Some("root")), (1000, Some("ann")), (5, None)] {
            assert_eq!(name_of(LIST, user).as_deref(), name, "{user}");
        }
        // Another user's id as a name, and words that a shell would split.
        for list in ["1001:x:1000:1000::/:/bin/sh\n", "a b:x:1000:1000::/:/bin/sh\n"] {
            assert_ne!(name_of(list, 1000).as_deref(), Some("a b"));
        }
        for (user, group) in [(0, Some(0)), (993, Some(993)), (1000, Some(1000)), (5, None)] {
            assert_eq!(first_group(LIST, user), group, "{user}");
        }
    }

    #[test]
    fn no_variable_chooses_a_folder_of_the_service() {
        let variables = [
            ("HOME", "/home/ann"),
            ("PORTCULLIS_HOME", "/tmp/own"),
            ("XDG_STATE_HOME", "/tmp/own"),
            ("XDG_CONFIG_HOME", "/tmp/own"),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let environment = HookEnvironment::of_hook(variables.into(), 1, 1);
        let places = places_of(1000, environment, HandedFiles::default());
        assert_eq!(places.person, "/home/ann");
        assert_eq!(places.state, Path::new("/var/lib/portcullis/users/1000"));
        assert_eq!(places.config, Path::new(MANAGED).with_file_name("users").join("1000"));
        assert_eq!(places.managed, Path::new(MANAGED));
    }
}
