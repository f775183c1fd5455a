//! The programs are replaced while hooks start: as package managers do it, by renaming a file over
//! the old one, and as `install` does it, by removing the old one and writing another.
//!
//! The files differ: a copy, and a copy with one more byte, whose digest is another.

use super::running::{Running, reviewed};
use crate::common::process::{self, Ended};
use crate::common::reply::{self, Answer};
use crate::common::site::{LIMIT, Site};
use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The programs of an installation that hooks start.
const PROGRAMS: [&str; 2] = ["portcullis", "portcullis-hook"];
/// How often both are replaced.
const ROUNDS: usize = 8;
/// The clients that start hooks at the same time, one after the other each.
const CLIENTS: usize = 2;
/// The time between two replacements, in which hooks start.
const PAUSE: Duration = Duration::from_millis(120);

/// The way in which a file is replaced.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ReplaceWay {
    /// dpkg, rpm and `mv` put a whole file in the place of the old one: there is always one.
    Rename,
    /// `install`, `cp --remove-destination` and pip: for a moment there is none, or half of one.
    Remove,
}

/// An installation of its own, with the versions to come.
struct Installation {
    site: Site,
    folder: PathBuf,
    /// For each program a copy, and one with another digest.
    versions: Vec<[PathBuf; 2]>,
}

/// What became of one event.
#[derive(Clone, Debug, PartialEq)]
enum Fate {
    /// The hook answered, with the right verdict.
    Answered,
    /// There was no program at that moment, so the client ran nothing and lets nothing through.
    NoProgram,
}

impl Installation {
    fn lay(name: &str) -> Result<Self> {
        let site = Site::new(name)?;
        let folder = site.root().join("bin");
        let kept = site.root().join("versions");
        let mut versions = Vec::new();
        fs::create_dir_all(&folder)?;
        fs::create_dir_all(&kept)?;
        for program in PROGRAMS {
            let built = site.binary().with_file_name(program);
            let pair = [kept.join(program), kept.join(format!("{program}-changed"))];
            for version in &pair {
                fs::copy(&built, version)?;
            }
            OpenOptions::new().append(true).open(&pair[1])?.write_all(b"\n")?;
            ensure!(fs::read(&pair[0])? != fs::read(&pair[1])?, "both versions are the same");
            copy(&pair[0], &folder.join(program))?;
            versions.push(pair);
        }
        Ok(Self { site, folder, versions })
    }

    /// Replaces both programs by another version.
    fn replace(&self, way: ReplaceWay, round: usize) -> Result<()> {
        for (program, versions) in PROGRAMS.iter().zip(&self.versions) {
            let (version, place) = (&versions[(round + 1) % 2], self.folder.join(program));
            match way {
                ReplaceWay::Rename => {
                    let beside = self.folder.join(format!("{program}.new"));
                    copy(version, &beside)?;
                    fs::rename(&beside, &place)?;
                }
                ReplaceWay::Remove => {
                    fs::remove_file(&place)?;
                    copy(version, &place)?;
                }
            }
        }
        Ok(())
    }

    /// Returns a command of one of its programs, in the environment of the site's other commands.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let usual = self.site.command(arguments);
        let mut command = Command::new(self.folder.join(program));
        command.args(arguments).current_dir(self.site.project()).env_clear();
        for (name, value) in usual.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        command
    }

    /// Sends an event of a session of its own to one of the programs, and judges the answer.
    fn ask(&self, program: &str, session: &str, shell: &str) -> Result<Fate> {
        let event = self.site.calls(session).bash("call", shell);
        let hook = self.command(program, &["hook", "claude"]);
        let Some(ended) = run(hook, event.to_string().as_bytes())? else {
            return Ok(Fate::NoProgram);
        };
        // The small hook found no other program to become: its exit code refuses.
        if ended.code == Some(2)
            && ended.stdout.is_empty()
            && ended.stderr.contains("cannot start `portcullis`")
        {
            return Ok(Fate::NoProgram);
        }
        let reply = reply::read("PreToolUse", &ended)?;
        let is_right = match shell {
            "ls" => reply.answer == Answer::Quiet,
            _ => matches!(reply.answer, Answer::Refused | Answer::Stopped),
        };
        ensure!(is_right, "`{shell}`, by {program}: {reply:?}");
        Ok(Fate::Answered)
    }

    /// Lets clients start hooks while the programs are replaced. Returns the sessions that were
    /// answered, and how many events found no program.
    fn work_while_replaced(&self, way: ReplaceWay) -> Result<(BTreeSet<String>, usize)> {
        let ends = AtomicBool::new(false);
        let work = |client: usize| -> Result<Vec<(String, Fate)>> {
            let mut fates = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                let number = fates.len();
                let program = PROGRAMS[(number / 2) % 2];
                let shell = ["ls", "rm -rf /"][number % 2];
                let session = format!("{way:?}-{client}-{number}");
                let fate = self.ask(program, &session, shell).inspect_err(|_| {
                    ends.store(true, Ordering::Relaxed);
                });
                fates.push((session.clone(), fate.with_context(|| session)?));
            }
            Ok(fates)
        };
        let work = &work;
        let fates = thread::scope(|scope| {
            let clients: Vec<_> =
                (0..CLIENTS).map(|client| scope.spawn(move || work(client))).collect();
            let replaced: Result<()> = (0..ROUNDS).try_for_each(|round| {
                thread::sleep(PAUSE);
                self.replace(way, round)
            });
            thread::sleep(PAUSE);
            ends.store(true, Ordering::Relaxed);
            let mut fates = Vec::new();
            for client in clients {
                fates.extend(client.join().map_err(|_| anyhow!("a client panicked"))??);
            }
            replaced.map(|()| fates)
        })?;
        let missing = fates.iter().filter(|(_, fate)| *fate == Fate::NoProgram).count();
        let answered = fates.into_iter().filter(|(_, fate)| *fate == Fate::Answered);
        Ok((answered.map(|(session, _)| session).collect(), missing))
    }

    /// Checks that each answered event has exactly one review in the journal.
    fn has_all(&self, sessions: &BTreeSet<String>) -> Result<()> {
        self.site.verify()?;
        let records = self.site.records()?;
        for session in sessions {
            let reviews = records
                .iter()
                .filter(|record| record["kind"] == "review" && record["session"] == **session)
                .count();
            ensure!(reviews == 1, "{session} was answered and has {reviews} reviews");
        }
        Ok(())
    }
}

