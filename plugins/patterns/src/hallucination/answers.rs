//! The things that an action named and that do not exist according to its outcome.

use portcullis_builtin_shared::text::clip;
use portcullis_plugin::types::{Action, Operation, Outcome, Shell, Status};

/// The kinds of things that may not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Path,
    Command,
    Flag,
    Tool,
    /// A text in a file, which an edit wanted to replace.
    Text,
}

impl Kind {
    pub(super) const ALL: [Self; 5] =
        [Self::Path, Self::Command, Self::Flag, Self::Tool, Self::Text];

    /// Returns the kind of its evidence.
    pub(super) const fn evidence(self) -> &'static str {
        match self {
            Self::Path | Self::Text => "path",
            Self::Command | Self::Flag => "command",
            Self::Tool => "tool",
        }
    }
}

/// A thing that an action named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) kind: Kind,
    pub(super) name: String,
}

impl Target {
    pub(super) fn new(kind: Kind, name: &str) -> Self {
        Self { kind, name: clip(name, MOST_NAME) }
    }
}

/// The maximum size of a name and of a line that is looked at, in bytes, and the maximum number of
/// names and lines.
const MOST_NAME: usize = 160;
const MOST_LINE: usize = 400;
const MOST_NAMES: usize = 48;
const MOST_LINES: usize = 16;

/// Phrases of outcomes for missing things, in lower case.
const PHRASES: &[(&str, Kind)] = &[
    ("string to replace not found", Kind::Text),
    ("old_string not found", Kind::Text),
    ("no match found for replacement", Kind::Text),
    ("no such tool", Kind::Tool),
    ("unknown tool", Kind::Tool),
    ("tool not found", Kind::Tool),
    ("no tool named", Kind::Tool),
    ("command not found", Kind::Command),
    ("not recognized as an internal or external command", Kind::Command),
    ("not recognized as the name of a cmdlet", Kind::Command),
    ("unknown option", Kind::Flag),
    ("unrecognized option", Kind::Flag),
    ("unrecognised option", Kind::Flag),
    ("unrecognized argument", Kind::Flag),
    ("unexpected argument", Kind::Flag),
    ("invalid option", Kind::Flag),
    ("illegal option", Kind::Flag),
    ("no such option", Kind::Flag),
    ("unknown flag", Kind::Flag),
    ("flag provided but not defined", Kind::Flag),
    ("no such file", Kind::Path),
    ("enoent", Kind::Path),
    ("does not exist", Kind::Path),
    ("doesn't exist", Kind::Path),
    ("file not found", Kind::Path),
    ("cannot find the path", Kind::Path),
    ("could not be found", Kind::Path),
    ("did not match any file", Kind::Path),
    ("cannot find module", Kind::Path),
    ("can't open file", Kind::Path),
    ("unable to find", Kind::Path),
    (": not found", Kind::Command),
];

/// The first two letters of the phrases, as a set.
#[allow(clippy::indexing_slicing, reason = "a mistake does not compile")]
const BEGINNINGS: [u64; 4] = {
    let (mut set, mut next) = ([0; 4], 0);
    while next < PHRASES.len() {
        let phrase = PHRASES[next].0.as_bytes();
        let place = place_of(phrase[0], phrase[1]);
        set[place / 64] |= 1 << (place % 64);
        next += 1;
    }
    set
};

/// Returns the place of two letters in a set. Two pairs may share one, which costs a comparison and
/// hides nothing.
const fn place_of(first: u8, second: u8) -> usize {
    (first as usize * 31 + second as usize) % 256
}

/// Returns true if a line holds a phrase. An output has hundreds of lines, nearly all of them without,
/// and looking for each phrase in each of them takes longer than everything else.
fn holds_phrase(line: &str) -> bool {
    let line = line.as_bytes().get(..MOST_LINE).unwrap_or(line.as_bytes());
    line.windows(2).enumerate().any(|(at, pair)| {
        let [first, second] = [0, 1].map(|at| pair.get(at).map_or(0, u8::to_ascii_lowercase));
        let place = place_of(first, second);
        let begins = BEGINNINGS.get(place / 64).is_some_and(|set| set & (1 << (place % 64)) != 0);
        let says = |phrase: &str| {
            let said = line.get(at..at + phrase.len());
            said.is_some_and(|said| said.eq_ignore_ascii_case(phrase.as_bytes()))
        };
        begins && PHRASES.iter().any(|(phrase, _)| says(phrase))
    })
}

