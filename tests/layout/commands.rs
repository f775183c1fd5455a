//! Commands about records in our texts: behind a boundary they have to name the user, so one place
//! spells them (`portcullis_core::record_commands`).
//!
//! A text that leaves the review, a message or an error passes through that place, which finds
//! commands in backticks. Any other command is made by it, or stands in the list below.

use crate::none;
use crate::source::{Source, sources};
use portcullis_core::record_commands::{RECORD_COMMANDS, RecordCommands};

/// Texts with commands that nothing spells: where, a part of the text, and why that is right.
const UNSPELLED: &[(&str, &str, &str)] = &[
    ("host/cli/src/command_line/", "portcullis ", "examples of the help"),
    ("host/cli/src/commands/demo.rs", "portcullis audit show", "the demo has a home of its own"),
    ("host/cli/src/commands/run/", "portcullis ", "`run` reviews by itself, in its user's home"),
    ("host/cli/src/commands/serve.rs", "sudo portcullis open", "it names any user"),
    ("host/core/src/incident/recovery.rs", "portcullis incident", "spelled when it is shown"),
    ("host/page/src/incident.rs", "a page of portcullis incident", "the mark of an exported file"),
    ("host/review/src/notifications/", "portcullis ", "spelled when the message is sent"),
    ("host/web/src/pages/checkpoint.rs", "portcullis checkpoint diff", "only without a boundary"),
    ("host/web/src/pages/plan.rs", "portcullis checkpoint restore", "only without a boundary"),
    ("host/web/src/pages/enroll.rs", "portcullis approvals proof", "before a sign-in: any user"),
    ("host/web/src/pages/sign_in.rs", "portcullis open", "before a sign-in: any user"),
];
/// The program as commands begin with it.
const PROGRAM: &str = "portcullis ";

#[test]
fn commands_about_records_are_spelled_in_one_place() {
    let ann = RecordCommands::of_user("ann");
    let (mut offenders, mut spelled, mut used) = (Vec::new(), 0, vec![false; UNSPELLED.len()]);
    for source in ["host", "plugins"].into_iter().flat_map(sources).filter(has_our_texts) {
        let text = joined_texts(&source.text);
        for (at, _) in text.match_indices(PROGRAM) {
            let rest = &text[at + PROGRAM.len()..];
            let end = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
            if !RECORD_COMMANDS.contains(&&rest[..end]) {
                continue;
            }
            let line = rest.lines().next().unwrap_or_default();
            let quoted = text[..at].ends_with('`').then(|| line.split_once('`')).flatten();
            if let Some((command, _)) = quoted {
                let given = format!("`{PROGRAM}{command}`");
                let found = ann.spell_in(&given, |_| false);
                if found == format!("`sudo {PROGRAM}{command} --of-user ann`") {
                    spelled += 1;
                } else {
                    offenders.push(format!("{}: {given} becomes {found}", source.path));
                }
                continue;
            }
            let begin = text[..at].rfind('\n').map_or(0, |begin| begin + 1);
            let whole = format!("{}{PROGRAM}{line}", &text[begin..at]);
            let known = |(path, part, _): &(&str, &str, &str)| {
                source.path.starts_with(path) && whole.contains(part)
            };
            match UNSPELLED.iter().position(known) {
                Some(index) => used[index] = true,
                None => offenders.push(format!("{}: spell `{}`", source.path, whole.trim())),
            }
        }
    }
    none(&offenders);
    let unused = UNSPELLED.iter().zip(used).filter(|(_, used)| !used);
    none(&unused.map(|((path, ..), _)| format!("{path}: not needed")).collect::<Vec<_>>());
    assert!(spelled > 40, "only {spelled} texts name a command: the search finds nothing");
}

/// Returns true for sources with texts that people read: no tests.
fn has_our_texts(source: &Source) -> bool {
    let path = &source.path;
    let is_spelling = path == "host/core/src/record_commands.rs";
    path.contains("/src/") && !path.contains("tests") && !is_spelling
}

/// Returns a source without comments and tests, in which each text is on one line.
fn joined_texts(source: &str) -> String {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let code: Vec<&str> = code.lines().filter(is_code).collect();
    let mut joined = String::new();
    let mut continues = false;
    for line in code {
        let piece = if continues { line.trim_start() } else { line };
        continues = piece.ends_with('\\');
        joined.push_str(piece.strip_suffix('\\').unwrap_or(piece));
        if !continues {
            joined.push('\n');
        }
    }
    joined
}