/// Copies a file by another process: a program that this one had open for writing while it starts a
/// hook could not be started.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp").arg(from).arg(to).stdin(Stdio::null()).status()?;
    ensure!(status.success(), "cannot copy `{}`", from.display());
    Ok(())
}

/// Runs a hook; `None` if there is no program to run at that moment.
fn run(command: Command, input: &[u8]) -> Result<Option<Ended>> {
    match process::run(command, input, LIMIT) {
        Ok(ended) => Ok(Some(ended)),
        Err(error) => match error.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::NotFound | io::ErrorKind::ExecutableFileBusy) => Ok(None),
            _ => Err(error),
        },
    }
}

/// Without a service: both programs review by themselves.
pub fn without_service() -> Result<()> {
    for way in [ReplaceWay::Rename, ReplaceWay::Remove] {
        let installed = Installation::lay(&format!("replaced-{way:?}"))?;
        let (sessions, missing) = installed.work_while_replaced(way)?;
        ensure!(sessions.len() >= ROUNDS, "{way:?}: only {} events", sessions.len());
        // A renamed file is there at any time.
        ensure!(way == ReplaceWay::Remove || missing == 0, "{missing} hooks found no program");
        installed.has_all(&sessions)?;
        for program in PROGRAMS {
            for shell in ["ls", "rm -rf /"] {
                let fate = installed.ask(program, &format!("after {program} {shell}"), shell)?;
                ensure!(fate == Fate::Answered, "{way:?}: {program} after it: {fate:?}");
            }
        }
    }
    Ok(())
}

/// The service goes on as the program that it was started as, and still guards the file in its
/// place. A service that is started again is the new program.
pub fn with_service() -> Result<()> {
    let installed = Installation::lay("replaced-served")?;
    let site = &installed.site;
    let serve = || {
        let mut command = installed.command("portcullis", &["serve", "--json"]);
        command.stdin(Stdio::null());
        Running::start_command(command)
    };
    let mut running = serve()?;
    let (mut sessions, missing) = installed.work_while_replaced(ReplaceWay::Rename)?;
    ensure!(missing == 0, "{missing} hooks found no program");
    let reason = |record: &Value| record["details"]["without_service"].as_str().map(str::to_owned);
    let records = site.records()?.into_iter();
    let without: Vec<Value> = records.filter(|record| reason(record).is_some()).collect();
    // On a busy machine a hook may run out of patience. It reviews by itself then, and so does the service.
    let (late, failed): (Vec<_>, Vec<_>) = without
        .into_iter()
        .partition(|record| reason(record).is_some_and(|why| why.contains("did not answer")));
    ensure!(failed.is_empty(), "reviews without the service: {failed:?}");
    for record in &late {
        sessions.remove(record["session"].as_str().unwrap_or_default());
    }
    ensure!(sessions.len() > late.len(), "most reviews came too late: {}", late.len());
    installed.has_all(&sessions)?;
    let before = reviewed(site)?;
    ensure!(before > 0, "the service has reviewed nothing");
    // The system calls the service's own program so now; this file is another one.
    fs::write(installed.folder.join("portcullis (deleted)"), "#!/bin/sh\n")?;
    guards_program(&installed, "served")?;
    ensure!(reviewed(site)? > before, "the service no longer reviews");
    running.signal(Signal::TERM)?;
    running.ended()?;
    let _again = serve()?;
    let fate = installed.ask("portcullis-hook", "again", "rm -rf /")?;
    ensure!(fate == Fate::Answered && reviewed(site)? == 1, "the service did not review again");
    guards_program(&installed, "again-guarded")
}

/// Checks that an agent may not change the program that is installed now.
fn guards_program(installed: &Installation, session: &str) -> Result<()> {
    for program in PROGRAMS {
        let place = installed.folder.join(program);
        let calls = installed.site.calls(&format!("{session}-{program}"));
        let write = calls.before("w", "Write", json!({ "file_path": place, "content": "x" }));
        let hook = installed.command("portcullis-hook", &["hook", "claude"]);
        let Some(ended) = run(hook, write.to_string().as_bytes())? else {
            bail!("there is no hook to ask");
        };
        let reply = reply::read("PreToolUse", &ended)?;
        ensure!(
            reply.answer == Answer::Refused || reply.answer == Answer::Stopped,
            "`{}` may be written: {reply:?}",
            place.display()
        );
        reply.says(&["the program of Portcullis"])?;
    }
    Ok(())
}
