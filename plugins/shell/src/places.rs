//! The meaning of paths and hosts, as text: nothing here looks at a disk.

mod globs;
mod hosts;
mod secrets;
mod windows;

pub(crate) use portcullis_autoruns::{is_below, is_hook_sample, starts_by_itself};
pub(crate) use secrets::{holds_credentials, is_secret, is_store};

use crate::types::EffectKind;
use portcullis_autoruns::is_sample;
use secrets::TOPS;
use std::rc::Rc;

/// A placeholder for text that is only known at run time.
const UNKNOWN: char = '\u{fffd}';

/// The place where a command takes effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    #[default]
    Here,
    /// Another machine.
    Host(String),
    /// A container on this machine: its name, and its mounts from this machine.
    Container(String, Rc<[Mount]>),
}

/// A folder of this machine that a container sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Its path in the container.
    pub inside: String,
    /// Its path here; a text with U+FFFD if that is known only when it runs.
    pub here: String,
    pub read_only: bool,
}

/// Characters that a shell's pattern begins with; `(` after some others.
pub(crate) const GLOBS: [char; 4] = ['*', '?', '[', '('];

/// Returns true if the text may contain a shell pattern.
pub(crate) fn is_glob(text: &str) -> bool {
    let mut before = None;
    text.chars().any(|c| begins_glob(before.replace(c), c))
}

const fn begins_glob(before: Option<char>, c: char) -> bool {
    matches!(c, '*' | '?' | '[') || matches!((before, c), (Some('!' | '@' | '+'), '('))
}

