//! Owners and modes: checks which other users could change the guard's files, or read its key.
//!
//! Nothing is opened or created here.

use super::finding::{Check, HealthFinding, or_ok};
use portcullis_agents::install_command;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The mode bits that let others write.
const WRITE: u32 = 0o022;
/// The mode bits that give others any access.
const ANY: u32 = 0o077;
/// The sticky bit: everybody may create files in the folder, but not remove those of others.
const STICKY: u32 = 0o1000;
/// The most files of a folder that are checked.
const MOST_FILES: usize = 4096;

/// The expected kind of file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Folder,
    File,
}

/// The expectations for a path.
struct Expected<'a> {
    path: &'a Path,
    kind: Kind,
    /// The mode bits that must not be set.
    forbidden: u32,
    /// True if it may belong to root.
    root: bool,
    required: bool,
}

/// Checks our folders and files.
pub(super) fn check(state: &Path, config: &Path, plugins: &Path) -> Vec<HealthFinding> {
    let user = rustix::process::geteuid().as_raw();
    let state_file = |name: &str| state.join(name);
    let mut findings: Vec<HealthFinding> = [
        Expected { path: state, kind: Kind::Folder, forbidden: WRITE, root: false, required: true },
        Expected {
            path: &state_file("key"),
            kind: Kind::File,
            forbidden: ANY,
            root: false,
            required: true,
        },
        Expected {
            path: &state_file("cache"),
            kind: Kind::Folder,
            forbidden: ANY,
            root: false,
            required: false,
        },
        Expected {
            path: &state_file("journal.db"),
            kind: Kind::File,
            forbidden: WRITE,
            root: false,
            required: false,
        },
        Expected {
            path: &state_file("journal.db-wal"),
            kind: Kind::File,
            forbidden: WRITE,
            root: false,
            required: false,
        },
        Expected {
            path: config,
            kind: Kind::Folder,
            forbidden: WRITE,
            root: true,
            required: false,
        },
        Expected {
            path: &config.join("config.toml"),
            kind: Kind::File,
            forbidden: WRITE,
            root: true,
            required: false,
        },
        Expected {
            path: plugins,
            kind: Kind::Folder,
            forbidden: WRITE,
            root: true,
            required: false,
        },
    ]
    .iter()
    .flat_map(|expected| look(expected, user))
    .collect();
    findings.extend(files_of(&state_file("cache"), ANY, user));
    findings.extend(files_of(plugins, WRITE, user));
    findings.extend([state, config].iter().filter_map(|path| open_above(path, user)));
    let key = fs::metadata(state_file("key")).map_or(0, |found| found.len());
    // A key that is absent or empty is reported above, or when the home is opened.
    if key != 32 && key != 0 {
        findings.push(HealthFinding::problem(
            Check::Access,
            format!("the key `{}` has {key} bytes, not 32", state_file("key").display()),
            LOST_KEY,
        ));
    }
    findings.dedup();
    let other =
        if state == config { String::new() } else { format!(" and `{}`", config.display()) };
    or_ok(findings, Check::Access, format!("only you can change `{}`{other}", state.display()))
}

/// The advice for a person who has lost the key.
pub(super) const LOST_KEY: &str = "restore the key from a backup of this folder; without one, \
     remove what is left of it and run `portcullis recover`";

fn look(expected: &Expected<'_>, user: u32) -> Vec<HealthFinding> {
    let path = expected.path.display();
    let found = match fs::metadata(expected.path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return expected.required.then(|| missing(expected)).into_iter().collect();
        }
        Err(error) => {
            let fix = "make it and the folders above it readable for you";
            return vec![HealthFinding::problem(
                Check::Access,
                format!("cannot look at `{path}`: {error}"),
                fix,
            )];
        }
    };
    if (expected.kind == Kind::Folder) != found.is_dir()
        || (expected.kind == Kind::File) != found.is_file()
    {
        let wanted = if expected.kind == Kind::Folder { "folder" } else { "file" };
        return vec![HealthFinding::problem(
            Check::Access,
            format!("`{path}` is not a {wanted}"),
            format!("move it away and run `{}`", install_command()),
        )];
    }
    owner_and_mode(expected.path, &found, expected.forbidden, expected.root, user)
}

