//! The file behind a program's name: its folder, and its identity if the name is a glob
//! (`/bin/r?`). A shell picks the first file there that matches; the existing files cannot be known
//! from the text, so the best-known program that matches is assumed.

use super::Walker;
use super::expand::Field;
use super::parameters::fits;
use crate::{catalogue, places};

/// Programs on almost every machine, the gravest first.
#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "rm", "sh", "bash", "dd", "mv", "cp", "cat", "chmod", "chown", "curl", "wget", "nc", "ncat", "ssh", "scp", "sudo", "su", "kill",
    "pkill", "killall", "shred", "truncate", "rmdir", "unlink", "ln", "tee", "python3", "python", "perl", "ruby", "node", "php", "awk",
    "sed", "find", "xargs", "env", "eval", "base64", "xxd", "tar", "zip", "gzip", "mkfs", "mount", "umount", "reboot", "shutdown",
    "systemctl", "crontab", "at", "git", "docker", "kubectl", "psql", "mysql", "zsh", "dash", "busybox", "head", "tail", "less", "more",
    "grep", "ls", "echo", "printf", "touch", "mkdir", "id", "whoami", "ps", "passwd", "useradd", "openssl", "rsync", "socat", "telnet",
];

/// Folders that programs are in.
const FOLDERS: &[&str] = &["/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin"];

impl Walker<'_> {
    /// Returns the program that a glob in the place of a name matches.
    pub(super) fn globbed(&self, first: &Field) -> Option<Field> {
        let text = first.text.as_str();
        if first.quoted
            || !text.contains(['*', '?', '['])
            || text.len() < 2
            || text.len() > 64
            || text == "[["
        {
            return None;
        }
        let name = match text.rsplit_once('/') {
            None => PROGRAMS.iter().find(|name| fits(name, text)).map(|name| (*name).to_owned()),
            Some((folder, pattern)) => {
                let folder =
                    FOLDERS.iter().find(|known| **known == folder || fits(known, folder))?;
                PROGRAMS
                    .iter()
                    .find(|name| fits(name, pattern))
                    .map(|name| format!("{folder}/{name}"))
            }
        }?;
        Some(Field { text: name, quoted: true, ..first.clone() })
    }

    /// Returns the location of a program's file, as far as its name reveals it.
    pub(super) fn whereabouts(&self, first: &Field) -> Whereabouts {
        if !first.text.contains('/') {
            return Whereabouts::Path;
        }
        let (path, _) = places::resolve(&first.text, &self.env.folder);
        if path.contains("/.venv/bin/")
            || path.contains("/venv/bin/")
            || path.contains("/node_modules/.bin/")
        {
            return Whereabouts::Path;
        }
        if self.is_project(&path) {
            return Whereabouts::Project;
        }
        let usual = [
            "/bin/",
            "/usr/",
            "/sbin/",
            "/opt/homebrew/",
            "/snap/bin/",
            "/nix/store/",
            "/run/current-system/",
            "/home/linuxbrew/",
        ];
        let own = [
            "/.local/bin/",
            "/.cargo/bin/",
            "/bin/",
            "/go/bin/",
            "/.bun/bin/",
            "/.deno/bin/",
            "/.nvm/",
            "/.pyenv/",
            "/.rbenv/",
            "/.asdf/",
        ];
        let in_home = path.strip_prefix(self.home).filter(|_| !self.home.is_empty());
        if usual.iter().any(|start| path.starts_with(start))
            || in_home.is_some_and(|rest| own.iter().any(|start| rest.starts_with(start)))
        {
            return Whereabouts::Path;
        }
        Whereabouts::Elsewhere
    }
}

/// Returns the file of an installed program, as `which` names it: its folder is known only at run
/// time, so the one in which the system keeps its own represents all of them.
pub(super) fn installed(name: &str) -> String {
    if name.contains('/') { name.to_owned() } else { format!("/usr/bin/{name}") }
}

/// Returns the program of the catalogue after which a package or an image is named:
/// `@scope/NAME@1.2`, `HOST:5000/NAME:TAG`, also with `-cli` at its end. None if the text is such a
/// name itself.
pub(super) fn of_package(text: &str) -> Option<String> {
    let last = text.rsplit('/').next()?.split(['@', ':']).next()?;
    let known = |name: &str| catalogue::find(name, &[]).is_some();
    let name =
        [last, last.strip_suffix("-cli").unwrap_or(last)].into_iter().find(|name| known(name))?;
    (name != text).then(|| name.to_owned())
}

/// The location of a program's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// Among the installed programs.
    Path,
    /// In the project.
    Project,
    Elsewhere,
}
