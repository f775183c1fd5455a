//! The rewrite of a deletion: its text by table, and what a real shell makes of it.

use super::{DELETION, rewritten, rulings, tree};
use portcullis_builtin_judging::sample::{Newest, errors_to, shell};
use portcullis_plugin::risk_calculator::Objection;
use portcullis_plugin::testing::{self, BuildAction};
use portcullis_plugin::types::{Action, EffectKind, Operation, Origin, Redirection, Setting, Word};
use std::path::Path;
use std::process::Command;

const SHELF: &str = "/project/.portcullis/quarantine/review-1";

fn delete(action: Action, path: &str, command: u32) -> Action {
    action.deletes(path).below().by(command)
}

fn change(mut action: Action, change: impl FnOnce(&mut portcullis_plugin::types::Command)) -> Action {
    if let Operation::Shell(shell) = &mut action.operation {
        change(&mut shell.commands[0]);
    }
    action
}

#[test]
fn texts() {
    let cases: Vec<(&str, Action, String)> = vec![
        ("alone", tree("src"), format!("mkdir -p {SHELF} && mv -- /project/src {SHELF}/")),
        (
            "among others",
            delete(shell("cd a || rm -rf src && ls"), "src", 1),
            format!("cd a || {{ mkdir -p {SHELF} && mv -- /project/src {SHELF}/; }} && ls"),
        ),
        (
            "with what is not there",
            tree("src").deletes("gone").below().by(0).absent(),
            format!("mkdir -p {SHELF} && mv -- /project/src {SHELF}/"),
        ),
        (
            "of one name",
            delete(delete(shell("rm -rf a/x b/x"), "a/x", 0), "b/x", 0),
            format!("mkdir -p {SHELF} {SHELF}/part-1 && mv -- /project/a/x {SHELF}/ && mv -- /project/b/x {SHELF}/part-1/"),
        ),
        (
            "within each other",
            delete(delete(shell("rm -rf a a/b"), "a/b", 0), "a", 0),
            format!("mkdir -p {SHELF} && mv -- /project/a {SHELF}/"),
        ),
        (
            "two commands",
            delete(delete(shell("rm -rf a ; rm -rf b"), "a", 0), "b", 1),
            format!("{{ mkdir -p {SHELF} && mv -- /project/a {SHELF}/; }} ; {{ mkdir -p {SHELF} && mv -- /project/b {SHELF}/; }}"),
        ),
        (
            "only the lossy one of two",
            delete(delete(shell("rm -rf a ; rm -rf b"), "b", 1).restorable(), "a", 0),
            format!("{{ mkdir -p {SHELF} && mv -- /project/a {SHELF}/; }} ; rm -rf b"),
        ),
        (
            "errors to nowhere",
            change(tree("src"), |command| command.redirections.push(errors_to("/dev/null"))),
            format!("mkdir -p {SHELF} && mv -- /project/src {SHELF}/"),
        ),
    ];
    for (name, action, expected) in cases {
        let found = rulings(&action, &testing::context(), &[]);
        assert_eq!(rewritten(&action, &found), Some(expected), "{name}: {found:?}");
    }
}

#[test]
fn what_is_in_doubt_is_asked() {
    let to_a_file =
        |redirection: Redirection| Redirection { target: Word { text: "log".into(), known: true, quoted: false }, ..redirection };
    let cases: Vec<(&str, Action)> = vec![
        ("another program", delete(shell("git rm -r src"), "src", 0)),
        ("wrapper", change(tree("src"), |command| command.wrappers.push("nice".into()))),
        ("mightier user", change(tree("src"), |command| command.privileged = true)),
        ("assignment", change(tree("src"), |command| command.assignments.push(("A", "b").into()))),
        ("fed", change(tree("src"), |command| command.input_from = Some(0))),
        ("nested", change(tree("src"), |command| command.origin = Origin::Nested)),
        ("function", change(tree("src"), |command| command.origin = Origin::FunctionBody)),
        ("writes a log", change(tree("src"), |command| command.redirections.push(to_a_file(errors_to("x"))))),
        ("place outside the text", change(tree("src"), |command| command.end = 9000)),
        ("place of something else", change(tree("src"), |command| command.end = command.start)),
        ("does more than delete", tree("src").creates("b").by(0)),
        ("reaches another machine", tree("src").contacts("example.org").by(0)),
        ("not all was read", tree("src").partly("odd")),
        ("masked", tree("src-<secret:token:0123abcd>")),
        ("the quarantine itself", tree("/project/.portcullis")),
        ("a part of the quarantine", tree("/project/.portcullis/quarantine/review-0/x")),
        ("too long", tree(&"a".repeat(5000))),
        ("no command", tree("src").affects(EffectKind::ProcessStart, "").deletes("b").below()),
    ];
    for (name, action) in cases {
        let found = rulings(&action, &testing::context(), &[]);
        let deletion = found.iter().find(|ruling| ruling.rule == DELETION);
        assert_eq!(deletion.map(|ruling| ruling.objection), Some(Objection::Ask), "{name}: {found:?}");
    }
    let off = [Setting::new("prevent_recursive_deletion.quarantine", "")];
    assert_eq!(rulings(&tree("src"), &testing::context(), &off).first().map(|ruling| ruling.objection), Some(Objection::Ask));
}

/// Runs the rewrite of deleting folders of these names in a real folder, and looks where they are.
#[test]
fn a_shell_moves_what_it_is_told() {
    let project = std::env::temp_dir().join(format!("portcullis-rules-{}", std::process::id()));
    let names = ["plain", "two words", "it's", "$(touch run)", "`touch run`", "-rf", "a;touch run", "new\nline", "a*b", "~", "\"", "\\"];
    for name in names {
        std::fs::create_dir_all(project.join(name)).expect("the folder is made");
        std::fs::write(project.join(name).join("kept"), name).expect("the file is written");
    }
    let root = project.to_str().expect("the temporary folder's name is text");
    let context = portcullis_plugin::types::Context { roots: vec![root.to_owned()], ..testing::context() };
    for (index, name) in names.iter().enumerate() {
        let mut action = tree(&format!("{root}/{name}")).scope(portcullis_plugin::types::Scope::Inside).path(|path| path.glob = false);
        action.id = format!("id/{index}");
        let text = rewritten(&action, &rulings(&action, &context, &[])).unwrap_or_else(|| panic!("{name:?} can be moved"));
        let ended = Command::new("sh").args(["-c", &text]).current_dir(&project).status().expect("sh runs");
        assert!(ended.success(), "{text}");
        let kept = project.join(".portcullis/quarantine").join(format!("id-{index}")).join(name).join("kept");
        assert_eq!(std::fs::read_to_string(&kept).ok().as_deref(), Some(*name), "{text}");
    }
    assert_eq!(left_in(&project), [".portcullis"], "nothing else was run or left");
    std::fs::remove_dir_all(&project).expect("the folder goes");
}

fn left_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    entries.map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned()).collect()
}
