//! The program that the handlers start: checks that it exists and is ours, and who else could
//! replace it.

use super::access::{others_write, quoted, replaceable};
use super::finding::{Check, HealthFinding};
use portcullis_agents::install_command;
use portcullis_agents::run;
use portcullis_config::paths::own_program;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The timeout for a program to print its version.
const PATIENCE: Duration = Duration::from_secs(5);
/// The marker file that build tools put into their output folders.
const BUILD_MARK: &str = "CACHEDIR.TAG";

/// The result of looking for a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProgramState {
    /// No file.
    Missing,
    /// A file that cannot be started.
    NotExecutable,
    /// A file that cannot be examined.
    Unreadable(String),
    /// A program.
    Program(InstalledProgram),
}

/// A program on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InstalledProgram {
    /// True if it is the same file as the running program.
    pub same: bool,
    /// Its output for `--version`; `None` if it was not asked, an error if it did not answer
    /// correctly.
    pub version: Option<Result<String, String>>,
    /// True if its owner is root, and only root can write it.
    pub protected: bool,
    /// True if other users than this one and root can write or replace it.
    pub open: bool,
    /// True if it is in a build's output folder.
    pub build: bool,
}

/// Examines the program at `path`. With `ask`, a program other than this one is asked for its
/// version.
pub(super) fn look(path: &Path, ask: bool) -> ProgramState {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return ProgramState::Missing,
        Err(error) => return ProgramState::Unreadable(error.to_string()),
    };
    if !found.is_file() || rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_err() {
        return ProgramState::NotExecutable;
    }
    let user = rustix::process::geteuid().as_raw();
    let above = replaceable(path, user);
    let same = is_this(&found);
    ProgramState::Program(InstalledProgram {
        same,
        version: (ask && !same).then(|| version(path)),
        protected: user != 0
            && found.uid() == 0
            && !others_write(&found)
            && above.is_none()
            && folder_of_root(path),
        open: (found.uid() != user && found.uid() != 0) || others_write(&found) || above.is_some(),
        build: fs::canonicalize(path)
            .is_ok_and(|path| path.ancestors().any(|folder| folder.join(BUILD_MARK).is_file())),
    })
}

fn is_this(found: &Metadata) -> bool {
    let this = own_program().and_then(fs::metadata);
    this.is_ok_and(|this| (this.dev(), this.ino()) == (found.dev(), found.ino()))
}

fn folder_of_root(path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|path| {
        path.parent().is_some_and(|folder| fs::metadata(folder).is_ok_and(|found| found.uid() == 0))
    })
}

fn version(path: &Path) -> Result<String, String> {
    let mut command = Command::new(path);
    command.arg("--version").env_clear();
    match run::run_program(command, b"", PATIENCE) {
        Ok(said) if said.code == Some(0) => Ok(said.stdout.trim().to_owned()),
        Ok(said) => Err(said.code.map_or_else(
            || "a signal ended it".to_owned(),
            |code| format!("it ended with code {code}"),
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// This program's output for `--version`.
pub(super) const THIS: &str = concat!("portcullis ", env!("CARGO_PKG_VERSION"));

/// Reports problems of the program.
pub(super) fn judge(path: &Path, found: &ProgramState) -> Vec<HealthFinding> {
    let shown = path.display();
    let install =
        format!("run `{}` with the program that the hooks should start", install_command());
    let problem =
        |what: String, fix: String| vec![HealthFinding::problem(Check::Program, what, fix)];
    let program = match found {
        ProgramState::Missing => {
            return problem(
                format!("the hooks start `{shown}`, and there is no such file"),
                install,
            );
        }
        ProgramState::NotExecutable => {
            return problem(
                format!("the hooks start `{shown}`, which cannot be executed"),
                format!("chmod 755 {}", quoted(path)),
            );
        }
        ProgramState::Unreadable(error) => {
            return problem(
                format!("the hooks start `{shown}`, which cannot be looked at: {error}"),
                install,
            );
        }
        ProgramState::Program(program) => program,
    };
    match &program.version {
        Some(Err(error)) => {
            return problem(
                format!("`{shown}` does not say that it is portcullis: {error}"),
                install,
            );
        }
        Some(Ok(said)) if said != THIS => {
            let what = format!("the hooks start `{shown}`, which says `{said}`; this is `{THIS}`");
            let fix = if said.starts_with("portcullis ") {
                "replace it with this version, or use its own `doctor`".to_owned()
            } else {
                install.to_owned()
            };
            return problem(what, fix);
        }
        _ => {}
    }
    let mut findings = weaknesses(path, program);
    if findings.is_empty() {
        let who = if program.protected { ", which only root can replace" } else { "" };
        findings.push(HealthFinding::ok(
            Check::Program,
            format!("`{shown}`, version {}{who}", env!("CARGO_PKG_VERSION")),
        ));
    }
    findings
}

fn weaknesses(path: &Path, program: &InstalledProgram) -> Vec<HealthFinding> {
    let shown = path.display();
    let root = || {
        format!(
            "sudo install -o root -m 755 {} /usr/local/bin/portcullis && /usr/local/bin/{}",
            quoted(path),
            install_command()
        )
    };
    if program.open {
        return vec![HealthFinding::problem(
            Check::Program,
            format!("others can replace `{shown}`, which the hooks start"),
            root(),
        )];
    }
    if program.build {
        let what = format!("the hooks start `{shown}`, which the next build or clean-up replaces");
        return vec![HealthFinding::warning(Check::Program, what, root())];
    }
    // The superuser can replace everything, so there is no advice.
    if !program.protected && !rustix::process::geteuid().is_root() {
        let what = format!("`{shown}` is yours: an agent that runs as you could replace it");
        return vec![HealthFinding::note(Check::Program, what, root())];
    }
    Vec::new()
}

/// Returns the path of a program that the client looks up by its name.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    if name.contains('/') {
        return Some(path.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::super::finding::{Level, worst_level};
    use super::*;

    #[test]
    fn a_program_is_judged_by_what_it_says_and_by_who_can_replace_it() {
        let own = InstalledProgram {
            same: true,
            version: None,
            protected: true,
            open: false,
            build: false,
        };
        let says = |said: Result<&str, &str>| {
            let version = said.map(str::to_owned).map_err(str::to_owned);
            ProgramState::Program(InstalledProgram {
                same: false,
                version: Some(version),
                ..own.clone()
            })
        };
        for (found, level, part) in [
            (ProgramState::Missing, Level::Problem, "no such file"),
            (ProgramState::NotExecutable, Level::Problem, "cannot be executed"),
            (ProgramState::Unreadable("denied".into()), Level::Problem, "denied"),
            (ProgramState::Program(own.clone()), Level::Ok, "only root can replace"),
            (says(Ok(THIS)), Level::Ok, "version"),
            (says(Ok("portcullis 99.0.0")), Level::Problem, "99.0.0"),
            (says(Ok("bash 5")), Level::Problem, "bash 5"),
            (says(Err("silent")), Level::Problem, "silent"),
            (
                ProgramState::Program(InstalledProgram {
                    open: true,
                    protected: false,
                    ..own.clone()
                }),
                Level::Problem,
                "others can replace",
            ),
            (
                ProgramState::Program(InstalledProgram {
                    build: true,
                    protected: false,
                    ..own.clone()
                }),
                Level::Warning,
                "next build",
            ),
        ] {
            let findings = judge(Path::new("/usr/local/bin/portcullis"), &found);
            assert_eq!(worst_level(&findings), level, "{found:?}");
            assert!(
                findings.iter().any(|finding| finding.what.contains(part)),
                "{found:?}: {findings:?}"
            );
        }
    }
}
