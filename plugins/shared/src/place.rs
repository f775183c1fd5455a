//! The location of a path or a host, as far as its text reveals it.
//!
//! The host has classified a path as inside the expected scope or not; this module only knows the
//! few places that mean more than that: folders that everybody shares, homes, credentials, devices
//! that keep nothing, and this machine's own addresses.

use portcullis_plugin::types::{Action, Effect, EffectKind, Entry, Facts, Path, Scope};

/// Folders that belong to everybody on the machine.
const SHARED: &[&str] =
    &["/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm", "/run/shm"];

/// Folders that hold one home each.
const HOMES: &[&str] = &["/home", "/Users", "/var/home"];

/// Special files that take or give data and keep none.
const SINKS: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/random",
    "/dev/urandom",
];

/// Names whose presence in a path marks it as credentials.
const CREDENTIALS: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".azure",
    ".gcloud",
    "gcloud",
    "shadow",
    "gshadow",
    "sudoers",
    "sudoers.d",
    "Keychains",
    "keyrings",
    "authorized_keys",
];

/// Returns the effects that leave or take anything: those on devices such as `/dev/null` do not.
pub fn lasting(facts: &Facts) -> impl Iterator<Item = &Effect> {
    facts.effects.iter().filter(|effect| !is_sink(&effect.target))
}

/// Returns true if an effect counts against the limit of writes and deletions, as the host counts
/// it: what a program only may write does not.
#[must_use]
pub fn counts_as_write(effect: &Effect) -> bool {
    match effect.kind {
        EffectKind::FileCreate | EffectKind::FileModify => {
            effect.certain || effect.target.is_empty() || effect.target.contains('*')
        }
        _ => effect.kind.changes_files(),
    }
}

/// Returns true for a special file that takes or gives data and keeps none.
#[must_use]
pub fn is_sink(path: &str) -> bool {
    SINKS.contains(&path) || path.starts_with("/dev/fd/")
}

/// Returns the folder whose whole content `path` names: itself, or the part before `/*`, `/**`,
/// `/.*` or any other last part that is nothing but a glob. The second value is true if there was
/// such a part.
#[must_use]
pub fn whole(path: &str) -> (&str, bool) {
    let trimmed = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    let Some((folder, last)) = trimmed.rsplit_once('/') else { return (trimmed, false) };
    // A last part made of signs alone, as `.*` or `{*,.*}`, spares hardly a file of the folder.
    let sweeping = last.contains('*') && last.chars().all(|c| "*?.[]{}!,^".contains(c));
    match (sweeping, folder) {
        (true, "") => ("/", true),
        (true, folder) => (whole(folder).0, true),
        (false, _) => (if trimmed.is_empty() { "/" } else { trimmed }, false),
    }
}

/// Returns true for all of a folder that others use too: `/tmp`, `/tmp/*`, a home's whole `.cache`.
#[must_use]
pub fn is_shared(path: &str) -> bool {
    let (folder, _) = whole(path);
    SHARED.contains(&folder) || folder.strip_suffix("/.cache").is_some_and(is_usual_home)
}

/// Returns true for a person's whole home, or the folder of all homes: `home`, which the host
/// knows, and those of others in the usual folders.
#[must_use]
pub fn is_home(path: &str, home: &str) -> bool {
    let (folder, _) = whole(path);
    (!home.is_empty() && folder == home.trim_end_matches('/')) || is_usual_home(folder)
}

fn is_usual_home(folder: &str) -> bool {
    let one = |homes: &&str| {
        folder
            .strip_prefix(*homes)
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(|name| !name.contains('/'))
    };
    folder == "/root" || HOMES.contains(&folder) || HOMES.iter().any(one)
}

/// Returns true for the root of the file system.
#[must_use]
pub fn is_root(path: &str) -> bool {
    whole(path).0 == "/"
}

/// Returns true for a path below a person's home, or the home itself.
#[must_use]
pub fn in_home(path: &str, home: &str) -> bool {
    let own = !home.is_empty() && holds(home, path);
    own || is_home(path, home)
        || holds("/root", path)
        || HOMES.iter().any(|homes| holds(homes, path))
}

/// Returns the rest of a path below a person's home: `home`, `/root`, or a home in a usual folder.
#[must_use]
pub fn below_home<'a>(path: &'a str, home: &str) -> Option<&'a str> {
    let below = |folder: &str| path.strip_prefix(folder.trim_end_matches('/'))?.strip_prefix('/');
    let own = Some(home).filter(|home| !home.is_empty()).and_then(below).or_else(|| below("/root"));
    let usual =
        || HOMES.iter().find_map(|homes| below(homes)?.split_once('/').map(|(_, rest)| rest));
    own.or_else(usual).filter(|rest| !rest.is_empty())
}