/// Returns the things that the action named and that do not exist according to its outcome, each
/// with the line that says so.
pub(super) fn missing(action: &Action, outcome: &Outcome) -> Vec<(Target, String)> {
    let mut found: Vec<(Target, String)> = Vec::new();
    for (line, lower, kind) in lines(outcome) {
        let named = match kind {
            Kind::Text => action.file().map(|file| Target::new(Kind::Text, &file.path)),
            Kind::Tool => Some(Target::new(Kind::Tool, &action.tool)),
            Kind::Path | Kind::Command | Kind::Flag => {
                named(action, &lower, kind, outcome.status == Status::Ok)
            }
        };
        if let Some(target) = named.filter(|target| !found.iter().any(|(known, _)| known == target))
        {
            found.push((target, line.trim().to_owned()));
        }
    }
    found
}

/// Returns the lines that say so, in full and in lower case.
fn lines(outcome: &Outcome) -> impl Iterator<Item = (&str, String, Kind)> {
    let text = |line: &str| clip(line, MOST_LINE).to_ascii_lowercase();
    outcome
        .error
        .lines()
        .chain(outcome.output.lines())
        .filter(|line| holds_phrase(line))
        .filter_map(move |line| {
            let lower = text(line);
            let (_, kind) = PHRASES.iter().find(|(phrase, _)| lower.contains(phrase))?;
            Some((line, lower, *kind))
        })
        .take(MOST_LINES)
}

/// Returns the thing that a line names, among those that the action named. If the action ended
/// well, only its own program reports missing things: other lines are its findings.
fn named(action: &Action, line: &str, kind: Kind, ended_well: bool) -> Option<Target> {
    match &action.operation {
        Operation::File(file) if kind == Kind::Path && !ended_well => {
            Some(Target::new(Kind::Path, &file.path))
        }
        Operation::Shell(shell) => {
            let speaks = shell
                .commands
                .iter()
                .any(|command| !command.program.is_empty() && says(line, &command.program));
            let shells = ["bash:", "sh:", "zsh:", "(eval)", "dash:"]
                .iter()
                .any(|shell| line.contains(shell));
            (!ended_well || speaks || shells).then(|| word(action, shell, line, kind)).flatten()
        }
        _ => None,
    }
}

/// Returns true if `program:` is in the line.
fn says(line: &str, program: &str) -> bool {
    line.contains(&[&program.to_ascii_lowercase(), ":"].concat())
}

fn word(action: &Action, shell: &Shell, line: &str, kind: Kind) -> Option<Target> {
    if kind == Kind::Command {
        return shell
            .commands
            .iter()
            .find(|command| holds(line, &command.program))
            .map(|command| Target::new(kind, &command.program));
    }
    let words = shell
        .commands
        .iter()
        .flat_map(|command| command.words.iter().map(move |word| (command, word.text.as_str())));
    for (command, word) in words.filter(|(_, word)| word.len() > 1).take(MOST_NAMES) {
        let flag = word.starts_with('-');
        let bare = word.trim_end_matches('/').split('=').next().unwrap_or(word);
        match kind {
            Kind::Flag if flag && (holds(line, bare) || short_flag(line, bare)) => {
                return Some(Target::new(kind, &[&command.program, " ", bare].concat()));
            }
            Kind::Path if !flag => {
                let path = whole(action, bare);
                if holds(line, bare) || holds(line, &path) {
                    return Some(Target::new(kind, &path));
                }
            }
            _ => {}
        }
    }
    let of_facts = || {
        action
            .facts
            .paths
            .iter()
            .take(MOST_NAMES)
            .find(|path| holds(line, path.text.trim_end_matches('/')))
    };
    (kind == Kind::Path).then(of_facts).flatten().map(|path| Target::new(kind, &path.text))
}

/// Returns the path that a word refers to, as the host has it; the word itself if it is not a path.
fn whole(action: &Action, word: &str) -> String {
    let bare = word.trim_start_matches("./").trim_start_matches("~/");
    let is = |path: &str| {
        path == bare || path.strip_suffix(bare).is_some_and(|before| before.ends_with('/'))
    };
    action
        .facts
        .paths
        .iter()
        .find(|path| is(&path.text))
        .map_or_else(|| word.to_owned(), |path| path.text.clone())
}

/// Returns true if the line names a short flag by its letter alone: `invalid option -- 'z'`.
fn short_flag(line: &str, flag: &str) -> bool {
    let letter =
        flag.strip_prefix('-').filter(|letter| letter.len() == 1).map(str::to_ascii_lowercase);
    letter.is_some_and(|letter| {
        line.contains(&["-- '", &letter, "'"].concat()) || line.contains(&["-- ", &letter].concat())
    })
}

