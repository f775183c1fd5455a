//! The rewrite of a deletion: its text by table, and its effect in a real shell.

use super::{DELETION, rewritten, rulings, tree};
use portcullis_builtin_shared::sample::{Newest, errors_to, shell};
use portcullis_plugin::risk_calculator::Objection;
use portcullis_plugin::testing::{self, BuildAction};
use portcullis_plugin::types::{
    Action, Direction, EffectKind, Entry, Operation, Origin, Redirection, Setting, Word,
};
use std::path::Path;
use std::process::Command;

const QUARANTINE: &str = "/project/.portcullis/quarantine/review-1";
const HIDDEN: &str = "echo '*' > /project/.portcullis/quarantine/.gitignore";

fn delete(action: Action, path: &str, command: u32) -> Action {
    action.deletes(path).below().by(command)
}

fn change(
    mut action: Action,
    change: impl FnOnce(&mut portcullis_plugin::types::Command),
) -> Action {
    if let Operation::Shell(shell) = &mut action.operation {
        change(&mut shell.commands[0]);
    }
    action
}

#[test]
fn texts() {
    let cases: Vec<(&str, Action, String)> = vec![
        (
            "alone",
            tree("src"),
            format!("mkdir -p {QUARANTINE} && {HIDDEN} && mv -- /project/src {QUARANTINE}/"),
        ),
        (
            "among others",
            delete(shell("cd a || rm -rf src && ls"), "src", 1),
            format!(
                "cd a || {{ mkdir -p {QUARANTINE} && {HIDDEN} && mv -- /project/src {QUARANTINE}/; }} && ls"
            ),
        ),
        (
            "with what is not there",
            tree("src").deletes("gone").below().by(0).absent(),
            format!("mkdir -p {QUARANTINE} && {HIDDEN} && mv -- /project/src {QUARANTINE}/"),
        ),
        (
            "of one name",
            delete(delete(shell("rm -rf a/x b/x"), "a/x", 0), "b/x", 0),
            format!(
                "mkdir -p {QUARANTINE} {QUARANTINE}/part-1 && {HIDDEN} && mv -- /project/a/x {QUARANTINE}/ && mv -- /project/b/x {QUARANTINE}/part-1/"
            ),
        ),
        (
            "within each other",
            delete(delete(shell("rm -rf a a/b"), "a/b", 0), "a", 0),
            format!("mkdir -p {QUARANTINE} && {HIDDEN} && mv -- /project/a {QUARANTINE}/"),
        ),
        (
            "two commands",
            delete(delete(shell("rm -rf a ; rm -rf b"), "a", 0), "b", 1),
            format!(
                "{{ mkdir -p {QUARANTINE} && {HIDDEN} && mv -- /project/a {QUARANTINE}/; }} ; {{ mkdir -p {QUARANTINE} && {HIDDEN} && mv -- /project/b {QUARANTINE}/; }}"
            ),
        ),
        (
            "only the lossy one of two",
            delete(delete(shell("rm -rf a ; rm -rf b"), "b", 1).restorable(), "a", 0),
            format!(
                "{{ mkdir -p {QUARANTINE} && {HIDDEN} && mv -- /project/a {QUARANTINE}/; }} ; rm -rf b"
            ),
        ),
        (
            "errors to nowhere",
            change(tree("src"), |command| command.redirections.push(errors_to("/dev/null"))),
            format!(
                "{{ mkdir -p {QUARANTINE} && {HIDDEN} && mv -- /project/src {QUARANTINE}/; }} 2>/dev/null"
            ),
        ),
    ];
    for (name, action, expected) in cases {
        let found = rulings(&action, &testing::context(), &[]);
        assert_eq!(rewritten(&action, &found), Some(expected), "{name}: {found:?}");
    }
}

