//! Scores of deletions: expendable files, other files, and files that a person asked to remove.

use super::{check, ids, risk_in};
use portcullis_builtin_shared::sample::{Newest, shell};
use portcullis_plugin::testing::{self, BuildAction, BuildContext, file_delete};
use portcullis_plugin::types::{Action, EffectKind, Scope};

/// Returns an action whose first path is the session's own.
fn owned(mut action: Action) -> Action {
    action.attributes.push(("own-paths", "0").into());
    action
}

#[test]
fn deletions() {
    let forced =
        |path: &str| shell("rm -rf x").deletes(path).below().form("recursive-force-delete", 200);
    check(
        vec![
            (
                "the contract's own",
                file_delete("/important/file.txt"),
                940,
                &["file_deletion", "out_of_scope"],
            ),
            (
                "ignored build output",
                shell("rm build/x.o").deletes("build/x.o").restorable(),
                400,
                &["expendable_deletion"],
            ),
            ("ignored folder", forced("node_modules").restorable(), 400, &["expendable_deletion"]),
            (
                "a folder that the session filled",
                owned(forced("new")),
                400,
                &["expendable_deletion"],
            ),
            (
                "a file that it copied",
                owned(shell("rm x").deletes("x")),
                400,
                &["expendable_deletion"],
            ),
            ("rmdir", shell("rmdir x").deletes("x").by(0), 400, &["expendable_deletion"]),
            (
                "rmdir elsewhere",
                shell("rmdir /srv/x").deletes("/srv/x").by(0),
                940,
                &["file_deletion", "out_of_scope"],
            ),
            ("scratch", shell("rm x").deletes("/tmp/mine/x"), 400, &["expendable_deletion"]),
            (
                "scratch, partly known",
                shell("rm x").deletes("/tmp/mine-").uncertain(),
                400,
                &["expendable_deletion"],
            ),
            (
                "what mktemp made",
                shell("x")
                    .does(EffectKind::FileCreate, "/tmp")
                    .uncertain()
                    .deletes("/tmp")
                    .uncertain()
                    .below(),
                400,
                &["expendable_deletion"],
            ),
            (
                "a fresh temporary file",
                shell("mktemp").does(EffectKind::FileCreate, "/tmp").uncertain(),
                300,
                &["file_creation"],
            ),
            (
                "unknown part of all scratch",
                forced("/tmp").uncertain().scope(Scope::Outside),
                940,
                &["file_deletion", "recursive-force-delete"],
            ),
            ("nothing there", forced("gone").absent(), 400, &["expendable_deletion"]),
            (
                "partly known",
                forced("src").restorable().uncertain(),
                940,
                &["file_deletion", "recursive-force-delete"],
            ),
            ("sources", forced("src"), 940, &["file_deletion", "recursive-force-delete"]),
            ("the project", forced("/project"), 1000, &["file_deletion", "recursive-force-delete"]),
            (
                "all in the project",
                forced("/project/*"),
                1000,
                &["file_deletion", "recursive-force-delete"],
            ),
            (
                "its history",
                forced("/project/.git"),
                1000,
                &["file_deletion", "recursive-force-delete"],
            ),
            ("all scratch", forced("/tmp/*"), 1000, &["file_deletion", "recursive-force-delete"]),
            (
                "other folder",
                forced("/srv/data"),
                1000,
                &["file_deletion", "out_of_scope", "recursive-force-delete"],
            ),
            (
                "root",
                forced("/"),
                1000,
                &["file_deletion", "system_or_credentials", "recursive-force-delete"],
            ),
            (
                "not known",
                forced("x").scope(Scope::Unknown).uncertain(),
                940,
                &["file_deletion", "recursive-force-delete"],
            ),
            (
                "and what is removed stands in scratch",
                forced("node_modules").restorable().reads("/tmp/list"),
                400,
                &["expendable_deletion"],
            ),
            (
                "and what is removed stands elsewhere",
                forced("node_modules").restorable().reads("/srv/list"),
                600,
                &["expendable_deletion", "recursive-force-delete"],
            ),
            (
                "a form of a program in scratch",
                shell("x").does(EffectKind::ProcessStart, "/tmp/x").form("f", 100),
                800,
                &["unknown_effect", "f"],
            ),
            (
                "one of two can be restored",
                forced("node_modules").restorable().deletes("src").below(),
                940,
                &["file_deletion", "recursive-force-delete"],
            ),
        ],
        &testing::context(),
    );
}

/// A form is pardoned by what its own command does, and shows that command.
#[test]
fn forms_belong_to_their_command() {
    let of = |index: u32| {
        let action = shell("rm -rf node_modules; rm src")
            .deletes("node_modules")
            .restorable()
            .by(0)
            .deletes("src")
            .by(1);
        let mut action = action.form("recursive-force-delete", 200);
        action.facts.forms.iter_mut().for_each(|form| form.command = Some(index));
        risk_in(&action, &testing::context(), &[])
    };
    assert_eq!(ids(&of(0)), ["file_deletion"], "its own command deletes what can be restored");
    let risk = of(1);
    assert_eq!(ids(&risk), ["file_deletion", "recursive-force-delete"]);
    let shown: Vec<&str> = risk
        .factors
        .iter()
        .filter(|factor| factor.id == "recursive-force-delete")
        .map(|factor| factor.evidence[0].value.as_str())
        .collect();
    assert_eq!(shown, ["rm src"]);
}

/// A person who asks for a deletion by name is not warned about it; a request that only mentions
/// the file, forbids the deletion or is older than the newest one asks for nothing.
#[test]
fn a_requested_deletion_is_ordinary() {
    let deletes = || shell("rm scripts/fix.sh").deletes("scripts/fix.sh");
    for (requests, is_ordinary) in [
        (&["Remove fix.sh please."][..], true),
        (&["we can delete `scripts/fix.sh`, it is done"], true),
        (&["fix.sh fails: remove the second line"], false),
        (&["Clean up: remove a.txt, b.txt and fix.sh"], true),
        (&["don't remove fix.sh"], false),
        (&["run fix.sh"], false),
        (&["remove the old scripts"], false),
        (&["remove fix.sh", "now run the tests"], false),
        (&[], false),
    ] {
        let mut context = testing::context();
        for (at, request) in requests.iter().enumerate() {
            context = context.goal(request);
            if let Some(goal) = context.goals.last_mut() {
                goal.at += at as u64;
            }
        }
        let risk = risk_in(&deletes(), &context, &[]);
        assert_eq!(ids(&risk).contains(&"expendable_deletion"), is_ordinary, "{requests:?}");
    }
    let folder = shell("rm -r scripts").deletes("scripts").below();
    let context = testing::context().goal("remove scripts");
    assert!(!ids(&risk_in(&folder, &context, &[])).contains(&"expendable_deletion"));
}