fn missing(expected: &Expected<'_>) -> HealthFinding {
    let path = expected.path.display();
    if expected.kind == Kind::Folder {
        return HealthFinding::problem(
            Check::Access,
            format!("the state folder `{path}` is missing"),
            format!("run `{}`", install_command()),
        );
    }
    let state = expected.path.parent().unwrap_or(expected.path);
    if state.join("journal.db").exists() {
        let what = format!("the key `{path}` is gone, and the journal was written under it");
        return HealthFinding::problem(Check::Access, what, LOST_KEY);
    }
    HealthFinding::problem(
        Check::Access,
        format!("there is no key `{path}`"),
        format!("run `{}`, which makes one", install_command()),
    )
}

fn owner_and_mode(
    path: &Path,
    found: &Metadata,
    forbidden: u32,
    root: bool,
    user: u32,
) -> Vec<HealthFinding> {
    let shown = path.display();
    let mut findings = Vec::new();
    if found.uid() != user && !(root && found.uid() == 0) {
        let what = format!("`{shown}` belongs to user {}, not to you (user {user})", found.uid());
        findings.push(HealthFinding::problem(
            Check::Access,
            what,
            format!("chown {user} {}", quoted(path)),
        ));
    }
    let mode = found.permissions().mode() & 0o7777;
    // The state folder must be closed to every group; elsewhere a user's private group is accepted.
    let open = if root { others_write(found) } else { mode & forbidden != 0 };
    if open {
        let can = if forbidden == ANY && mode & WRITE == 0 { "read" } else { "change" };
        let what = format!("others can {can} `{shown}`: its mode is {mode:03o}");
        let fix =
            format!("chmod {} {}", if forbidden == ANY { "go-rwx" } else { "go-w" }, quoted(path));
        findings.push(HealthFinding::problem(Check::Access, what, fix));
    }
    findings
}

/// Checks the files of a folder; reports all with the same flaw in one finding.
fn files_of(folder: &Path, forbidden: u32, user: u32) -> Option<HealthFinding> {
    let entries = fs::read_dir(folder).ok()?.flatten().take(MOST_FILES);
    let flawed: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            fs::symlink_metadata(path)
                .is_ok_and(|found| found.is_file() && !fits(&found, forbidden, user))
        })
        .collect();
    let first = flawed.first()?;
    let more =
        if flawed.len() > 1 { format!(" and {} more", flawed.len() - 1) } else { String::new() };
    let what = format!("others own or can change `{}`{more}", first.display());
    Some(HealthFinding::problem(
        Check::Access,
        what,
        format!(
            "chown -R {user} {0} && chmod -R {1} {0}",
            quoted(folder),
            if forbidden == ANY { "go-rwx" } else { "go-w" }
        ),
    ))
}

fn fits(found: &Metadata, forbidden: u32, user: u32) -> bool {
    let root = forbidden == WRITE && found.uid() == 0;
    let closed = if forbidden == WRITE {
        !others_write(found)
    } else {
        found.permissions().mode() & forbidden == 0
    };
    (found.uid() == user || root) && closed
}

/// Returns true if other users can write it. Many systems give each user a private group with the
/// user's number, which may write.
pub(super) fn others_write(found: &Metadata) -> bool {
    let mode = found.permissions().mode();
    mode & 0o002 != 0 || (mode & 0o020 != 0 && found.gid() != found.uid())
}

/// Finds the first parent folder in which other users could replace the path.
fn open_above(path: &Path, user: u32) -> Option<HealthFinding> {
    let folder = replaceable(path, user)?;
    let what = format!(
        "others can replace `{}`: the folder `{}` is open to them",
        path.display(),
        folder.display()
    );
    Some(HealthFinding::problem(Check::Access, what, format!("chmod go-w {}", quoted(&folder))))
}

/// Returns the first folder above `path` in which another user than `user` and root could replace a
/// part of the path.
pub(super) fn replaceable(path: &Path, user: u32) -> Option<PathBuf> {
    let path = fs::canonicalize(path).ok()?;
    let open = |folder: &&Path| {
        fs::metadata(folder).is_ok_and(|found| {
            let free = others_write(&found) && found.permissions().mode() & STICKY == 0;
            // A folder's owner can replace what is in it, whatever its mode is, sticky or not.
            free || (found.uid() != user && found.uid() != 0)
        })
    };
    path.ancestors().skip(1).find(open).map(Path::to_path_buf)
}

/// Quotes a path for a shell.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
