//! Rewrites of git commands: their texts by table, and their effect in a real git.

use super::{PUSH, WORK, rewritten, rulings};
use portcullis_builtin_shared::sample::{Newest, shell};
use portcullis_plugin::risk_calculator::Objection;
use portcullis_plugin::testing::{self, BuildAction};
use portcullis_plugin::types::{Action, EffectKind, Operation, Origin};
use std::path::Path;
use std::process::Command;

const MADE: &str = "portcullis_kept=$(git stash create) && git update-ref refs/portcullis/kept/review-1/1 \"${portcullis_kept:-HEAD}\"";
const KEPT: &str = "refs/portcullis/kept/review-1/1";

/// Returns the text that keeps the target of a revision, if it has one.
fn referred(revision: &str, kept: &str) -> String {
    format!(
        "if git rev-parse -q --verify {revision} >/dev/null; then git update-ref {kept} {revision}; fi"
    )
}

/// Returns a command line whose first command throws something away.
fn discards(text: &str) -> Action {
    shell(text).affects(EffectKind::Discard, "/project").by(0)
}

/// Returns a command line whose last command throws something away.
fn discards_second(text: &str) -> Action {
    let mut action = shell(text).affects(EffectKind::Discard, "/project").by(0);
    if let Operation::Shell(shell) = &action.operation {
        let last = shell.commands.iter().rposition(|command| command.program == "git");
        let last = last.and_then(|last| u32::try_from(last).ok());
        action.facts.effects.iter_mut().for_each(|effect| effect.command = last);
    }
    action
}

fn forces(text: &str) -> Action {
    shell(text).form("force-push", 200).by(0)
}

#[test]
fn texts() {
    let cases: Vec<(&str, Action, String)> = vec![
        ("reset", discards("git reset --hard"), format!("{MADE} && git reset --hard")),
        (
            "to where it stands",
            discards("git reset --hard HEAD"),
            format!("{MADE} && git reset --hard HEAD"),
        ),
        (
            "elsewhere",
            discards("git -C sub reset --hard"),
            format!("{} && git -C sub reset --hard", MADE.replace("git ", "git -C sub ")),
        ),
        (
            "among others",
            discards("git reset --hard ; ls"),
            format!("{{ {MADE} && git reset --hard; }} ; ls"),
        ),
        (
            "checkout of paths",
            discards("git checkout -- a.txt"),
            format!("{MADE} && git checkout -- a.txt"),
        ),
        ("checkout of all", discards("git checkout ."), format!("{MADE} && git checkout .")),
        ("restore", discards("git restore a.txt b"), format!("{MADE} && git restore a.txt b")),
        (
            "in quotes no loop",
            discards("git reset --hard; echo 'for x do'"),
            format!("{{ {MADE} && git reset --hard; }}; echo 'for x do'"),
        ),
        (
            "two at once",
            discards("git checkout a/; git checkout b/")
                .affects(EffectKind::Discard, "/project")
                .by(1),
            {
                let other = MADE.replace("review-1/1", "review-1/2");
                format!("{{ {MADE} && git checkout a/; }}; {{ {other} && git checkout b/; }}")
            },
        ),
        ("branches", discards("git branch -D a b"), {
            let kept = |branch: &str| {
                referred(&format!("refs/heads/{branch}"), &format!("{KEPT}/{branch}"))
            };
            format!("{} && {} && git branch -D a b", kept("a"), kept("b"))
        }),
        ("moved branch", discards("git branch -f a main"), {
            format!("{} && git branch -f a main", referred("refs/heads/a", &format!("{KEPT}/a")))
        }),
        (
            "stash",
            discards("git stash drop"),
            format!("{} && git stash drop", referred("'stash@{0}'", KEPT)),
        ),
        (
            "a stash",
            discards("git stash drop 2"),
            format!("{} && git stash drop 2", referred("'stash@{2}'", KEPT)),
        ),
        (
            "push",
            forces("git push --force origin main"),
            "git push --force-with-lease origin main".to_owned(),
        ),
        (
            "push, in a cluster",
            forces("git push -uf origin main"),
            "git push --force-with-lease -u origin main".to_owned(),
        ),
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
        (
            "from another commit, with words between",
            discards("git restore --source=HEAD~1 a"),
            WORK,
        ),
        ("checkout from another commit", discards("git checkout HEAD~1 -- a"), WORK),
        (
            "to another commit, over files that git does not know",
            discards("git reset --hard HEAD~1"),
            WORK,
        ),
        ("by force to another branch", discards("git checkout -f main"), WORK),
        ("switch", discards("git switch --discard-changes main"), WORK),
        ("in submodules too", discards("git reset --hard --recurse-submodules"), WORK),
        ("in a loop", discards_second("for i in 1 2; do git reset --hard; done"), WORK),
        ("until it works", discards_second("until git reset --hard; do sleep 1; done"), WORK),
        ("after a merge", discards_second("git merge side ; git reset --hard"), WORK),
        (
            "after a stash comes back",
            discards_second("git stash pop ; git checkout -- a.txt"),
            WORK,
        ),
        (
            "after something that git cannot stash",
            discards_second("git add -N a ; git reset --hard"),
            WORK,
        ),
        (
            "another repository by a variable",
            discards_second("export GIT_DIR=x ; git reset --hard"),
            WORK,
        ),
        ("another repository by a flag", discards("git --git-dir x reset --hard"), WORK),
        ("a folder above", discards("git -C ../x reset --hard"), WORK),
        ("a branch by another name", discards("git branch -D @{-1}"), WORK),
        ("a stash by its time", discards("git stash drop 'stash@{yesterday}'"), WORK),
        (
            "more branches than fit",
            discards("git branch -D a b c d e f g h i j k l m n o p q"),
            WORK,
        ),
        ("untracked files", discards("git clean -fd"), WORK),
        ("remote branches", discards("git branch -Dr origin/a"), WORK),
        ("another program", discards("jj abandon"), WORK),
        (
            "nested",
            change(discards("git reset --hard"), |command| command.origin = Origin::Nested),
            WORK,
        ),
        (
            "wrapped",
            change(discards("git reset --hard"), |command| command.wrappers.push("env".into())),
            WORK,
        ),
        (
            "not known",
            change(discards("git reset --hard x"), |command| command.words[2].known = false),
            WORK,
        ),
        ("not all was read", discards("git reset --hard").partly("odd"), WORK),
        ("no command", shell("x").affects(EffectKind::Discard, "/project"), WORK),
        ("a refspec that forces", forces("git push origin +main"), PUSH),
        ("a mirror", forces("git push --mirror --force"), PUSH),
        (
            "push, nested",
            change(forces("git push -f"), |command| command.origin = Origin::Nested),
            PUSH,
        ),
    ] {
        let found = rulings(&action, &testing::context(), &[]);
        let ruling = found.iter().find(|ruling| ruling.rule == rule);
        assert_eq!(
            ruling.map(|ruling| ruling.objection),
            Some(Objection::Ask),
            "{name}: {found:?}"
        );
    }
    let mut clean = shell("git checkout a").deletes("a").by(0).restorable();
    clean.facts.effects.iter_mut().for_each(|effect| effect.kind = EffectKind::Discard);
    assert!(rulings(&clean, &testing::context(), &[]).is_empty(), "nothing is lost");
}