#[test]
fn what_is_in_doubt_is_asked() {
    let to_a_file = |redirection: Redirection| Redirection {
        target: Word { text: "log".into(), known: true, quoted: false },
        ..redirection
    };
    let to_descriptor = |number: &str| {
        let target = Word { text: number.to_owned(), known: true, quoted: false };
        Redirection { descriptor: 1, direction: Direction::Duplicate, target }
    };
    let cases: Vec<(&str, Action)> = vec![
        (
            "a link with a slash after it",
            change(
                tree("src").path(|path| path.entry = portcullis_plugin::types::Entry::Link),
                |command| {
                    command.words.push(Word { text: "src/".into(), known: true, quoted: false });
                },
            ),
        ),
        (
            "through a link that the line made",
            delete(tree("deep/work").path(|path| path.glob = false), "work", 0).uncertain(),
        ),
        ("another program", delete(shell("git rm -r src"), "src", 0)),
        ("wrapper", change(tree("src"), |command| command.wrappers.push("nice".into()))),
        ("mightier user", change(tree("src"), |command| command.privileged = true)),
        ("assignment", change(tree("src"), |command| command.assignments.push(("A", "b").into()))),
        ("fed", change(tree("src"), |command| command.input_from = Some(0))),
        ("nested", change(tree("src"), |command| command.origin = Origin::Nested)),
        ("function", change(tree("src"), |command| command.origin = Origin::FunctionBody)),
        (
            "writes a log",
            change(tree("src"), |command| command.redirections.push(to_a_file(errors_to("x")))),
        ),
        ("place outside the text", change(tree("src"), |command| command.end = 9000)),
        ("place of something else", change(tree("src"), |command| command.end = command.start)),
        ("does more than delete", tree("src").creates("b").by(0)),
        ("reaches another machine", tree("src").contacts("example.org").by(0)),
        ("not all was read", tree("src").partly("odd")),
        ("masked", tree("src-<secret:token:0123abcd>")),
        ("says what it deletes", delete(shell("rm -rfv src"), "src", 0)),
        ("asks", delete(shell("rm -r --interactive src"), "src", 0)),
        ("an option that is not known", delete(shell("rm -rf --odd src"), "src", 0)),
        (
            "a link, with a slash",
            delete(shell("rm -rf src/"), "src", 0).path(|path| path.entry = Entry::Link),
        ),
        ("a folder that it stands in", delete(shell("rm -rf src/."), "src", 0)),
        (
            "a missing one, which fails",
            delete(delete(shell("rm -r src gone"), "src", 0), "gone", 0).absent(),
        ),
        ("a loop", delete(shell("for i in 1 2 ; do rm -rf src ; done"), "src", 1)),
        ("as long as it works", delete(shell("while rm -rf src ; do ls ; done"), "src", 0)),
        (
            "made in between",
            delete(
                delete(shell("touch new ; rm -rf src new").creates("new").absent().by(0), "new", 1),
                "src",
                1,
            ),
        ),
        ("gone in between", delete(shell("x src ; rm -rf src").deletes("src").by(0), "src", 1)),
        (
            "moved in between",
            delete(
                shell("mv a b ; rm -rf b").modifies("a").below().by(0).creates("b").by(0),
                "b",
                1,
            ),
        ),
        (
            "searched afterwards",
            delete(shell("rm -rf src ; grep -r x .").reads("/project").by(1), "src", 0),
        ),
        (
            "cleaned afterwards",
            delete(
                shell("rm -rf src ; git clean -fdx")
                    .affects(EffectKind::Discard, "/project")
                    .below()
                    .by(1),
                "src",
                0,
            ),
        ),
        ("added by force", delete(shell("rm -rf src ; git add -f ."), "src", 0)),
        ("another meaning of names", delete(shell("alias mv=x ; rm -rf src"), "src", 1)),
        ("no clobber", delete(shell("set -C ; rm -rf src"), "src", 1)),
        (
            "to a closed descriptor",
            change(tree("src"), |command| command.redirections.push(to_descriptor("9"))),
        ),
        ("the quarantine itself", tree("/project/.portcullis")),
        ("a part of the quarantine", tree("/project/.portcullis/quarantine/review-0/x")),
        ("too long", tree(&"a".repeat(5000))),
        ("no command", tree("src").affects(EffectKind::ProcessStart, "").deletes("b").below()),
    ];
    for (name, action) in cases {
        let found = rulings(&action, &testing::context(), &[]);
        let deletion = found.iter().find(|ruling| ruling.rule == DELETION);
        assert_eq!(
            deletion.map(|ruling| ruling.objection),
            Some(Objection::Ask),
            "{name}: {found:?}"
        );
    }
    let off = [Setting::new("prevent_recursive_deletion.quarantine", "")];
    assert_eq!(
        rulings(&tree("src"), &testing::context(), &off).first().map(|ruling| ruling.objection),
        Some(Objection::Ask)
    );
}

/// Runs the rewrite of deleting folders of these names in a real folder, and checks their new
/// places.
#[test]
fn a_shell_moves_what_is_named() {
    let project = std::env::temp_dir().join(format!("portcullis-rules-{}", std::process::id()));
    let names = [
        "plain",
        "two words",
        "it's",
        "$(touch run)",
        "`touch run`",
        "-rf",
        "a;touch run",
        "new\nline",
        "a*b",
        "~",
        "\"",
        "\\",
    ];
    for name in names {
        std::fs::create_dir_all(project.join(name)).expect("the folder is made");
        std::fs::write(project.join(name).join("kept"), name).expect("the file is written");
    }
    let root = project.to_str().expect("the temporary folder's name is text");
    let context =
        portcullis_plugin::types::Context { roots: vec![root.to_owned()], ..testing::context() };
    for (index, name) in names.iter().enumerate() {
        let mut action = tree(&format!("{root}/{name}"))
            .scope(portcullis_plugin::types::Scope::Inside)
            .path(|path| path.glob = false);
        action.id = format!("id/{index}");
        let text = rewritten(&action, &rulings(&action, &context, &[]))
            .unwrap_or_else(|| panic!("{name:?} can be moved"));
        let ended =
            Command::new("sh").args(["-c", &text]).current_dir(&project).status().expect("sh runs");
        assert!(ended.success(), "{text}");
        let kept = project
            .join(".portcullis/quarantine")
            .join(format!("id-{index}"))
            .join(name)
            .join("kept");
        assert_eq!(std::fs::read_to_string(&kept).ok().as_deref(), Some(*name), "{text}");
    }
    assert_eq!(left_in(&project), [".portcullis"], "nothing else was run or left");
    std::fs::remove_dir_all(&project).expect("the folder goes");
}

fn left_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    entries
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .collect()
}
