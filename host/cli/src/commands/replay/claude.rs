//! `replay --claude`: what the guard would have made of a person's past sessions, to decide whether to let
//! it hold.
//!
//! Every action is judged by itself, as in observe mode: a stop does not end a past session. The disk of
//! then is gone, so nothing is known of what git could have given back.

use super::tally::Tally;
use super::{Arguments, Session};
use crate::bundles::verify;
use crate::client::claude::settings::Folders;
use crate::commands::hook::now;
use crate::paint;
use crate::places::Places;
use crate::recording::past::{Past, PastSession, sessions};
use crate::runtime::{REPLAY_KEY, Reviewer, Setup, code_cache};
use anyhow::{Context, Result, bail};
use portcullis_core::policy::Mode;
use portcullis_engine::ReviewClock;
use portcullis_store::Home;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

pub fn run(arguments: &Arguments) -> Result<u8> {
    let places = Places::from_environment()?.without_project();
    let home = Home::open(&places.state)?;
    let mut config = arguments.tried.config(&places, &home)?;
    config.policy.mode = Mode::Observe;
    let person = places.person.clone();
    let bundled = if arguments.tried.config.is_none() { verify::plugins(&places, &home, now(), verify::Memory::None)? } else { Vec::new() };
    let mut reviewer = Reviewer::new(Setup {
        config,
        extra: &arguments.tried.plugin,
        bundled: &bundled,
        clock: ReviewClock { now_ms: now(), backstop: None },
        observes: false,
        mask_key: REPLAY_KEY,
        cache: Some(code_cache(&home)),
        person: person.clone(),
        project: None,
    })?;
    let since = now().saturating_sub(arguments.since);
    let project = arguments.project.as_ref().map(|project| absolute(project)).transpose()?;
    let folder = Folders::from_environment(Path::new(&person), Path::new("/")).person.join("projects");
    if !folder.is_dir() {
        bail!("there are no past sessions: Claude Code keeps them in `{}`, which is not there", folder.display());
    }
    let mut tally = Tally::new(since, &person);
    let past = sessions(&folder, since, &mut tally.unread);
    let mut progress = Progress::new(&past);
    for session in &past {
        if paint::closed() {
            break;
        }
        replay(session, since, project.as_deref(), &mut reviewer, &mut tally);
        progress.done(session);
    }
    progress.end();
    if arguments.json {
        paint::print(&format!("{}\n", serde_json::to_string(&tally)?));
    } else {
        paint::print(&tally.text());
    }
    Ok(0)
}

fn absolute(project: &Path) -> Result<PathBuf> {
    // The sessions of a folder that is gone by now are still there.
    std::path::absolute(project.canonicalize().as_deref().unwrap_or(project))
        .with_context(|| format!("cannot tell where `{}` is", project.display()))
}

fn replay(session: &PastSession, since: u64, project: Option<&Path>, reviewer: &mut Reviewer, tally: &mut Tally) {
    let mut past = Past::open(session);
    let mut state = Session::default();
    let mut place: Option<String> = None;
    for item in past.by_ref() {
        if item.at < since {
            continue;
        }
        let place = place.get_or_insert_with(|| item.event.cwd.clone());
        if project.is_some_and(|project| !Path::new(place).starts_with(project)) {
            break;
        }
        for record in state.step(&item, reviewer) {
            tally.count(place, &session.name, &record);
        }
        if paint::closed() {
            break;
        }
    }
    tally.unread.extend(past.unread());
}

/// How far it is, in bytes, on a terminal.
struct Progress {
    shown: bool,
    total: u64,
    done: u64,
}

impl Progress {
    fn new(past: &[PastSession]) -> Self {
        let total = past.iter().map(size).sum();
        Self { shown: std::io::stderr().is_terminal(), total, done: 0 }
    }

    fn done(&mut self, session: &PastSession) {
        self.done += size(session);
        if self.shown {
            anstream::eprint!("\rreviewing past sessions: {} % of {} MiB ", self.done * 100 / self.total.max(1), self.total >> 20);
        }
    }

    fn end(&self) {
        if self.shown {
            anstream::eprint!("\r{:60}\r", "");
        }
    }
}

fn size(session: &PastSession) -> u64 {
    session.files.iter().map(|(_, size)| size).sum()
}
