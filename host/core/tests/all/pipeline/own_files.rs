//! The files that a session made itself are named to the plugins, as long as nothing else changed
//! them; a folder, as long as every file in it is one of them.

use crate::harness::{CWD, World, answer, pre, rules, says_of, seen};
use portcullis_core::action::Entry;
use portcullis_core::finding::Assessment;
use portcullis_core::observe::Observed;
use portcullis_core::own_files::ATTRIBUTE;
use portcullis_core::score::{Severity, Verdict};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

/// A call, and what is at the file's path when it is reviewed.
type Call = (Value, Entry);

fn writes(entry: Entry) -> Call {
    (pre("Write", json!({"file_path": format!("{CWD}/a.md"), "content": "x"}), "w"), entry)
}

fn edits() -> Call {
    let input = json!({"file_path": format!("{CWD}/a.md"), "old_string": "x", "new_string": "y"});
    (pre("Edit", input, "e"), Entry::File)
}

fn runs(command: &str) -> Call {
    (pre("Bash", json!({ "command": command }), "b"), Entry::File)
}

/// Runs a command while nothing is at the path.
fn makes(command: &str) -> Call {
    (runs(command).0, Entry::Absent)
}

#[test]
fn only_files_of_its_own_texts_are_its_own() {
    let cases: Vec<(&str, Vec<Call>, bool)> = vec![
        ("one that it wrote", vec![writes(Entry::Absent)], true),
        ("one that it wrote and edited", vec![writes(Entry::Absent), edits()], true),
        ("written twice", vec![writes(Entry::Absent), writes(Entry::File)], true),
        ("one that was there", vec![writes(Entry::File)], false),
        ("one that it only edited", vec![edits()], false),
        ("one that it wrote and touched", vec![writes(Entry::Absent), runs("touch a.md")], true),
        (
            "one that a program changed",
            vec![writes(Entry::Absent), runs("sed -i s/a/b/ a.md")],
            false,
        ),
        ("one that it touched", vec![makes("touch a.md")], true),
        ("a copy", vec![makes("cp b.md a.md")], true),
        ("a copy over one that was there", vec![runs("cp b.md a.md")], false),
        ("one that was moved there", vec![makes("mv b.md a.md")], false),
        ("one that code wrote", vec![makes("python3 a.md")], true),
        (
            "one that it deleted, so that another may be there",
            vec![writes(Entry::Absent), runs("rm a.md")],
            false,
        ),
        ("none", vec![], false),
    ];
    for (name, calls, expected) in cases {
        assert_eq!(is_own_at_last(&mut World::default(), calls), expected, "{name}");
    }
}

#[test]
fn a_call_that_a_person_may_refuse_makes_nothing() {
    for (verdict, expected) in
        [(Verdict::Warn, true), (Verdict::Ask, false), (Verdict::Block, false)]
    {
        let mut world = World::default();
        world.plugins.assess = says_of("content", rules(verdict, Severity::Medium));
        assert_eq!(is_own_at_last(&mut world, vec![writes(Entry::Absent)]), expected, "{verdict}");
    }
}

/// Sends the calls; returns true if the plugins then hear that the file is the session's own.
fn is_own_at_last(world: &mut World, calls: Vec<Call>) -> bool {
    for (payload, entry) in calls {
        world.observed.insert(format!("{CWD}/a.md"), seen(entry));
        world.send(&payload);
    }
    world.observed.insert(format!("{CWD}/a.md"), seen(Entry::File));
    let own = names_own(world, "rm a.md");
    assert!(own.as_deref().is_none_or(|positions| positions == "0"), "{own:?}");
    own.is_some()
}

#[test]
fn a_folder_is_its_own_if_every_file_in_it_is() {
    let [a, b] = ["a.md", "b.md"].map(|name| format!("{CWD}/new/{name}"));
    let deep = format!("{CWD}/new/deep/");
    for (name, held, expected) in [
        ("one that it filled", Some(vec![a.clone()]), true),
        ("with an empty folder in it", Some(vec![a.clone(), deep.clone()]), true),
        ("an empty one", Some(vec![]), true),
        ("one with a file of somebody else", Some(vec![a.clone(), b.clone()]), false),
        ("one with files of somebody else", Some(vec![b]), false),
        ("one of which nothing is known", None, false),
    ] {
        let mut world = World::default();
        world.observed.insert(a.clone(), seen(Entry::Absent));
        world.send(&pre("Write", json!({"file_path": a, "content": "x"}), "w"));
        let folder = Observed { holds: held, ..seen(Entry::Folder) };
        world.observed.insert(format!("{CWD}/new"), folder);
        let own = names_own(&mut world, "rm -rf new");
        assert_eq!(own.is_some(), expected, "{name}: {own:?}");
    }
}

/// Runs a command; returns the attribute that the plugins get about it.
fn names_own(world: &mut World, command: &str) -> Option<String> {
    let heard = Rc::new(RefCell::new(None));
    let hears = Rc::clone(&heard);
    world.plugins.assess = Box::new(move |action, _| {
        let own = action.attributes.iter().find(|(name, _)| name == ATTRIBUTE);
        *hears.borrow_mut() = Some(own.map(|(_, positions)| positions.clone()));
        vec![answer("judge", Ok(Assessment::default()))]
    });
    world.bash(command, "last");
    heard.borrow_mut().take().expect("the plugins were asked")
}
