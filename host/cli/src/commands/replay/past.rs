//! Replays a person's past sessions: shows how the guard would have judged them, to help the person
//! decide whether to enforce it.
//!
//! Every action is judged by itself, as in observe mode: a stop does not end a past session. The
//! disk contents of that time are gone, so it is not known what git could have restored.

use super::Arguments;
use super::tally::Tally;
use crate::error::{Context, Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_agents::recorded::{KeptSessions, SessionFiles};
use portcullis_agents::{Agent, HookEnvironment};
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::policy::Mode;
use portcullis_engine::ReviewClock;
use portcullis_review::bundles::verify;
use portcullis_review::installed::open_engine;
use portcullis_review::recording::past::{PastEvents, PastSession, list_sessions};
use portcullis_review::reviewer::{REPLAY_KEY, Reviewer, Setup};
use portcullis_review::session::ReviewSession;
use portcullis_store::Home;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

pub fn run_past(arguments: &Arguments, agent: &dyn Agent) -> Result<CommandExit> {
    let places = Paths::from_environment()?.without_project();
    let (folder, kept) = find_sessions(agent, Path::new(&places.person))?;
    let home = Home::open_root(&places.state)?;
    let mut config = arguments.tried.load_config(&places, &home)?;
    config.policy.mode = Mode::Observe;
    let person = places.person.clone();
    let bundled = if arguments.tried.config_file.is_none() {
        verify::verified_plugins(&places, &home, now_ms(), verify::ReceiptPolicy::None)?
    } else {
        Vec::new()
    };
    let mut reviewer = Reviewer::new(Setup {
        config: config.into(),
        extra: &arguments.tried.plugin,
        bundled: &bundled,
        clock: ReviewClock { now_ms: now_ms(), time_budget: None },
        observes: false,
        mask_key: REPLAY_KEY,
        engine: open_engine(&home)?,
        person: person.clone(),
        project: None,
        places: None,
    })?;
    let since = now_ms().saturating_sub(arguments.since);
    let project = arguments.project.as_ref().map(|project| absolute(project)).transpose()?;
    let mut tally = Tally::new(since, &person);
    let past = list_sessions(&folder, kept, since, &mut tally.unread);
    let mut progress = Progress::new(&past);
    for session in &past {
        if paint::is_closed() {
            break;
        }
        replay(session, since, project.as_deref(), &mut reviewer, &mut tally);
        progress.done(session);
    }
    progress.end();
    if arguments.json {
        paint::print_text(&format!("{}\n", serde_json::to_string(&tally)?));
    } else {
        paint::print_text(&tally.text());
    }
    Ok(CommandExit::Success)
}

/// Returns the folder in which a client keeps its sessions, and the files in it.
fn find_sessions(agent: &dyn Agent, person: &Path) -> Result<(PathBuf, SessionFiles)> {
    let kept = agent.kept_sessions();
    let files = match kept {
        KeptSessions::Files(files) => files,
        KeptSessions::Database { export, .. } => {
            let database = kept.database(person).unwrap_or_default();
            if !database.is_file() {
                return Err(no_sessions(agent, &database));
            }
            let hint =
                format!("`{export}` writes one of them, and `portcullis replay FILE` reads it");
            return Err(Error::refused(format!(
                "the past sessions of {} cannot be listed: it keeps them in the database `{}`",
                agent.display_name(),
                database.display()
            ))
            .with_hint(hint));
        }
    };
    let layout = agent.hook_settings().layout();
    let folders =
        layout.folders_in_environment(&HookEnvironment::of_process(), person, Path::new("/"));
    let folder = folders.person.join(layout.transcripts);
    if !folder.is_dir() {
        return Err(no_sessions(agent, &folder));
    }
    Ok((folder, files))
}

fn no_sessions(agent: &dyn Agent, place: &Path) -> Error {
    Error::not_found(format!(
        "there are no past sessions: {} keeps them in `{}`, which is not there",
        agent.display_name(),
        place.display()
    ))
}

fn absolute(project: &Path) -> Result<PathBuf> {
    // The sessions of a deleted folder still exist.
    std::path::absolute(project.canonicalize().as_deref().unwrap_or(project))
        .with_context(|| format!("cannot determine where `{}` is", project.display()))
}

fn replay(
    session: &PastSession,
    since: u64,
    project: Option<&Path>,
    reviewer: &mut Reviewer,
    tally: &mut Tally,
) {
    let mut past = PastEvents::open_session(session);
    let mut state = ReviewSession::default();
    let mut place: Option<String> = None;
    for item in past.by_ref() {
        if item.at < since {
            continue;
        }
        let place = place.get_or_insert_with(|| item.event.cwd.clone());
        // The folder that a session began in decides about all of it.
        if project.is_some_and(|project| !Path::new(place).starts_with(project)) {
            break;
        }
        for record in state.review_step(&item, reviewer) {
            tally.count_record(place, &session.name, &record);
        }
        if paint::is_closed() {
            break;
        }
    }
    tally.unread.extend(past.into_unread());
}

/// The progress in bytes, shown on a terminal.
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
            anstream::eprint!(
                "\rreviewing past sessions: {} % of {} MiB ",
                self.done * 100 / self.total.max(1),
                self.total >> 20
            );
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
