//! Tests of all help pages against the real parser.

use super::examples::EXAMPLES;
use super::groups::{GROUPS, INTERNAL};
use super::tips::TRIED;
use super::{build_command, color, describe_command};
use clap::Command;
use std::collections::BTreeSet;
use std::ffi::OsString;

/// The most columns of a line of help.
const MOST_COLUMNS: usize = 100;
/// The most columns of the overview, which people see first.
const OVERVIEW_COLUMNS: usize = 80;
/// Commands without `--json`, each with the reason.
const NO_JSON: &[(&str, &str)] = &[
    ("approvals watch", "talks with a person"),
    ("audit export", "the exporter chooses the format"),
    ("completions", "prints a script"),
    ("config schema", "prints JSON and nothing else"),
    ("hook", "speaks the client's protocol"),
    ("hub dev", "serves until it is stopped"),
    ("hub serve", "serves until it is stopped"),
    ("man", "prints manual pages"),
    ("privacy export", "prints JSON and nothing else"),
];

/// Returns all commands with their names, the program itself first.
fn all() -> Vec<(String, Command)> {
    let mut open = vec![(String::new(), build_command())];
    let mut found = Vec::new();
    while let Some((name, command)) = open.pop() {
        for below in command.get_subcommands() {
            let path = format!("{name} {}", below.get_name());
            open.push((path.trim_start().to_owned(), below.clone()));
        }
        found.push((name, command));
    }
    assert!(found.len() > 60, "only {} commands were found", found.len());
    found
}

/// Returns the words of a shell command up to a redirection, a pipe or a comment.
fn words(command: &str) -> Vec<String> {
    let (mut found, mut open, mut quoted) = (Vec::new(), String::new(), false);
    for letter in command.chars().chain([' ']) {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => {
                if ["|", ">", "#", "<"].contains(&open.as_str()) {
                    return found;
                }
                if !open.is_empty() {
                    found.push(std::mem::take(&mut open));
                }
            }
            _ => open.push(letter),
        }
    }
    found
}

#[test]
fn the_groups_hold_every_command_once() {
    let listed: Vec<&str> =
        GROUPS.iter().chain([&INTERNAL]).flat_map(|(_, names)| names.iter().copied()).collect();
    let listed_once: BTreeSet<&str> = listed.iter().copied().collect();
    let command = build_command();
    let real: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
    assert_eq!(listed.len(), listed_once.len(), "a command is in two groups");
    assert_eq!(listed_once, real);
}

#[test]
fn the_overview_fits_a_terminal() {
    let mut command = build_command();
    for help in [command.render_help(), command.render_long_help()] {
        let help = help.to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= OVERVIEW_COLUMNS, "{line}");
        }
    }
    let short = command.render_help().to_string();
    let long = command.render_long_help().to_string();
    for internal in INTERNAL.1 {
        let row = format!("\n  {internal} ");
        assert!(!short.contains(&row) && long.contains(&row), "{internal}\n{short}");
    }
    assert!(!short.contains("\n\n\n") && !long.contains("\n\n\n"), "{long}");
    let folders =
        ["--config <DIR>", "--state <DIR>", "--managed-config <FILE>", "--of-user <NAME>"];
    for option in folders.into_iter().chain(["--color <WHEN>"]) {
        assert_eq!(long.matches(option).count(), 1, "{option}\n{long}");
    }
}

#[test]
fn every_page_has_examples_and_fits() {
    for (name, mut command) in all() {
        let page = command.render_long_help().to_string();
        assert!(page.contains("Examples:\n  "), "`{name}` has no example:\n{page}");
        for line in page.lines() {
            assert!(line.chars().count() <= MOST_COLUMNS, "`{name}`: {line}");
        }
        let folders = name.is_empty();
        assert_eq!(page.contains("Folders:"), folders, "`{name}`:\n{page}");
        assert_eq!(page.contains("--managed-config"), folders, "`{name}`:\n{page}");
    }
}