/// Returns the pattern that only this name matches: effects name their targets by patterns.
pub(crate) fn as_glob(name: &str) -> String {
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

/// Makes `text` an absolute normalised path. A part that is known only at run time is left out,
/// with all that follows it; the flag is true if nothing was left out.
pub(crate) fn resolve(text: &str, folder: &str) -> (String, bool) {
    let (path, known) = reach(text, folder);
    (if path.is_empty() { path } else { normalise(&path) }, known)
}

/// Resolves a path as `resolve` does, but keeps a `..` after a name: a link there leads elsewhere.
pub(crate) fn reach(text: &str, folder: &str) -> (String, bool) {
    // A path as databases take it: `file:PATH?OPTIONS`.
    let text =
        text.strip_prefix("file:").map_or(text, |path| path.split('?').next().unwrap_or(path));
    let drive = windows::slashed(text);
    let text = drive.as_deref().unwrap_or(text);
    // The rest of `file:///PATH`.
    let text = text.strip_prefix("//").filter(|path| path.starts_with('/')).unwrap_or(text);
    let whole = match own_view(text) {
        Some(View::Root(rest)) => rest.to_owned(),
        Some(View::Folder(rest)) => format!("{folder}{rest}"),
        None if text.starts_with('/') => text.to_owned(),
        None => format!("{folder}/{text}"),
    };
    if text.starts_with(UNKNOWN) {
        return (String::new(), false);
    }
    match whole.find(UNKNOWN) {
        None => (tidy(&whole), true),
        Some(0) => (String::new(), false),
        Some(at) => {
            // The name before the unknown part may go on in it: only its folder is known.
            let known = whole.get(..at).unwrap_or("");
            let parent =
                known.rfind('/').map_or("", |slash| known.get(..slash.max(1)).unwrap_or(""));
            (tidy(parent), false)
        }
    }
}

/// The meaning of a path below `/proc`.
enum View<'t> {
    /// The file system, from its root.
    Root(&'t str),
    /// The folder that the process works in.
    Folder(&'t str),
}

/// Recognises `/proc/self/root/...` and `/proc/self/cwd/...`, of any process: other names for the
/// same files.
fn own_view(path: &str) -> Option<View<'_>> {
    let (process, rest) = path.strip_prefix("/proc/")?.split_once('/')?;
    let rest = rest
        .strip_prefix("task/")
        .and_then(|rest| rest.split_once('/'))
        .map_or(rest, |(_, rest)| rest);
    // Another process may work in any folder, but has the same root as a rule.
    let own = matches!(process, "self" | "thread-self") || process.contains(UNKNOWN);
    let below = |name: &str| {
        rest.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match (below("root"), below("cwd")) {
        (Some(rest), _) => Some(View::Root(if rest.is_empty() { "/" } else { rest })),
        (_, Some(rest)) if own => Some(View::Folder(rest)),
        _ => None,
    }
}

/// Returns true if a `..` goes up from a name.
pub(crate) fn climbs(path: &str) -> bool {
    path.contains("/../") || path.ends_with("/..")
}

fn tidy(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.is_empty() => {}
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

pub(crate) fn normalise(path: &str) -> String {
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

/// Returns true for a stream or a sink, not a file that anyone cares about.
pub(crate) fn is_stream(path: &str) -> bool {
    matches!(
        path,
        "/dev/null"
            | "/dev/stdin"
            | "/dev/stdout"
            | "/dev/stderr"
            | "/dev/tty"
            | "/dev/zero"
            | "/dev/random"
            | "/dev/urandom"
            | "/dev/full"
    ) || path.starts_with("/dev/fd")
}

/// Returns true for the shell's record of executed commands.
pub(crate) fn is_history(path: &str) -> bool {
    matches!(
        file_name(path),
        ".bash_history"
            | ".zsh_history"
            | ".history"
            | ".sh_history"
            | "fish_history"
            | ".python_history"
            | ".node_repl_history"
            | ".irb_history"
    )
}

/// Returns true if the system or its services log there.
pub(crate) fn is_log(path: &str) -> bool {
    ["/var/log/", "/private/var/log/", "/var/audit/", "/Library/Logs/"]
        .iter()
        .any(|folder| path.starts_with(folder))
        || matches!(path, "/var/log" | "/var/run/utmp" | "/run/utmp")
}

/// Returns the further effects of a file effect at this path: kinds, and dangerous forms.
pub(crate) fn consequences(
    kind: &EffectKind,
    path: &str,
    recursive: bool,
    home: &str,
) -> (Vec<EffectKind>, Vec<&'static str>) {
    let (mut kinds, mut forms) = (Vec::new(), Vec::new());
    let changes =
        matches!(kind, EffectKind::FileCreate | EffectKind::FileModify | EffectKind::FileDelete);
    if *kind == EffectKind::FileRead && is_secret(path, home) {
        kinds.push(EffectKind::SecretRead);
    }
    if changes && is_disk(path) {
        kinds.push(EffectKind::SystemChange);
        forms.push("disk-write");
    } else if changes && is_system(path) {
        kinds.push(EffectKind::SystemChange);
    }
    // A file put into such a folder starts too; making the folder starts nothing.
    let fills = || {
        (*kind == EffectKind::FileModify || recursive)
            && !is_hook_sample(path)
            && starts_by_itself(&format!("{path}/file"), home)
    };
    if changes && *kind != EffectKind::FileDelete && (starts_by_itself(path, home) || fills()) {
        kinds.push(EffectKind::Persistence);
    }
    if changes && grants_rights(path) {
        kinds.push(EffectKind::Privilege);
    }
    if *kind == EffectKind::FileDelete && recursive && !path.is_empty() && is_root_like(path, home)
    {
        forms.push("delete-root");
    }
    (kinds, forms)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn grants_rights(path: &str) -> bool {
    [
        "/etc/passwd",
        "/etc/shadow",
        "/etc/group",
        "/etc/gshadow",
        "/etc/sudoers",
        "/etc/pam.d",
        "/etc/doas.conf",
        "/etc/polkit-1",
        "/etc/security",
    ]
    .iter()
    .any(|start| path.starts_with(start))
        || (path.ends_with("/authorized_keys") && !is_sample(path))
}

const SYSTEM_FOLDERS: &[&str] = &[
    "/etc",
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/boot",
    "/sys",
    "/proc",
    "/var/log",
    "/var/lib",
    "/var/spool",
    "/System",
    "/Library",
];

fn is_system(path: &str) -> bool {
    if windows::is_system(path) {
        return true;
    }
    let swaps = matches!(path, "/swapfile" | "/swap.img" | "/swap" | "/vmlinuz" | "/initrd.img");
    path == "/" || swaps || SYSTEM_FOLDERS.iter().any(|folder| is_below(path, folder))
}

fn is_disk(path: &str) -> bool {
    let Some(device) = path.strip_prefix("/dev/") else { return false };
    [
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "md", "dm-", "mem",
        "kmem", "loop", "zd",
    ]
    .iter()
    .any(|start| device.starts_with(start))
}

/// Returns true if to lose everything below it is to lose the machine, or a person's whole home.
fn is_root_like(path: &str, home: &str) -> bool {
    if let Some(all) = windows::is_root_like(path) {
        return all;
    }
    let path = path.strip_suffix("/*").or_else(|| path.strip_suffix("/.*")).unwrap_or(path);
    let top = path.rsplit('/').next().unwrap_or("");
    let is_top = path.matches('/').count() <= 1;
    path.is_empty()
        || path == "/"
        || (!home.is_empty() && (path == home || is_below(home, path)))
        || (is_top
            && !matches!(
                top,
                "tmp"
                    | "work"
                    | "workspace"
                    | "app"
                    | "repo"
                    | "src"
                    | "project"
                    | "build"
                    | "data"
                    | "important"
                    | "mnt"
                    | "media"
                    | "scratch"
            )
            && TOPS.contains(&top))
        || (path.matches('/').count() == 2
            && (path.starts_with("/home/") || path.starts_with("/Users/")))
        || matches!(
            path,
            "/usr/bin"
                | "/usr/lib"
                | "/usr/local"
                | "/usr/share"
                | "/var/lib"
                | "/var/log"
                | "/usr/sbin"
                | "/etc/ssh"
                | "/usr/local/bin"
        )
}

/// Returns the host in a URL, a `user@host:path`, a `host:path` or a bare name; lower case, without
/// a port.
pub(crate) fn host(text: &str) -> Option<String> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    // The last `@` counts: `https://known.com@other.com` reaches the other.
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(literal) => literal.split(']').next()?,
        None => host.split(':').next()?,
    };
    let fits = !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte))
        && host.len() < 256;
    fits.then(|| hosts::write_plainly(host))
}

/// Returns true if the host is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1" | "0.0.0.0") || host.ends_with(".localhost")
}

/// Returns the path of `host:path` or `user@host:path`, as scp and rsync write them; not `./a:b`
/// and not a drive.
pub(crate) fn remote_path(text: &str) -> Option<String> {
    if text.contains("://") {
        return host(text);
    }
    let (before, _) = text.split_once(':')?;
    (!before.contains('/') && !before.is_empty()).then(|| host(before)).flatten()
}

/// Ranks kinds for the case that there are too many to keep, the gravest highest.
pub(crate) fn gravity(kind: &EffectKind) -> u8 {
    match kind {
        EffectKind::FileDelete
        | EffectKind::UnseenCode
        | EffectKind::RemoteDelete
        | EffectKind::Discard
        | EffectKind::SystemChange
        | EffectKind::Persistence => 5,
        EffectKind::SecretRead
        | EffectKind::Privilege
        | EffectKind::Evade
        | EffectKind::Send
        | EffectKind::Publish
        | EffectKind::RemoteChange => 4,
        EffectKind::ProcessStart
        | EffectKind::ProcessStop
        | EffectKind::Network
        | EffectKind::ResourceUse => 3,
        EffectKind::FileModify | EffectKind::Other(_) => 2,
        EffectKind::FileCreate => 1,
        EffectKind::FileRead => 0,
    }
}