/// Returns true if a part of the path's text names credentials.
#[must_use]
pub fn is_credential(path: &str) -> bool {
    path.split('/').any(|part| {
        CREDENTIALS.contains(&part) || part.starts_with("id_rsa") || part.starts_with("id_ed25519")
    })
}

/// Returns true if `path` is `folder` or is below it.
#[must_use]
pub fn holds(folder: &str, path: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the project's folder that contains `path`; the innermost, if folders are nested.
#[must_use]
pub fn root_of<'a>(path: &str, roots: &'a [String]) -> Option<&'a str> {
    roots
        .iter()
        .map(String::as_str)
        .filter(|root| !root.is_empty() && holds(root, path))
        .max_by_key(|root| root.len())
}

/// Returns true for all of a project: one of its folders, a folder above it, everything below it,
/// or its `.git`.
#[must_use]
pub fn is_project(path: &str, roots: &[String]) -> bool {
    let (folder, _) = whole(path);
    let target = folder.strip_suffix("/.git").unwrap_or(folder);
    roots.iter().any(|root| !root.is_empty() && holds(target, root))
}

/// Returns true for this machine itself.
#[must_use]
pub fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = host.trim_end_matches('.');
    matches!(host, "localhost" | "::1" | "0.0.0.0" | "0:0:0:0:0:0:0:1" | "ip6-localhost")
        || host.ends_with(".localhost")
        || (host.starts_with("127.")
            && host.split('.').count() == 4
            && host.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// Returns the host of an address, a `host:port` or a bare host; empty without a host.
#[must_use]
pub fn host_of(target: &str) -> String {
    let rest =
        target.split_once(':').and_then(|(_, rest)| rest.strip_prefix("//")).unwrap_or(target);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // The last `@` counts: a password may hold another one.
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match authority.split_once(']') {
        Some((inner, _)) => inner.trim_start_matches('['),
        // One colon divides off a port; several are an IPv6 address without brackets.
        None if authority.matches(':').count() == 1 => {
            authority.split(':').next().unwrap_or_default()
        }
        None => authority,
    };
    host.to_ascii_lowercase()
}

/// Returns true if a person's text names a machine by its full name; a single word is none.
#[must_use]
pub fn names_host(text: &str, host: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.');
    let mut words = text.split(|c| !part(c)).map(|word| word.trim_matches('.'));
    host.contains('.') && words.any(|word| word.eq_ignore_ascii_case(host))
}

/// Returns true if the target of a network effect is outside this machine, or is not known to be on
/// it.
#[must_use]
pub fn is_external(effect: &Effect) -> bool {
    matches!(effect.kind, EffectKind::Network | EffectKind::Send)
        && !is_loopback(&host_of(&effect.target))
}

/// Returns true if the session itself made the file that an effect names: the host says so in the
/// action's attribute `own-paths`.
#[must_use]
pub fn is_own(effect: &Effect, action: &Action) -> bool {
    let Some(index) = effect.path.map(|index| index.to_string()) else { return false };
    let own = action.attributes.iter().find(|attribute| attribute.name == "own-paths");
    own.is_some_and(|own| own.value.split(' ').any(|position| position == index))
}

/// Returns the path on another machine that an effect changes: `/etc/hosts` of `web:/etc/hosts`. A
/// drive's letter names no machine.
#[must_use]
pub fn remote_path(effect: &Effect) -> Option<&str> {
    let changes = matches!(
        effect.kind,
        EffectKind::SystemChange | EffectKind::Persistence | EffectKind::Privilege
    );
    let (host, path) = effect.target.split_once(':').filter(|_| changes)?;
    let is_path = path.starts_with('/') && !path.starts_with("//");
    (host.len() > 1 && !host.contains('/') && is_path).then_some(path)
}

/// Returns the scope of an effect's path. A shared folder of which only a not yet known part is
/// meant, such as a fresh temporary file, is scratch; the whole of it has the scope that the host
/// reports.
#[must_use]
pub fn scope_of(effect: &Effect, path: &Path) -> Scope {
    if !effect.certain && is_shared(&path.text) { Scope::Scratch } else { path.scope }
}

/// Returns true if removing it loses nothing that was meant to stay: it can be restored, is
/// scratch, or does not exist.
///
/// A place that is only partly known counts as its known part, so an unknown part of the project
/// does not pass, nor one of a shared folder, unless the same action makes it there (`mktemp`).
#[must_use]
pub fn is_expendable(effect: &Effect, facts: &Facts) -> bool {
    let Some(path) = facts.path(effect) else { return false };
    match path.scope {
        _ if is_shared(&path.text) => {
            !effect.certain && facts.effects.iter().any(|made| makes(made, effect))
        }
        Scope::Scratch => true,
        Scope::Inside => effect.certain && (path.restorable || path.entry == Entry::Absent),
        Scope::Outside | Scope::System | Scope::Unknown => false,
    }
}

fn makes(made: &Effect, effect: &Effect) -> bool {
    // A line makes the file that it writes under a new name of its own.
    let creates = made.kind == EffectKind::FileCreate
        || made.kind == EffectKind::FileModify && !made.recursive && !effect.recursive;
    creates && !made.certain && made.path == effect.path
}

#[cfg(test)]
mod tests {
    use super::*;

    type Question = fn(&str) -> bool;

    #[test]
    fn knows_places() {
        let project: Question =
            |path| is_project(path, &["/home/me/app".to_owned(), String::new()]);
        let cases: &[(&str, Question, &[&str], &[&str])] = &[
            (
                "shared",
                is_shared,
                &[
                    "/tmp",
                    "/tmp/",
                    "/tmp/*",
                    "/tmp/**",
                    "/tmp/.*",
                    "/tmp/*/*",
                    "/var/tmp/{*,.*}",
                    "/home/me/.cache",
                    "/root/.cache/*",
                ],
                &[
                    "/tmp/mine",
                    "/tmp/*.log",
                    "/tmp/x/*",
                    "/home/me/app/.cache",
                    "/home/me/.cache/pip",
                    "/tmpx",
                    "/",
                ],
            ),
            ("root", is_root, &["/", "/*", "/**", "/.*"], &["/a", "", "a", "/a/*"]),
            (
                "home",
                |path| is_home(path, "/work/me"),
                &[
                    "/root",
                    "/home",
                    "/home/me",
                    "/home/me/",
                    "/home/me/*",
                    "/Users/me/**",
                    "/home/*",
                    "/work/me",
                    "/work/me/*",
                ],
                &["/home/me/app", "/homes/me", "/root/x", "/tmp", "/work", "/work/you"],
            ),
            (
                "in home",
                |path| in_home(path, "/work/me"),
                &["/home/me/a/b", "/root/.bashrc", "/work/me/a"],
                &["/etc/passwd", "/rooted", "/work/you/a"],
            ),
            (
                "home of nobody",
                |path| is_home(path, "") || in_home(path, ""),
                &["/home/me"],
                &["", "/", "/work/me"],
            ),
            (
                "project",
                project,
                &[
                    "/home/me/app",
                    "/home/me/app/*",
                    "/home/me",
                    "/",
                    "/home/me/app/.git",
                    "/home/me/app/.git/",
                ],
                &[
                    "/home/me/app/src",
                    "/home/me/app/src/*",
                    "/home/me/app/.gitignore",
                    "/home/me/application",
                ],
            ),
            ("sink", is_sink, &["/dev/null", "/dev/fd/3"], &["/dev/sda", "/dev", "null"]),
            (
                "credential",
                is_credential,
                &["/home/me/.ssh/id_rsa", "/etc/shadow", "/x/id_ed25519_work"],
                &["/home/me/ssh/x", "/etc/hosts"],
            ),
            (
                "loopback",
                is_loopback,
                &[
                    "localhost",
                    "127.0.0.1",
                    "127.8.9.1",
                    "::1",
                    "[::1]",
                    "app.localhost",
                    "0.0.0.0",
                ],
                &[
                    "127.0.0.1.example.org",
                    "example.org",
                    "",
                    "10.0.0.1",
                    "localhost.example.org",
                    "1270.0.0.1",
                ],
            ),
        ];
        for (name, question, yes, no) in cases {
            for path in *yes {
                assert!(question(path), "{name}: {path:?} is one");
            }
            for path in *no {
                assert!(!question(path), "{name}: {path:?} is none");
            }
        }
    }

    #[test]
    fn finds_the_host() {
        for (target, host) in [
            ("https://User@Example.org:8443/a?b@c", "example.org"),
            ("example.org", "example.org"),
            ("localhost:3000/x", "localhost"),
            ("http://[::1]:80/", "::1"),
            ("::1", "::1"),
            ("", ""),
        ] {
            assert_eq!(host_of(target), host, "{target}");
        }
    }

    #[test]
    fn picks_the_innermost_root() {
        let roots = ["/w".to_owned(), "/w/app".to_owned(), String::new()];
        for (path, root) in [("/w/app/x", Some("/w/app")), ("/w/apps", Some("/w")), ("/v", None)] {
            assert_eq!(root_of(path, &roots), root, "{path}");
        }
    }
}
