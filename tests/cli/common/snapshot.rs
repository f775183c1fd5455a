//! Compares a command's whole output and exit code with a file in `tests/messages`.
//!
//! `PORTCULLIS_BLESS=1` writes the files instead of comparing them: read each change before you
//! commit it. In CI that is refused. Text that differs between runs is replaced by a name in angle
//! brackets.

use super::process::Ended;
use super::site::Site;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Compares the output of a command with the file of that name.
pub fn check(
    folder: &str,
    name: &str,
    site: &Site,
    arguments: &[&str],
    ended: &Ended,
) -> Result<()> {
    let code = ended.code.map_or_else(|| "by a signal".to_owned(), |code| code.to_string());
    let printed = ended.text() + &ended.stderr;
    let text = format!("$ portcullis {}\nexit code {code}\n\n{printed}", arguments.join(" "));
    same(folder, name, &settled(&text, site))
}

/// Compares a text with the file of that name.
pub fn same(folder: &str, name: &str, text: &str) -> Result<()> {
    let path = place(folder).join(format!("{}.txt", file(name)));
    if std::env::var_os(BLESS).is_some_and(|value| value == "1") {
        ensure!(!super::in_ci(), "{BLESS} is set in CI, where nothing is written");
        fs::create_dir_all(place(folder))?;
        return fs::write(&path, text)
            .with_context(|| format!("cannot write `{}`", path.display()));
    }
    let shown = path.display();
    let Ok(wanted) = fs::read_to_string(&path) else {
        bail!("there is no `{shown}`: {MEND} would write it as\n{text}")
    };
    ensure!(
        wanted == text,
        "not what `{shown}` says; if it is meant so, {MEND} writes it\n--- the file\n{wanted}\n--- now\n{text}"
    );
    Ok(())
}

/// Checks that every file of the folder is compared by a test.
pub fn only(folder: &str, names: impl IntoIterator<Item = impl AsRef<str>>) -> Result<()> {
    let known: BTreeSet<String> =
        names.into_iter().map(|name| format!("{}.txt", file(name.as_ref()))).collect();
    let there: BTreeSet<String> = fs::read_dir(place(folder))?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let stale: Vec<_> = there.difference(&known).collect();
    ensure!(
        stale.is_empty(),
        "no test compares these files of `{}`: {stale:?}",
        place(folder).display()
    );
    Ok(())
}

/// The variable that makes the tests write the files.
const BLESS: &str = "PORTCULLIS_BLESS";
const MEND: &str = "running the test with PORTCULLIS_BLESS=1";

fn place(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("messages").join(folder)
}

fn file(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .collect();
    plain.trim_matches('-').to_lowercase()
}

/// Replaces the site's folders and the versions of tools by names.
fn settled(text: &str, site: &Site) -> String {
    let mut text = text.to_owned();
    for (folder, name) in [(site.project(), "<project>"), (site.root().to_owned(), "<site>")] {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        for spelling in [real, folder] {
            text = text.replace(&spelling.display().to_string(), name);
        }
    }
    without_versions(&text)
}

/// Removes versions of tools, which are pinned by the installation.
fn without_versions(text: &str) -> String {
    let mut parts = text.split("==");
    let mut settled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        settled.push_str(if rest.len() == part.len() { "==" } else { "==<version>" });
        settled.push_str(rest);
    }
    settled
}