/// In a repository with work in it, each command has its requested effect, and everything can be
/// restored.
#[test]
fn git_keeps_what_is_named() {
    for (command, lost, back) in [
        ("git reset --hard", "edited", format!("git stash apply {KEPT}")),
        ("git checkout -- kept.txt", "edited", format!("git stash apply {KEPT}")),
        ("git restore kept.txt", "edited", format!("git stash apply {KEPT}")),
        (
            "git branch -D side",
            "side work",
            format!("git branch side {KEPT}/side && git merge -q side"),
        ),
        ("git stash drop", "stashed", format!("git stash apply {KEPT}")),
    ] {
        let project = Repository::new(command);
        let setup = match lost {
            "side work" => {
                "git checkout -qb side && echo 'side work' > kept.txt && git commit -qam side && git checkout -q main"
            }
            "stashed" => "echo stashed > kept.txt && git stash -q",
            _ => "echo edited > kept.txt",
        };
        project.run(setup);
        let action = discards(command);
        let text = rewritten(&action, &rulings(&action, &testing::context(), &[]))
            .unwrap_or_else(|| panic!("`{command}` can keep it"));
        project.run(&text);
        assert_eq!(project.read("kept.txt"), "committed\n", "`{command}` does what it was told");
        project.run(&back);
        assert_eq!(project.read("kept.txt").trim(), lost, "`{command}` can be taken back");
    }
}

/// A repository in a folder of its own, with one commit on `main` and a branch `other`.
struct Repository(std::path::PathBuf);

impl Repository {
    fn new(name: &str) -> Self {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let folder =
            std::env::temp_dir().join(format!("portcullis-git-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the folder is made");
        let repository = Self(folder);
        repository.run("git init -q -b main . && echo committed > kept.txt && git add . && git commit -qm first && git branch other");
        repository
    }

    fn run(&self, text: &str) {
        let mut command = Command::new("sh");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "A")
                .env(format!("GIT_{role}_EMAIL"), "a@example.org");
        }
        let command = command
            .args(["-c", text])
            .current_dir(&self.0)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
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
