//! Compares whole outputs with the files in `tests/snapshots` (insta).
//!
//! `INSTA_UPDATE=always` writes the files and removes those that no test compares: read each change
//! before you commit it. In CI nothing is written, and a missing, changed or unused file is a
//! failure. Text that differs between runs is replaced by a name in angle brackets.

use super::process::Ended;
use super::site::Site;
use anyhow::{Context, Result, anyhow, ensure};
use insta::internals::SnapshotContents;
use insta::{Comparator, Settings, Snapshot};
use regex::Regex;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

impl Site {
    /// Runs one of our commands and compares its whole output and exit code.
    pub fn snapshot(&self, folder: &str, name: &str, arguments: &[&str]) -> Result<Ended> {
        let ended = self.run(arguments)?;
        compare_command(folder, name, self, arguments, &ended)?;
        Ok(ended)
    }
}

/// Compares the whole output and the exit code of a command.
pub fn compare_command(
    folder: &str,
    name: &str,
    site: &Site,
    arguments: &[&str],
    ended: &Ended,
) -> Result<()> {
    let code = ended.code.map_or_else(|| "by a signal".to_owned(), |code| code.to_string());
    let printed = ended.text() + &ended.stderr;
    let command = format!("$ portcullis {}", arguments.join(" "));
    compare_page(folder, name, site, &format!("{command}\nexit code {code}\n\n{printed}"))
}

/// Compares a text that a site's commands wrote.
pub fn compare_page(folder: &str, name: &str, site: &Site, text: &str) -> Result<()> {
    compare_text(folder, name, &replace_variables(text, site))
}