#[test]
fn every_example_parses() {
    let known: BTreeSet<String> = all().into_iter().map(|(name, _)| name).collect();
    for (name, lines) in EXAMPLES {
        assert!(known.contains(*name), "`{name}` is not a command");
        for example in lines.join("\n").replace("\\\n", "").lines() {
            let mut words = words(example);
            if words.first().is_some_and(|word| word == "sudo") {
                words.remove(0);
            }
            let parsed = build_command().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "`{example}`: {}", parsed.unwrap_err());
            let shown = name.split_whitespace().all(|part| words.iter().any(|word| word == part));
            assert!(shown, "`{example}` is not an example of `{name}`");
        }
    }
}

#[test]
fn every_result_can_be_json() {
    for (name, command) in all() {
        if command.has_subcommands() {
            continue;
        }
        let json = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
        let reason = NO_JSON.iter().find(|(excepted, _)| *excepted == name);
        assert!(json != reason.is_some(), "`{name}`: --json {json}, exception {reason:?}");
    }
}

#[test]
fn one_idea_has_one_name() {
    for (name, command) in all() {
        for argument in command.get_arguments() {
            let long = argument.get_long().unwrap_or_default();
            let short = argument.get_short();
            assert!(
                !["out", "into", "html", "note", "colour"].contains(&long),
                "`{name}`: --{long}"
            );
            for (known, letter) in [("output", 'o'), ("yes", 'y'), ("quiet", 'q')] {
                assert!(
                    (long == known) == (short == Some(letter)),
                    "`{name}`: --{long} and -{short:?}"
                );
            }
        }
    }
}

#[test]
fn tips_lead_to_commands() {
    let all = all();
    for (word, meant) in TRIED {
        assert!(all.iter().all(|(name, _)| name != word), "`{word}` is a command");
        for command in *meant {
            let real = all.iter().any(|(name, _)| name == command) || *command == "--version";
            assert!(real, "`{word}` leads to `{command}`");
        }
    }
}

#[test]
fn a_word_that_is_no_command_gets_the_tip_of_its_meaning() {
    for (words, tip) in [
        (&["revert"][..], Some("portcullis checkpoint restore")),
        (&["--color", "never", "disable"], Some("`portcullis pause`")),
        (&["disable"], Some("`portcullis pause` or `portcullis uninstall`")),
        (&["audit", "undo"], None),
    ] {
        let given: Vec<OsString> = ["portcullis"].iter().chain(words).map(OsString::from).collect();
        let error = build_command().try_get_matches_from(&given).unwrap_err();
        let text = super::tips::with_tip(error, &given).to_string();
        match tip {
            Some(tip) => assert!(text.contains(tip) && !text.contains("install'"), "{text}"),
            None => assert!(!text.contains("did you mean"), "{text}"),
        }
    }
}

#[test]
fn color_is_read_before_the_arguments() {
    use anstream::ColorChoice::{Always, Auto, Never};
    for (words, expected) in [
        (&["audit"][..], None),
        (&["--color", "never", "audit"], Some(Never)),
        (&["audit", "--color=always"], Some(Always)),
        (&["--color=never", "--color", "auto"], Some(Auto)),
        (&["run", "--", "claude", "--color", "never"], None),
        (&["--color", "blue"], None),
    ] {
        let given: Vec<OsString> = words.iter().map(OsString::from).collect();
        assert_eq!(color(&given), expected, "{words:?}");
    }
}

#[test]
fn folders_can_be_named_anywhere_on_the_line() {
    for words in [
        &["portcullis", "--state", "s", "audit", "show"][..],
        &["portcullis", "audit", "--state", "s", "show"],
        &["portcullis", "audit", "show", "--state", "s"],
    ] {
        let matches = build_command().try_get_matches_from(words).unwrap();
        let folder = matches.get_one::<std::path::PathBuf>("state");
        assert_eq!(folder.map(|path| path.as_os_str()), Some("s".as_ref()), "{words:?}");
    }
}

#[test]
fn manual_pages_are_plain() {
    let mut program = describe_command();
    program.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(program).render(&mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("portcullis demo") && !page.contains('\u{1b}'), "{page}");
}
