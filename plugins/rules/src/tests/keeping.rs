//! Rewrites of git commands: their texts by table, and what a real git makes of them.

use super::{PUSH, WORK, rewritten, rulings};
use portcullis_builtin_judging::sample::{Newest, shell};
use portcullis_plugin::risk_calculator::Objection;
use portcullis_plugin::testing::{self, BuildAction};
use portcullis_plugin::types::{Action, EffectKind, Operation, Origin};
use std::path::Path;
use std::process::Command;

const STASH: &str = "git stash push -m 'kept by portcullis review-1'";
const KEPT: &str = "refs/portcullis/kept/review-1";

/// A command line of which the first command throws something away.
fn discards(text: &str) -> Action {
    shell(text).affects(EffectKind::Discard, "/project").by(0)
}

fn forces(text: &str) -> Action {
    shell(text).form("force-push", 200).by(0)
}

#[test]
fn texts() {
    let cases: Vec<(&str, Action, String)> = vec![
        ("reset", discards("git reset --hard"), format!("{STASH} && git reset --hard")),
        ("elsewhere", discards("git -C sub reset --hard HEAD~1"), format!("git -C sub {} && git -C sub reset --hard HEAD~1", &STASH[4..])),
        ("among others", discards("git reset --hard ; ls"), format!("{{ {STASH} && git reset --hard; }} ; ls")),
        ("checkout of paths", discards("git checkout -- a.txt"), format!("{STASH} -- a.txt && git checkout -- a.txt")),
        ("checkout of all", discards("git checkout ."), format!("{STASH} -- . && git checkout .")),
        ("checkout by force", discards("git checkout -f main"), format!("{STASH} && git checkout -f main")),
        ("restore", discards("git restore a.txt b"), format!("{STASH} -- a.txt b && git restore a.txt b")),
        ("switch", discards("git switch --discard-changes main"), format!("{STASH} && git switch --discard-changes main")),
        ("branches", discards("git branch -D a b"), {
            format!("git update-ref {KEPT}/a refs/heads/a && git update-ref {KEPT}/b refs/heads/b && git branch -D a b")
        }),
        ("moved branch", discards("git branch -f a main"), format!("git update-ref {KEPT}/a refs/heads/a && git branch -f a main")),
        ("stash", discards("git stash drop"), format!("git update-ref {KEPT}/stash 'stash@{{0}}' && git stash drop")),
        ("a stash", discards("git stash drop 2"), format!("git update-ref {KEPT}/stash 'stash@{{2}}' && git stash drop 2")),
        ("push", forces("git push --force origin main"), "git push --force-with-lease origin main".to_owned()),
        ("push, in a cluster", forces("git push -uf origin main"), "git push --force-with-lease -u origin main".to_owned()),
    ];
    for (name, action, expected) in cases {
        let found = rulings(&action, &testing::context(), &[]);
        assert_eq!(rewritten(&action, &found), Some(expected), "{name}: {found:?}");
    }
}

#[test]
fn what_is_in_doubt_is_asked() {
    let change = |mut action: Action, change: fn(&mut portcullis_plugin::types::Command)| {
        if let Operation::Shell(shell) = &mut action.operation {
            change(&mut shell.commands[0]);
        }
        action
    };
    for (name, action, rule) in [
        ("all stashes", discards("git stash clear"), WORK),
        ("piece by piece", discards("git checkout -p"), WORK),
        ("a branch or a path", discards("git checkout a"), WORK),
        ("from another commit", discards("git restore -s HEAD~1 a"), WORK),
        ("untracked files", discards("git clean -fd"), WORK),
        ("remote branches", discards("git branch -Dr origin/a"), WORK),
        ("another program", discards("jj abandon"), WORK),
        ("nested", change(discards("git reset --hard"), |command| command.origin = Origin::Nested), WORK),
        ("wrapped", change(discards("git reset --hard"), |command| command.wrappers.push("env".into())), WORK),
        ("not known", change(discards("git reset --hard x"), |command| command.words[2].known = false), WORK),
        ("not all was read", discards("git reset --hard").partly("odd"), WORK),
        ("no command", shell("x").affects(EffectKind::Discard, "/project"), WORK),
        ("a refspec that forces", forces("git push origin +main"), PUSH),
        ("a mirror", forces("git push --mirror --force"), PUSH),
        ("push, nested", change(forces("git push -f"), |command| command.origin = Origin::Nested), PUSH),
    ] {
        let found = rulings(&action, &testing::context(), &[]);
        let ruling = found.iter().find(|ruling| ruling.rule == rule);
        assert_eq!(ruling.map(|ruling| ruling.objection), Some(Objection::Ask), "{name}: {found:?}");
    }
    let mut clean = shell("git checkout a").deletes("a").by(0).restorable();
    clean.facts.effects.iter_mut().for_each(|effect| effect.kind = EffectKind::Discard);
    assert!(rulings(&clean, &testing::context(), &[]).is_empty(), "nothing is lost");
}

/// In a repository with work in it, each command does what it was told, and all can be had back.
#[test]
fn git_keeps_what_it_is_told() {
    for (command, lost, back) in [
        ("git reset --hard", "edited", "git stash pop"),
        ("git checkout -- kept.txt", "edited", "git stash pop"),
        ("git restore kept.txt", "edited", "git stash pop"),
        ("git checkout -f other", "edited", "git checkout -q main && git stash pop"),
        ("git branch -D side", "side work", "git merge -q refs/portcullis/kept/review-1/side"),
        ("git stash drop", "stashed", "git stash apply refs/portcullis/kept/review-1/stash"),
    ] {
        let project = Repository::new(command);
        let setup = match lost {
            "side work" => "git checkout -qb side && echo 'side work' > kept.txt && git commit -qam side && git checkout -q main",
            "stashed" => "echo stashed > kept.txt && git stash -q",
            _ => "echo edited > kept.txt",
        };
        project.run(setup);
        let action = discards(command);
        let text = rewritten(&action, &rulings(&action, &testing::context(), &[])).unwrap_or_else(|| panic!("`{command}` can keep it"));
        project.run(&text);
        assert_eq!(project.read("kept.txt"), "committed\n", "`{command}` does what it was told");
        project.run(back);
        assert_eq!(project.read("kept.txt").trim(), lost, "`{command}` can be taken back");
    }
}

/// A repository in a folder of its own, with one commit on `main` and a branch `other`.
struct Repository(std::path::PathBuf);

impl Repository {
    fn new(name: &str) -> Self {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let folder = std::env::temp_dir().join(format!("portcullis-git-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the folder is made");
        let repository = Self(folder);
        repository.run("git init -q -b main . && echo committed > kept.txt && git add . && git commit -qm first && git branch other");
        repository
    }

    fn run(&self, text: &str) {
        let mut command = Command::new("sh");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "A").env(format!("GIT_{role}_EMAIL"), "a@example.org");
        }
        let command =
            command.args(["-c", text]).current_dir(&self.0).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = command.output().expect("sh runs");
        assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(Path::new(&self.0).join(name)).expect("the file is there")
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
