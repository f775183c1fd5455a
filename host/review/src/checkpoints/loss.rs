//! Determines the irreversible losses of an action: files that it destroys and that could not be
//! kept before.
//!
//! Counts only what an action is known to delete, discard or overwrite. A command that may change
//! anything without naming it (`make`) is only noted in its record; otherwise every build next to a
//! large file would be objected to.

use glob::{MatchOptions, Pattern};
use portcullis_checkpoint::{LeftOuts, Why};
use portcullis_core::action::{Effect, EffectKind, Entry, Facts, Path as Named, Scope};
use portcullis_core::text::one_line;
use std::path::Path;

/// In shells, `*` does not match a `/`.
const AS_SHELLS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// Describes the loss if nothing could be kept.
pub(super) fn of_all(facts: &Facts, why: &str) -> Option<String> {
    destroys(facts).next()?;
    let why = one_line(why, 512);
    Some(format!(
        "this cannot be undone: it deletes or overwrites files, and none of them could be saved: \
         {why}; copy them first, or see `portcullis doctor`"
    ))
}

/// Describes the loss if something was left out.
pub(super) fn left_out(facts: &Facts, left_out: &LeftOuts) -> Option<String> {
    let missing: u64 =
        left_out.counts.iter().filter(|(why, _)| !why.by_choice()).map(|(_, count)| count).sum();
    let listed: Vec<_> = left_out.first.iter().filter(|left| !left.why.by_choice()).collect();
    let (path, why) = match listed.iter().find(|left| {
        destroys(facts).any(|(_, path)| path.is_none_or(|path| touches(path, &left.path)))
    }) {
        Some(left) => (format!("`{}`", one_line(&left.path.to_string_lossy(), 240)), left.why),
        None if missing > listed.len() as u64 && destroys(facts).next().is_some() => {
            (format!("some of {missing} paths"), listed.last()?.why)
        }
        None => return None,
    };
    let fix = match why {
        Why::TooLarge => ", or raise `checkpoints.max_file_mb`",
        Why::TotalReached | Why::VaultFull => {
            ", or raise `checkpoints.max_total_mb`, or run `portcullis maintain`"
        }
        Why::Budget => ", or raise `checkpoints.budget_ms`",
        _ => "",
    };
    Some(format!(
        "this cannot be undone in full: {path} could not be saved ({why}); copy it first{fix}"
    ))
}

/// Returns the effects of an action that are known to destroy something, each with its path if that
/// is known. Files that git or a build can restore, missing files and scratch files are not a loss.
fn destroys(facts: &Facts) -> impl Iterator<Item = (&Effect, Option<&Named>)> {
    let known = |effect: &&Effect| match effect.kind {
        EffectKind::FileDelete | EffectKind::Discard => true,
        EffectKind::FileModify => effect.certain,
        _ => false,
    };
    let with_path = |effect| (effect, path_of(effect, facts));
    facts.effects.iter().filter(known).map(with_path).filter(|(_, path)| path.is_none_or(is_a_loss))
}

fn path_of<'f>(effect: &Effect, facts: &'f Facts) -> Option<&'f Named> {
    facts.paths.get(usize::try_from(effect.path?).ok()?)
}

fn is_a_loss(path: &Named) -> bool {
    !path.restorable
        && !matches!(path.entry, Entry::Absent | Entry::Special)
        && path.scope != Scope::Scratch
        && !super::reach::is_no_file(path)
}

/// Returns true if a path that was left out is the meant path, contains it, or is inside it.
fn touches(path: &Named, left: &Path) -> bool {
    let of = |text: &str| {
        let fixed =
            text.find(['*', '?', '[', '{']).map_or(text, |at| text.get(..at).unwrap_or_default());
        let folder = if fixed.len() < text.len() {
            fixed.rfind('/').map_or(fixed, |at| fixed.get(..at).unwrap_or_default())
        } else {
            fixed
        };
        let matches = |pattern: Pattern| {
            left.ancestors().any(|above| pattern.matches_path_with(above, AS_SHELLS))
        };
        Path::new(folder).starts_with(left)
            || if fixed.len() == text.len() {
                left.starts_with(text)
            } else {
                Pattern::new(text).map_or(left.starts_with(folder), matches)
            }
    };
    of(&path.text) || path.link_target.as_deref().is_some_and(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoints::reach;
    use portcullis_checkpoint::LeftOut;

    fn facts(kind: EffectKind, text: &str, certain: bool) -> Facts {
        let path = reach::named(text);
        let effect = Effect {
            kind,
            target: text.into(),
            path: (!text.is_empty()).then_some(0),
            command: None,
            recursive: false,
            certain,
        };
        Facts { effects: vec![effect], paths: vec![path], ..Facts::nothing() }
    }

    #[test]
    fn unsaved_deletions_are_lost() {
        use EffectKind::{Discard, FileCreate, FileDelete, FileModify, ProcessStart};
        for (name, kind, text, certain, left, lost) in [
            ("named", FileModify, "/p/big", true, "/p/big", true),
            ("another", FileModify, "/p/src", true, "/p/big", false),
            ("below", FileDelete, "/p/data", true, "/p/data/x/big", true),
            ("above", FileDelete, "/p/data/x", true, "/p/data", true),
            ("a name that begins alike", FileDelete, "/p/data", true, "/p/database", false),
            ("a glob of it", FileDelete, "/p/*.bin", true, "/p/big.bin", true),
            ("a glob of others", FileDelete, "/p/*.o", true, "/p/big.bin", false),
            ("a glob of a folder above it", FileDelete, "/p/*", true, "/p/data/big", true),
            ("a glob in a folder below it", FileDelete, "/p/data/x/*", true, "/p/data", true),
            ("nobody knows what", FileDelete, "", false, "/p/big", true),
            ("the project's untracked files", Discard, "/p", false, "/p/big", true),
            ("made", FileCreate, "/p/big", true, "/p/big", false),
            ("may change anything", FileModify, "/p", false, "/p/big", false),
            ("a program", ProcessStart, "", true, "/p/big", false),
        ] {
            let facts = facts(kind, text, certain);
            let left = |why| LeftOuts {
                first: vec![LeftOut { path: left.into(), why }],
                counts: vec![(why, 1)],
            };
            let found = left_out(&facts, &left(Why::TooLarge));
            assert_eq!(
                found.as_ref().is_some_and(|found| found.contains("max_file_mb")),
                lost,
                "{name}: {found:?}"
            );
            assert_eq!(left_out(&facts, &left(Why::BuildOutput)), None, "{name}: by choice");
        }
    }

    #[test]
    fn recoverable_deletions_are_not_lost() {
        type Change = fn(&mut Named);
        let changes: [(&str, Change, bool); 6] = [
            ("as it is", |_| {}, true),
            ("git has it", |path| path.restorable = true, false),
            ("not there", |path| path.entry = Entry::Absent, false),
            ("scratch", |path| path.scope = Scope::Scratch, false),
            ("no file", |path| path.text = "/dev/null".into(), false),
            ("a folder", |path| path.entry = Entry::Folder, true),
        ];
        for (name, change, lost) in changes {
            let mut facts = facts(EffectKind::FileDelete, "/p/a", true);
            change(&mut facts.paths[0]);
            let found = of_all(&facts, "the disk is full");
            assert_eq!(
                found.as_ref().is_some_and(|found| found.contains("the disk is full")),
                lost,
                "{name}: {found:?}"
            );
        }
    }
}