/// Compares a text that is the same in each run.
pub fn compare_text(folder: &str, name: &str, text: &str) -> Result<()> {
    let (folder, name) = (place().join(folder), file_name(name));
    let path = folder.join(format!("{name}.snap"));
    ensure!(note_used(path.clone()), "two tests compare `{}`", path.display());
    let written = is_updated();
    ensure!(!(written && super::in_ci()), "{UPDATE} is set in CI, where nothing is written");
    let mut settings = Settings::new();
    settings.set_snapshot_path(&folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    if env::temp_dir() != Path::new("/tmp") {
        settings.set_comparator(Box::new(ByWords));
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    let compare = || settings.bind(|| insta::assert_snapshot!(name, text));
    panic::catch_unwind(AssertUnwindSafe(compare)).map_err(|_| {
        anyhow!(
            "`{}` holds another text; if the new one is right, {UPDATE}=always writes it\n{}",
            path.display(),
            difference(&before, text)
        )
    })
}

/// Counts a snapshot as compared whose test cannot run on this machine.
pub fn skip(folder: &str, name: &str) {
    note_used(place().join(folder).join(format!("{}.snap", file_name(name))));
}

/// Checks, after all tests of this program have passed, that each file was compared. With
/// `INSTA_UPDATE=always` the others are removed.
pub fn check_all_used() -> Result<()> {
    let used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut unused = Vec::new();
    for path in files_below(&place())? {
        if used.contains(&path) {
            continue;
        }
        if is_updated() {
            fs::remove_file(&path)
                .with_context(|| format!("cannot remove `{}`", path.display()))?;
        } else {
            unused.push(path.display().to_string());
        }
    }
    ensure!(
        unused.is_empty(),
        "no test compares these snapshots; {UPDATE}=always removes them: {}",
        unused.join(", ")
    );
    Ok(())
}

/// The variable by which insta writes files.
const UPDATE: &str = "INSTA_UPDATE";

/// The files that this run compared.
static USED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn note_used(path: PathBuf) -> bool {
    USED.lock().unwrap_or_else(PoisonError::into_inner).insert(path)
}

fn is_updated() -> bool {
    env::var_os(UPDATE).is_some_and(|value| value == "always" || value == "force")
}

/// Each test program has a folder of its own. Cargo names the manifest's folder to programs that it
/// runs; a program that is run by hand knows the one it was built from.
fn place() -> PathBuf {
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.join("snapshots").join(env!("CARGO_CRATE_NAME"))
}

fn file_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .collect();
    plain.trim_matches('-').to_lowercase()
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        let Ok(entries) = fs::read_dir(&next) else { continue };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() { open.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

/// The lines of each text that a message shows; insta prints the whole difference before it.
const MOST_LINES: usize = 20;

/// The lines of two texts between their common beginning and their common end.
fn difference(before: &str, after: &str) -> String {
    // The file begins with insta's own lines.
    let before = before.splitn(3, "---\n").last().unwrap_or_default();
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let (old, new) = (&old[same..], &new[same..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let mut lines = vec![format!("from line {}:", same + 1)];
    lines.extend(old.iter().take(MOST_LINES).map(|line| format!("- {line}")));
    lines.extend(new.iter().take(MOST_LINES).map(|line| format!("+ {line}")));
    lines.join("\n")
}

/// Compares words. Pages wrap at 80 columns, paths included, so where temporary folders have other
/// names than on most machines, lines break elsewhere.
#[derive(Clone, Copy, Debug)]
struct ByWords;

impl Comparator for ByWords {
    fn matches(&self, reference: &Snapshot, test: &Snapshot) -> bool {
        let (SnapshotContents::Text(reference), SnapshotContents::Text(test)) =
            (reference.contents(), test.contents())
        else {
            return false;
        };
        reference.to_string().split_whitespace().eq(test.to_string().split_whitespace())
    }

    fn dyn_clone(&self) -> Box<dyn Comparator> {
        Box::new(*self)
    }
}

/// The values that differ between runs, and the names that replace them. The first that matches
/// counts.
static VARIABLES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        // Versions of tools, which are pinned by the installation.
        (r"==[0-9][0-9.]*", "==<version>"),
        (r#"[^ `'"]*/portcullis-cli-[A-Za-z0-9]{6}\b"#, "<run>"),
        (r"\b[0-9a-f]{64}\b", "<digest>"),
        (r"\b([0-9a-f]{16}|[0-9a-f]{32})\b", "<id>"),
        (r"<secret:([a-z-]+):[0-9a-f]{8}(\\?)>", "<secret:$1:mark$2>"),
        (r"(_timestamp_seconds(?:\{[^}]*\})?) [0-9.]+", "$1 <time>"),
        // A plugin's version and what it cost, which change with its code.
        (r"\([0-9a-f]{13}\)", "(<digest>)"),
        (r"\bfuel [0-9]+", "fuel <number>"),
        (r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?Z?", "<time>"),
        (r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b", "<date>"),
        (r"\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b", "<time>"),
        // Milliseconds since 1970.
        (r"\b1[6-9][0-9]{11}\b", "<time>"),
        (r"(_ms|_us)(.{0,3}: ?)[0-9.]+", "${1}${2}<duration>"),
        (r" +[0-9]+(\.[0-9]+)? (ms|µs)", " <duration>"),
        (r"\b(after|in) [0-9]+(\.[0-9]+)? (s|seconds?)\b", "$1 <duration>"),
        (r#"("quantity": "time",\s+"maximum": [0-9]+,\s+"used": )[0-9]+"#, "${1}<duration>"),
        (r"(_duration_seconds_(?:bucket\{[^}]*\}|sum)) [0-9.]+", "$1 <duration>"),
        (r"(_over_target_total) [0-9]+", "$1 <number>"),
        (r"Type `[a-z]+` to go on: [a-z]+", "Type `<word>` to go on: <word>"),
    ]
    .into_iter()
    .map(|(pattern, name)| (Regex::new(pattern).unwrap(), name))
    .collect()
});

/// Replaces the site's folders and all variables by names.
fn replace_variables(text: &str, site: &Site) -> String {
    let mut text = text.to_owned();
    for (folder, name) in [
        (site.project(), "<project>"),
        (site.state(), "<state>"),
        (site.person(), "<person>"),
        (site.root().to_owned(), "<site>"),
        (site.binary().to_owned(), "<portcullis>"),
    ] {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        for spelling in [real, folder] {
            text = text.replace(&spelling.display().to_string(), name);
        }
    }
    for (pattern, name) in &*VARIABLES {
        text = pattern.replace_all(&text, *name).into_owned();
    }
    text
}
