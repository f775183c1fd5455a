//! Work that the line itself keeps before it throws it away.

use super::reading;
use portcullis_shell_reader::types::EffectKind;

#[test]
fn what_is_kept_first_is_not_lost() {
    for (line, lost) in [
        ("git reset --hard", true),
        ("git stash && git reset --hard", false),
        ("git stash push -m 'kept by x' && git reset --hard HEAD~1", false),
        ("git stash push -- a.txt && git reset --hard", true),
        ("git stash push -- a.txt && git checkout -- a.txt", false),
        ("git stash push -- a.txt && git checkout -- b.txt", true),
        ("git stash push -p && git reset --hard", true),
        ("git -C sub stash push && git reset --hard", true),
        ("git -C sub stash push && git -C sub reset --hard", false),
        ("git stash push && cd sub && git reset --hard", true),
        ("git stash list && git reset --hard", true),
        ("git branch -D old", true),
        ("git update-ref refs/portcullis/kept/1/old refs/heads/old && git branch -D old", false),
        ("git update-ref refs/portcullis/kept/1/old refs/heads/other && git branch -D old", true),
        ("git update-ref -d refs/heads/old && git branch -D old", true),
        ("git branch kept old && git branch -D old", false),
        ("git branch kept old && git branch -D old older", true),
        ("git stash drop", true),
        ("git update-ref refs/portcullis/kept/1/stash 'stash@{0}' && git stash drop", false),
        ("git update-ref refs/portcullis/kept/1/stash 'stash@{0}' && git stash drop 1", true),
        ("git stash && git clean -fd", true),
        ("git stash || git reset --hard", true),
        ("echo git stash && git reset --hard", true),
        ("git stash $X && git reset --hard", true),
    ] {
        let found = reading(line);
        let is_lost = found.effects.iter().any(|effect| effect.kind == EffectKind::Discard);
        assert_eq!(is_lost, lost, "`{line}`: {:?} {:?}", found.effects, found.forms);
        assert_eq!(!found.forms.is_empty(), lost, "`{line}`: {:?}", found.forms);
    }
}
