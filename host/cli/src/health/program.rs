//! The program that the handlers start: is it there, is it ours, who else could replace it.

use super::access::{others_write, quoted, replaceable};
use super::finding::{Check, Finding};
use crate::client::run;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(5);
/// What builds leave in the folders that they empty.
const BUILD_MARK: &str = "CACHEDIR.TAG";

/// What stands at a program's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Missing,
    /// Something that cannot be started.
    NotExecutable,
    /// It cannot be looked at.
    Unreadable(String),
    /// A program.
    Program(Program),
}

/// A program as it stands on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// It is the very file that runs now.
    pub same: bool,
    /// What it says to `--version`; none where nobody asked, an error where it did not answer well.
    pub version: Option<Result<String, String>>,
    /// Its owner is root, and only root can write it.
    pub protected: bool,
    /// Others than this user and root can write it or put another in its place.
    pub open: bool,
    /// It lies where builds put their results.
    pub build: bool,
}

/// Looks at the program at `path`. With `ask`, one that is not this very program is asked for its version.
pub fn look(path: &Path, ask: bool) -> Found {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Missing,
        Err(error) => return Found::Unreadable(error.to_string()),
    };
    if !found.is_file() || rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_err() {
        return Found::NotExecutable;
    }
    let user = rustix::process::geteuid().as_raw();
    let above = replaceable(path, user);
    let same = is_this(&found);
    Found::Program(Program {
        same,
        version: (ask && !same).then(|| version(path)),
        protected: user != 0 && found.uid() == 0 && !others_write(&found) && above.is_none() && folder_of_root(path),
        open: (found.uid() != user && found.uid() != 0) || others_write(&found) || above.is_some(),
        build: fs::canonicalize(path).is_ok_and(|path| path.ancestors().any(|folder| folder.join(BUILD_MARK).is_file())),
    })
}

fn is_this(found: &Metadata) -> bool {
    let this = std::env::current_exe().and_then(fs::metadata);
    this.is_ok_and(|this| (this.dev(), this.ino()) == (found.dev(), found.ino()))
}

fn folder_of_root(path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|path| path.parent().is_some_and(|folder| fs::metadata(folder).is_ok_and(|found| found.uid() == 0)))
}

fn version(path: &Path) -> Result<String, String> {
    let mut command = Command::new(path);
    command.arg("--version").env_clear();
    match run::run(command, b"", PATIENCE) {
        Ok(said) if said.code == Some(0) => Ok(said.stdout.trim().to_owned()),
        Ok(said) => Err(said.code.map_or_else(|| "a signal ended it".to_owned(), |code| format!("it ended with code {code}"))),
        Err(error) => Err(error.to_string()),
    }
}

/// What this program says to `--version`.
pub const THIS: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

/// Judges what was found.
pub fn judge(path: &Path, found: &Found) -> Vec<Finding> {
    let shown = path.display();
    let install = "run `portcullis install claude` with the program that the hooks should start";
    let problem = |what: String, mend: String| vec![Finding::problem(Check::Program, what, mend)];
    let program = match found {
        Found::Missing => return problem(format!("the hooks start `{shown}`, and there is no such file"), install.into()),
        Found::NotExecutable => {
            return problem(format!("the hooks start `{shown}`, which cannot be executed"), format!("chmod 755 {}", quoted(path)));
        }
        Found::Unreadable(error) => {
            return problem(format!("the hooks start `{shown}`, which cannot be looked at: {error}"), install.into());
        }
        Found::Program(program) => program,
    };
    match &program.version {
        Some(Err(error)) => return problem(format!("`{shown}` does not say that it is portcullis: {error}"), install.into()),
        Some(Ok(said)) if said != THIS => {
            let what = format!("the hooks start `{shown}`, which says `{said}`; this is `{THIS}`");
            let mend = if said.starts_with(concat!(env!("CARGO_PKG_NAME"), " ")) {
                "replace it with this version, or use its own `doctor`".to_owned()
            } else {
                install.to_owned()
            };
            return problem(what, mend);
        }
        _ => {}
    }
    let mut findings = weaknesses(path, program);
    if findings.is_empty() {
        let who = if program.protected { ", which only root can replace" } else { "" };
        findings.push(Finding::ok(Check::Program, format!("`{shown}`, version {}{who}", env!("CARGO_PKG_VERSION"))));
    }
    findings
}

fn weaknesses(path: &Path, program: &Program) -> Vec<Finding> {
    let shown = path.display();
    let root =
        || format!("sudo install -o root -m 755 {} /usr/local/bin/portcullis && /usr/local/bin/portcullis install claude", quoted(path));
    if program.open {
        return vec![Finding::problem(Check::Program, format!("others can replace `{shown}`, which the hooks start"), root())];
    }
    if program.build {
        let what = format!("the hooks start `{shown}`, which the next build or clean-up replaces");
        return vec![Finding::warning(Check::Program, what, root())];
    }
    // The superuser can replace everything: there is nothing to advise.
    if !program.protected && !rustix::process::geteuid().is_root() {
        let what = format!("`{shown}` is yours: an agent that runs as you could replace it");
        return vec![Finding::note(Check::Program, what, root())];
    }
    Vec::new()
}

/// Where a program lies that the client looks up by its name.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    if name.contains('/') {
        return Some(path.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Level, worst};
    use super::*;

    #[test]
    fn a_program_is_judged_by_what_it_says_and_by_who_can_replace_it() {
        let own = Program { same: true, version: None, protected: true, open: false, build: false };
        let says = |said: Result<&str, &str>| {
            let version = said.map(str::to_owned).map_err(str::to_owned);
            Found::Program(Program { same: false, version: Some(version), ..own.clone() })
        };
        for (found, level, part) in [
            (Found::Missing, Level::Problem, "no such file"),
            (Found::NotExecutable, Level::Problem, "cannot be executed"),
            (Found::Unreadable("denied".into()), Level::Problem, "denied"),
            (Found::Program(own.clone()), Level::Ok, "only root can replace"),
            (says(Ok(THIS)), Level::Ok, "version"),
            (says(Ok("portcullis 99.0.0")), Level::Problem, "99.0.0"),
            (says(Ok("bash 5")), Level::Problem, "bash 5"),
            (says(Err("silent")), Level::Problem, "silent"),
            (Found::Program(Program { open: true, protected: false, ..own.clone() }), Level::Problem, "others can replace"),
            (Found::Program(Program { build: true, protected: false, ..own.clone() }), Level::Warning, "next build"),
        ] {
            let findings = judge(Path::new("/usr/local/bin/portcullis"), &found);
            assert_eq!(worst(&findings), level, "{found:?}");
            assert!(findings.iter().any(|finding| finding.what.contains(part)), "{found:?}: {findings:?}");
        }
    }
}
