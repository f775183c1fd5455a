//! Files whose only contents a command replaces, beside edits and what can be made again.

use super::{WORK, Warn, check};
use portcullis_builtin_shared::sample::{Newest, shell};
use portcullis_plugin::testing::BuildAction;
use portcullis_plugin::types::{
    Action, Direction, EffectKind, Entry, GitState, Operation, Redirection, Scope, Word,
};

/// Returns a command that changes a file which is there.
fn writes(text: &str, path: &str, state: GitState) -> Action {
    shell(text).modifies(path).by(0).path(|path| path.entry = Entry::File).git(state)
}

/// Adds a redirection of the output to the first command.
fn to(mut action: Action, direction: Direction, target: &str) -> Action {
    if let Operation::Shell(shell) = &mut action.operation
        && let Some(command) = shell.commands.first_mut()
    {
        let target = Word { text: target.to_owned(), known: true, quoted: false };
        command.redirections.push(Redirection { descriptor: 1, direction, target });
    }
    action
}

#[test]
fn what_nothing_else_holds_is_not_replaced() {
    use GitState::{Changed, Clean, Ignored, Untracked};
    let redirected =
        |direction| to(writes("echo x", "ideas.txt", Untracked), direction, "ideas.txt");
    let read_first = shell("cp b ideas.txt")
        .affects(EffectKind::FileRead, "/project/ideas.txt")
        .by(0)
        .path(|path| path.entry = Entry::File)
        .modifies("ideas.txt")
        .by(0)
        .path(|path| path.entry = Entry::File)
        .git(Untracked);
    let settings = writes("cp .env.example .env", ".env", Ignored);
    let settings = settings.path(|path| path.restorable = false);
    let inline = "python3 -c open('ideas.txt','w').write('')";
    let mut own = redirected(Direction::Output);
    own.attributes.push(("own-paths", "0").into());
    let mut of_another = redirected(Direction::Output);
    of_another.attributes.push(("own-paths", "1 10").into());
    check(vec![
        ("made by this session", own, &[]),
        ("another was made by this session", of_another, &[(WORK, Warn)]),
        ("moved over", writes("mv -f /tmp/t ideas.txt", "ideas.txt", Untracked), &[(WORK, Warn)]),
        ("copied over", writes("cp b ideas.txt", "ideas.txt", Untracked), &[(WORK, Warn)]),
        ("emptied", redirected(Direction::Output), &[(WORK, Warn)]),
        ("appended to", redirected(Direction::Append), &[]),
        ("inline code", writes(inline, "ideas.txt", Untracked), &[(WORK, Warn)]),
        ("settings", settings, &[(WORK, Warn)]),
        ("ignored output", writes("cp a b.js", "b.js", Ignored), &[]),
        ("held by git", writes("cp b ideas.txt", "ideas.txt", Clean), &[]),
        ("changed", writes("cp b ideas.txt", "ideas.txt", Changed), &[]),
        ("restorable", writes("cp b ideas.txt", "ideas.txt", Untracked).restorable(), &[]),
        ("not there", writes("cp b ideas.txt", "ideas.txt", Untracked).absent(), &[]),
        (
            "what a program prints",
            writes("cp b test-output.txt", "test-output.txt", Untracked),
            &[],
        ),
        ("kept", writes("cp -n b ideas.txt", "ideas.txt", Untracked), &[]),
        ("with a copy", writes("mv --backup=numbered b ideas.txt", "ideas.txt", Untracked), &[]),
        ("edited", writes("sed -i s/a/b/ ideas.txt", "ideas.txt", Untracked), &[]),
        ("read before", read_first, &[]),
        (
            "outside",
            shell("cp a /srv/b/a")
                .modifies("/srv/b/a")
                .by(0)
                .scope(Scope::Outside)
                .path(|path| path.entry = Entry::File),
            &[(WORK, Warn)],
        ),
        (
            "outside, new",
            shell("cp a /srv/b/a").modifies("/srv/b/a").by(0).scope(Scope::Outside).absent(),
            &[],
        ),
    ]);
}
