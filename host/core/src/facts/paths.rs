//! Paths as text: normalising and classifying them. The disk is never accessed.

use crate::action::Scope;
use crate::client::ClientProfile;
use portcullis_autoruns::is_sample;

/// The place in which a call runs, and what it may be expected to touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallLocation {
    /// The folder it runs in, absolute.
    pub cwd: String,
    /// The person's home folder, absolute; empty when not known.
    pub home: String,
    /// The project's folders and those that the configuration adds, absolute.
    pub roots: Vec<String>,
    /// Globs of what is in scope, absolute, instead of everything below `roots`; none for all of
    /// it.
    pub paths: Vec<glob::Pattern>,
    /// Temporary folders and build caches, absolute or `~/…`.
    pub scratch: Vec<String>,
    /// The name of the client that calls.
    pub client: String,
    /// The agents' clients that this machine may have.
    pub clients: &'static [&'static ClientProfile],
}

/// Returns an absolute path without `.`, `..`, doubled slashes, `~` or a leading `$HOME`. Links are
/// not followed.
#[must_use]
pub fn normalise_path(path: &str, cwd: &str, home: &str) -> String {
    if is_normal(path) {
        return path.to_owned();
    }
    collapse_path(&make_absolute(path, cwd, home))
}

/// Returns true for an absolute path that normalising does not change. Most paths are: the guard
/// alone normalises about a hundred for each action.
fn is_normal(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    // Counted byte by byte, which costs a third of cutting the path into its parts.
    let (mut length, mut dots) = (0_usize, 0_usize);
    for byte in rest.bytes().chain([b'/']) {
        if byte != b'/' {
            length += 1;
            dots += usize::from(byte == b'.');
        } else if length == dots && length <= 2 {
            // An empty part, `.` or `..`.
            return false;
        } else {
            (length, dots) = (0, 0);
        }
    }
    true
}

/// Does the same as [`normalise_path`], but keeps a `..` after a name: the system follows a link
/// there before it goes up, and the text alone does not show where that leads.
#[must_use]
pub fn make_absolute(path: &str, cwd: &str, home: &str) -> String {
    let from_home = ["~", "$HOME", "${HOME}"].iter().find_map(|prefix| {
        let rest = path.strip_prefix(prefix)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    });
    let whole = match from_home {
        Some(rest) => format!("{home}{rest}"),
        None if path.starts_with('/') => path.to_owned(),
        None => format!("{cwd}/{path}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.is_empty() => {}
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Resolves each `..` in an absolute path as text, as if no name before it were a link.
#[must_use]
pub fn collapse_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Returns true if a `..` in the path goes up from a name.
#[must_use]
pub fn climbs_above(path: &str) -> bool {
    path.contains("/../") || path.ends_with("/..")
}

/// Returns true if the text contains a shell pattern, including the extended forms (`!(a)`).
#[must_use]
pub fn is_glob(text: &str) -> bool {
    let mut before = None;
    text.chars().any(|c| begins_glob(before.replace(c), c))
}

/// Returns true if `c` after the character `before` begins a pattern.
const fn begins_glob(before: Option<char>, c: char) -> bool {
    matches!(c, '*' | '?' | '[') || matches!((before, c), (Some('!' | '@' | '+'), '('))
}

/// Returns the pattern that matches only this name.
#[must_use]
pub fn as_glob(name: &str) -> String {
    let mut glob = String::with_capacity(name.len());
    let mut before = None;
    for c in name.chars() {
        if begins_glob(before.replace(c), c) {
            glob.extend(['[', c, ']']);
        } else {
            glob.push(c);
        }
    }
    glob
}

/// Returns the one name that matches a pattern in [`as_glob`]'s form; none for any other pattern.
#[must_use]
pub fn only_name(glob: &str) -> Option<String> {
    let name = [("[*]", "*"), ("[?]", "?"), ("[(]", "("), ("[[]", "[")]
        .iter()
        .fold(glob.to_owned(), |name, (escaped, plain)| name.replace(escaped, plain));
    (as_glob(&name) == glob).then_some(name)
}

/// Returns true if `path` is `folder` or is below it.
#[must_use]
pub fn is_within(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the scope of a normalised path.
#[must_use]
pub fn scope_of(path: &str, place: &CallLocation) -> Scope {
    // Both stand for a part that is known only at run time.
    if path.contains('\u{fffd}') || path.contains('$') {
        return Scope::Unknown;
    }
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    if HARMLESS_DEVICES.contains(&path) || path.starts_with("/dev/fd/") {
        return Scope::Scratch;
    }
    // The project comes before the system's folders, so that one below `/opt` or `/var` is inside.
    if project(path, place) {
        return if place.paths.is_empty() || listed(path, place) {
            Scope::Inside
        } else {
            Scope::Outside
        };
    }
    let holds_home = !place.home.is_empty() && is_within(&place.home, path.trim_end_matches("/*"));
    if holds_home || is_credential(path, place) || is_start_up(path, place) {
        return Scope::System;
    }
    let scratch = place.scratch.iter().any(|folder| {
        let folder = normalise_path(folder, "/", &place.home);
        is_within(path, &folder) && (path != folder || is_whole_cache(path))
    });
    match () {
        () if scratch => Scope::Scratch,
        () if is_system(path, &place.home) => Scope::System,
        () if listed(path, place) => Scope::Inside,
        () => Scope::Outside,
    }
}

/// Returns true for the whole cache of one program, which it fills again. A folder that many share
/// begins with a dot, and is never scratch as a whole.
fn is_whole_cache(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.contains("cache") && !name.starts_with('.')
}

/// Returns true if a path is in one of the project's folders. A root that would include the whole
/// machine, or a home folder with all its files, does not count.
fn project(path: &str, place: &CallLocation) -> bool {
    place.roots.iter().any(|root| {
        let root = root.trim_end_matches('/');
        let too_wide = root.is_empty() || root == place.home || WIDE.contains(&root);
        !too_wide && is_within(path, root)
    })
}

/// Returns true if a configured glob matches the path. `*` does not cross a `/`, `**` does.
fn listed(path: &str, place: &CallLocation) -> bool {
    let options =
        glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::default() };
    place.paths.iter().any(|glob| glob.matches_with(path, options))
}

const WIDE: &[&str] = &[
    "/home", "/Users", "/root", "/usr", "/etc", "/var", "/opt", "/bin", "/sbin", "/lib", "/boot",
    "/dev", "/proc", "/sys", "/tmp",
];

const HARMLESS_DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/random",
    "/dev/urandom",
];

const SYSTEM: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
    "/var",
    "/System",
    "/Library",
    "/Applications",
    "/private/etc",
    "/private/var",
    "/opt",
];

/// Returns true for a part of the operating system, or for the root of it all.
fn is_system(path: &str, home: &str) -> bool {
    let root = ["/", "/*", "/home", "/Users", "/root"].contains(&path) || path == home;
    root || SYSTEM.iter().any(|folder| is_within(path, folder))
}

/// Returns true for files of a home folder that run by themselves, and for similar files elsewhere.
pub(crate) fn is_start_up(path: &str, place: &CallLocation) -> bool {
    let of_client =
        |rest: &str| place.clients.iter().any(|client| client.start_up_files.contains(&rest));
    let own = in_home(path, &place.home).is_some_and(|rest| {
        START_UP_FILES.contains(&rest)
            || of_client(rest)
            || START_UP_FOLDERS.iter().any(|folder| is_within(rest, folder))
    });
    let machine = MACHINE_START_UP.iter().any(|folder| is_within(path, folder));
    own || machine
        || (path.contains("/.git/hooks/") && !path.ends_with(".sample"))
        || (path.ends_with("/.ssh/authorized_keys") && !is_sample(path))
        || (path.contains("/.husky/") && !path.ends_with(".gitignore"))
        || [".ssh/rc", ".git/config", ".envrc"]
            .iter()
            .any(|end| path.strip_suffix(end).is_some_and(|before| before.ends_with('/')))
}

const START_UP_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zlogout",
    ".xsession",
    ".pam_environment",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".kshrc",
    ".cshrc",
    ".login",
    ".config/fish/config.fish",
    ".xinitrc",
    ".xprofile",
    ".xsessionrc",
    ".inputrc",
    ".gitconfig",
    ".config/git/config",
];

