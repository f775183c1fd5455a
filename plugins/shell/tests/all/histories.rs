//! Version control other than git: what throws away work or history, what takes something away from
//! a server, and the everyday calls beside them.

use crate::{effects, forms, reading};

/// Calls that lose something, each with the form that says what.
const LOSSES: &[(&str, &str)] = &[
    ("jj op abandon ..@-", "history-rewrite"),
    ("jj operation abandon x", "history-rewrite"),
    ("jj util gc", "history-rewrite"),
    ("jj squash --ignore-immutable", "history-rewrite"),
    ("jj abandon --ignore-immutable main", "history-rewrite"),
    ("jj git push --deleted", "delete-remote-branch"),
    ("hg strip tip", "discard-changes"),
    ("hg debugstrip 3", "discard-changes"),
    ("hg purge", "discard-changes"),
    ("hg --config extensions.purge= purge --all", "discard-changes"),
    ("hg revert --all", "discard-changes"),
    ("hg rollback", "discard-changes"),
    ("hg update -C", "discard-changes"),
    ("hg push -f", "force-push"),
    ("hg push --force default", "force-push"),
    ("sl purge", "discard-changes"),
    ("sl clean", "discard-changes"),
    ("sl goto -C main", "discard-changes"),
    ("sl push --force", "force-push"),
    ("svn delete -m x https://svn.example/repo/trunk", "delete-remote"),
    ("svn rm ^/trunk -m x", "delete-remote"),
    ("svn revert -R .", "discard-changes"),
    ("svn cleanup --remove-unversioned", "clean-untracked"),
    ("svn propset --revprop -r 3 svn:log x", "history-rewrite"),
    ("svnadmin setlog repo -r 3 a.txt", "history-rewrite"),
    ("bzr push --overwrite", "force-push"),
    ("bzr revert", "discard-changes"),
    ("bzr clean-tree --force", "clean-untracked"),
    ("fossil purge files a", "history-rewrite"),
    ("fossil clean -f", "clean-untracked"),
    ("fossil revert", "discard-changes"),
    ("darcs obliterate", "history-rewrite"),
    ("darcs revert -a", "discard-changes"),
    ("pijul reset", "discard-changes"),
    ("p4 obliterate -y //depot/a/...", "delete-remote"),
    ("p4 clean", "clean-untracked"),
    ("p4 revert ...", "discard-changes"),
];

/// Calls of every day: nothing is lost, or one call brings it back.
const EVERYDAY: &[&str] = &[
    "jj log",
    "jj st",
    "jj diff",
    "jj new",
    "jj describe -m x",
    "jj squash",
    "jj squash --into @--",
    "jj abandon",
    "jj abandon xyz",
    "jj restore a.txt",
    "jj rebase -d main",
    "jj undo",
    "jj op log",
    "jj op restore abc",
    "jj git fetch",
    "jj git push",
    "jj git push -b main",
    "jj git push --allow-new",
    "hg status",
    "hg commit -m x",
    "hg commit --amend -m x",
    "hg update",
    "hg update tip",
    "hg push",
    "hg push -r tip",
    "hg purge --print",
    "hg uncommit",
    "sl status",
    "sl goto main",
    "sl push --to main",
    "svn status",
    "svn up",
    "svn commit -m x",
    "svn delete a.txt",
    "svn cleanup",
    "svn propset svn:ignore build .",
    "bzr push",
    "bzr uncommit",
    "fossil status",
    "fossil clean -n",
    "darcs record -am x",
    "darcs obliterate --dry-run",
    "pijul record -m x",
    "p4 obliterate //depot/a/...",
    "p4 clean -n",
    "p4 sync",
    "p4 submit -d x",
];

#[test]
fn losses_are_named() {
    let mut wrong = Vec::new();
    for (command, form) in LOSSES {
        for carrier in ["<c>", "sh -c '<c>'", "cd sub && <c>", "sudo <c>"] {
            let command = carrier.replace("<c>", command);
            let read = reading(&command);
            if !forms(&read).contains(form) {
                wrong.push(format!("`{command}` lacks {form}: {:?}", effects(&read)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn everyday_calls_lose_nothing() {
    let mut wrong = Vec::new();
    for command in EVERYDAY {
        let read = reading(command);
        let loses = |effect: &String| {
            ["delete", "discard", "remote-delete"].iter().any(|kind| effect.starts_with(kind))
        };
        if !forms(&read).is_empty() || effects(&read).iter().any(loses) || !read.gaps.is_empty() {
            wrong.push(format!("`{command}`: {:?} {:?}", forms(&read), effects(&read)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
