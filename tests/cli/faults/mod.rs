//! What breaks, against every event: the answer is one that the client takes for a refusal where something
//! waits for us, it names the thing and the mend, and once mended everything goes on and nothing is lost.
//!
//! What a bad input or a bad file comes to in detail (the words, the record) stands in `bad_input`; here
//! each cause meets each event, and what was recorded before it is still there after it.

mod breaks;

use crate::common::process::{self, Ended};
use crate::common::reply::{self, Answer};
use crate::common::site::{Site, name_of};
use crate::common::trial;
use anyhow::{Context, Result, anyhow, bail, ensure};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// How long a hook may take that compiles every plugin anew, beside other tests and on a slow machine.
const LIMIT: Duration = Duration::from_secs(120);

/// One thing that breaks.
pub struct Break {
    /// In words.
    pub name: &'static str,
    /// Breaks it.
    pub spoil: fn(&Site) -> Result<()>,
    /// The hook, as it is started then.
    pub hook: fn(&Site) -> Command,
    /// What it comes to.
    pub end: End,
    /// What the answer says.
    pub says: &'static [&'static str],
    /// Mends it.
    pub mend: fn(&Site) -> Result<()>,
    /// The mend begins a journal anew, so that what stood in the old one is not in it.
    pub anew: bool,
    /// The superuser is not held back by permissions; a user without rights is.
    pub held_back: bool,
}

/// What a break comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// An answer that refuses what waits for it, and tells the person elsewhere.
    Answered,
    /// No answer, and an end that `onFailure: block` takes for a refusal.
    Dies,
    /// One or the other, as it hits.
    Closed,
    /// As if nothing were broken.
    Whole,
    /// As if nothing were broken, or no answer, by how quick the machine is.
    Either,
}

impl Break {
    fn new(name: &'static str, spoil: fn(&Site) -> Result<()>) -> Self {
        let hook = |site: &Site| site.command(&["hook", "claude"]);
        Self { name, spoil, hook, end: End::Answered, says: &[], mend: |_| Ok(()), anew: false, held_back: false }
    }

    /// Nothing is spoilt but the way in which the hook is started.
    fn started(name: &'static str, hook: fn(&Site) -> Command) -> Self {
        Self { hook, ..Self::new(name, |_| Ok(())) }
    }

    fn says(self, says: &'static [&'static str]) -> Self {
        Self { says, ..self }
    }

    fn ends(self, end: End) -> Self {
        Self { end, ..self }
    }

    fn mended(self, mend: fn(&Site) -> Result<()>) -> Self {
        Self { mend, ..self }
    }

    fn anew(self, mend: fn(&Site) -> Result<()>) -> Self {
        Self { mend, anew: true, ..self }
    }

    fn held_back(self) -> Self {
        Self { held_back: true, ..self }
    }
}

/// A test for each break, which meets all events.
pub fn tests() -> Vec<Trial> {
    breaks::all().into_iter().map(|row| trial(format!("faults: {}", row.name), move || meets_all(&row))).collect()
}

/// An event by its name, with what it carries.
type Event = (&'static str, fn(&Site) -> Value);

/// One of each kind that is answered in a way of its own.
const EVENTS: &[Event] = &[
    ("PreToolUse", |site| site.calls("broken").bash("broken", "ls")),
    ("PostToolUse", |site| site.calls("broken").bash_done("broken", "ls", "notes.txt")),
    ("UserPromptSubmit", |site| site.calls("broken").prompt("list the files")),
    ("SessionStart", |site| site.calls("broken").event("SessionStart", json!({ "source": "startup" }))),
    ("ConfigChange", |site| {
        site.calls("broken").event("ConfigChange", json!({ "source": "project_settings", "file_path": "/srv/x.json" }))
    }),
    ("Stop", |site| site.calls("broken").event("Stop", json!({ "stop_hook_active": false }))),
];

fn meets_all(row: &Break) -> Result<()> {
    thread::scope(|scope| {
        let events: Vec<_> = EVENTS.iter().map(|event| scope.spawn(move || check(row, event))).collect();
        events.into_iter().try_for_each(|event| event.join().map_err(|_| anyhow!("a row panicked"))?)
    })
}

fn check(row: &Break, (event, make): &Event) -> Result<()> {
    let mut site = Site::new(&format!("{} at {event}", row.name))?;
    if row.held_back {
        site = site.held_back()?;
    }
    site.ordinary("before")?;
    let before = site.records()?;
    (row.spoil)(&site).context("cannot break it")?;
    let event = make(&site);
    let ended = process::run((row.hook)(&site), event.to_string().as_bytes(), LIMIT)?;
    judge(row, name_of(&event), &ended).with_context(|| format!("at {}", name_of(&event)))?;
    (row.mend)(&site).context("cannot mend it")?;
    site.ordinary("after")?;
    site.verify()?;
    let after = site.records()?;
    ensure!(
        row.anew || after.starts_with(&before),
        "at {}: {} of {} records from before are lost",
        name_of(&event),
        before.len() - after.iter().filter(|record| before.contains(record)).count(),
        before.len()
    );
    Ok(())
}

fn judge(row: &Break, event: &str, ended: &Ended) -> Result<()> {
    let closes = ended.code.is_none_or(|code| !matches!(code, 0 | 2));
    match row.end {
        End::Dies => ensure!(closes, "it did not end by a failure: {}", ended.all()),
        End::Closed | End::Either if closes => {}
        End::Whole | End::Either => drop(reply::read(event, ended)?),
        End::Answered | End::Closed => {
            let reply = reply::read(event, ended)?;
            let expected = match event {
                "PreToolUse" => Answer::Refused,
                "ConfigChange" => Answer::Held,
                _ => Answer::Told,
            };
            // What costs nothing at an event that nobody waits for need not show there.
            let spared = row.end == End::Closed && event != "PreToolUse";
            if !spared && reply.answer != expected {
                bail!("the answer is {:?}, not {expected:?}: {reply:?}", reply.answer);
            }
            if !spared {
                reply.says(row.says)?;
            }
        }
    }
    Ok(())
}