const START_UP_FOLDERS: &[&str] = &[
    ".config/autostart",
    ".config/systemd",
    ".config/fish/conf.d",
    ".local/share/systemd",
    "Library/LaunchAgents",
    ".config/environment.d",
];

const MACHINE_START_UP: &[&str] = &[
    "/etc/cron.d",
    "/etc/cron.daily",
    "/etc/cron.hourly",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/etc/crontab",
    "/var/spool/cron",
    "/etc/systemd",
    "/lib/systemd",
    "/usr/lib/systemd",
    "/etc/init.d",
    "/etc/rc.local",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/zsh",
    "/etc/ld.so.preload",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/Library/LaunchDaemons",
    "/Library/LaunchAgents",
];

/// Returns true for files that hold credentials.
pub(crate) fn is_credential(path: &str, place: &CallLocation) -> bool {
    let of_client =
        |rest: &str| place.clients.iter().any(|client| client.credential_files.contains(&rest));
    let own = in_home(path, &place.home).is_some_and(|rest| {
        CREDENTIAL_FILES.contains(&rest)
            || of_client(rest)
            || (CREDENTIAL_FOLDERS.iter().any(|folder| is_within(rest, folder))
                && !PUBLIC.iter().any(|end| rest.ends_with(end)))
    });
    if is_sample(path) {
        return false;
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let environment = (name == ".env" || name.starts_with(".env."))
        && !EXAMPLES.iter().any(|end| name.ends_with(end));
    let key = (name.starts_with("id_rsa")
        || name.starts_with("id_ed25519")
        || name.starts_with("id_ecdsa"))
        && !name.ends_with(".pub");
    let process = path.strip_prefix("/proc/").and_then(|rest| rest.strip_suffix("/environ"));
    own || environment
        || key
        || process.is_some_and(|id| !id.contains('/'))
        || MACHINE_CREDENTIALS.contains(&path)
}

const CREDENTIAL_FILES: &[&str] = &[
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".docker/config.json",
    ".kube/config",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".config/gh/hosts.yml",
    ".vault-token",
    ".boto",
    ".s3cfg",
];
const CREDENTIAL_FOLDERS: &[&str] = &[
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".config/gcloud",
    ".password-store",
    ".local/share/keyrings",
    "Library/Keychains",
    ".mozilla",
    ".config/google-chrome",
];
const PUBLIC: &[&str] = &[".pub", "known_hosts", "known_hosts.old"];
const EXAMPLES: &[&str] = &[".example", ".sample", ".template", ".dist", ".defaults"];
const MACHINE_CREDENTIALS: &[&str] =
    &["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/krb5.keytab"];

/// Returns the part of a path below the person's home, or below any home in the usual locations.
fn in_home<'a>(path: &'a str, home: &str) -> Option<&'a str> {
    below(path, home).or_else(|| below(path, "/root")).or_else(|| {
        let rest = below(path, "/home").or_else(|| below(path, "/Users"))?;
        rest.split_once('/').map(|(_, rest)| rest)
    })
}

fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder.is_empty() {
        return None;
    }
    path.strip_prefix(folder)?.strip_prefix('/')
}
