//! Combines every failure with every event: the client takes the answer for a refusal if something
//! waits for it, the answer names the cause and the fix, and after the fix everything continues and
//! nothing is lost.
//!
//! `bad_input` covers the details of a bad input or a bad file (the words, the record). Here each
//! cause meets each event, and earlier records must still be there afterwards.

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

/// The timeout of a hook that compiles every plugin again, in parallel with other tests and on a
/// slow machine.
const LIMIT: Duration = Duration::from_secs(120);

/// A failure.
pub struct Break {
    /// Its name.
    pub name: &'static str,
    /// Causes the failure.
    pub spoil: fn(&Site) -> Result<()>,
    /// The command that starts the hook in this state.
    pub hook: fn(&Site) -> Command,
    /// The expected end.
    pub end: End,
    /// Texts that the answer contains.
    pub says: &'static [&'static str],
    /// Fixes the failure.
    pub fix: fn(&Site) -> Result<()>,
    /// True if the fix starts a new journal, so that earlier records are not in it.
    pub again: bool,
    /// True if the case depends on permissions, which restrict an ordinary user but not root.
    pub held_back: bool,
}

/// The end of a hook under a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// An answer that refuses an action that waits for it, or otherwise informs the person.
    Answered,
    /// No answer, and an exit that `onFailure: block` takes for a refusal.
    Dies,
    /// Either of these, depending on the place of the failure.
    Closed,
    /// The same as without a failure.
    Whole,
    /// The same as without a failure, or no answer, depending on the machine's speed.
    Either,
}

impl Break {
    fn new(name: &'static str, spoil: fn(&Site) -> Result<()>) -> Self {
        let hook = |site: &Site| site.command(&["hook", "claude"]);
        Self {
            name,
            spoil,
            hook,
            end: End::Answered,
            says: &[],
            fix: |_| Ok(()),
            again: false,
            held_back: false,
        }
    }

    /// Creates a failure that is caused only by how the hook is started.
    fn started(name: &'static str, hook: fn(&Site) -> Command) -> Self {
        Self { hook, ..Self::new(name, |_| Ok(())) }
    }

    fn says(self, says: &'static [&'static str]) -> Self {
        Self { says, ..self }
    }

    fn ends(self, end: End) -> Self {
        Self { end, ..self }
    }

    fn fixed(self, fix: fn(&Site) -> Result<()>) -> Self {
        Self { fix, ..self }
    }

    fn again(self, fix: fn(&Site) -> Result<()>) -> Self {
        Self { fix, again: true, ..self }
    }

    fn held_back(self) -> Self {
        Self { held_back: true, ..self }
    }
}

/// Returns a test for each failure, with all events.
pub fn tests() -> Vec<Trial> {
    breaks::all()
        .into_iter()
        .map(|row| trial(format!("faults: {}", row.name), move || meets_all(&row)))
        .collect()
}

/// An event: its name and its contents.
type Event = (&'static str, fn(&Site) -> Value);

/// One event of each kind with an answer of its own.
const EVENTS: &[Event] = &[
    ("PreToolUse", |site| site.calls("broken").bash("broken", "ls")),
    ("PostToolUse", |site| site.calls("broken").bash_done("broken", "ls", "notes.txt")),
    ("UserPromptSubmit", |site| site.calls("broken").prompt("list the files")),
    ("SessionStart", |site| {
        site.calls("broken").event("SessionStart", json!({ "source": "startup" }))
    }),
    ("ConfigChange", |site| {
        site.calls("broken").event(
            "ConfigChange",
            json!({ "source": "project_settings", "file_path": "/srv/x.json" }),
        )
    }),
    ("Stop", |site| site.calls("broken").event("Stop", json!({ "stop_hook_active": false }))),
];

fn meets_all(row: &Break) -> Result<()> {
    thread::scope(|scope| {
        let events: Vec<_> =
            EVENTS.iter().map(|event| scope.spawn(move || check(row, event))).collect();
        events
            .into_iter()
            .try_for_each(|event| event.join().map_err(|_| anyhow!("a row panicked"))?)
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
    (row.fix)(&site).context("cannot fix it")?;
    site.ordinary("after")?;
    site.verify()?;
    let after = site.records()?;
    ensure!(
        row.again || after.starts_with(&before),
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
                _ => Answer::Informed,
            };
            // A failure without effect at a non-blocking event need not be reported there.
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
