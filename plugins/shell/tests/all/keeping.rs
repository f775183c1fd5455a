//! Work that the line itself keeps before it throws it away.

use super::reading;
use portcullis_shell_reader::types::EffectKind;

#[test]
fn saved_work_is_not_lost() {
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
        (
            "if git rev-parse -q --verify refs/heads/a >/dev/null; then git update-ref refs/portcullis/kept/1/1/a refs/heads/a; fi && \
             if git rev-parse -q --verify refs/heads/b >/dev/null; then git update-ref refs/portcullis/kept/1/1/b refs/heads/b; fi && \
             git branch -D a b",
            false,
        ),
        ("git stash && git clean -fd", true),
        ("git stash || git reset --hard", true),
        ("echo git stash && git reset --hard", true),
        ("git stash $X && git reset --hard", true),
        ("{made} && git update-ref refs/portcullis/kept/1/1 {kept} && git reset --hard", false),
        (
            "{made} && git update-ref refs/portcullis/kept/1/1 {kept} && git checkout -- a.txt",
            false,
        ),
        ("{made} && git update-ref refs/portcullis/kept/1/1 {kept} && git restore .", false),
        ("{made} && git update-ref refs/portcullis/kept/1/1 {kept} && git clean -fd", true),
        ("{made} && git reset --hard", true),
        (
            "{made}; git status; git update-ref refs/portcullis/kept/1/1 {kept} && git reset --hard",
            true,
        ),
        ("{made} && git update-ref refs/heads/x {kept} && git reset --hard", true),
        ("{made} && git update-ref refs/portcullis/kept/1/1 HEAD && git reset --hard", true),
        (
            "{made} && git -C sub update-ref refs/portcullis/kept/1/1 {kept} && git reset --hard",
            true,
        ),
        (
            "{made} && cd sub && git update-ref refs/portcullis/kept/1/1 {kept} && git reset --hard",
            true,
        ),
        ("{made} || git update-ref refs/portcullis/kept/1/1 {kept} && git reset --hard", true),
        ("git stash create && git reset --hard", true),
        ("git update-ref refs/portcullis/kept/1/1 {kept} && git reset --hard", true),
    ] {
        let line = &line
            .replace("{made}", "portcullis_kept=$(git stash create)")
            .replace("{kept}", "\"${portcullis_kept:-HEAD}\"");
        let found = reading(line);
        let is_lost = found.effects.iter().any(|effect| effect.kind == EffectKind::Discard);
        assert_eq!(is_lost, lost, "`{line}`: {:?} {:?}", found.effects, found.forms);
        assert_eq!(!found.forms.is_empty(), lost, "`{line}`: {:?}", found.forms);
    }
}
