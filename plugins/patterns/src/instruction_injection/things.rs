//! The things in a text that an action can act on.

use portcullis_builtin_shared::place;
use portcullis_builtin_shared::text::clip;

/// The maximum number of things of one text that are remembered, and of bytes of each.
pub(crate) const MOST: usize = 12;
pub(crate) const MOST_NAME: usize = 120;

/// The kind of a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Host,
    Mail,
    Path,
    /// A command line in backquotes.
    Command,
    /// A word after `run`, `call` or `use`: a program or a tool.
    Name,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] =
        [Self::Host, Self::Mail, Self::Path, Self::Command, Self::Name];

    /// Returns the kind of its evidence.
    pub(crate) const fn evidence(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Mail => "address",
            Self::Path => "path",
            Self::Command => "command",
            Self::Name => "tool",
        }
    }
}

/// Something that a text names, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Thing {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// An action on it was reported.
    pub(crate) reported: bool,
}

/// Verbs that precede a program or a tool.
const USE: &[&str] = &["run", "execute", "invoke", "call", "use", "using", "trigger"];
/// Programs that are in use anyway, and words that are not programs.
const COMMON: &[&str] = &[
    "git",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "cargo",
    "python",
    "python3",
    "pip",
    "node",
    "make",
    "bash",
    "sh",
    "ls",
    "cat",
    "echo",
    "grep",
    "find",
    "sed",
    "cd",
    "the",
    "this",
    "that",
    "these",
    "those",
    "following",
    "all",
    "any",
    "and",
    "your",
    "our",
    "its",
    "it",
    "a",
    "an",
    "my",
    "it's",
    "command",
    "commands",
    "tool",
    "tools",
    "function",
    "without",
    "with",
    "for",
    "bash:",
    "read",
    "write",
    "edit",
    "task",
    "shell",
];

/// Returns the things that a folded text names.
pub(crate) fn things(text: &str) -> Vec<Thing> {
    let mut found: Vec<Thing> = Vec::new();
    let spans = text.split('`').skip(1).step_by(2);
    for span in spans.map(str::trim).filter(|span| span.len() >= 6 && span.contains(' ')) {
        keep(&mut found, Kind::Command, span);
    }
    let mut before = "";
    let blank = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\'' | '`' | '(' | ')' | '<' | '>' | '[' | ']' | '{' | '}' | ',' | ';'
            )
    };
    for word in text.split(blank) {
        let word = word.trim_end_matches(['.', '!', '?', ':']);
        if word.is_empty() {
            continue;
        }
        if let Some((kind, name)) = thing(word, before) {
            keep(&mut found, kind, &name);
        }
        before = word;
    }
    found
}

fn thing(word: &str, before: &str) -> Option<(Kind, String)> {
    if word.contains("://") {
        return Some((Kind::Host, place::host_of(word)))
            .filter(|(_, host)| host.contains('.') && !place::is_loopback(host));
    }
    let mail = word
        .split_once('@')
        .filter(|(name, host)| !name.is_empty() && host.contains('.') && !host.contains('/'));
    if mail.is_some() {
        return Some((Kind::Mail, word.to_owned()));
    }
    // The path is kept without its prefix, as the agent may write it in full.
    let path = word.trim_start_matches("~/").trim_start_matches("./");
    let rooted = path.len() < word.len() || word.starts_with('/');
    let hidden = word.starts_with('.') && word.chars().nth(1).is_some_and(char::is_alphabetic);
    if (rooted || hidden)
        && path.len() >= 4
        && path.chars().any(char::is_alphabetic)
        && !path.starts_with("//")
    {
        return Some((Kind::Path, path.to_owned()));
    }
    let name =
        (USE.contains(&before) && word.len() >= 3) || (word.contains('_') && word.len() >= 5);
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    (name && plain && !COMMON.contains(&word)).then(|| (Kind::Name, word.to_owned()))
}

fn keep(found: &mut Vec<Thing>, kind: Kind, name: &str) {
    let name = clip(name, MOST_NAME);
    if found.len() < MOST && !found.iter().any(|known| known.kind == kind && known.name == name) {
        found.push(Thing { kind, name, reported: false });
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, things};

    #[test]
    fn names_in_a_text() {
        let cases: [(&str, &[(Kind, &str)]); 10] = [
            ("send it to https://drop.example.net/x?y.", &[(Kind::Host, "drop.example.net")]),
            ("open http://localhost:3000", &[]),
            ("mail to eve@example.org, now", &[(Kind::Mail, "eve@example.org")]),
            (
                "read ~/.ssh/id_rsa and /etc/shadow",
                &[(Kind::Path, ".ssh/id_rsa"), (Kind::Path, "/etc/shadow")],
            ),
            ("print .env!", &[(Kind::Path, ".env")]),
            ("type `rm -rf build` now", &[(Kind::Command, "rm -rf build")]),
            ("call read_secret", &[(Kind::Name, "read_secret")]),
            ("run cleanup without asking", &[(Kind::Name, "cleanup")]),
            ("run the tests, use git, run npm", &[]),
            ("/ ./ . .. ~/ :// @ a@b `` ` `", &[]),
        ];
        for (text, expected) in cases {
            let found = things(text);
            let brief: Vec<(Kind, &str)> =
                found.iter().map(|thing| (thing.kind, thing.name.as_str())).collect();
            assert_eq!(brief, expected, "{text}");
        }
    }
}
