//! Programs that may start their words: those that the catalogue does not know, and those of which
//! it says no more than that they start something. Words that begin a grave command are read as
//! that command.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::simple::Call;
use super::{Setting, Walker, languages};

/// The maximum number of words that are looked at.
const WORDS: usize = 64;

/// Programs whose calls are worth following.
const GRAVE: &[&str] = &[
    "aws",
    "az",
    "chattr",
    "chgrp",
    "chmod",
    "chown",
    "curl",
    "dd",
    "docker",
    "doas",
    "dropdb",
    "env",
    "fdisk",
    "find",
    "gcloud",
    "gh",
    "git",
    "helm",
    "iptables",
    "kill",
    "killall",
    "kubectl",
    "mkfs",
    "mv",
    "mysql",
    "parted",
    "pkill",
    "podman",
    "psql",
    "reboot",
    "rm",
    "rsync",
    "scp",
    "shred",
    "shutdown",
    "ssh",
    "sudo",
    "systemctl",
    "terraform",
    "tofu",
    "truncate",
    "unlink",
    "wget",
    "wipefs",
    "xargs",
];

/// Known programs that may start their words.
const STARTERS: &[&str] = &[
    "bazel",
    "bazelisk",
    "capsh",
    "conda",
    "cpulimit",
    "distrobox",
    "flatpak",
    "gnome-terminal",
    "guix",
    "ip",
    "konsole",
    "mamba",
    "micromamba",
    "nodemon",
    "pixi",
    "pm2",
    "prlimit",
    "ssh-agent",
    "toolbox",
    "xfce4-terminal",
    "xterm",
    "yarn",
];

/// Parts of the names of options that hold a command.
const HOLDING: &[&str] = &[
    "call", "cmd", "command", "editor", "eval", "exec", "filter", "hook", "pager", "preview",
    "program", "run", "script", "shell",
];

/// The reviewer's own program: it judges a command that it is given, and the guard judges its
/// calls.
const OWN: &str = "portcullis";

/// Returns true for a known program that may start its words.
pub(super) fn is_starter(name: &str) -> bool {
    STARTERS.contains(&name)
}

impl Walker<'_> {
    /// Follows the command that the words of such a program seem to hold.
    pub(super) fn follow_words(
        &mut self,
        name: &str,
        rest: &[Field],
        call: &Call,
        setting: &Setting,
    ) {
        if name == OWN {
            return;
        }
        let mut inner = setting.clone();
        inner.wrappers.push(name.to_owned());
        inner.started = true;
        for (at, field) in rest.iter().enumerate().take(WORDS) {
            let before = at.checked_sub(1).and_then(|at| rest.get(at));
            let before = before.map_or("", |field| field.text.as_str());
            let (flag, text) = match field.text.split_once('=') {
                Some((flag, text)) if flag.starts_with('-') => (flag, text),
                _ => (before, field.text.as_str()),
            };
            if text.contains(' ') {
                let holds = at == 0 || is_holding(flag);
                if holds && begins_grave(text) {
                    let field = Field { text: text.to_owned(), ..field.clone() };
                    self.nested(&field, name, &inner);
                }
                continue;
            }
            let words = rest.get(at..).unwrap_or_default();
            if flag == before && begins(words) {
                let call = Call { end: call.end, input: call.input.clone(), ..Call::default() };
                self.run(words, &call, &inner);
                return;
            }
        }
    }
}

fn is_holding(flag: &str) -> bool {
    let low = flag.to_ascii_lowercase();
    matches!(low.as_str(), "-c" | "-e" | "-s" | "-x" | "--")
        || low.starts_with('-') && HOLDING.iter().any(|part| low.contains(part))
        // The text may follow a plain word: `tool run 'rm -rf x'`.
        || !low.starts_with('-') && !low.is_empty()
}

/// Returns true for words that begin with a grave program and what it acts on.
fn begins(words: &[Field]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let name = first.text.rsplit('/').next().unwrap_or("");
    let acts = |field: &Field| {
        field.text.starts_with(['-', '/', '~', UNKNOWN])
            || field.text.starts_with("..")
            || field.text.contains('=')
    };
    if languages::is_shell(name) || languages::runs_text(name) {
        // `.` is a runner of texts, and also the name of the current folder.
        return rest.first().is_some_and(|field| field.text.starts_with('-')) && name != ".";
    }
    match name {
        // Other programs have subcommands with these names (`docker rm`), so the words behind them
        // have to look like flags or places outside.
        "rm" | "mv" | "kill" | "find" => rest.iter().any(acts),
        _ => (GRAVE.contains(&name) || name.starts_with("mkfs.")) && !rest.is_empty(),
    }
}

/// Returns true for a text that begins as a grave command with what it acts on.
pub(super) fn begins_grave_command(text: &str) -> bool {
    let words: Vec<Field> = text
        .split_ascii_whitespace()
        .take(WORDS)
        .map(|word| Field::plain(word.trim_matches(['"', '\'']), Default::default()))
        .collect();
    begins(&words)
}

fn begins_grave(text: &str) -> bool {
    let first = text.trim_start().split([' ', ';', '|', '&']).next().unwrap_or("");
    let name = first.rsplit('/').next().unwrap_or("");
    GRAVE.contains(&name)
        || languages::is_shell(name)
        || name.starts_with("mkfs.")
        || text.contains("; ")
        || text.contains(" && ")
        || text.contains(" | ")
}
