//! The changes that an action would make, as a person who is asked about it is shown them.
//!
//! What a file tool writes is compared with the file as it is now. Nobody knows the lines that a
//! command changes before it runs, so the effects that were found in it are listed instead, with
//! what lies below a folder that it deletes. Everything is masked, the text of a file too.

use crate::questions::AskedChange;
use portcullis_core::action::{Access, Effect, EffectKind, FileOperation, Operation};
use portcullis_core::record::RecordedAction;
use portcullis_core::text::cut_text;
use portcullis_fs::{Links, read_file};
use similar::{TextDiff, TextDiffConfig};
use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The most changes that are listed.
const MOST_CHANGES: usize = 24;
/// The largest file that is compared, in bytes.
const MOST_FILE: u64 = 256 << 10;
/// The most bytes of one difference.
const MOST_DIFF: usize = 24 << 10;
/// The most entries of a deleted folder that are listed.
const MOST_ENTRIES: usize = 100;
/// The time after which a comparison becomes coarser. The hook of the action waits for it.
const MOST_TIME: Duration = Duration::from_millis(100);
/// Lines of context around a difference.
const CONTEXT: usize = 3;

/// Masks a text that was read from the disk.
type Mask<'a> = &'a dyn Fn(&str) -> String;

/// Lists what an action would change. `mask` masks a text of the disk, and without it nothing is
/// read from there; the action is masked already.
pub(crate) fn list_changes(action: &RecordedAction, mask: Option<Mask<'_>>) -> Vec<AskedChange> {
    if let Operation::File(operation) = &action.operation {
        return describe_file(operation, &action.cwd, mask).into_iter().collect();
    }
    let effects = action.facts.effects.iter();
    let mut changes: Vec<AskedChange> = Vec::new();
    for effect in effects {
        let Some(change) = describe_effect(effect, action, mask) else { continue };
        if changes.len() == MOST_CHANGES {
            changes.push(AskedChange { what: "and more".to_owned(), diff: None });
            break;
        }
        if !changes.contains(&change) {
            changes.push(change);
        }
    }
    changes
}

fn describe_file(
    operation: &FileOperation,
    cwd: &str,
    mask: Option<Mask<'_>>,
) -> Option<AskedChange> {
    let path = &operation.path;
    if operation.access == Access::Delete {
        return Some(AskedChange { what: format!("deletes {path}"), diff: None });
    }
    let (Access::Create | Access::Modify, Some(content)) = (&operation.access, &operation.content)
    else {
        return None;
    };
    let Some(mask) = mask else {
        let old = operation.replaced.as_deref().unwrap_or_default();
        return Some(AskedChange {
            what: format!("writes {path}, which was not compared with the file as it is"),
            diff: Some(compare(old, content)),
        });
    };
    let present = read_text(&Path::new(cwd).join(path)).map(|text| text.map(|text| mask(&text)));
    let (what, before, after) = match (present, &operation.replaced) {
        (Err(why), _) => {
            let what = format!("changes {path}, which cannot be compared: it {why}");
            return Some(AskedChange { what, diff: None });
        }
        (Ok(None), None) => (format!("creates {path}"), String::new(), content.clone()),
        (Ok(Some(now)), None) => (format!("replaces all of {path}"), now, content.clone()),
        (Ok(Some(now)), Some(old)) if !old.is_empty() && now.contains(old.as_str()) => {
            let after = match operation.every {
                true => now.replace(old.as_str(), content),
                false => now.replacen(old.as_str(), content, 1),
            };
            (format!("changes {path}"), now, after)
        }
        (Ok(_), Some(old)) => {
            let what = format!("changes {path}, in which the replaced text was not found");
            (what, old.clone(), content.clone())
        }
    };
    Some(AskedChange { what, diff: Some(compare(&before, &after)) })
}