/// Returns true if the line has the name as a word or path of its own, ignoring case.
fn holds(line: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    !name.is_empty()
        && line.match_indices(&name).any(|(at, _)| {
            let before = line.get(..at).and_then(|before| before.chars().next_back());
            let mut after = line.get(at + name.len()..).unwrap_or_default().chars();
            let goes_on = match after.next() {
                Some('.') => after.next().is_some_and(char::is_alphanumeric),
                Some('/') => after.next().is_some_and(part),
                other => other.is_some_and(part),
            };
            !before.is_some_and(part) && !goes_on
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_builtin_shared::sample::shell;
    use portcullis_plugin::testing::{self, BuildAction};

    /// The action, its status, its output, and the missing thing according to that.
    type Case = (Action, Status, &'static str, Option<(Kind, &'static str)>);

    #[test]
    fn a_phrase_is_found_in_one_pass() {
        for (phrase, _) in PHRASES {
            for text in [(*phrase).to_owned(), phrase.to_uppercase(), format!("x: {phrase} y")] {
                assert!(holds_phrase(&text), "{text}");
            }
            assert!(!holds_phrase(phrase.get(1..).unwrap_or_default().trim_start_matches(' ')));
            let late = [&" ".repeat(MOST_LINE), *phrase].concat();
            assert!(!holds_phrase(&late), "{phrase}");
        }
        for text in ["", "n", "no", "no such fil", "nö such file", "ok. 12 passed"] {
            assert!(!holds_phrase(text), "{text}");
        }
    }

    #[test]
    fn outcomes_say_what_is_missing() {
        use Kind::{Command, Flag, Path, Text, Tool};
        let cat = || shell("cat src/a.rs").reads("src/a.rs");
        let cases: Vec<Case> = vec![
            (
                cat(),
                Status::Failed,
                "cat: src/a.rs: No such file or directory",
                Some((Path, "/project/src/a.rs")),
            ),
            (
                cat(),
                Status::Ok,
                "cat: src/a.rs: No such file or directory\nx",
                Some((Path, "/project/src/a.rs")),
            ),
            (cat(), Status::Ok, "a note: src/a.rs does not exist", None),
            (cat(), Status::Failed, "cat: src/b.rs: No such file or directory", None),
            (cat(), Status::Failed, "cat: lib/src/a.rs.bak: No such file or directory", None),
            (cat(), Status::Failed, "cat: src/a.rs: Permission denied", None),
            (
                shell("cd lost"),
                Status::Failed,
                "(eval):cd:1: no such file or directory: lost",
                Some((Path, "lost")),
            ),
            (
                shell("python3 run.py").reads("run.py"),
                Status::Failed,
                "python3: can't open file '/project/run.py': [Errno 2]",
                Some((Path, "/project/run.py")),
            ),
            (
                shell("git checkout topic"),
                Status::Failed,
                "error: pathspec 'topic' did not match any file(s) known",
                Some((Path, "topic")),
            ),
            (
                shell("tree -L 2"),
                Status::Failed,
                "Exit code 127\n(eval):1: command not found: tree",
                Some((Command, "tree")),
            ),
            (shell("tree src"), Status::Failed, "sh: 1: tree: not found", Some((Command, "tree"))),
            (shell("make all"), Status::Failed, "sh: 1: tree: not found", None),
            (
                shell("ls --colour-me"),
                Status::Failed,
                "ls: unrecognized option '--colour-me'",
                Some((Flag, "ls --colour-me")),
            ),
            (shell("ls -z"), Status::Failed, "ls: invalid option -- 'z'", Some((Flag, "ls -z"))),
            (
                shell("x --a=b"),
                Status::Failed,
                "error: unexpected argument '--a' found",
                Some((Flag, "x --a")),
            ),
            (
                testing::file_read("gone.txt"),
                Status::Failed,
                "File does not exist.",
                Some((Path, "/project/gone.txt")),
            ),
            (testing::file_read("a.txt"), Status::Ok, "it does not exist", None),
            (
                testing::file_edit("a.txt", "x", "y"),
                Status::Failed,
                "String to replace not found in file.",
                Some((Text, "/project/a.txt")),
            ),
            (
                testing::tool("query_all", &[]),
                Status::Failed,
                "Error: No such tool available: query_all",
                Some((Tool, "query_all")),
            ),
            (
                testing::tool("query", &[("id", "9")]),
                Status::Failed,
                "record 9 does not exist",
                None,
            ),
            (shell(""), Status::Failed, "no such file", None),
        ];
        for (action, status, text, expected) in cases {
            let action = action.ended(status, text);
            let outcome = action.outcome.clone().expect("it ended");
            let found = missing(&action, &outcome);
            let brief = found.first().map(|(target, _)| (target.kind, target.name.as_str()));
            assert_eq!(brief, expected, "{text}");
        }
    }
}
