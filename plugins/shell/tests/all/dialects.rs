//! Texts whose meaning depends on who reads them: statements of different databases, files that are
//! printed one after the other, options of awk, and the hooks of git.

use crate::scripts::{reading_with, text};
use crate::{effects, forms};

/// Statements that only one of the databases runs.
const STATEMENTS: &[(&str, &str)] = &[
    ("copy a from program $$id$$", "database-files"),
    ("COPY a FROM PROGRAM 'id'", "database-files"),
    ("copy a from program'id'", "database-files"),
    ("copy a to program 'id'", "database-files"),
    ("/*! drop table a */", "drop-data"),
    ("/*!50001 DROP TABLE a */;", "drop-data"),
    ("/*M! drop table a */", "drop-data"),
    ("/*M!100100 drop table a */", "drop-data"),
    ("select 'it\\'s'; drop table a", "drop-data"),
    ("select '\\'; drop table a; --'", "drop-data"),
    ("select \"it's\"; drop table a", "drop-data"),
    ("select `a'b` from c; drop table a", "drop-data"),
    ("select 1 # it's\n; drop table a", "drop-data"),
    ("select 1--1; drop table a", "drop-data"),
];

/// Statements that look like those, and lose nothing.
const HARMLESS: &[&str] = &[
    "copy program from stdin",
    "copy (select * from program) to stdout",
    "/* drop table a */ select 1",
    "/*!40101 SET NAMES utf8 */; select 1",
    "select '/*! drop table a */'",
    "insert into a values ('drop table a; drop table b')",
    "update a set b = 'it\\'s' where id = 1",
    "update a set b = 'it''s' where id = 1",
    "select 1 -- drop table a",
    "select \"drop table a\"",
];

#[test]
fn the_gravest_reading_of_a_statement_counts() {
    let files = |statement: &str| [("x.sql", text(statement))];
    let mut wrong = Vec::new();
    for client in ["psql -h db.example -f x.sql", "mysql -h db.example < x.sql"] {
        for (statement, form) in STATEMENTS {
            let read = reading_with(client, &files(statement));
            if !forms(&read).contains(form) {
                wrong.push(format!("{client}, {statement}: {:?}", forms(&read)));
            }
        }
        for statement in HARMLESS {
            let read = reading_with(client, &files(statement));
            if forms(&read)
                .iter()
                .any(|form| ["database-files", "drop-data", "delete-all-rows"].contains(form))
            {
                wrong.push(format!("{client}, {statement}: {:?}", forms(&read)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_are_joined_without_a_break() {
    let mut wrong = Vec::new();
    for (first, second, runs) in [
        ("rm -rf ", "/srv/data\n", true),
        ("rm -rf /srv/", "data\n", true),
        ("r", "m -rf /srv/data\n", true),
        ("echo ", "rm -rf /srv/data\n", false),
        ("# ", "rm -rf /srv/data\n", false),
    ] {
        let files = [("a", text(first)), ("b", text(second))];
        for command in [
            "cat a b | sh",
            "cat a b > c; sh c",
            "cat a > c; cat b >> c; sh c",
            "eval \"$(cat a b)\"",
        ] {
            let found = effects(&reading_with(command, &files));
            if found.iter().any(|effect| effect == "delete! /srv/data") != runs {
                wrong.push(format!("{command}, {first:?}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn options_of_awk_go_on_after_their_values() {
    let deletes = |command: &str| {
        let program = text("BEGIN { system(\"rm -rf /srv/data\") }");
        let read = reading_with(command, &[("x.awk", program), ("y.awk", text("{ print }"))]);
        effects(&read).iter().any(|effect| effect == "delete! /srv/data")
    };
    let programs =
        ["-f x.awk", "-fx.awk", "--file x.awk", "--file=x.awk", "--fil=x.awk", "-E x.awk"];
    for before in ["", "-F :", "-F:", "-v a=1", "-va=1", "-f y.awk", "--assign a=1", "-F : -v a=1"]
    {
        for program in programs {
            for awk in ["awk", "gawk"] {
                let command = format!("{awk} {before} {program} data.txt");
                assert!(deletes(&command), "{command}");
            }
        }
    }
    for harmless in
        ["awk -f y.awk x.awk", "awk '{ print }' -f x.awk", "awk -v f=x.awk '{ print }' a"]
    {
        assert!(!deletes(harmless), "{harmless}");
    }
}

#[test]
fn a_git_command_starts_each_of_its_hooks() {
    let runs = |command: &str, hook: &str| {
        let files = [(hook, text("#!/bin/sh\nrm -rf /srv/data\n"))];
        effects(&reading_with(command, &files)).iter().any(|effect| effect == "delete! /srv/data")
    };
    for (command, hook) in [
        ("git checkout -- a.txt", "post-checkout"),
        ("git checkout main", "post-checkout"),
        ("git cherry-pick abc123", "post-commit"),
        ("git cherry-pick abc123", "prepare-commit-msg"),
        ("git revert HEAD", "post-commit"),
        ("git pull", "post-merge"),
        ("git pull --rebase", "post-checkout"),
        ("git commit -m a", "reference-transaction"),
        ("git fetch", "reference-transaction"),
        ("git tag v1", "reference-transaction"),
        ("git add a.txt", "post-index-change"),
        ("git stash", "post-index-change"),
        ("git stash push -u -q", "reference-transaction"),
        ("git stash pop", "post-index-change"),
        ("git commit --amend", "post-rewrite"),
    ] {
        assert!(runs(command, &format!(".git/hooks/{hook}")), "{command}: {hook}");
    }
    for key in ["core.hooksPath", "core.hookspath", "CORE.HOOKSPATH", "Core.HooksPath"] {
        assert!(runs(&format!("git -c {key}=h commit -m a"), "h/pre-commit"), "{key}");
        let off = format!("git -c {key}=/dev/null commit -m a");
        assert!(!runs(&off, ".git/hooks/pre-commit"), "{key}");
    }
    let said = "git commit -m core.hooksPath=/dev/null";
    assert!(runs(said, ".git/hooks/pre-commit"), "a message sets nothing");
    for (command, hook) in [
        ("git log", ".git/hooks/post-commit"),
        ("git stash list", ".git/hooks/post-index-change"),
        ("git commit -n -m a", ".git/hooks/pre-commit"),
        ("git commit -m a", ".git/hooks/pre-commit.sample"),
    ] {
        assert!(!runs(command, hook), "{command}: {hook}");
    }
}