/// Reads a file's text; `None` if nothing has that name.
///
/// # Errors
/// Fails with the rest of a sentence if it is not UTF-8, or larger than [`MOST_FILE`].
fn read_text(path: &Path) -> Result<Option<String>, &'static str> {
    match read_file(path, MOST_FILE, Links::Follow) {
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => String::from_utf8(bytes).map(Some).map_err(|_| "is not UTF-8"),
        Err(portcullis_fs::ReadError::TooLarge(_)) => Err("is larger than 256 KiB"),
        Err(portcullis_fs::ReadError::NotAFile) => Err("is not a file"),
        Err(_) => Err("cannot be read"),
    }
}

fn compare(before: &str, after: &str) -> String {
    let mut config: TextDiffConfig = TextDiff::configure();
    let diff = config.timeout(MOST_TIME).diff_lines(before, after);
    cut_text(&diff.unified_diff().context_radius(CONTEXT).to_string(), MOST_DIFF)
}

/// Describes an effect; returns `None` for one that changes nothing.
fn describe_effect(
    effect: &Effect,
    action: &RecordedAction,
    mask: Option<Mask<'_>>,
) -> Option<AskedChange> {
    let verb = match &effect.kind {
        EffectKind::FileRead | EffectKind::ProcessStart | EffectKind::ResourceUse => return None,
        EffectKind::FileCreate => "creates",
        EffectKind::FileModify => "changes",
        EffectKind::FileDelete => "deletes",
        EffectKind::ProcessStop => "ends the process",
        EffectKind::Network => "contacts",
        EffectKind::Send => "sends data to",
        EffectKind::Publish => "publishes",
        EffectKind::RemoteChange => "changes elsewhere:",
        EffectKind::RemoteDelete => "deletes elsewhere:",
        EffectKind::Discard => "discards",
        EffectKind::SystemChange => "changes the system:",
        EffectKind::Persistence => "sets up something that starts by itself:",
        EffectKind::Privilege => "takes more rights:",
        EffectKind::Evade => "evades the review:",
        EffectKind::SecretRead => "reads the secret",
        EffectKind::UnseenCode => "runs code that was not read:",
        EffectKind::Other(name) => name,
    };
    let path = effect.path.and_then(|index| action.facts.paths.get(index as usize));
    let is_deletion = effect.kind == EffectKind::FileDelete && effect.recursive;
    let below = match (path, mask) {
        (Some(path), Some(mask)) if is_deletion && !path.glob => {
            list_below(Path::new(&path.text)).into_iter().map(|entry| mask(&entry)).collect()
        }
        _ => Vec::new(),
    };
    let all_below = if effect.recursive { " and all below" } else { "" };
    let doubt = if effect.certain { "" } else { " (not certain)" };
    let what = match effect.target.as_str() {
        "" => format!("{}{doubt}", verb.trim_end_matches(':')),
        target => format!("{verb} {target}{all_below}{doubt}"),
    };
    let lines: String = below.iter().map(|entry| format!("-{entry}\n")).collect();
    let diff = (!lines.is_empty()).then(|| cut_text(&lines, MOST_DIFF));
    Some(AskedChange { what, diff })
}

/// Lists what is in a folder, the nearest first; links are not followed.
fn list_below(folder: &Path) -> Vec<String> {
    let (mut open, mut found) = (VecDeque::from([folder.to_owned()]), Vec::new());
    while let Some(next) = open.pop_front() {
        let Ok(entries) = fs::read_dir(&next) else { continue };
        for entry in entries.flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if found.len() == MOST_ENTRIES {
                found.push("and more".to_owned());
                return found;
            }
            let end = if is_folder { "/" } else { "" };
            found.push(format!("{}{end}", entry.path().display()));
            if is_folder {
                open.push_back(entry.path());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::action::Facts;

    const TEXT: &str = "one\ntwo\nthree\n";

    fn changes(operation: FileOperation, folder: &Path) -> Vec<AskedChange> {
        let mask = |text: &str| text.replace("hunter2", "<secret>");
        list_changes(&action(operation, folder), Some(&mask))
    }

    fn action(operation: FileOperation, folder: &Path) -> RecordedAction {
        RecordedAction {
            intent: portcullis_core::action::Intent::FileModification,
            parameters: String::new(),
            run_as: None,
            operation: Operation::File(operation),
            facts: Facts::nothing(),
            cwd: folder.display().to_string(),
            home: String::new(),
            observed: portcullis_core::observe::Observations::new(),
        }
    }

    #[test]
    fn a_file_tool_is_compared_with_the_file_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), TEXT).unwrap();
        std::fs::write(folder.path().join("s.txt"), "key hunter2\n").unwrap();
        std::fs::write(folder.path().join("b.bin"), [0xff, 0xfe, 0]).unwrap();
        std::fs::create_dir(folder.path().join("d")).unwrap();
        for (access, path, replaced, content, every, what, diff) in [
            (Access::Create, "n.txt", None, "x\n", false, "creates n.txt", "@@ -0,0 +1 @@\n+x\n"),
            (
                Access::Create,
                "a.txt",
                None,
                "one\n2\nthree\n",
                false,
                "replaces all of a.txt",
                "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
            ),
            (
                Access::Modify,
                "a.txt",
                Some("e"),
                "E",
                true,
                "changes a.txt",
                "@@ -1,3 +1,3 @@\n-one\n+onE\n two\n-three\n+thrEE\n",
            ),
            (
                Access::Modify,
                "a.txt",
                Some("e"),
                "E",
                false,
                "changes a.txt",
                "@@ -1,3 +1,3 @@\n-one\n+onE\n two\n three\n",
            ),
            (
                Access::Modify,
                "a.txt",
                Some("gone\n"),
                "new\n",
                false,
                "changes a.txt, in which the replaced text was not found",
                "@@ -1 +1 @@\n-gone\n+new\n",
            ),
            (
                Access::Create,
                "s.txt",
                None,
                "x\n",
                false,
                "replaces all of s.txt",
                "@@ -1 +1 @@\n-key <secret>\n+x\n",
            ),
            (
                Access::Create,
                "b.bin",
                None,
                "x",
                false,
                "changes b.bin, which cannot be compared: it is not UTF-8",
                "",
            ),
            (
                Access::Create,
                "d",
                None,
                "x",
                false,
                "changes d, which cannot be compared: it is not a file",
                "",
            ),
            (Access::Delete, "a.txt", None, "", false, "deletes a.txt", ""),
        ] {
            let operation = FileOperation {
                access,
                path: path.into(),
                content: Some(content.into()),
                replaced: replaced.map(str::to_owned),
                every,
            };
            let found = changes(operation, folder.path());
            let diff = (!diff.is_empty()).then(|| diff.to_owned());
            assert_eq!(found, [AskedChange { what: what.into(), diff }]);
        }
        let reads = FileOperation {
            access: Access::Read,
            path: "a.txt".into(),
            content: None,
            replaced: None,
            every: false,
        };
        assert!(changes(reads, folder.path()).is_empty());
    }

    #[test]
    fn behind_a_boundary_nothing_is_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), TEXT).unwrap();
        let operation = FileOperation {
            access: Access::Modify,
            path: "a.txt".into(),
            content: Some("2\n".into()),
            replaced: Some("two\n".into()),
            every: false,
        };
        let found = list_changes(&action(operation, folder.path()), None);
        assert!(found[0].what.contains("was not compared"), "{found:?}");
        assert_eq!(found[0].diff.as_deref(), Some("@@ -1 +1 @@\n-two\n+2\n"));
    }

    #[test]
    fn a_comparison_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let lines =
            |start: u32| (start..start + 30_000).map(|n| format!("{n}\n")).collect::<String>();
        std::fs::write(folder.path().join("a"), lines(0)).unwrap();
        std::fs::write(folder.path().join("big"), vec![b'x'; 300 << 10]).unwrap();
        let write = |path: &str| FileOperation {
            access: Access::Create,
            path: path.into(),
            content: Some(lines(100_000)),
            replaced: None,
            every: false,
        };
        let found = changes(write("a"), folder.path());
        assert!(found[0].diff.as_ref().unwrap().len() <= MOST_DIFF, "{}", found[0].what);
        let found = changes(write("big"), folder.path());
        assert!(found[0].what.ends_with("it is larger than 256 KiB"), "{}", found[0].what);
    }
}
